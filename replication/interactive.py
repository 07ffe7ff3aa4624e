r"""The interactive figure of the book: what the page carries, and what its answers are checked by.

The browser solves lp-SVDD itself (``book/_static/svdd.js``). The page carries the points to start
from, the values of the sliders, and certified solutions of the package for some cells, so that the
browser check can compare the two.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from lpsvdd import solve_path
from lpsvdd.kernels import half_mean_distance, kernel_matrix, rbf_gamma

PRESETS = {
    "kernel mean": (2.0, 0.001),
    "classical SVDD": (1.0, 0.1),
    "hard ball": (1.0, 1.0),
    "squared slack": (2.0, 1.0),
    "the paper's corner": (32 / 31, 0.001),
}
"""Cells (p, c) with a name of their own."""


def cloud(seed: int, n: int = 100) -> np.ndarray:
    """The paper's example: n points with mean 2 and standard deviation 3 in each direction."""
    return np.random.default_rng(seed).normal(2.0, 3.0, size=(n, 2))


def start_points(seed: int) -> dict[str, np.ndarray]:
    """Three sets of points to start from, by the name shown."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, 2.0 * np.pi, 80)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) * rng.normal(4.0, 0.35, (80, 1))
    clusters = np.vstack(
        [
            rng.normal([-3.0, -1.0], 0.9, (45, 2)),
            rng.normal([3.0, 1.5], 0.9, (40, 2)),
            rng.uniform(-6.0, 6.0, (7, 2)),
        ]
    )
    return {"one cloud": cloud(seed), "a ring": ring, "two clusters and strays": clusters}


def kernel(X: np.ndarray) -> tuple[np.ndarray, float]:
    """Gaussian kernel matrix with the paper's width, and its gamma."""
    gamma = rbf_gamma(half_mean_distance(X))
    return kernel_matrix(X, gamma=gamma), gamma


def page_data(
    sets: dict[str, np.ndarray],
    *,
    ps: Sequence[float],
    cs: Sequence[float],
    widths: Sequence[float],
    start: Sequence[int],
    checked_ps: Sequence[float],
    checked_cs: Sequence[float],
) -> dict[str, Any]:
    """All that the page carries, ready for JSON; raises where a solution is not certified."""
    rounded = {name: np.round(X, 3) for name, X in sets.items()}
    first = next(iter(rounded.values()))
    solutions = solve_path(kernel(first)[0], ps=checked_ps, cs=checked_cs)
    if not all(found.converged for found in solutions):
        raise ValueError("a cell to check against is not certified")
    return {
        "sets": {name: X.tolist() for name, X in rounded.items()},
        "ps": list(ps),
        "cs": list(cs),
        "widths": list(widths),
        "start": list(start),
        "presets": PRESETS,
        "checks": [
            {
                "p": found.p,
                "c": found.c,
                "radius_sq": found.radius_sq,
                "alpha": [round(a, 7) for a in found.alpha.tolist()],
            }
            for found in solutions
        ],
    }


def figure_html(data: dict[str, Any]) -> str:
    """The figure's element; a script of the book builds the rest when the page opens."""
    text = json.dumps(data, separators=(",", ":"))
    return (
        f'<figure class="boundary"><script type="application/json">{text}</script></figure>'
        "<noscript>The interactive figure needs JavaScript.</noscript>"
    )


def shares(ps: Sequence[float], cs: Sequence[float], n_draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Share of points inside, and whether the distribution's mean is, by draw, exponent, cost."""
    shape = (n_draws, len(ps), len(cs))
    inside, covered = np.zeros(shape), np.zeros(shape)
    for draw in range(n_draws):
        X = cloud(draw)
        K, gamma = kernel(X)
        to_mean = kernel_matrix(np.full((1, 2), 2.0), X, gamma=gamma)[0]
        for index, found in enumerate(solve_path(K, ps=ps, cs=cs)):
            cell = (draw, *np.unravel_index(index, shape[1:]))
            norm_sq = found.alpha @ K @ found.alpha
            inside[cell] = np.mean(1 - 2 * K @ found.alpha + norm_sq <= found.radius_sq + 1e-7)
            covered[cell] = 1 - 2 * to_mean @ found.alpha + norm_sq <= found.radius_sq
    return inside, covered
