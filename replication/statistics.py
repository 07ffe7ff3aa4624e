r"""Ranks, tests and intervals for a matrix of results (data sets x methods).

Friedman: within each of N data sets the k methods are ranked (1 = highest AUC, ties share the
mean rank). With average ranks R_j and a correction for ties,

    chi2 = 12 N / (k (k+1)) (sum_j R_j^2 - k (k+1)^2 / 4)   ~ chi2(k-1),
    F    = (N-1) chi2 / (N (k-1) - chi2)                     ~ F(k-1, (k-1)(N-1))  (Iman-Davenport).

Nemenyi: two methods differ when their average ranks differ by more than

    CD = q_alpha sqrt(k (k+1) / (6 N)),   q_alpha = studentised range quantile / sqrt(2).

Clusters: D9, D12 and D19 are one table, D15 is the complete rows of D18; the other tables have
their own (``table_sets``). Averages are over data sets. With sums S_g, sizes n_g
of G clusters, n = sum n_g, the mean m = sum S_g / n has the standard error

    se = sqrt(G / (G - 1) sum_g (S_g - n_g m)^2) / n,

and its interval is m +- t se with G - 1 degrees of freedom. Differences over 17 clusters are skewed
and have outliers: on our own profiles a bootstrap of percentiles covers 89 % instead of 95 %, and
Student's interval 92 %. So the t quantile is that of half the error (97.5 % where 95 % is asked
for), which covers 94.6 % on average over the profiles
(``frozen/interval_coverage.csv``).

References: Friedman (1937); Iman and Davenport (1980); Demsar, JMLR 7 (2006).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from replication.paper import SIZES
from replication.wording import interval

HALF_THE_ERROR = 0.5
"""Share of the nominal error that the t quantile of a cluster interval is given (calibrated)."""
RELATED = {"D12": "D9", "D19": "D9", "D15": "D18"}
"""Data sets of the paper that share rows with another one, and the set that names their cluster."""


@dataclass(frozen=True)
class Friedman:
    """Average ranks with both tests of "all methods rank alike"."""

    ranks: pd.Series
    statistic: float
    p_value: float
    iman_davenport: float
    iman_davenport_p: float
    n_datasets: int


@dataclass(frozen=True)
class Interval:
    """A mean paired difference with its confidence interval, in AUC points.

    ``f"{found}"`` is +0.2 [−0.1, +0.4], ``f"{found:.2f}"`` the same with two digits, and
    ``f"{rate:-.1f}"`` is that of a level, not of a difference: 9.9 [9.7, 10.1].
    """

    mean: float
    low: float
    high: float
    n: int
    wins: int
    losses: int

    def __format__(self, form: str) -> str:
        sign = "-" if form.startswith("-") else "+"
        digits = form.lstrip("+-").strip(".f")
        return interval(self, int(digits) if digits else None, sign)

    def __str__(self) -> str:
        return format(self)

    @classmethod
    def around(cls, values: pd.Series | np.ndarray, half: float) -> Interval:
        """Return the mean of the values give or take ``half``; count those above and below zero."""
        mean, wins, losses = values.mean(), (values > 0).sum(), (values < 0).sum()
        return cls(
            *map(float, (mean, mean - half, mean + half)), len(values), *map(int, (wins, losses))
        )


def cluster_of(dataset: str) -> str:
    """Name of the cluster of related data sets."""
    if dataset in SIZES:
        return RELATED.get(dataset, dataset)
    from replication import table_sets  # the paper's own tables never need them

    return table_sets.clusters().get(dataset, dataset)


def by_cluster(values: Any) -> Any:
    """Group a series or frame over data sets (the index) by cluster."""
    return values.groupby([cluster_of(name) for name in values.index])


def cluster_count(names: Iterable[str]) -> int:
    """Number of clusters of related data sets among the names."""
    return len({cluster_of(name) for name in names})


def cluster_error(values: pd.Series) -> tuple[float, int]:
    """Standard error of the mean over data sets (the index), and the number of clusters.

    One cluster alone has no standard error: NaN.
    """
    groups = by_cluster(values)
    rest = groups.sum() - groups.size() * values.mean()
    if len(rest) < 2:
        return np.nan, len(rest)
    return float(np.sqrt(len(rest) / (len(rest) - 1) * (rest**2).sum())) / len(values), len(rest)


def calibrated_quantile(level: float, clusters: int) -> float:
    """Standard errors on either side of a mean over clusters for an interval of that level."""
    error = HALF_THE_ERROR * (1.0 - level)
    return float(stats.t.ppf(1.0 - 0.5 * error, clusters - 1))


def cluster_interval(values: pd.Series, *, level: float = 0.95) -> Interval:
    """Mean over data sets (the index) with the calibrated t interval over clusters.

    One cluster alone has no interval: its ends are NaN.
    """
    error, clusters = cluster_error(values)
    return Interval.around(values, error * calibrated_quantile(level, clusters))


def ranks(matrix: pd.DataFrame) -> pd.DataFrame:
    """Rank of every method within every data set, 1 for the highest value."""
    if matrix.isna().any().any():
        raise ValueError("the matrix has missing values: rank only complete rows")
    return matrix.rank(axis=1, ascending=False, method="average")


def friedman(matrix: pd.DataFrame) -> Friedman:
    """Friedman and Iman-Davenport tests of a matrix (rows: data sets, columns: methods)."""
    n, k = matrix.shape
    if n < 2 or k < 3:
        raise ValueError(f"the test needs at least 2 data sets and 3 methods, got {n} and {k}")
    statistic, p_value = stats.friedmanchisquare(*(matrix[column] for column in matrix))
    denominator = n * (k - 1) - statistic
    f_value = np.inf if denominator <= 0 else (n - 1) * statistic / denominator
    return Friedman(
        ranks=ranks(matrix).mean().rename("rank"),
        statistic=float(statistic),
        p_value=float(p_value),
        iman_davenport=float(f_value),
        iman_davenport_p=float(stats.f.sf(f_value, k - 1, (k - 1) * (n - 1))),
        n_datasets=n,
    )


def critical_difference(n_methods: int, n_datasets: int, alpha: float = 0.05) -> float:
    """Smallest difference of average ranks that Nemenyi's test calls significant."""
    quantile = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def wilcoxon_holm(matrix: pd.DataFrame) -> pd.DataFrame:
    """Pairwise p-values of Wilcoxon's signed-rank test, corrected by Holm's method."""
    from scikit_posthocs import posthoc_wilcoxon

    names = list(matrix.columns)
    found = posthoc_wilcoxon([matrix[name].to_numpy() for name in names], p_adjust="holm")
    found.index = found.columns = pd.Index(names)
    return found


def mean_interval(differences: ArrayLike, *, level: float = 0.95) -> Interval:
    """Mean of paired differences over the splits of one data set with Student's t interval.

    One difference alone has no interval: its ends are NaN.
    """
    values = np.asarray(differences, dtype=float)
    error = stats.sem(values) if len(values) > 1 else np.nan
    return Interval.around(values, error * stats.t.ppf(0.5 + 0.5 * level, len(values) - 1))


def trial_matrix(rows: pd.DataFrame, value: str = "auc") -> pd.DataFrame:
    """Rows of a results table as a matrix indexed by (dataset, trial), one column per method."""
    return rows.pivot(index=["dataset", "trial"], columns="method", values=value)


def mean_matrix(rows: pd.DataFrame, value: str = "auc") -> pd.DataFrame:
    """Means over the trials: one row per data set, one column per method, as they appear."""
    means = rows.groupby(["dataset", "method"], sort=False)[value].mean().unstack("method")
    return means.loc[list(dict.fromkeys(rows["dataset"])), list(dict.fromkeys(rows["method"]))]


def paired_differences(
    rows: pd.DataFrame, first: str, second: str, *, level: float = 0.95
) -> pd.DataFrame:
    """AUC of ``first`` minus AUC of ``second`` on the same splits, per data set and over all.

    Within a data set the interval is over its trials, which share rows of one table: it describes
    the spread over splits, not over fresh data. The last line ("all") is the mean over data sets
    with its interval over clusters.
    """
    by_set = difference_by_split(rows, first, second).groupby("dataset", sort=False)
    found = {name: mean_interval(values, level=level) for name, values in by_set}
    order = [name for name in dict.fromkeys(rows["dataset"]) if name in found]
    if len(found) > 1:
        found["all"] = cluster_interval(by_set.mean()[order], level=level)
        order.append("all")
    return pd.DataFrame({"dataset": name, **vars(found[name])} for name in order)


def difference_by_split(rows: pd.DataFrame, first: str, second: str) -> pd.Series:
    """AUC of ``first`` minus AUC of ``second`` on the splits that have both."""
    matrix = trial_matrix(rows[rows["method"].isin([first, second])])
    for name in (first, second):
        if name not in matrix:
            raise ValueError(f"method {name!r} is not in the table")
    return (matrix[first] - matrix[second]).dropna()
