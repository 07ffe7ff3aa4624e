r"""The best R2 for given squared distances d_i to a centre: the root of

    F+(R2) := sum_pos c_i p (d_i - R2)_+^(p-1)  =  1 + sum_neg c_i p (R2 - d_i)_+^(p-1) =: 1 + F-.

For p = 1 the sums are step functions and R2 is the (midpoint of the) place where they cross. For
p > 1 Newton's method runs on (F+ / (1 + F-))^(1/(p-1)) - 1, which is nearly linear in R2, and a
bracket guards it: F+ >= 1 at min d - tau, F+ = 0 at max_pos d.

``best_radius`` serves one problem, ``best_radii`` the rows of a batch: the sums of all rows in one
go, then the same ``RootSearch`` for each.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lpsvdd.solver._batch import Batch
    from lpsvdd.solver._problem import Problem

TINY = 1e-300
LOG_MAX = 700.0
MOST_STEPS = 200


def best_radius(problem: Problem, d, guess, tol) -> tuple[float, np.ndarray | None]:
    """R2 and, where at hand, the multipliers c_i p z_i^(p-1) that belong to it."""
    if problem.is_boxed:
        return _step_radius(problem, d), None
    low, high = float(d.min()) - problem.tau, float(_highest(problem, d))
    search = RootSearch(problem.p, d, low, high, guess, tol)
    y, log_rate, unit = problem.y, problem.log_rate, 1.0
    sums = np.empty((2, len(d)))  # c_i p z_i^(p-1), and the same over z_i
    rate, slope = sums
    for _ in range(MOST_STEPS):
        slack = d - search.radius
        if problem.has_negatives:
            slack *= y
        safe = np.maximum(slack, TINY)
        exponent = np.log(safe)
        exponent *= search.power
        exponent += log_rate
        if problem.is_steep:  # both sides by exp(shift), lest they overflow
            shift = max(0.0, float(exponent.max()))
            exponent -= shift
            unit = math.exp(-shift)
        np.exp(exponent, out=rate)
        rate[slack <= 0.0] = 0.0
        np.divide(rate, safe, out=slope)
        (f_pos, f_neg), (g_pos, g_neg) = sums.dot(problem.by_label).tolist()
        search.learn(f_pos, f_neg + unit, g_pos, g_neg)
        if search.done:
            break
    if problem.total_cost < 1e2 and not problem.is_steep:
        return search.radius, rate if search.done else None
    # Where the cost is huge, one unit in the last place of R2 matters: take the better end.
    ends = search.low, search.high
    return min(ends, key=lambda r: r + problem.penalty(y * (d - r))), None


def best_radii(batch: Batch, d, guess, tol) -> tuple[np.ndarray, np.ndarray]:
    """``best_radius`` of all rows: columns of R2 and the multipliers (p > 1, no steep costs)."""
    lows, highs = (d.min(axis=1) - batch.tau[:, 0]).tolist(), _highest(batch, d).tolist()
    guesses = [None] * len(d) if guess is None else guess[:, 0].tolist()
    cells = zip(batch.p[:, 0].tolist(), d, lows, highs, guesses, strict=True)
    searches = [RootSearch(*cell, tol) for cell in cells]
    rates = np.empty_like(d)
    rows, y = np.arange(len(d)), batch.y if batch.has_negatives else 1.0
    for _ in range(MOST_STEPS):
        radius = np.array([[searches[i].radius] for i in rows])
        slack = y * (d[rows] - radius)
        safe = np.maximum(slack, TINY)
        rate = np.exp((batch.p[rows] - 1.0) * np.log(safe) + batch.log_rate[rows])
        rate[slack <= 0.0] = 0.0
        rates[rows] = rate
        sums = np.hstack([rate @ batch.by_label, rate / safe @ batch.by_label]).tolist()
        for i, (f_pos, f_neg, g_pos, g_neg) in zip(rows, sums, strict=True):
            searches[i].learn(f_pos, f_neg + 1.0, g_pos, g_neg)
        rows = rows[[not searches[i].done for i in rows]]
        if not len(rows):
            break
    rates[rows] = np.nan  # of a search without an end: no certificate may rest on them
    return np.array([[search.radius] for search in searches]), rates


class RootSearch:
    """Where to look for the root next: Newton's method inside a bracket [low, high].

    ``learn`` is told F+, 1 + F- and their slopes at ``radius``; it moves ``radius`` on, or says
    ``done`` and leaves it where it is.
    """

    def __init__(self, p, d, low, high, guess, tol) -> None:
        self.power, self.d, self.tol = p - 1.0, d, tol
        self.low, self.high = low, high
        self.radius = low if guess is None or not low < guess < high else guess
        self.last_step = math.inf
        self.done = False

    def learn(self, f_pos, f_neg, g_pos, g_neg) -> None:
        """F+, 1 + F-, and sum_i c_i p z_i^(p-2) over the positives and over the negatives."""
        if f_pos > f_neg:
            self.low = self.radius
        else:
            self.high = self.radius
        size = abs(self.low) + abs(self.high)
        is_closed = not self.high - self.low > 4.0 * self.tol * size  # a bracket of NaN is closed
        if is_closed or f_pos == f_neg:
            self.done = True
            return
        new = None
        step = self._newton_step(f_pos, f_neg, g_pos, g_neg)
        if step is not None and abs(step) < self.tol * size:
            if self.power >= 1.0:
                self.done = True
                return
            # Near a kink a tiny step proves nothing: step past the root to enclose it.
            new = self.radius + math.copysign(2.0 * self.tol * size, step)
        elif step is not None and abs(step) <= 0.5 * self.last_step:
            new = self.radius + step
        if new is None or not self.low < new < self.high:
            new = self._safe_step(f_pos - f_neg, g_pos + g_neg)
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

    def _safe_step(self, excess, slope_sum) -> float:
        """A next R2 that surely shrinks the bracket, also where the sums are nearly step functions.

        While distances lie inside the bracket, their median: it halves the number of kinks. Then
        the sums have no kink inside, and for p near 1 are nearly linear in (kink - R2)^(p-1), kink
        being the next distance above; else the middle.
        """
        low, high, radius = self.low, self.high, self.radius
        inside = self.d[(self.d > low) & (self.d < high)]
        if len(inside):
            return float(np.partition(inside, len(inside) // 2)[len(inside) // 2])
        new = self._linear_below_kink(excess, slope_sum)
        if new is not None and low < new < high and new != radius:
            return new
        return 0.5 * (low + high)

    def _linear_below_kink(self, excess, slope_sum) -> float | None:
        """The root if F+ - (1 + F-) = ``excess`` were linear in v = (kink - R2)^(p-1).

        At distance r = kink - R2 below the kink its slope in v is slope_sum r^(2-p), so the root
        has v = r^(p-1) (1 - excess/(slope_sum r)).
        """
        above = self.d[self.d >= self.high]
        reach = (float(above.min()) if len(above) else self.high) - self.radius
        if not (reach > 0.0 and slope_sum > 0.0):
            return None
        shrinkage = 1.0 - excess / (slope_sum * reach)
        if shrinkage <= 0.0:
            return None
        stretch = math.exp(min(math.log(shrinkage) / self.power, LOG_MAX))
        return self.radius + reach * (1.0 - stretch)


def _highest(problem: Problem | Batch, d):
    """Largest distance of a positive, of each row."""
    return (d[..., problem.positive] if problem.has_negatives else d).max(axis=-1)


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
