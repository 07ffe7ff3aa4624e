"""What Section 5.1 reads from the figure of decision boundaries.

100 points, mean 2 and standard deviation 3 in each direction, Gaussian kernel; the paper states
neither the cost nor the width of the figure, so five costs of our own are tried at its width rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from scipy.stats import binomtest

from lpsvdd.kernels import half_mean_distance, kernel_matrix, rbf_gamma
from lpsvdd.solver import solve_path
from replication.findings import Numbers

FIGURE_EXPONENTS = (1.0, 16 / 15, 8 / 7, 4 / 3, 2.0, 15 / 7, 7 / 3, 5 / 2, 3.0)
FIGURE_COSTS = (0.02, 0.05, 0.1, 0.5, 1.0)
DRAWS = 40
SIGN_TEST_LEVEL = 0.05


def cloud(seed: int, n: int = 100) -> np.ndarray:
    """The paper's example: n points with mean 2 and standard deviation 3 in each direction."""
    return np.random.default_rng(seed).normal(2.0, 3.0, size=(n, 2))


@cache
def figure_shares(
    ps: Sequence[float] = FIGURE_EXPONENTS, cs: Sequence[float] = FIGURE_COSTS, draws: int = DRAWS
) -> tuple[np.ndarray, np.ndarray]:
    """Share of points inside, and whether the distribution's mean is, by draw, exponent, cost."""
    shape = (draws, len(ps), len(cs))
    inside, covered = np.zeros(shape), np.zeros(shape)
    for draw in range(draws):
        X = cloud(draw)
        gamma = rbf_gamma(half_mean_distance(X))
        K = kernel_matrix(X, gamma=gamma)
        to_mean = kernel_matrix(np.full((1, 2), 2.0), X, gamma=gamma)[0]
        for index, found in enumerate(solve_path(K, ps=ps, cs=cs)):
            cell = (draw, *np.unravel_index(index, shape[1:]))
            norm_sq = found.alpha @ K @ found.alpha
            inside[cell] = np.mean(1 - 2 * K @ found.alpha + norm_sq <= found.radius_sq + 1e-7)
            covered[cell] = 1 - 2 * to_mean @ found.alpha + norm_sq <= found.radius_sq
    return inside, covered


def figure_claims() -> Numbers:
    """Count what Section 5.1 reads from the figure, over costs of ours.

    ``hole_least`` and ``hole_most``: draws whose mean lies outside at p = 1, by cost. ``better``
    and ``worse``: of ``cells`` pairs (p > 1, cost), those in which an exact sign test over the
    draws says that the mean is covered more or less often than at p = 1. ``rises``: steps up in p
    after which more points are inside, of ``steps``.
    """
    inside, covered = figure_shares()
    outside = DRAWS - covered[:, 0, :].sum(axis=0)
    gains = (covered[:, 1:] - covered[:, :1]).reshape(len(covered), -1)
    better = worse = 0
    for cell in gains.T:
        up, down = int((cell > 0).sum()), int((cell < 0).sum())
        if up + down and binomtest(up, up + down).pvalue < SIGN_TEST_LEVEL:
            better, worse = better + (up > down), worse + (up < down)
    share = inside.mean(axis=0)
    steps, at = np.diff(share, axis=0), FIGURE_COSTS.index(0.1)
    return {
        "hole_least": int(outside.min()), "hole_most": int(outside.max()), "draws": DRAWS,
        "better": better, "worse": worse, "cells": gains.shape[1],
        "rises": int((steps > 0).sum()), "steps": steps.size,
        "at_1": 100 * share[0, at], "at_3": 100 * share[-1, at],
    }  # fmt: skip
