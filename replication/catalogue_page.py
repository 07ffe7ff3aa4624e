"""The page on data sets: a table beside the paper's, and a card with two views of each set."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from io import BytesIO

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA

from lpsvdd.datasets import RECORDS, Dataset, catalogue, load
from lpsvdd.plots import INSIDE, OUTSIDE
from lpsvdd.preprocessing import preprocessor
from replication.paper import SIZES


def comparison() -> pd.DataFrame:
    """One line a data set: its sizes here, and whether the paper's Table 1 has the same."""
    table = catalogue()
    printed = pd.DataFrame(SIZES, index=["n", "positives", "dim"]).T
    same = (table[printed.columns] == printed).all(axis=1)
    text = printed.astype(str).agg(" / ".join, axis=1)
    return pd.DataFrame(
        {
            "data set (target)": table["title"],
            "rows": table["n"],
            "targets": table["positives"],
            "features": table["dim"],
            "missing": table["missing"],
            "printed": np.where(same, "the same", text),
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


def card_image(data: Dataset, max_points: int) -> str:
    """Both views as an image element: two panels that wrap on a narrow screen."""
    import matplotlib.pyplot as plt

    images = []
    titles = ("standardised", "and of unit length")
    for (points, y), title in zip(two_views(data, max_points), titles, strict=True):
        figure, ax = plt.subplots(figsize=(3.2, 2.6), layout="constrained")
        for label, colour, mark, name in ((-1, OUTSIDE, "x", "other"), (1, INSIDE, "o", "target")):
            chosen = points[y == label]
            ax.scatter(*chosen.T, s=10, marker=mark, c=colour, linewidths=0.8, label=name)
        ax.set(title=title, xticks=[], yticks=[])
        if not images:
            ax.legend(loc="best")
        buffer = BytesIO()
        figure.savefig(buffer, format="png", dpi=110, transparent=True)
        plt.close(figure)
        source = base64.b64encode(buffer.getvalue()).decode()
        text = f"{data.name}, {title}: leading principal components of targets and other rows."
        images.append(
            f'<img alt="{html.escape(text)}" src="data:image/png;base64,{source}" width="320">'
        )
    return f'<div class="views">{"".join(images)}</div>'


def cards(shown: Sequence[str], max_points: int) -> str:
    """All cards as HTML, folded; those in ``shown`` with their two views."""
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
        image = "<p>Not shown: the set may not be redistributed.</p>"
        if record.id in shown:
            image = card_image(load(record.id), max_points)
        head = f"<strong>{record.id} {html.escape(row['title'])}</strong>"
        parts.append(
            f'<details class="set-card"><summary>{head}</summary>{image}{"".join(lines)}</details>'
        )
    return "\n".join(parts)
