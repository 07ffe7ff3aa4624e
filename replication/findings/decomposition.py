"""What width, share and exponent are worth to a label-holder: numbers of ``decomposition.csv``.

The rules are in ``studies/plans/decomposition.md``. Values are in AUC points, one a table.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lpsvdd.plots import PALETTE
from replication.evidence import MARGIN, Difference, compare_over_sets
from replication.figures import Draw, panels
from replication.heavy_tails import holm, p_equivalent, p_exists, p_positive

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTHS = {"chosen": "chosen", "rule": "default", "scale": '"scale"'}
KNOBS = ("width", "share", "p")
COLOURS = {"share": PALETTE["green"], "p": "#f2b48c", "p after share": PALETTE["vermillion"]}
GAINS = {
    "share": ("v_share", "v_none"),
    "p": ("v_p", "v_none"),
    "p after share": ("v_both", "v_share"),
    "share after p": ("v_both", "v_p"),
}


def at_width(rows: pd.DataFrame, width: str, cost: str) -> pd.DataFrame:
    """Select the rows of a width and a rule for the cost."""
    return rows[(rows["width"] == width) & (rows["cost"] == cost)].set_index("dataset")


def tuning_gains(rows: pd.DataFrame, width: str, cost: str = "exact") -> pd.DataFrame:
    """Return every gain at a width, a mean over the draws: one row a table."""
    at = at_width(rows, width, cost)
    off = pd.DataFrame({name: at[more] - at[less] for name, (more, less) in GAINS.items()})
    return off.groupby("dataset").mean()


def gain_table(rows: pd.DataFrame, cost: str = "exact") -> pd.DataFrame:
    """Return every gain as a difference with its interval, one line a width."""
    return pd.DataFrame({
        name: {k: compare_over_sets(one) for k, one in tuning_gains(rows, w, cost).items()}
        for w, name in WIDTHS.items()
    }).T.rename_axis("width")  # fmt: skip


def level(rows: pd.DataFrame, width: str, value: str, cost: str = "exact") -> pd.Series:
    """Return a stored value at a width, a mean over the draws."""
    return at_width(rows, width, cost).groupby("dataset", sort=False)[value].mean()


def shapley(rows: pd.DataFrame, cost: str = "exact") -> pd.DataFrame:
    """Return Shapley's value of each knob: its mean gain over the six orders of tuning."""
    names = {(): "v_none", ("share",): "v_share", ("p",): "v_p", ("share", "p"): "v_both"}
    value = {
        frozenset(knobs + more): level(rows, width, name, cost)
        for width, knobs in (("rule", ()), ("free", ("width",)))
        for more, name in names.items()
    }
    total = dict.fromkeys(KNOBS, 0.0)
    for order in itertools.permutations(KNOBS):
        for k, knob in enumerate(order):
            total[knob] += value[frozenset(order[: k + 1])] - value[frozenset(order[:k])]
    return pd.DataFrame(total) / 6.0


def primary(rows: pd.DataFrame) -> dict[str, dict[str, Difference]]:
    """Return the differences that the two primary statements are about, by width."""
    at = {width: tuning_gains(rows, width) for width in WIDTHS}
    return {
        "p after share": {w: compare_over_sets(one["p after share"]) for w, one in at.items()},
        "share above p": {w: compare_over_sets(one["share"] - one["p"]) for w, one in at.items()},
    }


def primary_p_values(rows: pd.DataFrame) -> dict[str, float]:
    """Return the p-values of the two primary statements after Holm; all widths are needed."""
    at = [tuning_gains(rows, width) for width in WIDTHS]
    return holm({
        "p adds nothing of note": max(p_equivalent(one["p after share"]) for one in at),
        "share is worth more": max(p_positive(one["share"] - one["p"]) for one in at),
    })  # fmt: skip


def secondary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the secondary statements: difference, p-value and its correction by Holm."""
    values, lines = shapley(rows), {}
    exact, scale = ({w: tuning_gains(rows, w, cost) for w in WIDTHS} for cost in ("exact", "scale"))
    for one, other in itertools.combinations(KNOBS, 2):
        off = values[one] - values[other]
        lines[f"{one} above {other}, Shapley's values"] = off, p_exists(off)
    for width, found in exact.items():
        side = "more" if found["p"].mean() > MARGIN else "less"
        name = f"p alone gains {side} than half a point at {width}"
        lines[name] = found["p"], p_exists(found["p"], MARGIN)
    parts = {
        f"{name}: equivalent under both rules for the cost":
            [scale[w][name] - exact[w][name] for w in WIDTHS]
        for name in ("p after share", "share")
    }  # fmt: skip
    parts["five exponents are equivalent to seven"] = [
        level(rows, w, "v_both5") - level(rows, w, "v_both") for w in WIDTHS
    ]
    for name, some in parts.items():
        worst = max(some, key=p_equivalent)
        lines[name] = worst, p_equivalent(worst)
    corrected = holm({name: p for name, (_, p) in lines.items()})
    return pd.DataFrame({
        name: {"difference": compare_over_sets(off), "p": p, "corrected": corrected[name]}
        for name, (off, p) in lines.items()
    }).T  # fmt: skip


def gain_predictions(rows: pd.DataFrame) -> pd.DataFrame:
    """Compare the mean gains with the ranges that the plan predicted."""
    wanted = {
        ("share", "chosen"): (0.7, 1.6), ("share", "rule"): (1.0, 2.0),
        ("share", "scale"): (2.4, 4.0),
        ("p after share", "chosen"): (-0.05, 0.25), ("p after share", "rule"): (0.0, 0.4),
        ("p after share", "scale"): (0.1, 0.9),
        ("p", "chosen"): (-0.1, 0.3), ("p", "rule"): (-0.1, 0.3), ("p", "scale"): (0.6, 1.3),
    }  # fmt: skip
    lines = {}
    for (gain, width), (low, high) in wanted.items():
        mean = tuning_gains(rows, width)[gain].mean()
        line = {"low": low, "high": high, "found": mean, "met": low <= mean <= high}
        lines[gain, WIDTHS[width]] = line
    return pd.DataFrame(lines).T.rename_axis(["gain", "width"])


def cost_difference(rows: pd.DataFrame, width: str, gain: str) -> pd.Series:
    """Return a gain under the rule "scale" minus the same under the exact share."""
    return tuning_gains(rows, width, "scale")[gain] - tuning_gains(rows, width)[gain]


def draw_gains(rows: pd.DataFrame) -> Draw:
    """Draw three gains a width with intervals; open dots are the same under the cost rule."""
    words = {"share": "tuning the share", "p": "tuning p", "p after share": "p after the share"}
    exact, scale = ([tuning_gains(rows, w, cost) for w in WIDTHS] for cost in ("exact", "scale"))

    def draw(narrow: bool) -> Figure:
        figure, (ax,) = panels(1, narrow=narrow, height=3.4)
        ax.axhspan(-MARGIN, MARGIN, color="#e3e3e3", lw=0, zorder=0)
        ax.axhline(0.0, color="#666666", lw=0.8)
        for k, (name, colour) in enumerate(COLOURS.items()):
            found = [compare_over_sets(one[name]) for one in exact]
            x, mean = np.arange(len(found)) + 0.27 * (k - 1), [one.mean for one in found]
            half = [one.high - one.mean for one in found]
            ax.bar(x, mean, 0.25, color=colour, label=words[name], zorder=2)
            ax.errorbar(x, mean, half, fmt="none", color="#333333", lw=1.1, zorder=3)
            with_cost = [one[name].mean() for one in scale]
            ax.plot(x + 0.06, with_cost, "o", mfc="white", mec="#333333", zorder=4)
        ax.plot([], [], "o", mfc="white", mec="#333333", label="with the default cost")
        ax.set_xticks(range(len(WIDTHS)), [f"{name}\nwidth" for name in WIDTHS.values()])
        ax.set(ylabel="gain, AUC points")
        ax.grid(axis="x", visible=False)
        figure.legend(loc="outside upper center", ncols=2 if narrow else 4)
        return figure

    return draw
