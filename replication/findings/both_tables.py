"""The paper's two tables as pictures: every mean with its distance from print, and who leads.

Tables: ``pure``, ``negatives``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from replication.evidence import as_table, compare
from replication.figures import Draw, interval_figure, panels
from replication.findings import Finding, finding
from replication.findings.rerun import Rerun
from replication.layout import in_order, set_label
from replication.tables import method_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {"pure": "targets only", "negatives": "with labelled outliers"}
FAR = 30.0
"""AUC points from print at which the colour ends."""


def reruns(pure: pd.DataFrame, negatives: pd.DataFrame) -> dict[str, Rerun]:
    """Both tables by title."""
    rows = {"pure": pure, "negatives": negatives}
    return {title: Rerun(rows[setting], setting) for setting, title in TITLES.items()}


@finding("pure", "negatives")
def both_tables(pure: pd.DataFrame, negatives: pd.DataFrame) -> Finding:
    """Every mean AUC of the rerun; its colour says how far it is from print."""
    tables = reruns(pure, negatives)
    off = [(t.here - t.printed).abs().stack() for t in tables.values()]
    facts = {
        "values": sum(map(len, off)),
        "far": sum(int((values > FAR).sum()) for values in off),
        "near": sum(int((values <= 5.0).sum()) for values in off),
    }
    return Finding("", facts, None, draw_tables(tables))


def draw_tables(tables: dict[str, Rerun]) -> Draw:
    """Data sets × methods; number: AUC here; colour: here minus printed."""

    def draw(narrow: bool) -> Figure:
        widths = [len(table.methods) for table in tables.values()]
        options = {} if narrow else {"gridspec_kw": {"width_ratios": widths}}
        figure, axes = panels(2, narrow=narrow, height=5.4, **options)
        for ax, (title, table) in zip(axes, tables.items(), strict=True):
            names = in_order(table.here.index)
            here, printed = (t.loc[names, table.methods] for t in (table.here, table.printed))
            off = (here - printed).to_numpy()
            shown = ax.imshow(off, cmap="RdBu_r", vmin=-FAR, vmax=FAR, aspect="auto")
            for row, values in enumerate(here.to_numpy()):
                for column, value in enumerate(values):
                    dark = abs(off[row, column]) > 0.7 * FAR
                    look = {"ha": "center", "va": "center", "fontsize": 7}
                    colour = "white" if dark else "black"
                    ax.text(column, row, f"{value:.0f}", color=colour, **look)
            labels = [method_label(name).replace("-SVDD", "") for name in table.methods]
            ax.set_xticks(range(len(labels)), labels, rotation=60, ha="right", fontsize=8)
            ax.set_yticks(range(len(names)), [set_label(name) for name in names], fontsize=8)
            if ax is axes[1] and not narrow:
                ax.tick_params(labelleft=False)
            ax.set_title(title)
            ax.grid(False)
            ax.spines[:].set_visible(False)
        figure.colorbar(
            shown, ax=axes, location="bottom", aspect=50, shrink=0.6,
            label="AUC here minus printed, points (cut at the ends)",
        )  # fmt: skip
        return figure

    return draw


def against(table: Rerun) -> pd.DataFrame:
    """lp minus every other method: mean, interval and the printed difference."""
    found = as_table(compare(table.rows, table.against))
    found["printed"] = [
        (table.printed[a] - table.printed[b]).mean() for a, b in table.against.values()
    ]
    return found


@finding("pure", "negatives")
def against_others(pure: pd.DataFrame, negatives: pd.DataFrame) -> Finding:
    """lp minus every other method in both tables, beside the printed differences."""
    tables = {title: against(table) for title, table in reruns(pure, negatives).items()}
    facts = {
        "above": sum(int((table["low"] > 0).sum()) for table in tables.values()),
        "below": sum(int((table["high"] < 0).sum()) for table in tables.values()),
        "total": sum(map(len, tables.values())),
        "printed": sum(int((table["printed"] > 0).sum()) for table in tables.values()),
    }
    draw = interval_figure(tables, "ℓp minus the method, AUC points", margin=True)
    return Finding("", facts, None, draw)
