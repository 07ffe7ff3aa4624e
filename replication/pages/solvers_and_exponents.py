"""Chapter "Where does the gain come from?": solvers, time, support vectors, the choice of p.

For each question a table or a drawing from stored tables, and the facts that the text quotes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lpsvdd.plots import fraction, heat_map
from replication.figures import panels
from replication.pages import Facts, contrasts, in_order
from replication.pages.layout import colour_of, intervals, set_label
from replication.paper import EXPONENTS
from replication.statistics import mean_interval, mean_matrix, paired_interval, signed, worded
from replication.studies.general_solvers import estimate, selections

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SOLVED_GAP = 1e-6

# -- what general solvers return --------------------------------------------------------------


def _general(grid: pd.DataFrame) -> pd.DataFrame:
    """Rows of CVXPY's solvers: what they call their answer, and whether it is certified."""
    rows = grid[grid["solver"] != "own"]
    kinds = ("optimal", "optimal_inaccurate")
    called = rows["status"].where(rows["status"].isin(kinds), "failed")
    return rows.assign(called=called, certified=rows["gap"] <= SOLVED_GAP)


def solver_table(grid: pd.DataFrame) -> pd.DataFrame:
    """Per solver, in per cent of its cells: what it says, and what is certified."""
    rows = _general(grid)
    table = pd.DataFrame({"cells": rows.groupby("solver").size()})
    kinds = {"optimal": "optimal", "inaccurate": "optimal_inaccurate", "failed": "failed"}
    shares = {name: rows["called"] == kind for name, kind in kinds.items()}
    shares["certified"] = rows["certified"]
    shares["optimal, not certified"] = shares["optimal"] & ~rows["certified"]
    for name, share in shares.items():
        table[name] = 100 * share.groupby(rows["solver"]).mean()
    return table


def draw_certified(grid: pd.DataFrame, narrow: bool) -> Figure:
    """Percentage of certified cells over exponent and cost, one map per solver."""
    figure, axes = panels(3, narrow=narrow, height=3.4)
    for ax, (solver, part) in zip(axes, _general(grid).groupby("solver"), strict=True):
        share = 100 * part.pivot_table(index="p", columns="c", values="certified", aggfunc="mean")
        _percent_map(share, ax)
        ax.set_title(solver)
        ax.label_outer()
    return figure


def _percent_map(share: pd.DataFrame, ax: Axes) -> None:
    look = {"fmt": "{:.0f}", "vmin": 0, "vmax": 100, "colorbar": False}
    heat_map(share.to_numpy(), ps=share.index, cs=share.columns, ax=ax, **look)


def selection_table(grid: pd.DataFrame) -> pd.DataFrame:
    """Test AUC after validation has chosen among a solver's cells, minus the certified grid's."""
    chosen = selections(grid)
    own = chosen["solver"] == "own"
    splits = ["dataset", "trial"]
    reference = chosen[own & (chosen["kept"] == "any point")].set_index(splits)["auc"]
    lines = []
    for (solver, kept), part in chosen[~own].groupby(["solver", "kept"], sort=False):
        difference = (part.set_index(splits)["auc"] - reference).dropna()
        found = mean_interval(difference.groupby("dataset").mean())
        lines.append(
            {
                "solver": solver,
                "cells kept": kept,
                "data sets": found.n,
                "mean difference": found.mean,
                "low": found.low,
                "high": found.high,
                "largest fall": difference.min(),
                "largest rise": difference.max(),
                "same": int((difference == 0).sum()),
            }
        )
    return pd.DataFrame(lines)


def solver_facts(grid: pd.DataFrame) -> Facts:
    """What the text quotes on general solvers."""
    per_solver, after = solver_table(grid), selection_table(grid)
    wrong = per_solver["optimal, not certified"]
    return {
        "solver_sets": ", ".join(in_order(grid["dataset"].unique())),
        "solver_low": per_solver["certified"].min(),
        "solver_high": per_solver["certified"].max(),
        "solver_wrong": wrong.max(),
        "solver_wrong_name": wrong.idxmax(),
        "solver_change_low": signed(after["mean difference"].min()),
        "solver_change_high": signed(after["mean difference"].max()),
        "solver_same_low": after["same"].min(),
        "solver_same_high": after["same"].max(),
        "solver_splits": len(grid[["dataset", "trial"]].drop_duplicates()),
    }


# -- how long the tables take -----------------------------------------------------------------


def time_table(timed: pd.DataFrame, tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Seconds per data set, here and through CVXPY; columns with a minus are with negatives."""
    blocks = []
    for setting, part in estimate(timed, tables).groupby("setting", sort=False):
        part = part.set_index("dataset")
        mark = "" if setting == "pure" else "⁻"
        columns = {
            f"n{mark}": part["n_train"].map("{:d}".format),
            f"here{mark}, s": part["svdd_seconds"].map("{:.1f}".format),
            f"CVXPY{mark}, s": part["cvxpy_seconds"].map("{:,.0f}".format),
            f"ratio{mark}": part["ratio"].map("{:,.0f}".format),
        }
        blocks.append(pd.DataFrame(columns))
    table = pd.concat(blocks, axis=1)
    table = table.loc[in_order(table.index)]
    return table.rename(index=set_label).rename_axis("data set")


def time_facts(timed: pd.DataFrame, tables: dict[str, pd.DataFrame]) -> Facts:
    """What the text quotes on times."""
    cost = estimate(timed, tables)
    here, there = (cost.groupby("setting")[f"{who}_seconds"].sum() for who in ("svdd", "cvxpy"))
    return {
        "time_splits": tables["pure"]["trial"].nunique(),
        "time_splits_negatives": tables["negatives"]["trial"].nunique(),
        "time_pure": here["pure"],
        "time_negatives": here["negatives"] / 60,
        "time_cvxpy_pure": there["pure"] / 60,
        "time_cvxpy_negatives": there["negatives"] / 3600,
    }


# -- support vectors and the radius -----------------------------------------------------------


def _average(support: pd.DataFrame, column: str) -> pd.DataFrame:
    return 100 * support.groupby(["p", "c"])[column].mean().unstack("c")


def draw_support(support: pd.DataFrame, narrow: bool) -> Figure:
    """Share of support vectors, and of splits with R^2 < 0, over exponent and cost."""
    labels = {
        "support_mean": "support vectors, %",
        "negative_radius": "splits with R² < 0, %",
    }
    figure, axes = panels(2, narrow=narrow, height=3.8)
    for ax, (column, label) in zip(axes, labels.items(), strict=True):
        _percent_map(_average(support, column), ax)
        ax.set_title(label)
    return figure


def support_facts(support: pd.DataFrame) -> Facts:
    """What the text quotes on support vectors."""
    at = _average(support, "support_mean")[1.0]
    negative = (support["negative_radius"].fillna(0) * support["feasible"]).sum()
    return {
        "sv_1": at[1.0],
        "sv_2": at[2.0],
        "sv_20": at[20.0],
        "r_negative": 100 * negative / support["feasible"].sum(),
    }


# -- the choice of p --------------------------------------------------------------------------

TUNED, TWO = "p tuned", "p = 2"


def exponent_table(choice: pd.DataFrame) -> pd.DataFrame:
    """Per exponent: how often it is chosen, and what fixing it costs against tuning."""
    fixed = [name for name in dict.fromkeys(choice["method"]) if name != TUNED]
    chosen = choice[choice["method"] == TUNED]["params"].map(lambda text: json.loads(text)["p"])
    names = {name: min(EXPONENTS, key=lambda q: abs(q - float(name[4:]))) for name in fixed}
    table = contrasts(choice, [(name, TUNED) for name in fixed])
    table["chosen"] = [100 * np.isclose(chosen, p).mean() for p in names.values()]
    return table.set_axis(pd.Index([fraction(p) for p in names.values()], name="p"))


def draw_exponents(choice: pd.DataFrame, narrow: bool) -> Figure:
    """How often each exponent is chosen; a fixed exponent minus the tuned one."""
    table = exponent_table(choice)
    figure, axes = panels(2, narrow=narrow, height=3.4)
    place, names = np.arange(len(table))[::-1], [f"p = {p}" for p in table.index]
    axes[0].hlines(place, 0, table["chosen"], color=colour_of("lp"), lw=3)
    axes[0].set_yticks(place, names)
    axes[0].set(title="how often chosen", xlabel="% of splits")
    axes[0].grid(axis="y", visible=False)
    lines = table.rename(columns={"mean difference": "mean"})
    intervals(axes[1], lines, labels=names, margin=True)
    axes[1].set(title="fixed p minus tuned p", xlabel="AUC points")
    if not narrow:
        axes[1].tick_params(labelleft=False)
    return figure


def exponent_facts(choice: pd.DataFrame) -> Facts:
    """What the text quotes on the choice of p."""
    means, table = mean_matrix(choice), exponent_table(choice)
    fixed = means.drop(columns=TUNED)
    hindsight = fixed.max(axis=1) - means[TUNED]
    best = int(table["mean difference"].argmax())
    return {
        "p_two": worded(paired_interval(choice, TUNED, TWO)),
        "p_best_fixed": f"p = {table.index[best]}",
        "p_best_fixed_diff": worded(paired_interval(choice, fixed.columns[best], TUNED)),
        "p_hindsight": worded(mean_interval(hindsight)),
    }
