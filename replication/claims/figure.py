"""Checks of what Section 5.1 reads from the figure of decision boundaries.

100 points, mean 2 and standard deviation 3 in each direction, Gaussian kernel; the paper states
neither the cost nor the width of the figure, so every cost of its grid is tried at its width rule.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.stats import binomtest

from lpsvdd.kernels import half_mean_distance, kernel_matrix, rbf_gamma, squared_distances
from lpsvdd.solver import solve_path
from replication.claims.ledger import Outcome, check

FIGURE_EXPONENTS = (1.0, 16 / 15, 8 / 7, 4 / 3, 2.0, 15 / 7, 7 / 3, 5 / 2, 3.0)
FIGURE_COSTS = (0.02, 0.05, 0.1, 0.5, 1.0)
DRAWS = 40
LEVEL = 0.05


def figure_data(seed: int) -> np.ndarray:
    """100 points of the plane, mean 2 and standard deviation 3 in each direction."""
    return np.random.default_rng(seed).normal(2.0, 3.0, size=(100, 2))


@cache
def figure_statistics() -> tuple[np.ndarray, np.ndarray]:
    """Shares over draws, exponents and costs: is the mean inside, how many points are inside.

    Two arrays of shape (draws, exponents, costs).
    """
    covered = np.zeros((DRAWS, len(FIGURE_EXPONENTS), len(FIGURE_COSTS)))
    inside = np.zeros_like(covered)
    for seed in range(DRAWS):
        X = figure_data(seed)
        kernel = {
            "kernel": "rbf",
            "gamma": rbf_gamma(half_mean_distance(X)),
            "degree": 3,
            "coef0": 1.0,
        }
        K = kernel_matrix(X, **kernel)
        rows = np.vstack([K, kernel_matrix(np.full((1, 2), 2.0), X, **kernel)])  # the mean last
        for index, found in enumerate(solve_path(K, ps=FIGURE_EXPONENTS, cs=FIGURE_COSTS)):
            cell = (seed, *np.unravel_index(index, (len(FIGURE_EXPONENTS), len(FIGURE_COSTS))))
            norm_sq = found.alpha @ K @ found.alpha
            d = squared_distances(rows, found.alpha, np.ones(len(rows)), norm_sq)
            covered[cell] = d[-1] <= found.radius_sq
            inside[cell] = np.mean(d[:-1] <= found.radius_sq + 1e-7)
    return covered, inside


@check
def hole_at_p_1() -> Outcome:
    """At p = 1 the mean of the distribution lies outside the description."""
    covered, _ = figure_statistics()
    outside = 1 - covered[:, 0, :].mean(axis=0)
    verdict = (
        "holds"
        if outside.min() == 1
        else "not reproduced"
        if outside.max() == 0
        else "holds partly"
    )
    facts = {
        "least": round(DRAWS * outside.min()),
        "most": round(DRAWS * outside.max()),
        "draws": DRAWS,
    }
    return Outcome(verdict, facts)


@check
def mean_covered_above_1() -> Outcome:
    """Above p = 1 the description covers the mean more often than at p = 1, draw by draw.

    A cell (exponent, cost) is better or worse where an exact sign test over the draws in which the
    two differ rejects at 5 %. Holds when most cells are better and none is worse, partly when some
    are better and fewer are worse.
    """
    covered, _ = figure_statistics()
    gains = (covered[:, 1:] - covered[:, :1]).reshape(len(covered), -1)
    better = worse = 0
    for cell in gains.T:
        up, down = int((cell > 0).sum()), int((cell < 0).sum())
        if up + down and binomtest(up, up + down).pvalue < LEVEL:
            better, worse = better + (up > down), worse + (up < down)
    facts = {"better": better, "worse": worse, "cells": gains.shape[1], "draws": len(covered)}
    if 2 * better > gains.shape[1] and not worse:
        return Outcome("holds", facts)
    return Outcome("holds partly" if better > worse else "not reproduced", facts)


@check
def share_inside_grows() -> Outcome:
    """A larger p puts a larger share of the points inside, the cost being the same."""
    _, inside = figure_statistics()
    share = inside.mean(axis=0)
    steps = np.diff(share, axis=0)
    verdict = (
        "holds"
        if (steps >= 0).all()
        else "not reproduced"
        if (steps <= 0).all()
        else "holds partly"
    )
    at = FIGURE_COSTS.index(0.1)
    return Outcome(verdict, {"at_1": 100 * share[0, at], "at_3": 100 * share[-1, at]})
