"""Chapter "Where does the gain come from?": range of costs, preprocessing, target classes.

For each of H1, H2 and H4 tables, a drawing, and the facts that the text quotes, by name.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from replication.figures import panels
from replication.pages import Facts, contrasts, in_order
from replication.pages.layout import GREY, colour_of
from replication.paper import METHOD_NAMES
from replication.printed import printed_matrix
from replication.statistics import (
    mean_interval,
    mean_matrix,
    worded,
)
from replication.tables import method_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAMILY = ["l1-SVDD", "l2-SVDD", "lp-SVDD"]
CORE = list(METHOD_NAMES["pure"])

# -- H1: the same range for every method ------------------------------------------------------

PAPER_LP, PAPER_L1, NU_LP, NU_L1 = (
    "lp, paper's grid", "l1, paper's grid", "lp, nu grid", "l1, nu grid",
)  # fmt: skip


def range_table(fair: pd.DataFrame) -> pd.DataFrame:
    """Differences between the contestants of ``fair_grid``."""
    pairs = [
        (PAPER_LP, PAPER_L1),
        (PAPER_LP, NU_L1),
        (NU_LP, NU_L1),
        (PAPER_LP, "l2, paper's grid"),
        (NU_LP, "l2, nu grid"),
        (PAPER_LP, "kernel mean"),
        (NU_L1, "kernel mean"),
    ]
    return contrasts(fair, pairs)


def range_facts(fair: pd.DataFrame, wide_gap: float) -> Facts:
    """H1; ``wide_gap``: points by which lp exceeds l1 on a data set with a wide gap."""
    means = mean_matrix(fair)
    gap = means[PAPER_LP] - means[PAPER_L1]
    wide = gap.index[gap >= wide_gap]
    own = fair[fair["method"] == PAPER_LP]
    smallest = own["params"].map(lambda text: json.loads(text)["c"])
    smallest = smallest == smallest.min()
    return {
        "n_wide": len(wide),
        "wide_smallest": 100 * smallest[own["dataset"].isin(wide)].mean(),
    }


# -- H2: preprocessing and the other open choices ---------------------------------------------


def _with_and_without(preparation: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Means with the unit norm, and without."""
    by_variant = preparation.groupby("variant")
    return mean_matrix(by_variant.get_group("default")), mean_matrix(
        by_variant.get_group("no unit norm")
    )


def unit_norm_table(preparation: pd.DataFrame) -> pd.DataFrame:
    """Each method with and without the unit norm."""
    default, bare = _with_and_without(preparation)
    lines = []
    for name in default.columns:
        found = mean_interval((bare - default)[name].dropna())
        lines.append(
            {
                "method": method_label(name),
                "with unit norm": default[name].mean(),
                "without": bare[name].mean(),
                "change": found.mean,
                "low": found.low,
                "high": found.high,
                "sets up": found.wins,
                "sets down": found.losses,
            }
        )
    return pd.DataFrame(lines).set_index("method")


def draw_unit_norm(preparation: pd.DataFrame, narrow: bool) -> Figure:
    """One line per data set from the AUC with the unit norm to that without."""
    default, bare = _with_and_without(preparation)
    figure, axes = panels(3, narrow=narrow, height=3.4, sharey=True)
    for ax, name in zip(axes, ("lp-SVDD", "l1-SVDD", "kernel mean"), strict=True):
        for dataset in default.index:
            ends = [default.loc[dataset, name], bare.loc[dataset, name]]
            rises = ends[1] > ends[0]
            colour, style = (colour_of(name), "o-") if rises else (GREY, "o--")
            ax.plot([0, 1], ends, style, ms=3, lw=1, color=colour)
        ax.set_xticks([0, 1], ["unit length", "without"])
        ax.set(title=method_label(name), xlim=(-0.25, 1.25), ylabel="AUC, %")
        ax.label_outer()
    return figure


def variant_table(preparation: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC under every variant of the protocol, and its distance from print."""
    lines = {}
    for variant, part in preparation.groupby("variant", sort=False):
        means = mean_matrix(part)
        apart = (means[FAMILY] - printed_matrix("pure")[FAMILY]).dropna().abs()
        line = {
            method_label(name): means[name].mean()
            for name in ("GP", "KPCA", "KNFST", *FAMILY, "kernel mean")
        }
        line["ℓp − ℓ1"] = worded(mean_interval(means["lp-SVDD"] - means["l1-SVDD"]))
        line["from print"] = apart.drop("D18", errors="ignore").to_numpy().mean()
        lines[variant.replace(" x ", " × ")] = line
    return pd.DataFrame(lines.values(), index=pd.Index(lines, name="variant"))


def preparation_facts(preparation: pd.DataFrame) -> Facts:
    """H2."""
    default, bare = _with_and_without(preparation)
    change = bare - default
    before, after = (means["lp-SVDD"] - means["l1-SVDD"] for means in (default, bare))
    rise, gap = mean_interval(change["lp-SVDD"]), mean_interval(after)
    shrinks = mean_interval(after.abs() - before.abs())
    apart = variant_table(preparation)["from print"]
    return {
        "h2_sets": len(default),
        "h2_lp": worded(rise),
        "h2_l1": worded(mean_interval(change["l1-SVDD"])),
        "h2_gap": worded(gap),
        "h2_up": rise.wins,
        "h2_down": ", ".join(in_order(change.index[change["lp-SVDD"] < 0])) or "none",
        "h2_spread": float(np.ptp(default[CORE], axis=1).mean()),
        "h2_spread_bare": float(np.ptp(bare[CORE], axis=1).mean()),
        "h2_verdict": (
            "The AUC rises on average, as H2 says; "
            if rise.low > 0
            else "A rise on average, which H2 says, is not established; "
        )
        + (
            "the gap shrinks but does not vanish."
            if shrinks.high < 0 and gap.low > 0
            else "the gap is then within the noise."
            if gap.low <= 0 <= gap.high
            else "the gap does not shrink."
        ),
        "h2_low_apart": apart.drop("default").min(),
        "h2_high_apart": apart.max(),
        "h2_default_apart": apart["default"],
    }


# -- H4: which target class -------------------------------------------------------------------


def target_table(targets: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC of the nine methods for each target class, with the printed row after the last."""
    lines = []
    for dataset, rows in targets.groupby("dataset", sort=False):
        row = printed_matrix("pure").loc[dataset]
        for variant, part in rows.groupby("variant", sort=False):
            means = part.groupby("method")["auc"].mean()[CORE]
            line = {"data set": dataset, "variant": variant} | dict(means)
            line["from print"] = (means - row).abs().mean()
            line["spread"] = part.groupby("method")["auc"].std().mean()
            lines.append(line)
        lines.append({"data set": dataset, "variant": "printed"} | dict(row))
    return pd.DataFrame(lines).rename(columns=method_label)


def nearest_share(targets: pd.DataFrame, dataset: str, resamples: int = 2000) -> pd.Series:
    """In per cent, how often each variant is nearest to print when its splits are resampled."""
    rng = np.random.default_rng(0)
    rows = targets[targets["dataset"] == dataset]
    parts = {
        variant: part.pivot(index="trial", columns="method", values="auc")[CORE].to_numpy()
        for variant, part in rows.groupby("variant", sort=False)
    }
    row = printed_matrix("pure").loc[dataset, CORE].to_numpy()
    counts = dict.fromkeys(parts, 0)
    for _ in range(resamples):
        apart = {
            variant: np.abs(v[rng.integers(len(v), size=len(v))].mean(axis=0) - row).mean()
            for variant, v in parts.items()
        }
        counts[min(apart, key=apart.get)] += 1
    return 100 * pd.Series(counts) / resamples


def target_facts(targets: pd.DataFrame) -> Facts:
    """H4."""
    table = target_table(targets)
    measured = table[table["variant"] != "printed"].set_index(["data set", "variant"])
    column = printed_matrix("pure")
    d1, d18 = (measured.loc[name, "from print"].sort_values() for name in ("D1", "D18"))
    sure = nearest_share(targets, "D1")
    labels = [method_label(name) for name in CORE]
    twins = [measured.loc[name, labels].to_numpy() for name in ("D12", "D19")]
    return {
        "h4_d1": d1.index[0],
        "h4_d1_apart": d1.iloc[0],
        "h4_d1_named": d1["virginica"],
        "h4_d1_sure": sure[d1.index[0]],
        "h4_d18": d18.iloc[0],
        "h4_twins": np.abs(twins[0] - twins[1]).mean(),
        "h4_twins_printed": (column.loc["D12"] - column.loc["D19"]).abs().mean(),
    }
