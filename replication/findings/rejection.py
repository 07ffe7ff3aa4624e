"""The risk of rejecting a normal point: does its interval hold, in simulation and on data?

Tables: ``rejection_coverage`` and ``rejection_datasets``; the plan is
``studies/plans/rejection.md``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from lpsvdd import LpSVDD
from lpsvdd.bounds import cost_for_rate
from replication.findings import Finding, finding
from replication.studies.rejection import BETAS, POPULATIONS

GAMMA = POPULATIONS["Gaussian"].kernel["gamma"]
LEVEL = 0.001  # of the test whether misses are more than allowed


def rates(ns: tuple[int, ...], seed: int, p: float = 4 / 3) -> pd.DataFrame:
    """Costs chosen for wanted rejection rates; no entry where no cost can guarantee the rate."""
    fresh = np.random.default_rng(seed + 1).normal(size=(100_000, 2))
    rows: list[dict[str, Any]] = []
    for n in ns:
        X = np.random.default_rng(seed).normal(size=(n, 2))
        for rate in (0.05, 0.1, 0.2, 0.3):
            row = {"n": n, "wanted": rate}
            try:
                choice = cost_for_rate(LpSVDD(p=p, gamma=GAMMA), X, rate)
            except ValueError:
                rows.append(row)
                continue
            measured = float(np.mean(choice.model.predict(fresh) < 0))
            rows.append(row | {"C": choice.cost, "upper end": choice.high, "measured": measured})
    return pd.DataFrame(rows).set_index(["n", "wanted"])


def allowed(repetitions: Any, beta: float) -> Any:
    """The largest share of misses that is not called a failure."""
    return binom.isf(LEVEL, repetitions, beta) / repetitions


def power(repetitions: int, beta: float, misses: float = 0.08) -> float:
    """Probability that a cell with this true share of misses is called a failure."""
    return float(binom.sf(binom.isf(LEVEL, repetitions, beta), repetitions, misses))


def judged(coverage: pd.DataFrame) -> pd.DataFrame:
    """The table with misses on both sides together, and whether the cell fails, for each beta."""
    table = coverage.copy()
    for beta in BETAS:
        table[f"misses_{beta:g}"] = table[f"below_{beta:g}"] + table[f"above_{beta:g}"]
        limit = allowed(table["repetitions"], beta)
        table[f"fails_{beta:g}"] = table[f"misses_{beta:g}"] > limit
    return table


@finding("rejection_coverage")
def rejection_coverage(rows: pd.DataFrame) -> Finding:
    """How often the interval missed, and what the lower end for continuous data does on atoms."""
    table = judged(rows)
    ties = table[table["atoms"] & (table["p"] == 1.0)]
    low, high = BETAS
    facts = {
        "cells": len(table),
        "repetitions": int(table["repetitions"].min()),
        "runs": int(table["repetitions"].sum()),
        "misses": round((table["repetitions"] * table[f"misses_{low:g}"]).sum()),
        "power": power(int(table["repetitions"].min()), low),
        "failures": int(table[[f"fails_{beta:g}" for beta in BETAS]].to_numpy().sum()),
        "worst": 100 * table[f"misses_{low:g}"].max(),
        "worst_half": 100 * table[f"misses_{high:g}"].max(),
        "ties_cells": len(ties),
        "ties_fail": int((ties["below_without_ties"] > allowed(ties["repetitions"], low)).sum()),
        "ties_worst": 100 * ties["below_without_ties"].max(),
    }
    return Finding("", facts, table)


@finding("rejection_datasets")
def rejection_datasets(rows: pd.DataFrame) -> Finding:
    """How often interval and held-out targets disagree."""
    proved = rows[rows["preparation"] == "aside"]
    third = proved[np.isclose(proved["p"], 4 / 3)]
    rate, conformal = (third[k] / third["n_test"] for k in ("rejected", "conformal_rejected"))
    disagree = int(proved["disagrees"].sum())
    facts = {
        "half_length": (third["half_high"] - third["half_low"]).mean(),
        "loo": (third["k"] / third["n"] - rate).abs().mean(),
        "conformal": 100 * conformal.mean(),
        "conformal_sd": 100 * conformal.groupby(third["dataset"]).std().mean(),
        "splits": len(proved),
        "disagree": disagree,
        "overlap": len(proved) - disagree,
        "disagree_all": 100 * rows.loc[rows["preparation"] == "all", "disagrees"].mean(),
        "length": (third["high"] - third["low"]).mean(),
        "corrected": rows["corrected"].min(),
    }
    columns = ["low", "high", "n", "rejected", "n_test"]
    table = third.groupby("dataset")[columns].mean()
    table["rate"] = table["rejected"] / table["n_test"]
    facts |= {"least_rate": 100 * table["rate"].min(), "most_rate": 100 * table["rate"].max()}
    return Finding("", facts, table.sort_values("rate"))
