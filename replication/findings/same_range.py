"""Every p over the same range of models: what is left of the lead of lp over l1.

Tables: ``common_range`` and ``relabelling``; rules in ``studies/plans``. A contestant has forty
cells from the hard ball to the kernel mean, so the share outside means the same for every p.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lpsvdd.plots import PALETTE, fraction
from replication.evidence import (
    MARGIN,
    as_table,
    compare,
    compare_over_sets,
    comparison_of,
    difference_by_set,
    weighed,
)
from replication.figures import Draw, ink, panels
from replication.findings import Finding, finding, graded
from replication.findings.tilt import one_curve
from replication.layout import set_label
from replication.paper import EXPONENTS
from replication.statistics import cluster_interval, mean_interval, mean_matrix, trial_matrix
from replication.studies.ranges import WEIGHTED, label
from replication.tables import method_label
from replication.wording import ranged, signed, worded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LP = "lp, 40 cells"
PAPER, SAME = "on the paper's grid", "forty cells over the range for both"
REMOVED, MEAN = "ℓp without the cells that ℓ1 lacks", "ℓ1 gets the kernel mean"
FEW = "ℓ1 gets four shares over the range"
STEPS = {
    PAPER: ("lp, paper's grid", "l1, paper's grid"),
    REMOVED: ("lp, cells feasible for l1", "l1, paper's grid"),
    MEAN: ("lp, paper's grid", "l1, paper's grid and mean"),
    FEW: ("lp, paper's grid", "p = 1, 4 shares"),
    SAME: (LP, label(1.0)),
}
"""lp minus l1 on the paper's grid, and after one change of the grid each."""
FIXED = {f"p = {fraction(p)}": (label(p), LP) for p in (1.0, *EXPONENTS)}
"""Each fixed exponent with forty cells minus lp with forty cells over ten exponents."""
RANGE = {
    "ℓp − ℓ2": (LP, label(2.0)),
    "ℓp with 400 cells − ℓ1": ("lp, 400 cells", label(1.0)),
    "ℓ2 − ℓ1": (label(2.0), label(1.0)),
    "ℓp − kernel mean": (LP, "kernel mean"),
    **{f"ℓp − {name}": (LP, f"{name}, 40 cells") for name in WEIGHTED},
}
"""Further comparisons over the same range."""
SAME_RANKING = 0.9999
"""Rank correlation from which a cell of the grid is an l1 model under another name."""


@finding("common_range")
def lead(rows: pd.DataFrame) -> Finding:
    """What is left of lp's lead over l1 when both have forty cells over the same range.

    Holds when the interval of what is left lies above zero and it is at least half of the lead,
    partly when only the first. ``removed`` is what H1 named: cells that are infeasible for l1.
    """
    steps = compare(rows, STEPS)
    lead, left = steps[PAPER], steps[SAME]
    splits = rows.groupby("dataset")["trial"].nunique()
    facts = {
        "points": signed(lead.mean),
        "lead": weighed(lead),
        "left": weighed(left),
        "lead_interval": worded(lead),
        "left_interval": worded(left),
        "lowest": signed(left.lowest),
        "highest": signed(left.highest),
        "removed": weighed(steps[REMOVED]),
        "with_mean": weighed(steps[MEAN]),
        "with_mean_interval": worded(steps[MEAN]),
        "few": weighed(steps[FEW]),
        "removed_share": 100 * (1 - steps[REMOVED].mean / lead.mean),
        "mean_share": 100 * (1 - steps[MEAN].mean / lead.mean),
        "few_share": 100 * (1 - steps[FEW].mean / lead.mean),
        "detectable": left.detectable,
        "sets": len(splits),
        "splits": ranged(splits),
    }
    verdict = graded(left.low > 0 and left.mean >= lead.mean / 2, left.low > 0)
    return Finding(verdict, facts, as_table(steps), draw_lead(rows))


def draw_lead(rows: pd.DataFrame) -> Draw:
    """lp minus l1 by data set: on the paper's grid, which orders them, and over the same range."""
    means = mean_matrix(rows)
    printed, same = (means[first] - means[second] for first, second in (STEPS[PAPER], STEPS[SAME]))
    order = printed.sort_values().index
    place, top = np.arange(len(order)), len(order) - 1

    def draw(narrow: bool) -> Figure:
        figure, (ax,) = panels(1, narrow=narrow, height=0.24 * len(order) + 1.1)
        ax.axvline(0, color="#666666", lw=0.8)
        ax.hlines(place, same[order], printed[order], color="#bbbbbb", lw=1.2)
        colour = PALETTE["vermillion"]
        ax.scatter(printed[order], place, s=30, facecolors="none", edgecolors=colour)
        ax.scatter(same[order], place, s=30, color=colour)
        ax.set_yticks(place, [set_label(name) for name in order], fontsize=9)
        ax.set_xlabel("AUC points, ℓp − ℓ1")
        texts = (printed, "paper's grid", "right", 8), (same, "same range", "left", 5)
        for values, text, side, away in texts:
            ax.annotate(
                text, (values[order[-1]], top), xytext=(away, 8), textcoords="offset points",
                ha=side, fontsize=9, color=ink(colour),
            )  # fmt: skip
        ax.set_ylim(-0.7, top + 1.3)
        ax.grid(axis="y", visible=False)
        return figure

    return draw


@finding("common_range")
def tuned(rows: pd.DataFrame) -> Finding:
    """lp with forty cells over ten exponents against each fixed p with forty cells."""
    found = {p: comparison_of(rows, LP, label(p)) for p in (1.0, *EXPONENTS)}
    above = [p for p, difference in found.items() if difference.low > 0]
    best = min(found, key=lambda p: found[p].mean)
    facts = {
        "above": len(above),
        "same": sum(difference.equivalent for difference in found.values()),
        "total": len(found),
        "best": fraction(best),
        "over_best": weighed(found[best]),
        "over_1": weighed(found[1.0]),
        "over_2": weighed(found[2.0]),
    }
    return Finding(graded(len(above) == len(found), bool(above) and best not in above), facts)


@finding("common_range")
def other_norms(rows: pd.DataFrame) -> Finding:
    """Is any fixed p > 1 better than p = 1 over the same range? Ten comparisons, Bonferroni."""
    level = 1 - 0.05 / len(EXPONENTS)
    found = {
        p: cluster_interval(difference_by_set(rows, label(p), label(1.0)), level=level)
        for p in EXPONENTS
    }
    best = max(found, key=lambda p: found[p].mean)
    better = [p for p in EXPONENTS if found[p].low > 0]
    facts = {"best": fraction(best), "gain": worded(found[best]), "better": len(better)}
    return Finding(graded(bool(better), False), facts)


def _clearly_above(difference: pd.Series, points: float, comparisons: int) -> dict[str, float]:
    """Data sets whose mean difference exceeds ``points`` with a t interval over splits above 0."""
    groups = difference.groupby("dataset", sort=False)
    found = {name: mean_interval(part, level=1 - 0.05 / comparisons) for name, part in groups}
    return {n: one.mean for n, one in found.items() if one.low > 0 and one.mean > points}


@finding("common_range", "pure")
def l2_beaten(rows: pd.DataFrame, pure: pd.DataFrame, points: float = MARGIN) -> Finding:
    """Data sets on which p = 2 is beaten by more than ``points``, Bonferroni over comparisons.

    Holds when another fixed p beats it over the same range, partly when only lp does on the
    paper's grid.
    """
    matrix = trial_matrix(rows)
    sets = matrix.index.get_level_values("dataset").nunique()
    others = [p for p in (1.0, *EXPONENTS) if p != 2.0]
    beaten: dict[str, float] = {}
    for p in others:
        gain = matrix[label(p)] - matrix[label(2.0)]
        beaten |= _clearly_above(gain, points, sets * len(others))
    paper = trial_matrix(pure)
    on_paper = _clearly_above(paper["lp-SVDD"] - paper["l2-SVDD"], points, sets)
    facts = {
        "count": len(beaten),
        "total": sets,
        "splits": int(matrix.groupby("dataset").size().min()),
        "paper": [f"{name} {signed(value)}" for name, value in on_paper.items()],
    }
    return Finding(graded(bool(beaten), bool(on_paper)), facts)


@finding("common_range")
def weights_in_range(
    rows: pd.DataFrame, over: tuple[str, ...] = ("P-SVDD", "DW-SVDD", "GL-SVDD")
) -> Finding:
    """lp against the weighted methods, each with forty cells over the same shares."""
    found = {name: comparison_of(rows, LP, f"{name}, 40 cells") for name in over}
    above = [name for name, difference in found.items() if difference.low > 0]
    facts = {"each": "; ".join(f"{method_label(n)} {weighed(d)}" for n, d in found.items())}
    return Finding(graded(len(above) == len(over), bool(above)), facts)


@finding("relabelling", "tilt")
def relabelling(rows: pd.DataFrame, paths: pd.DataFrame | None = None) -> Finding:
    """Does (p, c) rank test points in ways that no nu of l1 does, and is that worth anything?

    With ``paths`` the facts say too how far exponents are apart at equal tilt (``one_curve``).
    Not reproduced when p relabels nu on every set and width (rule of the plan); holds when for
    some exponent the AUC left over its l1 match has an interval above the margin; else partly.
    """
    own, control = rows[rows["p"] > 1.0], rows[rows["p"] == 1.0]
    pairs = own.groupby(["dataset", "width"], sort=False).agg(
        correlation=("correlation", "median"), size=("size", "mean")
    )
    relabels = (pairs["correlation"] >= 0.99) & (pairs["size"] < MARGIN)
    by_exponent = [
        compare_over_sets(part.groupby("dataset", sort=False)["left"].mean())
        for _, part in own.groupby("p")
    ]
    left = compare_over_sets(own.groupby("dataset", sort=False)["left"].mean())
    unlike = own[own["correlation"] < SAME_RANKING]
    left_unlike = compare_over_sets(unlike.groupby("dataset", sort=False)["left"].mean())
    cells = {cell: compare_over_sets(part.groupby("dataset")["left"].mean())
             for cell, part in own.groupby(["p", "c"])}  # fmt: skip
    top = max(cells, key=lambda cell: cells[cell].mean)
    facts = {
        "alike": 100 * float((own["correlation"] >= SAME_RANKING).mean()),
        "left_unlike": weighed(left_unlike),
        "left_unlike_interval": worded(left_unlike),
        "size_unlike": float(unlike["size"].mean()),
        "best_cell": f"p = {fraction(top[0])}, c = {top[1]:g}",
        "best_left": worded(cells[top]),
        "share": 100 * relabels.mean(),
        "pairs": len(pairs),
        "control": float(control["size"].mean()),
        "left": weighed(left),
    }
    if paths is not None:
        curve = one_curve(paths).facts
        facts |= {f"tilt_{name}": curve[name] for name in ("size_1", "size_5", "size_20", "span")}
    if relabels.all():
        return Finding("not reproduced", facts)
    best = max(by_exponent, key=lambda found: found.mean)
    return Finding("holds" if best.low > MARGIN else "holds partly", facts)
