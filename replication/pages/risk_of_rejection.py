"""The chapter on guarantees, second part: the risk of rejecting a normal point.

``*_facts`` compute what the text quotes, ``draw_*`` a figure, wide or narrow (``figures.show``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from lpsvdd import LpSVDD
from lpsvdd.bounds import cost_for_rate
from lpsvdd.datasets import RECORDS
from lpsvdd.plots import PALETTE
from replication.figures import NARROW, WIDE, panels
from replication.pages import Facts, in_order
from replication.pages.error_bounds import exponent_ticks, says_nothing
from replication.studies.rejection import BETAS, CONDITIONS, POPULATIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAMMA = POPULATIONS["Gaussian"].kernel["gamma"]
LEVEL = 0.001  # of the test whether misses are more than allowed
COLOURS = {"own": PALETTE["vermillion"], "paper": PALETTE["blue"], "corrected": PALETTE["purple"]}
STATEMENTS = {
    "risk of rejection": ("risk of rejection", "vermillion"),
    "held out 1/2": ("held out: half", "blue"),
    "held out 1/5": ("held out: a fifth", "blue"),
    "conformal threshold": ("conformal, half", "green"),
    "corrected bound": ("corrected bound", "purple"),
    "paper's bound": ("paper's bound", "purple"),
}
VARIANTS = {
    "cost_for_rate": "guaranteed rate 0.3, β/12",
    "cost_for_rate, beta undivided": "guaranteed rate 0.3, β undivided",
}


def curve_facts(curves: pd.DataFrame) -> Facts:
    """Interval and risk at n = 200 for two exponents."""
    part = curves[(curves["axis"] == "p") & (curves["n"] == 200)]
    facts = {}
    for name, p in (("small", 4 / 3), ("two", 2.0)):
        row = part[np.isclose(part["p"], p)].iloc[0]
        facts |= {f"curve_{name}_{key}": row[key] for key in ("low", "high", "risk")}
    return facts


def draw_curves(curves: pd.DataFrame, *, narrow: bool) -> Figure:
    """Risk, interval and error bounds against p and against c, one column of panels for each n."""
    import matplotlib.pyplot as plt

    sizes = sorted(curves["n"].unique())
    curves = curves[(curves["axis"] == "p") | (curves["p"] > 1)]
    rows, columns = (2 * len(sizes), 1) if narrow else (2, len(sizes))
    size = (NARROW, 2.5 * rows) if narrow else (WIDE, 5.4)
    options = {"sharey": True, "layout": "constrained", "squeeze": False}
    figure, axes = plt.subplots(rows, columns, figsize=size, **options)
    grid = axes.reshape(len(sizes), 2).T if narrow else axes
    for line, axis in zip(grid, ("p", "c"), strict=True):
        for ax, n in zip(line, sizes, strict=True):
            part = curves[(curves["axis"] == axis) & (curves["n"] == n)]
            _draw_curve(ax, part, part["p"] if axis == "p" else part["C"])
            ax.set(xlabel="exponent p" if axis == "p" else "cost c")
            if axis == "p":
                exponent_ticks(ax)
            if axis == "p" or narrow:
                ax.set(title=f"n = {n:,}")
    for ax in axes[:, 0]:
        ax.set_ylabel("probability")
    labels = grid[0][0].get_legend_handles_labels()
    figure.legend(*labels, loc="outside upper center", ncols=1 if narrow else 3)
    return figure


def _draw_curve(ax: Axes, part: pd.DataFrame, x: pd.Series) -> None:
    says_nothing(ax, 100)
    ax.fill_between(x, part["low"], part["high"], color=COLOURS["own"], alpha=0.3, lw=0)
    ax.plot(x, part["risk"], color=COLOURS["own"], label="true risk, with its interval")
    ax.plot(x, part["paper"], "--", color=COLOURS["paper"], label="paper's bound")
    ax.plot(x, part["corrected"], ":", color=COLOURS["corrected"], label="corrected bound")
    ax.set(xscale="log", yscale="log", ylim=(5e-3, 30))
    ax.set_yticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])


def rates(ns: tuple[int, ...], seed: int, p: float = 4 / 3) -> pd.DataFrame:
    """Costs chosen for wanted rejection rates; no entry where no cost can guarantee the rate."""
    fresh = np.random.default_rng(seed + 1).normal(size=(100_000, 2))
    rows: list[dict[str, Any]] = []
    for n in ns:
        X = np.random.default_rng(seed).normal(size=(n, 2))
        for rate in (0.05, 0.1, 0.2, 0.3):
            row = {"n": n, "wanted": rate}
            try:
                choice = cost_for_rate(LpSVDD(p=p, gamma=GAMMA), X, rate)
            except ValueError:
                rows.append(row)
                continue
            measured = float(np.mean(choice.model.predict(fresh) < 0))
            rows.append(row | {"C": choice.cost, "upper end": choice.high, "measured": measured})
    return pd.DataFrame(rows)


def allowed(repetitions: Any, beta: float) -> Any:
    """The largest share of misses that is not called a failure."""
    return binom.isf(LEVEL, repetitions, beta) / repetitions


def power(repetitions: int, beta: float, misses: float = 0.08) -> float:
    """Probability that a cell with this true share of misses is called a failure."""
    return float(binom.sf(binom.isf(LEVEL, repetitions, beta), repetitions, misses))


def judged_coverage(coverage: pd.DataFrame) -> pd.DataFrame:
    """The table with misses on both sides together, and whether the cell fails, for each beta."""
    table = coverage.copy()
    for beta in BETAS:
        table[f"misses_{beta:g}"] = table[f"below_{beta:g}"] + table[f"above_{beta:g}"]
        limit = allowed(table["repetitions"], beta)
        table[f"fails_{beta:g}"] = table[f"misses_{beta:g}"] > limit
    return table


def coverage_facts(coverage: pd.DataFrame) -> Facts:
    """How often the interval missed, and what the lower end for continuous data does on atoms."""
    table = judged_coverage(coverage)
    ties = table[table["atoms"] & (table["p"] == 1.0)]
    low, high = BETAS
    return {
        "cover_cells": len(table),
        "cover_repetitions": int(table["repetitions"].min()),
        "cover_runs": int(table["repetitions"].sum()),
        "cover_misses": round((table["repetitions"] * table[f"misses_{low:g}"]).sum()),
        "cover_power": power(int(table["repetitions"].min()), low),
        "cover_failures": int(table[[f"fails_{beta:g}" for beta in BETAS]].to_numpy().sum()),
        "cover_worst": 100 * table[f"misses_{low:g}"].max(),
        "cover_worst_half": 100 * table[f"misses_{high:g}"].max(),
        "ties_cells": len(ties),
        "ties_fail": int((ties["below_without_ties"] > allowed(ties["repetitions"], low)).sum()),
        "ties_worst": 100 * ties["below_without_ties"].max(),
    }


def draw_coverage(coverage: pd.DataFrame, *, narrow: bool) -> Figure:
    """Share of misses of every cell, by population."""
    table = judged_coverage(coverage)
    names = [name for name in POPULATIONS if name in set(table["population"])]
    figure, axes = panels(2, narrow=narrow, height=3.4)
    for ax, beta in zip(axes, BETAS, strict=True):
        for row, name in enumerate(names):
            misses = 100 * table.loc[table["population"] == name, f"misses_{beta:g}"]
            height = row + np.linspace(-0.25, 0.25, len(misses))
            ax.scatter(misses, height, s=9, color=COLOURS["own"], lw=0)
        ax.axvline(100 * beta, color="0.5", lw=1)
        ax.text(100 * beta, -0.9, " allowed", color="0.5", fontsize="small", va="center")
        ax.set(xlim=(-3 * beta, 125 * beta), ylim=(len(names) - 0.4, -1.3))
        ax.set(xlabel="samples missed, %", title=f"β = {beta:g}")
        ax.set_yticks(range(len(names)), names if narrow or ax is axes[0] else [])
        ax.grid(axis="y", visible=False)
    return figure


def condition_table(conditions: pd.DataFrame) -> pd.DataFrame:
    """Variants that meet the conditions of the theorem or not: worst misses of the cases."""
    fails = (conditions["below"] + conditions["above"]) > allowed(conditions["count"], BETAS[0])
    groups = conditions.assign(fails=fails).groupby("variant")
    table = pd.DataFrame({
        "proved": groups["proved"].first(),
        "above, %": 100 * groups["above"].max(),
        "below, %": 100 * groups["below"].max(),
        "fails": groups["fails"].any(),
    })  # fmt: skip
    table = table.reindex([variant for variant in CONDITIONS if variant in table.index])
    names = {name: VARIANTS.get(name, name.replace("beta", "β")) for name in table.index}
    return table.rename(index=names).rename_axis(None)


def condition_facts(conditions: pd.DataFrame) -> Facts:
    """How many variants fail, proved and not."""
    table = condition_table(conditions)
    failed = table["fails"] & ~table["proved"]
    return {
        "conditions_repetitions": int(conditions["repetitions"].min()),
        "conditions_proved_fail": int((table["fails"] & table["proved"]).sum()),
        "conditions_unproved": int((~table["proved"]).sum()),
        "conditions_unproved_fail": int(failed.sum()),
        "conditions_failed_names": ", ".join(table.index[failed]) or "none",
    }


def compare_facts(compare: pd.DataFrame) -> Facts:
    """Lengths of the interval, beside a held-out half, and the error of k/n."""
    by = compare.set_index(["statement", "n"])
    own, half = by.loc["risk of rejection"], by.loc["held out 1/2"]
    facts = {f"length_{n}": length for n, length in own["length"].items()}
    facts |= {f"ratio_{n}": ratio for n, ratio in (own["length"] / half["length"]).items()}
    facts |= {f"loo_{n}": error for n, error in by.loc["leave-one-out", "error"].items()}
    return facts | {
        "sharper": 100 * by.loc["corrected bound", "smaller"].min(),
        "conformal_sd": 100 * by.loc[("conformal threshold", own.index.min()), "risk_sd"],
    }


def draw_compare(compare: pd.DataFrame, *, narrow: bool) -> Figure:
    """Mean interval and mean true probability of every statement, a panel for each n."""
    sizes = sorted(compare["n"].unique())
    figure, axes = panels(len(sizes), narrow=narrow, height=2.6)
    labels = [label for label, _ in STATEMENTS.values()]
    for ax, n in zip(axes, sizes, strict=True):
        part = compare[compare["n"] == n].set_index("statement")
        for row, (name, (_, colour)) in enumerate(STATEMENTS.items()):
            low, high, risk = part.loc[name, ["low", "high", "risk"]]
            ax.plot([low, min(high, 1.0)], [row, row], color=PALETTE[colour], lw=3)
            ax.plot(risk, row, "o", color=PALETTE[colour], mec="white", ms=6)
            if high > 1.0:
                options = {"ha": "right", "fontsize": "small", "color": "0.5"}
                ax.text(0.98, row - 0.3, f"up to {high:.1f}", **options)
        ax.set(xlim=(-0.02, 1.02), ylim=(len(STATEMENTS) - 0.5, -0.6), title=f"n = {n:,}")
        ax.set_yticks(range(len(labels)), labels if narrow or ax is axes[0] else [])
        ax.set_xlabel("probability")
        ax.grid(axis="y", visible=False)
    return figure


def dataset_facts(sets: pd.DataFrame) -> Facts:
    """How often interval and held-out targets disagree."""
    proved = sets[sets["preparation"] == "aside"]
    four_thirds = proved[np.isclose(proved["p"], 4 / 3)]
    rate = four_thirds["rejected"] / four_thirds["n_test"]
    conformal = four_thirds["conformal_rejected"] / four_thirds["n_test"]
    return {
        "sets_half_length": (four_thirds["half_high"] - four_thirds["half_low"]).mean(),
        "sets_loo": (four_thirds["k"] / four_thirds["n"] - rate).abs().mean(),
        "sets_conformal": 100 * conformal.mean(),
        "sets_conformal_sd": 100 * conformal.groupby(four_thirds["dataset"]).std().mean(),
        "sets_splits": len(proved),
        "sets_disagree": 100 * proved["disagrees"].mean(),
        "sets_disagree_all": 100 * sets.loc[sets["preparation"] == "all", "disagrees"].mean(),
        "sets_length": (four_thirds["high"] - four_thirds["low"]).mean(),
        "sets_corrected": sets["corrected"].min(),
    }


def draw_datasets(sets: pd.DataFrame, *, narrow: bool) -> Figure:
    """Mean interval and rejection rate of held-out targets at p = 4/3, a row for each data set."""
    part = sets[(sets["preparation"] == "aside") & np.isclose(sets["p"], 4 / 3)]
    line = part.groupby("dataset")[["low", "high", "n", "rejected", "n_test"]].mean()
    line = line.reindex(in_order(line.index))
    line = line.assign(rate=line["rejected"] / line["n_test"]).sort_values("rate")
    names = {record.id: record.name for record in RECORDS}
    figure, (ax,) = panels(1, narrow=narrow, height=5.8)
    row = np.arange(len(line))
    ax.hlines(row, line["low"], line["high"], color=COLOURS["own"], lw=3, alpha=0.5)
    ax.plot(line["rate"], row, "o", color=COLOURS["own"])
    ax.set_yticks(row, [f"{names[name]}, n = {n:.0f}" for name, n in line["n"].items()])
    ax.set(xlim=(-0.02, 1.02), xlabel="probability of rejection", ylim=(-0.7, len(line) - 0.3))
    ax.grid(axis="y", visible=False)
    return figure
