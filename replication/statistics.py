r"""Ranks, tests and intervals for a matrix of results (data sets x methods).

Friedman: within each of N data sets the k methods are ranked (1 = highest AUC, ties share the
mean rank). With average ranks R_j and a correction for ties,

    chi2 = 12 N / (k (k+1)) (sum_j R_j^2 - k (k+1)^2 / 4)   ~ chi2(k-1),
    F    = (N-1) chi2 / (N (k-1) - chi2)                     ~ F(k-1, (k-1)(N-1))  (Iman-Davenport).

Nemenyi: two methods differ when their average ranks differ by more than

    CD = q_alpha sqrt(k (k+1) / (6 N)),   q_alpha = studentised range quantile / sqrt(2).

Clusters: D9, D12 and D19 are one table, D15 is the complete rows of D18; the anomaly sets have
their own (``anomaly_sets.clusters``). Averages are over data sets; their intervals resample whole
clusters, so related sets do not count as independent.

References: Friedman (1937); Iman and Davenport (1980); Demsar, JMLR 7 (2006).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from replication.paper import SIZES

RESAMPLES = 10_000
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
    """A mean paired difference with its bootstrap confidence interval, in AUC points."""

    mean: float
    low: float
    high: float
    n: int
    wins: int
    losses: int


def interval_around(values: pd.Series | np.ndarray, low: float, high: float) -> Interval:
    """The mean of the values between these ends, and how many are above and below zero."""
    return Interval(
        mean=float(values.mean()),
        low=float(low),
        high=float(high),
        n=len(values),
        wins=int((values > 0).sum()),
        losses=int((values < 0).sum()),
    )


def cluster_of(dataset: str) -> str:
    """Name of the cluster of related data sets."""
    if dataset in SIZES:
        return RELATED.get(dataset, dataset)
    from replication.anomaly_sets import clusters  # the paper's own tables never need it

    return clusters().get(dataset, dataset)


def cluster_draws(values: pd.Series, resamples: int, seed: int) -> np.ndarray:
    """Means over data sets of resampled clusters."""
    groups = values.groupby([cluster_of(name) for name in values.index])
    sums, sizes = groups.sum().to_numpy(), groups.size().to_numpy()
    drawn = np.random.default_rng(seed).integers(len(sums), size=(resamples, len(sums)))
    return sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)


def cluster_interval(values: pd.Series, *, level: float = 0.95, seed: int = 0) -> Interval:
    """Mean over data sets (the index) with a percentile interval that resamples clusters.

    One cluster alone has no interval: its ends are NaN.
    """
    low = high = np.nan
    if len({cluster_of(name) for name in values.index}) > 1:
        tail = 50.0 * (1.0 - level)
        low, high = np.percentile(cluster_draws(values, RESAMPLES, seed), [tail, 100.0 - tail])
    return interval_around(values, low, high)


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


def mean_interval(differences: ArrayLike, *, level: float = 0.95, seed: int = 0) -> Interval:
    """Mean of paired differences with a percentile bootstrap interval (10 000 resamples).

    One difference alone has no interval: its ends are NaN.
    """
    values = np.asarray(differences, dtype=float)
    if len(values) == 1:
        low = high = np.nan
    elif np.ptp(values) == 0:
        low = high = values[0]
    else:
        found = stats.bootstrap(
            (values,),
            np.mean,
            n_resamples=10_000,
            confidence_level=level,
            method="percentile",
            rng=np.random.default_rng(seed),
        )
        low, high = found.confidence_interval
    return interval_around(values, low, high)


def trial_matrix(rows: pd.DataFrame, value: str = "auc") -> pd.DataFrame:
    """Rows of a results table as a matrix indexed by (dataset, trial), one column per method."""
    return rows.pivot(index=["dataset", "trial"], columns="method", values=value)


def mean_matrix(rows: pd.DataFrame, value: str = "auc") -> pd.DataFrame:
    """Means over the trials: one row per data set, one column per method, as they appear."""
    means = rows.groupby(["dataset", "method"], sort=False)[value].mean().unstack("method")
    return means.loc[list(dict.fromkeys(rows["dataset"])), list(dict.fromkeys(rows["method"]))]


def paired_differences(
    rows: pd.DataFrame, first: str, second: str, *, level: float = 0.95, seed: int = 0
) -> pd.DataFrame:
    """AUC of ``first`` minus AUC of ``second`` on the same splits, per data set and over all.

    Within a data set the trials are resampled; the trials share rows of one table, so these
    intervals describe the spread over splits, not over fresh data. In the last line ("all") the
    data sets' mean differences are resampled, cluster by cluster.
    """
    matrix = trial_matrix(rows)
    for name in (first, second):
        if name not in matrix:
            raise ValueError(f"method {name!r} is not in the table")
    difference = (matrix[first] - matrix[second]).dropna()
    names = [name for name in dict.fromkeys(rows["dataset"]) if name in difference.index.levels[0]]
    lines, means = [], []
    for name in names:
        values = difference.loc[name].to_numpy()
        means.append(values.mean())
        lines.append({"dataset": name, **vars(mean_interval(values, level=level, seed=seed))})
    if len(means) > 1:
        overall = cluster_interval(pd.Series(means, index=names), level=level, seed=seed)
        lines.append({"dataset": "all", **vars(overall)})
    return pd.DataFrame(lines)
