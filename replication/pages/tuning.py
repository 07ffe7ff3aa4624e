"""Tune it without outliers: means, regrets, shares of variance and figures of the anomaly study.

Tables: ``results/anomaly.csv`` and ``anomaly_*.csv``; the plan with the decision rules is
``studies/plans/anomaly.md``. Means are over data sets, after means over splits;
intervals (95 %) resample whole clusters of related sets.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lpsvdd.plots import PALETTE
from lpsvdd.selection._search import WIDTHS
from replication.anomaly_sets import design_half
from replication.criteria import CRITERIA
from replication.figures import panels
from replication.pages import Facts
from replication.statistics import Interval, cluster_interval, trial_matrix, worded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OWN, NEIGHBOURS, SVM, DEFAULTS = "LpSVDDCV", "nearest neighbours", "OneClassSVM", "LpSVDD defaults"
CHOSEN = "artificial-outliers"
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
    1.0: ("p = 1", "blue", 1.2),
    1.2: ("p = 1.2", "green", 1.2),
    2.0: ("p = 2", "vermillion", 2.4),
    5.0: ("p = 5", "purple", 1.2),
    0.0: ("kernel mean", "black", 1.2),
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
    """Mean AUC over the splits: data sets × contestants, in the order of the table."""
    order = list(dict.fromkeys(rows["method"]))
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
    order = list(dict.fromkeys(rows["method"]))
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


def kinds_alone(rows: pd.DataFrame, half: str = "all") -> pd.Series:
    """Mean regret of each kind of artificial outliers alone."""
    table = regret_table(rows, half)["mean"]
    return table[[name for name in table.index if name.startswith("only ")]]


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


# -- figures ---------------------------------------------------------------------------------------


def spaced(values: np.ndarray, gap: float) -> np.ndarray:
    """Places near the values, at least ``gap`` apart, in the same order."""
    order = np.argsort(values)
    place = values[order].astype(float)
    for _ in range(200):
        short = gap - np.diff(place)
        if (short <= 1e-9).all():
            break
        for i in np.flatnonzero(short > 1e-9):
            place[i] -= short[i] / 2
            place[i + 1] += short[i] / 2
    out = np.empty_like(place)
    out[order] = place
    return out


def draw_widths(grid: pd.DataFrame, narrow: bool = False) -> Figure:
    """Mean AUC against the width, one curve an exponent, names at the wide end."""
    table = curves(grid)
    figure, (ax,) = panels(1, narrow=narrow, height=3.6)
    x = np.log2(table.index.to_numpy())
    for p, (_, colour, width) in CURVES.items():
        style = "--" if p == 0.0 else "-"
        ax.plot(x, table[p], style, color=PALETTE[colour], lw=width, zorder=3 if p == 2.0 else 2)
    low, high = table.to_numpy().min(), table.to_numpy().max()
    places = spaced(np.array([table[p].iloc[0] for p in CURVES]), 0.075 * (high - low + 2.0))
    for (label, colour, _), place in zip(CURVES.values(), places, strict=True):
        ax.text(x[0] - 0.15, place, label, ha="right", va="center", color=PALETTE[colour])
    ax.set_ylim(min(low, places.min()) - 0.5, max(high, places.max()) + 0.5)
    ax.set_xlim(x[0] - (2.6 if narrow else 1.5), x[-1] + 0.2)
    ax.set_xticks(x[:: 2 if narrow else 1], [_multiple(k) for k in x[:: 2 if narrow else 1]])
    across = "γ × sum of variances" if narrow else "γ × sum of variances (left: wide kernel)"
    ax.set(xlabel=across, ylabel="mean AUC, %")
    return figure


def _multiple(exponent: float) -> str:
    return "½" if exponent == -1 else f"{2.0**exponent:g}"


def draw_dots(
    ax: Axes, table: pd.DataFrame, names: list[str], colours: list[str], narrow: bool
) -> None:
    """Means with intervals (columns mean, low, high), one line a row, the first on top."""
    place = np.arange(len(table))[::-1]
    shades = [PALETTE.get(colour, colour) for colour in colours]
    ax.hlines(place, table["low"], table["high"], color=shades, lw=1.4)
    ax.scatter(table["mean"], place, color=shades, s=22, zorder=3)
    if narrow:  # names above their line: beside it they would take half of a phone
        left = ax.get_yaxis_transform()
        for at, name in zip(place, names, strict=True):
            ax.annotate(name, (0.0, at), (2, 5), left, textcoords="offset points", fontsize=8)
        ax.set_yticks([])
        ax.set_ylim(-0.6, len(table) - 0.2)
    else:
        ax.set_yticks(place, names)
    ax.grid(axis="y", visible=False)


def draw_regrets(rows: pd.DataFrame, narrow: bool = False) -> Figure:
    """Mean regret of every criterion with its interval; the default stands out."""
    table = regret_table(rows)
    table = table.loc[[name for name in table.index if name in NAMES_OF_CRITERIA]]
    figure, (ax,) = panels(1, narrow=narrow, height=3.8)
    colours = [
        "vermillion" if name == CHOSEN else "#888888" if name in (RANDOM, ALWAYS) else "blue"
        for name in table.index
    ]
    draw_dots(ax, table, [NAMES_OF_CRITERIA[name] for name in table.index], colours, narrow)
    ax.set_xlim(left=0.0)
    ax.set_xlabel("regret, AUC points (less is better)")
    return figure


def draw_contest(rows: pd.DataFrame, narrow: bool = False) -> Figure:
    """LpSVDDCV minus every other contestant, with intervals, one panel a half."""
    names = [name for name in contest(rows).index if name != OWN and not name.startswith("p = ")]
    figure, axes = panels(2, narrow=narrow, height=3.2, sharex=True, sharey=not narrow)
    for ax, half in zip(axes, ("design", "held out"), strict=True):
        found = [over(rows, name, half) for name in names[::-1]]
        place = np.arange(len(found))
        ax.axvline(0, color="#888888", lw=0.8)
        ends = [d.low for d in found], [d.high for d in found]
        ax.hlines(place, *ends, color=PALETTE["vermillion"], lw=1.4)
        ax.scatter([d.mean for d in found], place, color=PALETTE["vermillion"], s=22, zorder=3)
        ax.set_yticks(place, names[::-1])
        ax.set(title=f"{half.replace(' ', '-')} half", xlabel="LpSVDDCV minus it, AUC points")
        ax.grid(axis="y", visible=False)
    return figure


# -- what the text quotes --------------------------------------------------------------------------


def _with_interaction(shares: pd.DataFrame, effect: str) -> str:
    """Per cent of what parameters can change: an effect and its interaction with the data set."""
    both = [effect, f"{effect} × data set"]
    return f"{shares.loc[both, 'without the data set'].sum():.0f}"


def tuning_facts(
    rows: pd.DataFrame, criteria: pd.DataFrame, grid: pd.DataFrame, mixed: pd.DataFrame
) -> Facts:
    """Numbers of the chapter, by name; ``mixed`` is the table of contaminated training."""
    table, shares, lost = by_set(rows), variance_shares(grid), regret_table(criteria)
    ratio, curve, decided = single_fits(rows), curves(grid), verdicts(rows)
    named = [name for name in CRITERIA if name != CHOSEN]
    better = lost.loc[named, "over_high"] < 0.0
    worse = lost.loc[named, "over_low"] > 0.0
    facts: Facts = {
        "tune_sets": len(table),
        "tune_splits": int(rows["trial"].nunique()),
        "tune_fits": f"{ratio.median():.0f}",
        "tune_fits_most": f"{ratio.max():.0f}",
        "tune_regret": f"{lost.loc[CHOSEN, 'mean']:.1f}",
        "tune_regret_random": f"{lost.loc[RANDOM, 'mean']:.1f}",
        "tune_regret_always": f"{lost.loc[ALWAYS, 'mean']:.1f}",
        "tune_better": int(better.sum()),
        "tune_worse": int(worse.sum()),
        "tune_criteria": len(named),
        "tune_share_width": _with_interaction(shares, "width"),
        "tune_share_nu": _with_interaction(shares, "share ν"),
        "tune_share_p": _with_interaction(shares, "exponent p"),
        "tune_spread_widest": f"{np.ptp(curve.iloc[0].drop(0.0)):.1f}",
        "tune_spread_best": f"{np.ptp(curve.loc[curve[2.0].idxmax()].drop(0.0)):.2f}",
        "tune_gain_width": f"{curve[2.0].max() - curve[2.0].iloc[0]:.1f}",
        "tune_best_width": f"{curve[2.0].idxmax():g}",
        "tune_contaminated_sets": mixed["dataset"].nunique(),
    }  # fmt: skip
    lost_to_anomalies = contamination(mixed).pipe(lambda t: t.iloc[:, 0] - t.iloc[:, -1])
    exponents = contamination(mixed).filter(regex="^p = ", axis=0)
    facts |= {
        "tune_lost": f"{lost_to_anomalies[OWN]:.1f}",
        "tune_lost_least": f"{lost_to_anomalies.min():.1f}",
        "tune_lost_least_name": lost_to_anomalies.idxmin(),
        "tune_lost_share": int(mixed["contaminated"].max()),
        "tune_lost_p": f"{(exponents.max() - exponents.min()).max():.1f}",
    }
    for half in HALVES:
        where = in_half(table.index, half)
        short = half.replace(" ", "_")
        facts[f"tune_auc_{short}"] = f"{table.loc[where, OWN].mean():.1f}"
        facts[f"tune_over_nn_{short}"] = worded(over(rows, NEIGHBOURS, half))
        facts[f"tune_over_svm_{short}"] = worded(over(rows, SVM, half))
        facts[f"tune_defaults_{short}"] = worded(over(rows, SVM, half, own=DEFAULTS))
    for key, held in zip(("nn", "svm", "defaults"), decided.values(), strict=True):
        facts[f"tune_rule_{key}"] = "holds" if held else "does not hold"
    return facts
