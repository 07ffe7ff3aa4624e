r"""The one loop: solve on the points that matter, look at all of them, and again.

A positive inside the ball has alpha = 0, and so has a negative outside: the solution on a subset W
that holds all others is the solution of the whole. Conversely *any* alpha on W, zero elsewhere, is
feasible for the whole problem; its centre has distances to all n points, and the best R2 for them
bounds the optimum from above. So:

1. few points are solved at once by ``interior_point``; many start from the solution of a sample,
   with costs scaled to the same total;
2. ``support_newton`` goes from there to the end, in most cases;
3. where it does not get there, rounds of ``interior_point`` on W: the support, the points on the
   wrong side of the surface, and half as many more that are near it.

Points that do not fit in memory (``is_remote``, landmarks) take a pass over all rows for each look
at all of them. There both methods see W alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lpsvdd.solver.certificate import better_value, is_optimal
from lpsvdd.solver.interior_point import interior_point
from lpsvdd.solver.points import Gram, sample_of
from lpsvdd.solver.problem import Problem, Value
from lpsvdd.solver.support_newton import newton_on_support

AT_ONCE = 300  # points up to which the interior point method takes all of them
SAMPLE_SHARE, SMALLEST_SAMPLE = 4, 150  # the sample is one point in so many, and at least these
FURTHER = 1e-4  # of tol: the gap to aim at, as scores are known to its square root only
STEEP = 8.0  # exponent above which few of the points outside have any weight,
NO_WEIGHT = 1e-4  # a multiplier that is no more than this times the mean
MAX_ROUNDS, MAX_STALLED_ROUNDS = 40, 4


@np.errstate(all="ignore")  # a step into overflow is refused, not warned about
def minimise(
    problem: Problem,
    start: np.ndarray | None,
    tol: float,
    max_iter: int,
    report: Callable[[str], None] | None = None,
) -> tuple[Value, int]:
    """Return the best value that was found, and the number of Newton steps.

    ``start`` is an alpha of the same points at other costs or another exponent.
    """
    if problem.inv_scale == 0.0:  # the unit is beyond floats: the limit c -> 0
        return problem.evaluate(problem.feasible(problem.weighted_mean())), 0
    say = report or (lambda line: None)
    n_iter, is_near = 0, True
    if start is not None:
        value = problem.evaluate(problem.feasible(start))
    elif problem.n > AT_ONCE:
        value, n_iter = _from_sample(problem, tol, max_iter)
    else:
        value, is_near = problem.evaluate(problem.feasible(problem.weighted_mean())), False
    goal, best, stalled = FURTHER * tol, value, 0
    for rounds in range(1, MAX_ROUNDS + 1):
        if is_near and not problem.points.is_remote:
            value, more = newton_on_support(problem, best, goal, max_iter - n_iter)
            n_iter += more
            best = value if is_optimal(problem, value, tol) else better_value(problem, value, best)
            say(f"support: {np.count_nonzero(value.alpha)} points, {more} steps, "
                f"gap {max(value.gap, 0.0):.1e}")  # fmt: skip
        if is_optimal(problem, best, tol) or n_iter >= max_iter or stalled > MAX_STALLED_ROUNDS:
            break
        rows = _active_set(problem, best)
        value, more = _solve_on(problem, rows, best, is_near, tol, max_iter - n_iter)
        n_iter, is_near = n_iter + more, True
        stalled = 0 if value.gap < 0.5 * best.gap else stalled + 1
        best = better_value(problem, value, best)
        gap = max(value.gap, 0.0)
        say(f"round {rounds}, interior: {len(rows)} points, {more} steps, gap {gap:.1e}")
    return best, n_iter


def _from_sample(problem: Problem, tol: float, max_iter: int) -> tuple[Value, int]:
    """Return the value of the centre of a sample, costs scaled to the same total."""
    size = getattr(problem.points, "sample_size", problem.n // SAMPLE_SHARE)
    some = sample_of(problem.n, max(SMALLEST_SAMPLE, min(size, problem.n // 2)))
    if not problem.positive[some].any():
        some = np.union1d(some, np.flatnonzero(problem.positive)[:AT_ONCE])
    ratio = problem.total_cost / float(problem.cost[some][problem.positive[some]].sum())
    small = problem.part(some, problem.points.subset(some), ratio * problem.cost[some])
    there, n_iter = minimise(small, None, max(1e-3, tol), max_iter)
    alpha = np.zeros(problem.n)
    alpha[some] = there.alpha
    whole = problem.evaluate(alpha)  # at p = 1 alpha is beyond its bounds, but its ball is a start
    if problem.is_boxed:
        return problem.evaluate(_at_bounds(problem, whole.signed)), n_iter
    return _spread_out(problem, whole), n_iter


def _spread_out(problem: Problem, value: Value) -> Value:
    """Return the value, or that of the multipliers that its slacks ask for if it is better."""
    if problem.is_boxed:
        return value
    alpha = problem.feasible(problem.multipliers(value.signed))
    return better_value(problem, value, problem.evaluate(alpha, value.radius_sq))


def _at_bounds(problem: Problem, signed: np.ndarray) -> np.ndarray:
    """Return alpha = c on the wrong side of a surface, and what y'alpha = 1 lacks next to it."""
    positive, cost = problem.positive, problem.cost
    alpha = np.where(signed > 0.0, cost, 0.0)
    missing = 1.0 - float(problem.y @ alpha)
    inward = missing > 0.0
    takers = np.flatnonzero(positive & ((signed <= 0.0) if inward else (signed > 0.0)))
    takers = takers[np.argsort(np.abs(signed[takers]), kind="stable")]
    taken = np.minimum(np.cumsum(cost[takers]), abs(missing))
    change = np.diff(taken, prepend=0.0)
    alpha[takers] += change if inward else -change
    return problem.feasible(alpha)


def _active_set(problem: Problem, value: Value) -> np.ndarray:
    """Return the support, the wrong side, and half as many more nearest to the surface."""
    wanted = (value.signed > 0.0) | (value.alpha > 0.0)
    if problem.p > STEEP:  # most of the points outside have next to no weight
        alpha = np.maximum(problem.multipliers(value.signed), value.alpha)
        wanted &= alpha > NO_WEIGHT * alpha.sum() / problem.n
    more = 40 + int(wanted.sum()) // 2
    if problem.n <= AT_ONCE or 4 * (int(wanted.sum()) + more) > 3 * problem.n:
        return np.arange(problem.n)
    inside = np.where(wanted, -np.inf, value.signed)
    wanted[np.argpartition(-inside, more)[:more]] = True
    if not problem.positive[wanted].any():
        wanted |= problem.positive
    return np.flatnonzero(wanted)


def _solve_on(problem, rows, value: Value, is_near, tol, max_iter) -> tuple[Value, int]:
    """Return the value on all points of the solution on some rows, from an earlier value.

    A start near the solution deserves a small mu; should that fail, a large one is safe.
    """
    part = problem if len(rows) == problem.n and isinstance(problem.points, Gram) else None
    part = problem.part(rows) if part is None else part
    found = part.evaluate(part.feasible(value.alpha[rows]))
    n_iter = 0
    if problem.points.is_remote and not problem.is_boxed:
        found, n_iter = newton_on_support(part, found, FURTHER * tol, max_iter)
        if found.gap <= 0.1 * tol:
            return _on_all(problem, rows, found.alpha), n_iter
    near = [min(max(0.1 * value.gap, 1e-18), 0.1)] if is_near else []
    for mu in (*near, 10.0):
        found, more = interior_point(part, found, 0.1 * tol, max_iter - n_iter, mu / part.n)
        n_iter += more
        if found.gap <= 0.1 * tol:
            break
    return _on_all(problem, rows, found.alpha), n_iter


def _on_all(problem: Problem, rows: np.ndarray, alpha: np.ndarray) -> Value:
    """Return the value of the multipliers of some rows, 0 elsewhere, on all points."""
    whole = np.zeros(problem.n)
    whole[rows] = alpha
    return _spread_out(problem, problem.evaluate(problem.feasible(whole)))
