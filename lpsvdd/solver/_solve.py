r"""lp-SVDD solved for every p in [1, inf): start, working set, interior point, certificate.

1. *Start.* The weighted mean or, on a path, a neighbouring solution; then the fixed-point map
   "centre -> best radius -> slack -> multipliers". For small c it contracts, and a few
   matrix-vector products solve the problem.
2. *Working set.* A negative outside the ball has multiplier zero; the problem is solved on the
   positives and the negatives found inside.
3. *Interior point* (``interior_point``), one Cholesky factorisation an iteration.
4. *Certificate.* The method stops on the duality gap, never on "it stopped changing".
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lpsvdd._validation import check_costs, check_exponent, check_labels, check_tolerance
from lpsvdd.solver._batch import Start, solve_batch
from lpsvdd.solver._certificate import NOT_CONVERGED, OPTIMAL, RADIUS_ZERO, is_optimal
from lpsvdd.solver._interior_point import ROUGH, interior, newton
from lpsvdd.solver._nonnegative import at_radius_zero
from lpsvdd.solver._problem import Certificate, Gram, Problem, Value

FIXED_POINT_STEPS = 6
TINY, SMALL = 60, 200  # up to these n the cells of a grid are solved together (``_waves``)
MEMORY = 4_000_000  # numbers that the factors of cells solved together may hold
FEW = 100  # with fewer points than this negatives are not worth leaving out,
SLOW = 4.0  # unless p is above this: the barrier keeps their slack at mu^(1/p), for long


@dataclass(frozen=True)
class Solution:
    """A solved problem with its certificate.

    ``alpha`` (n,), ``radius_sq`` (may be <= 0), ``slack`` (n,), ``primal`` and ``dual`` are in the
    units of K; ``gap`` = (P - D)/(1 + |P|) of the scaled problem; ``status`` is "optimal",
    "radius-zero" (R2 = 0 is the constraint R2 >= 0: p = 1 and sum of positive costs <= 1, or
    ``solve(..., radius="nonnegative")``; alpha then sums to one) or "not-converged".

    ``centre`` (n,) holds coefficients of the centre, a = sum_i centre_i phi(x_i): y * alpha, or
    smaller ones for the same a where those would cancel. Take distances from these.
    """

    alpha: np.ndarray
    centre: np.ndarray
    radius_sq: float
    slack: np.ndarray
    primal: float
    dual: float
    gap: float
    n_iter: int
    status: str
    p: float
    c: float | np.ndarray
    c_neg: float | None = None

    @property
    def converged(self) -> bool:
        """Whether the certificate meets the tolerance asked for."""
        return self.status != NOT_CONVERGED


def solve(
    K,
    y=None,
    *,
    p: float,
    c,
    radius: Literal["free", "nonnegative"] = "free",
    tol: float = 1e-9,
    max_iter: int = 200,
    polish: int = 0,
) -> Solution:
    """Solve one lp-SVDD problem to a relative duality gap of ``tol``.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric positive semidefinite kernel matrix.
    y : array of shape (n,), optional
        +1 for targets, -1 for labelled outliers. None: all targets.
    p : float in [1, inf)
        Exponent of the slack.
    c : float or array of shape (n,)
        Cost of the slack, common or per sample; positive.
    radius : "free" or "nonnegative"
        Whether R2 is any real number, or R2 >= 0 is kept as a constraint. They differ where the
        free R2 is negative: then R2 = 0 and the centre minimises sum_i c_i d_i^p over the positives
        (``_nonnegative``); the status is "radius-zero" and the gap (P - D)/P.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Most interior-point iterations.
    polish : int
        Further iterations once ``tol`` is met. The gap is quadratic in the error of alpha: a gap
        of 1e-9 leaves errors near 3e-5, and two more iterations near 1e-10.

    Returns
    -------
    Solution
        Where the gap was not reached its status says so and a ConvergenceWarning is given.
    """
    check_tolerance(tol, max_iter)
    if radius not in ("free", "nonnegative"):
        raise ValueError(f"radius must be 'free' or 'nonnegative', got {radius!r}")
    problem = Problem(K, y, p=p, c=c)
    at_zero = at_radius_zero(problem, tol, max_iter) if radius == "nonnegative" else None
    if at_zero is None:
        found = _solve(problem, [], tol, max_iter, None, c, polish=polish)
        # Here the exact R2 is not negative, if kept so; its last digits may be.
        below = radius == "nonnegative" and found.radius_sq < 0.0
        return replace(found, radius_sq=0.0) if below else found
    certificate, n_iter = at_zero
    optimal = is_optimal(certificate.alpha, certificate.gap, problem.y, tol)
    if not optimal:
        _warn(problem, n_iter, certificate.gap, tol, stacklevel=3)
    status = RADIUS_ZERO if optimal else NOT_CONVERGED
    return _solution(certificate, problem.y, n_iter, status, problem.p, c, None)


def solve_path(
    K,
    y=None,
    *,
    ps: Iterable[float],
    cs: Iterable[float],
    c_neg: Iterable[float] | None = None,
    sample_weight=None,
    tol: float = 1e-9,
    max_iter: int = 200,
) -> list[Solution]:
    """Solve a whole grid on one kernel matrix.

    The solutions come in the order of product(ps, cs, c_neg), c_neg running fastest. Costs are c
    on positives and c_neg on negatives (c_neg=None: the same c), times ``sample_weight``. K is
    checked once. Cells start from those next to them that are solved already, whichever has the
    highest dual value; on small problems many cells are solved together (``batch``).
    """
    check_tolerance(tol, max_iter)
    gram = Gram.check(K)
    n = len(gram.diag)
    y = check_labels(y, n)
    weight = 1.0 if sample_weight is None else check_costs(sample_weight, n)
    ps = [check_exponent(p) for p in ps]
    c_neg = [None] if c_neg is None else list(c_neg)
    pairs = [(c, minus) for c in cs for minus in c_neg]
    cost = [
        np.where(y > 0.0, check_costs(c, n), check_costs(c if minus is None else minus, n)) * weight
        for c, minus in pairs
    ]
    points = Problem(gram, y, p=2.0, c=1.0)
    work = _workspace(n)
    solved: dict[tuple[int, int], Solution] = {}
    for cells in _waves(points, len(ps), len(pairs)):
        starts = [_neighbours(solved, i, j, len(c_neg)) for i, j in cells]
        if len(cells) > 1:
            exponents = [ps[i] for i, _ in cells]
            costs = np.array([cost[j] for _, j in cells])
            found = solve_batch(points, exponents, costs, starts, tol, max_iter)
        else:
            found = [(None, 0)]
        for (i, j), (certificate, n_iter) in zip(cells, found, strict=True):
            if certificate is None:
                problem = points.at(p=ps[i], c=cost[j])
                near = _neighbours(solved, i, j, len(c_neg))
                solved[i, j] = _solve(problem, near, tol, max_iter, work, *pairs[j])
            else:
                solved[i, j] = _solution(certificate, y, n_iter, OPTIMAL, ps[i], *pairs[j])
    return [solved[cell] for cell in itertools.product(range(len(ps)), range(len(pairs)))]


def _neighbours(solved, i: int, j: int, columns: int) -> list[Solution]:
    """Solved cells next to cell (i, j): exponent before or after, costs before."""
    keys = [(i - 1, j), (i + 1, j)]
    if j >= columns:
        keys.append((i, j - columns))
    if j % columns:
        keys.append((i, j - 1))
    return [solved[key] for key in keys if key in solved]


def _waves(points: Problem, n_exponents: int, n_pairs: int) -> Iterator[list[tuple[int, int]]]:
    """Cells (exponent, costs) in the order of solution; those of a list are solved together.

    Up to n = TINY all cells together, without starts; up to SMALL every third exponent first, from
    whose solutions the others start; then one by one, since a factorisation outweighs NumPy's cost
    of a call. With negatives and n >= FEW each cell is better off with a working set of its own.
    """
    alone = points.n > SMALL or (points.has_negatives and points.n >= FEW)
    rows = 1 if alone else MEMORY // points.n**2
    waves = [list(range(n_exponents))]
    if not alone and points.n > TINY:
        waves = [waves[0][::3], [i for i in waves[0] if i % 3]]
    for wave in waves:
        cells = list(itertools.product(wave, range(n_pairs)))
        for first in range(0, len(cells), rows):
            yield cells[first : first + rows]


def _workspace(n: int) -> np.ndarray:
    return np.empty((n, n), order="F")  # LAPACK's order, so that the factorisation is in place


def _solve(problem, starts, tol, max_iter, work, c, c_neg=None, polish=0) -> Solution:
    """Certified solution from the best of the given starts and the weighted mean."""
    n_iter, status = 0, RADIUS_ZERO
    value = problem.weighted_mean()
    if not problem.is_radius_zero:
        with np.errstate(all="ignore"):  # a step into overflow is refused, not warned about
            if problem.has_negatives and (problem.n >= FEW or problem.p >= SLOW):
                value, n_iter = _on_working_set(problem, starts, tol, max_iter, work, polish)
            else:
                value, n_iter = _optimise(problem, starts, tol, max_iter, work, polish)
        box = problem.cost if problem.is_boxed else None
        optimal = is_optimal(value.alpha, value.gap, problem.y, tol, box)
        status = OPTIMAL if optimal else NOT_CONVERGED
    certificate = problem.certificate(value)
    if status == NOT_CONVERGED:
        _warn(problem, n_iter, certificate.gap, tol, stacklevel=4)
    return _solution(certificate, problem.y, n_iter, status, problem.p, c, c_neg)


def _warn(problem: Problem, n_iter: int, gap: float, tol: float, *, stacklevel: int) -> None:
    warnings.warn(
        f"lp-SVDD (p={problem.p:g}) stopped after {n_iter} iterations without a certificate: "
        f"relative duality gap {gap:.2e}, tol={tol:g}; raise max_iter or tol, or rescale K",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )


def _solution(found: Certificate, y, n_iter, status, p, c, c_neg) -> Solution:
    return Solution(
        found.alpha, y * found.alpha, found.radius_sq, found.slack, found.primal, found.dual,
        found.gap, n_iter, status, p, c, c_neg,
    )  # fmt: skip


def _on_working_set(problem: Problem, starts, tol, max_iter, work, polish) -> tuple[Value, int]:
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
        value, more = _optimise(part, inner, 0.5 * tol, max_iter - n_iter, None, polish)
        n_iter += more
        alpha = np.zeros(problem.n)
        alpha[rows] = value.alpha
        whole = problem.evaluate(alpha, value.radius_sq, 1e-13 if polish else ROUGH)
        if whole.gap <= tol:
            return whole, n_iter
        inside = ~kept & (whole.d < value.radius_sq)
        if not inside.any():
            break
        kept |= inside
        radius_sq = value.radius_sq / problem.inv_scale if problem.inv_scale > 0.0 else -np.inf
        starts = [Start(alpha, radius_sq)]
    value, more = _optimise(problem, starts, tol, max(max_iter - n_iter, 1), work, polish)
    return value, n_iter + more


def _optimise(problem: Problem, starts, tol, max_iter, work, polish) -> tuple[Value, int]:
    """Start, then Newton; first with costs that are hard constraints anyway brought in range."""
    if work is None:
        work = _workspace(problem.n)
    easier = problem.hardened(1.0 if not problem.has_negatives else 30.0)
    value = _best_start(easier, starts, tol)
    n_iter = 0
    if not value.gap <= tol or (polish and value.gap > 1e-14):
        # A start near the solution deserves a small mu; should that fail, a large one is safe. The
        # first may use a quarter of the iterations, lest nothing is left for the second.
        for mu, share in ((0.1 * value.gap / problem.n, 0.25), (10.0 / problem.n, 1.0)):
            point = interior(easier, value, max(mu, 1e-18))
            limit = math.ceil(share * (max_iter - n_iter))
            value, more = newton(easier, point, tol, limit, work, polish)
            n_iter += more
            if value.gap <= tol or n_iter >= max_iter:
                break
    if easier is not problem:
        value = problem.evaluate(problem.feasible(value.alpha), value.radius_sq)
        if not value.gap <= tol and n_iter < max_iter:
            point = interior(problem, value, 0.1 * max(value.gap, tol) / problem.n)
            value, more = newton(problem, point, tol, max_iter - n_iter, work, polish)
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
