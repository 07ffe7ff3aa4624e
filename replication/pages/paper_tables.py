"""The two chapters on the paper's tables: means, differences, ranks, beside what is printed.

``Setting`` holds the rows of one of them; ``draw_*`` draws, wide or narrow; ``facts`` is what the
text quotes; the tables are folded below the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from replication import printed, tables
from replication.evidence import comparison_of, rank_places, weighed
from replication.figures import panels
from replication.pages import Facts, decisions, name_points
from replication.pages.layout import colour_of, dumbbells, intervals, key, set_label
from replication.statistics import (
    Friedman,
    Interval,
    critical_difference,
    friedman,
    mean_matrix,
    paired_differences,
    paired_interval,
    signed,
    wilcoxon_holm,
    worded,
)
from replication.tables import method_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRST = ("lp-SVDD", "l1-SVDD", "l2-SVDD")
FAR = 20.0
"""Points off print from which a data set is named in a figure."""


@dataclass(frozen=True)
class Setting:
    """Rows of one of the two tables: ``setting`` is "pure" or "negatives"."""

    rows: pd.DataFrame
    setting: str

    @property
    def mark(self) -> str:
        """What the names of methods end in."""
        return "-" if self.setting == "negatives" else ""

    @property
    def own(self) -> str:
        return f"lp-SVDD{self.mark}"

    @cached_property
    def methods(self) -> list[str]:
        """ℓp, then ℓ1 and ℓ2, then the others as the paper lists them."""
        first = [name + self.mark for name in FIRST]
        return first + [m for m in dict.fromkeys(self.rows["method"]) if m not in first]

    @cached_property
    def here(self) -> pd.DataFrame:
        return mean_matrix(self.rows)[self.methods]

    @cached_property
    def printed(self) -> pd.DataFrame:
        """Printed means of the same sets, the misprint corrected."""
        whole = printed.printed_matrix(self.setting, corrected=True)
        return whole.reindex(self.here.index)[self.methods]

    @cached_property
    def compared(self) -> pd.DataFrame:
        return tables.comparison(self.rows, self.setting)

    @cached_property
    def test(self) -> Friedman:
        """Ranks and tests of the rerun."""
        return friedman(self.here)

    @cached_property
    def printed_test(self) -> Friedman:
        """The same of the printed means of all twenty sets, as printed."""
        return friedman(printed.printed_matrix(self.setting))

    @cached_property
    def corrected_test(self) -> Friedman:
        """The same with the misprint corrected."""
        return friedman(printed.printed_matrix(self.setting, corrected=True))

    @cached_property
    def places(self) -> pd.DataFrame:
        return rank_places(self.rows).loc[self.methods]

    @property
    def labels(self) -> list[str]:
        return [method_label(name) for name in self.methods]

    @property
    def colours(self) -> list[str]:
        return [colour_of(name) for name in self.methods]


# -- figures ----------------------------------------------------------------------------------


def draw_means(table: Setting, narrow: bool) -> Figure:
    """Mean AUC over the sets of every method, printed and here."""
    figure, (ax,) = panels(1, narrow=narrow, height=0.3 * len(table.methods) + 1.0)
    dumbbells(
        ax, table.printed.mean(), table.here.mean(), labels=table.labels, colours=table.colours
    )
    key(ax, "o")
    ax.set_xlabel("mean AUC over the data sets, %")
    return figure


def draw_ranks(table: Setting, narrow: bool) -> Figure:
    """Average ranks, printed and here; the band holds what is not told from the first."""
    figure, (ax,) = panels(1, narrow=narrow, height=0.3 * len(table.methods) + 1.3)
    first = table.test.ranks.min()
    reach = _reach(table)
    ax.axvspan(first, first + reach, color="#dddddd", lw=0, zorder=0)
    ranks = printed.printed_ranks(table.setting)[table.methods]
    here = table.test.ranks[table.methods]
    dumbbells(ax, ranks, here, labels=table.labels, colours=table.colours)
    ax.annotate(
        "not told from the first", (first + reach, -1.3), xytext=(-4, 2),
        textcoords="offset points", ha="right", va="bottom", fontsize=9,
    )  # fmt: skip
    ax.set_ylim(-1.3, len(table.methods) - 0.3)
    key(ax, "o")
    ax.set_xlabel("average rank, 1 is best")
    return figure


def draw_by_set(parts: Sequence[tuple[str, str, pd.DataFrame, pd.Series]], narrow: bool) -> Figure:
    """Differences by data set with intervals over the splits, one panel for each part.

    A part is (title, method, :func:`paired_differences`, printed differences). The first panel
    orders the sets; its means over all sets stand below the others.
    """
    first = parts[0][2].set_index("dataset")["mean"]
    order = list(first.drop("all", errors="ignore").sort_values(ascending=False).index)
    height = 0.2 * (len(order) + 1) + 1.0
    figure, axes = panels(len(parts), narrow=narrow, height=height, sharex=True)
    for number, (ax, (title, method, found, gain)) in enumerate(zip(axes, parts, strict=True)):
        lines = found.set_index("dataset").reindex([*order, "all"])
        values = [*gain.reindex(order), gain.reindex(order).mean()]
        names = [set_label(name) for name in lines.index]
        intervals(ax, lines, labels=names, colours=colour_of(method), printed=values)
        ax.axhline(0.5, color="#bbbbbb", lw=0.8)
        ax.set_title(title)
        ax.set_xlabel("AUC points")
        if number and not narrow:
            ax.tick_params(labelleft=False)
    key(axes[0])
    return figure


def draw_against(table: Setting, narrow: bool) -> Figure:
    """ℓp minus every other method over the sets, with the margin of half a point."""
    others = table.methods[1:]
    found = [comparison_of(table.rows, table.own, other) for other in others]
    lines = pd.DataFrame([vars(d) for d in found])
    gain = [(table.printed[table.own] - table.printed[other]).mean() for other in others]
    figure, (ax,) = panels(1, narrow=narrow, height=0.3 * len(others) + 1.1)
    names = [method_label(other) for other in others]
    intervals(ax, lines, labels=names, colours=colour_of("lp"), printed=gain, margin=True)
    key(ax)
    ax.set_xlabel(f"{method_label(table.own)} minus the method, AUC points")
    return figure


def draw_off(table: Setting, narrow: bool) -> Figure:
    """Here minus printed, one dot a data set; sets far off are named."""
    figure, (ax,) = panels(1, narrow=narrow, height=0.4 * len(table.methods) + 0.9)
    off = table.here - table.printed
    ax.axvline(0, color="#666666", lw=0.8)
    for place, name in enumerate(table.methods[::-1]):
        ax.scatter(off[name], np.full(len(off), place), s=18, color=colour_of(name), alpha=0.6)
        ax.plot([off[name].mean()] * 2, [place - 0.3, place + 0.3], color="black", lw=2)
    ax.set_yticks(range(len(table.methods)), table.labels[::-1])
    ax.set_ylim(-0.6, len(table.methods) - 0.3)
    ax.set_xlabel("AUC here minus printed, points")
    ax.grid(axis="y", visible=False)
    dots = off[table.methods[::-1]].melt(ignore_index=False)["value"].dropna()
    places = np.repeat(np.arange(len(table.methods)), len(off))
    names = dots.index.where(dots.abs() > FAR, "")
    return name_points(ax, names, dots, places[: len(dots)]).figure


# -- tables -----------------------------------------------------------------------------------


def full_tables(table: Setting) -> dict[str, pd.DataFrame]:
    """All sets and methods: here, printed, the difference."""
    names = {"here": table.here, "printed": table.printed}
    shown = names | {"here minus printed": table.here - table.printed}
    flagged = tables.flags(table.rows)

    def dressed(frame: pd.DataFrame) -> pd.DataFrame:
        frame = frame.rename(columns=lambda name: method_label(name).replace("-SVDD", ""))
        marks = {name: set_label(name) + (" †" if name in flagged else "") for name in frame.index}
        return frame.rename(index=marks).rename_axis("data set")

    return {title: dressed(frame) for title, frame in shown.items()}


def rank_lines(table: Setting) -> pd.DataFrame:
    """Average ranks: printed, from the printed means, corrected, rerun."""
    columns = {
        "printed": printed.printed_ranks(table.setting),
        "from printed means": table.printed_test.ranks,
    }
    if table.setting == "negatives":
        columns["with 85.86"] = table.corrected_test.ranks
    columns["rerun"] = table.test.ranks
    return pd.DataFrame(columns).loc[table.methods].rename(index=method_label)


def place_lines(table: Setting) -> pd.DataFrame:
    """Probability of every place by average rank, in per cent."""
    return (100 * table.places).rename(index=method_label, columns=lambda k: f"{k}.")


def test_lines(table: Setting) -> pd.DataFrame:
    """p-values of "all methods rank alike"."""
    lines = {
        "printed": {"Friedman": printed.FRIEDMAN_P[table.setting]},
        "from printed means": {
            "Friedman": table.printed_test.p_value,
            "Iman–Davenport": table.printed_test.iman_davenport_p,
        },
        "rerun": {
            "Friedman": table.test.p_value,
            "Iman–Davenport": table.test.iman_davenport_p,
        },
    }
    return pd.DataFrame(lines).T.rename_axis("p-value")


def decision_lines(table: Setting) -> pd.DataFrame:
    """ℓp against each other method: decision, Bayesian probabilities, Wilcoxon's test."""
    found = decisions(table.rows, [(table.own, other) for other in table.methods[1:]])
    holm = wilcoxon_holm(table.here)[table.own]
    printed_holm = wilcoxon_holm(printed.printed_matrix(table.setting, corrected=True))[table.own]
    found["Holm p"] = [holm[other] for other in table.methods[1:]]
    found["printed p"] = [printed_holm[other] for other in table.methods[1:]]
    return found


# -- what the text quotes ---------------------------------------------------------------------


def facts(table: Setting) -> Facts:
    """Numbers that both chapters quote."""
    here, own, mark = table.here, table.own, table.mark
    best = here.round(2).eq(here.round(2).max(axis=1), axis=0)
    mine = table.compared[table.compared["method"] == own].set_index("dataset")
    ranks = table.test.ranks
    whole = printed.printed_matrix(table.setting, corrected=True)
    margin = whole[own] - whole[[f"l1-SVDD{mark}", f"l2-SVDD{mark}"]].max(axis=1)
    off = (here - table.printed).abs()
    weights = [f"{name}-SVDD{mark}" for name in ("P", "DW", "GL")]
    return {
        "n_sets": len(here),
        "n_methods": len(table.methods),
        "n_splits": _range(table.rows.groupby("dataset")["trial"].nunique()),
        "wins_l1": int((here[own] > here[f"l1-SVDD{mark}"]).sum()),
        "wins_l2": int((here[own] > here[f"l2-SVDD{mark}"]).sum()),
        "wins_weighted": int((here[own] > here[weights].max(axis=1)).sum()),
        "over_l1": weighed(comparison_of(table.rows, own, f"l1-SVDD{mark}")),
        "over_l2": weighed(comparison_of(table.rows, own, f"l2-SVDD{mark}")),
        "lead_l1": signed((here[own] - here[f"l1-SVDD{mark}"]).mean()),
        "lead_l2": signed((here[own] - here[f"l2-SVDD{mark}"]).mean()),
        "mean_lp": float(mine["auc_mean"].mean()),
        "printed_lp": float(mine["printed_mean"].mean()),
        "corr_lp": float(mine["auc_mean"].corr(mine["printed_mean"])),
        "largest": float(mine["difference"].abs().max()),
        "largest_set": set_label(mine["difference"].abs().idxmax()),
        "typical_off": float(off.stack().median()),
        "best_lp": int(best[own].sum()),
        "best_printed": int(mine["printed_best"].sum()),
        "top": method_label(best.sum().idxmax()),
        "best_top": int(best.sum().max()),
        "rank": float(ranks[own]),
        "rank_printed": float(printed.printed_ranks(table.setting)[own]),
        "place": int((ranks < ranks[own]).sum()) + 1,
        "first": method_label(ranks.idxmin()),
        "first_rank": float(ranks.min()),
        "chance": float(100 * table.places.loc[own, 1]),
        "reach": _reach(table),
        "near_first": int((ranks <= ranks.min() + _reach(table)).sum()),
        "rank_off": float(
            (table.printed_test.ranks - printed.printed_ranks(table.setting)).abs().max()
        ),
        "printed_wins": int((margin > 0).sum()),
        "printed_lost": ", ".join(margin.index[margin <= 0]) or "no set",
        "infeasible": int(table.rows["infeasible"].sum()),
        "cells": int(table.rows["cells"].sum()),
        "gap": f"{table.rows['gap'].max():.0e}",
        "uncertified": int(table.rows["uncertified"].sum()),
    }


def _reach(table: Setting) -> float:
    return critical_difference(len(table.methods), len(table.here))


def _range(counts: pd.Series) -> str:
    low, high = counts.min(), counts.max()
    return f"{low}" if low == high else f"{low} to {high}"


def pair_parts(table: Setting) -> list[tuple[str, str, pd.DataFrame, pd.Series]]:
    """ℓp − ℓ1 and ℓp − ℓ2 by data set, for :func:`draw_by_set`."""
    parts = []
    for other in (f"l1-SVDD{table.mark}", f"l2-SVDD{table.mark}"):
        title = f"{method_label(table.own)} − {method_label(other)}"
        gain = table.printed[table.own] - table.printed[other]
        parts.append((title, "lp", paired_differences(table.rows, table.own, other), gain))
    return parts


def improvement(table: Setting, dataset: str) -> Facts:
    """The difference ℓp − ℓ1 and ℓp − ℓ2 on one data set, here and printed."""
    whole = printed.printed_matrix(table.setting, corrected=True)
    name = dataset if dataset in table.here.index else table.here.index[0]
    found = {}
    for end, source in (("", table.here), ("_printed", whole)):
        for other in ("l1", "l2"):
            value = source.loc[name, table.own] - source.loc[name, f"{other}-SVDD{table.mark}"]
            found[f"{dataset.lower()}_{other}{end}"] = signed(value)
    return found


# -- what labelled outliers add ---------------------------------------------------------------


def gains(with_: Setting, without: Setting) -> pd.DataFrame:
    """Change of the AUC of each method when labelled outliers join its training rows."""
    columns = ["dataset", "method", "trial", "auc"]
    both = pd.concat([with_.rows[columns], without.rows[columns]])
    lines = []
    for name in with_.methods:
        found = paired_interval(both, name, name[:-1])
        gain = with_.printed[name] - without.printed[name[:-1]]
        lines.append({"method": name, **vars(found), "printed": gain.mean()})
    return pd.DataFrame(lines).set_index("method")


def gain_parts(with_: Setting, without: Setting) -> list[tuple[str, str, pd.DataFrame, pd.Series]]:
    """The same by data set for ℓp, ℓ1 and ℓ2, for :func:`draw_by_set`."""
    columns = ["dataset", "method", "trial", "auc"]
    both = pd.concat([with_.rows[columns], without.rows[columns]])
    parts = []
    for name in FIRST:
        gain = with_.printed[f"{name}-"] - without.printed[name]
        found = paired_differences(both, f"{name}-", name)
        parts.append((method_label(name), name, found, gain))
    return parts


def draw_gains(table: pd.DataFrame, narrow: bool) -> Figure:
    """:func:`gains` as dots with intervals, printed values beside them."""
    figure, (ax,) = panels(1, narrow=narrow, height=0.3 * len(table) + 1.1)
    colours = [colour_of(name) for name in table.index]
    names = [method_label(name[:-1]) for name in table.index]
    intervals(
        ax, table.reset_index(), labels=names, colours=colours, printed=list(table["printed"]),
        margin=True,
    )  # fmt: skip
    key(ax)
    ax.set_xlabel("AUC with labelled outliers minus without, points")
    return figure


def gain_facts(table: pd.DataFrame) -> Facts:
    """The changes of the family in words."""
    found = {}
    for name in ("lp", "l1", "l2"):
        row = table.loc[f"{name}-SVDD-"]
        found[f"gain_{name}"] = _words(row)
        found[f"gain_{name}_printed"] = signed(row["printed"])
    found["gain_knfst"] = _words(table.loc["KNFST-"])
    return found


def _words(row: pd.Series) -> str:
    return worded(Interval(*(row[k] for k in ("mean", "low", "high", "n", "wins", "losses"))))


def misprint_facts(table: Setting) -> Facts:
    """The printed rank of DW-SVDD with outliers, and what it is with the misprint corrected."""
    return {
        "dw_printed": float(printed.printed_ranks("negatives")["DW-SVDD-"]),
        "dw_right": float(table.corrected_test.ranks["DW-SVDD-"]),
    }
