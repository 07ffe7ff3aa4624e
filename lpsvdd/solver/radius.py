r"""The best R2 for given squared distances d_i to a centre: the root of

    F+(R2) := sum_pos c_i p (d_i - R2)_+^(p-1)  =  1 + sum_neg c_i p (R2 - d_i)_+^(p-1) =: 1 + F-.

For p = 1 the sums are step functions and R2 is the (midpoint of the) place where they cross. For
p > 1 Newton's method runs on (F+ / (1 + F-))^(1/(p-1)) - 1, which is nearly linear in R2, and a
bracket guards it: F+ >= 1 at min d - tau, F+ = 0 at max_pos d.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lpsvdd.solver.problem import Problem

TINY = 1e-300
LOG_MAX = 700.0
RADIUS_DIGITS = 1e-13  # to which R2 is found, relative to the ends of its bracket
MAX_RADIUS_STEPS = 200


@np.errstate(all="ignore")
def best_radius(problem: Problem, d: np.ndarray, guess: float | None = None) -> float:
    """Return the R2 that minimises R2 + sum_i c_i (y_i (d_i - R2))_+^p."""
    if problem.is_boxed:
        return _crossing_of_steps(problem, d)
    low = float(d.min()) - problem.tau
    high = float((d[problem.positive] if problem.has_negatives else d).max())
    radius = low if guess is None or not low < guess < high else guess
    last_step = math.inf
    for _ in range(MAX_RADIUS_STEPS):
        f_pos, f_neg, slope_pos, slope_neg = _sums(problem, d, radius)
        if f_pos > f_neg:
            low = radius
        else:
            high = radius
        size = abs(low) + abs(high)
        if f_pos == f_neg or not high - low > 4.0 * RADIUS_DIGITS * size:  # NaN closes it too
            break
        new = None
        if f_pos > 0.0:
            log_ratio = (math.log(f_pos) - math.log(f_neg)) / (problem.p - 1.0)
            slope = slope_pos / f_pos + slope_neg / f_neg
            step = -math.expm1(-log_ratio) / slope if slope > 0.0 and log_ratio > -LOG_MAX else None
            if step is not None and abs(step) < RADIUS_DIGITS * size:
                if problem.p >= 2.0:
                    break
                # Near a kink a tiny step proves nothing: step past the root to enclose it.
                new = radius + math.copysign(2.0 * RADIUS_DIGITS * size, step)
            elif step is not None and abs(step) <= 0.5 * last_step:
                new = radius + step
        if new is None or not low < new < high:
            inside = d[(d > low) & (d < high)]  # their median halves the kinks
            new = float(np.median(inside)) if len(inside) else 0.5 * (low + high)
            new = new if low < new < high else 0.5 * (low + high)
        last_step, radius = abs(new - radius), new
    return radius


def _sums(problem: Problem, d: np.ndarray, radius: float) -> tuple[float, float, float, float]:
    """Return F+, 1 + F- and the sums of c_i p z_i^(p-2) over positives and over negatives."""
    slack = d - radius
    if problem.has_negatives:
        slack *= problem.y
    outside = np.flatnonzero(slack > 0.0)
    slack = slack[outside]
    rate = np.exp((problem.p - 1.0) * np.log(slack) + problem.log_rate[outside])
    slope = rate / slack
    if not problem.has_negatives:
        return float(rate.sum()), 1.0, float(slope.sum()), 0.0
    positive = problem.positive[outside]
    return (
        float(rate[positive].sum()), 1.0 + float(rate[~positive].sum()),
        float(slope[positive].sum()), float(slope[~positive].sum()),
    )  # fmt: skip


def _crossing_of_steps(problem: Problem, d: np.ndarray) -> float:
    """Return where 1 - sum_pos c_i [d_i > R2] + sum_neg c_i [d_i < R2] passes zero (p = 1).

    Each distance, positive's or negative's, raises this slope of the primal by its cost.
    """
    order = np.argsort(d, kind="stable")
    slope = 1.0 - problem.total_cost + np.cumsum(problem.cost[order])
    rounding = 1e-12 * (1.0 + problem.cost.sum())
    first = int(np.argmax(slope >= -rounding))
    last = int(np.argmax(slope > rounding)) if slope[-1] > rounding else len(d) - 1
    return 0.5 * (float(d[order[first]]) + float(d[order[last]]))
