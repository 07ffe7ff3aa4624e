r"""The explorable of the book: an interactive figure in six steps, and a reader's own table.

The browser solves lp-SVDD itself: scripts, text and look are in ``book/explorable``, and
:func:`figure_html` puts them into one element that needs no other file. The page carries the points
to start from and the values of the controls. ``tests/browser/explorable.py`` compares what the
browser finds with the package.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from replication.about import ROOT
from replication.datasets import load
from replication.findings.boundaries import FIGURE_EXPONENTS, cloud
from replication.paper import COSTS, EXPONENTS

SCRIPTS = ("svdd", "models", "plane", "panels", "csv", "table", "explorable")
"""In this order: each uses those before it."""
SLIDERS = {
    "ps": sorted({1.0, 3.0, *EXPONENTS}),
    "cs": [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 20.0, 100.0],
    "widths": [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0],  # multiples of the paper's
    "shares": [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
}
CLUSTERS = np.array([[-3.0, -1.0], [3.0, 1.5]])
BOX, NEAR = 6.0, 2.0
"""Strays and outliers lie anywhere in a square; outliers no nearer than this to a cluster."""


def two_clusters(rng: np.random.Generator, n_each: int) -> np.ndarray:
    """Draw points around both centres."""
    return rng.normal(np.repeat(CLUSTERS, n_each, axis=0), 0.9)


def start_points(seed: int) -> dict[str, np.ndarray]:
    """Draw three sets of points to start from, by the name shown."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, 2.0 * np.pi, 80)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) * rng.normal(4.0, 0.35, (80, 1))
    strays = rng.uniform(-BOX, BOX, (7, 2))
    clusters = np.vstack([two_clusters(rng, 40), strays])
    return {"one cloud": cloud(seed), "a ring": ring, "two clusters and strays": clusters}


def grid_example(seed: int) -> dict[str, Any]:
    """Draw training points with strays, and new targets and outliers that judge a ball.

    With fewer than 100 points l1 cannot use the costs 0.001 and 0.01 of the paper's grid.
    """
    rng = np.random.default_rng(seed)
    train = np.vstack([two_clusters(rng, 20), rng.uniform(-BOX, BOX, (18, 2))])
    targets = rng.permutation(two_clusters(rng, 30))
    anywhere = rng.uniform(-BOX, BOX, (400, 2))
    distance = np.linalg.norm(anywhere[:, None] - CLUSTERS, axis=2).min(axis=1)
    judges = {"targets": targets, "outliers": anywhere[distance > NEAR][:60]}
    return {"points": train, "judges": judges, "ps": EXPONENTS, "cs": COSTS}


def page_data(seed: int) -> dict[str, Any]:
    """Collect all that the page carries: points, values of the controls, an example table."""
    targets = cloud(seed)[:60]
    outliers = np.random.default_rng(seed).uniform(targets.min(axis=0), targets.max(axis=0), (8, 2))
    example = load("D12")
    table = pd.DataFrame(example.X[example.y == 1], columns=example.feature_names)
    return SLIDERS | {
        "sets": start_points(seed),
        "nine": FIGURE_EXPONENTS,
        "outliers": {"points": np.vstack([targets, outliers]), "labels": [1] * 60 + [-1] * 8},
        "grid": grid_example(seed),
        "example": {"text": table.to_csv(index=False, float_format="%g")},
    }


def figure_html(data: dict[str, Any]) -> str:
    """Return the figure with data, text, look and scripts: it works from a file, offline."""

    def source(name: str) -> str:
        return (ROOT / "book/explorable" / name).read_text(encoding="utf-8")

    text = json.dumps(data, separators=(",", ":"), default=lambda X: np.round(X, 3).tolist())
    scripts = "\n".join(source(f"{name}.js") for name in SCRIPTS)
    return (
        f"<style>{source('explorable.css')}</style><figure class='explorable'>"
        f"<script type='application/json'>{text}</script>"
        '<div class="tabs" role="tablist" aria-label="Steps"></div><div class="stage">'
        '<div class="view"><div class="pinned"></div><div class="controls"></div>'
        '<div class="tools"></div></div>'
        f'<div class="text">{source("steps.html")}</div></div></figure>'
        "<noscript><style>.explorable { display: none; }</style><p>The interactive figure needs "
        "JavaScript. The picture of nine boundaries below needs none.</p></noscript>"
        f"<script>{scripts}</script>"
    )
