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


def judged_coverage(coverage: pd.DataFrame) -> pd.DataFrame:
    """Return the table with misses on both sides together, and whether a cell fails, by beta."""
    table = coverage.copy()
    for beta in BETAS:
        table[f"misses_{beta:g}"] = table[f"below_{beta:g}"] + table[f"above_{beta:g}"]
        most = binom.isf(MISS_LEVEL, table["repetitions"], beta) / table["repetitions"]
        table[f"fails_{beta:g}"] = table[f"misses_{beta:g}"] > most
    return table


def rejection_coverage(rows: pd.DataFrame) -> Numbers:
    """Count how often the interval missed, and what its form for continuous data does on atoms."""
    table = judged_coverage(rows)
    ties = table[table["atoms"] & (table["p"] == 1.0)]
    return {
        "cells": len(table),
        "runs": int(table["repetitions"].sum()),
        "misses": round((table["repetitions"] * table[f"misses_{BETAS[0]:g}"]).sum()),
        "worst": 100 * table[f"misses_{BETAS[0]:g}"].max(),
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
