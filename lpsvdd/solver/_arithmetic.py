r"""What one problem and a batch of problems share: points, scaled costs, terms of the derivation.

``Problem`` (one pair of exponent and costs) and ``Batch`` (many, on the same points) are siblings:
both are ``Arithmetic``. The last axis of every array runs over the samples. What is a float for a
problem is a column (m, 1) for a batch, so one formula serves both; the few sums over samples that
differ are methods of the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lpsvdd.solver._gram import Gram
from lpsvdd.solver._radius import LOG_MAX, TINY
from lpsvdd.solver._rows import Rows

Number = Any  # a float for a problem, a column of floats for a batch
EQUALITY = 1e-10  # y'alpha = 1 is asked for relative to sum alpha, the size of what is added up


@dataclass(frozen=True)
class Points:
    """A Gram matrix and labels.

    ``x @ by_label`` is (sum over the positives, sum over the negatives), and ``x.dot(ones)`` the
    sum over all samples: on short vectors a product costs half of ``sum``.
    """

    gram: Gram | Rows
    y: np.ndarray
    positive: np.ndarray
    has_negatives: bool
    ones: np.ndarray
    by_label: np.ndarray

    @classmethod
    def of(cls, gram: Gram | Rows, y: np.ndarray) -> Points:
        """Points with labels +1 and -1."""
        positive = y > 0.0
        by_label = np.column_stack([positive, ~positive]).astype(float)
        return cls(gram, y, positive, not positive.all(), np.ones(len(y)), by_label)


class Value(NamedTuple):
    """``evaluate`` of a feasible alpha: scaled units throughout.

    ``signed`` is y (d - R2), whose positive part is the slack; ``centre`` are coordinates of the
    centre in ``Gram.features``, where the value was computed from them.
    """

    alpha: np.ndarray
    primal: Number
    dual: Number
    gap: Number
    radius_sq: Number
    signed: np.ndarray
    rate: np.ndarray | None  # c_i p z_i^(p-1), where it was at hand
    centre: np.ndarray | None = None


class Arithmetic:
    """Terms of the primal and the dual in scaled units (see ``_problem`` for the derivation)."""

    p: Number
    cost: np.ndarray
    total_cost: Number  # of the positives
    log_scale: Number  # log s
    inv_scale: Number  # 1/s
    tau: Number  # the common slack at which the multipliers sum to one, over s
    diag: np.ndarray  # k_ii / s
    log_rate: np.ndarray  # log(c_i p) in scaled units: alpha_i = exp(log_rate_i + (p - 1) log z_i)
    is_boxed = False  # p = 1

    def __init__(self, points: Points) -> None:
        self.points = points
        self.gram, self.y, self.positive = points.gram, points.y, points.positive
        self.has_negatives, self.ones, self.by_label = (
            points.has_negatives, points.ones, points.by_label,
        )  # fmt: skip
        self.n = len(points.y)

    # -- sums over the samples ----------------------------------------------------------------

    def dot(self, left: np.ndarray, right: np.ndarray) -> Number:
        """sum_i left_i right_i."""
        raise NotImplementedError

    def total(self, values: np.ndarray) -> Number:
        """sum_i values_i."""
        raise NotImplementedError

    def least(self, stack: np.ndarray) -> Number:
        """Smallest entry of several arrays over the samples."""
        raise NotImplementedError

    def smaller(self, one: Number, other: Number) -> Number:
        """The smaller of two numbers."""
        raise NotImplementedError

    def larger(self, one: Number, other: Number) -> Number:
        """The larger of two numbers."""
        raise NotImplementedError

    def kernel_times(self, beta: np.ndarray) -> np.ndarray:
        """K beta / s."""
        raise NotImplementedError

    def feasible(self, alpha: np.ndarray) -> np.ndarray:
        """A point with alpha >= 0, y'alpha = 1 (and alpha <= c if p = 1) near the given one."""
        raise NotImplementedError

    def best_radius(self, d, guess=None, tol: float = 1e-13) -> tuple[Number, np.ndarray | None]:
        """The best R2 for squared distances d (``_radius``) and, where at hand, the multipliers.

        R2 moves along with d: for d less ||a||^2 it is b = R2 - ||a||^2.
        """
        raise NotImplementedError

    # -- the terms of the derivation ----------------------------------------------------------

    def weighted_mean(self) -> np.ndarray:
        """alpha_i = c_i / sum_pos c_j on the positives: the limit c -> 0."""
        return np.where(self.positive, self.cost / self.total_cost, 0.0)

    def multipliers(self, slack: np.ndarray) -> np.ndarray:
        """alpha_i = c_i p z_i^(p-1), the derivative of the penalty (0 where z_i = 0)."""
        exponent = self.log_rate + (self.p - 1.0) * np.log(np.maximum(slack, TINY))
        rate = np.exp(np.minimum(exponent, LOG_MAX))
        rate[slack <= 0.0] = 0.0
        return rate

    def slack_of(self, alpha: np.ndarray) -> np.ndarray:
        """z_i with alpha_i = c_i p z_i^(p-1), for p > 1."""
        exponent = (np.log(np.maximum(alpha, TINY)) - self.log_rate) / (self.p - 1.0)
        return np.exp(np.minimum(exponent, LOG_MAX))

    def penalty(self, slack: np.ndarray) -> Number:
        """sum_i c_i z_i^p."""
        exponent = self.log_rate + self.p * np.log(np.maximum(slack, TINY))
        return self.total(np.exp(np.minimum(exponent, LOG_MAX))) / self.p

    def dual_penalty(self, alpha: np.ndarray) -> Number:
        """(1 - 1/p) sum_i alpha_i z_i(alpha_i); for p = 1 the box has no penalty."""
        if self.is_boxed:
            return 0.0
        return (1.0 - 1.0 / self.p) * self.dot(alpha, self.slack_of(alpha))

    def dual_value(self, alpha: np.ndarray, k_beta: np.ndarray) -> Number:
        """D(alpha), given K (y * alpha) / s."""
        return self.dot(self.y * alpha, self.diag - k_beta) - self.dual_penalty(alpha)

    def excess(self, alpha: np.ndarray, signed: np.ndarray, penalty: Number) -> Number:
        r"""P - D for alpha with y'alpha = 1 and the centre sum_i alpha_i y_i phi_i, as a sum

            sum_i [ c_i z_i^p + (1 - 1/p) alpha_i z_i(alpha_i) - alpha_i s_i ],   s = y (d - R2),

        of terms that are not negative (Fenchel and Young). P and D themselves may be huge and
        nearly equal; these terms are small where alpha and s belong together.
        """
        return penalty + self.dual_penalty(alpha) - self.dot(alpha, signed)

    def evaluate(self, alpha: np.ndarray, guess=None, tol: float = 1e-13) -> Value:
        """P, D, their relative gap and R2 for a feasible alpha and its own centre.

        ``guess`` and ``tol`` are for the root R2; a rough R2 only loosens P, it is still a bound.
        """
        return self.value_at(alpha, self.kernel_times(self.y * alpha), guess, tol)

    def value_at(self, alpha: np.ndarray, k_beta: np.ndarray, guess=None, tol=1e-13) -> Value:
        """``evaluate`` where K (y * alpha) / s is at hand."""
        beta = self.y * alpha
        d = self.diag - 2.0 * k_beta + self.dot(beta, k_beta)
        radius, rate = self.best_radius(d, guess, tol)
        signed = self.y * (d - radius)
        if rate is None:
            penalty = self.penalty(signed)
        else:  # c z^p = (c p z^(p-1)) z / p
            penalty = self.dot(rate, signed) / self.p
        primal, excess = radius + penalty, self.excess(alpha, signed, penalty)
        return Value(
            alpha, primal, primal - excess, excess / (1.0 + abs(primal)), radius, signed, rate
        )


def scales(spread: float, p: Number, total_cost: Number) -> tuple[Number, Number]:
    """(log s, log tau) for p > 1: s = max(spread, tau), tau = (p sum_pos c_i)^(-1/(p-1))."""
    log_tau = -np.log(p * total_cost) / (p - 1.0)
    return np.maximum(math.log(spread), log_tau), log_tau
