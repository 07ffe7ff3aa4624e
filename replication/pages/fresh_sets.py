r"""Sets that nobody had looked at: the verdicts on LpSVDDCV, its criterion, and what is in reach.

Tables: ``results/anomaly_fresh.csv`` and ``anomaly_fresh_criteria.csv``; the plan with the decision
rules is ``studies/plans/anomaly_fresh.md``. Means are over tasks, after means over splits;
intervals (95 %) resample whole clusters of tasks from one source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from lpsvdd.selection._search import WIDTHS
from replication import anomaly_sets
from replication.figures import panels
from replication.pages import Facts
from replication.pages.tuning import (
    ALWAYS,
    CHOSEN,
    DEFAULTS,
    NEIGHBOURS,
    OWN,
    RANDOM,
    SVM,
    by_set,
    draw_dots,
    over,
    regret,
    verdicts,
)
from replication.statistics import (
    Interval,
    cluster_interval,
    cluster_of,
    signed,
    trial_matrix,
    worded,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LIKELIHOOD, SUM = "likelihood", "artificial outliers + likelihood"
MORE_ON_SEEN = 0.1  # points of regret on the sets seen before that a new default may cost: rule 5


@dataclass(frozen=True)
class Robustness:
    """A mean over tasks in other ways: clusters count once; the ends when one is left out."""

    by_cluster: float
    lowest: float
    lowest_without: str
    highest: float
    highest_without: str


def robustness(values: pd.Series) -> Robustness:
    """How much a mean over tasks (the index) rests on single clusters and on their sizes."""
    clusters = pd.Series([cluster_of(name) for name in values.index], index=values.index)
    without = pd.Series({one: values[clusters != one].mean() for one in clusters.unique()})
    return Robustness(
        by_cluster=float(values.groupby(clusters).mean().mean()),
        lowest=float(without.min()),
        lowest_without=str(without.idxmin()),
        highest=float(without.max()),
        highest_without=str(without.idxmax()),
    )


def lead(rows: pd.DataFrame, other: str, own: str = OWN) -> pd.Series:
    """Own minus other on every task."""
    table = by_set(rows)
    return table[own] - table[other]


def in_reading(values: pd.Series, reading: str) -> pd.Series:
    """The tasks that read their classes that way; a split that the plan does not have."""
    return values[[anomaly_sets.find(name).reading == reading for name in values.index]]


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


# -- figure and text -------------------------------------------------------------------------------


def draw_fresh(rows: pd.DataFrame, narrow: bool = False) -> Figure:
    """LpSVDDCV minus every other detector on the fresh tasks, with intervals."""
    names = [name for name in by_set(rows) if name != OWN and not name.startswith("p = ")]
    found = {name: vars(over(rows, name)) for name in names}
    table = pd.DataFrame(found).T[["mean", "low", "high"]].astype(float)
    table = table.sort_values("mean", ascending=False)
    figure, (ax,) = panels(1, narrow=narrow, height=3.2)
    ax.axvline(0, color="#888888", lw=0.8)
    labels = [f"{name}  {signed(mean)}" for name, mean in table["mean"].items()]
    draw_dots(ax, table, labels, ["vermillion"] * len(table), narrow)
    ax.set_xlim(left=min(0.0, table["low"].min()))
    ax.set_xlabel("LpSVDDCV minus it, AUC points")
    return figure


def fresh_facts(
    rows: pd.DataFrame, criteria: pd.DataFrame, seen: pd.DataFrame, seen_criteria: pd.DataFrame
) -> Facts:
    """Numbers of the section, by name; ``seen`` are the tables of the sets seen before."""
    table, lost, seen_lost = by_set(rows), losses(criteria), losses(seen_criteria)
    candidates = [name for name in (LIKELIHOOD, SUM) if replaces_default(lost, seen_lost, name)]
    facts: Facts = {
        "fresh_tasks": len(table),
        "fresh_clusters": len({cluster_of(name) for name in table.index}),
        "fresh_largest": len(in_reading(table[OWN], anomaly_sets.LARGEST)),
        "fresh_smallest": len(in_reading(table[OWN], anomaly_sets.SMALLEST)),
        "fresh_splits": int(rows["trial"].nunique()),
        "fresh_auc": f"{table[OWN].mean():.1f}",
        "fresh_closest": table.mean().drop([OWN, *table.filter(regex="^p = ")]).idxmax(),
        "fresh_changes": " or ".join(candidates) or "none",
        "fresh_ceiling": worded(cluster_interval(ceiling(criteria, rows))),
        "fresh_ceiling_seen": worded(cluster_interval(ceiling(seen_criteria, seen))),
    }
    facts["fresh_over_closest"] = worded(over(rows, str(facts["fresh_closest"])))
    decided = verdicts(rows, "all").values()
    pairs = {"nn": (NEIGHBOURS, OWN), "svm": (SVM, OWN), "defaults": (SVM, DEFAULTS)}
    for (key, (other, own)), holds in zip(pairs.items(), decided, strict=True):
        values = lead(rows, other, own)
        other_ways = robustness(values)
        facts |= {
            f"fresh_over_{key}": worded(cluster_interval(values)),
            f"fresh_rule_{key}": "holds" if holds else "does not hold",
            f"fresh_{key}_by_cluster": signed(other_ways.by_cluster),
            f"fresh_{key}_lowest": signed(other_ways.lowest),
            f"fresh_{key}_highest": signed(other_ways.highest),
        }
    nn, svm = lead(rows, NEIGHBOURS), lead(rows, SVM)
    facts |= {
        "fresh_wins_nn": int((nn > 0).sum()),
        "fresh_nn_largest": worded(cluster_interval(in_reading(nn, anomaly_sets.LARGEST))),
        "fresh_svm_largest": worded(cluster_interval(in_reading(svm, anomaly_sets.LARGEST))),
        "fresh_svm_smallest": worded(cluster_interval(in_reading(svm, anomaly_sets.SMALLEST))),
    }
    rests = robustness(lost[SUM] - lost[CHOSEN])
    facts["fresh_more_sum_highest"] = signed(rests.highest)
    facts["fresh_more_sum_without"] = rests.highest_without
    short = {
        CHOSEN: "default", LIKELIHOOD: "likelihood", SUM: "sum", RANDOM: "random", ALWAYS: "always",
    }  # fmt: skip
    for name, key in short.items():
        facts[f"fresh_regret_{key}"] = f"{lost[name].mean():.1f}"
    for name in (LIKELIHOOD, SUM):
        facts[f"fresh_more_{short[name]}"] = worded(over_default(lost, name))
    return facts
