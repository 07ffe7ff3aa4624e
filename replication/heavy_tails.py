"""Summaries of differences with heavy tails, and the correction of many statements.

The rules are in ``studies/plans/heavy_tails.md``. Means with their intervals decide
(``evidence.compare_over_sets``); what is here is reported beside them. A value belongs to a table,
and tables of one cluster count as one: summaries are of cluster means, shares take the first table
of each cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from replication import table_sets
from replication.evidence import MARGIN, compare_over_sets, signed_rank
from replication.statistics import by_cluster, cluster_error, cluster_of

TRIMMED, LARGEST = 0.1, 3


class Range(NamedTuple):
    """An estimate between two limits."""

    value: float
    low: float
    high: float

    def __format__(self, form: str) -> str:
        """Show "+0.12 [+0.05, +0.20]", each number in the given form, here "+.2f"."""
        return f"{self.value:{form}} [{self.low:{form}}, {self.high:{form}}]".replace("-", "−")


def one_a_cluster(values: pd.Series) -> pd.Series:
    """Keep the first table of each cluster, in the order of ``table_sets.names``."""
    order = {name: k for k, name in enumerate(table_sets.names("judged"))}
    placed = sorted(values.index, key=lambda name: order.get(name, len(order)))
    first = {cluster_of(name): name for name in reversed(placed)}
    return values[[first[cluster_of(name)] == name for name in values.index]]


def median_range(values: np.ndarray) -> Range:
    """Return the median with the interval between two order statistics."""
    low, high = stats.quantile_test(values).confidence_interval()
    ends = (float(np.nan_to_num(end, nan=far)) for end, far in ((low, -np.inf), (high, np.inf)))
    return Range(float(np.median(values)), *ends)


def trimmed_range(values: np.ndarray) -> Range:
    """Return the mean without a tenth at each end, with its interval."""
    low, high = stats.mstats.trimmed_mean_ci(values, (TRIMMED, TRIMMED))
    return Range(float(stats.trim_mean(values, TRIMMED)), float(low), float(high))


def share_range(hits: int, n: int, level: float = 0.95) -> Range:
    """Return a share with the interval of Clopper and Pearson."""
    if n == 0:
        return Range(float("nan"), 0.0, 1.0)
    low, high = stats.binomtest(hits, n).proportion_ci(level)
    return Range(hits / n, float(low), float(high))


def without_largest(values: pd.Series, count: int = LARGEST) -> pd.Series:
    """Leave out the tables of largest absolute value."""
    return values.drop(values.abs().sort_values(kind="stable").index[-count:])


def summaries(values: pd.Series) -> dict[str, Any]:
    """Return all that is reported of one difference."""
    means, singles = by_cluster(values).mean().to_numpy(), one_a_cluster(values)
    found = compare_over_sets(values)
    rest = compare_over_sets(without_largest(values))
    return {
        "mean": Range(found.mean, found.low, found.high),
        "median": median_range(means),
        "trimmed mean": trimmed_range(means),
        "P(equivalent)": signed_rank(values)["equivalent"],
        "above": share_range(int((singles > MARGIN).sum()), len(singles)),
        "below": share_range(int((singles < -MARGIN).sum()), len(singles)),
        "kurtosis": float(stats.kurtosis(means)),
        "without three": rest.mean,
        "state": found.state,
        "state without three": rest.state,
    }


# -- several statements ----------------------------------------------------------------------------


def p_exists(values: pd.Series, against: float = 0.0) -> float:
    """Return the p-value of "the mean is not ``against``", doubled as the intervals are widened."""
    error, clusters = cluster_error(values)
    t = abs(values.mean() - against) / error
    return float(min(1.0, 4.0 * stats.t.sf(t, clusters - 1)))


def p_positive(values: pd.Series) -> float:
    """Return the p-value of "the difference exists and is positive"."""
    return p_exists(values) if values.mean() > 0.0 else 1.0


def p_equivalent(values: pd.Series) -> float:
    """Return the p-value of "the mean is within the margin": the larger of two, doubled."""
    error, clusters = cluster_error(values)
    return float(min(1.0, 2.0 * stats.t.sf((MARGIN - abs(values.mean())) / error, clusters - 1)))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Correct the p-values of one family by Holm's method.

    Examples
    --------
    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    ordered = pd.Series(p_values, dtype=float).sort_values(kind="stable")
    corrected = ordered * np.arange(len(ordered), 0, -1)
    return corrected.clip(upper=1.0).cummax()[list(p_values)].to_dict()
