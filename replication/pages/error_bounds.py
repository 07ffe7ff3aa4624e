"""The chapter on guarantees, first part: the paper's error bound and its correction.

``*_facts`` compute what the text quotes, ``draw_*`` a figure, wide or narrow (``figures.show``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lpsvdd import bounds
from lpsvdd.datasets import RECORDS
from lpsvdd.kernels import kernel_matrix
from lpsvdd.plots import PALETTE, fraction
from replication.figures import panels
from replication.pages import Facts
from replication.paper import EXPONENTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW_EXPONENTS = {1.0: "blue", 4 / 3: "green", 2.0: "orange", 5.0: "vermillion"}
ERRORS = {
    "corrected": ("purple", "corrected bound"),
    "paper": ("blue", "paper's bound"),
    "error": ("vermillion", "error"),
    "balanced_error": ("green", "balanced error"),
    "auc_loss": ("orange", "1 − AUC"),
}


def says_nothing(ax: Axes, top: float) -> None:
    """Shade where a bound on a probability exceeds 1."""
    ax.axhspan(1, top, color="0.5", alpha=0.15, lw=0)


def exponent_ticks(ax: Axes) -> None:
    """A few exponents on a logarithmic axis."""
    ax.set_xticks([1, 2, 5, 20], ["1", "2", "5", "20"], minor=False)
    ax.minorticks_off()


def readable(size: float) -> str:
    """1,450 or 2.7·10¹⁰."""
    if size < 10**8:
        return f"{size:,}"
    mantissa, exponent = f"{float(size):.1e}".split("e+")
    return f"{mantissa}·10{str(int(exponent)).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def size_facts(margin: float, delta: float, n: int, n_draws: int, seed: int) -> Facts:
    """From which n on the error bounds are below 1, and how sharp the trace bound is."""
    facts: Facts = {"n_largest": max(round(record.positives / 3) for record in RECORDS)}
    for form in ("paper", "corrected"):
        sizes = {p: bounds.sample_size(p, margin, delta, form=form) for p in (1.0, *EXPONENTS)}
        facts |= {f"n_{form}_p{p:g}": readable(sizes[p]) for p in (1.0, 5.0)}
        facts[f"short_{form}"] = sum(sizes[p] <= facts["n_largest"] for p in EXPONENTS)
    X = np.random.default_rng(seed).normal(size=(n, 2))
    kernels = [kernel_matrix(X, gamma=gamma) for gamma in np.logspace(-4, 3, 8)]
    ratios = [
        bounds.rademacher(K, 1.0, n_draws, random_state=seed) / bounds.trace_bound(K, 1.0)
        for K in kernels
    ]
    return facts | {"mc_ratio_min": float(min(ratios)), "mc_ratio_max": float(max(ratios))}


def draw_sizes(margin: float, delta: float, *, narrow: bool) -> Figure:
    """Both error bounds without any slack, against n."""
    ns = np.logspace(1, 9, 200)
    figure, axes = panels(2, narrow=narrow, sharey=True)
    titles = {"paper": "the paper's bound", "corrected": "the corrected bound"}
    for ax, (form, title) in zip(axes, titles.items(), strict=True):
        for p, colour in FEW_EXPONENTS.items():
            # Without slack the whole bound is a multiple of n^(-1/2).
            coefficient = float(bounds.sample_size(p, margin, delta, 1.0, form=form)) ** 0.5
            line = coefficient / np.sqrt(ns)
            ax.plot(ns, line, color=PALETTE[colour], label=f"p = {fraction(p)}")
        says_nothing(ax, 1e6)
        options = {"transform": ax.transAxes, "ha": "right", "va": "top", "color": "0.5"}
        ax.text(0.97, 0.95, "says nothing", **options)
        ax.set(xscale="log", yscale="log", xlabel="number of samples n", title=title)
        ax.set(ylim=(1e-3, 1e4), xlim=(10, 1e9), ylabel="bound")
    axes[1].legend(loc="lower left")
    return figure


def choice_facts(terms: pd.DataFrame, coverage: pd.DataFrame, margin: float) -> Facts:
    """Which p the error bounds choose, and whether they held."""
    nearest = min(terms["margin"].unique(), key=lambda value: abs(value - margin))
    first = terms[terms["p"] == 1.0]
    here = first[first["margin"] == nearest].set_index("setting")
    balanced = 100 * here["agree_corrected_balanced_error"]
    return {
        "share_bound_picks_one": 100 * first[["best_corrected", "best_paper"]].to_numpy().min(),
        "share_auc_picks_one": 100 * first["best_auc_loss"].max(),
        "agree_pure_balanced_error": balanced["pure"],
        "agree_negatives_balanced_error": balanced["negatives"],
        "n_runs": int(coverage["repetitions"].sum()),
        "deviation_max_percent": 100 * coverage["deviation_ratio_max"].max(),
        "vacuous_paper": 100 * (coverage["nonvacuous_paper"] == 0).mean(),
    }


def draw_choice(terms: pd.DataFrame, margin: float, *, narrow: bool) -> Figure:
    """Bounds and errors against p; dots mark the minima."""
    nearest = min(terms["margin"].unique(), key=lambda value: abs(value - margin))
    figure, axes = panels(2, narrow=narrow, sharey=True, height=3.2)
    titles = {"pure": "targets only", "negatives": "with labelled outliers"}
    for ax, (setting, title) in zip(axes, titles.items(), strict=True):
        part = terms[(terms["setting"] == setting) & (terms["margin"] == nearest)]
        for name, (colour, label) in ERRORS.items():
            ax.plot(part["p"], part[name], color=PALETTE[colour], label=label)
            best = part.loc[part[name].idxmin()]
            ax.plot(best["p"], best[name], "o", color=PALETTE[colour])
        says_nothing(ax, 1e30)
        ax.set(xscale="log", yscale="log", xlabel="exponent p", ylim=(0.03, 1e3), title=title)
        exponent_ticks(ax)
    columns = 2 if narrow else 5
    labels = axes[0].get_legend_handles_labels()
    figure.legend(*labels, loc="outside upper center", ncols=columns)
    return figure
