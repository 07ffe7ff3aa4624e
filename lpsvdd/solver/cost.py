r"""The cost C at which a given share nu of the positive samples lies outside the ball.

For p > 1 the optimal centre and R2 move continuously with C, and R2 belongs to C by

.. math::

    C p S(R^2) = 1, \qquad
    S(R^2) = \sum_{pos} w_i (d_i - R^2)_+^{p-1} - \text{the same of negatives}.

Let q be the radius that would leave the share nu outside for the distances at hand. Then
C' = 1/(p S(q)) is the cost for which q is the best radius of *this* centre, and C' = C exactly
where R2 = q. So the search is for the root of r(log C) = log C' - log C, whose sign is that of
q - R2: a fixed-point step first, then the secant, inside a bracket; every problem starts from the
solution of the one before, the first at the cost that a sample of the points needs. Of all log C
that leave the share outside the shortest binary fraction is taken, so that equivalent inputs
(copies and weights) end at the same cost. At p = 1 nothing is searched: C = 1/(nu sum_pos w_i), the
classical bound.

**A crowd on the surface.** As C grows the ball becomes the hard one, and for p > 1 all that touch
its surface have some slack, however small. Where they are more than nu (narrow kernels: often), no
C leaves just a share nu outside. A share nu with slacks of at least SHELL times the spread needs

    C <= C_most = 1/(p nu sum_pos w_i (SHELL spread)^(p-1)).

The search ends there: the surface is then q, a little outside the ball. So it is at p = 1 where
labelled outliers push more than nu of the positives out: sum_pos alpha_i is then more than one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lpsvdd._validation import check_costs, check_labels, check_tolerance, is_number
from lpsvdd.solver.features import Coordinates
from lpsvdd.solver.points import Gram, sample_of, unit_of_length
from lpsvdd.solver.problem import Problem
from lpsvdd.solver.solve import MAX_ITER, Solution, points_of, solve_problem

SHELL = 1e-3  # thickness of the surface, relative to the spread of the points
FILM = 1e-9  # the same, for what counts as on the surface;
THICK, NEAR_ONE = 1e-5, 1.2  # up to this p, where a slack of 1e-50 has a multiplier, it is thicker
FIRST = 300  # samples that tell where to begin, or a tenth of many
LOG_LARGEST = 690.0  # of a cost: a sum of many stays finite
LOOSE = 1e-4  # gap of the balls far from the root,
NEAR = 0.1  # which begins here
FLAT = 0.02  # a slope that is not believed


@dataclass(frozen=True)
class Share:
    """A ball with a share nu of the positives outside a surface.

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


def costs_of(cost: float, c_neg: float | None, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """One cost a sample: C on positives, C_neg on negatives, times the weights."""
    return np.where(y > 0.0, cost, cost if c_neg is None else c_neg) * weight


def solve_share(
    K,
    y=None,
    *,
    p: float,
    nu: float,
    c_neg: float | None = None,
    sample_weight=None,
    tol: float = 1e-9,
    max_iter: int = MAX_ITER,
    polish: int = 0,
    report: Callable[[str], None] | None = None,
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
    report : callable, optional
        Called with a line of text after each round.
    """
    check_tolerance(tol, max_iter)
    points = points_of(K)
    n = len(points.diag)
    y = check_labels(y, n)
    weight = np.ones(n) if sample_weight is None else check_costs(sample_weight, n)
    search = _Search(Problem(points, y, p=p, c=1.0), weight, check_share(nu), c_neg)
    search.limits = {"tol": tol, "max_iter": max_iter, "report": report}
    search.polish = polish
    return search.run()


class _Search:
    """Solutions at one cost after another, each starting from the one before."""

    limits: dict
    polish = 0  # of the ball that is returned

    def __init__(self, problem: Problem, weight: np.ndarray, nu: float, c_neg) -> None:
        self.problem, self.p = problem, problem.p
        self.weight, self.nu, self.c_neg = weight, nu, c_neg
        self.total = float(weight[problem.positive].sum())

    def run(self) -> Share:
        if self.p == 1.0:
            cost = 1.0 / (self.nu * self.total)
            solution = self.solve_at(math.log(cost), None, self.polish)
            surface = _Surface(self, solution)
            is_met = not self.problem.has_negatives or surface.n_beyond <= surface.wanted
            radius = solution.radius_sq
            return Share(solution, cost, radius if is_met else surface.radius, is_met)
        log_cost, solution, reached = self._root(*self._first(), self._largest_cost())
        surface = _Surface(self, solution)
        threshold = surface.within_film if reached else surface.radius
        return Share(solution, math.exp(log_cost), threshold, reached)

    def solve_at(
        self, log_cost: float, start: np.ndarray | None, polish: int, tol=None
    ) -> Solution:
        """The ball at a cost; with ``tol`` no better than that."""
        costs = costs_of(math.exp(log_cost), self.c_neg, self.problem.y, self.weight)
        problem = self.problem.at(p=self.p, c=costs)
        limits = self.limits | {"tol": max(tol or 0.0, self.limits["tol"])}
        return solve_problem(problem, start, costs, polish=polish, **limits)

    def _largest_cost(self) -> float:
        """log C_most (module docstring), rounded to halves: a sample knows the spread roughly."""
        log_slack = math.log(SHELL * self._spread())
        log_most = -math.log(self.p * self.nu * self.total) - (self.p - 1.0) * log_slack
        if abs(log_most) > LOG_LARGEST:
            raise ValueError(
                f"squared distances near {self._spread():.3g} to the power p - 1 = "
                f"{self.p - 1.0:g} are beyond floats, and with them the C that leaves a share nu "
                "outside; rescale the samples (or K)"
            )
        return 0.5 * round(2.0 * log_most)

    def _spread(self) -> float:
        """Mean squared distance of the positives to their mean, weighted where n is small."""
        points = self.problem.points
        if not isinstance(points, (Gram, Coordinates)):
            return points.spread
        mean = np.where(self.problem.positive, self.weight, 0.0) / self.total
        spread = float(mean @ (points.diag - points.times(mean)))
        return unit_of_length(spread, points.spread)

    def _first(self) -> tuple[float, np.ndarray]:
        """log C and alpha to begin with: those of a sample, or of a few steps from the mean.

        A step takes the multipliers that belong to the distances at hand and the surface that they
        ask for; half of it is taken, as whole steps cycle.
        """
        problem, positive = self.problem, self.problem.positive
        rows, alpha = np.flatnonzero(positive), np.zeros(problem.n)
        if len(rows) > 2 * FIRST and not isinstance(problem.points, Gram):
            some = rows[sample_of(len(rows), max(FIRST, len(rows) // 10))]
            few = problem.part(some, problem.points.subset(some))
            search = _Search(few, self.weight[some], self.nu, None)
            search.limits = {**self.limits, "tol": 1e-6, "report": None}
            log_cost, there, _ = search._root(*search._first(), search._largest_cost(), rough=True)
            alpha[some] = there.alpha
            return log_cost + math.log(search.total / self.total), alpha
        alpha[rows] = self.weight[rows] / self.total
        for _ in range(12):
            k_alpha = problem.points.times(alpha)
            d = problem.points.diag - 2.0 * k_alpha + float(alpha @ k_alpha)
            surface = _Surface(self, None, d)
            slack = np.where(positive, np.maximum(d - surface.radius, 0.0), 0.0)
            if not slack.any():
                break
            pull = self.weight * (slack / slack.max()) ** (self.p - 1.0)
            alpha = 0.5 * (alpha + pull / pull.sum())
        return surface.log_cost, alpha

    def _root(self, log_cost: float, alpha: np.ndarray, log_most: float, rough: bool = False):
        """(log C, solution, whether the share is outside); ``rough``: near the root is enough.

        Far from the root few digits of a ball tell where to go.
        """
        log_cost = min(log_cost, log_most)
        bracket, solution, is_near = _Bracket(log_most), None, False
        for _ in range(20):
            is_last = log_cost >= log_most  # no larger cost is tried, so this ball may be the one
            polish = self.polish if is_last else int(is_near)
            is_fine = is_near or (is_last and not rough)
            solution = self.solve_at(log_cost, alpha, polish, None if is_fine else LOOSE)
            alpha = solution.alpha
            surface = _Surface(self, solution)
            residual = surface.log_cost - log_cost
            if residual > 0.0 and is_last:
                return log_cost, solution, False
            if abs(residual) < NEAR and not is_near:
                is_near = True
                if rough:
                    break
            elif surface.is_met:
                return self._rounded(log_cost, solution, bracket)
            elif bracket.is_closed:
                break
            else:
                log_cost = bracket.next(log_cost, residual)
        return log_cost, self.solve_at(log_cost, alpha, self.polish), False

    def _rounded(self, log_cost: float, solution: Solution, bracket: _Bracket):
        """The shortest binary fraction among the log C that leave the share outside.

        There is only one, so that equivalent inputs end at the same cost whichever way they came.
        Fractions that the slope of the residual rules out are not tried.
        """
        unit, surface = 1.0, _Surface(self, solution)
        low, high = (
            log_cost + 2.0 * (surface.log_cost_at(q) - log_cost) / bracket.steepness
            for q in reversed(surface.neighbours)
        )
        low, high = max(low, bracket.low), min(high, bracket.high)
        for _ in range(20):
            below = unit * math.floor(log_cost / unit)
            for fraction in sorted((below, below + unit), key=lambda v: abs(v - log_cost)):
                if max(low, bracket.low) < fraction < min(high, bracket.high):
                    there = self.solve_at(fraction, solution.alpha, 1)
                    surface = _Surface(self, there)
                    if surface.is_met:
                        further = self.solve_at(fraction, there.alpha, max(self.polish - 1, 0))
                        return fraction, further, True
                    bracket.next(fraction, surface.log_cost - fraction)
            unit *= 0.5
        return log_cost, self.solve_at(log_cost, solution.alpha, self.polish), True


class _Bracket:
    """The root of a decreasing function: fixed-point steps until it is enclosed, then the secant.

    Where the secant leaves the bracket, or is too flat to be believed, the Illinois rule.
    """

    def __init__(self, most: float) -> None:
        self.low, self.high = -math.inf, most
        self.at_low, self.at_high = math.inf, -math.inf
        self.before: tuple[float, float] | None = None
        self.steepness = 0.1  # how fast the residual falls near here; little is on the safe side
        self.is_closed = False

    def next(self, x: float, residual: float) -> float:
        if residual > 0.0:
            if self.before is not None and self.before[1] > 0.0:
                self.at_high *= 0.5  # the other end is kept for the second time
            self.low, self.at_low = x, residual
        else:
            if self.before is not None and self.before[1] < 0.0:
                self.at_low *= 0.5
            self.high, self.at_high = x, residual
        if math.isfinite(self.low) and self.high - self.low <= 1e-9:
            self.is_closed = True
        before, self.before = self.before, (x, residual)
        if before is not None and math.isfinite(residual) and math.isfinite(before[1]):
            self.steepness = min(max((before[1] - residual) / (x - before[0]), FLAT), 3.0)
        if math.isfinite(self.at_low) and math.isfinite(self.at_high):
            secant = x + residual / self.steepness
            if self.low < secant < self.high and FLAT < self.steepness < 3.0:
                return secant
            share = self.at_low / (self.at_low - self.at_high)
            return self.low + share * (self.high - self.low)
        stretch = 1.0 if before is None else min(max(1.5 / self.steepness, 1.0), 10.0)
        return max(min(x + stretch * residual, self.high), -LOG_LARGEST)


class _Surface:
    """Where a surface has to be that leaves the share outside, for given distances.

    ``wanted`` samples should be outside: the number whose weight is nearest to the share (at p = 1
    the largest that is no more). Samples at the same distance are not parted.
    """

    def __init__(self, search: _Search, solution: Solution | None, d=None) -> None:
        self.search = search
        self.film = (THICK if search.p < NEAR_ONE else FILM) * search.problem.points.spread
        if solution is not None:
            d, self.at = solution.distances, solution.radius_sq + self.film
        positive = search.problem.positive
        order = np.argsort(-d[positive], kind="stable")
        self.d, self.falling = d, d[positive][order]
        weight = np.concatenate([[0.0], np.cumsum(search.weight[positive][order])])
        self.tie = 1e-12 * max(abs(float(self.falling[0])), 1e-300)  # closer distances are equal
        apart = np.ones(len(weight), dtype=bool)
        apart[1:-1] = np.abs(np.diff(self.falling)) > self.tie
        places = np.flatnonzero(apart)
        due = search.nu * search.total
        if search.p == 1.0:
            places = places[weight[places] <= due * (1.0 + 1e-12)]
        self.wanted = int(places[np.argmin(np.abs(weight[places] - due))])

    @property
    def neighbours(self) -> tuple[float, float]:
        """The last distance that should be outside and the first inside."""
        m, falling = self.wanted, self.falling
        above = float(falling[m - 1]) if m > 0 else math.inf
        return above, float(falling[m]) if m < len(falling) else -math.inf

    @property
    def is_met(self) -> bool:
        """Whether R2 is in its place, up to a film."""
        above, below = self.neighbours
        return below <= self.at < above

    @property
    def within_film(self) -> float:
        """R2, or as much more as keeps in those who lie on the surface up to rounding."""
        radius = self.at - self.film
        on_surface = self.falling[(self.falling > radius) & (self.falling <= self.at)]
        return float(on_surface[0]) if len(on_surface) else radius

    @property
    def n_beyond(self) -> int:
        """Positives outside the ball, up to rounding."""
        return int(np.count_nonzero(self.falling > self.at))

    @property
    def radius(self) -> float:
        """Halfway between the neighbours; a little beyond where all or none are outside."""
        above, below = self.neighbours
        if above == math.inf:
            return below + self.tie
        if below == -math.inf:
            return above - 1e-3 * max(float(self.falling[0]) - above, self.tie)
        return 0.5 * (above + below)

    @property
    def log_cost(self) -> float:
        """log C' of the module's docstring."""
        return self.log_cost_at(self.radius)

    def log_cost_at(self, radius: float) -> float:
        """log of the cost with that best radius; infinite where no cost is large enough."""
        search, q = self.search, radius - self.film
        p, positive = search.p, search.problem.positive
        slack = np.where(positive, self.d - q, q - self.d)
        log_term = np.full(len(slack), -math.inf)
        out = slack > 0.0
        log_term[out] = np.log(search.weight[out]) + (p - 1.0) * np.log(slack[out])
        top = float(log_term[positive].max())
        if top == -math.inf:
            return math.inf
        pull = float(np.exp(log_term[positive] - top).sum())
        push = float(np.exp(np.minimum(log_term[~positive] - top, LOG_LARGEST)).sum())
        base = -math.log(p) - top
        if search.c_neg is None:
            return base - math.log(pull - push) if pull > push else math.inf
        against = search.c_neg * p * push * math.exp(min(top, 600.0))
        return base + math.log1p(min(against, 1e300)) - math.log(pull)
