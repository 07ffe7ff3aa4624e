"""Checks of what the paper says about its results against ``results/pure.csv``, ``negatives.csv``.

The decision rules are those of ``studies/plans/hundred_splits.md``. A difference between two
methods is the mean over data sets of the mean paired difference over splits, in AUC points; its
95 % interval resamples clusters of related sets. Places are judged by their probability when
clusters and splits are resampled.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd

from replication.claims.consistency import column
from replication.claims.ledger import Outcome, check
from replication.evidence import comparison_of, order_probability, rank_places, weighed
from replication.printed import printed_matrix
from replication.protocol import Task
from replication.results import stored_table
from replication.statistics import (
    cluster_of,
    critical_difference,
    friedman,
    mean_interval,
    mean_matrix,
    signed,
    trial_matrix,
    worded,
)
from replication.tables import method_label
from replication.trial import prepare

CERTAIN = 0.95
UNLIKELY = 0.05


@check
def rerun_wins(setting: str, over: str) -> Outcome:
    """On how many data sets lp-SVDD is above one method, and by how much on average."""
    rows = stored_table(setting)
    own, other = column("lp-SVDD", setting), column(over, setting)
    matrix = trial_matrix(rows)
    by_split = (matrix[own] - matrix[other]).groupby("dataset", sort=False)
    by_set = {name: mean_interval(values.dropna().to_numpy()) for name, values in by_split}
    lost = [name for name, found in by_set.items() if found.mean <= 0]
    average = comparison_of(rows, own, other)
    facts = {
        "wins": len(by_set) - len(lost),
        "total": len(by_set),
        "lost": ", ".join(lost) or "none",
        "above": sum(found.low > 0 for found in by_set.values()),
        "below": sum(found.high < 0 for found in by_set.values()),
        "average": weighed(average),
        "printed": signed((printed_matrix(setting)[own] - printed_matrix(setting)[other]).mean()),
        "splits": int(rows["trial"].nunique()),
    }
    if not lost:
        return Outcome("holds", facts)
    return Outcome("holds partly" if average.low > 0 else "not reproduced", facts)


@check
def rerun_against(setting: str, over: list[str]) -> Outcome:
    """Mean difference of lp-SVDD to each of several methods, with its interval."""
    rows = stored_table(setting)
    own = column("lp-SVDD", setting)
    found = {name: comparison_of(rows, own, column(name, setting)) for name in over}
    above = [name for name, average in found.items() if average.low > 0]
    facts = {"each": "; ".join(f"{method_label(name)} {weighed(found[name])}" for name in over)}
    partly = "holds partly" if above else "not reproduced"
    return Outcome("holds" if len(above) == len(over) else partly, facts)


@check
def rerun_improvement(dataset: str, points: float, over: list[str]) -> Outcome:
    """A stated gain on one data set: does it lie in the interval over splits, for each method?"""
    matrix = trial_matrix(stored_table("pure")).loc[dataset]
    facts, reached = {}, 0
    for name in over:
        found = mean_interval((matrix["lp-SVDD"] - matrix[name]).dropna().to_numpy())
        reached += found.low <= points <= found.high or found.low > points
        facts[name.split("-")[0]] = worded(found)
    partly = "holds partly" if reached else "not reproduced"
    return Outcome("holds" if reached == len(over) else partly, facts)


def _places(setting: str) -> pd.DataFrame:
    rows = stored_table(setting)
    return _places_of(setting, tuple(rows["auc"].round(4)))


@lru_cache(maxsize=8)
def _places_of(setting: str, key: tuple[float, ...]) -> pd.DataFrame:
    """Probabilities of places; ``key`` makes a changed table a new question."""
    return rank_places(stored_table(setting))


@check
def rerun_place(setting: str, method: str, place: int) -> Outcome:
    """Place of a method by average rank, and the probability of the place claimed."""
    means = mean_matrix(stored_table(setting))
    ranks = friedman(means).ranks.sort_values()
    name = column(method, setting)
    chance = float(_places(setting).loc[name, place])
    facts = {
        "place": int((ranks < ranks[name]).sum()) + 1,
        "methods": means.shape[1],
        "order": ", ".join(f"{method_label(n)} {value:.2f}" for n, value in ranks.items()),
        "critical": critical_difference(means.shape[1], means.shape[0]),
        "chance": chance,
    }
    partly = "not reproduced" if chance <= UNLIKELY else "holds partly"
    return Outcome("holds" if chance >= CERTAIN else partly, facts)


@check
def rerun_not_second(setting: str, methods: list[str]) -> Outcome:
    """None of the methods ranks second: the probability that one of them does."""
    places = _places(setting)
    chances = {name: float(places.loc[column(name, setting), 2]) for name in methods}
    total = sum(chances.values())
    facts = {"chances": ", ".join(f"{method_label(n)} {value:.2f}" for n, value in chances.items())}
    partly = "not reproduced" if total >= CERTAIN else "holds partly"
    return Outcome("holds" if total <= UNLIKELY else partly, facts)


@check
def rerun_order(setting: str, better: str, worse: str) -> Outcome:
    """One method ranks better than another: how surely, and by the critical difference?"""
    rows = stored_table(setting)
    means = mean_matrix(rows)
    ranks = friedman(means).ranks
    first, second = column(better, setting), column(worse, setting)
    critical = critical_difference(means.shape[1], means.shape[0])
    chance = order_probability(rows, first, second)
    facts = {
        "better": float(ranks[first]),
        "worse": float(ranks[second]),
        "critical": critical,
        "chance": chance,
    }
    if chance < 0.975:
        return Outcome("not reproduced", facts)
    return Outcome("holds" if ranks[second] - ranks[first] > critical else "holds partly", facts)


@check
def rerun_friedman(setting: str, level: float = 0.001) -> Outcome:
    """Friedman's and Iman and Davenport's tests of the rerun, one row per cluster of sets."""
    means = mean_matrix(stored_table(setting))
    clustered = means.groupby([cluster_of(name) for name in means.index], sort=False).mean()
    test = friedman(clustered)
    facts = {
        "p_value": f"{test.p_value:.1e}",
        "iman_davenport": f"{test.iman_davenport_p:.1e}",
        "clusters": len(clustered),
    }
    reject = max(test.p_value, test.iman_davenport_p) < level
    return Outcome("holds" if reject else "not reproduced", facts)


@check
def who_uses_negatives() -> Outcome:
    """What labelled negatives change for l1, l2 and lp between the two tables.

    The same splits; the kernel width changes as well. Holds when lp gains and gains more than both
    others, with intervals above zero; partly when it gains.
    """
    columns = ["dataset", "method", "trial", "auc"]
    rows = pd.concat([stored_table(setting)[columns] for setting in ("pure", "negatives")])
    rows = rows[rows["trial"] <= stored_table("negatives")["trial"].max()]
    found = {
        name: comparison_of(rows, f"{name}-", name) for name in ("l1-SVDD", "l2-SVDD", "lp-SVDD")
    }
    facts = {"each": "; ".join(f"{method_label(n)} {weighed(d)}" for n, d in found.items())}
    lp = found["lp-SVDD"]
    most = all(lp.mean > found[name].mean for name in ("l1-SVDD", "l2-SVDD"))
    partly = "holds partly" if lp.low > 0 else "not reproduced"
    return Outcome("holds" if lp.low > 0 and most else partly, facts)


@check
def process_with_negatives(
    names: tuple[str, ...] = ("D7", "D12", "D14", "D17"), noise: float = 0.1, label: float = -1.0
) -> Outcome:
    """A Gaussian process regressed on +1 and ``label`` against one regressed on the +1 alone.

    Test AUC on the first three splits of some data sets. The claim that a GP cannot use negatives
    directly holds when they change nothing, and is not reproduced when they raise the AUC.
    """
    from replication.protocol import auc

    gains = []
    for name in names:
        for trial_number in range(3):
            trial = prepare(Task(name, "negatives", trial_number))
            kernels, m = trial.kernels, len(trial.y_validation)
            positive = kernels.y > 0
            both = np.linalg.solve(
                kernels.K + noise * np.eye(len(positive)), np.where(positive, 1.0, label)
            )
            block = kernels.K[np.ix_(positive, positive)]
            alone = np.linalg.solve(block + noise * np.eye(len(block)), np.ones(len(block)))
            scores = kernels.K_eval @ both, kernels.K_eval[:, positive] @ alone
            one, two = (auc(values[m:], trial.y_test) for values in scores)
            gains.append(one - two)
    gain = float(np.mean(gains))
    facts = {"gain": signed(gain), "sets": len(names)}
    return Outcome("not reproduced" if gain > 0.5 else "holds", facts)
