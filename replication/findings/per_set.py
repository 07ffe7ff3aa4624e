r"""Equal on average is not equal on every set: effects of p > 1 set by set, with shrinkage.

The mean difference y_s of a data set over its splits has the standard error e_s. With

    y_s ~ N(theta_s, e_s^2),    theta_s ~ N(mu, tau^2),

tau is the spread over sets that the splits do not explain. It solves (Paule and Mandel 1982)

    Q(tau) = sum_s (y_s - mu)^2 / (e_s^2 + tau^2) = S - 1,   mu the mean with these weights;

Q(0) is Cochran's test of "all sets alike". Given tau, a set's effect is normal with mean
w y_s + (1 - w) mu, w = tau^2 / (tau^2 + e_s^2), and variance w e_s^2. Splits share the rows of one
table: an effect is that on this table, not on fresh data of its kind.

Tables: ``common_range`` and ``extreme_sets``; the rule is in ``studies/plans/conditions.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy import optimize, stats

from replication.findings import Facts, Finding, finding
from replication.layout import set_label
from replication.statistics import Interval, mean_interval, trial_matrix
from replication.studies.conditions import EXTREME
from replication.studies.ranges import label
from replication.wording import signed, worded

LEAST_ERROR = 0.01
"""AUC points; a set on which two methods agree on nearly every split is not known better."""
TUNED = "lp, 40 cells"
TIES = {"shared": "auc", "first": "auc_first", "last": "auc_last"}
"""Ways with cells that tie on validation, and the columns of ``extreme_sets``."""


@dataclass(frozen=True)
class Effects:
    """``table``: per data set mean, error, and the shrunken mean with its 95 % ends."""

    table: pd.DataFrame
    mean: float
    between: float
    q: float
    freedom: int
    p_value: float

    def beyond(self, sign: int) -> list[str]:
        """Sets whose shrunken interval lies above (+1) or below (-1) zero."""
        end = self.table["low"] if sign > 0 else -self.table["high"]
        return list(self.table.index[end > 0.0])


def effects(differences: pd.Series) -> Effects:
    """The model fitted to differences indexed by (dataset, trial).

    One set alone tells nothing of a spread over sets: its effect is what was observed.
    """
    groups = differences.dropna().groupby("dataset", sort=False)
    mean, error = groups.mean(), np.maximum(groups.sem(), LEAST_ERROR)
    freedom = len(mean) - 1

    def centre(tau: float) -> float:
        return float(np.average(mean, weights=1.0 / (error**2 + tau**2)))

    def q(tau: float) -> float:
        return float((((mean - centre(tau)) ** 2) / (error**2 + tau**2)).sum())

    tau = 0.0
    if q(0.0) > freedom:
        widest = 10.0 * float(np.ptp(mean)) + LEAST_ERROR
        tau = float(optimize.brentq(lambda t: q(t) - freedom, 0.0, widest))
    weight = tau**2 / (tau**2 + error**2) if freedom else 1.0 + 0.0 * error
    shrunk = weight * mean + (1.0 - weight) * centre(tau)
    half = stats.norm.ppf(0.975) * np.sqrt(weight) * error
    table = pd.DataFrame({
        "observed": mean, "error": error,
        "mean": shrunk, "low": shrunk - half, "high": shrunk + half,
    })  # fmt: skip
    p_value = float(stats.chi2.sf(q(0.0), freedom)) if freedom else np.nan
    return Effects(table, centre(tau), tau, q(0.0), freedom, p_value)


def p_two_minus_one(rows: pd.DataFrame, column: str = "auc") -> pd.Series:
    """AUC with p = 2 minus AUC with p = 1 over the same range, split by split."""
    matrix = trial_matrix(rows, column)
    return matrix[label(2.0)] - matrix[label(1.0)]


def exceptions(extreme: pd.DataFrame) -> dict[str, dict[str, Interval]]:
    """Set → way with ties → p = 2 minus p = 1 on the splits of ``extreme_sets``.

    Student's t over splits, Bonferroni over the sets.
    """
    sets = list(dict.fromkeys(extreme["dataset"]))
    differences = {way: p_two_minus_one(extreme, column) for way, column in TIES.items() if sets}
    return {
        name: {
            way: mean_interval(values.loc[name], level=1.0 - 0.05 / len(sets))
            for way, values in differences.items()
        }
        for name in sets
    }


@finding("common_range", "extreme_sets")
def per_set(rows: pd.DataFrame, extreme: pd.DataFrame) -> Finding:
    """Do the sets differ in what p > 1 does, and where is the exception real?

    The paper does not claim it, so there is no verdict; ``above`` and ``below`` are the sets that
    pass the rule of the plan on splits that nobody had looked at. Facts of a set that is left out
    are None.
    """
    extreme = extreme[extreme["dataset"].isin(rows["dataset"])]
    tables = [table for table in (rows, extreme) if not table.empty]
    model, fresh = effects(pd.concat(map(p_two_minus_one, tables))), exceptions(extreme)
    table = model.table.sort_values("mean", ascending=False)

    def shrunk(sign: int) -> list[str]:
        return [f"{set_label(n)} {signed(table.loc[n, 'mean'])}" for n in model.beyond(sign)]

    facts: Facts = {
        "q": model.q,
        "freedom": model.freedom,
        "q_p": model.p_value,
        "between": model.between,
        "average": signed(model.mean),
        "above": [set_label(n) for n, w in fresh.items() if min(d.low for d in w.values()) > 0],
        "below": [set_label(n) for n, w in fresh.items() if max(d.high for d in w.values()) < 0],
        "shrunk_above": shrunk(+1),
        "shrunk_below": shrunk(-1),
        "splits": int(extreme.groupby("dataset")["trial"].nunique().max()) if len(extreme) else 0,
    }
    for name in EXTREME:
        kinds = (*TIES, "shrunk", "all", "tuned")
        facts |= dict.fromkeys(f"{name.lower()}_{what}" for what in kinds)
    for name, ways in fresh.items():
        line, key = table.loc[name], name.lower()
        facts |= {f"{key}_{way}": worded(found, 1) for way, found in ways.items()}
        facts[f"{key}_shrunk"] = worded(SimpleNamespace(**line), 1)
        facts[f"{key}_all"] = f"{signed(line['observed'])} ± {line['error']:.1f}"
        fits = trial_matrix(extreme).loc[name]
        tuned = mean_interval(fits[TUNED] - fits[label(1.0)], level=1.0 - 0.05 / len(fresh))
        facts[f"{key}_tuned"] = worded(tuned, 1)
    return Finding("", facts, table.rename(index=set_label))
