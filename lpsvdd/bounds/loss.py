r"""The margin loss A and its Lipschitz constants.

    A(t) = 0 for t <= 0,   (t / v)^p for 0 <= t <= v,   1 for t >= v

applied to t = y (f(x) - R^2), the amount by which a point lies on the wrong side of the sphere.
Since 1[t > v] <= A(t) <= (t_+ / v)^p, the mean of A is at least the probability of lying on the
wrong side by more than v, and its sample mean is at most ||zeta||_p^p / (n v^p).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from . import _checks as check


def margin_loss(t: ArrayLike, *, p: float, margin: float) -> np.ndarray:
    """A(t) = min(max(t / margin, 0), 1)^p, elementwise."""
    ratio = np.asarray(t, dtype=float) / check.positive(margin, "margin")
    return np.clip(ratio, 0.0, 1.0) ** check.exponent(p)


def lipschitz(*, p: float, margin: float) -> float:
    """Smallest Lipschitz constant of A on the real line: p / margin.

    The derivative (p/v)(t/v)^(p-1) on (0, v) increases to p/v; outside [0, v] A is constant.
    """
    return check.exponent(p) / check.positive(margin, "margin")


def lipschitz_printed(
    *, p: float, margin: float, B: float, B_kappa: float, radius_sq: float, log: bool = False
) -> float:
    """The paper's constant (p / v^p) (B^2 + 3 B_kappa^2 + R^2)^(p-1); with log=True its logarithm.

    It bounds the slope of the unclipped power (t/v)^p at t = |f| + R^2 and exceeds `lipschitz` by
    the factor ((B^2 + 3 B_kappa^2 + R^2) / v)^(p-1). The paper's R^2 is a square; a solver that
    leaves R^2 free may return a negative number, for which its triangle inequality
    |f - R^2| <= |f| + |R^2| gives the absolute value used here.
    """
    p = check.exponent(p)
    reach = check.positive(B, "B") ** 2 + 3 * check.positive(B_kappa, "B_kappa") ** 2
    value = math.log(p) - p * math.log(check.positive(margin, "margin"))
    value += (p - 1) * math.log(reach + abs(radius_sq))
    return value if log else safe_exp(value)


def safe_exp(value: float) -> float:
    """exp, with inf instead of an overflow error."""
    return math.exp(value) if value < 709.0 else math.inf
