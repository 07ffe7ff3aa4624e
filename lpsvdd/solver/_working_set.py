r"""Exact solution of large problems on the few points that matter, certified on all of them.

A positive inside the ball has alpha = 0, and so has a negative outside: the solution on a subset W
that holds all others is the solution of the whole. Conversely *any* alpha on W, zero elsewhere, is
feasible for the whole problem, so its dual value is a lower bound; its centre has distances to all
n points, n |S| kernel values in blocks, and the best R2 for them gives an upper bound. Their
difference is the certificate of the whole problem without its kernel matrix. So, in rounds:

1. solve on W, from where the last round ended;
2. distances of all n points to the new centre, R2, the gap: done if it is small;
3. the points on the wrong side of the surface enter W, with some that are near it; those with
   alpha = 0 that are far inside leave.

The first centre is that of a small sample with costs scaled to the same total. While a round is
not yet expected to be the last, its distances, which only say who enters, are computed in single
precision; no gap that ends the search is.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lpsvdd._validation import check_costs, check_labels, check_tolerance
from lpsvdd.solver._arithmetic import Value
from lpsvdd.solver._batch import Start
from lpsvdd.solver._box import Box
from lpsvdd.solver._certificate import (
    NOT_CONVERGED,
    OPTIMAL,
    RADIUS_ZERO,
    in_units_of_k,
    is_optimal,
    radius_zero_value,
)
from lpsvdd.solver._choice import cache
from lpsvdd.solver._dense import solve_dense
from lpsvdd.solver._gram import Gram
from lpsvdd.solver._problem import Problem
from lpsvdd.solver._rows import Rows, sample_of
from lpsvdd.solver._solve import Solution
from lpsvdd.solver._support_newton import newton_on_support

FIRST = 500  # points of the sample that gives the first centre
FEWER = 4  # each sample is so many times smaller than the next
ROUGHLY = 1e-3  # the gap of a sample's solution
MOST_ROUNDS = 60
FEW = 3_000  # points up to which the whole matrix is a way out
MANY_OUTSIDE = 50  # points from which on, at p = 1, those at the bound are worth fixing
PATIENCE = 4  # rounds that do not halve the gap
FINE = 1e-8  # a tolerance from which on further iterations bring out digits of the scores
SINGLE = 3e-6  # a gap from which on distances in single precision say nothing,
FEW_DIGITS = 10.0  # a sum of multipliers from which on they lose too many,
GAIN = 0.01  # the gap of a round over that of the round before
SMALL_SET = 500  # points up to which the interior-point method is quickest


def solve_working_set(
    rows: Rows,
    y=None,
    *,
    p: float,
    c,
    tol: float = 1e-9,
    max_iter: int = 200,
    verbose: int = 0,
    start: Solution | None = None,
) -> Solution:
    """Solve the problem of all ``rows`` to a relative gap of ``tol``, without their matrix.

    Parameters
    ----------
    rows : Rows
    y, p, c, tol, max_iter : as in ``solve``; ``max_iter`` limits the iterations of each round
    verbose : int
        1 prints a line for each round.
    start : Solution of the same points at other costs or another exponent, optional

    Returns
    -------
    Solution
        ``gap`` is that of the exact kernel problem on all points; ``distances`` are given.
    """
    check_tolerance(tol, max_iter)
    problem = Problem(rows, y, p=p, c=c)
    with np.errstate(all="ignore"):
        if problem.is_radius_zero:
            value, n_iter, status = radius_zero_value(problem), 0, RADIUS_ZERO
        else:
            search = _Rounds(problem, tol, max_iter, verbose)
            value, n_iter = search.run(start)
            optimal = bool(is_optimal(problem, value, tol))
            if not optimal and problem.n <= FEW:  # multipliers so large that kernel sums cancel
                problem = Problem(_matrix_of(rows), problem.y, p=p, c=c)
                value, more, optimal = solve_dense(problem, [], tol, max_iter, None, 2)
                n_iter += more
            status = OPTIMAL if optimal else NOT_CONVERGED
    found = in_units_of_k(problem, value)
    if status == NOT_CONVERGED:
        warnings.warn(
            f"lp-SVDD (p={problem.p:g}) stopped without a certificate: relative duality gap "
            f"{found.gap:.2e}, tol={tol:g}; raise max_iter or tol, or use solver='dense'",
            ConvergenceWarning,
            stacklevel=2,
        )
    scale = 1.0 / problem.inv_scale if problem.inv_scale > 0.0 else np.inf
    distances = (problem.y * value.signed + value.radius_sq) * scale
    return Solution(
        found.alpha, found.centre, found.radius_sq, found.slack, found.primal, found.dual,
        found.gap, n_iter, status, problem.p, c, None, distances,
    )  # fmt: skip


def solve_path_large(
    rows: Rows,
    y=None,
    *,
    ps: Iterable[float],
    cs: Iterable[float],
    c_neg: Iterable[float] | None = None,
    sample_weight=None,
    tol: float = 1e-9,
    max_iter: int = 200,
    verbose: int = 0,
) -> list[Solution]:
    """``solve_path`` on rows: a whole grid on one set of points, without their matrix.

    The solutions come in the order of product(ps, cs, c_neg), as those of ``solve_path``. Each
    starts from the neighbour solved before it: its centre tells who is near the surface.

    Parameters
    ----------
    rows : Rows
        Points with their kernel, ``Rows(X, kernel="rbf", gamma=0.1)``.
    y, ps, cs, c_neg, sample_weight, tol, max_iter : as in ``solve_path``
    verbose : int
        1 prints a line for each round of each cell.
    """
    n = len(rows)
    y = check_labels(y, n)
    weight = np.ones(n) if sample_weight is None else check_costs(sample_weight, n)
    ps, others = list(ps), [None] if c_neg is None else list(c_neg)
    pairs = [(c, minus) for c in cs for minus in others]
    found: dict[tuple[int, int], Solution] = {}
    for i, p in enumerate(ps):
        for j, (c, minus) in enumerate(pairs):
            costs = np.where(y > 0.0, c, c if minus is None else minus) * weight
            start = found.get((i, j - 1), found.get((i - 1, j)))
            solution = solve_working_set(
                rows, y, p=p, c=costs, tol=tol, max_iter=max_iter, verbose=verbose, start=start
            )
            found[i, j] = replace(solution, c=c, c_neg=minus)
    return list(found.values())


def _matrix_of(rows: Rows) -> Gram:
    if rows.kernel == "linear":
        return Gram.of_features(rows.X)
    return rows.part(np.arange(len(rows)))


class _Rounds:
    """The rounds of one solve; scaled units."""

    def __init__(self, problem: Problem, tol: float, max_iter: int, verbose: int) -> None:
        self.problem, self.tol, self.max_iter, self.verbose = problem, tol, max_iter, verbose
        self.polish = 2 if tol <= FINE else 0
        self.n_iter, self.in_single, self.newton_helps = 0, False, True
        assert isinstance(problem.gram, Rows)
        self.rows = problem.gram

    def run(self, start: Solution | None) -> tuple[Value, int]:
        problem, tol = self.problem, self.tol
        if start is None:
            alpha = self._from_sample()
        else:
            alpha = start.alpha
        if problem.is_boxed:
            value = problem.evaluate(alpha)
        else:
            value = self._look(problem.feasible(alpha), np.inf)
        if problem.is_boxed and np.count_nonzero(value.signed > 0.0) > MANY_OUTSIDE:
            value = self._run_box(value)
            if value.gap <= tol:
                return value, self.n_iter
        if problem.is_boxed:
            alpha = problem.feasible(value.alpha)
            value = value if alpha is value.alpha else problem.evaluate(alpha)
        kept, fine = np.zeros(problem.n, dtype=bool), False
        for number in range(MOST_ROUNDS):
            self._tell(number, int(kept.sum()), value)
            if value.gap <= tol and (fine or not self.polish):
                break
            kept = self._next_set(value, kept)
            fine = GAIN * value.gap <= 0.1 * tol
            value = self._solve_on(np.flatnonzero(kept), value, fine)
        if self.in_single:
            value = problem.evaluate(value.alpha)
        return value, self.n_iter

    def _look(self, alpha: np.ndarray, before: float) -> Value:
        """The value on all points, ``before`` being the last gap; ``in_single`` says how."""
        problem = self.problem
        self.in_single = (
            self.rows.has_single
            and GAIN * before > max(self.tol, SINGLE)
            and float(alpha.sum()) <= FEW_DIGITS
        )
        if self.in_single:
            k_beta = self.rows.times(problem.y * alpha, single=True) * problem.inv_scale
            value = problem.value_at(alpha, k_beta)
            if value.gap > max(self.tol, SINGLE):
                return value
        self.in_single = False
        return problem.evaluate(alpha)

    def _run_box(self, value: Value) -> Value:
        """p = 1: multipliers at the bound are fixed (``_box``)."""
        problem = self.problem
        box, size = Box(problem, value.signed), 0
        value, best, since = box.value, np.inf, 0
        for number in range(MOST_ROUNDS):
            self._tell(number, size, value)
            since = 0 if value.gap < 0.5 * best else since + 1
            best = min(best, value.gap)
            if value.gap <= self.tol or since > PATIENCE:
                break
            value, n_iter, size = box.round(self.tol, self.max_iter)
            self.n_iter += n_iter
        if self.polish and value.gap <= self.tol:  # for the digits that the gap does not show
            last, n_iter, size = box.round(self.tol, self.max_iter, self.polish)
            self.n_iter += n_iter
            value = last if last.gap <= self.tol else value
        return value

    def _tell(self, number: int, size: int, value: Value) -> None:
        if self.verbose:
            print(f"round {number}: set {size}, gap {value.gap:.2e}", flush=True)

    def _from_sample(self) -> np.ndarray:
        problem = self.problem
        some = sample_of(problem.n, max(FIRST, problem.n // FEWER))
        if not problem.positive[some].any():
            some = np.union1d(some, np.flatnonzero(problem.positive)[:FIRST])
        ratio = problem.total_cost / float(problem.cost[some][problem.positive[some]].sum())
        large = len(some) > FIRST
        part = self.rows.subset(some) if large else problem.gram.part(some)
        small = Problem(part, problem.y[some], p=problem.p, c=ratio * problem.cost[some])
        if large:
            search = _Rounds(small, ROUGHLY, self.max_iter, self.verbose)
            value, n_iter = search.run(None)
        else:
            value, n_iter, _ = solve_dense(small, [], 1e-4, self.max_iter, None, 0)
        self.n_iter += n_iter
        alpha = np.zeros(problem.n)
        alpha[some] = value.alpha
        return alpha

    def _next_set(self, value: Value, kept: np.ndarray) -> np.ndarray:
        """Support and all on the wrong side; a tenth more, those nearest to the surface."""
        wanted = (value.signed > 0.0) | (kept & (value.alpha > 0.0))
        more = 50 + int(wanted.sum()) // 10
        rest = np.flatnonzero(~wanted)
        if len(rest) > more:
            rest = rest[np.argpartition(-value.signed[rest], more)[:more]]
        wanted[rest] = True
        return wanted

    def _solve_on(self, rows: np.ndarray, value: Value, fine: bool) -> Value:
        problem = self.problem
        if problem.p >= 2.0 and len(rows) > SMALL_SET and self.newton_helps:
            found = self._solve_by_newton(rows, value, fine)
            self.newton_helps = found.gap < 0.5 * value.gap or len(rows) > FEW
            return found
        part = problem.part(rows)
        start = value.alpha[rows]
        starts = []
        if start.any():
            starts = [Start(part.feasible(start), value.radius_sq / problem.inv_scale)]
        tol, polish = self._precision(value, fine)
        found, n_iter, _ = solve_dense(part, starts, tol, self.max_iter, None, polish)
        self.n_iter += n_iter
        alpha = np.zeros(problem.n)
        alpha[rows] = _on_surface(part, found, tol)
        return self._look(problem.feasible(alpha), value.gap)

    def _precision(self, value: Value, fine: bool) -> tuple[float, int]:
        """Tolerance and polish of a round: no finer than the points left out allow."""
        if fine:
            return 0.1 * self.tol, self.polish
        return max(0.1 * self.tol, min(1e-3, GAIN * value.gap)), 0

    def _solve_by_newton(self, rows: np.ndarray, value: Value, fine: bool) -> Value:
        problem = self.problem
        tol, polish = self._precision(value, fine)
        most = self.max_iter
        if 2 * len(rows) > problem.n:
            polish = self.polish // 2
            found, n_iter = newton_on_support(problem, value.alpha, self.tol, most, polish)
            self.n_iter += n_iter
            return found
        if len(rows) ** 2 <= cache():
            part = problem.part(rows)
        else:
            part = Problem(
                self.rows.subset(rows), problem.y[rows], p=problem.p, c=problem.cost[rows]
            )
        start = value.alpha
        if start[rows].sum() < 0.99 * start.sum():
            start = problem.multipliers(value.signed)
        found, n_iter = newton_on_support(part, part.feasible(start[rows]), tol, most, polish)
        self.n_iter += n_iter
        alpha = np.zeros(problem.n)
        alpha[rows] = found.alpha
        return self._look(problem.feasible(alpha), value.gap)


def _on_surface(part: Problem, found: Value, tol: float) -> np.ndarray:
    """For p > 1: alpha without what a rough solution leaves inside the ball, if the gap allows."""
    if part.is_boxed or not found.gap <= tol:
        return found.alpha
    inside = (found.signed < 0.0) & (found.alpha > 0.0)
    if not inside.any():
        return found.alpha
    without = part.evaluate(part.feasible(np.where(inside, 0.0, found.alpha)), found.radius_sq)
    return without.alpha if without.gap <= tol else found.alpha
