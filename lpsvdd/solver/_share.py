r"""The cost C at which a given share nu of the positive samples lies outside the ball.

For p > 1 the optimal centre and R2 move continuously with C, and R2 belongs to C by

    C p S(R2) = 1,    S(R2) = sum_pos w_i (d_i - R2)_+^(p-1)  -  the same sum over the negatives.

Let q be the radius that would leave the share nu outside for the distances at hand. Then
C' = 1/(p S(q)) is the cost for which q is the best radius of *this* centre, and C' = C exactly
where R2 = q. So the search is for the root of r(log C) = log C' - log C, whose sign is that of
q - R2: a fixed-point step first, then the secant, inside a bracket; every problem starts from the
solution of the one before. log C is rounded to a grid far finer than a sample, so that equivalent
inputs (copies and weights) end at the same cost. At p = 1 nothing is searched: C = 1/(nu sum_pos
w_i), the classical bound.

*A surface with a thickness.* As C grows the ball becomes the hard one, and for p > 1 all that touch
its surface have some slack, however small. Where they are more than nu (narrow kernels: often), no
C leaves just a share nu outside, and near that limit rounding decides who is. So the surface is
first given a thickness, ``SHELL`` times the spread of the points: C is such that a share nu lies
beyond R2 + thickness. At C_hard = 1/(p (SHELL spread)^(p-1)) no slack exceeds it, so such a C
exists. If few samples lie within the thickness, the search goes on to thickness zero, and R2 is the
surface; if many do, the surface is q.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpsvdd._validation import check_costs, check_labels, check_tolerance, is_number
from lpsvdd.solver._dense import workspace
from lpsvdd.solver._gram import Gram
from lpsvdd.solver._problem import Problem
from lpsvdd.solver._rows import Rows
from lpsvdd.solver._solve import Solution, solve_problem

SHELL = 1e-3  # thickness of the surface, relative to the spread of the points
CROWD = 0.1  # of the share, plus one sample: so much within the thickness is a crowd
TIE = 1e-12  # distances closer than this, relative to the largest, are the same
MOST_SOLVES = 20
FEW_SOLVES = 6  # more to get rid of the thickness means that it does not go
LOG_LARGEST = 690.0


@dataclass(frozen=True)
class Share:
    """A ball with a share nu of the positives outside.

    ``cost`` is C; ``threshold`` the squared radius of the surface, which is ``solution.radius_sq``
    unless no C reaches the share (``reached`` is False).
    """

    solution: Solution
    cost: float
    threshold: float
    reached: bool


def check_share(nu: object) -> float:
    """nu as a float in (0, 1]; a clear error otherwise."""
    if not is_number(nu) or not 0.0 < nu <= 1.0:
        raise ValueError(f"nu must be a number in (0, 1], got {nu!r}")
    return float(nu)


def solve_share(
    K,
    y=None,
    *,
    p: float,
    nu: float,
    c_neg: float | None = None,
    sample_weight=None,
    tol: float = 1e-9,
    max_iter: int = 200,
    polish: int = 0,
) -> Share:
    """The lp-SVDD with a share ``nu`` of the positives' weight outside, up to one sample.

    Parameters
    ----------
    K, y, p, tol, max_iter, polish : as in ``solve``
    nu : float in (0, 1]
    c_neg : float, optional
        Cost of the negatives; None: the same C as the positives.
    sample_weight : array of shape (n,), optional
        Positive factors of the costs; the share counts samples with their weight.
    """
    check_tolerance(tol, max_iter)
    gram = K if isinstance(K, Gram) else Gram.check(K)
    n = len(gram.diag)
    y = check_labels(y, n)
    weight = np.ones(n) if sample_weight is None else check_costs(sample_weight, n)
    points = Problem(gram, y, p=p, c=1.0)
    work = workspace(n)

    def solve_at(cost: float, start: Solution | None, polish: int) -> Solution:
        costs = costs_of(cost, c_neg, y, weight)
        near = [] if start is None else [start]
        problem = points.at(p=p, c=costs)
        return solve_problem(problem, near, tol, max_iter, work, costs, polish=polish)

    mean = np.where(y > 0.0, weight, 0.0) / weight[y > 0.0].sum()
    d_mean = _distances(gram, mean)
    return search(
        solve_at, lambda found: _distances(gram, found.centre), y, weight, d_mean,
        spread=float(mean @ d_mean), p=p, nu=nu, c_neg=c_neg, polish=polish,
    )  # fmt: skip


def solve_share_large(
    solve_large: Callable[..., Solution],
    rows: Rows,
    y: np.ndarray,
    *,
    p: float,
    nu: float,
    c_neg: float | None,
    sample_weight: np.ndarray,
    **limits,
) -> Share:
    """``solve_share`` with a solver for many points, ``solve_large(rows, y, p=, c=, start=, ...)``.

    A sample of the points, costs scaled to the same total, tells where to begin; its mean stands
    for that of all. Every problem starts from the solution of the one before, the last one too.
    """

    def solve_at(cost: float, start: Solution | None, polish: int) -> Solution:
        costs = costs_of(cost, c_neg, y, sample_weight)
        return solve_large(rows, y, p=p, c=costs, start=start, **limits)

    some = rows.sample[y[rows.sample] > 0.0]
    if not len(some):
        some = np.flatnonzero(y > 0.0)[: len(rows.sample)]
    weight = sample_weight[some]
    mean = np.zeros(len(y))
    mean[some] = weight / weight.sum()
    d_mean = _distances(rows, mean)
    first = None
    if p > 1.0:
        ratio = float(weight.sum() / sample_weight[y > 0.0].sum())
        few = solve_share(rows.part(some), p=p, nu=nu, sample_weight=weight, tol=1e-6)
        first = few.cost * ratio
    return search(
        solve_at, lambda found: np.asarray(found.distances), y, sample_weight, d_mean, first=first,
        spread=rows.spread, p=p, nu=nu, c_neg=c_neg,
    )  # fmt: skip


def _distances(gram: Gram | Rows, beta: np.ndarray) -> np.ndarray:
    """Squared distances of the points to the centre sum_i beta_i phi(x_i)."""
    k_beta = gram.times(beta)
    return gram.diag - 2.0 * k_beta + beta @ k_beta


def costs_of(cost: float, c_neg: float | None, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """One cost a sample: C on positives, C_neg on negatives, times the weights."""
    return np.where(y > 0.0, cost, cost if c_neg is None else c_neg) * weight


def search(
    solve_at: Callable[..., Solution],
    distances: Callable[[Solution], np.ndarray],
    y: np.ndarray,
    weight: np.ndarray,
    d_mean: np.ndarray,
    *,
    spread: float,
    p: float,
    nu: float,
    c_neg: float | None,
    first: float | None = None,
    polish: int = 0,
) -> Share:
    """The search itself, for any solver.

    ``solve_at(C, start, polish)`` solves at cost C from a solution before it (None at first),
    ``distances(solution)`` gives the squared distances to its centre and ``d_mean`` those to the
    mean, or to some other centre near it. ``first`` is a C to begin with.
    """
    nu = check_share(nu)
    positive = y > 0.0
    if p == 1.0:
        cost = 1.0 / (nu * float(weight[positive].sum()))
        solution = solve_at(cost, None, polish)
        return Share(solution, cost, solution.radius_sq, True)
    d = d_mean
    if spread <= TIE * float(np.abs(d).max()):  # all targets coincide: any unit of length will do
        spread = 1.0
    if abs((p - 1.0) * math.log(spread)) > LOG_LARGEST:
        raise ValueError(
            f"squared distances near {spread:.3g} to the power p - 1 = {p - 1.0:g} are beyond "
            "floats, and with them the C that leaves a share nu outside; rescale the samples (or K)"
        )
    shell = SHELL * spread
    lightest = min(1.0, float(weight[positive].min()))
    log_hard = min(-math.log(p * lightest) - (p - 1.0) * math.log(shell), LOG_LARGEST)
    path = _Path(solve_at, distances, _Level(y, weight, d, p, nu, c_neg), log_hard)
    begin = path.level.place(d, math.inf).log_cost(0.0) if first is None else math.log(first)
    path.move(min(begin, log_hard))
    path.follow(shell, MOST_SOLVES)
    thick = path.at
    reached = not path.is_crowded(shell) and path.follow(0.0, FEW_SOLVES)
    if not reached:
        path.at = thick
    cost, solution, d = path.at
    if polish:  # afresh: the same digits as those of a ball with this C, however it was found
        solution = solve_at(cost, None, polish)
        d = distances(solution)
    threshold = path.level.place(d, solution.radius_sq).radius
    return Share(solution, cost, solution.radius_sq if reached else threshold, reached)


class _Path:
    """Solutions at one cost after another, each starting from the one before.

    ``at`` is the latest: its cost, the solution, the squared distances.
    """

    def __init__(self, solve_at, distances, level: _Level, log_hard: float) -> None:
        self.solve_at, self.distances, self.level = solve_at, distances, level
        self.log_hard = log_hard  # of the hard ball
        self.step = 2.0 ** -math.ceil(math.log2(32.0 * max(level.total, 1.0)))
        self.at: tuple[float, Any, np.ndarray] = 0.0, None, np.empty(0)  # no solution yet

    def move(self, log_cost: float) -> None:
        """Solve at another cost."""
        self.log_cost = log_cost
        solution = self.solve_at(math.exp(log_cost), self.at[1], 2)
        self.at = math.exp(log_cost), solution, self.distances(solution)

    def is_crowded(self, thickness: float) -> bool:
        """Whether many samples lie between R2 and R2 + thickness."""
        _, solution, d = self.at
        level, above = self.level, d - solution.radius_sq
        within = level.positive & (above > 0.0) & (above <= thickness)
        return float(level.weight[within].sum()) > CROWD * level.due + 1.0

    def follow(self, thickness: float, most: int) -> bool:
        """Change C until the share lies beyond R2 + thickness; False if that does not succeed."""
        low, high = -math.inf, math.inf
        before: tuple[float, float] | None = None
        for _ in range(most):
            _, solution, d = self.at
            place = self.level.place(d, solution.radius_sq + thickness)
            if place.is_met:
                return True
            here = self.log_cost
            residual = place.log_cost(thickness) - here
            if residual > 0.0 and here >= self.log_hard:
                return False
            low, high = (here, high) if residual > 0.0 else (low, here)
            if min(high - low, abs(residual)) <= 1e-12 * max(1.0, abs(here)):
                return False
            end = min(high, self.log_hard)
            new = _next(here, residual, before, low, end)
            rounded = self.step * round(new / self.step)
            self.move(rounded if low < rounded < end else new)
            before = here, residual
        return False


def _next(here, residual, before, low, high) -> float:
    """Secant through the last two residuals, the fixed-point step at first; within the bracket.

    A secant step is trusted up to four times the fixed-point step.
    """
    stretch = 1.0
    if before is not None and math.isfinite(residual) and math.isfinite(before[1]):
        slope = (residual - before[1]) / (here - before[0])
        stretch = min(max(-1.0 / slope, 0.25), 4.0) if slope < 0.0 else 4.0
    new = max(min(here + stretch * residual, high), -LOG_LARGEST)
    if low < new < high or (new == high and high > here):
        return new
    return 0.5 * (low + high)


class _Level:
    """The share that should be outside: of these samples, with these weights."""

    def __init__(self, y, weight, d_mean, p, nu, c_neg) -> None:
        self.positive, self.weight, self.c_neg, self.p = y > 0.0, weight, c_neg, p
        self.d_mean = d_mean[self.positive]  # copies of a row have equal distances to every centre
        self.total = float(weight[self.positive].sum())
        self.due = nu * self.total

    def place(self, d: np.ndarray, surface: float) -> _Place:
        """Where the surface has to be for these distances, when it is at ``surface`` now."""
        return _Place(self, d, surface)


class _Place:
    """The place of a surface that leaves the share outside, for given distances.

    ``outside`` samples should be outside: the number whose weight is nearest to the share. Copies
    of a row are not parted.
    """

    def __init__(self, level: _Level, d: np.ndarray, surface: float) -> None:
        self.level, self.d, self.surface = level, d, surface
        order = np.argsort(-d[level.positive], kind="stable")
        self.falling = d[level.positive][order]
        weight = np.concatenate([[0.0], np.cumsum(level.weight[level.positive][order])])
        self.tie = TIE * max(abs(float(self.falling[0])), 1e-300)
        apart = np.ones(len(weight), dtype=bool)
        steps = np.abs(np.diff(np.stack([self.falling, level.d_mean[order]])))
        apart[1:-1] = steps.max(axis=0) > self.tie
        places = np.flatnonzero(apart)
        self.outside = int(places[np.argmin(np.abs(weight[places] - level.due))])

    @property
    def _neighbours(self) -> tuple[float, float]:
        """The last distance that should be outside and the first inside."""
        m, falling = self.outside, self.falling
        above = float(falling[m - 1]) if m > 0 else math.inf
        return above, float(falling[m]) if m < len(falling) else -math.inf

    @property
    def is_met(self) -> bool:
        """Whether the surface is in its place."""
        above, below = self._neighbours
        return below <= self.surface < above

    @property
    def radius(self) -> float:
        """Halfway between the neighbours; a little beyond where all or none are outside."""
        above, below = self._neighbours
        if above == math.inf:
            return below + self.tie
        if below == -math.inf:
            return above - 1e-3 * max(float(self.falling[0]) - above, self.tie)
        return 0.5 * (above + below)

    def log_cost(self, thickness: float) -> float:
        """log C' of the module's docstring; infinite where no cost is large enough."""
        level, q = self.level, self.radius - thickness
        slack = np.where(level.positive, self.d - q, q - self.d)
        out = slack > 0.0
        log_term = np.full(len(slack), -math.inf)
        log_term[out] = np.log(level.weight[out]) + (level.p - 1.0) * np.log(slack[out])
        top = float(log_term[level.positive].max())
        if top == -math.inf:
            return math.inf
        pull = float(np.exp(log_term[level.positive] - top).sum())
        push = float(np.exp(np.minimum(log_term[~level.positive] - top, LOG_LARGEST)).sum())
        base = -math.log(level.p) - top
        if level.c_neg is None:
            return base - math.log(pull - push) if pull > push else math.inf
        against = level.c_neg * level.p * push * math.exp(min(top, 600.0))
        return base + math.log1p(min(against, 1e300)) - math.log(pull)
