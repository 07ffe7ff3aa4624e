r"""The lp-SVDD problem as an object: the derivation as code.

Given K_ij = k(x_i, x_j), labels y_i = +1 (target) or -1 (labelled outlier), costs c_i > 0 and an
exponent p >= 1, find a centre a and a **free** real number R2 ("radius squared") with

    min_{a, R2, z}  R2 + sum_i c_i z_i^p     s.t.  y_i (||phi(x_i) - a||^2 - R2) <= z_i,  z_i >= 0.

With b = R2 - ||a||^2 the constraints are linear in (a, b) and the objective b + ||a||^2 + penalty
is convex, with or without negatives; so strong duality holds. The dual, with q = p/(p-1), is

    max_alpha  sum_i alpha_i y_i K_ii - (alpha*y)' K (alpha*y) - (1 - 1/p) sum_i alpha_i z_i
    s.t.       alpha >= 0,  y' alpha = 1,        z_i = (alpha_i / (c_i p))^(1/(p-1)),

and for p = 1 the penalty is replaced by the box alpha_i <= c_i. At the optimum
a = sum_i alpha_i y_i phi(x_i).

**Scaling.** At p = 32/31 and c = 1e-3 the raw dual coefficient is about 1e91. Dividing kernel,
slack and radius by one number s turns c_i into c_i s^(p-1) and leaves alpha as it is. We take
s = max(spread, tau): spread is the mean squared distance of the points to their mean, and
tau = (p sum_pos c_i)^(-1/(p-1)) is the common slack at which the multipliers sum to one. All values
are then of order one. Only log s and log c_i s^(p-1) are stored, so nothing overflows: where tau is
beyond any float, K/s is zero and the solution is the limit c -> 0, the weighted mean.

**Certificate.** Any feasible alpha gives a centre, that centre gives R2 by a one-dimensional root,
and P - D >= 0 is the duality gap. ``certify`` computes it from alpha alone; nobody's word is taken.
"""

from __future__ import annotations

import copy
import math

import numpy as np

from lpsvdd._validation import check_costs, check_exponent, check_labels
from lpsvdd.solver._arithmetic import Arithmetic, Points, Value, scales
from lpsvdd.solver._gram import Gram
from lpsvdd.solver._radius import LOG_MAX, best_radius
from lpsvdd.solver._rows import Rows

HARD = 1e-12  # slack that counts as none, in scaled units


class Problem(Arithmetic):
    """min R2 + sum_i c_i z_i^p over balls, as scaled arrays (module docstring).

    Parameters
    ----------
    gram : Gram or array of shape (n, n), or Rows, which compute kernel values on demand
    y : array of +1 and -1, or None for all +1
    p : float in [1, inf)
    c : positive number, or one per sample

    Examples
    --------
    >>> import numpy as np
    >>> from lpsvdd.solver import Problem
    >>> x = np.array([-1.0, 0.0, 1.0])
    >>> problem = Problem(np.outer(x, x), p=2.0, c=1.0)
    >>> sorted(problem.kkt_residuals(problem.weighted_mean()))
    ['complementarity', 'equality', 'sign', 'stationarity']
    """

    def __init__(self, gram: Gram | Rows | np.ndarray, y=None, *, p: float, c) -> None:
        gram = gram if isinstance(gram, (Gram, Rows)) else Gram.check(gram)
        super().__init__(Points.of(gram, check_labels(y, len(gram.diag))))
        self._set_costs(check_exponent(p), check_costs(c, self.n))

    def at(self, *, p: float, c) -> Problem:
        """The same points with another exponent and other costs."""
        other = copy.copy(self)
        other._set_costs(check_exponent(p), check_costs(c, self.n))
        return other

    def part(self, rows: np.ndarray) -> Problem:
        """The problem of some of the points, in the same units if all positives are among them."""
        return Problem(self.gram.part(rows), self.y[rows], p=self.p, c=self.cost[rows])

    def _set_costs(self, p: float, cost: np.ndarray) -> None:
        self.p, self.cost, self.is_boxed = p, cost, p == 1.0
        self.total_cost = float(cost[self.positive].sum())
        spread = self.gram.spread
        log_scale, log_tau = math.log(spread), -math.inf
        if p > 1.0:
            log_scale, log_tau = map(float, scales(spread, p, self.total_cost))
        self.log_scale = log_scale
        self.inv_scale = math.exp(-log_scale)
        self.tau = math.exp(log_tau - log_scale)
        self.diag = self.gram.diag * self.inv_scale
        self._set_rates(np.log(cost * p) + (p - 1.0) * log_scale)

    def _set_rates(self, log_rate: np.ndarray) -> None:
        self.log_rate = log_rate
        self.is_steep = float(log_rate.max()) > 0.5 * LOG_MAX

    # -- the same problem, made easier --------------------------------------------------------

    def hardened(self, largest_alpha: float) -> Problem:
        """The same problem with costs beyond effect lowered, or itself if there are none.

        A cost at which z_i(largest_alpha) < HARD in scaled units is a hard constraint in double
        precision; larger ones change nothing but the conditioning.
        """
        ceiling = log_ceiling(self.p, largest_alpha)
        if self.log_rate.max() <= ceiling:
            return self
        softer = copy.copy(self)
        softer._set_rates(np.minimum(self.log_rate, ceiling))
        highest = np.exp(ceiling - (self.p - 1.0) * self.log_scale) / self.p
        softer.cost = np.minimum(self.cost, highest)
        return softer

    def with_exponent(self, p: float) -> Problem:
        """A problem whose solution is near: exponent p, and costs with the same c^(1/p)."""
        if p == self.p:
            return self
        other = copy.copy(self)
        other._set_costs(p, np.exp(np.log(self.cost) * (p / self.p)))
        return other

    @property
    def is_radius_zero(self) -> bool:
        """p = 1 and sum_pos c_i <= 1: R2 = 0 and the centre is the c-weighted mean.

        The box alpha_i <= c_i then leaves no alpha with y'alpha = 1 (or exactly one); with R2 >= 0
        kept, d/dR2 = 1 - sum_pos c_i [d_i > R2] + ... >= 0 for every centre, so R2 = 0 is optimal,
        no negative is inside, and the centre minimises sum_pos c_i d_i (Chang, Lee and Lin 2013).
        """
        return self.is_boxed and self.total_cost <= 1.0

    # -- sums over the samples ----------------------------------------------------------------

    def dot(self, left: np.ndarray, right: np.ndarray) -> float:
        return float(left.dot(right))

    def total(self, values: np.ndarray) -> float:
        return float(values.dot(self.ones))

    def least(self, stack: np.ndarray) -> float:
        return float(stack.min())

    def smaller(self, one: float, other: float) -> float:
        return min(one, other)

    def larger(self, one: float, other: float) -> float:
        return max(one, other)

    def kernel_times(self, beta: np.ndarray) -> np.ndarray:
        return self.gram.times(beta) * self.inv_scale

    def best_radius(self, d, guess=None, tol=1e-13) -> tuple[float, np.ndarray | None]:
        return best_radius(self, d, guess, tol)

    def radius_sq(self, d: np.ndarray) -> float:
        """The best R2 for given squared distances d_i to a centre (``_radius``)."""
        return self.best_radius(d)[0]

    def feasible(self, alpha: np.ndarray) -> np.ndarray:
        alpha = np.where(alpha > 0.0, alpha, 0.0)  # NaN too
        if self.is_boxed:
            return self._feasible_in_box(np.minimum(alpha, self.cost))
        on_positives, on_negatives = alpha.dot(self.by_label).tolist()
        if on_positives <= 0.0:
            return self.weighted_mean()
        return alpha * np.where(self.positive, (1.0 + on_negatives) / on_positives, 1.0)

    def _feasible_in_box(self, alpha: np.ndarray) -> np.ndarray:
        """The positives' share brought to 1 + that of the negatives, within the box.

        What is missing goes to multipliers that are positive already, if they have room for it: a
        point that is no support vector shall not become one by rounding.
        """
        positive, cost = self.positive, self.cost
        total, on_negatives = alpha.dot(self.by_label).tolist()
        target = 1.0 + on_negatives
        if target > self.total_cost:  # the negatives ask for more than the box holds
            alpha[~positive] *= (self.total_cost - 1.0) / on_negatives
            target = self.total_cost
        if total >= target:
            alpha[positive] *= target / total
            return alpha
        for takers in (positive & (alpha > 0.0), positive):
            room = np.where(takers, cost - alpha, 0.0)
            if room.sum() >= target - total:
                break
        return alpha + room * min(1.0, (target - total) / max(float(room.sum()), 1e-300))

    # -- the fixed-point map, and how far from optimal a point is -----------------------------

    def mapped(self, value: Value, tol: float) -> Value | None:
        """The fixed-point map: centre -> R2 -> slack -> multipliers, which give a new centre.

        None where the multipliers' sum is far from 1.
        """
        rate = self.multipliers(value.signed) if value.rate is None else value.rate
        total = self.dot(self.y, rate)
        if not 0.5 < total < 2.0:
            return None
        return self.evaluate(rate / total, value.radius_sq, tol)

    def kkt_residuals(self, alpha: np.ndarray) -> dict[str, float]:
        """Largest violation of each optimality condition at alpha, in scaled units.

        With R2 and z from alpha's own centre: ``equality`` |y'alpha - 1|, ``sign`` max(-alpha)_+,
        ``stationarity`` |alpha_i - c_i p z_i^(p-1)| (p > 1) or the excess over the box (p = 1),
        ``complementarity`` alpha_i |z_i - y_i(d_i - R2)|.
        """
        signed = self.evaluate(alpha).signed
        slack = np.maximum(signed, 0.0)
        if not self.is_boxed:
            stationarity = np.abs(alpha - self.multipliers(slack)).max()
        else:
            stationarity = max(float((alpha - self.cost).max()), 0.0)
        return {
            "equality": float(abs(self.y @ alpha - 1.0)),
            "sign": float(max(-alpha.min(), 0.0)),
            "stationarity": float(stationarity),
            "complementarity": float(np.abs(alpha * (slack - signed)).max()),
        }


def log_ceiling(p, largest_alpha: float):
    """The ``log_rate`` at which z_i(largest_alpha) = HARD."""
    return math.log(largest_alpha) - (p - 1.0) * math.log(HARD)
