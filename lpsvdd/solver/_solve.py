r"""lp-SVDD for every p in [1, inf): ``solve`` for one problem, ``solve_path`` for a grid of them.

A problem is solved on its whole kernel matrix (``_dense``); on a path it starts from neighbouring
solutions, and small problems are solved many at once (``_batch``). Whatever comes back is judged in
``_certificate``.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lpsvdd._validation import check_costs, check_exponent, check_labels, check_tolerance
from lpsvdd.solver._arithmetic import Points
from lpsvdd.solver._batch import solve_batch
from lpsvdd.solver._certificate import (
    NOT_CONVERGED,
    OPTIMAL,
    RADIUS_ZERO,
    Certificate,
    in_units_of_k,
    is_proven,
    largest_total,
    radius_zero_value,
)
from lpsvdd.solver._dense import leaves_out_negatives, solve_dense, workspace
from lpsvdd.solver._gram import Gram
from lpsvdd.solver._nonnegative import at_radius_zero
from lpsvdd.solver._problem import Problem

ALL_AT_ONCE = 60  # up to this n all cells of a grid are solved together (``_waves``),
IN_TWO_WAVES = 200  # and up to this one in two waves
MEMORY = 4_000_000  # numbers that the factors of cells solved together may hold


@dataclass(frozen=True)
class Solution:
    """A solved problem with its certificate.

    ``alpha`` (n,), ``radius_sq`` (may be <= 0), ``slack`` (n,), ``primal`` and ``dual`` are in the
    units of K; ``gap`` = (P - D)/(1 + |P|) of the scaled problem; ``status`` is "optimal",
    "radius-zero" (R2 = 0 is the constraint R2 >= 0: p = 1 and sum of positive costs <= 1, or
    ``solve(..., radius="nonnegative")``; alpha then sums to one) or "not-converged".

    ``centre`` (n,) holds coefficients of the centre, a = sum_i centre_i phi(x_i): y * alpha, or
    smaller ones for the same a where those would cancel. Take distances from these;
    ``distances`` holds those of the n points themselves, where the solver kept them (large n).
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
    distances: np.ndarray | None = None

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
    K : array of shape (n, n), or Gram
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

    Examples
    --------
    >>> import numpy as np
    >>> from lpsvdd import solve
    >>> x = np.array([-1.0, 0.0, 1.0])  # the hard ball of three points on a line
    >>> found = solve(np.outer(x, x), p=1.0, c=1.0)
    >>> round(found.radius_sq, 6), found.alpha.round(6).tolist(), found.status
    (1.0, [0.5, 0.0, 0.5], 'optimal')
    """
    check_tolerance(tol, max_iter)
    if radius not in ("free", "nonnegative"):
        raise ValueError(f"radius must be 'free' or 'nonnegative', got {radius!r}")
    problem = Problem(K, y, p=p, c=c)
    at_zero = at_radius_zero(problem, tol, max_iter) if radius == "nonnegative" else None
    if at_zero is None:
        found = solve_problem(problem, [], tol, max_iter, None, c, polish=polish)
        # Here the exact R2 is not negative, if kept so; its last digits may be.
        below = radius == "nonnegative" and found.radius_sq < 0.0
        return replace(found, radius_sq=0.0) if below else found
    certificate, n_iter = at_zero
    optimal = is_proven(certificate.alpha, certificate.gap, problem.y, tol)
    if not optimal:
        _warn(problem, n_iter, certificate.gap, tol, stacklevel=3)
    status = RADIUS_ZERO if optimal else NOT_CONVERGED
    return _solution(certificate, n_iter, status, problem.p, c, None)


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
    gram = K if isinstance(K, Gram) else Gram.check(K)
    n = len(gram.diag)
    y = check_labels(y, n)
    weight = 1.0 if sample_weight is None else check_costs(sample_weight, n)
    ps = [check_exponent(p) for p in ps]
    minuses: list[float | None] = [None] if c_neg is None else list(c_neg)
    pairs = [(c, minus) for c in cs for minus in minuses]
    cost = [
        np.where(y > 0.0, check_costs(c, n), check_costs(c if minus is None else minus, n)) * weight
        for c, minus in pairs
    ]
    any_cell = Problem(gram, y, p=2.0, c=1.0)
    work = workspace(n)
    solved: dict[tuple[int, int], Solution] = {}
    near = partial(_neighbours, solved, columns=len(minuses), most=largest_total(gram))
    for cells in _waves(any_cell.points, len(ps), len(pairs)):
        starts = [near(i, j) for i, j in cells]
        if len(cells) > 1:
            exponents = [ps[i] for i, _ in cells]
            costs = np.array([cost[j] for _, j in cells])
            found = solve_batch(any_cell.points, exponents, costs, starts, tol, max_iter)
        else:
            found = [(None, 0)]
        for (i, j), (certificate, n_iter) in zip(cells, found, strict=True):
            if certificate is None:
                problem = any_cell.at(p=ps[i], c=cost[j])
                solved[i, j] = solve_problem(problem, near(i, j), tol, max_iter, work, *pairs[j])
            else:
                solved[i, j] = _solution(certificate, n_iter, OPTIMAL, ps[i], *pairs[j])
    return [solved[cell] for cell in itertools.product(range(len(ps)), range(len(pairs)))]


def _neighbours(solved, i: int, j: int, columns: int, most: float) -> list[Solution]:
    """Solved cells next to cell (i, j): exponent before or after, costs before.

    Those with a sum of multipliers above ``most`` are of no use where sums over the kernel are.
    """
    keys = [(i - 1, j), (i + 1, j)]
    if j >= columns:
        keys.append((i, j - columns))
    if j % columns:
        keys.append((i, j - 1))
    return [solved[key] for key in keys if key in solved and solved[key].alpha.sum() <= most]


def _waves(points: Points, n_exponents: int, n_pairs: int) -> Iterator[list[tuple[int, int]]]:
    """Cells (exponent, costs) in the order of solution; those of a list are solved together.

    Up to n = ALL_AT_ONCE all cells together, without starts; up to IN_TWO_WAVES every third
    exponent first, from whose solutions the others start; then one by one, since a factorisation
    outweighs NumPy's cost of a call. With many points and negatives each cell is better off alone:
    it leaves out most of the negatives (``_dense``).
    """
    n = len(points.y)
    alone = n > IN_TWO_WAVES or leaves_out_negatives(points)
    rows = 1 if alone else MEMORY // n**2
    waves = [list(range(n_exponents))]
    if not alone and n > ALL_AT_ONCE:
        waves = [waves[0][::3], [i for i in waves[0] if i % 3]]
    for wave in waves:
        cells = list(itertools.product(wave, range(n_pairs)))
        for first in range(0, len(cells), rows):
            yield cells[first : first + rows]


def solve_problem(problem, starts, tol, max_iter, work, c, c_neg=None, polish=0) -> Solution:
    """Solution from the best of the given starts and the weighted mean, with its status."""
    if problem.is_radius_zero:
        value, n_iter, status = radius_zero_value(problem), 0, RADIUS_ZERO
    else:
        value, n_iter, optimal = solve_dense(problem, starts, tol, max_iter, work, polish)
        status = OPTIMAL if optimal else NOT_CONVERGED
    certificate = in_units_of_k(problem, value)
    if status == NOT_CONVERGED:
        _warn(problem, n_iter, certificate.gap, tol, stacklevel=4)
    return _solution(certificate, n_iter, status, problem.p, c, c_neg)


def _warn(problem: Problem, n_iter: int, gap: float, tol: float, *, stacklevel: int) -> None:
    warnings.warn(
        f"lp-SVDD (p={problem.p:g}) stopped after {n_iter} iterations without a certificate: "
        f"relative duality gap {gap:.2e}, tol={tol:g}; raise max_iter or tol, or rescale K",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )


def _solution(found: Certificate, n_iter, status, p, c, c_neg) -> Solution:
    return Solution(
        found.alpha, found.centre, found.radius_sq, found.slack, found.primal, found.dual,
        found.gap, n_iter, status, p, c, c_neg,
    )  # fmt: skip
