r"""One problem on its whole kernel matrix: start, working set, interior point; features if need be.

1. *Start.* The weighted mean or, on a path, a neighbouring solution; then the fixed-point map
   "centre -> best radius -> slack -> multipliers". For small c it contracts, and a few
   matrix-vector products solve the problem.
2. *Negatives outside* the ball have multiplier zero; the problem is solved on the positives and the
   negatives found inside.
3. *Interior point* (``_interior_point``), one Cholesky factorisation an iteration.
4. *Feature space* (``_feature_space``), where the multipliers are so large that kernel sums
   cancel, or where the points have few features and the way through them is shorter.
5. *Support* (p = 1). The barrier leaves a little on every point; where that cannot be dropped
   without losing the certificate, the problem is solved again on what is more than that. This also
   ends what stalls near the solution, where K is all but singular on the other points.

Every method stops on the duality gap, never on "it stopped changing".
"""

from __future__ import annotations

import math

import numpy as np

from lpsvdd.solver._arithmetic import Points, Value
from lpsvdd.solver._batch import Start
from lpsvdd.solver._certificate import is_optimal, loses_digits
from lpsvdd.solver._feature_space import solve_in_features
from lpsvdd.solver._interior_point import BOX_DUST, ROUGH, newton
from lpsvdd.solver._problem import Problem

FIXED_POINT_STEPS = 6
MANY_WITH_NEGATIVES = 100  # points from which on negatives are worth leaving out,
LARGE_EXPONENT = 4.0  # or exponent: the barrier keeps their slack at mu^(1/p), for long
ENOUGH = 60  # iterations: more are seldom needed
SUPPORT_ROUNDS = 6  # of solving on the support vectors alone
NEAR = 1e-4  # gap up to which those are known well enough to try
FEW_FEATURES = 0.25  # features per point up to which the way through them is shorter


def workspace(n: int) -> np.ndarray:
    """Room for a factorisation, in LAPACK's order so that it is done in place."""
    return np.empty((n, n), order="F")


def leaves_out_negatives(points: Points) -> bool:
    """Whether there are enough points to solve without the negatives that are far away."""
    return points.has_negatives and len(points.y) >= MANY_WITH_NEGATIVES


def solve_dense(
    problem: Problem, starts, tol: float, max_iter: int, work, polish: int
) -> tuple[Value, int, bool]:
    """The value of the best alpha found, iterations, and whether it is optimal.

    Either form of the problem may fail where the other does not; the one that is likely to be
    quicker comes first. A start may mislead both: then the kernel form begins again without it.
    Each leaves half of the iterations to those after it, if it has ENOUGH.
    """
    explicit = problem.gram.explicit
    forms = [_in_kernel_form, _in_feature_form]
    if explicit is not None and explicit.shape[1] <= FEW_FEATURES * problem.n:
        forms.reverse()
    attempts = [(form, starts) for form in forms]
    if starts:
        attempts.append((_in_kernel_form, []))
    found: Value | None = None
    n_iter = 0
    with np.errstate(all="ignore"):  # a step into overflow is refused, not warned about
        for number, (form, begin) in enumerate(attempts):
            limit = max_iter - n_iter
            if number and limit <= 0:
                break
            if number + 1 < len(attempts):
                limit = min(limit, max(limit // 2, ENOUGH))
            value, more = form(problem, begin, tol, limit, work, polish)
            n_iter += more
            if value.gap <= max(tol, NEAR):
                value, more = _on_support(problem, value, tol, min(max_iter, ENOUGH), polish)
                n_iter += more
            if is_optimal(problem, value, tol):
                return value, n_iter, True
            found = value if found is None else _better(problem, found, value)
    assert found is not None  # the first form always runs
    return found, n_iter, False


def _better(problem: Problem, *values: Value) -> Value:
    """Of values that are not optimal: one that cannot be trusted is worse than any gap."""

    def badness(value: Value) -> tuple[bool, float]:
        unsound = bool(loses_digits(problem, value)) or not math.isfinite(value.gap)
        return unsound, abs(value.gap)

    return min(values, key=badness)


def _on_support(
    problem: Problem, value: Value, tol: float, max_iter: int, polish: int
) -> tuple[Value, int]:
    """For p = 1 the same ball with alpha = 0 on all points with less than BOX_DUST of their bound.

    Solved on the others, which are few; a point found on the wrong side comes back. Where that
    does not end in a certificate those multipliers are dropped, or kept if that loses it too.
    """
    if not problem.is_boxed or value.centre is not None:
        return value, 0
    alpha, radius_sq, n_iter = value.alpha, value.radius_sq, 0
    least, back = BOX_DUST * problem.cost, np.zeros(problem.n, dtype=bool)
    dropped = problem.evaluate(problem.feasible(np.where(alpha < least, 0.0, alpha)), radius_sq)
    best = dropped if is_optimal(problem, dropped, tol) else value
    for _ in range(SUPPORT_ROUNDS):
        rows = np.flatnonzero((alpha >= least) | back)
        has_room = problem.cost[rows][problem.positive[rows]].sum() > 1.0
        if len(rows) == np.count_nonzero(alpha) or not has_room:
            break
        part = problem.part(rows)
        start = part.evaluate(part.feasible(alpha[rows]), radius_sq)
        mu = max(0.1 * start.gap / part.n, 1e-18)
        work, digits = workspace(part.n), max(polish, 2)
        found, more = newton(part, start, mu, 0.5 * tol, max_iter, work, digits)
        n_iter += more
        alpha, radius_sq = np.zeros(problem.n), found.radius_sq
        alpha[rows] = found.alpha
        whole = problem.evaluate(alpha, radius_sq)
        if is_optimal(problem, whole, tol):
            best = whole
        else:
            back |= (alpha == 0.0) & (whole.signed > 0.0)
    return best, n_iter


def _in_feature_form(problem: Problem, starts, tol, max_iter, work, polish) -> tuple[Value, int]:
    return solve_in_features(problem, tol, max_iter, polish)


def _in_kernel_form(problem: Problem, starts, tol, max_iter, work, polish) -> tuple[Value, int]:
    steep = problem.has_negatives and problem.p >= LARGE_EXPONENT
    if steep or leaves_out_negatives(problem.points):
        return _without_far_negatives(problem, starts, tol, max_iter, work, polish)
    return optimise(problem, starts, tol, max_iter, work, polish)


def _without_far_negatives(
    problem: Problem, starts, tol, max_iter, work, polish
) -> tuple[Value, int]:
    """Solve on the positives and those negatives found inside the ball; certify on all points.

    A negative outside the ball has multiplier zero, and on most problems nearly all are outside:
    leaving them out makes the factorisations small and changes nothing else.
    """
    kept = problem.positive.copy()
    for start in starts:
        kept |= start.alpha > 0.0
    n_iter = 0
    while 4 * kept.sum() <= 3 * problem.n and n_iter < max_iter:
        rows = np.flatnonzero(kept)
        inner = [Start(start.alpha[rows], start.radius_sq) for start in starts]
        # Half of the tolerance: rounding may differ a little between the part and the whole.
        part = problem.part(rows)
        value, more = optimise(part, inner, 0.5 * tol, max_iter - n_iter, None, polish)
        n_iter += more
        alpha = np.zeros(problem.n)
        alpha[rows] = value.alpha
        whole = problem.evaluate(alpha, value.radius_sq, 1e-13 if polish else ROUGH)
        if whole.gap <= tol:
            return whole, n_iter
        d = problem.y * whole.signed + whole.radius_sq
        inside = ~kept & (d < value.radius_sq)
        if not inside.any():
            break
        kept |= inside
        radius_sq = value.radius_sq / problem.inv_scale if problem.inv_scale > 0.0 else -np.inf
        starts = [Start(alpha, radius_sq)]
    value, more = optimise(problem, starts, tol, max(max_iter - n_iter, 1), work, polish)
    return value, n_iter + more


def optimise(problem: Problem, starts, tol, max_iter, work, polish) -> tuple[Value, int]:
    """Start, then Newton; first with costs that are hard constraints anyway brought in range."""
    if work is None:
        work = workspace(problem.n)
    easier = problem.hardened(1.0 if not problem.has_negatives else 30.0)
    value = _best_start(easier, starts, tol)
    n_iter = 0
    if not value.gap <= tol or (polish and value.gap > 1e-14):
        # A start near the solution deserves a small mu; should that fail, a large one is safe. The
        # first may use a quarter of the iterations, lest nothing is left for the second.
        for mu, share in ((0.1 * value.gap / problem.n, 0.25), (10.0 / problem.n, 1.0)):
            limit = math.ceil(share * (max_iter - n_iter))
            found, more = newton(easier, value, max(mu, 1e-18), tol, limit, work, polish)
            n_iter += more
            value = found if found.gap <= tol else _better(easier, found, value)
            if value.gap <= tol or n_iter >= max_iter:
                break
    if easier is not problem:
        value = problem.evaluate(problem.feasible(value.alpha), value.radius_sq)
        if not value.gap <= tol and n_iter < max_iter:
            mu = 0.1 * max(value.gap, tol) / problem.n
            value, more = newton(problem, value, mu, tol, max_iter - n_iter, work, polish)
            n_iter += more
    return value, n_iter


def _best_start(problem: Problem, starts, tol) -> Value:
    """The start with the highest dual value, improved by the fixed-point map while that helps."""
    candidates = [(s.alpha, s.radius_sq * problem.inv_scale) for s in starts]
    if not starts:
        candidates = [(problem.weighted_mean(), None)]
    if problem.is_boxed:
        candidates = [(problem.feasible(alpha), radius) for alpha, radius in candidates]
    alpha, radius = candidates[0]
    if len(candidates) > 1:
        duals = [problem.dual_value(a, problem.kernel_times(problem.y * a)) for a, _ in candidates]
        alpha, radius = candidates[int(np.argmax(np.nan_to_num(duals, nan=-np.inf)))]
    # The weighted mean with little slack to come is no solution: R2 to three digits will do.
    hopeful = bool(starts) or problem.tau > 0.01
    value = problem.evaluate(alpha, radius, ROUGH if hopeful else 1e-3)
    # The map contracts only where the slack outweighs the kernel; tau says when that can be.
    steps = FIXED_POINT_STEPS if problem.tau > 0.01 else 0
    while steps and value.gap > 1e-3 * tol:  # a few cheap steps give alpha digits the gap hides
        steps -= 1
        new = problem.mapped(value, max(ROUGH, 1e-3 * math.sqrt(value.gap)))
        if new is None or not new.gap < 0.5 * value.gap:
            break
        factor, value = max(new.gap, 0.0) / value.gap, new
        if value.gap * factor**steps > tol:  # Newton's method is quicker
            break
    return value
