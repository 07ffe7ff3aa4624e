"""What the paper says about its two tables, against the rerun.

The rules of the verdicts are those of ``studies/plans/hundred_splits.md``: a difference is the mean
over data sets of the mean paired difference over splits, its 95 % interval is over clusters of
related sets, and places are judged by their probability when clusters and splits are resampled.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from replication import printed
from replication.evidence import comparison_of, order_probability, weighed
from replication.findings import Finding, finding, graded, read
from replication.findings.printed import column
from replication.findings.rerun import FIRST, places_of
from replication.statistics import (
    cluster_count,
    cluster_of,
    critical_difference,
    friedman,
    mean_interval,
    mean_matrix,
    trial_matrix,
)
from replication.tables import method_label
from replication.wording import signed, worded

CERTAIN, UNLIKELY = 0.95, 0.05


@finding()
def rerun_wins(setting: str, over: str, rows: pd.DataFrame | None = None) -> Finding:
    """On how many data sets lp-SVDD is above one method, and by how much on average."""
    rows = read(setting) if rows is None else rows
    own, other = column("lp-SVDD", setting), column(over, setting)
    matrix = trial_matrix(rows)
    by_split = (matrix[own] - matrix[other]).groupby("dataset", sort=False)
    by_set = {name: mean_interval(values.dropna().to_numpy()) for name, values in by_split}
    lost = [name for name, found in by_set.items() if found.mean <= 0]
    average = comparison_of(rows, own, other)
    stated = printed.printed_matrix(setting)
    facts = {
        "wins": len(by_set) - len(lost),
        "total": len(by_set),
        "lost": lost,
        "above": sum(found.low > 0 for found in by_set.values()),
        "below": sum(found.high < 0 for found in by_set.values()),
        "average": weighed(average),
        "printed": signed((stated[own] - stated[other]).mean()),
        "splits": int(rows["trial"].nunique()),
    }
    return Finding(graded(not lost, average.low > 0), facts)


@finding()
def rerun_against(setting: str, over: list[str]) -> Finding:
    """Mean difference of lp-SVDD to each of several methods, with its interval."""
    rows, own = read(setting), column("lp-SVDD", setting)
    found = {name: comparison_of(rows, own, column(name, setting)) for name in over}
    above = [name for name, average in found.items() if average.low > 0]
    facts = {"each": "; ".join(f"{method_label(name)} {weighed(found[name])}" for name in over)}
    return Finding(graded(len(above) == len(over), bool(above)), facts)


@finding("pure")
def rerun_improvement(
    rows: pd.DataFrame, dataset: str = "D17", points: float = 28.0, over: Sequence[str] = FIRST[1:]
) -> Finding:
    """A stated gain on one data set: does it lie in the interval over splits, for each method?"""
    matrix = trial_matrix(rows).loc[dataset]
    stated = printed.printed_matrix("pure").loc[dataset]
    facts, reached = {}, 0
    for name in over:
        found = mean_interval((matrix["lp-SVDD"] - matrix[name]).dropna().to_numpy())
        reached += found.low <= points <= found.high or found.low > points
        short = name.split("-")[0]
        facts[short], facts[f"{short}_mean"] = worded(found), signed(found.mean)
        facts[f"{short}_printed"] = signed(stated["lp-SVDD"] - stated[name])
    return Finding(graded(reached == len(over), reached > 0), facts)


@finding()
def rerun_place(setting: str, method: str, place: int) -> Finding:
    """Place of a method by average rank, and the probability of the place claimed."""
    rows = read(setting)
    means = mean_matrix(rows)
    ranks = friedman(means).ranks.sort_values()
    name = column(method, setting)
    chance = float(places_of(setting, rows).loc[name, place])
    facts = {
        "place": int((ranks < ranks[name]).sum()) + 1,
        "methods": means.shape[1],
        "order": ", ".join(f"{method_label(n)} {value:.2f}" for n, value in ranks.items()),
        "critical": critical_difference(means.shape[1], cluster_count(means.index)),
        "chance": chance,
    }
    return Finding(graded(chance >= CERTAIN, chance > UNLIKELY), facts)


@finding()
def rerun_not_second(setting: str, methods: list[str]) -> Finding:
    """None of the methods ranks second: the probability that one of them does."""
    places = places_of(setting, read(setting))
    chances = {name: float(places.loc[column(name, setting), 2]) for name in methods}
    total = sum(chances.values())
    facts = {"chances": ", ".join(f"{method_label(n)} {value:.2f}" for n, value in chances.items())}
    return Finding(graded(total <= UNLIKELY, total < CERTAIN), facts)


@finding()
def rerun_order(setting: str, better: str, worse: str, rows: pd.DataFrame | None = None) -> Finding:
    """One method ranks better than another: how surely, and by the critical difference?"""
    rows = read(setting) if rows is None else rows
    means = mean_matrix(rows)
    ranks = friedman(means).ranks
    first, second = column(better, setting), column(worse, setting)
    critical = critical_difference(means.shape[1], cluster_count(means.index))
    chance = order_probability(rows, first, second)
    facts = {"better": float(ranks[first]), "worse": float(ranks[second])}
    facts |= {"critical": critical, "chance": chance}
    sure = chance >= 0.975
    return Finding(graded(sure and ranks[second] - ranks[first] > critical, sure), facts)


@finding()
def rerun_friedman(setting: str, level: float = 0.001) -> Finding:
    """Friedman's and Iman and Davenport's tests of the rerun, one row per cluster of sets."""
    means = mean_matrix(read(setting))
    clustered = means.groupby([cluster_of(name) for name in means.index], sort=False).mean()
    test = friedman(clustered)
    facts = {"p_value": test.p_value, "iman_davenport": test.iman_davenport_p}
    facts["clusters"] = len(clustered)
    return Finding(graded(max(test.p_value, test.iman_davenport_p) < level, False), facts)
