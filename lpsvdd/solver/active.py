r"""The one loop: solve on the points that matter, look at all of them, and again.

A positive inside the ball has alpha = 0, and so has a negative outside: the solution on a subset W
that holds all others is the solution of the whole. Conversely *any* alpha on W, zero elsewhere, is
feasible for the whole problem; its centre has distances to all n points, and the best R2 for them
bounds the optimum from above. So, in rounds:

1. solve on W, from where the last round ended (``newton``, or ``support`` where W is large);
2. distances of all n points to the new centre, R2, the gap: done if it is small;
3. the points on the wrong side of the surface enter W, with some that are near it; those with
   alpha = 0 that are far inside leave.

The first centre is that of a sample with costs scaled to the same total. Few points are their own
sample: W is all of them.

**The box (p = 1).** A point clearly outside has alpha_i = c_i, and only points on the surface have
values between. So W are points near it, F, and the others' coefficients beta_B are held fixed.
With m = 1 - sum_B beta_i and alpha_F = m a the problem in a is one of its own kind,

    max  sum_F a_i y_i k'_i - m (a*y)'K_FF(a*y),   y'a = 1,   0 <= a_i <= c_i/m,
    k'_i = k_ii - 2 (K beta_B)_i,

whose "diagonal" k' is not that of its matrix m K_FF; nothing in Newton's method asks it to be. At
n = 6,000 this is fourteen times quicker than a W with all points outside.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from sklearn.svm import OneClassSVM

from lpsvdd.solver.certificate import (
    better,
    evaluate_centre,
    is_optimal,
    with_coefficients,
)
from lpsvdd.solver.features import Coordinates
from lpsvdd.solver.newton import ROWS_OF_QR, InCoordinates, InKernel
from lpsvdd.solver.points import Gram, Rows, sample_of
from lpsvdd.solver.problem import Problem, Value
from lpsvdd.solver.support import newton_on_support

ALL_AT_ONCE = 60  # points up to which W is everything from the start,
ONE_CLASS, BOTH = 1_500, 400  # and those of a matrix at p > 1: without and with negatives
GAIN = 0.01  # the gap of a round over that of the round before
FEW, CROWD = 2_000, 0.05  # libsvm begins at p = 1: few points, or so many of them on the surface
FREE = 300  # points near the surface that are solved for at p = 1, at first
SNAP = 1e-7  # of c_i: so near to a bound a multiplier is at it
SMALL_MATRIX = 3_000  # points up to which coordinates of a kernel matrix are a way out
MOST_MULTIPLIERS = (30.0, 1e4, math.inf)  # guesses of sum alpha, for ``Problem.hardened``


def minimise(
    problem: Problem,
    start: np.ndarray | None,
    tol: float,
    max_iter: int,
    polish: int = 0,
    report: Callable[[str], None] | None = None,
) -> tuple[Value, int]:
    """The best value that was found, and iterations.

    ``start`` is an alpha of the same points at other costs or another exponent; where it misleads,
    the search begins again without it. ``polish`` asks for further iterations once ``tol`` is met:
    the gap is quadratic in the error of alpha.
    """
    if problem.inv_scale == 0.0:  # the unit is beyond floats: the limit c -> 0
        return problem.evaluate(problem.feasible(problem.weighted_mean())), 0
    if problem.is_boxed:  # a further step tells support vectors from what the barrier left
        polish = max(polish, 1)
    with np.errstate(all="ignore"):  # a step into overflow is refused, not warned about
        search = _Rounds(problem, tol, max_iter, polish, report)
        value = search.run(start)
        if start is not None and not is_optimal(problem, value, tol):
            value = better(problem, value, search.run(None))
        if not is_optimal(problem, value, tol) and problem.n <= SMALL_MATRIX:
            limit = max(max_iter - search.n_iter, 0)
            other, n_iter = in_coordinates(problem, None, tol, limit, polish)
            search.n_iter += n_iter
            value = better(problem, value, other)
    return value, search.n_iter


class _Rounds:
    """The rounds of one solve."""

    def __init__(self, problem: Problem, tol, max_iter, polish, report) -> None:
        self.problem, self.tol, self.max_iter, self.polish = problem, tol, max_iter, polish
        self.report = report
        self.n_iter, self.free = 0, FREE

    def run(self, start: np.ndarray | None) -> Value:
        problem, tol = self.problem, self.tol
        is_small = _is_small(problem)
        if start is not None:
            value = problem.evaluate(problem.feasible(start))
        elif is_small:
            value = problem.evaluate(problem.feasible(problem.weighted_mean()))
        else:
            by_libsvm = _is_one_class_machine(problem)
            if not by_libsvm or problem.n > FEW:
                value = self._from_sample()
            if by_libsvm and (problem.n <= FEW or self.free > CROWD * problem.n):
                value = self._from_libsvm()
        if isinstance(problem.points, (Gram, Rows)) and (not is_small or start is not None):
            limit = self.max_iter - self.n_iter
            near, n_iter = newton_on_support(problem, value, 0.1 * tol, limit, self.polish)
            self.n_iter += n_iter
            self._report_round(0, int(np.count_nonzero(near.alpha)), near)
            if is_optimal(problem, near, tol):
                return near
            if near.gap < 0.01 * value.gap:  # else its support is no better than the start's
                value = near
        kept = np.zeros(problem.n, dtype=bool)
        best, since_best, is_fine = value, 0, self.polish == 0
        for number in range(60):
            self._report_round(number, int(kept.sum()), value)
            is_enough = is_fine or (value.gap <= 1e-3 * tol and not problem.is_boxed)
            if (is_enough and is_optimal(problem, value, tol)) or since_best > 6:
                break
            if self.n_iter >= self.max_iter:
                break
            if is_small and number == 0:
                rows = np.arange(problem.n)
            elif problem.is_boxed:
                rows = self._near_surface(value)
            else:
                rows = self._wrong_side(value, kept)
            kept[:] = False
            kept[rows] = True
            is_fine = (is_small or GAIN * value.gap <= 0.1 * tol) and len(rows) > 0
            value = self._solve_on(rows, value, is_fine)
            since_best = 0 if value.gap < 0.5 * best.gap else since_best + 1
            if abs(value.gap) <= abs(best.gap) or is_optimal(problem, value, tol):
                best = value
            if since_best > 0 and problem.is_boxed:
                self.free *= 2
        return best

    def _report_round(self, number: int, size: int, value: Value) -> None:
        if self.report is not None:
            self.report(f"round {number}: {size} points, gap {max(value.gap, 0.0):.1e}")

    def _from_libsvm(self) -> Value:
        """p = 1 without negatives and a constant k_ii is the one-class machine of libsvm.

        Its answer has four digits or so, and the points at the bound; the certificate is ours.
        Where half of the points are on the surface this is ten times quicker than a sample; where
        few are, a sample of 30,000 points takes a fifth of libsvm's time.
        """
        problem, points = self.problem, self.problem.points
        if isinstance(points, Rows):
            options, X = {"gamma": points.options["gamma"]}, points.X
        else:
            options, X = {"kernel": "precomputed"}, points.K
        machine = OneClassSVM(nu=1.0 / problem.total_cost, tol=1e-5, **options)
        machine.fit(X, sample_weight=problem.cost * (problem.n / problem.total_cost))
        alpha = np.zeros(problem.n)
        alpha[machine.support_] = machine.dual_coef_[0] / machine.dual_coef_.sum()
        alpha = np.where(alpha > (1.0 - SNAP) * problem.cost, problem.cost, alpha)
        return problem.evaluate(problem.feasible(alpha))

    def _from_sample(self) -> Value:
        """The value of the centre of a sample, costs scaled to the same total."""
        problem = self.problem
        size = getattr(problem.points, "sample_size", problem.n // 4)
        some = sample_of(problem.n, max(ALL_AT_ONCE, min(size, problem.n // 4)))
        if not problem.positive[some].any():
            some = np.union1d(some, np.flatnonzero(problem.positive)[:ALL_AT_ONCE])
        ratio = problem.total_cost / float(problem.cost[some][problem.positive[some]].sum())
        points = problem.points
        few = points.part(some) if isinstance(points, Gram) else points.subset(some)
        small = problem.part(some, few, ratio * problem.cost[some])
        search = _Rounds(small, 1e-3, self.max_iter, 0, None)
        value = search.run(None)
        self.n_iter += search.n_iter
        alpha = np.zeros(problem.n)
        alpha[some] = value.alpha
        if problem.is_boxed:  # as many on the surface, in proportion
            between = np.count_nonzero((value.alpha > 0.0) & (value.alpha < small.cost))
            self.free = max(FREE, int(between) * problem.n // len(some))
            value = problem.evaluate(alpha)
            return problem.evaluate(_at_bounds(problem, value.signed))
        return problem.evaluate(problem.feasible(alpha))

    # -- which points -----------------------------------------------------------------------------

    def _wrong_side(self, value: Value, kept: np.ndarray) -> np.ndarray:
        """Support and all on the wrong side; half as many more, those nearest to the surface."""
        wanted = (value.signed > 0.0) | (kept & (value.alpha > 0.0))
        more = 40 + min(int(wanted.sum()) // 2, 500 + int(wanted.sum()) // 10)
        wanted |= _largest(np.where(wanted, -np.inf, value.signed), more)
        if not self.problem.positive[wanted].any():
            wanted |= self.problem.positive
        if 4 * int(wanted.sum()) > 3 * self.problem.n:
            return np.arange(self.problem.n)
        return np.flatnonzero(wanted)

    def _near_surface(self, value: Value) -> np.ndarray:
        """p = 1: between the bounds, on the wrong side by most, near the surface."""
        problem, alpha, signed = self.problem, value.alpha, value.signed
        may_rise, may_fall = alpha < problem.cost, alpha > 0.0
        chosen = may_rise & may_fall
        quarter = max(self.free // 4, 1)
        for wrong in (may_rise & (signed > 0.0), may_fall & (signed < 0.0)):
            chosen |= _largest(np.where(wrong, np.abs(signed), -np.inf), quarter)
        for side in (may_rise, may_fall):
            chosen |= _largest(np.where(side, -np.abs(signed), -np.inf), quarter)
        return np.flatnonzero(chosen)

    # -- their solution ---------------------------------------------------------------------------

    def _solve_on(self, rows: np.ndarray, value: Value, is_fine: bool) -> Value:
        """The value on all points of the solution on some rows, from an earlier value."""
        problem = self.problem
        tol = 0.1 * self.tol if is_fine else max(0.1 * self.tol, min(1e-3, GAIN * value.gap))
        if len(rows) == problem.n:
            tol = self.tol if is_fine else tol
        polish, limit = self.polish if is_fine else 0, self.max_iter - self.n_iter
        if problem.is_boxed and len(rows) < problem.n:
            return self._solve_in_box(rows, value, tol, limit, polish)
        part = problem if len(rows) == problem.n else problem.part(rows)
        start = value.alpha[rows]
        if not problem.is_boxed and not start.sum() > 0.9 * value.alpha.sum():
            start = problem.multipliers(value.signed)[rows]
        start = part.feasible(start)
        if not isinstance(part.points, (Gram, Coordinates)):
            part = problem.part(rows, part.points.part(rows))
        alpha, n_iter = solve_part(part, start, tol, limit, polish)
        self.n_iter += n_iter
        whole = np.zeros(problem.n)
        whole[rows] = alpha
        return problem.evaluate(problem.feasible(whole), value.radius_sq)

    def _solve_in_box(self, rows, value: Value, tol, limit, polish) -> Value:
        """p = 1 with the multipliers of the other points held fixed (module docstring)."""
        problem = self.problem
        y, cost, before = problem.y[rows], problem.cost[rows], value.alpha[rows]
        m = float(y @ before)
        if not m > 0.0:
            self.free *= 2
            return value
        points = problem.points.part(rows)
        d = problem.distances(value)
        k_beta = 0.5 * (problem.diag + value.norm_sq - d) / problem.inv_scale  # of all points
        diag = points.diag - 2.0 * (k_beta[rows] - points.times(y * before))
        if isinstance(points, Coordinates):
            points = Coordinates(math.sqrt(m) * points.Z, diag, points.spread, points.size)
        else:
            points = Gram(m * points.K, diag, points.spread, points.size)
        part = problem.part(rows, points, cost / m)
        alpha, n_iter = solve_part(part, part.feasible(before / m), tol, limit, polish)
        self.n_iter += n_iter
        alpha = np.minimum(m * alpha, cost)
        alpha[alpha < SNAP * cost] = 0.0
        high = alpha > (1.0 - SNAP) * cost
        alpha[high] = cost[high]
        whole = value.alpha.copy()
        whole[rows] = _balanced(alpha, cost, y, m, ~high & (alpha > 0.0))
        return problem.evaluate(whole)


def _is_small(problem: Problem) -> bool:
    """Whether W is everything from the start.

    Newton's method on a whole matrix of 350 or 1,000 points is four times as quick as a sample and
    the steps on the support after it. With negatives it may need many iterations.
    """
    if problem.is_boxed or not isinstance(problem.points, Gram):
        return problem.n <= ALL_AT_ONCE
    return problem.n <= (BOTH if problem.has_negatives else ONE_CLASS)


def _is_one_class_machine(problem: Problem) -> bool:
    """Whether libsvm solves it: p = 1, no negatives, a kernel with constant k_ii."""
    points = problem.points
    if not problem.is_boxed or problem.has_negatives:
        return False
    if isinstance(points, Rows):
        return points.options["kernel"] == "rbf"
    return isinstance(points, Gram) and bool(np.ptp(points.diag) <= 1e-12 * points.size)


def solve_part(
    problem: Problem, start: np.ndarray, tol: float, max_iter: int, polish: int
) -> tuple[np.ndarray, int]:
    """alpha of a problem whose points are a matrix or coordinates, from a feasible start."""
    value = problem.evaluate(start)
    if value.gap <= tol and polish == 0:
        return start, 0
    n_iter = 0
    if isinstance(problem.points, Coordinates):
        if not problem.is_boxed and problem.n > ROWS_OF_QR:
            value, n_iter = newton_on_support(problem, value, tol, max_iter, polish)
            if value.gap <= tol or n_iter >= max_iter:
                return value.alpha, n_iter
        value, more = in_coordinates(problem, value, tol, max_iter - n_iter, polish)
    else:
        value, more = in_kernel(problem, value, tol, max_iter, polish)
    return value.alpha, n_iter + more


def in_kernel(problem: Problem, value: Value, tol, max_iter, polish) -> tuple[Value, int]:
    """Newton's method in the kernel from a value; costs that are hard constraints anyway lowered.

    A start near the solution deserves a small mu; should that fail, a large one is safe. The first
    may use a quarter of the iterations, lest nothing is left for the second.
    """
    easier = problem.hardened(1.0 if not problem.has_negatives else 30.0)
    if easier is not problem:
        value = easier.evaluate(easier.feasible(value.alpha), value.radius_sq)
    n_iter, best = 0, value
    for mu, share in ((0.1 * value.gap / problem.n, 0.25), (10.0 / problem.n, 1.0)):
        if not mu >= 0.0:
            continue
        newton = InKernel(easier, value.alpha, value.signed, value.radius_sq, max(mu, 1e-18))
        newton.run(0.9 * tol, polish, math.ceil(share * (max_iter - n_iter)))
        n_iter += newton.n_iter
        alpha, guess = newton.multipliers()
        for candidate in (alpha, newton.point[0]):  # without the dust, if that is good enough
            new = easier.evaluate(easier.feasible(candidate), guess)
            best = better(easier, best, new)
            if new.gap <= tol:
                break
        if best.gap <= tol or n_iter >= max_iter:
            break
    if easier is not problem:
        best = problem.evaluate(problem.feasible(best.alpha), best.radius_sq)
        if not best.gap <= tol and n_iter < max_iter:
            mu = max(0.1 * max(best.gap, tol) / problem.n, 1e-18)
            newton = InKernel(problem, best.alpha, best.signed, best.radius_sq, mu)
            newton.run(0.9 * tol, polish, max_iter - n_iter)
            n_iter += newton.n_iter
            alpha, guess = newton.multipliers()
            best = better(problem, best, problem.evaluate(problem.feasible(alpha), guess))
    return best, n_iter


def in_coordinates(
    problem: Problem, start: Value | None, tol, max_iter, polish
) -> tuple[Value, int]:
    """Newton's method in coordinates, from a value or from the weighted mean.

    From the mean, where alpha may be larger than at the end by 1e100, one walks through smaller
    exponents (costs with the same c^(1/p)), each starting at the centre of the one before. Near
    p = 1 costs beyond effect are lowered first (``Problem.hardened``): they would let multipliers
    of points on the surface grow without use.
    """
    is_small = problem.n <= ROWS_OF_QR
    points = problem.points.features if is_small else problem.points
    alpha = problem.weighted_mean() if start is None else start.alpha
    w = (problem.y * alpha) @ points.Z
    mu, stages = 0.1 / problem.n, exponents_on_the_way(problem.p)
    if start is not None:
        mu, stages = min(max(10.0 * start.gap, 1e-3), 1.0) / problem.n, [problem.p]
    best, best_centre, n_iter, before = start, None, 0, None
    alphas: list[np.ndarray] = []
    centres: list[tuple[np.ndarray, float]] = []
    for most in MOST_MULTIPLIERS:
        easier = problem.hardened(most) if math.isfinite(most) else problem
        if before is not None and easier.log_rate is before.log_rate:
            continue
        before = easier
        for p in stages:
            newton = InCoordinates(easier.with_exponent(p), points.Z, points.diag, w, mu)
            is_last = p == problem.p
            goal, more = (0.1 * tol, polish) if is_last else (1e-2, 0)
            newton.run(goal, more, max_iter - n_iter)
            n_iter += newton.n_iter
            w = newton.centre
        # Lowered costs give the better alpha, the true ones the better centre: try all pairs.
        alphas += newton.multipliers()
        centres.append((w, newton.b))
        if is_small:
            for alpha, centre in itertools.product(alphas, centres):
                value = evaluate_centre(problem, alpha, *centre)
                if best is None or best_centre is None or abs(value.excess) < abs(best.excess):
                    best, best_centre = value, centre[0]
        else:
            values = [problem.evaluate(problem.feasible(alpha)) for alpha in alphas]
            best = better(problem, *values, *([] if best is None else [best]))
        assert best is not None
        if abs(best.gap) <= tol or n_iter >= max_iter:
            break
    assert best is not None
    if best_centre is not None:
        exact = with_coefficients(problem, best, best_centre)
        plain = problem.evaluate(problem.feasible(best.alpha))
        best = plain if is_optimal(problem, plain, tol) else exact
    return best, n_iter


def exponents_on_the_way(p: float) -> list[float]:
    """Exponents on the way to p, from one not above 4."""
    exponents = [p]
    while exponents[0] > 4.0:
        exponents.insert(0, max(exponents[0] / 3.0, 2.0))
    return exponents


def _largest(values: np.ndarray, most: int) -> np.ndarray:
    """Where the largest of the finite values are; at most so many."""
    chosen = np.zeros(len(values), dtype=bool)
    index = np.arange(len(values))
    if most < len(values):
        index = np.argpartition(-values, most)[:most]
    chosen[index] = np.isfinite(values[index])
    return chosen


def _balanced(alpha, cost, y, m, between) -> np.ndarray:
    """y'alpha = m again after rounding, by those between their bounds."""
    missing = m - float(y @ alpha)
    room = np.where(between, np.minimum(alpha, cost - alpha), 0.0)
    total = float(room.sum())
    return alpha + y * room * (missing / total) if total > abs(missing) else alpha


def _at_bounds(problem: Problem, signed: np.ndarray) -> np.ndarray:
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
