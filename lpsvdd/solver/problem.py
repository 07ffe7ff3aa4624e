r"""The lp-SVDD problem as an object: the derivation as code.

Given :math:`K_{ij} = k(x_i, x_j)`, labels :math:`y_i = +1` (target) or :math:`-1` (labelled
outlier), costs :math:`c_i > 0` and an exponent :math:`p \ge 1`, find a centre a and a **free** real
number R2 ("radius squared") with

.. math::

    \min_{a, R^2, z}\; R^2 + \sum_i c_i z_i^p
    \quad\text{s.t.}\quad y_i (\|\phi(x_i) - a\|^2 - R^2) \le z_i,\; z_i \ge 0.

With b = R2 - ||a||^2 the constraints are linear in (a, b) and the objective b + ||a||^2 + penalty
is convex, with or without negatives; so strong duality holds. The dual is

.. math::

    \max_\alpha\; \sum_i \alpha_i y_i K_{ii} - (\alpha y)' K (\alpha y)
    - (1 - 1/p) \sum_i \alpha_i z_i
    \quad\text{s.t.}\quad \alpha \ge 0,\; y'\alpha = 1,\;
    z_i = (\alpha_i / (c_i p))^{1/(p-1)},

and for p = 1 the penalty is replaced by the box :math:`\alpha_i \le c_i`. At the optimum
:math:`a = \sum_i \alpha_i y_i \phi(x_i)`.

**Scaling.** At p = 32/31 and c = 1e-3 the raw dual coefficient is about 1e91. Dividing kernel,
slack and radius by one number s turns c_i into c_i s^(p-1) and leaves alpha as it is. We take
s = max(spread, tau): spread is the mean squared distance of the points to their mean, and
tau = (p sum_pos c_i)^(-1/(p-1)) the common slack at which the multipliers sum to one. All values
are then of order one. Only log s and log c_i s^(p-1) are stored, so nothing overflows: where tau is
beyond any float, K/s is zero and the solution is the limit c -> 0, the weighted mean.

**Certificate.** Any feasible alpha gives a centre, that centre gives R2 by a one-dimensional root,
and P - D >= 0 is the duality gap. :mod:`lpsvdd.solver.certificate` says when that is a proof.
"""

from __future__ import annotations

import copy
import math
from typing import NamedTuple

import numpy as np

from lpsvdd._validation import check_costs, check_exponent, check_labels
from lpsvdd.solver.points import Gram
from lpsvdd.solver.radius import LOG_MAX, TINY, best_radius


class Value(NamedTuple):
    """Hold a feasible alpha, its centre and their bounds, in scaled units.

    ``excess`` is P - D, ``signed`` is y (d - R2), the positive part of which is the slack, and
    ``norm_sq`` is ||a||^2.
    """

    alpha: np.ndarray
    primal: float
    excess: float
    radius_sq: float
    signed: np.ndarray
    norm_sq: float

    @property
    def gap(self) -> float:
        """Return (P - D)/(1 + |P|)."""
        return self.excess / (1.0 + abs(self.primal))


class Problem:
    """min R2 + sum_i c_i z_i^p over balls, in scaled units (module docstring).

    Parameters
    ----------
    points : Gram, Rows or Coordinates, or an array of shape (n, n), the kernel matrix
    y : array of +1 and -1, or None for all +1
    p : float in [1, inf)
    c : positive number, or one per sample

    Examples
    --------
    >>> import numpy as np
    >>> from lpsvdd.solver import Problem
    >>> x = np.array([-1.0, 0.0, 1.0])
    >>> problem = Problem(np.outer(x, x), p=2.0, c=1.0)
    >>> round(problem.evaluate(np.array([0.75, 0.0, 0.25])).gap, 3)
    0.527
    """

    def __init__(self, points, y=None, *, p: float, c) -> None:
        points = Gram.check(points) if isinstance(points, np.ndarray) else points
        n = len(points.diag)
        self._set_points(points, check_labels(y, n))
        self._set_costs(check_exponent(p), check_costs(c, n))

    def _set_points(self, points, y: np.ndarray) -> None:
        self.points, self.y, self.n = points, y, len(y)
        self.positive = y > 0.0
        self.has_negatives = not bool(self.positive.all())

    def _set_costs(self, p: float, cost: np.ndarray) -> None:
        self.p, self.cost, self.is_boxed = p, cost, p == 1.0
        self.total_cost = float(cost[self.positive].sum())
        log_tau, log_scale = -math.inf, math.log(self.points.spread)
        if p > 1.0:
            log_tau = -math.log(p * self.total_cost) / (p - 1.0)
            log_scale = max(log_scale, log_tau)
        self.log_scale = log_scale
        self.inv_scale = math.exp(-log_scale)
        self.tau = math.exp(log_tau - log_scale)
        self.diag = self.points.diag * self.inv_scale
        # alpha_i = exp(log_rate_i + (p - 1) log z_i)
        self.log_rate = np.log(cost * p) + (p - 1.0) * log_scale

    # -- problems next to this one, whose input needs no check again ----------------------------

    def at(self, *, p: float, c) -> Problem:
        """Return the same points with another exponent and other costs."""
        other = copy.copy(self)
        other._set_costs(check_exponent(p), check_costs(c, self.n))
        return other

    def part(self, rows: np.ndarray, points=None, cost: np.ndarray | None = None) -> Problem:
        """Return the problem of some points; other ``points`` and ``cost`` if they are given."""
        other = copy.copy(self)
        other._set_points(self.points.part(rows) if points is None else points, self.y[rows])
        other._set_costs(self.p, self.cost[rows] if cost is None else cost)
        return other

    @property
    def is_radius_zero(self) -> bool:
        """Tell whether p = 1 and sum_pos c_i <= 1: then R2 = 0 at the c-weighted mean.

        The box alpha_i <= c_i then leaves no alpha with y'alpha = 1 (or exactly one); with R2 >= 0
        kept, d/dR2 = 1 - sum_pos c_i [d_i > R2] + ... >= 0 for every centre, so R2 = 0 is optimal,
        no negative is inside, and the centre minimises sum_pos c_i d_i (Chang, Lee and Lin 2013).
        """
        return self.is_boxed and self.total_cost <= 1.0

    # -- the terms of the derivation ------------------------------------------------------------

    def weighted_mean(self) -> np.ndarray:
        """Return alpha_i = c_i / sum_pos c_j on the positives: the limit c -> 0."""
        return np.where(self.positive, self.cost / self.total_cost, 0.0)

    def tilt(self, alpha: np.ndarray) -> float:
        r"""Return the chi-square divergence of alpha from the weighted mean.

        With :math:`m_i = c_i/C` and :math:`C = \sum_{pos} c_i`:

        .. math::

            \sum_i \frac{\alpha_i^2}{m_i} - 1
            = \sum_{pos} \frac{(\alpha_i - m_i)^2}{m_i}
            + \sum_{neg} \alpha_i \Bigl(2 + \frac{\alpha_i}{m_i}\Bigr) \ge 0 .

        One class with equal costs: n sum alpha^2 - 1. It is 0 at the weighted mean only, n/m - 1
        for m equal multipliers, and the same for costs of any scale. The second form, for which
        y'alpha = 1 is needed, has no cancellation; a negative adds by carrying weight at all.
        """
        share = self.cost / self.total_cost
        away = alpha - self.weighted_mean()
        with np.errstate(over="ignore"):
            terms = np.where(self.positive, away * (away / share), alpha * (2.0 + alpha / share))
            return float(terms.sum())

    def multipliers(self, slack: np.ndarray, rows=slice(None)) -> np.ndarray:
        """Return alpha_i = c_i p z_i^(p-1), the derivative of the penalty (0 where z_i <= 0)."""
        exponent = self.log_rate[rows] + (self.p - 1.0) * np.log(np.maximum(slack, TINY))
        rate = np.exp(np.minimum(exponent, LOG_MAX))
        rate[slack <= 0.0] = 0.0
        return rate

    def slack_of(self, alpha: np.ndarray, rows=slice(None)) -> np.ndarray:
        """Return z_i with alpha_i = c_i p z_i^(p-1), for p > 1."""
        exponent = (np.log(np.maximum(alpha, TINY)) - self.log_rate[rows]) / (self.p - 1.0)
        return np.exp(np.minimum(exponent, LOG_MAX))

    def penalty(self, slack: np.ndarray) -> float:
        """Return sum_i c_i z_i^p over the z_i > 0."""
        exponent = self.log_rate + self.p * np.log(np.maximum(slack, TINY))
        return float(np.exp(np.minimum(exponent, LOG_MAX)).sum()) / self.p

    def dual_penalty(self, alpha: np.ndarray) -> float:
        """Return (1 - 1/p) sum_i alpha_i z_i(alpha_i); for p = 1 the box has no penalty."""
        if self.is_boxed:
            return 0.0
        return (1.0 - 1.0 / self.p) * float(alpha.dot(self.slack_of(alpha)))

    def excess(self, alpha: np.ndarray, signed: np.ndarray, penalty: float) -> float:
        r"""Return P - D for alpha with y'alpha = 1 and the centre sum_i alpha_i y_i phi_i, as a sum

            sum_i [ c_i z_i^p + (1 - 1/p) alpha_i z_i(alpha_i) - alpha_i s_i ],   s = y (d - R2),

        of terms that are not negative (Fenchel and Young). P and D themselves may be huge and
        nearly equal; these terms are small where alpha and s belong together.
        """
        return penalty + self.dual_penalty(alpha) - float(alpha.dot(signed))

    def kernel_times(self, beta: np.ndarray) -> np.ndarray:
        """Return K beta / s."""
        return self.points.times(beta) * self.inv_scale

    def radius_sq(self, d: np.ndarray, guess: float | None = None) -> float:
        """Return the best R2 for squared distances d (``radius``).

        R2 moves along with d: for d less ||a||^2 it is b = R2 - ||a||^2.
        """
        return best_radius(self, d, guess)

    def evaluate(
        self, alpha: np.ndarray, guess: float | None = None, k_beta: np.ndarray | None = None
    ) -> Value:
        """Return P, P - D and R2 for a feasible alpha and its centre; ``k_beta`` is K beta / s."""
        beta = self.y * alpha
        if k_beta is None:
            k_beta = self.kernel_times(beta)
        norm_sq = float(beta.dot(k_beta))
        d = self.diag - 2.0 * k_beta + norm_sq
        radius = self.radius_sq(d, guess)
        signed = self.y * (d - radius)
        penalty = self.penalty(signed)
        excess = self.excess(alpha, signed, penalty)
        return Value(alpha, radius + penalty, excess, radius, signed, norm_sq)

    def distances(self, value: Value) -> np.ndarray:
        """Return squared distances of the points to the centre of a value, scaled."""
        return self.y * value.signed + value.radius_sq

    def kkt_residuals(self, alpha: np.ndarray) -> dict[str, float]:
        """Return the largest violation of each optimality condition at alpha, in scaled units.

        With R2 and z from alpha's own centre: ``equality`` |y'alpha - 1|, ``sign`` max(-alpha)_+,
        ``stationarity`` |alpha_i - c_i p z_i^(p-1)| (p > 1) or the excess over the box (p = 1),
        ``complementarity`` alpha_i |z_i - y_i(d_i - R2)|.
        """
        signed = self.evaluate(alpha).signed
        slack = np.maximum(signed, 0.0)
        if self.is_boxed:
            stationarity = max(float((alpha - self.cost).max()), 0.0)
        else:
            stationarity = float(np.abs(alpha - self.multipliers(slack)).max())
        return {
            "equality": float(abs(self.y @ alpha - 1.0)),
            "sign": float(max(-alpha.min(), 0.0)),
            "stationarity": stationarity,
            "complementarity": float(np.abs(alpha * (slack - signed)).max()),
        }

    # -- feasibility ----------------------------------------------------------------------------

    def feasible(self, alpha: np.ndarray) -> np.ndarray:
        """Return a point with alpha >= 0, y'alpha = 1 (p = 1: alpha <= c) near the given one."""
        alpha = np.where(alpha > 0.0, alpha, 0.0)  # NaN too
        if self.is_boxed:
            return self._feasible_in_box(np.minimum(alpha, self.cost))
        on_positives = float(alpha[self.positive].sum())
        if on_positives <= 0.0:
            return self.weighted_mean()
        on_negatives = float(alpha.sum()) - on_positives if self.has_negatives else 0.0
        return alpha * np.where(self.positive, (1.0 + on_negatives) / on_positives, 1.0)

    def _feasible_in_box(self, alpha: np.ndarray) -> np.ndarray:
        """The positives' share brought to 1 + that of the negatives, within the box.

        What is missing goes to multipliers that are positive already, if they have room for it: a
        point that is no support vector shall not become one by rounding.
        """
        positive, cost = self.positive, self.cost
        total, on_negatives = float(alpha[positive].sum()), float(alpha[~positive].sum())
        target = 1.0 + on_negatives
        if target > self.total_cost:  # the negatives ask for more than the box holds
            alpha[~positive] *= (self.total_cost - 1.0) / on_negatives
            target = self.total_cost
        if total >= target:
            alpha[positive] *= target / total
            return alpha
        if target - total <= 1e-13 * target:  # rounding
            return alpha
        for takers in (positive & (alpha > 0.0), positive):
            room = np.where(takers, cost - alpha, 0.0)
            if room.sum() >= target - total:
                break
        return alpha + room * min(1.0, (target - total) / max(float(room.sum()), TINY))
