r"""A judge of solutions that shares no line with the solver: 60 digits where doubles fail.

A solution consists of multipliers alpha, coefficients g of the centre a = sum_i g_i phi_i, and R2.
It is *right* if alpha is feasible (up to 1e-9 of sum alpha) and

    gap = (P - D) / (s + |P|),   P = R2 + sum_i c_i (y_i (||phi_i - a||^2 - R2))_+^p,

D = D(alpha), s the unit of the scaled problem, lies between -1e-9 and twice the tolerance of 1e-9.
The formulas are those of the primal and the dual, evaluated from the kernel; in mpmath where
doubles would not do.

The matrix K that the solver was given is a kernel rounded to doubles. It may have negative
eigenvalues of that size; then P >= D is no theorem. So in mpmath a kernel with a formula is
recomputed from the points. For a Gaussian kernel and the identity K is taken as it is, unless the
solver was given the points. alpha is taken as it was returned, but for its positives, scaled to
y'alpha = 1 in all digits. So a small gap is a proof for an alpha that the returned one stands for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import mpmath as mp
import numpy as np

from lpsvdd.solver import Solution

DIGITS = 60
FEASIBLE = 1e-9  # relative to sum alpha, and to c
LARGEST_GAP, SMALLEST_GAP = 2e-9, -1e-9
DOUBLE_IS_ENOUGH = 1e-9  # rounding errors of the formulas in double precision, relative


@dataclass(frozen=True)
class JudgedCase:
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
    is_exact: bool = False
    reason: str = ""


def judge_answer(case: JudgedCase, found: Solution) -> Verdict:
    """Return the verdict on a solution that calls itself optimal."""
    alpha, cost = found.alpha, case.cost
    if not (np.isfinite(alpha).all() and (alpha >= 0.0).all()):
        return Verdict(False, math.nan, reason="alpha is not finite or negative")
    if abs(math.fsum(case.y * alpha) - 1.0) > FEASIBLE * math.fsum(alpha):
        return Verdict(False, math.nan, reason="y'alpha is not 1")
    if not math.isfinite(found.radius_sq) or found.status == "radius-zero":
        return _judge_mean(case, found)
    if case.p == 1.0 and (alpha > cost * (1.0 + FEASIBLE)).any():
        return Verdict(False, math.nan, reason="alpha exceeds c")
    gap, noise = _gap_in_doubles(case, found)
    is_exact = not (noise <= DOUBLE_IS_ENOUGH and SMALLEST_GAP <= gap <= LARGEST_GAP)
    if is_exact:
        gap = exact_gap(case, found)
    return Verdict(SMALLEST_GAP <= gap <= LARGEST_GAP, gap, is_exact, f"gap {gap:.1e}")


def _judge_mean(case: JudgedCase, found: Solution) -> Verdict:
    """Judge the two cases with a closed form: R2 = 0 at p = 1, and the limit of small costs."""
    on_positives = np.where(case.y > 0.0, case.cost, 0.0)
    if found.status == "radius-zero":
        right = case.p == 1.0 and on_positives.sum() <= 1.0 + FEASIBLE
    else:
        right = case.p > 1.0 and _log_unit(case) > 690.0
    mean = on_positives / on_positives.sum()
    right = bool(right and np.allclose(found.alpha, mean, rtol=1e-6, atol=1e-9))
    return Verdict(right, 0.0, reason="not the weighted mean")


def _log_unit(case: JudgedCase) -> float:
    """Return log max(mean squared distance to the mean, slack where equal alpha sum to 1)."""
    K, size = case.K, float(np.abs(case.K.diagonal()).max())
    spread = float(K.diagonal().mean() - K.mean())
    if spread <= 1e-13 * size:
        spread = size if size > 0.0 else 1.0
    if case.p == 1.0:
        return math.log(spread)
    total = float(case.cost[case.y > 0.0].sum())
    return max(math.log(spread), -math.log(case.p * total) / (case.p - 1.0))


def _gap_in_doubles(case: JudgedCase, found: Solution) -> tuple[float, float]:
    """Return the gap, and a bound of its rounding errors relative to s + |P|."""
    K, y, p, c, alpha, g = case.K, case.y, case.p, case.cost, found.alpha, found.centre
    with np.errstate(all="ignore"):
        d = K.diagonal() - 2.0 * K @ g + g @ K @ g
        slack = np.maximum(y * (d - found.radius_sq), 0.0)
        primal = found.radius_sq + float((c * slack**p).sum())
        beta = y * alpha
        dual = float(beta @ K.diagonal() - beta @ K @ beta)
        if p > 1.0:
            log_slack = (np.log(np.maximum(alpha, 1e-300)) - np.log(c * p)) / (p - 1.0)
            dual -= (1.0 - 1.0 / p) * float(alpha @ np.exp(log_slack))
        size = float(np.abs(K).max())
        steep = float((c * p * np.maximum(slack, 1e-12 * size) ** (p - 1.0)).max())
        lost = np.abs(g).sum() ** 2 * (1.0 + steep) + alpha.sum() ** 2
        unit = math.exp(min(_log_unit(case), 700.0)) + abs(primal)
        gap, noise = (primal - dual) / unit, 1e-15 * lost * size / unit
    return (gap, noise) if math.isfinite(gap) and math.isfinite(noise) else (math.nan, math.inf)


def exact_gap(case: JudgedCase, found: Solution) -> float:
    """Return the gap of the returned multipliers and centre in mpmath."""
    with mp.workdps(DIGITS + math.ceil(math.log10(1.0 + found.alpha.sum()))):
        K, n = _exact_kernel(case), len(case.y)
        y = [int(v) for v in case.y]
        p, radius = mp.mpf(case.p), mp.mpf(found.radius_sq)
        c, alpha, g = (
            [mp.mpf(float(v)) for v in a] for a in (case.cost, found.alpha, found.centre)
        )
        k_g = [mp.fdot(row, g) for row in K]
        norm = mp.fdot(g, k_g)
        slack = [y[i] * (K[i][i] - 2 * k_g[i] + norm - radius) for i in range(n)]
        primal = radius + mp.fsum(c[i] * slack[i] ** p for i in range(n) if slack[i] > 0)
        on_negatives, on_positives = (
            mp.fsum(a for a, one in zip(alpha, y, strict=True) if one == label) for label in (-1, 1)
        )
        factor = (1 + on_negatives) / on_positives
        alpha = [a * factor if label > 0 else a for a, label in zip(alpha, y, strict=True)]
        beta = [label * a for a, label in zip(alpha, y, strict=True)]
        dual = mp.fsum(beta[i] * (K[i][i] - mp.fdot(K[i], beta)) for i in range(n))
        if p > 1:
            dual -= (1 - 1 / p) * mp.fsum(
                a * (a / (cost * p)) ** (1 / (p - 1))
                for a, cost in zip(alpha, c, strict=True)
                if a > 0
            )
        return float((primal - dual) / (mp.exp(mp.mpf(_log_unit(case))) + abs(primal)))


def _exact_kernel(case: JudgedCase) -> list[list[mp.mpf]]:
    if case.power == 0 and case.gamma == 0.0:
        return [[mp.mpf(float(v)) for v in row] for row in case.K]
    X = [[mp.mpf(float(v)) for v in row] for row in case.X]
    if case.gamma > 0.0:
        gamma = mp.mpf(case.gamma)
        return [
            [mp.exp(-gamma * mp.fsum((u - v) ** 2 for u, v in zip(a, b, strict=True))) for b in X]
            for a in X
        ]
    if case.origin is not None:
        X = [[u - mp.mpf(float(v)) for u, v in zip(a, case.origin, strict=True)] for a in X]
    return [[(mp.fdot(a, b) + mp.mpf(case.shift)) ** case.power for b in X] for a in X]
