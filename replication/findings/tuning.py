"""Tune it without outliers: means, regrets, shares of variance and figures of the anomaly study.

Tables: ``results/anomaly.csv`` and ``anomaly_*.csv``; the plan with the decision rules is
``studies/plans/anomaly.md``. Means are over data sets, after means over splits;
intervals (95 %) are over clusters of related sets.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lpsvdd.selection._search import WIDTHS
from replication.anomaly_sets import design_half
from replication.criteria import CRITERIA
from replication.figures import Draw, colour_of, exponent_colour, ink, panels, spaced
from replication.findings import Finding, finding
from replication.statistics import Interval, cluster_interval, trial_matrix
from replication.wording import worded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OWN, NEIGHBOURS, SVM, DEFAULTS = "LpSVDDCV", "nearest neighbours", "OneClassSVM", "LpSVDD defaults"
CHOSEN = "artificial-outliers"
BORROWED = "kernel mean"
"""A row of the stored tables that is not shown: its width was chosen for another detector."""
HALVES = ("design", "held out", "all")
APART = f"{OWN} minus it, held out"
ABOVE_NEIGHBOURS, ABOVE_SVM = 0.5, 6.0  # points: rules 1 and 2 of the plan
RANDOM, ALWAYS = "a width at random", "always 4"
FIXED_WIDTH = 4.0  # about the default rule, a quarter of the mean distance
NAMES_OF_CRITERIA = {
    "artificial-outliers": "artificial outliers (default)",
    "uniform-outliers": "uniform outliers, errors",
    "consistency": "consistency",
    "kernel-variance": "variance of the kernel",
    "mean-criterion": "mean criterion",
    "data-shifting": "data shifting",
    "farthest-nearest": "farthest minus nearest",
    "likelihood": "likelihood",
    "excess-mass": "excess mass",
    "mass-volume": "mass volume",
    RANDOM: RANDOM,
    ALWAYS: "always 4 / (sum of variances)",
}
CURVES = {
    1.0: ("p = 1", exponent_colour(1.0), 1.2),
    1.2: ("p = 1.2", exponent_colour(1.2), 1.2),
    2.0: ("p = 2", exponent_colour(2.0), 2.4),
    5.0: ("p = 5", exponent_colour(5.0), 1.2),
    0.0: ("kernel mean", colour_of("kernel mean"), 1.2),
}
"""Exponent (0 stands for the kernel mean): label, colour, line width."""


def in_half(names: pd.Index | pd.Series, half: str) -> np.ndarray:
    """Which data sets belong to a half: "design", "held out", or "all"."""
    if half not in HALVES:
        raise ValueError(f"half must be one of {', '.join(HALVES)}, got {half!r}")
    design = np.array([name in design_half() for name in names], dtype=bool)
    return np.ones(len(names), dtype=bool) if half == "all" else design == (half == "design")


# -- contestants -----------------------------------------------------------------------------------


def by_set(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC over the splits: data sets × contestants that have their own parameters."""
    order = [name for name in dict.fromkeys(rows["method"]) if name != BORROWED]
    return trial_matrix(rows).groupby("dataset", sort=False).mean()[order]


def over(rows: pd.DataFrame, other: str, half: str = "all", *, own: str = OWN) -> Interval:
    """Mean difference own - other, with its cluster interval."""
    table = by_set(rows)
    values = (table[own] - table[other])[in_half(table.index, half)]
    return cluster_interval(values)


def contest(rows: pd.DataFrame) -> pd.DataFrame:
    """One line a contestant: mean AUC on both halves, LpSVDDCV minus it, median time of a fit."""
    table = by_set(rows)
    largest = rows[rows["n_train"] == rows["n_train"].max()]
    seconds = largest.groupby("method")["fit_seconds"].median()
    lines = []
    for name in table:
        line = {"contestant": name} | {
            half: table.loc[in_half(table.index, half), name].mean() for half in HALVES
        }
        apart = "" if name == OWN else worded(over(rows, name, "held out"))
        lines.append(line | {APART: apart, "seconds": seconds[name]})
    table = pd.DataFrame(lines).set_index("contestant").rename_axis(None)
    return table.sort_values("all", ascending=False)


def verdicts(rows: pd.DataFrame, half: str = "held out") -> dict[str, bool]:
    """Rules 1 to 3 of the plan, on the held-out half or another."""
    first, second = (over(rows, other, half) for other in (NEIGHBOURS, SVM))
    third = over(rows, SVM, half, own=DEFAULTS)
    return {
        "above nearest neighbours": first.mean >= ABOVE_NEIGHBOURS and first.low > 0.0,
        "above OneClassSVM": second.mean >= ABOVE_SVM and second.low > 0.0,
        "defaults no worse than OneClassSVM": third.mean >= 0.0,
    }


def contamination(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC by share of anomalies among the training rows."""
    order = [name for name in dict.fromkeys(rows["method"]) if name != BORROWED]
    means = rows.pivot_table(index="method", columns="contaminated", values="auc")
    return (
        means.loc[order].rename(columns="{} %".format).rename_axis(None).rename_axis(columns=None)
    )


def single_fits(rows: pd.DataFrame) -> pd.Series:
    """Processor time of a fit of LpSVDDCV in fits of LpSVDD(), by split with the most rows."""
    part = rows[rows["n_train"] == rows["n_train"].max()]
    seconds = trial_matrix(part, "fit_seconds")
    return seconds[OWN] / seconds[DEFAULTS]


# -- criteria --------------------------------------------------------------------------------------


def regret(rows: pd.DataFrame, widths: tuple[float, ...] = WIDTHS) -> pd.DataFrame:
    """AUC of the best width minus AUC of the chosen one: data sets × criteria, mean over splits.

    Of equal widths the widest is chosen, as LpSVDDCV does. Beside the criteria: the mean over the
    widths, which is a width at random, and one fixed width.
    """
    part = rows[rows["width"].isin(widths)].sort_values(["dataset", "trial", "width"])
    skipped = {"dataset", "trial", "width", "auc"}
    lines = []
    for (name, trial), one in part.groupby(["dataset", "trial"], sort=False):
        auc = one["auc"].to_numpy()
        lost = {c: auc.max() - auc[np.argmax(one[c])] for c in one if c not in skipped}
        lost[RANDOM] = auc.max() - auc.mean()
        lost[ALWAYS] = auc.max() - auc[one["width"].to_numpy() == FIXED_WIDTH][0]
        lines.append({"dataset": name, "trial": trial} | lost)
    table = pd.DataFrame(lines).set_index(["dataset", "trial"])
    return table.groupby("dataset", sort=False).mean()


def regret_table(
    rows: pd.DataFrame, half: str = "all", widths: tuple[float, ...] = WIDTHS
) -> pd.DataFrame:
    """One line a criterion: mean regret with its interval, and its regret minus the default's."""
    lost = regret(rows, widths)
    lost = lost[in_half(lost.index, half)]
    lines = []
    for name in lost:
        own = cluster_interval(lost[name])
        apart = cluster_interval(lost[name] - lost[CHOSEN])
        lines.append({
            "criterion": name, "mean": own.mean, "low": own.low, "high": own.high,
            "over the default": apart.mean, "over_low": apart.low, "over_high": apart.high,
        })  # fmt: skip
    return pd.DataFrame(lines).set_index("criterion").sort_values("mean")


# -- p, share and width ----------------------------------------------------------------------------


def variance_shares(grid: pd.DataFrame) -> pd.DataFrame:
    """Shares (per cent) of the variance of the AUC over data sets, widths, shares and p.

    A balanced analysis of variance of the mean over the splits: the sum of squares of an effect is
    that of its cell means, after those of the effects inside it are taken off. The second column
    leaves the main effect of the data set out: what parameters can change.
    """
    factors = ["dataset", "width", "nu", "p"]
    cells = grid.dropna(subset=["p", "nu"]).groupby(factors, sort=False)["auc"].mean()
    if len(cells) != np.prod([cells.index.get_level_values(f).nunique() for f in factors]):
        raise ValueError("the grid is not balanced: some cell is missing")
    centred = cells - cells.mean()
    total = float((centred**2).sum())
    squares: dict[tuple[str, ...], float] = {}
    for size in (1, 2):
        for names in combinations(factors, size):
            means = centred.groupby(list(names)).transform("mean")
            inside = sum(squares[(name,)] for name in names) if size > 1 else 0.0
            squares[names] = float((means**2).sum()) - inside
    kept = {
        "data set": ("dataset",), "width": ("width",), "width × data set": ("dataset", "width"),
        "share ν": ("nu",), "share ν × data set": ("dataset", "nu"),
        "exponent p": ("p",), "exponent p × data set": ("dataset", "p"),
    }  # fmt: skip
    shares = pd.Series({name: squares[key] / total for name, key in kept.items()})
    shares["the rest"] = 1.0 - shares.sum()
    within = shares.drop("data set") / (1.0 - shares["data set"])
    table = pd.DataFrame({"of all": 100 * shares, "without the data set": 100 * within})
    return table.loc[shares.index]


def curves(grid: pd.DataFrame, nu: float = 0.1) -> pd.DataFrame:
    """Mean AUC over data sets: widths × exponents at one share; 0 is the kernel mean."""
    part = grid[(grid["nu"] == nu) | grid["nu"].isna()].fillna({"p": 0.0})
    return part.pivot_table(index="width", columns="p", values="auc")


# -- what the chapter says and shows -------------------------------------------------------------


def draw_widths(grid: pd.DataFrame) -> Draw:
    """Mean AUC against the width, one curve an exponent, names at the wide end."""
    table = curves(grid)
    x = np.log2(table.index.to_numpy())
    low, high = table.to_numpy().min(), table.to_numpy().max()

    def draw(narrow: bool) -> Figure:
        figure, (ax,) = panels(1, narrow=narrow, height=3.6)
        for p, (_, colour, width) in CURVES.items():
            style, above = ("--" if p == 0.0 else "-"), (3 if p == 2.0 else 2)
            ax.plot(x, table[p], style, color=colour, lw=width, zorder=above)
        places = spaced(np.array([table[p].iloc[0] for p in CURVES]), 0.075 * (high - low + 2.0))
        for (label, colour, _), place in zip(CURVES.values(), places, strict=True):
            ax.text(x[0] - 0.15, place, label, ha="right", va="center", color=ink(colour))
        ax.set_ylim(min(low, places.min()) - 0.5, max(high, places.max()) + 0.5)
        ax.set_xlim(x[0] - (2.6 if narrow else 1.5), x[-1] + 0.2)
        ticks = x[:: 2 if narrow else 1]
        ax.set_xticks(ticks, ["½" if k == -1 else f"{2.0**k:g}" for k in ticks])
        across = "γ × sum of variances" if narrow else "γ × sum of variances (left: wide kernel)"
        ax.set(xlabel=across, ylabel="mean AUC, %")
        return figure

    return draw


def contest_intervals(rows: pd.DataFrame, half: str) -> pd.DataFrame:
    """LpSVDDCV minus every other contestant that is not one of its own fits, for a figure."""
    names = [name for name in contest(rows).index if name != OWN and not name.startswith("p = ")]
    return pd.DataFrame({name: vars(over(rows, name, half)) for name in names}).T


@finding("anomaly", "anomaly_criteria", "anomaly_grid", "anomaly_contaminated")
def tune(
    rows: pd.DataFrame, criteria: pd.DataFrame, grid: pd.DataFrame, mixed: pd.DataFrame
) -> Finding:
    """LpSVDDCV on the public anomaly sets; ``mixed`` is the table of contaminated training."""
    table, shares, lost = by_set(rows), variance_shares(grid), regret_table(criteria)
    ratio, curve, dirty = single_fits(rows), curves(grid), contamination(mixed)
    named = [name for name in CRITERIA if name != CHOSEN]
    lost_to_anomalies = dirty.iloc[:, 0] - dirty.iloc[:, -1]
    exponents = dirty.filter(regex="^p = ", axis=0)
    facts = {
        "sets": len(table),
        "splits": int(rows["trial"].nunique()),
        "fits": ratio.median(),
        "fits_most": ratio.max(),
        "regret": lost.loc[CHOSEN, "mean"],
        "regret_random": lost.loc[RANDOM, "mean"],
        "regret_always": lost.loc[ALWAYS, "mean"],
        "better": int((lost.loc[named, "over_high"] < 0.0).sum()),
        "worse": int((lost.loc[named, "over_low"] > 0.0).sum()),
        "criteria": len(named),
        "spread_widest": np.ptp(curve.iloc[0].drop(0.0)),
        "spread_best": np.ptp(curve.loc[curve[2.0].idxmax()].drop(0.0)),
        "gain_width": curve[2.0].max() - curve[2.0].iloc[0],
        "best_width": curve[2.0].idxmax(),
        "contaminated_sets": mixed["dataset"].nunique(),
        "lost": lost_to_anomalies[OWN],
        "lost_least": lost_to_anomalies.min(),
        "lost_least_name": lost_to_anomalies.idxmin(),
        "lost_share": int(mixed["contaminated"].max()),
        "lost_p": (exponents.max() - exponents.min()).max(),
    }
    for key, effect in (("width", "width"), ("nu", "share ν"), ("p", "exponent p")):
        both = [effect, f"{effect} × data set"]
        facts[f"share_{key}"] = shares.loc[both, "without the data set"].sum()
    for half in HALVES:
        short = half.replace(" ", "_")
        facts[f"auc_{short}"] = table.loc[in_half(table.index, half), OWN].mean()
        facts[f"over_nn_{short}"] = worded(over(rows, NEIGHBOURS, half))
        facts[f"over_svm_{short}"] = worded(over(rows, SVM, half))
        facts[f"defaults_{short}"] = worded(over(rows, SVM, half, own=DEFAULTS))
    for key, held in zip(("nn", "svm", "defaults"), verdicts(rows).values(), strict=True):
        facts[f"rule_{key}"] = "holds" if held else "does not hold"
    return Finding("", facts, lost, draw_widths(grid))
