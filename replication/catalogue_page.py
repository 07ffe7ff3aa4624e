"""The page on data sets: a table beside the paper's, two views and a card of each set."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA

from lpsvdd.plots import INSIDE, OUTSIDE
from replication.datasets import RECORDS, Dataset, catalogue, load
from replication.figures import NARROW, WIDE, Draw
from replication.paper import SIZES
from replication.preprocessing import preprocessor

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def sizes_table() -> pd.DataFrame:
    """One line a data set: its sizes here, and the three that the paper's Table 1 prints."""
    table = catalogue()
    printed = pd.DataFrame(SIZES, index=["n", "positives", "dim"]).T
    return pd.DataFrame(
        {
            "data set (target)": table["title"],
            "rows": table["n"],
            "targets": table["positives"],
            "features": table["dim"],
            "printed": printed.astype(str).agg(" / ".join, axis=1),
            "missing": table["missing"],
            "source": table["source"].str.replace(r"(,| in | as ).*|\.$", "", regex=True),
        }
    )


def two_views(data: Dataset, max_points: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Leading components and labels, standardised and then also scaled to unit length."""
    keep = np.random.default_rng(0).permutation(len(data.y))[:max_points]
    views = []
    for unit_norm in (False, True):
        Z = preprocessor(unit_norm=unit_norm).fit(data.X, data.y).transform(data.X)
        views.append((PCA(2, svd_solver="full").fit_transform(Z)[keep], data.y[keep]))
    return views


def views_figure(shown: Sequence[str], max_points: int) -> Draw:
    """Both views of each set side by side: targets as dots, other rows as crosses."""
    table = catalogue()

    def draw(narrow: bool) -> Figure:
        import matplotlib.pyplot as plt

        across = 1 if narrow else 2
        down = -(-len(shown) // across)
        size = (NARROW if narrow else WIDE, 1.75 * down + 0.4)
        figure, axes = plt.subplots(
            down, 2 * across, figsize=size, layout="constrained", squeeze=False
        )
        pairs = axes.reshape(-1, 2)
        for pair, name in zip(pairs, shown, strict=False):
            titles = (f"{name} {table.loc[name, 'title']}", "unit length")
            views = two_views(load(name), max_points)
            for ax, (points, y), title in zip(pair, views, titles, strict=True):
                for label, colour, mark in ((-1, OUTSIDE, "x"), (1, INSIDE, "o")):
                    look = {"s": 7, "marker": mark, "color": colour, "linewidths": 0.6}
                    ax.scatter(*points[y == label].T, **look)
                ax.set_title(title, fontsize=9)
                ax.set(xticks=[], yticks=[])
        for ax in pairs[len(shown) :].flat:
            ax.set_axis_off()
        return figure

    return draw


def cards() -> str:
    """All cards as HTML, folded: size, source, licence, what was altered."""
    table = catalogue()
    parts = []
    for record in RECORDS:
        row = table.loc[record.id]
        facts = [
            f"{row['n']} rows, {row['positives']} of them targets (class "
            f"{html.escape(str(row['target']))}), {row['dim']} features"
        ]
        if row["missing"]:
            facts.append(f"{row['missing']} missing cells")
        lines = [
            f"<p>{'; '.join(facts)}.</p>",
            f"<p>Source: {html.escape(row['source'])} Licence: {html.escape(row['licence'])}.</p>",
        ]
        for key in ("altered", "note"):
            if row[key] and row[key] != "nothing":
                lines.append(f"<p>{html.escape(row[key])}</p>")
        head = f"<strong>{record.id} {html.escape(row['title'])}</strong>"
        parts.append(
            f'<details class="set-card"><summary>{head}</summary>{"".join(lines)}</details>'
        )
    return "\n".join(parts)
