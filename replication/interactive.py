r"""The explorable of the book: an interactive figure in six steps, and a reader's own table.

The browser solves lp-SVDD itself: scripts, text and look are in ``book/explorable``, and
:func:`figure_html` puts them into one element that needs no other file. The page carries the points
to start from and the values of the controls. ``tests/browser/explorable.py`` compares what the
browser finds with the package.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from replication.datasets import load
from replication.findings.boundaries import FIGURE_EXPONENTS, cloud
from replication.paper import COSTS, EXPONENTS

SOURCE = Path(__file__).resolve().parents[1] / "book" / "explorable"
SCRIPTS = ("svdd", "models", "plane", "panels", "csv", "table", "explorable")
"""In this order: each uses those before it."""
EXPONENT_VALUES = tuple(sorted({1.0, 3.0, *EXPONENTS}))
COST_VALUES = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 20.0, 100.0)
WIDTH_VALUES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Values of the sliders; widths are multiples of the paper's."""
SHARE_VALUES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


CLUSTERS = np.array([[-3.0, -1.0], [3.0, 1.5]])
BOX, NEAR = 6.0, 2.0
"""Strays and outliers lie anywhere in a square; outliers no nearer than this to a cluster."""


def start_points(seed: int) -> dict[str, np.ndarray]:
    """Three sets of points to start from, by the name shown."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, 2.0 * np.pi, 80)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) * rng.normal(4.0, 0.35, (80, 1))
    strays = rng.uniform(-BOX, BOX, (7, 2))
    clusters = np.vstack([_clusters(rng, 40), strays])
    return {"one cloud": cloud(seed), "a ring": ring, "two clusters and strays": clusters}


def grid_example(seed: int) -> dict[str, Any]:
    """Training points with strays, and new targets and outliers that judge a ball.

    With fewer than 100 points l1 cannot use the costs 0.001 and 0.01 of the paper's grid.
    """
    rng = np.random.default_rng(seed)
    train = np.vstack([_clusters(rng, 20), rng.uniform(-BOX, BOX, (18, 2))])
    targets = rng.permutation(_clusters(rng, 30))
    anywhere = rng.uniform(-BOX, BOX, (400, 2))
    distance = np.linalg.norm(anywhere[:, None] - CLUSTERS, axis=2).min(axis=1)
    judges = {"targets": _listed(targets), "outliers": _listed(anywhere[distance > NEAR][:60])}
    return {"points": _listed(train), "judges": judges, "ps": EXPONENTS, "cs": COSTS}


def labelled_example(seed: int) -> dict[str, Any]:
    """Sixty targets of the cloud and labelled outliers among and around them."""
    targets = cloud(seed)[:60]
    outliers = np.random.default_rng(seed).uniform(targets.min(axis=0), targets.max(axis=0), (8, 2))
    labels = [1] * len(targets) + [-1] * len(outliers)
    return {"points": _listed(np.vstack([targets, outliers])), "labels": labels}


def _clusters(rng: np.random.Generator, n_each: int) -> np.ndarray:
    return rng.normal(np.repeat(CLUSTERS, n_each, axis=0), 0.9)


def example_table() -> str:
    """The targets of a packaged data set as CSV text."""
    data = load("D12")
    X = data.X[data.y == 1]
    return (
        "\n".join(
            [",".join(data.feature_names), *(",".join(f"{value:g}" for value in row) for row in X)]
        )
        + "\n"
    )


def page_data(seed: int) -> dict[str, Any]:
    """All that the page carries, ready for JSON."""
    return {
        "sets": {name: _listed(X) for name, X in start_points(seed).items()},
        "ps": EXPONENT_VALUES,
        "cs": COST_VALUES,
        "widths": WIDTH_VALUES,
        "shares": SHARE_VALUES,
        "nine": FIGURE_EXPONENTS,
        "outliers": labelled_example(seed),
        "grid": grid_example(seed),
        "example": {"text": example_table()},
    }


def figure_html(data: dict[str, Any]) -> str:
    """The figure with its data, text, look and scripts: it works from a file, without a network."""
    text = json.dumps(data, separators=(",", ":")).replace("</", "<\\/")
    scripts = "\n".join(_source(f"{name}.js") for name in SCRIPTS)
    return (
        f"<style>{_source('explorable.css')}</style>"
        f'<figure class="explorable"><script type="application/json">{text}</script>'
        '<div class="tabs" role="tablist" aria-label="Steps"></div><div class="stage">'
        '<div class="view"><div class="pinned"></div><div class="controls"></div>'
        '<div class="tools"></div></div>'
        f'<div class="text">{_source("steps.html")}</div></div></figure>'
        "<noscript><style>.explorable { display: none; }</style><p>The interactive figure needs "
        "JavaScript. The picture of nine boundaries below needs none.</p></noscript>"
        f"<script>{scripts}</script>"
    )


def _listed(X: np.ndarray) -> list[list[float]]:
    return np.round(X, 3).tolist()


def _source(name: str) -> str:
    return (SOURCE / name).read_text(encoding="utf-8")
