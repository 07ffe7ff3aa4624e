r"""Sets that nobody had looked at: the verdicts on LpSVDDCV, its criterion, and what is in reach.

Tables: ``results/anomaly_fresh.csv`` and ``anomaly_fresh_criteria.csv``; the plan with the decision
rules is ``studies/plans/anomaly_fresh.md``. Means are over tasks, after means over splits;
intervals (95 %) are over clusters of tasks from one source.
"""

from __future__ import annotations

import pandas as pd

from lpsvdd.selection._search import WIDTHS
from replication import anomaly_sets as keel
from replication.findings import Finding, finding
from replication.findings.tuning import (
    ALWAYS,
    CHOSEN,
    DEFAULTS,
    NEIGHBOURS,
    OWN,
    RANDOM,
    SVM,
    by_set,
    over,
    regret,
    verdicts,
)
from replication.statistics import Interval, cluster_interval, cluster_of, trial_matrix
from replication.wording import signed, worded

LIKELIHOOD, SUM = "likelihood", "artificial outliers + likelihood"
MORE_ON_SEEN = 0.1  # points of regret on the sets seen before that a new default may cost: rule 5


def robustness(values: pd.Series) -> tuple[float, pd.Series]:
    """A mean over tasks (the index) in other ways: clusters count once; each cluster left out."""
    clusters = pd.Series([cluster_of(name) for name in values.index], index=values.index)
    without = pd.Series({one: values[clusters != one].mean() for one in clusters.unique()})
    return float(values.groupby(clusters).mean().mean()), without


def lead(rows: pd.DataFrame, other: str, own: str = OWN) -> pd.Series:
    """Own minus other on every task."""
    table = by_set(rows)
    return table[own] - table[other]


def in_reading(values: pd.Series, reading: str) -> pd.Series:
    """The tasks that read their classes that way; a split that the plan does not have."""
    return values[[keel.find(name).reading == reading for name in values.index]]


# -- the criterion ---------------------------------------------------------------------------------


def with_sum(criteria: pd.DataFrame) -> pd.DataFrame:
    """The automatic grid with one criterion more: the sum of two, each standardised over it."""
    part = criteria[criteria["width"].isin(WIDTHS)].copy()
    splits = part.groupby(["dataset", "trial"])[[CHOSEN, LIKELIHOOD]]
    deviation = splits.transform("std", ddof=0)
    standard = (part[[CHOSEN, LIKELIHOOD]] - splits.transform("mean")) / deviation
    return part.assign(**{SUM: standard.fillna(0.0).sum(axis=1)})  # a criterion that ties says 0


def losses(criteria: pd.DataFrame) -> pd.DataFrame:
    """Regret on the automatic grid, tasks × criteria, the sum among them."""
    return regret(with_sum(criteria))


def over_default(lost: pd.DataFrame, candidate: str) -> Interval:
    """Regret of a candidate minus that of the default criterion."""
    return cluster_interval(lost[candidate] - lost[CHOSEN])


def replaces_default(lost: pd.DataFrame, seen: pd.DataFrame, candidate: str) -> bool:
    """Rule 5 of the plan: better on the fresh tasks, and hardly worse on the sets seen before."""
    return (
        over_default(lost, candidate).high < 0.0
        and over_default(seen, candidate).mean <= MORE_ON_SEEN
    )


# -- what is in reach ------------------------------------------------------------------------------


def ceiling(criteria: pd.DataFrame, rows: pd.DataFrame, other: str = SVM) -> pd.Series:
    """AUC of the best width, chosen with labels, minus that of another detector: per task.

    Split by split, on the splits that both tables have, on the automatic grid.
    """
    part = criteria[criteria["width"].isin(WIDTHS)]
    best = part.groupby(["dataset", "trial"], sort=False)["auc"].max()
    return (best - trial_matrix(rows)[other]).dropna().groupby("dataset", sort=False).mean()


# -- what the chapter says and shows -------------------------------------------------------------


@finding("anomaly_fresh", "anomaly_fresh_criteria", "anomaly", "anomaly_criteria")
def fresh(
    rows: pd.DataFrame, criteria: pd.DataFrame, seen: pd.DataFrame, seen_criteria: pd.DataFrame
) -> Finding:
    """LpSVDDCV on tasks that nobody had looked at; ``seen`` are the tables of the sets before.

    The table of the finding is LpSVDDCV minus every other detector, the largest lead first.
    """
    means, lost, seen_lost = by_set(rows), losses(criteria), losses(seen_criteria)
    others = [name for name in means if name != OWN and not name.startswith("p = ")]
    closest = str(means[others].mean().idxmax())
    facts = {
        "tasks": len(means),
        "clusters": len({cluster_of(name) for name in means.index}),
        "largest": len(in_reading(means[OWN], keel.LARGEST)),
        "smallest": len(in_reading(means[OWN], keel.SMALLEST)),
        "splits": int(rows["trial"].nunique()),
        "auc": means[OWN].mean(),
        "closest": closest,
        "over_closest": worded(over(rows, closest)),
        "changes": [n for n in (LIKELIHOOD, SUM) if replaces_default(lost, seen_lost, n)],
        "ceiling": worded(cluster_interval(ceiling(criteria, rows))),
        "ceiling_seen": worded(cluster_interval(ceiling(seen_criteria, seen))),
    }
    decided = verdicts(rows, "all").values()
    pairs = {"nn": (NEIGHBOURS, OWN), "svm": (SVM, OWN), "defaults": (SVM, DEFAULTS)}
    for (key, (other, own)), holds in zip(pairs.items(), decided, strict=True):
        values = lead(rows, other, own)
        by_cluster, without = robustness(values)
        facts |= {
            f"over_{key}": worded(cluster_interval(values)),
            f"rule_{key}": "holds" if holds else "does not hold",
            f"{key}_by_cluster": signed(by_cluster),
            f"{key}_lowest": signed(without.min()),
            f"{key}_highest": signed(without.max()),
        }
    nn, svm = lead(rows, NEIGHBOURS), lead(rows, SVM)
    _, without = robustness(lost[SUM] - lost[CHOSEN])
    facts |= {
        "wins_nn": int((nn > 0).sum()),
        "nn_largest": worded(cluster_interval(in_reading(nn, keel.LARGEST))),
        "svm_largest": worded(cluster_interval(in_reading(svm, keel.LARGEST))),
        "svm_smallest": worded(cluster_interval(in_reading(svm, keel.SMALLEST))),
        "sum_without": str(without.idxmax()),
        "sum_highest": signed(without.max()),
    }
    short = {CHOSEN: "default", LIKELIHOOD: "likelihood", SUM: "sum", RANDOM: "random"}
    for name, key in (short | {ALWAYS: "always"}).items():
        facts[f"regret_{key}"] = lost[name].mean()
    for name in (LIKELIHOOD, SUM):
        facts[f"more_{short[name]}"] = worded(over_default(lost, name))
    table = pd.DataFrame({name: vars(over(rows, name)) for name in others}).T
    return Finding("", facts, table.sort_values("mean", ascending=False))
