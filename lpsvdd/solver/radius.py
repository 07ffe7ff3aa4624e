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
DIGITS = 1e-13  # to which R2 is found
MOST_STEPS = 200


@np.errstate(all="ignore")
def best_radius(problem: Problem, d: np.ndarray, guess: float | None = None) -> float:
    """The R2 that minimises R2 + sum_i c_i (y_i (d_i - R2))_+^p."""
    if problem.is_boxed:
        return _step_radius(problem, d)
    highest = float((d[problem.positive] if problem.has_negatives else d).max())
    search = RootSearch(problem.p, d, float(d.min()) - problem.tau, highest, guess)
    for _ in range(MOST_STEPS):
        search.learn(*_sums(problem, d, search.radius))
        if search.is_done:
            break
    if problem.total_cost < 1e2 and not problem.is_steep:
        return search.radius
    # Where the cost is huge, one unit in the last place of R2 matters: take the better end.
    ends = search.radius, search.low, search.high
    return min(ends, key=lambda r: r + problem.penalty(problem.y * (d - r)))


def _sums(problem: Problem, d: np.ndarray, radius: float) -> tuple[float, float, float, float]:
    """F+, 1 + F- and the sums of c_i p z_i^(p-2) over positives and negatives, in one unit."""
    slack = d - radius
    if problem.has_negatives:
        slack *= problem.y
    outside = np.flatnonzero(slack > 0.0)
    slack = slack[outside]
    exponent = (problem.p - 1.0) * np.log(slack) + problem.log_rate[outside]
    shift = max(0.0, float(exponent.max(initial=0.0))) if problem.is_steep else 0.0
    rate = np.exp(exponent - shift)  # both sides by exp(-shift), lest they overflow
    slope = rate / slack
    if not problem.has_negatives:
        return float(rate.sum()), math.exp(-shift), float(slope.sum()), 0.0
    positive = problem.positive[outside]
    negative = ~positive  # added up on their own: the difference of two sums would be rounding
    f_pos, g_pos = float(rate[positive].sum()), float(slope[positive].sum())
    f_neg, g_neg = float(rate[negative].sum()), float(slope[negative].sum())
    return f_pos, f_neg + math.exp(-shift), g_pos, g_neg


class RootSearch:
    """Where to look for the root next: Newton's method inside a bracket [low, high].

    ``learn`` is told F+, 1 + F- and their slopes at ``radius``; it moves ``radius`` on, or says
    ``is_done`` and leaves it where it is.
    """

    def __init__(self, p: float, d: np.ndarray, low: float, high: float, guess) -> None:
        self.power, self.d = p - 1.0, d
        self.low, self.high = low, high
        self.radius = low if guess is None or not low < guess < high else guess
        self.last_step = math.inf
        self.is_done = False

    def learn(self, f_pos: float, f_neg: float, g_pos: float, g_neg: float) -> None:
        """F+, 1 + F-, and sum_i c_i p z_i^(p-2) over the positives and over the negatives."""
        if f_pos > f_neg:
            self.low = self.radius
        else:
            self.high = self.radius
        size = abs(self.low) + abs(self.high)
        is_closed = not self.high - self.low > 4.0 * DIGITS * size  # a bracket of NaN is closed
        if is_closed or f_pos == f_neg:
            self.is_done = True
            return
        new = None
        step = self._newton_step(f_pos, f_neg, g_pos, g_neg)
        if step is not None and abs(step) < DIGITS * size:
            if self.power >= 1.0:
                self.is_done = True
                return
            # Near a kink a tiny step proves nothing: step past the root to enclose it.
            new = self.radius + math.copysign(2.0 * DIGITS * size, step)
        elif step is not None and abs(step) <= 0.5 * self.last_step:
            new = self.radius + step
        if new is None or not self.low < new < self.high:
            new = self._halving_step()
        self.last_step = abs(new - self.radius)
        self.radius = new

    def _newton_step(self, f_pos, f_neg, g_pos, g_neg) -> float | None:
        """Newton's step for (F+/(1 + F-))^(1/(p-1)) = 1; None where that power is below any float.

        With t the logarithm of the left side it is -expm1(-t) over -dt/dR2, the latter being
        g+/F+ + g-/(1 + F-).
        """
        if f_pos <= 0.0:
            return None
        f_neg = max(f_neg, TINY)
        t = (math.log(f_pos) - math.log(f_neg)) / self.power
        slope = g_pos / f_pos + g_neg / f_neg
        if t <= -LOG_MAX or not slope > 0.0:
            return None
        return -math.expm1(-t) / slope

    def _halving_step(self) -> float:
        """The median of the distances inside the bracket, which halves the kinks; or its middle."""
        inside = self.d[(self.d > self.low) & (self.d < self.high)]
        if len(inside):
            return float(np.partition(inside, len(inside) // 2)[len(inside) // 2])
        return 0.5 * (self.low + self.high)


def _step_radius(problem: Problem, d: np.ndarray) -> float:
    """p = 1: where 1 - sum_pos c_i [d_i > R2] + sum_neg c_i [d_i < R2] passes zero, or the middle.

    Each distance, positive's or negative's, raises this slope of the primal by its cost.
    """
    order = np.argsort(d, kind="stable")
    slope = 1.0 - problem.total_cost + np.cumsum(problem.cost[order])
    rounding = 1e-12 * (1.0 + problem.cost.sum())
    first = int(np.argmax(slope >= -rounding))
    last = int(np.argmax(slope > rounding)) if slope[-1] > rounding else len(d) - 1
    low, high = float(d[order[first]]), float(d[order[last]])
    middle = 0.5 * (low + high)
    if problem.total_cost < 1e3 or low == high:
        return middle
    # Where costs are huge, what rounding leaves of the slope is not flat: let the values decide.
    return min((middle, low, high), key=lambda r: r + problem.penalty(problem.y * (d - r)))
