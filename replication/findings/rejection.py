"""The risk of rejecting a normal point: does its interval hold, in simulation and on data?

Tables: ``rejection_coverage`` and ``rejection_datasets``; the plan is
``studies/plans/rejection.md``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import binom

from replication.findings import Numbers
from replication.studies.rejection import BETAS

MISS_LEVEL = 0.001  # of the test whether misses are more than allowed


def allowed_misses(repetitions: pd.Series, beta: float) -> pd.Series:
    """The largest share of misses that is not called a failure."""
    return binom.isf(MISS_LEVEL, repetitions, beta) / repetitions


def cell_power(repetitions: int, beta: float, misses: float = 0.08) -> float:
    """Probability that a cell with this true share of misses is called a failure."""
    return float(binom.sf(binom.isf(MISS_LEVEL, repetitions, beta), repetitions, misses))


def judged_coverage(coverage: pd.DataFrame) -> pd.DataFrame:
    """The table with misses on both sides together, and whether the cell fails, for each beta."""
    table = coverage.copy()
    for beta in BETAS:
        table[f"misses_{beta:g}"] = table[f"below_{beta:g}"] + table[f"above_{beta:g}"]
        limit = allowed_misses(table["repetitions"], beta)
        table[f"fails_{beta:g}"] = table[f"misses_{beta:g}"] > limit
    return table


def rejection_coverage(rows: pd.DataFrame) -> Numbers:
    """Count how often the interval missed, and what its form for continuous data does on atoms."""
    table = judged_coverage(rows)
    ties = table[table["atoms"] & (table["p"] == 1.0)]
    low, high = BETAS
    return {
        "cells": len(table),
        "repetitions": int(table["repetitions"].min()),
        "runs": int(table["repetitions"].sum()),
        "misses": round((table["repetitions"] * table[f"misses_{low:g}"]).sum()),
        "power": cell_power(int(table["repetitions"].min()), low),
        "failures": int(table[[f"fails_{beta:g}" for beta in BETAS]].to_numpy().sum()),
        "worst": 100 * table[f"misses_{low:g}"].max(),
        "worst_half": 100 * table[f"misses_{high:g}"].max(),
        "ties_cells": len(ties),
        "ties_fail": int(
            (ties["below_without_ties"] > allowed_misses(ties["repetitions"], low)).sum()
        ),
        "ties_worst": 100 * ties["below_without_ties"].max(),
    }


def rejection_datasets(rows: pd.DataFrame) -> Numbers:
    """Count how often interval and held-out targets disagree; mean length at p = 4/3."""
    proved = rows[rows["preparation"] == "aside"]
    third = proved[np.isclose(proved["p"], 4 / 3)]
    return {
        "splits": len(proved),
        "disagree": int(proved["disagrees"].sum()),
        "length": (third["high"] - third["low"]).mean(),
    }
