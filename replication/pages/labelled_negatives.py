"""Chapter "Where does the gain come from?": what labelled negatives do (H3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from replication.figures import panels
from replication.pages import Facts, contrasts, in_order
from replication.pages.layout import colour_of, intervals, set_label
from replication.printed import printed_matrix
from replication.statistics import mean_interval, mean_matrix, paired_interval, worded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WITHOUT = "lp without negatives"
PRINTED = "printed ℓp⁻"
PANELS = {
    "lp with negatives": "ℓp with outliers",
    "sum alpha = 1": "variant with Σα = 1",
    "kernel mean difference": "difference of kernel means",
    "two-class SVM": "two-class SVM",
}


def weight_table(weight: pd.DataFrame) -> pd.DataFrame:
    """Percentage of cells in which negatives carry weight, per data set."""
    share = 100 * weight["with_weight"] / weight["cells"]
    below = 100 * weight["radius_below_nearest_negative"] / weight["cells"]
    means = weight.assign(share=share, below=below).pivot_table(
        index="dataset", columns="grid", values=["share", "below"]
    )
    largest = weight[weight["grid"] == "paper"].groupby("dataset")["largest_weight"].max()
    columns = {
        "weight, paper's grid": means["share", "paper"],
        "R² below nearest negative": means["below", "paper"],
        "weight, wide costs": means["share", "wide"],
        "largest weight": largest,
    }
    return pd.DataFrame(columns).loc[in_order(means.index)]


def draw_weight(weight: pd.DataFrame, narrow: bool) -> Figure:
    """First and third column of the table: paper's grid (filled) and costs up to 1000 (open)."""
    table = weight_table(weight).sort_values("weight, paper's grid", ascending=False)
    figure, (ax,) = panels(1, narrow=narrow, height=0.2 * len(table) + 1.0)
    place = np.arange(len(table))[::-1]
    paper, wide = table["weight, paper's grid"], table["weight, wide costs"]
    ax.hlines(place, paper, wide, color="#bbbbbb", lw=1.2)
    ax.scatter(wide, place, s=26, facecolors="none", edgecolors=colour_of("lp"), label="wide costs")
    ax.scatter(paper, place, s=26, color=colour_of("lp"), label="paper's grid")
    ax.set_yticks(place, [set_label(name) for name in table.index])
    ax.set(xlabel="cells in which outliers carry weight, %", xlim=(-2, 102))
    ax.legend(loc="lower right")
    ax.grid(axis="y", visible=False)
    return figure


NAMES = PANELS | {"lp with negatives, wide costs": "ℓp with outliers, wide costs"}


def draw_contest(contest: pd.DataFrame, narrow: bool) -> Figure:
    """What each way of using outliers gains over ℓp without them."""
    names = [name for name in NAMES if name in set(contest["method"])]
    found = pd.DataFrame([vars(paired_interval(contest, name, WITHOUT)) for name in names])
    figure, (ax,) = panels(1, narrow=narrow, height=2.4)
    colours = [colour_of(name) for name in names]
    intervals(ax, found, labels=[NAMES[name] for name in names], colours=colours, margin=True)
    ax.set_xlabel("minus ℓp without outliers, AUC points")
    return figure


def contestants_table(contest: pd.DataFrame) -> pd.DataFrame:
    """Each way of using negatives against lp without them."""
    others = [name for name in dict.fromkeys(contest["method"]) if name != WITHOUT]
    table = contrasts(contest, [(name, WITHOUT) for name in others])
    return table.set_axis(pd.Index([NAMES.get(name, name) for name in others], name="way"))


def beside_print(contest: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC of four contestants and the printed column of lp with negatives."""
    means = mean_matrix(contest)
    column = printed_matrix("negatives", corrected=True)["lp-SVDD-"]
    table = means[list(PANELS)].rename(columns=PANELS).assign(**{PRINTED: column})
    return table.loc[in_order(means.index)]


def draw_beside_print(contest: pd.DataFrame, narrow: bool) -> Figure:
    """Distance of four contestants from the printed column, one dot a data set."""
    shown = beside_print(contest)
    figure, (ax,) = panels(1, narrow=narrow, height=2.4)
    ax.axvline(0, color="#666666", lw=0.8)
    for place, (name, title) in enumerate(reversed(PANELS.items())):
        off = shown[title] - shown[PRINTED]
        ax.scatter(off, np.full(len(off), place), s=18, color=colour_of(name), alpha=0.6)
        ax.plot([off.mean()] * 2, [place - 0.3, place + 0.3], color="black", lw=2)
        for dataset in (off.idxmin(), off.idxmax()):
            ax.annotate(
                dataset, (off[dataset], place), xytext=(0, 5), textcoords="offset points",
                ha="center", fontsize=8,
            )  # fmt: skip
    ax.set_yticks(range(len(PANELS)), list(PANELS.values())[::-1])
    ax.set_ylim(-0.5, len(PANELS) - 0.3)
    ax.set_xlabel("AUC here minus printed ℓp-SVDD⁻, points")
    ax.grid(axis="y", visible=False)
    return figure


def distance_table(contest: pd.DataFrame) -> pd.DataFrame:
    """How far four contestants are from the printed column."""
    shown = beside_print(contest)
    distance = shown.sub(shown[PRINTED], axis=0).abs()
    lines = []
    for name in PANELS.values():
        apart = mean_interval(distance[name])
        nearer = (distance[name] < distance[PANELS["lp with negatives"]]).sum()
        lines.append(
            {
                "contestant": name,
                "distance": f"{apart.mean:.1f} ({apart.low:.1f} to {apart.high:.1f})",
                "here − print": worded(mean_interval(shown[name] - shown[PRINTED])),
                "nearer": f"{nearer} of {len(shown)}",
                "correlation": f"{shown[name].corr(shown[PRINTED]):.2f}",
            }
        )
    return pd.DataFrame(lines).set_index("contestant")


def contest_facts(contest: pd.DataFrame) -> Facts:
    """H3: what the negatives change with the kernel held fixed, and the distance to print."""
    shown = beside_print(contest)
    distance = shown.sub(shown[PRINTED], axis=0).abs()
    problem, variant, means, machine = (distance[name] for name in PANELS.values())
    level = shown[PANELS["sum alpha = 1"]]

    def gain(name: str) -> str:
        return worded(paired_interval(contest, name, WITHOUT))

    return {
        "h3_fixed": gain("lp with negatives"),
        "h3_variant": gain("sum alpha = 1"),
        "h3_svm": gain("two-class SVM"),
        "h3_apart": problem.mean(),
        "h3_apart_variant": variant.mean(),
        "h3_apart_means": means.mean(),
        "h3_apart_svm": machine.mean(),
        "h3_constant": (shown[PRINTED] - level.mean()).abs().mean(),
        "h3_corr": level.corr(shown[PRINTED]),
    }


def weight_facts(weight: pd.DataFrame, contest: pd.DataFrame, tables: pd.DataFrame) -> Facts:
    """H3: how often negatives carry weight; ``tables``: rows of both main tables."""
    table = weight_table(weight)
    share = table["weight, paper's grid"]
    fixed = paired_interval(contest, "lp with negatives", WITHOUT)
    return {
        "h3_share": share.mean(),
        "h3_share_low": share.min(),
        "h3_share_high": share.max(),
        "h3_none": ", ".join(in_order(share.index[share == 0])) or "no set",
        "h3_wide": table["weight, wide costs"].mean(),
        "h3_gain": worded(paired_interval(tables, "lp-SVDD-", "lp-SVDD")),
        "h3_verdict": (
            "most cells ignore them, as H3 says, "
            if share.mean() < 50
            else "most cells use them, against H3, "
        )
        + (
            "and a gain is not established."
            if fixed.low <= 0
            else "and a small gain remains."
            if fixed.mean < 1
            else "and the gain is not small."
        ),
    }
