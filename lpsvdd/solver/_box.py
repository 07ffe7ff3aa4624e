r"""p = 1 with many multipliers at their bound: those are fixed, and few are solved for.

At p = 1 a point clearly outside has alpha_i = c_i, one clearly inside 0; only points on the surface
have values between. Let F be a few hundred points near it and beta_B the others' coefficients, held
fixed. With m = 1 - sum_B beta_i and alpha_F = m a the problem in a is one of its own kind,

    max  sum_F a_i y_i k'_i - m (a*y)'K_FF(a*y),   y'a = 1,   0 <= a_i <= c_i/m,
    k'_i = k_ii - 2 (K beta_B)_i,

whose "diagonal" k' is not that of its matrix m K_FF; nothing in the interior-point method asks it
to be. Its solution raises the dual value of the whole. The products K beta of all points are kept
and changed by the columns whose beta has changed, so a round costs n |F| kernel values. The gap of
the whole problem decides when it ends.
"""

from __future__ import annotations

import numpy as np

from lpsvdd.solver._arithmetic import Value
from lpsvdd.solver._batch import Start
from lpsvdd.solver._dense import optimise
from lpsvdd.solver._gram import Gram
from lpsvdd.solver._problem import Problem

FREE = 400  # points that are solved for, at first
MOST_FREE = 3_000
SNAP = 1e-7  # of c_i: so near to a bound a multiplier is at it


class Box:
    """alpha of the whole problem with K beta / s, and rounds that improve it."""

    def __init__(self, problem: Problem, signed: np.ndarray) -> None:
        self.problem, self.alpha = problem, box_start(problem, signed)
        self.k_beta = problem.kernel_times(problem.y * self.alpha)
        self.free = FREE
        self.value = problem.value_at(self.alpha, self.k_beta)
        self.signed = signed  # of the centre that the surface is taken from

    def round(self, goal: float, max_iter: int, polish: int = 0) -> tuple[Value, int, int]:
        """Solve for the points near the surface; returns the value, iterations and their number."""
        problem, before = self.problem, self.value
        rows, room = self._choose()
        if not room > 0.0:
            self.free *= 2
            return before, 0, len(rows)
        alpha = self.alpha.copy()
        tol = max(0.01 * goal, min(1e-3, 1e-3 * before.gap))
        found, n_iter = self._solve_for(rows, room, tol, max_iter, polish)
        alpha[rows] = found
        changed = np.flatnonzero(alpha != self.alpha)
        beta = np.zeros(problem.n)
        beta[changed] = problem.y[changed] * (alpha - self.alpha)[changed]
        self.k_beta = self.k_beta + problem.kernel_times(beta)
        self.alpha, self.value = alpha, problem.value_at(alpha, self.k_beta)
        self.signed = self.value.signed
        if self.value.gap > 0.2 * before.gap:  # too few of them
            self.free = min(2 * self.free, MOST_FREE)
        return self.value, n_iter, len(rows)

    def _choose(self) -> tuple[np.ndarray, float]:
        """Rows F: between the bounds, on the wrong side by most, near the surface; and m."""
        problem, alpha, signed = self.problem, self.alpha, self.signed
        may_rise, may_fall = alpha < problem.cost, alpha > 0.0
        rank = -np.abs(signed)  # wrong where alpha may follow the sign
        chosen = may_rise & may_fall
        for wrong in (may_rise & (signed > 0.0), may_fall & (signed < 0.0)):
            chosen |= _largest(np.where(wrong, np.abs(signed), 0.0), self.free // 4)
        for side in (may_rise, may_fall):
            chosen |= _largest(np.where(side, rank, -np.inf), self.free // 4)
        rows = np.flatnonzero(chosen)
        return rows, float(problem.y[rows] @ alpha[rows])

    def _solve_for(self, rows: np.ndarray, m: float, tol: float, max_iter: int, polish: int):
        problem = self.problem
        y, cost, before = problem.y[rows], problem.cost[rows], self.alpha[rows]
        K = problem.gram.block(rows, rows)
        k_own = K @ (y * before)
        k_fixed = self.k_beta[rows] / problem.inv_scale - k_own
        diag = problem.gram.diag[rows] - 2.0 * k_fixed
        gram = Gram(m * K, diag, problem.gram.spread, problem.gram.size)
        part = Problem(gram, y, p=1.0, c=cost / m)
        start = Start(np.minimum(before / m, part.cost), 0.0)
        value, n_iter = optimise(part, [start], tol, max_iter, None, polish)
        alpha = np.minimum(m * value.alpha, cost)
        alpha[alpha < SNAP * cost] = 0.0
        high = alpha > (1.0 - SNAP) * cost
        alpha[high] = cost[high]
        return _balanced(alpha, cost, y, m, ~high & (alpha > 0.0)), n_iter


def _largest(values: np.ndarray, most: int) -> np.ndarray:
    """Where the largest of the values are that are not 0 or -inf; at most so many."""
    chosen = np.zeros(len(values), dtype=bool)
    index = np.arange(len(values))
    if most < len(values):
        index = np.argpartition(-values, most)[:most]
    chosen[index] = (values[index] != 0.0) & np.isfinite(values[index])
    return chosen


def _balanced(alpha, cost, y, m, between) -> np.ndarray:
    """y'alpha = m again after rounding, by those between their bounds."""
    missing = m - float(y @ alpha)
    room = np.where(between, np.minimum(alpha, cost - alpha), 0.0)
    total = float(room.sum())
    if total > abs(missing):
        return alpha + y * room * (missing / total)
    return alpha


def box_start(problem: Problem, signed: np.ndarray) -> np.ndarray:
    """alpha = c on the wrong side of a surface; what y'alpha = 1 lacks goes to the points next."""
    positive, cost = problem.positive, problem.cost
    alpha = np.where(signed > 0.0, cost, 0.0)
    missing = 1.0 - float(problem.y @ alpha)
    inward = missing > 0.0
    takers = np.flatnonzero(positive & ((signed <= 0.0) if inward else (signed > 0.0)))
    takers = takers[np.argsort(np.abs(signed[takers]), kind="stable")]
    taken = np.minimum(np.cumsum(cost[takers]), abs(missing))
    change = np.diff(taken, prepend=0.0)
    alpha[takers] += change if inward else -change
    return np.clip(alpha, 0.0, cost)
