r"""A judge of solutions that shares no line with the solver: 60 digits or more where doubles fail.

A solution consists of multipliers alpha, coefficients g of the centre a = sum_i g_i phi_i, and R2.
It is *right* if alpha is feasible (up to 1e-9 of sum alpha) and

    gap = (P - D) / (s + |P|),   P = R2 + sum_i c_i (y_i (||phi_i - a||^2 - R2))_+^p,

D = D(alpha), lies in [-1e-9, 1e-6], s being the unit of the scaled problem. Costs near 1e8 make P
so steep that rounding the distances to doubles changes it by more; what that can do is added to the
1e-6, up to 1e-4 (``_steepness``).

The formulas are those of the primal and the dual as they stand in a book, evaluated from the
kernel; in mpmath where doubles would not do.

**Which kernel.** The matrix K that the solver was given is a kernel rounded to doubles. It may have
negative eigenvalues of that size; then the problem is not convex, P >= D is no theorem, and
D(alpha) is off by 1e-16 (sum alpha)^2. So in mpmath a kernel with a formula is recomputed from the
points: that is positive semidefinite, P >= D holds, and K is its rounding. For a Gaussian kernel
and the identity K is taken as it is, unless the solver was given the points and not K.

**Which alpha.** P - D = ||a - sum_i alpha_i y_i phi_i||^2 + (terms that are not negative) for any
feasible alpha. So the alpha that was returned is judged as it is, but for its positives scaled to
y'alpha = 1 in all digits. Only where that proves nothing (sum alpha = 1e17, say: its last digits
are more than the centre) it is given the digits that doubles cannot have: of all relative changes
that lead to y'alpha = 1 and sum_i alpha_i y_i phi_i = a the smallest is taken, and must be below
MOST_CHANGE. Either way a small gap is a proof for an alpha that the returned one stands for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import mpmath as mp
import numpy as np

from lpsvdd.solver import Solution

DIGITS = 60
FEASIBLE = 1e-9  # relative to sum alpha, and to c
LARGEST_GAP, SMALLEST_GAP = 1e-6, -1e-9
LARGEST_ALLOWANCE = 1e-4
MOST_CHANGE = 1e-6  # of a multiplier, relative, that the exact judge may make
DOUBLE_IS_ENOUGH = 1e-9  # rounding errors of the formulas in double precision, relative


@dataclass(frozen=True)
class Case:
    """A problem to be judged: kernel matrix, and how to recompute it in more digits.

    ``power`` and ``shift`` say that k(x, z) = (x'z + shift)^power, x and z less ``origin`` if there
    is one, and ``gamma`` > 0 that k(x, z) = exp(-gamma ||x - z||^2). ``power`` = ``gamma`` = 0 say
    that K is itself exact (it holds the numbers that define the problem).
    """

    K: np.ndarray
    X: np.ndarray
    y: np.ndarray
    p: float
    cost: np.ndarray
    power: int = 0
    shift: float = 0.0
    gamma: float = 0.0
    origin: np.ndarray | None = None


@dataclass(frozen=True)
class Verdict:
    """``is_right``, the gap that was found, and whether it took more digits than a double has."""

    is_right: bool
    gap: float
    is_exact: bool
    reason: str = ""


def judge(case: Case, found: Solution) -> Verdict:
    """The verdict on a solution that calls itself optimal."""
    alpha, y, cost = found.alpha, case.y, case.cost
    if not (np.isfinite(alpha).all() and (alpha >= 0.0).all()):
        return Verdict(False, math.nan, False, "alpha is not finite or negative")
    total = math.fsum(alpha)
    if abs(math.fsum(y * alpha) - 1.0) > FEASIBLE * total:
        return Verdict(False, math.nan, False, "y'alpha is not 1")
    if not math.isfinite(found.radius_sq) or found.status == "radius-zero":
        return _judge_mean(case, found)
    if case.p == 1.0 and (alpha > cost * (1.0 + FEASIBLE)).any():
        return Verdict(False, math.nan, False, "alpha exceeds c")
    gap, noise = _gap_in_doubles(case, found)
    if noise <= DOUBLE_IS_ENOUGH and SMALLEST_GAP <= gap <= 0.1 * LARGEST_GAP:
        return Verdict(True, gap, False)
    reasons, proven = [], []
    for is_mended in (False, True):
        gap, change, steepness = _exact_gap(case, found, is_mended)
        largest = LARGEST_GAP + min(4.0 * np.finfo(float).eps * steepness, LARGEST_ALLOWANCE)
        if SMALLEST_GAP <= gap <= largest and change <= MOST_CHANGE:
            proven.append(gap)
        if proven and gap <= LARGEST_GAP:
            break
        reasons.append(f"gap {gap:.1e}, change {change:.1e}")
    if proven:
        return Verdict(True, min(proven), True)
    return Verdict(False, gap, True, "; mended: ".join(reasons))


def _judge_mean(case: Case, found: Solution) -> Verdict:
    """The two cases with a closed form: R2 = 0 at p = 1, and the limit of small costs."""
    on_positives = np.where(case.y > 0.0, case.cost, 0.0)
    mean = on_positives / on_positives.sum()
    if found.status == "radius-zero":
        right = case.p == 1.0 and on_positives.sum() <= 1.0 + FEASIBLE
    else:
        right = case.p > 1.0 and _log_scale(case) > 690.0
    right = bool(right and np.allclose(found.alpha, mean, rtol=1e-6, atol=1e-9))
    return Verdict(right, 0.0, False, "" if right else "not the weighted mean")


def _log_scale(case: Case) -> float:
    """log of max(mean squared distance to the mean, slack at which equal multipliers sum to 1)."""
    K, size = case.K, float(np.abs(case.K.diagonal()).max())
    means = K.mean(axis=1)
    spread = float((K.diagonal() - 2.0 * means + means.mean()).mean())
    if spread <= 1e-13 * size:
        spread = size if size > 0.0 else 1.0
    log_spread = math.log(spread)
    if case.p == 1.0:
        return log_spread
    total = float(case.cost[case.y > 0.0].sum())
    return max(log_spread, -math.log(case.p * total) / (case.p - 1.0))


def _gap_in_doubles(case: Case, found: Solution) -> tuple[float, float]:
    """The gap, and a bound of its rounding errors relative to s + |P|."""
    K, y, p, c, alpha, g = case.K, case.y, case.p, case.cost, found.alpha, found.centre
    with np.errstate(all="ignore"):
        d = K.diagonal() - 2.0 * K @ g + g @ K @ g
        slack = np.maximum(y * (d - found.radius_sq), 0.0)
        penalty = float((c * slack**p).sum())
        primal = found.radius_sq + penalty
        beta = y * alpha
        dual = float(beta @ K.diagonal() - beta @ K @ beta)
        if p > 1.0:
            log_alpha = np.log(np.maximum(alpha, 1e-300))
            unit = np.exp((log_alpha - np.log(c * p)) / (p - 1.0))
            dual -= (1.0 - 1.0 / p) * float(alpha @ unit)
        size = float(np.abs(K).max())
        steep = float((c * p * np.maximum(slack, 1e-12 * size) ** (p - 1.0)).max())
        lost = np.abs(g).sum() ** 2 * (1.0 + steep) + alpha.sum() ** 2
        unit = math.exp(min(_log_scale(case), 700.0)) + abs(primal)
        gap, noise = (primal - dual) / unit, 1e-15 * lost * size / unit
    return (gap, noise) if math.isfinite(gap) and math.isfinite(noise) else (math.nan, math.inf)


# -- in many digits -------------------------------------------------------------------------------


def _exact_gap(case: Case, found: Solution, is_mended: bool) -> tuple[float, float, float]:
    """The gap in mpmath, the largest relative change made to a multiplier, and ``_steepness``.

    ``is_mended``: alpha is given the digits that it lacks (``_mended``).
    """
    digits = DIGITS + math.ceil(math.log10(1.0 + found.alpha.sum()))
    with mp.workdps(digits):
        K, n = _exact_kernel(case), len(case.y)
        y = [int(v) for v in case.y]
        p = mp.mpf(case.p)
        c, alpha, g = (
            [mp.mpf(float(v)) for v in a] for a in (case.cost, found.alpha, found.centre)
        )
        radius = mp.mpf(found.radius_sq)
        k_g = [mp.fdot(row, g) for row in K]
        norm = mp.fdot(g, k_g)
        s = [y[i] * (K[i][i] - 2 * k_g[i] + norm - radius) for i in range(n)]
        primal = radius + mp.fsum(c[i] * s[i] ** p for i in range(n) if s[i] > 0)
        if not is_mended:
            factor = (1 + _sum(alpha, y, -1)) / _sum(alpha, y, 1)
            mended = [a * factor if label > 0 else a for a, label in zip(alpha, y, strict=True)]
        else:
            mended = _mended(K, y, p, c, alpha, g, s, digits)
        change = max(
            (abs(m / a - 1) for m, a in zip(mended, alpha, strict=True) if a > 0), default=0
        )
        beta = [y[i] * mended[i] for i in range(n)]
        k_beta = [mp.fdot(row, beta) for row in K]
        dual = mp.fsum(beta[i] * (K[i][i] - k_beta[i]) for i in range(n))
        if p > 1:
            q = 1 / (p - 1)
            dual -= (1 - 1 / p) * mp.fsum(
                mended[i] * (mended[i] / (c[i] * p)) ** q for i in range(n) if mended[i] > 0
            )
        unit = mp.exp(mp.mpf(_log_scale(case))) + abs(primal)
        steepness = _steepness(case, found, p, c, s) / unit
        return float((primal - dual) / unit), float(change), float(steepness)


def _steepness(case: Case, found: Solution, p, c, s):
    """dP for distances that are off by one unit in the last place of the sums that make them."""
    size = float(np.abs(case.K).max()) * (1.0 + float(np.abs(found.centre).sum()) ** 2)
    return size * mp.fsum(c[i] * p * s[i] ** (p - 1) for i in range(len(s)) if s[i] > 0)


def _sum(alpha, y, label: int):
    return mp.fsum(a for a, one in zip(alpha, y, strict=True) if one == label)


def _exact_kernel(case: Case) -> list[list[mp.mpf]]:
    X = [[mp.mpf(float(v)) for v in row] for row in case.X]
    if case.gamma > 0.0:
        gamma = mp.mpf(case.gamma)
        return [
            [mp.exp(-gamma * mp.fsum((u - v) ** 2 for u, v in zip(a, b, strict=True))) for b in X]
            for a in X
        ]
    if case.power == 0:
        return [[mp.mpf(float(v)) for v in row] for row in case.K]
    if case.origin is not None:
        X = [[u - mp.mpf(float(v)) for u, v in zip(a, case.origin, strict=True)] for a in X]
    return [[(mp.fdot(a, b) + mp.mpf(case.shift)) ** case.power for b in X] for a in X]


def _mended(K, y, p, c, alpha, g, s, digits) -> list[mp.mpf]:
    """alpha + m_i y_i (z_i'l), the smallest change with y'alpha = 1 and sum_i alpha_i y_i z_i = a.

    m_i = alpha_i, less where the dual is steep. Directions that no multiplier supports are left.
    """
    n = len(y)
    Z = _factor(K)
    for row in Z:
        row.append(mp.mpf(1))
    r = len(Z[0])
    weight = []
    for i in range(n):
        if p > 1:
            weight.append(alpha[i] / (1 + max(s[i], 0) / (p - 1)))
        else:
            weight.append(alpha[i] * max(1 - alpha[i] / c[i], 0))
    target = [mp.fsum(g[i] * Z[i][k] for i in range(n)) for k in range(r - 1)] + [mp.mpf(1)]
    residual = [target[k] - mp.fsum(y[i] * alpha[i] * Z[i][k] for i in range(n)) for k in range(r)]
    normal = mp.matrix(r, r)
    for k in range(r):
        for m in range(k + 1):
            entry = mp.fsum(weight[i] * Z[i][k] * Z[i][m] for i in range(n))
            normal[k, m] = normal[m, k] = entry
    largest = max(normal[k, k] for k in range(r))
    for k in range(r):
        normal[k, k] += largest * mp.mpf(10) ** (15 - digits)
    if largest == 0:
        return alpha
    scale = mp.lu_solve(normal, mp.matrix(residual))
    change = [weight[i] * y[i] * mp.fsum(Z[i][k] * scale[k] for k in range(r)) for i in range(n)]
    return [max(a + d, mp.mpf(0)) for a, d in zip(alpha, change, strict=True)]


def _factor(K) -> list[list[mp.mpf]]:
    """Rows z_i with z_i'z_j = K_ij: Cholesky with pivots, to 30 digits of the largest K_ii."""
    n = len(K)
    left = [K[i][i] for i in range(n)]
    floor = max(left) * mp.mpf(10) ** (-30)
    Z: list[list[mp.mpf]] = [[] for _ in range(n)]
    for _ in range(n):
        pivot = max(range(n), key=lambda i: left[i])
        if left[pivot] <= floor:
            break
        root = mp.sqrt(left[pivot])
        column = [(K[i][pivot] - mp.fdot(Z[i], Z[pivot])) / root for i in range(n)]
        for i in range(n):
            Z[i].append(column[i])
            left[i] -= column[i] ** 2
    return Z
