"""What general solvers return, and what ours does on random problems.

Tables: ``cvxpy_grid``, ``fuzz``.
"""

from __future__ import annotations

import pandas as pd

from replication.findings import Numbers
from replication.results import read_record, results_folder
from replication.statistics import cluster_interval
from replication.studies.general_solvers import selections

CERTIFIED_GAP = 1e-6


def certified_share(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Per cent of the splits on which a solver's point is certified: exponents × costs."""
    rows = rows[rows["solver"] != "own"].assign(certified=rows["gap"] <= CERTIFIED_GAP)
    return {
        solver: 100 * part.pivot_table(index="p", columns="c", values="certified", aggfunc="mean")
        for solver, part in rows.groupby("solver")
    }


def after_selection(rows: pd.DataFrame) -> pd.DataFrame:
    """Test AUC after validation has chosen among a solver's cells, minus the certified grid's."""
    chosen = selections(rows)
    own = chosen["solver"] == "own"
    splits = ["dataset", "trial"]
    reference = chosen[own & (chosen["kept"] == "any point")].set_index(splits)["auc"]
    lines = {}
    for key, part in chosen[~own].groupby(["solver", "kept"], sort=False):
        difference = (part.set_index(splits)["auc"] - reference).dropna()
        found = cluster_interval(difference.groupby("dataset").mean())
        lines[key] = {
            "data sets": found.n, "mean difference": found.mean, "low": found.low,
            "high": found.high, "largest fall": difference.min(),
            "largest rise": difference.max(), "same": int((difference == 0).sum()),
        }  # fmt: skip
    return pd.DataFrame(lines).T.rename_axis(["solver", "cells kept"])


def general_solvers(rows: pd.DataFrame) -> Numbers:
    """Find the share of cells of the paper's grid that CVXPY's solvers solve to a certified gap."""
    others = rows[rows["solver"] != "own"]
    certified = 100 * (others["gap"] <= CERTIFIED_GAP).groupby(others["solver"]).mean()
    cells = int(others.groupby("solver").size().min())
    return {"low": certified.min(), "high": certified.max(), "cells": cells}


def fuzz_counts(counts: pd.DataFrame) -> Numbers:
    """Sum the counts of ``make fuzz``: random problems, judged by 60-digit arithmetic."""
    record = read_record(results_folder() / "fuzz.csv")
    total = counts.sum(numeric_only=True)
    return {
        "problems": int(record["signature"]["problems"]) if record else 0,
        "solutions": int(total["solutions"]),
        "wrong": int(total["wrong"]),
        "stopped_share": 100.0 * total["not_converged"] / total["solutions"],
    }
