r"""The best R2 for given squared distances d_i to a centre: the root of

    F+(R2) := sum_pos c_i p (d_i - R2)_+^(p-1)  =  1 + sum_neg c_i p (R2 - d_i)_+^(p-1) =: 1 + F-.

For p = 1 the sums are step functions and R2 is the (midpoint of the) place where they cross. For
p > 1 Newton's method runs on (F+ / (1 + F-))^(1/(p-1)) - 1, which is nearly linear in R2, and a
bracket guards it: F+ >= 1 at min d - tau, F+ = 0 at max_pos d.

``best_radius`` serves one problem, ``best_radii`` the rows of a ``batch``: the sums of all rows in
one go, then the same ``_Search`` for each.
"""

from __future__ import annotations

import math

import numpy as np

TINY = 1e-300
LOG_MAX = 700.0
MOST_STEPS = 200


def best_radius(problem, d, guess, tol) -> tuple[float, np.ndarray | None]:
    """R2 and, where at hand, the multipliers c_i p z_i^(p-1) that belong to it."""
    if problem.is_boxed:
        return _step_radius(problem, d), None
    low, high = float(d.min()) - problem.tau, float(_highest(problem, d))
    search = _Search(problem.p, d, low, high, guess, tol)
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
        if problem.steep:  # both sides by exp(shift), lest they overflow
            shift = max(0.0, float(exponent.max()))
            exponent -= shift
            unit = math.exp(-shift)
        np.exp(exponent, out=rate)
        rate[slack <= 0.0] = 0.0
        np.divide(rate, safe, out=slope)
        (f_pos, f_neg), (g_pos, g_neg) = sums.dot(problem.by_label).tolist()
        if search.ends(f_pos, f_neg + unit, g_pos, g_neg):
            break
    if problem.total_cost < 1e2 and not problem.steep:
        return search.radius, rate if search.done else None
    # Where the cost is huge, one unit in the last place of R2 matters: take the better end.
    ends = search.low, search.high
    return min(ends, key=lambda r: r + problem.penalty(y * (d - r))), None


def best_radii(batch, d, guess, tol) -> tuple[np.ndarray, np.ndarray]:
    """``best_radius`` of all rows: columns of R2 and the multipliers (p > 1, no steep costs)."""
    lows, highs = (d.min(axis=1) - batch.tau[:, 0]).tolist(), _highest(batch, d).tolist()
    guesses = [None] * len(d) if guess is None else guess[:, 0].tolist()
    cells = zip(batch.p[:, 0].tolist(), d, lows, highs, guesses, strict=True)
    searches = [_Search(*cell, tol) for cell in cells]
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
            searches[i].ends(f_pos, f_neg + 1.0, g_pos, g_neg)
        rows = rows[[not searches[i].done for i in rows]]
        if not len(rows):
            break
    rates[rows] = np.nan  # of a search without an end: no certificate may rest on them
    return np.array([[search.radius] for search in searches]), rates


class _Search:
    """Where to look for the root next, given the sums at ``radius``: a guarded Newton step."""

    def __init__(self, p, d, low, high, guess, tol) -> None:
        self.power, self.d, self.tol = p - 1.0, d, tol
        self.low, self.high = low, high
        self.radius = low if guess is None or not low < guess < high else guess
        self.last_step = math.inf
        self.done = False

    def ends(self, f_pos, f_neg, g_pos, g_neg) -> bool:
        """Move ``radius``, unless it is the root, given F+, 1 + F- and sum_i c_i p z_i^(p-2)."""
        self.done = True
        radius = self.radius
        if f_pos > f_neg:
            self.low = radius
        else:
            self.high = radius
        low, high, tol = self.low, self.high, self.tol
        size = abs(low) + abs(high)
        # A bracket of NaN counts as closed.
        if not high - low > 4.0 * tol * size or f_pos == f_neg:
            return True
        new = None
        log_ratio = -math.inf
        if f_pos > 0.0:
            log_ratio = (math.log(f_pos) - math.log(max(f_neg, TINY))) / self.power
        if log_ratio > -LOG_MAX:
            step = -math.expm1(-log_ratio) / (g_pos / f_pos + g_neg / max(f_neg, TINY))
            if abs(step) < tol * size:
                if self.power >= 1.0:
                    return True
                # Near a kink a tiny step proves nothing: step past the root to enclose it.
                new = radius + math.copysign(2.0 * tol * size, step)
            elif abs(step) <= 0.5 * self.last_step:
                new = radius + step
        if new is None or not low < new < high:
            new = self._between_kinks(f_pos - f_neg, g_pos + g_neg)
        self.last_step = abs(new - radius)
        self.radius = new
        self.done = False
        return False

    def _between_kinks(self, excess, slope_sum) -> float:
        """A safe next R2 where p is near 1 and the sums are nearly step functions of R2.

        The median of the distances in the bracket halves the number of steps; between two steps
        the sums are nearly linear in v = (kink - R2)^(p-1), kink being the next distance above.
        """
        d, low, high, radius = self.d, self.low, self.high, self.radius
        inside = d[(d > low) & (d < high)]
        if len(inside):
            return float(np.partition(inside, len(inside) // 2)[len(inside) // 2])
        above = d[d >= high]
        reach = (float(above.min()) if len(above) else high) - radius
        if reach > 0.0 and slope_sum > 0.0:
            ratio = 1.0 - excess / (slope_sum * reach)
            if ratio > 0.0:
                stretch = math.exp(min(math.log(ratio) / self.power, LOG_MAX))
                new = radius + reach * (1.0 - stretch)
                if low < new < high and new != radius:
                    return new
        return 0.5 * (low + high)


def _highest(problem, d):
    """Largest distance of a positive, of each row."""
    return (d[..., problem.positive] if problem.has_negatives else d).max(axis=-1)


def _step_radius(problem, d: np.ndarray) -> float:
    order = np.argsort(d, kind="stable")
    slope = 1.0 - problem.total_cost + np.cumsum(problem.cost[order])
    rounding = 1e-12 * (1.0 + problem.cost.sum())
    first = int(np.argmax(slope >= -rounding))
    last = int(np.argmax(slope > rounding)) if slope[-1] > rounding else len(d) - 1
    return 0.5 * float(d[order[first]] + d[order[last]])
