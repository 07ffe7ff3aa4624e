r"""The ball that leaves a share nu of its own rows outside: a root in log C.

For p > 1 the centre and R2 move continuously with C. Let q be the radius that would leave the share
outside for the distances at hand: R2 < q at small C, where all rows are outside, and R2 = q at the
cost that is looked for. At p = 1 nothing is searched: C = 1/(nu n), the classical bound.

As C grows the ball becomes the hard one, and all rows that touch its surface keep some slack,
however small. Where they are more than the share, which is frequent with narrow kernels, no C
leaves just that share outside. Slacks of at least SHELL times the spread for a share nu need

    C <= C_most = 1/(p nu n (SHELL spread)^(p-1)),

and the search ends there.
"""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning

from lpsvdd.cost_rule import LOG_MOST, SLACK_SHARE, check_share
from lpsvdd.solver import Gram, Problem, Solution
from lpsvdd.solver.solve import MAX_ITER, solve_problem

SHELL = 1e-3  # thickness of the surface, relative to the spread of the rows
SURFACE_TOL, SURFACE_TOL_NEAR_P1 = 1e-9, 1e-5  # what counts as on it; more for p < 1.2
NEARBY, NEARBY_NEAR_P1 = 1.0, 0.25  # times p: differences of log C at which a start helps


class Share(NamedTuple):
    """A ball, and whether the share is outside it; else it is the one at C_most."""

    solution: Solution
    reached: bool


def solve_share(K, *, p: float, nu: float) -> Share:
    """Return the ball with a share ``nu`` of the rows outside, up to one of them."""
    path = SharePath(Gram.check(K), p)
    return path.share(nu, low=path.log_cost(nu, SLACK_SHARE))


class SharePath:
    """Balls of one exponent on targets, all their costs kept: each shortens later searches.

    Among costs that leave the share outside a later search may take another one, because it begins
    from the balls that are known.
    """

    def __init__(self, points: Gram, p: float) -> None:
        n = len(points.diag)
        self.points, self.p, self.n = points, p, n
        digits = np.round(points.K / (np.abs(points.K).max() or 1.0), 12) + 0.0
        self.group = np.unique(digits, axis=0, return_inverse=True)[1].ravel()  # of equal rows
        self.count = np.bincount(self.group)
        self.any_cost = Problem(points, None, p=p, c=1.0)
        self.balls: dict[float, Solution] = {}
        self.hardest: float | None = None
        mean = np.full(n, 1.0 / n)
        self.spread = float(mean @ (points.diag - points.times(mean))) or points.spread
        self.film = (SURFACE_TOL_NEAR_P1 if p < 1.2 else SURFACE_TOL) * points.spread

    def log_cost(self, nu: float, slack: float) -> float:
        """Return log C at which ``nu n`` rows with this slack, in units of the spread, sum to 1."""
        found = -math.log(self.p * check_share(nu) * self.n)
        found -= (self.p - 1.0) * math.log(slack * self.spread)
        if abs(found) > LOG_MOST:
            raise ValueError(
                f"squared distances near {self.spread:.3g} to the power p - 1 = {self.p - 1.0:g} "
                "are beyond floats, and with them the C that leaves a share outside; rescale K"
            )
        return found

    def at(self, log_cost: float) -> Solution:
        """Return the ball at a cost."""
        if log_cost not in self.balls:
            start, costs = None, np.full(self.n, math.exp(log_cost))
            if self.balls:
                near = min(self.balls, key=lambda known: abs(known - log_cost))
                helps = self.p * (NEARBY if self.p >= 1.5 else NEARBY_NEAR_P1)
                nearly_hard = self.hardest is not None and log_cost >= self.hardest - 0.5
                if nearly_hard or abs(near - log_cost) < helps:
                    start = self.balls[near].alpha
            with warnings.catch_warnings():  # the status says it
                warnings.simplefilter("ignore", ConvergenceWarning)
                problem = self.any_cost.at(p=self.p, c=costs)
                ball = solve_problem(problem, start, costs, tol=1e-9, max_iter=MAX_ITER)
            self.balls[log_cost] = ball
        return self.balls[log_cost]

    def share(self, nu: float, low: float | None = None) -> Share:
        """Return the ball with a share ``nu`` outside; ``low`` is a cost to begin with."""
        due = check_share(nu) * self.n

        def excess(log_cost: float) -> float:
            """R2 - q over the spread, 0 where the share is outside."""
            ball = self.at(log_cost)
            d = np.bincount(self.group, ball.distances) / self.count
            above, q, below = _ends(d, self.count, due, at_most=self.p == 1.0)
            radius = ball.radius_sq + self.film
            return 0.0 if below <= radius < above else (radius - q) / self.spread

        if self.p == 1.0:  # p = 1 promises no more than the share
            ball = self.at(-math.log(due))
            return Share(ball, excess(-math.log(due)) >= 0.0)
        log_cost = most = 0.5 * round(2.0 * self.log_cost(nu, SHELL))  # stored tables were made so
        at_most = excess(most)
        self.hardest = most if self.hardest is None else min(most, self.hardest)
        if at_most > 0.0:
            known = {cost: excess(cost) for cost in sorted(self.balls) if cost <= most}
            if low is not None:
                known[low] = excess(low)
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
        return Share(self.at(log_cost), excess(log_cost) == 0.0)


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
