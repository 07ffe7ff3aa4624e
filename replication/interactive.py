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
from replication.findings.boundaries import cloud
from replication.paper import EXPONENTS

PRESETS = {
    "kernel mean": (2.0, 0.001),
    "classical SVDD": (1.0, 0.1),
    "hard ball": (1.0, 1.0),
    "squared slack": (2.0, 1.0),
    "the paper's corner": (32 / 31, 0.001),
}
"""Cells (p, c) with a name of their own."""
SLIDER_EXPONENTS = tuple(sorted({1.0, 3.0, *EXPONENTS}))
SLIDER_COSTS = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 20.0, 100.0)
SLIDER_WIDTHS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
"""Values of the sliders; widths are multiples of the paper's."""
START = (0, SLIDER_COSTS.index(0.1), SLIDER_WIDTHS.index(1.0))


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
    checked_ps: Sequence[float] = SLIDER_EXPONENTS[::2],
    checked_cs: Sequence[float] = SLIDER_COSTS[1::3],
) -> dict[str, Any]:
    """All that the page carries, ready for JSON; raises where a solution is not certified."""
    rounded = {name: np.round(X, 3) for name, X in sets.items()}
    first = next(iter(rounded.values()))
    solutions = solve_path(kernel(first)[0], ps=checked_ps, cs=checked_cs)
    if not all(found.converged for found in solutions):
        raise ValueError("a cell to check against is not certified")
    return {
        "sets": {name: X.tolist() for name, X in rounded.items()},
        "ps": list(SLIDER_EXPONENTS),
        "cs": list(SLIDER_COSTS),
        "widths": list(SLIDER_WIDTHS),
        "start": list(START),
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
