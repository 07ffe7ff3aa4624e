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
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lpsvdd._validation import check_costs, check_exponent, check_labels
from lpsvdd.solver._gram import Gram
from lpsvdd.solver._radius import LOG_MAX, TINY, best_radius

HARD = 1e-12  # slack that counts as none, in scaled units


@dataclass(frozen=True)
class Certificate:
    """What can be said of a feasible alpha, in the units of K (``gap``: of the scaled problem).

    gap = (P - D)/(1 + |P|) bounds the relative distance of both values to the optimum.
    """

    alpha: np.ndarray
    primal: float
    dual: float
    gap: float
    radius_sq: float
    slack: np.ndarray


class Value(NamedTuple):
    """``Problem.evaluate`` of a feasible alpha: scaled units throughout."""

    alpha: np.ndarray
    primal: float
    dual: float
    gap: float
    radius_sq: float
    d: np.ndarray
    rate: np.ndarray | None  # c_i p z_i^(p-1) at (d, R2), where it was at hand


class Problem:
    """min R2 + sum_i c_i z_i^p over balls, as scaled arrays (module docstring).

    Parameters
    ----------
    gram : Gram or array of shape (n, n)
    y : array of +1 and -1, or None for all +1
    p : float in [1, inf)
    c : positive number, or one per sample
    """

    def __init__(self, gram: Gram | np.ndarray, y=None, *, p: float, c) -> None:
        self.gram = gram if isinstance(gram, Gram) else Gram.check(gram)
        self._label(check_labels(y, len(self.gram.diag)))
        self._scale(check_exponent(p), check_costs(c, self.n))

    def at(self, *, p: float, c) -> Problem:
        """The same points with another exponent and other costs."""
        other = copy.copy(self)
        other._scale(check_exponent(p), check_costs(c, self.n))
        return other

    def part(self, rows: np.ndarray) -> Problem:
        """The problem of some of the points, in the same units if all positives are among them."""
        other = copy.copy(self)
        other.gram = Gram(self.gram.K[np.ix_(rows, rows)], self.gram.diag[rows], self.gram.spread)
        other._label(self.y[rows])
        other._scale(self.p, self.cost[rows])
        return other

    def _label(self, y: np.ndarray) -> None:
        self.n, self.y = len(y), y
        self.positive = y > 0.0
        self.has_negatives = not self.positive.all()
        self.ones = np.ones(len(y))
        #: x @ by_label: sum over the positives, sum over the negatives
        self.by_label = np.empty((self.n, 2))
        self.by_label[:, 0], self.by_label[:, 1] = self.positive, ~self.positive

    def _scale(self, p: float, cost: np.ndarray) -> None:
        self.p, self.cost, self.is_boxed = p, cost, p == 1.0
        self.total_cost = float(cost[self.positive].sum())
        log_tau = -math.log(p * self.total_cost) / (p - 1.0) if p > 1.0 else -math.inf
        self.log_scale = max(math.log(self.gram.spread), log_tau)
        self.inv_scale = math.exp(-self.log_scale)
        self.tau = math.exp(log_tau - self.log_scale)
        self.diag = self.gram.diag * self.inv_scale
        #: log(c_i p) in scaled units: alpha_i = exp(log_rate_i + (p - 1) log z_i)
        self.log_rate = np.log(cost * p) + (p - 1.0) * self.log_scale
        self.steep = float(self.log_rate.max()) > 0.5 * LOG_MAX

    def log_ceiling(self, largest_alpha: float) -> float:
        """The ``log_rate`` at which z_i(largest_alpha) = HARD."""
        return math.log(largest_alpha) - (self.p - 1.0) * math.log(HARD)

    def hardened(self, largest_alpha: float) -> Problem:
        """The same problem with costs beyond effect lowered, or itself if there are none.

        A cost at which z_i(largest_alpha) < HARD in scaled units is a hard constraint in double
        precision; larger ones change nothing but the conditioning.
        """
        ceiling = self.log_ceiling(largest_alpha)
        if self.log_rate.max() <= ceiling:
            return self
        softer = copy.copy(self)
        softer.log_rate = np.minimum(self.log_rate, ceiling)
        softer.steep = ceiling > 0.5 * LOG_MAX
        softer.cost = np.minimum(
            self.cost, np.exp(ceiling - (self.p - 1.0) * self.log_scale) / self.p
        )
        return softer

    @property
    def is_radius_zero(self) -> bool:
        """p = 1 and sum_pos c_i <= 1: R2 = 0 and the centre is the c-weighted mean.

        The box alpha_i <= c_i then leaves no alpha with y'alpha = 1 (or exactly one); with R2 >= 0
        kept, d/dR2 = 1 - sum_pos c_i [d_i > R2] + ... >= 0 for every centre, so R2 = 0 is optimal,
        no negative is inside, and the centre minimises sum_pos c_i d_i (Chang, Lee and Lin 2013).
        """
        return self.is_boxed and self.total_cost <= 1.0

    # -- sums over the samples: floats here, one a row in ``batch`` ---------------------------

    def dot(self, left: np.ndarray, right: np.ndarray) -> float:
        """sum_i left_i right_i."""
        return float(left.dot(right))

    def total(self, values: np.ndarray) -> float:
        """sum_i values_i."""
        return float(values.dot(self.ones))

    def least(self, stack: np.ndarray) -> float:
        """Smallest entry of several arrays over the samples."""
        return float(stack.min())

    @staticmethod
    def smaller(one: float, other: float) -> float:
        """The smaller of two numbers."""
        return min(one, other)

    @staticmethod
    def larger(one: float, other: float) -> float:
        """The larger of two numbers."""
        return max(one, other)

    # -- the pieces of the derivation, in scaled units ----------------------------------------

    def kernel_times(self, beta: np.ndarray) -> np.ndarray:
        """K beta / s. (``dot`` costs half of ``@`` on short vectors.)"""
        return self.gram.K.dot(beta) * self.inv_scale

    def weighted_mean(self) -> np.ndarray:
        """alpha_i = c_i / sum_pos c_j on the positives: the limit c -> 0."""
        return np.where(self.positive, self.cost / self.total_cost, 0.0)

    def multipliers(self, slack: np.ndarray) -> np.ndarray:
        """alpha_i = c_i p z_i^(p-1), the derivative of the penalty (0 where z_i = 0)."""
        exponent = self.log_rate + (self.p - 1.0) * np.log(np.maximum(slack, TINY))
        rate = np.exp(np.minimum(exponent, LOG_MAX))
        rate[slack <= 0.0] = 0.0
        return rate

    def slack_ceiling(self) -> np.ndarray | float:
        """Slack at which a multiplier is 1e3, for p >= 2: no start needs more.

        A primal residual is linear and leaves at the first full step of Newton's method; a violated
        power law with a large exponent does not.
        """
        if self.p < 2.0:
            return np.inf
        return np.exp((math.log(1e3) - self.log_rate) / (self.p - 1.0))

    def penalty(self, slack: np.ndarray) -> float:
        """sum_i c_i z_i^p."""
        exponent = self.log_rate + self.p * np.log(np.maximum(slack, TINY))
        return self.total(np.exp(np.minimum(exponent, LOG_MAX))) / self.p

    def dual_penalty(self, alpha: np.ndarray) -> float:
        """(1 - 1/p) sum_i alpha_i z_i(alpha_i); for p = 1 the box has no penalty."""
        if self.is_boxed:
            return 0.0
        slack = (np.log(np.maximum(alpha, TINY)) - self.log_rate) / (self.p - 1.0)
        return (1.0 - 1.0 / self.p) * self.dot(alpha, np.exp(np.minimum(slack, LOG_MAX)))

    def dual_value(self, alpha: np.ndarray, k_beta: np.ndarray) -> float:
        """D(alpha), given K (y * alpha) / s."""
        beta = self.y * alpha
        return self.dot(beta, self.diag - k_beta) - self.dual_penalty(alpha)

    def feasible(self, alpha: np.ndarray) -> np.ndarray:
        """A point with alpha >= 0, y'alpha = 1 (and alpha <= c if p = 1) near the given one."""
        alpha = np.where(alpha > 0.0, alpha, 0.0)  # NaN too
        if self.is_boxed:
            alpha = np.minimum(alpha, self.cost)
        total, target = alpha.dot(self.by_label).tolist()
        target += 1.0
        if not self.is_boxed:
            if total <= 0.0:
                return self.weighted_mean()
            return alpha * np.where(self.positive, target / total, 1.0)
        positive = self.positive
        if target > self.total_cost:  # the negatives ask for more than the box holds
            alpha[~positive] *= (self.total_cost - 1.0) / (target - 1.0)
            target = self.total_cost
        if total >= target:
            alpha[positive] *= target / total
        else:
            room = self.cost[positive] - alpha[positive]
            alpha[positive] += room * min(1.0, (target - total) / room.sum())
        return alpha

    def radius_sq(self, d: np.ndarray, guess: float | None = None, tol: float = 1e-13) -> float:
        """The best R2 for given squared distances d_i to a centre: the root of

            F+(R2) := sum_pos c_i p (d_i - R2)_+^(p-1)  =  1 + sum_neg c_i p (R2 - d_i)_+^(p-1).

        For p = 1 the sums are step functions and R2 is the (midpoint of the) place where they
        cross. For p > 1 Newton's method runs on (F+ / (1 + F-))^(1/(p-1)) - 1, which is nearly
        linear in R2, and a bracket guards it: F+ >= 1 at min d - tau, F+ = 0 at max_pos d.
        """
        return self._root(d, guess, tol)[0]

    def _root(self, d, guess, tol) -> tuple[float, np.ndarray | None]:
        """R2 and, where at hand, the multipliers c_i p z_i^(p-1) that belong to it."""
        return best_radius(self, d, guess, tol)

    # -- the certificate ---------------------------------------------------------------------

    def evaluate(
        self,
        alpha: np.ndarray,
        guess: float | None = None,
        tol: float = 1e-13,
        penalty: float | None = None,
    ) -> Value:
        """P, D, their relative gap, R2 and distances for a feasible alpha, in scaled units.

        ``guess`` and ``tol`` are for the root R2; a rough R2 only loosens P, it is still a bound.
        ``penalty`` is the dual's, for a caller who knows it already.
        """
        beta = self.y * alpha
        k_beta = self.kernel_times(beta)
        norm_sq = self.dot(beta, k_beta)
        d = self.diag - 2.0 * k_beta + norm_sq
        radius, rate = self._root(d, guess, tol)
        signed = self.y * (d - radius)
        if rate is None:
            primal = radius + self.penalty(signed)
        else:  # c z^p = (c p z^(p-1)) z / p
            primal = radius + self.dot(rate, signed) / self.p
        if penalty is None:
            penalty = self.dual_penalty(alpha)
        dual = self.dot(beta, self.diag - k_beta) - penalty
        return Value(alpha, primal, dual, (primal - dual) / (1.0 + abs(primal)), radius, d, rate)

    def mapped(self, value: Value, tol: float) -> Value | None:
        """The fixed-point map: centre -> R2 -> slack -> multipliers, which give a new centre.

        Multipliers with sum t are scaled by 1/t; they then belong to slack z t^(-1/(p-1)), which
        gives the dual's penalty without a logarithm. None where t is far from 1.
        """
        signed = self.y * (value.d - value.radius_sq)
        rate = self.multipliers(signed) if value.rate is None else value.rate
        total = self.dot(self.y, rate)
        if not 0.5 < total < 2.0:
            return None
        alpha = rate / total
        penalty = (1.0 - 1.0 / self.p) * self.dot(alpha, signed) * total ** (-1.0 / (self.p - 1.0))
        return self.evaluate(alpha, value.radius_sq, tol, penalty)

    def certificate(self, value: np.ndarray | Value) -> Certificate:
        """The certificate of ``feasible(alpha)`` (or of a value at hand), in the units of K."""
        if self.is_radius_zero:
            value = self._radius_zero_value()
        elif not isinstance(value, Value):
            value = self.evaluate(self.feasible(value))
        scale = math.exp(self.log_scale) if self.log_scale < LOG_MAX else math.inf
        slack = np.maximum(self.y * (value.d - value.radius_sq), 0.0)
        if math.isfinite(scale):
            slack *= scale
        else:
            slack[slack > 0.0] = math.inf
        primal, dual, radius_sq = (
            v * scale if v else 0.0 for v in (value.primal, value.dual, value.radius_sq)
        )
        return Certificate(value.alpha, primal, dual, value.gap, radius_sq, slack)

    def _radius_zero_value(self) -> Value:
        beta = alpha = self.weighted_mean()
        k_beta = self.kernel_times(beta)
        d = np.maximum(self.diag - 2.0 * k_beta + float(beta @ k_beta), 0.0)
        cost = float(np.where(self.positive, self.cost, 0.0) @ d)
        return Value(alpha, cost, cost, 0.0, 0.0, d, None)

    def kkt_residuals(self, alpha: np.ndarray) -> dict[str, float]:
        """Largest violation of each optimality condition at alpha, in scaled units.

        With R2 and z from alpha's own centre: ``equality`` |y'alpha - 1|, ``sign`` max(-alpha)_+,
        ``stationarity`` |alpha_i - c_i p z_i^(p-1)| (p > 1) or the excess over the box (p = 1),
        ``complementarity`` alpha_i |z_i - y_i(d_i - R2)|.
        """
        value = self.evaluate(alpha)
        signed = self.y * (value.d - value.radius_sq)
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


def certify(K, y=None, *, p: float, c, alpha) -> Certificate:
    """Certificate of somebody else's alpha: made feasible first, then judged by its gap."""
    problem = Problem(K, y, p=p, c=c)
    alpha = np.asarray(alpha, dtype=float)
    if alpha.shape != (problem.n,) or not np.isfinite(alpha).all():
        raise ValueError(f"alpha must be {problem.n} finite numbers")
    return problem.certificate(alpha)
