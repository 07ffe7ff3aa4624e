r"""The ball that leaves a share nu of its own rows outside: a root in log C.

For p > 1 the centre and R2 move continuously with C. Let q be the radius that would leave the share
outside for the distances at hand: R2 < q at small C, where all rows are outside, and R2 = q at the
cost that is looked for. At p = 1 nothing is searched: C = 1/(nu sum_pos w_i), the classical bound.

As C grows the ball becomes the hard one, and all rows that touch its surface keep some slack,
however small. Where they are more than the share, which is frequent with narrow kernels, no C
leaves just that share outside. Slacks of at least SHELL times the spread for a share nu need

    C <= C_most = 1/(p nu sum_pos w_i (SHELL spread)^(p-1)),

and the search ends there. The threshold is then q, a little outside the ball.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning

from lpsvdd._validation import check_costs, check_labels
from lpsvdd.cost_rule import LOG_MOST, SLACK_SHARE, check_share
from lpsvdd.solver import Gram, Problem, Solution
from lpsvdd.solver.solve import MAX_ITER, solve_problem

SHELL = 1e-3  # thickness of the surface, relative to the spread of the positives
SURFACE_TOL, SURFACE_TOL_NEAR_P1 = 1e-9, 1e-5  # what counts as on it; more for p < 1.2
NEARBY, NEARBY_NEAR_P1 = 1.0, 0.25  # times p: differences of log C at which a start helps


@dataclass(frozen=True)
class Share:
    """A ball with a share of the positives beyond ``threshold``.

    ``threshold`` is ``solution.radius_sq`` unless no C reaches the share (``reached`` is False).
    """

    solution: Solution
    cost: float
    threshold: float
    reached: bool


def solve_share(
    K, y=None, *, p: float, nu: float, c_neg: float | None = None, sample_weight=None,
    tol: float = 1e-9, max_iter: int = MAX_ITER,
) -> Share:  # fmt: skip
    """Return the ball with a share ``nu`` of the positives' weight outside, up to one sample."""
    points = Gram.check(K)
    y = check_labels(y, len(points.diag))
    weight = np.ones(len(y)) if sample_weight is None else check_costs(sample_weight, len(y))
    positive, any_cost = y > 0.0, Problem(points, y, p=p, c=1.0)
    due = check_share(nu) * float(weight[positive].sum())
    mean = np.where(positive, weight, 0.0) / weight[positive].sum()
    spread = float(mean @ (points.diag - points.times(mean))) or points.spread
    film = (SURFACE_TOL_NEAR_P1 if p < 1.2 else SURFACE_TOL) * points.spread
    digits = np.round(points.K[positive] / (np.abs(points.K).max() or 1.0), 12) + 0.0
    group = np.unique(digits, axis=0, return_inverse=True)[1].ravel()  # equal rows are one row
    found: list[tuple[Solution, float]] = []

    def excess(log_cost: float) -> float:
        """R2 - q over the spread, 0 where the share is outside."""
        cost = math.exp(log_cost)
        costs = np.where(positive, cost, cost if c_neg is None else c_neg) * weight
        start = found[-1][0].alpha if found else None
        ball = solve_problem(any_cost.at(p=p, c=costs), start, costs, tol=tol, max_iter=max_iter)
        d = np.bincount(group, ball.distances[positive]) / np.bincount(group)
        above, q, below = _ends(d, np.bincount(group, weight[positive]), due, at_most=p == 1.0)
        found.append((ball, q))
        at = ball.radius_sq + film
        return 0.0 if below <= at < above else (at - q) / spread

    log_cost = -math.log(due)
    if p > 1.0:
        low, most = (
            -math.log(p * due) - (p - 1.0) * math.log(size * spread)
            for size in (SLACK_SHARE, SHELL)
        )
        if max(abs(most), abs(low)) > LOG_MOST:
            raise ValueError(
                f"squared distances near {spread:.3g} to the power p - 1 = {p - 1.0:g} are beyond "
                "floats, and with them the C that leaves a share outside; rescale K"
            )
        with warnings.catch_warnings():  # about balls on the way
            warnings.simplefilter("ignore", ConvergenceWarning)
            log_cost = most = 0.5 * round(2.0 * most)  # stored tables were made so
            step = 1.0
            if excess(most) > 0.0:
                while excess(low) > 0.0:
                    low, step = low - step, 2.0 * step
                log_cost = brentq(excess, low, most, xtol=1e-10)
    off = excess(log_cost)
    reached = off >= 0.0 if p == 1.0 else off == 0.0  # p = 1 promises no more than the share
    (ball, q), d = found[-1], found[-1][0].distances[positive]
    on_surface = float(d[d <= ball.radius_sq + film].max(initial=ball.radius_sq))
    return Share(ball, math.exp(log_cost), on_surface if reached else q, reached)


class SharePath:
    """Balls of one exponent on targets alone, all their costs kept: each shortens later searches.

    ``share`` finds what ``solve_share`` finds: among costs that leave the share outside it may take
    another one, because it begins from the balls that are known.
    """

    def __init__(self, points: Gram, p: float, copies: np.ndarray | None = None) -> None:
        n = len(points.diag)
        self.points, self.p, self.n = points, p, n
        self.group = equal_rows(points) if copies is None else copies
        self.count = np.bincount(self.group)
        self.any_cost = Problem(points, None, p=p, c=1.0)
        self.balls: dict[float, Solution] = {}
        self.hardest: float | None = None
        mean = np.full(n, 1.0 / n)
        self.spread = float(mean @ (points.diag - points.times(mean))) or points.spread
        self.film = (SURFACE_TOL_NEAR_P1 if p < 1.2 else SURFACE_TOL) * points.spread

    def at(self, log_cost: float) -> Solution:
        """The ball at a cost."""
        if log_cost not in self.balls:
            start, costs = None, np.full(self.n, math.exp(log_cost))
            if self.balls:
                near = min(self.balls, key=lambda known: abs(known - log_cost))
                helps = self.p * (NEARBY if self.p >= 1.5 else NEARBY_NEAR_P1)
                if self.harder(log_cost) or abs(near - log_cost) < helps:
                    start = self.balls[near].alpha
            with warnings.catch_warnings():  # the status says it
                warnings.simplefilter("ignore", ConvergenceWarning)
                problem = self.any_cost.at(p=self.p, c=costs)
                ball = solve_problem(problem, start, costs, tol=1e-9, max_iter=MAX_ITER)
            self.balls[log_cost] = ball
        return self.balls[log_cost]

    def harder(self, log_cost: float) -> bool:
        """Whether a ball is known beyond which all are nearly the hard one."""
        return self.hardest is not None and log_cost >= self.hardest - 0.5

    def share(self, nu: float) -> tuple[Solution, bool]:
        """The ball with a share ``nu`` outside, and whether it is reached."""
        due = check_share(nu) * self.n

        def excess(log_cost: float) -> float:
            """R2 - q over the spread, 0 where the share is outside."""
            ball = self.at(log_cost)
            d = np.bincount(self.group, ball.distances) / self.count
            above, q, below = _ends(d, self.count, due, at_most=self.p == 1.0)
            radius = ball.radius_sq + self.film
            return 0.0 if below <= radius < above else (radius - q) / self.spread

        if self.p == 1.0:
            ball = self.at(-math.log(due))
            return ball, excess(-math.log(due)) >= 0.0
        most = -math.log(self.p * due) - (self.p - 1.0) * math.log(SHELL * self.spread)
        log_cost = most = 0.5 * round(2.0 * most)
        at_most = excess(most)
        self.hardest = most if self.hardest is None else min(most, self.hardest)
        if at_most > 0.0:
            known = {cost: excess(cost) for cost in sorted(self.balls) if cost <= most}
            low, step = min(known), 1.0
            while not any(off <= 0.0 for off in known.values()):
                low, step = low - step, 2.0 * step
                known[low] = excess(low)
            some = [cost for cost, off in known.items() if off == 0.0]
            if some:
                log_cost = some[0]
            else:
                low = max(cost for cost, off in known.items() if off < 0.0)
                high = min(cost for cost in known if cost > low)
                log_cost = brentq(excess, low, high, xtol=1e-10)
        return self.at(log_cost), excess(log_cost) == 0.0


def equal_rows(points: Gram) -> np.ndarray:
    """A number for each row, the same for equal rows."""
    digits = np.round(points.K / (np.abs(points.K).max() or 1.0), 12) + 0.0
    return np.unique(digits, axis=0, return_inverse=True)[1].ravel()


def _ends(d: np.ndarray, weight: np.ndarray, due: float, *, at_most: bool) -> tuple:
    """Return the last distance that should be outside, the radius q, and the first inside.

    The number outside is that whose weight is nearest to ``due``, or with ``at_most`` the largest
    whose weight does not exceed it.
    """
    order = np.argsort(-d, kind="stable")
    falling, reached = d[order], np.concatenate([[0.0], np.cumsum(weight[order])])
    off = np.abs(reached - due)
    wanted = np.argmin(np.where(reached > due * (1.0 + 1e-12), np.inf, off) if at_most else off)
    above = float(falling[wanted - 1]) if wanted else math.inf
    below = float(falling[wanted]) if wanted < len(falling) else -math.inf
    if wanted == 0:
        return above, below + 1e-12 * abs(below), below
    if wanted == len(falling):
        return above, above - 1e-3 * float(falling[0] - above), below
    return above, 0.5 * (above + below), below
