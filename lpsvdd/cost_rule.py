r"""The cost C="scale": a hardness that does not depend on units, sample size or exponent.

.. math::

    C = \frac{1}{\nu\, n\, p\, (f s)^{p-1}},

n the number of targets (the sum of their weights), s their mean squared distance to the kernel
mean, f = SLACK_SHARE. At p = 1 it is the classical 1/(nu n). For p > 1 it says at which slack
the multipliers of a share nu of the targets sum to one: nu n C p (f s)^(p-1) = 1. So a slack of a
tenth of the mean squared distance is costly whatever p is, and no search is needed.
"""

from __future__ import annotations

import math

import numpy as np

from lpsvdd._validation import is_number

SLACK_SHARE = 0.1  # f, chosen on the design tables (book, "The cost of a slack")
EXACT_SPREAD = 2_000  # rows up to which s is computed from all pairs, then from so many of them
LOG_MOST = 690.0  # of a cost: a sum of many stays finite


def check_share(nu: object) -> float:
    """Return nu as a float in (0, 1]; raise a clear error otherwise."""
    if not is_number(nu) or not 0.0 < nu <= 1.0:
        raise ValueError(f"nu must be a number in (0, 1], got {nu!r}")
    return float(nu)


def cost_by_scale(nu: float, total: float, p: float, spread: float) -> float:
    """Return C = 1/(nu total p (f spread)^(p-1)), ``total`` the sum of the targets' weights.

    Examples
    --------
    >>> [round(cost_by_scale(0.1, 100.0, p, 0.5), 6) for p in (1.0, 2.0)]
    [0.1, 1.0]
    """
    spread = spread if spread > 0.0 else 1.0  # all targets coincide: any unit of length will do
    log_cost = -math.log(nu * total * p) - (p - 1.0) * math.log(SLACK_SHARE * spread)
    if abs(log_cost) > LOG_MOST:
        raise ValueError(
            f"C='scale' is beyond floats: squared distances near {spread:.3g} to the power "
            f"p - 1 = {p - 1.0:g}; rescale the samples, choose a smaller p or give C a number"
        )
    return math.exp(log_cost)


def spread_of(kernel_values: np.ndarray, weight: np.ndarray) -> float:
    """Return the weighted mean squared distance to the kernel mean, from the rows' kernel values.

    Examples
    --------
    >>> x = np.array([-1.0, 1.0])
    >>> spread_of(np.outer(x, x), np.ones(2))
    1.0
    """
    share = weight / weight.sum()
    return float(share @ kernel_values.diagonal() - share @ kernel_values @ share)


def typical_rows(X: np.ndarray, weight: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return at most ``most`` rows that stand for all, and their weights.

    Rows are put in order along a fixed direction and taken at equal steps of their weight: neither
    the order of the rows, nor copies instead of weights, nor a scaling of X changes which.
    """
    if len(X) <= most:
        return np.arange(len(X)), weight
    along = along_a_direction(X)
    order = np.argsort(along, kind="stable")
    reached = np.cumsum(weight[order])
    steps = (np.arange(most) + 0.5) / most * reached[-1]
    rows, counts = np.unique(order[np.searchsorted(reached, steps)], return_counts=True)
    return rows, counts.astype(float)


def along_a_direction(X: np.ndarray) -> np.ndarray:
    """Return the rows' coordinates along a fixed direction, the same for equal rows."""
    direction = np.random.default_rng(X.shape[1]).normal(size=X.shape[1])
    return np.einsum("ij,j->i", X, direction)  # unlike BLAS, row by row
