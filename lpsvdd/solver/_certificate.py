r"""The one place that calls a solution optimal.

Whoever computed alpha, by whichever road, it is optimal for a tolerance if

    alpha >= 0,   |y'alpha - 1| <= EQUALITY sum_i alpha_i,   alpha <= c (p = 1),
    -ROUNDING <= gap <= tol,   everything finite,

with the gap recomputed from this very alpha. A gap below -ROUNDING is no small gap: by weak duality
it means that alpha is infeasible or that the arithmetic broke down.

Distances from kernel sums, k_ii - 2 (K beta)_i + beta'K beta, lose eps (sum alpha)^2 max k_ii.
Where that is more than DIGITS of the spread of the points, only a value computed from coordinates
of the centre counts (``_centre``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lpsvdd.solver._arithmetic import EQUALITY, Arithmetic, Value
from lpsvdd.solver._centre import centres_of, evaluate_centre
from lpsvdd.solver._gram import Gram
from lpsvdd.solver._problem import Problem
from lpsvdd.solver._radius import LOG_MAX
from lpsvdd.solver._rows import Rows

ROUNDING = 1e-11  # what rounding may take from a gap of zero
DIGITS = 1e-9  # of distances, relative to the spread
OPTIMAL, RADIUS_ZERO, NOT_CONVERGED = "optimal", "radius-zero", "not-converged"


@dataclass(frozen=True)
class Certificate:
    """What can be said of a feasible alpha, in the units of K (``gap``: of the scaled problem).

    gap = (P - D)/(1 + |P|) bounds the relative distance of both values to the optimum. ``centre``
    holds coefficients: a = sum_i centre_i phi(x_i).
    """

    alpha: np.ndarray
    primal: float
    dual: float
    gap: float
    radius_sq: float
    slack: np.ndarray
    centre: np.ndarray


def is_optimal(problem: Arithmetic, value: Value, tol: float):
    """Whether the value (each row of it, in a batch) meets the definition of this module."""
    gap, primal = (
        number[:, 0] if np.ndim(number) else number for number in (value.gap, value.primal)
    )
    proven = is_proven(value.alpha, gap, problem.y, tol) & np.isfinite(primal)
    if problem.is_boxed:
        proven &= (value.alpha <= problem.cost * (1.0 + EQUALITY)).all(axis=-1)
    return proven & ~loses_digits(problem, value)


def is_proven(alpha, gap, y, tol: float):
    """alpha >= 0 with y'alpha = 1, all finite, and a gap between zero and tol, up to rounding."""
    total = alpha.sum(axis=-1)
    feasible = (alpha.min(axis=-1) >= 0.0) & (np.abs(alpha @ y - 1.0) <= EQUALITY * total)
    return feasible & np.isfinite(total) & (gap >= -ROUNDING) & (gap <= tol)


def loses_digits(problem: Arithmetic, value: Value):
    """Whether distances to the centre of this value, from kernel sums, would cancel."""
    if not problem.has_negatives:  # then sum alpha = 1
        return np.False_
    if value.centre is not None:
        coefficients = problem.gram.features.coefficients(value.centre)
        return ~(np.abs(coefficients).sum() <= largest_total(problem.gram))
    return ~(value.alpha.sum(axis=-1) <= largest_total(problem.gram))


def largest_total(gram: Gram | Rows) -> float:
    """The sum of multipliers up to which distances from kernel sums keep DIGITS."""
    size = max(gram.size, float(gram.diag.max()))
    return (
        math.sqrt(DIGITS * gram.spread / (np.finfo(float).eps * size)) if size > 0.0 else math.inf
    )


def certify(K, y=None, *, p: float, c, alpha) -> Certificate:
    """Certificate of somebody else's alpha: made feasible first, then judged by its gap.

    Examples
    --------
    >>> import numpy as np
    >>> from lpsvdd.solver import certify
    >>> x = np.array([-1.0, 0.0, 1.0])
    >>> K = np.outer(x, x)
    >>> round(certify(K, p=1.0, c=1.0, alpha=[0.5, 0.0, 0.5]).gap, 6)  # the solution
    0.0
    >>> certify(K, p=1.0, c=1.0, alpha=[1 / 3, 1 / 3, 1 / 3]).gap > 0.1  # a guess
    True
    """
    problem = Problem(K, y, p=p, c=c)
    alpha = np.asarray(alpha, dtype=float)
    if alpha.shape != (problem.n,) or not np.isfinite(alpha).all():
        raise ValueError(f"alpha must be {problem.n} finite numbers")
    if problem.is_radius_zero:
        return in_units_of_k(problem, radius_zero_value(problem))
    alpha = problem.feasible(alpha)
    with np.errstate(all="ignore"):
        value = problem.evaluate(alpha)
        if loses_digits(problem, value):
            values = [evaluate_centre(problem, alpha, w) for w in centres_of(problem, alpha)]
            value = min(values, key=lambda v: abs(v.gap))
    return in_units_of_k(problem, value)


def radius_zero_value(problem: Problem) -> Value:
    """The solution of ``Problem.is_radius_zero``: the weighted mean, R2 = 0, no gap."""
    alpha = problem.weighted_mean()
    k_alpha = problem.kernel_times(alpha)
    d = np.maximum(problem.diag - 2.0 * k_alpha + float(alpha @ k_alpha), 0.0)
    cost = float(np.where(problem.positive, problem.cost, 0.0) @ d)
    return Value(alpha, cost, cost, 0.0, 0.0, problem.y * d, None)


def in_units_of_k(problem: Problem, value: Value) -> Certificate:
    """The value as a certificate. Beyond floats values are infinite, not wrong."""
    scale = math.exp(problem.log_scale) if problem.log_scale < LOG_MAX else math.inf
    slack = np.maximum(value.signed, 0.0)
    if math.isfinite(scale):
        slack = slack * scale
    else:
        slack = np.where(slack > 0.0, math.inf, 0.0)
    primal, dual, radius_sq = (
        float(v * scale) if v else 0.0 for v in (value.primal, value.dual, value.radius_sq)
    )
    centre = problem.y * value.alpha
    if value.centre is not None:
        centre = problem.gram.features.coefficients(value.centre)
    return Certificate(value.alpha, primal, dual, float(value.gap), radius_sq, slack, centre)
