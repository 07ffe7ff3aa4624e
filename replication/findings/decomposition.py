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
from replication.heavy_tails import holm, p_equivalent, p_exists
from replication.studies.decomposition_model import GAINS, by_draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTHS = {"chosen": "chosen", "rule": "default", "scale": '"scale"'}
KNOBS = ("width", "share", "p")
COLOURS = {"share": PALETTE["green"], "p": "#f2b48c", "p after share": PALETTE["vermillion"]}


def tuning_gains(rows: pd.DataFrame, width: str, cost: str = "exact") -> pd.DataFrame:
    """Return every gain at a width, a mean over the draws: one row a table."""
    return pd.DataFrame({name: by_draw(rows, width, name, cost).mean(axis=1) for name in GAINS})


def gain_table(rows: pd.DataFrame, cost: str = "exact") -> pd.DataFrame:
    """Return every gain as a difference with its interval, one line a width."""
    return pd.DataFrame({
        name: {k: compare_over_sets(one) for k, one in tuning_gains(rows, w, cost).items()}
        for w, name in WIDTHS.items()
    }).T.rename_axis("width")  # fmt: skip


def level(rows: pd.DataFrame, width: str, value: str, cost: str = "exact") -> pd.Series:
    """Return a stored value at a width, a mean over the draws."""
    at = rows[(rows["width"] == width) & (rows["cost"] == cost)]
    return at.groupby("dataset", sort=False)[value].mean()


def shapley(rows: pd.DataFrame, cost: str = "exact") -> pd.DataFrame:
    """Return Shapley's value of each knob: its mean gain over the six orders of tuning."""
    value = {}
    for width, knobs in (("rule", ()), ("free", ("width",))):
        for name, more in (
            ("v_none", ()), ("v_share", ("share",)), ("v_p", ("p",)), ("v_both", ("share", "p")),
        ):  # fmt: skip
            value[frozenset(knobs + more)] = level(rows, width, name, cost)
    total = {knob: 0.0 for knob in KNOBS}
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
    adds_nothing = max(p_equivalent(one["p after share"]) for one in at)
    worth_more = max(_p_positive(one["share"] - one["p"]) for one in at)
    return holm({"p adds nothing of note": adds_nothing, "share is worth more": worth_more})


def _p_positive(values: pd.Series) -> float:
    return p_exists(values) if values.mean() > 0.0 else 1.0


def secondary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the secondary statements: difference, p-value after Holm, whether each holds."""
    lines: dict[str, tuple[pd.Series | None, float]] = {}
    values = shapley(rows)
    for one, other in itertools.combinations(KNOBS, 2):
        off = values[one] - values[other]
        lines[f"{one} above {other}, Shapley's values"] = off, p_exists(off)
    for width in WIDTHS:
        alone = tuning_gains(rows, width)["p"]
        side = "more" if alone.mean() > MARGIN else "less"
        name = f"p alone gains {side} than half a point at {width}"
        lines[name] = alone, p_exists(alone, MARGIN)
    for name in ("p after share", "share"):
        parts = [cost_difference(rows, width, name) for width in WIDTHS]
        worst = max(parts, key=p_equivalent)
        lines[f"{name}: equivalent under both rules for the cost"] = worst, p_equivalent(worst)
    parts = [level(rows, w, "v_both5") - level(rows, w, "v_both") for w in WIDTHS]
    worst = max(parts, key=p_equivalent)
    lines["five exponents are equivalent to seven"] = worst, p_equivalent(worst)
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


def bars(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what the figure shows: every gain with its interval, and under the other rule."""
    lines = {}
    for width in WIDTHS:
        exact, scale = tuning_gains(rows, width), tuning_gains(rows, width, "scale")
        for name in COLOURS:
            found = compare_over_sets(exact[name])
            lines[width, name] = {
                "mean": found.mean, "low": found.low, "high": found.high,
                "cost rule": scale[name].mean(),
            }  # fmt: skip
    return pd.DataFrame(lines).T.rename_axis(["width", "gain"])


def draw_gains(table: pd.DataFrame) -> Draw:
    """Draw three bars a width with intervals; open dots are the same under the cost rule."""
    words = {"share": "tuning the share", "p": "tuning p", "p after share": "p after the share"}

    def draw(narrow: bool) -> Figure:
        figure, (ax,) = panels(1, narrow=narrow, height=3.4)
        ax.axhspan(-MARGIN, MARGIN, color="#e3e3e3", lw=0, zorder=0)
        ax.axhline(0.0, color="#666666", lw=0.8)
        for k, (name, colour) in enumerate(COLOURS.items()):
            part = table.xs(name, level="gain").loc[list(WIDTHS)]
            x = np.arange(len(part)) + 0.27 * (k - 1)
            error = [part["mean"] - part["low"], part["high"] - part["mean"]]
            ax.bar(x, part["mean"], 0.25, color=colour, label=words[name], zorder=2)
            ax.errorbar(x, part["mean"], error, fmt="none", color="#333333", lw=1.1, zorder=3)
            ax.plot(x + 0.06, part["cost rule"], "o", mfc="white", mec="#333333", zorder=4)
        ax.plot([], [], "o", mfc="white", mec="#333333", label="with the default cost")
        ax.set_xticks(range(len(WIDTHS)), [f"{name}\nwidth" for name in WIDTHS.values()])
        ax.set(ylabel="gain, AUC points")
        ax.grid(axis="x", visible=False)
        place = (
            {"bbox_to_anchor": (0.42, 1.0), "columnspacing": 1.0}
            if narrow
            else {"bbox_to_anchor": (0.5, 1.0)}
        )
        ax.legend(loc="lower center", ncols=2 if narrow else 4, **place)
        return figure

    return draw
