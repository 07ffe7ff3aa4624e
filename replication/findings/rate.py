"""The surface that ``nu`` sets: what share of new targets does it reject?

Table: ``kept_rate``; the rule is in ``studies/plans/kept_rate.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from lpsvdd.plots import PALETTE
from replication.figures import Draw, panels
from replication.findings import Finding, finding
from replication.statistics import cluster_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEAR = 1.25
"""A mean within this factor of the wanted rate is the wanted rate."""
LOOKS = {"ball": PALETTE["vermillion"], "leave-one-out": PALETTE["blue"]}


def word(values: pd.Series, wanted: float) -> str:
    """By the rule of the plan: keeps its rate, is cautious, is too strict, or undecided."""
    found = cluster_interval(values)
    if found.low <= wanted <= found.high:
        return "keeps its rate" if 1 / NEAR < found.mean / wanted < NEAR else "is not decided"
    return "is cautious" if found.high < wanted else "is too strict"


@finding("kept_rate")
def kept_rate(rows: pd.DataFrame) -> Finding:
    """Per cent of new targets rejected, by wanted rate and surface; means over sets."""
    table = rows.groupby(["surface", "nu", "dataset"])["rejected"].mean()
    facts: dict = {
        "sets": rows["dataset"].nunique(),
        "splits": int(rows.groupby("dataset")["trial"].nunique().min()),
    }
    for nu in sorted(rows["nu"].unique()):
        values, wanted = table["leave-one-out", nu], 100 * nu
        found, name = cluster_interval(values), f"{wanted:.0f}"
        facts |= {
            f"at_{name}": f"{found.mean:.1f} ({found.low:.1f} to {found.high:.1f})",
            f"word_{name}": word(values, wanted),
            f"least_{name}": values.min(),
            f"most_{name}": values.max(),
            f"ball_{name}": table["ball", nu].mean(),
        }
    return Finding("", facts, draw=draw_rates(table))


def draw_rates(table: pd.Series) -> Draw:
    """Rejected against wanted, a thin line a data set and the mean over all; both surfaces."""

    def draw(narrow: bool) -> Figure:
        figure, (ax,) = panels(1, narrow=narrow, height=3.0)
        wanted = 100 * table.index.unique("nu").sort_values()
        for surface, colour in LOOKS.items():
            lines = table[surface].unstack("nu").sort_index(axis=1)
            ax.loglog(wanted, lines.T.to_numpy(), color=colour, lw=0.7, alpha=0.4)
            ax.loglog(wanted, lines.mean(), "o-", color=colour, label=surface)
        ax.loglog(wanted, wanted, "--", color="#777777", label="as wanted")
        ax.set(xlabel="wanted, %", ylabel="new targets rejected, %", ylim=(2, 110))
        ax.set_xticks(wanted, [f"{rate:g}" for rate in wanted])
        ax.set_xticks([], minor=True)
        ax.set_yticks([2, 5, 10, 20, 50, 100], ["2", "5", "10", "20", "50", "100"])
        figure.legend(loc="outside upper left", ncols=3, columnspacing=1.0, handlelength=1.4)
        return figure

    return draw
