"""Every p over the same range of models: what is left of the lead of lp over l1.

Tables: ``common_range`` and ``relabelling``; rules in ``studies/plans``. A contestant has forty
cells from the hard ball to the kernel mean, so the share outside means the same for every p.
"""

from __future__ import annotations

import pandas as pd

from lpsvdd.plots import fraction
from replication.evidence import (
    MARGIN,
    Difference,
    compare,
    compare_over_sets,
    comparison_of,
    difference_by_set,
)
from replication.findings import Numbers, decomposition
from replication.findings.weights_tables import claim_on_tables
from replication.layout import in_order
from replication.paper import EXPONENTS
from replication.statistics import cluster_interval, paired_differences
from replication.studies.ranges import WEIGHTED, fixed_label

LP = "lp, 40 cells"
PAPER_GRID, SAME = "on the paper's grid", "forty cells over the range for both"
REMOVED, MEAN = "ℓp without the cells that ℓ1 lacks", "ℓ1 gets the kernel mean"
FEW = "ℓ1 gets four shares over the range"
STEPS = {
    PAPER_GRID: ("lp, paper's grid", "l1, paper's grid"),
    REMOVED: ("lp, cells feasible for l1", "l1, paper's grid"),
    MEAN: ("lp, paper's grid", "l1, paper's grid and mean"),
    FEW: ("lp, paper's grid", "p = 1, 4 shares"),
    SAME: (LP, fixed_label(1.0)),
}
"""lp minus l1 on the paper's grid, and after one change of the grid each."""
FIXED = {f"p = {fraction(p)}": (fixed_label(p), LP) for p in (1.0, *EXPONENTS)}
"""Each fixed exponent with forty cells minus lp with forty cells over ten exponents."""
RANGE = {
    "ℓp − ℓ2": (LP, fixed_label(2.0)),
    "ℓp with 400 cells − ℓ1": ("lp, 400 cells", fixed_label(1.0)),
    "ℓ2 − ℓ1": (fixed_label(2.0), fixed_label(1.0)),
    "ℓp − kernel mean": (LP, "kernel mean"),
    **{f"ℓp − {name}": (LP, f"{name}, 40 cells") for name in WEIGHTED},
}
"""Further comparisons over the same range."""
SAME_RANKING = 0.9999
"""Rank correlation from which a cell of the grid is an l1 model under another name."""


def lead(rows: pd.DataFrame) -> Numbers:
    """Measure lp minus l1 on the paper's grid, and what is left over the same range.

    ``removed``: without lp's cells that are infeasible for l1; ``with_mean``: l1 gets the kernel
    mean; ``few``: l1 gets four shares over the range.
    """
    names = {"lead": PAPER_GRID, "left": SAME, "removed": REMOVED, "with_mean": MEAN, "few": FEW}
    found = compare(rows, {name: STEPS[step] for name, step in names.items()})
    return {**found, "splits": int(rows.groupby("dataset")["trial"].nunique().min())}


def tuned_exponent(rows: pd.DataFrame, worth: pd.DataFrame) -> Numbers:
    """Compare lp tuned over ten exponents with every fixed p, each with forty cells.

    Beside it, on other tables, what labels gain by choosing p: ``alone`` at a wide kernel, and
    ``after_share`` by width when they have chosen the share outside.
    """
    found = {p: comparison_of(rows, LP, fixed_label(p)) for p in (1.0, *EXPONENTS)}
    best = min(found, key=lambda p: found[p].mean)
    return {
        "same": sum(difference.equivalent for difference in found.values()),
        "total": len(found),
        "over_best": found[best],
        "over_2": found[2.0],
        "tables": worth["dataset"].nunique(),
        "alone": compare_over_sets(decomposition.tuning_gains(worth, "scale")["p"]),
        "after_share": decomposition.primary(worth)["p after share"],
    }


def other_norms(rows: pd.DataFrame) -> Numbers:
    """Compare each fixed p > 1 with p = 1 over the same range: ten comparisons, Bonferroni."""
    level = 1 - 0.05 / len(EXPONENTS)
    found = {
        p: cluster_interval(difference_by_set(rows, fixed_label(p), fixed_label(1.0)), level=level)
        for p in EXPONENTS
    }
    best = max(found, key=lambda p: found[p].mean)
    better = sum(found[p].low > 0 for p in EXPONENTS)
    return {"best": fraction(best), "gain": found[best], "better": better, "total": len(found)}


def l2_beaten(rows: pd.DataFrame, pure: pd.DataFrame) -> Numbers:
    """List the data sets on which p = 2 is beaten by more than the margin, Bonferroni.

    ``same_range``: by another fixed p over the same range; ``paper``: by lp on the paper's grid.
    """
    sets = rows["dataset"].nunique()
    others = [p for p in (1.0, *EXPONENTS) if p != 2.0]

    def beaten(table: pd.DataFrame, first: str, second: str, comparisons: int) -> set[str]:
        found = paired_differences(table, first, second, level=1 - 0.05 / comparisons)
        clear = found[(found["low"] > 0) & (found["mean"] > MARGIN) & (found["dataset"] != "all")]
        return {*clear["dataset"]}

    same = [beaten(rows, fixed_label(p), fixed_label(2.0), sets * len(others)) for p in others]
    paper = beaten(pure, "lp-SVDD", "l2-SVDD", sets)
    return {"same_range": in_order(set().union(*same)), "paper": in_order(paper), "total": sets}


def weights_in_range(rows: pd.DataFrame, tables: pd.DataFrame) -> Numbers:
    """Compare lp with the weighted methods, each with forty cells over the same shares.

    ``each``: on the paper's sets; ``on_tables``: on ``tables`` others, by the kind of weight.
    """
    return {
        "each": {name: comparison_of(rows, LP, f"{name}, 40 cells") for name in WEIGHTED},
        "on_tables": claim_on_tables(tables)["over"],
        "tables": tables["dataset"].nunique(),
    }


def relabelling_summary(rows: pd.DataFrame) -> Numbers:
    """Measure how far each (p, c) ranks test points in ways that no nu of l1 does.

    ``alike``: per cent of the cells that an l1 model ranks alike; ``left_unlike`` and
    ``size_unlike``: AUC of the others minus that of their best match, with and without the sign;
    ``largest_left``: the mean over sets of the exponent with the most left.
    """

    def left(part: pd.DataFrame) -> Difference:
        return compare_over_sets(part.groupby("dataset", sort=False)["left"].mean())

    own = rows[rows["p"] > 1.0]
    alike = own["correlation"] >= SAME_RANKING
    return {
        "alike": 100 * float(alike.mean()),
        "left_unlike": left(own[~alike]),
        "size_unlike": float(own[~alike]["size"].mean()),
        "largest_left": max((left(part) for _, part in own.groupby("p")), key=lambda d: d.mean),
    }
