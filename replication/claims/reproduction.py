"""Checks of what the paper says about its results against ``results/pure.csv``, ``negatives.csv``.

A difference between two methods is the mean over data sets of the mean paired difference over
splits, in AUC points; its interval is a 95 % bootstrap interval over data sets. A claim about every
data set holds when every mean difference has the sign claimed, and holds partly when the interval
of the average does.
"""

from __future__ import annotations

from replication.claims.consistency import column
from replication.claims.ledger import Outcome, check
from replication.printed import printed_matrix
from replication.results import stored_table
from replication.statistics import (
    Interval,
    critical_difference,
    friedman,
    mean_interval,
    mean_matrix,
    paired_interval,
    signed,
    trial_matrix,
    worded,
)
from replication.tables import method_label


def verdict_of(wins: int, total: int, average: Interval) -> str:
    """Every data set: holds. The average, with its interval: holds partly."""
    if wins == total:
        return "holds"
    return "holds partly" if average.low > 0 else "not reproduced"


@check
def rerun_wins(setting: str, over: str) -> Outcome:
    """On how many data sets lp-SVDD is above one method, and by how much on average."""
    rows = stored_table(setting)
    own, other = column("lp-SVDD", setting), column(over, setting)
    means = mean_matrix(rows)
    lost = means.index[means[own] <= means[other]]
    average = paired_interval(rows, own, other)
    facts = {
        "wins": len(means) - len(lost),
        "total": len(means),
        "lost": ", ".join(lost) or "none",
        "average": worded(average),
        "printed": signed((printed_matrix(setting)[own] - printed_matrix(setting)[other]).mean()),
    }
    return Outcome(verdict_of(facts["wins"], facts["total"], average), facts)


@check
def rerun_against(setting: str, over: list[str]) -> Outcome:
    """Mean difference of lp-SVDD to each of several methods, with its interval."""
    rows = stored_table(setting)
    found = {
        name: paired_interval(rows, column("lp-SVDD", setting), column(name, setting))
        for name in over
    }
    above = [name for name, average in found.items() if average.low > 0]
    facts = {
        "each": "; ".join(f"{method_label(name)} {worded(found[name])}" for name in over),
        "above": len(above),
        "total": len(over),
    }
    partly = "holds partly" if above else "not reproduced"
    return Outcome("holds" if len(above) == len(over) else partly, facts)


@check
def rerun_improvement(dataset: str, points: float, over: list[str]) -> Outcome:
    """A stated gain on one data set: does it lie in the interval over splits, for each method?"""
    matrix = trial_matrix(stored_table("pure")).loc[dataset]
    facts, reached = {}, 0
    for name in over:
        found = mean_interval((matrix["lp-SVDD"] - matrix[name]).to_numpy())
        reached += found.low <= points <= found.high or found.low > points
        facts[name.split("-")[0]] = worded(found)
    partly = "holds partly" if reached else "not reproduced"
    return Outcome("holds" if reached == len(over) else partly, facts)


@check
def rerun_place(setting: str, method: str, place: int) -> Outcome:
    """Place of a method by average rank, and its distance from the first."""
    means = mean_matrix(stored_table(setting))
    ranks = friedman(means).ranks.sort_values()
    name = column(method, setting)
    found = int((ranks < ranks[name]).sum()) + 1
    critical = critical_difference(means.shape[1], means.shape[0])
    facts = {
        "rank": float(ranks[name]),
        "place": found,
        "methods": means.shape[1],
        "order": ", ".join(f"{method_label(n)} {value:.2f}" for n, value in ranks.items()),
        "critical": critical,
        "behind": float(ranks[name] - ranks.iloc[0]),
    }
    return Outcome("holds" if found == place else "not reproduced", facts)


@check
def rerun_order(setting: str, better: str, worse: str) -> Outcome:
    """One method ranks better than another; by more than Nemenyi's critical difference?"""
    means = mean_matrix(stored_table(setting))
    ranks = friedman(means).ranks
    high, low = ranks[column(better, setting)], ranks[column(worse, setting)]
    critical = critical_difference(means.shape[1], means.shape[0])
    partly = "holds partly" if high < low else "not reproduced"
    facts = {"better": float(high), "worse": float(low), "critical": critical}
    return Outcome("holds" if low - high > critical else partly, facts)


@check
def rerun_friedman(setting: str, level: float = 0.001) -> Outcome:
    """Friedman's and Iman and Davenport's tests of the rerun."""
    test = friedman(mean_matrix(stored_table(setting)))
    facts = {"p_value": f"{test.p_value:.1e}", "iman_davenport": f"{test.iman_davenport_p:.1e}"}
    reject = max(test.p_value, test.iman_davenport_p) < level
    return Outcome("holds" if reject else "not reproduced", facts)
