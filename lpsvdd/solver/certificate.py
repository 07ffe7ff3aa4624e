r"""The one place that calls a solution optimal.

Whoever computed alpha, it is optimal for a tolerance if

    alpha >= 0,   |y'alpha - 1| <= EQUALITY sum_i alpha_i,   alpha <= c (p = 1),
    -ROUNDING <= gap <= tol,   everything finite.

The gap is (P - D)/(1 + |P|), computed from this very alpha, plus what rounding may hide of it. A
gap below -ROUNDING is no small gap: by weak duality it means that alpha is infeasible or that the
arithmetic broke down.

**Allowance for rounding.** With u = eps max k_ii, scaled, a distance is known to
delta = 2 u (1 + sum alpha), and ||a||^2, which moves all distances alike, to u (sum alpha)^2. At
the R2 that is returned

    P - D = sum_i f_i(s_i) + terms without s,   f_i(s) = c_i s_+^p - alpha_i s,   s = y (d - R2),

and each f_i is convex: its largest change for |e_i| <= delta is at an end. These changes have
independent signs and are added in quadrature; the common error
is added in full. For ordinary problems the sum is 1e-14. It is large where points are far from the
origin compared with their spread, where multipliers are huge (labelled outliers that cannot be
separated, at large p), or where a point on the surface has a cost of 1e8 and no use for it. Then
no tolerance below it is met, and the status says so.
"""

from __future__ import annotations

import math

import numpy as np

from lpsvdd.solver.points import EPS
from lpsvdd.solver.problem import Problem, Value
from lpsvdd.solver.radius import LOG_MAX, TINY

EQUALITY = 1e-10  # y'alpha = 1 is asked for relative to sum alpha, the size of what is added up
ROUNDING = 1e-11  # what rounding may take from a gap of zero
OPTIMAL, RADIUS_ZERO, NOT_CONVERGED = "optimal", "radius-zero", "not-converged"


def is_optimal(problem: Problem, value: Value, tol: float) -> bool:
    """Decide whether a value meets the definition of this module."""
    alpha = value.alpha
    total = float(alpha.sum())
    if not math.isfinite(total) or float(alpha.min()) < 0.0:
        return False
    if problem.is_boxed and (alpha > problem.cost * (1.0 + EQUALITY)).any():
        return False
    if abs(float(alpha @ problem.y) - 1.0) > EQUALITY * total:
        return False
    return value.gap >= -ROUNDING and certified_gap(problem, value) <= tol


def certified_gap(problem: Problem, value: Value) -> float:
    """Return the relative gap with the allowance for rounding; NaN counts as infinite."""
    gap = value.gap + rounding_allowance(problem, value) / (1.0 + abs(value.primal))
    return gap if math.isfinite(gap) else math.inf


def better_value(problem: Problem, *values: Value) -> Value:
    """Return the value with the smallest certified gap; one below -ROUNDING is no proof."""

    def badness(value: Value) -> float:
        gap = certified_gap(problem, value)
        return gap if value.gap >= -ROUNDING else math.inf

    return min(values, key=badness)


@np.errstate(all="ignore")
def rounding_allowance(problem: Problem, value: Value) -> float:
    """Return what rounding may hide of P - D (module docstring), scaled."""
    total = float(value.alpha.sum())
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
    own = EPS * (1.0 + abs(value.primal))  # of the sums P and D themselves
    return float(np.sqrt(each @ each)) + max(together, 0.0) + own
