r"""Values and certificate of a centre given in coordinates (``Gram.features``), for any alpha.

For any (w, b), and alpha with y'alpha = 1,

    P - D = ||w - Z'beta||^2 + sum_i [ c_i z_i^p + (1 - 1/p) alpha_i z_i(alpha_i) - alpha_i s_i ],

s_i = y_i (||z_i||^2 - 2 w'z_i - b): a sum of terms that are not negative. As alpha is stored to 16
digits, Z'beta is known to 1e-16 sum alpha only, which may be more than everything else.
``repaired`` therefore moves alpha, by relative amounts, to where y'alpha = 1 and Z'beta = w. What
relative changes of RELATIVE cannot mend is counted in the gap.

What is returned of a centre are coefficients g, a = sum_i g_i phi_i. The coordinates leave out what
is below the rounding of K, and g is not w to its last digit. Where costs are steep (c near 1e8)
either may change P by more than LOST of it: then P is that of g, and the gap counts it.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy.linalg import lstsq, svd

from lpsvdd.solver._arithmetic import EQUALITY, Value
from lpsvdd.solver._problem import Problem
from lpsvdd.solver._radius import TINY

RELATIVE = 1e-12  # to which every multiplier is taken to be known
LOST = 1e-6  # of P; less is what rounding the distances to doubles does to any answer
EXACT_ABOVE = 1e12  # sums of multipliers above which Z'beta is computed in rational numbers


def scaled_features(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and diagonal of the points, in scaled units."""
    features = problem.gram.features
    return features.Z * math.sqrt(problem.inv_scale), features.diag * problem.inv_scale


@np.errstate(all="ignore")
def evaluate_centre(
    problem: Problem, alpha: np.ndarray, centre: np.ndarray, guess: float | None = None
) -> Value:
    """P of a centre (in units of K), D of alpha ``repaired``, and their gap.

    ``guess`` is b = R2 - ||w||^2 in scaled units; it is taken where it is better than the root.
    """
    Z, diag = scaled_features(problem)
    w = centre * math.sqrt(problem.inv_scale)
    levels = diag - 2.0 * (Z @ w)
    b, _ = problem.best_radius(levels)
    penalty = problem.penalty(problem.y * (levels - b))
    if guess is not None:
        other = problem.penalty(problem.y * (levels - guess))
        if guess + other < b + penalty:
            b, penalty = guess, other
    signed = problem.y * (levels - b)
    radius_sq = b + float(w @ w)
    primal = radius_sq + penalty
    lost = _primal_of_coefficients(problem, centre, radius_sq) - primal
    if not lost <= LOST * (1.0 + abs(primal)):
        primal, penalty = primal + lost, penalty + lost
    alpha, left = repaired(problem, alpha, signed, Z, w)
    excess = problem.excess(alpha, signed, penalty)
    excess += float(left[:-1] @ left[:-1]) + abs(float(left[-1]) * b)
    if abs(left[-1]) > EQUALITY * alpha.sum():
        excess = math.inf  # y'alpha is not 1
    gap = excess / (1.0 + abs(primal))
    return Value(alpha, primal, primal - excess, gap, radius_sq, signed, None, centre)


def _primal_of_coefficients(problem: Problem, centre: np.ndarray, radius_sq: float) -> float:
    """P of the coefficients that stand for a centre, with distances from the kernel matrix."""
    g = problem.gram.features.coefficients(centre)
    k_g = problem.kernel_times(g)
    d = problem.diag - 2.0 * k_g + float(g @ k_g)
    return radius_sq + problem.penalty(problem.y * (d - radius_sq))


@np.errstate(all="ignore")
def repaired(
    problem: Problem, alpha: np.ndarray, signed: np.ndarray, Z: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """alpha with Z'beta = w and y'alpha = 1, and what is left of (w - Z'beta, 1 - y'alpha).

    The change minimises sum_i change_i^2 / m_i: m_i = alpha_i, less where the dual is steep, which
    for p near 1 is where a point has slack, and for p = 1 near the bound.
    """
    if problem.is_boxed:
        room = np.maximum(1.0 - alpha / problem.cost, 0.0)
        weight = alpha * room
    else:
        weight = alpha / (1.0 + np.maximum(signed, 0.0) / (problem.p - 1.0))
    columns = np.column_stack([Z, np.ones(len(Z))]) * problem.y[:, None]
    target = np.append(w, 1.0)
    root = np.sqrt(weight)
    if not (np.isfinite(root).all() and np.isfinite(columns).all()):
        return alpha, np.full(len(target), np.inf)
    U, sizes, V = svd(root[:, None] * columns, full_matrices=False)
    # Largest relative change of a multiplier for a unit of each component of the residual.
    relative = np.where(alpha > 0.0, root / alpha, 0.0)[:, None] * np.abs(U)
    cost = np.where(sizes > 0.0, relative.max(axis=0) / sizes, np.inf)
    for most in (1e-3, 1e-6, 1e-9):
        parts = V @ _residual(alpha, columns, target)
        mended = np.where(np.abs(parts) * cost <= most, parts / np.maximum(sizes, TINY), 0.0)
        alpha = np.maximum(alpha + root * (U @ mended), 0.0)
    residual = _residual(alpha, columns, target)
    parts = V @ residual
    left = V.T @ np.where(np.abs(parts) * cost <= RELATIVE, 0.0, parts)
    if len(V) < len(target):  # fewer points than equations: no alpha reaches the rest
        left += residual - V.T @ parts
    return alpha, left


def _residual(alpha: np.ndarray, columns: np.ndarray, target: np.ndarray) -> np.ndarray:
    """target - columns' alpha, exactly where the sum would cancel to nothing."""
    if alpha.sum() < EXACT_ABOVE:
        return target - columns.T @ alpha
    exact = [Fraction(a) for a in alpha.tolist()]
    return np.array(
        [
            float(Fraction(t) - sum(a * Fraction(x) for a, x in zip(exact, column, strict=True)))
            for t, column in zip(target.tolist(), columns.T.tolist(), strict=True)
        ]
    )


@np.errstate(all="ignore")
def centres_of(problem: Problem, alpha: np.ndarray) -> list[np.ndarray]:
    r"""Centres that may belong to alpha, in units of K: Z'beta, and one in case it lost its digits.

    For a large p the slacks z_i(alpha_i) keep theirs: s_i = z_i on the support, linear in (w, b),
    weighted by the curvature (p - 1) alpha_i / z_i of the penalty, and w = Z'beta with weight 2.
    This is one step of Newton's method for the primal.
    """
    unit = math.sqrt(problem.inv_scale)
    Z, diag = scaled_features(problem)
    w = Z.T @ (problem.y * alpha)
    support = alpha > 0.0
    if problem.is_boxed:
        return [w / unit]
    slack = problem.slack_of(alpha)[support]
    log_weight = 0.5 * np.log((problem.p - 1.0) * alpha[support] / np.maximum(slack, TINY))
    log_unit = max(0.0, float(log_weight.max()))
    n, r = int(support.sum()), len(w)
    left, right = np.zeros((n + r, r + 1)), np.zeros(n + r)
    left[:n, :r], left[:n, r] = 2.0 * Z[support], 1.0
    right[:n] = diag[support] - problem.y[support] * slack
    row_weight = np.exp(log_weight - log_unit)
    left[:n] *= row_weight[:, None]
    right[:n] *= row_weight
    left[n:].flat[:: r + 2] = math.sqrt(2.0) * math.exp(-log_unit)
    right[n:] = w * math.sqrt(2.0) * math.exp(-log_unit)
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return [w / unit]
    return [w / unit, lstsq(left, right)[0][:r] / unit]
