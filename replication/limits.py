"""Quantities of the page on limits: distances of centres, counts of points, the critical cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from lpsvdd import Solution

ON_SURFACE = 1e-6
"""A slack that counts as none, for kernels of size one."""
DUST = 1e-3
"""A multiplier that counts as none, relative to the largest: a gap of 1e-9 proves no more."""


def centre_distance(K: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
    """||sum_i (one_i - other_i) phi(x_i)||."""
    difference = one - other
    return float(np.sqrt(max(difference @ K @ difference, 0.0)))


def outside_and_support(K: np.ndarray, path: Sequence[Solution]) -> tuple[np.ndarray, np.ndarray]:
    """Points outside the ball and support vectors of each solution of a one-class path."""
    outside = [int((found.slack > ON_SURFACE).sum()) for found in path]
    support = [int((found.alpha > DUST * found.alpha.max()).sum()) for found in path]
    return np.array(outside), np.array(support)


def critical_cost(K: np.ndarray, p: float) -> float:
    """c* = 1 / (p sum_i d_i(a*)^(p-1)), a* = argmin sum_i d_i^p: R2 < 0 exactly for c < c*.

    a* by a general minimiser, so that the solver of this package can be checked against it.
    """

    def distances(beta: np.ndarray) -> np.ndarray:
        return K.diagonal() - 2.0 * K @ beta + beta @ K @ beta

    def objective(beta: np.ndarray) -> tuple[float, np.ndarray]:
        d = distances(beta)
        weights = p * d ** (p - 1.0)
        return float((d**p).sum()), 2.0 * (weights.sum() * (K @ beta) - K @ weights)

    start = np.full(len(K), 1.0 / len(K))
    options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-12}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return float(1.0 / (p * (distances(found.x) ** (p - 1.0)).sum()))
