r"""The one place that calls a solution optimal.

Whoever computed alpha, by whichever road, it is optimal for a tolerance if

    alpha >= 0,   |y'alpha - 1| <= EQUALITY sum_i alpha_i,   alpha <= c (p = 1),
    -ROUNDING <= gap <= tol,   everything finite.

The gap is (P - D)/(1 + |P|), recomputed from this very alpha. A gap below -ROUNDING is no small
gap: by weak duality it means that alpha is infeasible or that the arithmetic broke down.

**Allowance.** With u = eps max k_ii, scaled, a distance is known to delta = 2 u (1 + sum |g|), g
the coefficients of the centre, and ||a||^2, which moves all distances alike, to u (sum |g|)^2. At
the R2 that is returned

    P - D = sum_i f_i(s_i) + terms without s,   f_i(s) = c_i s_+^p - alpha_i s,   s = y (d - R2),

and each f_i is convex: the largest change for |e_i| <= delta is at an end. So f_i is computed at
s_i - delta and s_i + delta, the sum of all f_i with all distances moved by -u (sum |g|)^2 and by
+u (sum |g|)^2, and what they add at worst is what rounding may hide. For ordinary problems it is
1e-14. It is large where points are far from the origin, clusters tight, multipliers huge, or where
a point on the surface has a cost of 1e8 and no use for it. True errors are about a hundredth of the
bound; where it is more than HIDDEN it belongs to the gap, and no tolerance is met.

**Centres in coordinates.** For any (w, b), and alpha with y'alpha = 1,

    P - D = ||w - Z'beta||^2 + sum_i [ c_i z_i^p + (1 - 1/p) alpha_i z_i(alpha_i) - alpha_i s_i ],

s_i = y_i (||z_i||^2 - 2 w'z_i - b): a sum of terms that are not negative. As alpha is stored to 16
digits, Z'beta is known to 1e-16 sum alpha only, which may be more than everything else.
``repaired`` therefore moves alpha, by relative amounts, to where y'alpha = 1 and Z'beta = w; what
relative changes of RELATIVE cannot mend is counted. What is returned of such a centre are
coefficients g of its points, and P is that of g. Coordinates know nothing of directions in which K
is no more than rounding. If there are such, they add up to u (sum alpha)^2 to P - D; this belongs
to the allowance for p < STEEP, where large costs on tight clusters make it real. For larger p
multipliers of 1e17 and more are those of kernels of low rank, which have no such directions.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import lstsq, svd

from lpsvdd.solver.points import EPS
from lpsvdd.solver.problem import Problem, Value
from lpsvdd.solver.radius import LOG_MAX, TINY

EQUALITY = 1e-10  # y'alpha = 1 is asked for relative to sum alpha, the size of what is added up
ROUNDING = 1e-11  # what rounding may take from a gap of zero
HIDDEN = 1e-5  # what rounding may hide of a gap, at worst, without being counted
STEEP = 1.1  # exponent up to which directions below rounding are taken to be there
RELATIVE = 1e-12  # to which every multiplier is taken to be known
OPTIMAL, RADIUS_ZERO, NOT_CONVERGED = "optimal", "radius-zero", "not-converged"


def is_optimal(problem: Problem, value: Value, tol: float) -> bool:
    """Whether a value meets the definition of this module."""
    alpha = value.alpha
    if problem.is_boxed and (alpha > problem.cost * (1.0 + EQUALITY)).any():
        return False
    gap = certified_gap(problem, value)
    return is_proven(alpha, gap, problem.y, tol) and math.isfinite(value.primal)


def is_proven(alpha: np.ndarray, gap: float, y: np.ndarray, tol: float) -> bool:
    """alpha >= 0 with y'alpha = 1, all finite, and a gap between zero and tol, up to rounding."""
    total = float(alpha.sum())
    feasible = float(alpha.min()) >= 0.0 and abs(float(alpha @ y) - 1.0) <= EQUALITY * total
    return feasible and math.isfinite(total) and -ROUNDING <= gap <= tol


def certified_gap(problem: Problem, value: Value) -> float:
    """The relative gap; with the allowance for rounding where that is not small."""
    if problem.judged[0] is not value:
        hidden = allowance(problem, value) / (1.0 + abs(value.primal))
        problem.judged = value, value.gap if hidden <= HIDDEN else value.gap + hidden
    return problem.judged[1]


@np.errstate(all="ignore")
def better(problem: Problem, *values: Value) -> Value:
    """The value with the smaller gap; a negative gap is none, nor is one beyond floats."""

    def badness(value: Value) -> float:
        gap = abs(certified_gap(problem, value))
        return gap if math.isfinite(gap) else math.inf

    return min(values, key=badness)


@np.errstate(all="ignore")
def allowance(problem: Problem, value: Value) -> float:
    """What rounding may hide of P - D (module docstring), scaled."""
    coefficients = value.alpha if value.coefficients is None else value.coefficients
    total = float(np.abs(coefficients).sum())
    unit = EPS * max(problem.points.size, float(problem.points.diag.max())) * problem.inv_scale
    delta, common = 2.0 * unit * (1.0 + total), unit * total * total

    def terms(move) -> np.ndarray:
        slack = value.signed + move
        exponent = problem.log_rate + problem.p * np.log(np.maximum(slack, TINY))
        return np.exp(np.minimum(exponent, LOG_MAX)) / problem.p - value.alpha * move

    still = terms(0.0)
    each = np.maximum(terms(delta), terms(-delta)) - still
    shifts = (problem.y * common, -problem.y * common)
    together = max(float((terms(shift) - still).sum()) for shift in shifts)
    unseen = 0.0
    if value.coefficients is not None and problem.p < STEEP:
        unseen = unit * float(value.alpha.sum()) * float(value.alpha.sum())
    own = EPS * (1.0 + abs(value.primal))  # of the sums P and D themselves
    return float(each.sum()) + together + unseen + own


# -- centres in coordinates -----------------------------------------------------------------------


@np.errstate(all="ignore")
def evaluate_centre(
    problem: Problem, alpha: np.ndarray, centre: np.ndarray, guess: float | None = None
) -> Value:
    """P of a centre (coordinates in units of K), D of alpha ``repaired``, and their difference.

    ``guess`` is b = R2 - ||w||^2 in scaled units; it is taken where it is better than the root.
    """
    features, unit = problem.points.features, math.sqrt(problem.inv_scale)
    Z, w = features.Z * unit, centre * unit
    levels = features.diag * problem.inv_scale - 2.0 * (Z @ w)
    radii = [problem.radius_sq(levels)] + ([] if guess is None else [guess])
    b = min(radii, key=lambda r: r + problem.penalty(problem.y * (levels - r)))
    signed = problem.y * (levels - b)
    norm_sq = float(w @ w)
    penalty = problem.penalty(signed)
    alpha, left = repaired(problem, alpha, signed, Z, w)
    excess = problem.excess(alpha, signed, penalty)
    excess += float(left[:-1] @ left[:-1]) + abs(float(left[-1]) * b)
    if abs(left[-1]) > EQUALITY * alpha.sum():
        excess = math.inf  # y'alpha is not 1
    return Value(alpha, b + norm_sq + penalty, excess, b + norm_sq, signed, norm_sq)


@np.errstate(all="ignore")
def with_coefficients(problem: Problem, value: Value, centre: np.ndarray) -> Value:
    """The value of the coefficients that stand for a centre, with distances from the kernel."""
    if not np.isfinite(centre).all():
        return value._replace(excess=math.inf)
    g = problem.points.features.coefficients(centre)
    k_g = problem.kernel_times(g)
    norm_sq = float(g @ k_g)
    d = problem.diag - 2.0 * k_g + norm_sq
    radii = (value.radius_sq, problem.radius_sq(d, value.radius_sq))
    radius = min(radii, key=lambda r: r + problem.penalty(problem.y * (d - r)))
    signed = problem.y * (d - radius)
    primal = radius + problem.penalty(signed)
    excess = value.excess + primal - value.primal
    return Value(value.alpha, primal, excess, radius, signed, norm_sq, g)


@np.errstate(all="ignore")
def repaired(
    problem: Problem, alpha: np.ndarray, signed: np.ndarray, Z: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """alpha with Z'beta = w and y'alpha = 1, and what is left of (w - Z'beta, 1 - y'alpha).

    The change minimises sum_i change_i^2 / m_i: m_i = alpha_i, less where the dual is steep, which
    for p near 1 is where a point has slack, and for p = 1 near the bound.
    """
    if problem.is_boxed:
        weight = alpha * np.maximum(1.0 - alpha / problem.cost, 0.0)
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
        parts = V @ (target - columns.T @ alpha)
        mended = np.where(np.abs(parts) * cost <= most, parts / np.maximum(sizes, TINY), 0.0)
        alpha = np.maximum(alpha + root * (U @ mended), 0.0)
    residual = target - columns.T @ alpha
    parts = V @ residual
    left = V.T @ np.where(np.abs(parts) * cost <= RELATIVE, 0.0, parts)
    if len(V) < len(target):  # fewer points than equations: no alpha reaches the rest
        left += residual - V.T @ parts
    return alpha, left


@np.errstate(all="ignore")
def centres_of(problem: Problem, alpha: np.ndarray) -> list[np.ndarray]:
    r"""Centres that may belong to alpha, in units of K: Z'beta, and one in case it lost its digits.

    For a large p the slacks z_i(alpha_i) keep theirs: s_i = z_i on the support, linear in (w, b),
    weighted by the curvature (p - 1) alpha_i / z_i of the penalty, and w = Z'beta with weight 2.
    This is one step of Newton's method for the primal.
    """
    features = problem.points.features
    unit = math.sqrt(problem.inv_scale)
    Z, diag = features.Z * unit, features.diag * problem.inv_scale
    w = (problem.y * alpha) @ Z
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
    # Weights range over many decades: rows in descending order, as in ``QRSystem``, and by SVD.
    order = np.argsort(-np.abs(left).max(axis=1), kind="stable")
    solved = [lstsq(left[order], right[order], lapack_driver=d)[0] for d in ("gelsy", "gelsd")]
    return [w / unit, *(x[:r] / unit for x in solved)]
