r"""lp-SVDD for every p in [1, inf): ``solve`` for one problem, ``solve_path`` for a grid of them.

Both go through ``solve_problem``: the loop of ``active_set``, and the verdict of ``certificate``.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lpsvdd._validation import check_costs, check_exponent, check_labels, check_tolerance
from lpsvdd.solver.active_set import minimise
from lpsvdd.solver.certificate import (
    NOT_CONVERGED,
    OPTIMAL,
    RADIUS_ZERO,
    better_value,
    certified_gap,
    is_optimal,
    rounding_allowance,
)
from lpsvdd.solver.points import Gram
from lpsvdd.solver.problem import Problem, Value
from lpsvdd.solver.radius import LOG_MAX

MAX_ITER = 1000


@dataclass(frozen=True)
class Solution:
    """Hold a solved problem and its certificate, in the units of K.

    Attributes
    ----------
    alpha : ndarray of shape (n,)
        Multipliers; the centre is sum_i y_i alpha_i phi(x_i). At p = 1 they are one of several
        solutions where points coincide or K is singular.
    radius_sq : float
        R2; it may be negative.
    slack, distances : ndarrays of shape (n,)
        Slacks, and squared distances of the points to the centre.
    primal, dual : float
    gap : float
        (P - D)/(1 + |P|) of the scaled problem, with an allowance for rounding.
    n_iter : int
        Newton steps.
    status : {"optimal", "radius-zero", "not-converged"}
        "radius-zero": p = 1 and the costs of the positives sum to at most 1; R2 is then 0 and the
        centre the weighted mean. "not-converged": the gap did not reach the tolerance.
    p, c, c_neg : the exponent and the costs that were asked for
    tilt : float
        How far alpha is from equal weights, n sum alpha^2 - 1 for one class with equal costs: the
        chi-square divergence of :meth:`lpsvdd.solver.Problem.tilt`, 0 at the (weighted) mean.
        Solutions of different p are comparable at equal tilt.
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
    tilt: float = math.nan

    @property
    def converged(self) -> bool:
        """Tell whether the certificate meets the tolerance asked for."""
        return self.status != NOT_CONVERGED


@dataclass(frozen=True)
class Certificate:
    """Hold the bounds that follow from a feasible alpha, in the units of K.

    gap = (P - D)/(1 + |P|) of the scaled problem bounds the relative distance of both values to
    the optimum.
    """

    alpha: np.ndarray
    primal: float
    dual: float
    gap: float
    radius_sq: float
    slack: np.ndarray


def solve(K, y=None, *, p: float, c, tol: float = 1e-9, max_iter: int = MAX_ITER) -> Solution:
    """Solve one lp-SVDD problem to a relative duality gap of ``tol``.

    Parameters
    ----------
    K : array of shape (n, n), Gram, Rows or Coordinates
        Symmetric positive semidefinite kernel matrix, or points that give its values.
    y : array of shape (n,), optional
        +1 for targets, -1 for labelled outliers. None: all targets.
    p : float in [1, inf)
        Exponent of the slack.
    c : float or array of shape (n,)
        Cost of the slack, common or per sample; positive.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Largest number of Newton steps.

    Returns
    -------
    Solution
        If the gap was not reached, its status says so and a ConvergenceWarning is given.

    Examples
    --------
    >>> import numpy as np
    >>> from lpsvdd import solve
    >>> x = np.array([-1.0, 0.0, 1.0])  # the hard ball of three points on a line
    >>> ball = solve(np.outer(x, x), p=1.0, c=1.0)
    >>> round(ball.radius_sq, 6), ball.alpha.round(6).tolist(), ball.status
    (1.0, [0.5, 0.0, 0.5], 'optimal')
    """
    check_tolerance(tol, max_iter)
    problem = Problem(points_of(K), y, p=p, c=c)
    return solve_problem(problem, None, c, tol=tol, max_iter=max_iter)


def solve_path(
    K,
    y=None,
    *,
    ps: Iterable[float],
    cs: Iterable[float],
    c_neg: Iterable[float] | None = None,
    sample_weight=None,
    tol: float = 1e-9,
    max_iter: int = MAX_ITER,
) -> list[Solution]:
    """Solve a whole grid on one kernel matrix (or on points, as in ``solve``).

    The solutions come in the order of product(ps, cs, c_neg), c_neg running fastest. Costs are c
    on positives and c_neg on negatives (c_neg=None: the same c), times ``sample_weight``. K is
    checked once. A cell starts from a neighbour that is solved already.
    """
    check_tolerance(tol, max_iter)
    points = points_of(K)
    n = len(points.diag)
    y = check_labels(y, n)
    weight = 1.0 if sample_weight is None else check_costs(sample_weight, n)
    ps = [check_exponent(p) for p in ps]
    minuses: list[float | None] = [None] if c_neg is None else list(c_neg)
    pairs = [(c, minus) for c in cs for minus in minuses]
    any_cell = Problem(points, y, p=2.0, c=1.0)
    solved: dict[tuple[int, int], Solution] = {}
    for i, j in itertools.product(range(len(ps)), range(len(pairs))):
        c, minus = pairs[j]
        cost = np.where(y > 0.0, check_costs(c, n), check_costs(c if minus is None else minus, n))
        problem = any_cell.at(p=ps[i], c=cost * weight)
        near = solved.get((i, j - 1), solved.get((i - 1, j)))
        # kernel sums of large multipliers are of no use to start from
        start = None if near is None or near.alpha.sum() > 1e3 else near.alpha
        solved[i, j] = solve_problem(problem, start, c, tol=tol, max_iter=max_iter, c_neg=minus)
    return list(solved.values())


def points_of(K):
    """Return points as they are; anything else is a kernel matrix, to be checked."""
    return K if hasattr(K, "times") else Gram.check(K)


def solve_problem(
    problem: Problem,
    start: np.ndarray | None,
    c,
    *,
    tol: float,
    max_iter: int,
    c_neg: float | None = None,
    report: Callable[[str], None] | None = None,
) -> Solution:
    """Solve a checked problem, with a warning where there is no certificate."""
    if problem.is_radius_zero:
        value, n_iter, status = radius_zero_value(problem), 0, RADIUS_ZERO
    else:
        value, n_iter = minimise(problem, start, tol, max_iter, report)
        if start is not None and not is_optimal(problem, value, tol):  # it may have misled
            again, more = minimise(problem, None, tol, max_iter, report)
            n_iter, value = n_iter + more, better_value(problem, again, value)
        status = OPTIMAL if is_optimal(problem, value, tol) else NOT_CONVERGED
    if status == NOT_CONVERGED:
        _warn(problem, value, n_iter, tol)
    made = in_units_of_k(problem, value)
    # From kernel values, not from slacks: R2 may be so large that these have lost their digits.
    centre = problem.y * made.alpha
    k_centre = problem.points.times(centre)
    distances = problem.points.diag - 2.0 * k_centre + float(centre @ k_centre)
    return Solution(
        made.alpha, centre, made.radius_sq, made.slack, made.primal, made.dual, made.gap,
        n_iter, status, problem.p, c, c_neg, distances, problem.tilt(made.alpha),
    )  # fmt: skip


def _warn(problem: Problem, value: Value, n_iter: int, tol: float) -> None:
    remedy = "raise max_iter or tol, or rescale the samples"
    rounding = rounding_allowance(problem, value) / (1.0 + abs(value.primal))
    if rounding > 0.5 * tol:
        remedy = (
            f"rounding of the kernel values may hide {rounding:.1e} of it, so no further iteration "
            "helps: move the samples to their mean and rescale them, lower the cost, or raise tol"
        )
    warnings.warn(
        f"lp-SVDD (p={problem.p:g}) stopped after {n_iter} iterations without a certificate: "
        f"relative duality gap {certified_gap(problem, value):.2e}, tol={tol:g}; {remedy}",
        ConvergenceWarning,
        stacklevel=4,
    )


def certify(K, y=None, *, p: float, c, alpha) -> Certificate:
    """Certify any alpha: make it feasible first, then compute its gap.

    Examples
    --------
    >>> import numpy as np
    >>> from lpsvdd.solver import certify
    >>> x = np.array([-1.0, 0.0, 1.0])
    >>> K = np.outer(x, x)
    >>> round(certify(K, p=1.0, c=1.0, alpha=[0.5, 0.0, 0.5]).gap, 6)  # the solution
    0.0
    >>> certify(K, p=1.0, c=1.0, alpha=[1 / 3, 1 / 3, 1 / 3]).gap > 0.1  # a guess
    True
    """
    problem = Problem(points_of(K), y, p=p, c=c)
    alpha = np.asarray(alpha, dtype=float)
    if alpha.shape != (problem.n,) or not np.isfinite(alpha).all():
        raise ValueError(
            f"alpha must be {problem.n} finite numbers, got an array of shape {alpha.shape}"
        )
    if problem.is_radius_zero:
        return in_units_of_k(problem, radius_zero_value(problem))
    with np.errstate(all="ignore"):
        return in_units_of_k(problem, problem.evaluate(problem.feasible(alpha)))


def radius_zero_value(problem: Problem) -> Value:
    """Return the solution of ``Problem.is_radius_zero``: the weighted mean, R2 = 0, no gap."""
    alpha = problem.weighted_mean()
    k_alpha = problem.kernel_times(alpha)
    norm_sq = float(alpha @ k_alpha)
    d = np.maximum(problem.diag - 2.0 * k_alpha + norm_sq, 0.0)
    cost = float(np.where(problem.positive, problem.cost, 0.0) @ d)
    return Value(alpha, cost, 0.0, 0.0, problem.y * d, norm_sq)


def in_units_of_k(problem: Problem, value: Value) -> Certificate:
    """Return the value as a certificate. Beyond floats values are infinite, not wrong."""
    scale = math.exp(problem.log_scale) if problem.log_scale < LOG_MAX else math.inf
    slack = np.maximum(value.signed, 0.0)
    slack = slack * scale if math.isfinite(scale) else np.where(slack > 0.0, math.inf, 0.0)
    gap = value.gap if problem.is_radius_zero else certified_gap(problem, value)
    dual = value.primal - value.excess
    primal, dual, radius_sq = (
        float(v * scale) if v else 0.0 for v in (value.primal, dual, value.radius_sq)
    )
    return Certificate(value.alpha, primal, dual, float(gap), radius_sq, slack)
