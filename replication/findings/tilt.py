"""The paths of all p at equal tilt: one curve from the kernel mean to the hard ball?

Table: ``tilt``; rule in ``studies/plans/tilt.md``; theorems and proofs in ``notebooks/why.ipynb``.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lpsvdd.plots import fraction
from replication.evidence import MARGIN, compare_over_sets
from replication.figures import NARROW, WIDE, Draw, colour_of, exponent_colour
from replication.findings import Numbers
from replication.layout import set_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PREDICTED_AT = 0.01
"""Share of the hard ball's tilt at which the first-order theorem is judged."""
ALIKE = 0.99
"""Median rank correlation from which two paths rank alike."""
SHOWN = ("D2", "D8", "D13", "D14", "D17", "D18")
"""Sets of the figure: the curve falls, rises, bends or is flat, and those that are farthest off."""
LINES = {1.0: "-", 1.2: "-", 2.0: "-", 5.0: "--", 20.0: ":"}
"""Exponents of the figure and the style of their lines."""
SPLIT = ["dataset", "trial"]


def matched_models(rows: pd.DataFrame) -> pd.DataFrame:
    """The matched models of p other than 2, with the difference of their AUC from that of p = 2."""
    rows = rows[rows["kind"] == "matched"]
    place = [*SPLIT, "share"]
    two = rows[rows["p"] == 2.0].set_index(place)["auc"].rename("auc_2")
    others = rows[rows["p"] != 2.0].join(two, on=place)
    return others.assign(difference=others["auc"] - others["auc_2"])


def way_to_hard_ball(rows: pd.DataFrame) -> pd.Series:
    """The way from the mean (0) to the hard ball (1): root of the tilt, relative to its most."""
    ends = rows[(rows["kind"] == "end") & (rows["c"] == 1.0)].set_index(SPLIT)["tilt"].rename("end")
    hard = rows.join(ends, on=SPLIT)["end"]
    return np.sqrt((rows["tilt"] / hard).where(hard > 0.0, 0.0).clip(0.0, 1.0))


def curve_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Compare every exponent with p = 2 at equal tilt; rule 3 of the plan.

    ``on_curve``: median correlation at least 0.99, mean absolute difference of the AUCs (``size``)
    below half a point, and the mean difference (``left``) equivalent to none. ``open``: all but the
    last, and no difference found either. ``middle``: the size at the worst tilt.
    """
    lines = {}
    for p, part in matched_models(rows).groupby("p"):
        left = compare_over_sets(part.groupby("dataset", sort=False)["difference"].mean())
        off = part.assign(size=part["difference"].abs())
        correlation, size = float(part["correlation"].median()), float(off["size"].mean())
        alike = correlation >= ALIKE and size < MARGIN
        lines[p] = {
            "correlation": correlation,
            "low": float(part["correlation"].quantile(0.05)),
            "size": size,
            "middle": float(off.groupby("share")["size"].mean().max()),
            "left": left,
            "on_curve": alike and left.equivalent,
            "open": alike and not left.exists and not left.equivalent,
        }
    return pd.DataFrame(lines).T.rename_axis("p")


def one_curve(rows: pd.DataFrame) -> Numbers:
    """Count which exponents rank as p = 2 does at equal tilt, and where the paper's cells lie.

    ``span``: AUC between the best and the worst point of the path of p = 2, mean over sets.
    """
    table = curve_table(rows)
    two = rows[((rows["kind"] == "matched") & (rows["p"] == 2.0)) | (rows["kind"] == "end")]
    span = two.groupby(SPLIT)["auc"].agg(np.ptp).groupby("dataset").mean()
    paper = rows[rows["kind"] == "paper"].assign(way=way_to_hard_ball(rows))
    cells, one = paper[paper["p"] > 1.0], paper[paper["p"] == 1.0]
    least = one.groupby(SPLIT)["way"].min().groupby("dataset").median()
    on, near = table["on_curve"].astype(bool), table["open"].astype(bool)
    kinds = {"on": on, "open": near, "off": ~on & ~near}
    return {kind: [fraction(p) for p in table.index[some]] for kind, some in kinds.items()} | {
        "sets": rows["dataset"].nunique(),
        "size": {fraction(p): value for p, value in table["size"].items()},
        "span": float(span.mean()),
        "at_mean": 100 * float((cells["way"] < 0.1).mean()),
        "l1_at_hard": 100 * float((one["way"] > 0.95).mean()),
        "l1_no_mean": int((least > 0.1).sum()),
    }


def draw_curves(rows: pd.DataFrame, shown: tuple[str, ...] = SHOWN) -> Draw:
    """Draw the AUC from the kernel mean to the hard ball for all p, and mark the paper's cells."""
    rows = rows.assign(way=way_to_hard_ball(rows))
    known = set(rows["dataset"])
    names = [name for name in shown if name in known] or sorted(known)[:6]

    def draw(narrow: bool) -> Figure:
        import matplotlib.pyplot as plt

        columns = 2 if narrow else 3
        lines = -(-len(names) // columns)
        size = (NARROW, 1.6 * lines + 1.1) if narrow else (WIDE, 2.0 * lines + 0.7)
        look = {"layout": "constrained", "sharex": True, "squeeze": False}
        figure, axes = plt.subplots(lines, columns, figsize=size, **look)
        for ax, name in zip_longest(axes.flat, names):
            if name is None:
                ax.set_axis_off()
                continue
            _draw_set(ax, rows[rows["dataset"] == name])
            ax.set_title(set_label(name), fontsize=9)
        for ax in axes[-1]:
            ax.set_xticks([0, 0.5, 1], ["mean", "", "hard"])
        figure.supxlabel("√ tilt, share of the path", fontsize=9)
        figure.supylabel("AUC, %", fontsize=9)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=2 if narrow else 4)
        return figure

    return draw


def _draw_set(ax: Axes, rows: pd.DataFrame) -> None:
    """The curves and cells of one data set, means over its splits."""
    ends = rows[rows["kind"] == "end"].groupby("c", sort=True)[["way", "auc"]].mean()
    paper = rows[rows["kind"] == "paper"]
    for family, colour, marker, name in (
        (paper[paper["p"] > 1.0], colour_of("lp"), "o", "paper's cells, p > 1"),
        (paper[paper["p"] == 1.0], colour_of("l1"), "D", "paper's cells, p = 1"),
    ):
        cells = family.groupby(["p", "c"])[["way", "auc"]].mean()
        look = {"facecolors": "none", "edgecolors": colour, "linewidths": 0.9, "zorder": 3}
        ax.scatter(cells["way"], cells["auc"], s=16, marker=marker, label=name, **look)
    path = rows[rows["kind"] == "matched"]
    for p, style in LINES.items():
        line = path[path["p"] == p].groupby("share")[["way", "auc"]].mean()
        line = pd.concat([ends.iloc[:1], line, ends.iloc[-1:]])
        look = {"color": exponent_colour(p), "lw": 1.6, "label": f"p = {fraction(p)}"}
        ax.plot(line["way"], line["auc"], style, **look)
    ax.tick_params(labelsize=8)


def _near_mean(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the measured over the predicted distance of the centres to models of smooth p."""
    others = matched_models(rows)
    return others[others["p"] > 1.0].assign(ratio=lambda t: t["distance"] / t["predicted"])


def ratio_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate measured over predicted distance of the centres: exponents × shares, medians."""
    return _near_mean(rows).pivot_table("ratio", "p", "share", aggfunc="median")


def leaving_mean(rows: pd.DataFrame) -> Numbers:
    """Compare distances of centres near the kernel mean with the theorems (rules 1, 2 and 4)."""
    others, smooth = matched_models(rows), _near_mean(rows)
    near = smooth[smooth["share"] == PREDICTED_AT]
    pairs = near.groupby(["dataset", "p"])["ratio"].median()
    first = others[others["share"] == PREDICTED_AT].pivot_table(
        index=SPLIT, columns="p", values="distance"
    )
    order = (first[[5.0, 20.0, 1.2, 1.0]].diff(axis=1).iloc[:, 1:] > 0.0).all(axis=1)
    distance = others.pivot_table(index="p", columns="share", values="distance", aggfunc="median")
    return {
        "pairs": len(pairs),
        "described": 100 * float(pairs.between(0.5, 2.0).mean()),
        "least": float(pairs.min()),
        "most": float(pairs.max()),
        "order": 100 * float(order.mean()),
        "splits": len(order),
        "of_bound": float((others["distance"] / others["bound"]).max()),
        "largest_5": 100 * float(distance.loc[5.0].max()),
        "largest_20": 100 * float(distance.loc[20.0].max()),
    }
