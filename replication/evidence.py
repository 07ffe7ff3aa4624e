r"""What a comparison of two methods over the data sets can and cannot say.

Equivalence: two contestants are equivalent when the 90 % interval of their mean difference lies
inside +-MARGIN AUC points (two one-sided tests at 5 %). ``Difference.detectable`` says what the
comparison could have seen: the true difference found with probability 0.8 at the 5 % level.
``rank_places`` gives the probability of every place by average rank. Related data sets count as
one cluster throughout (``statistics``).

Reference: Benavoli, Corani, Demsar and Zaffalon, JMLR 18 (2017) for the Bayesian signed-rank test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from replication.statistics import (
    Interval,
    by_cluster,
    calibrated_quantile,
    cluster_error,
    cluster_interval,
    cluster_of,
    difference_by_split,
    trial_matrix,
)
from replication.wording import signed

MARGIN = 0.5
"""AUC points below which a difference does not matter in practice."""


@dataclass(frozen=True)
class Difference(Interval):
    """A mean paired difference over data sets with all that a decision about it needs.

    ``low``, ``high``: 95 % cluster interval; ``low_90``, ``high_90``: the one of the two one-sided
    tests; ``detectable``: see the module; ``lowest``, ``highest``: the ends over the data sets.
    """

    low_90: float
    high_90: float
    detectable: float
    lowest: float
    highest: float

    @property
    def exists(self) -> bool:
        """Whether the 95 % interval excludes zero."""
        return self.low > 0.0 or self.high < 0.0

    @property
    def equivalent(self) -> bool:
        """Whether the 90 % interval lies inside the margin."""
        return -MARGIN < self.low_90 and self.high_90 < MARGIN

    @property
    def state(self) -> str:
        """What the data say: "higher", "lower", "equivalent", both, or "undecided"."""
        direction = "" if not self.exists else "higher" if self.mean > 0 else "lower"
        words = [word for word in (direction, "equivalent" if self.equivalent else "") if word]
        return ", yet ".join(words) or "undecided"


def compare_over_sets(values: pd.Series) -> Difference:
    """Everything about a mean difference, given one value per data set (the index).

    One cluster alone has no interval: its ends are NaN.
    """
    error, clusters = cluster_error(values)
    wide, narrow = cluster_interval(values), cluster_interval(values, level=0.9)
    needed = calibrated_quantile(0.95, clusters) + stats.t.ppf(0.8, clusters - 1)
    further = narrow.low, narrow.high, needed * error, values.min(), values.max()
    return Difference(*vars(wide).values(), *map(float, further))


def signed_rank(values: pd.Series) -> dict[str, float]:
    """Bayesian signed-rank test on cluster means: probabilities of lower, equivalent, higher."""
    from baycomp import SignedRankTest

    means = by_cluster(values).mean().to_numpy()
    found = SignedRankTest.probs(
        means, np.zeros_like(means), rope=MARGIN, nsamples=10_000, random_state=0
    )
    return dict(zip(("higher", "equivalent", "lower"), map(float, found), strict=True))


def difference_by_set(rows: pd.DataFrame, first: str, second: str) -> pd.Series:
    """Mean over the splits of AUC(first) - AUC(second), one value per data set."""
    return difference_by_split(rows, first, second).groupby("dataset", sort=False).mean()


def rank_places(rows: pd.DataFrame, *, resamples: int = 4000) -> pd.DataFrame:
    """Probability of each place (columns 1, 2, ...) of each method by average rank.

    Clusters are resampled, and the splits within each data set; every resample gives means, ranks
    and average ranks. Ties in the average rank share the better place.
    """
    rng = np.random.default_rng(0)
    matrix = trial_matrix(rows)[list(dict.fromkeys(rows["method"]))]
    clusters = {name: cluster_of(name) for name in rows["dataset"].unique()}
    different = list(dict.fromkeys(clusters.values()))

    def drawn(count: int) -> np.ndarray:
        return rng.multinomial(count, [1 / count] * count, size=resamples)

    picks, total = drawn(len(different)), np.zeros((resamples, matrix.shape[1]))
    for name, cluster in clusters.items():
        values = matrix.loc[name].to_numpy()
        means = drawn(len(values)) / len(values) @ values
        placed = stats.rankdata(-np.round(means, 6), axis=1)
        total += placed * picks[:, [different.index(cluster)]]
    places = stats.rankdata(np.round(total, 6), axis=1, method="min").astype(int)
    shares = {k: (places == k).mean(axis=0) for k in range(1, matrix.shape[1] + 1)}
    return pd.DataFrame(shares, index=matrix.columns)


def order_probability(rows: pd.DataFrame, better: str, worse: str, **options) -> float:
    """Probability that one method has the better average rank, resampled as in rank_places."""
    both = rank_places(rows[rows["method"].isin([better, worse])], **options)
    tie = max(float(both[1].sum()) - 1.0, 0.0)  # share of resamples in which both have place 1
    return float(both.loc[better, 1] - 0.5 * tie)


def comparison_of(rows: pd.DataFrame, first: str, second: str) -> Difference:
    """All that decides about two contestants of a table: intervals, equivalence, power."""
    rows = rows if "method" in rows else rows.rename(columns={"contestant": "method"})
    return compare_over_sets(difference_by_set(rows, first, second))


def compare(rows: pd.DataFrame, pairs: Mapping[str, tuple[str, str]]) -> dict[str, Difference]:
    """Every named pair of contestants: the first minus the second."""
    return {name: comparison_of(rows, *pair) for name, pair in pairs.items()}


def as_table(found: Mapping[str, Difference]) -> pd.DataFrame:
    """Differences as lines of a table, for a look and for a figure."""
    lines = [{**vars(one), "decision": one.state} for one in found.values()]
    columns = [
        "mean", "low", "high", "decision", "detectable", "lowest", "highest", "wins", "losses", "n",
    ]  # fmt: skip
    return pd.DataFrame(lines, index=pd.Index(found, name="comparison"))[columns]


def decision_table(rows: pd.DataFrame, pairs: Mapping[str, tuple[str, str]]) -> pd.DataFrame:
    """One line per pair: difference, 95 % interval, what it says, power, Bayesian probabilities."""
    lines = {}
    for name, (first, second) in pairs.items():
        values = difference_by_set(rows, first, second)
        found, bayes = compare_over_sets(values), signed_rank(values)
        lines[name] = {
            "difference": f"{found:.2f}",
            "decision": found.state,
            "detectable": found.detectable,
            "single sets": f"{signed(found.lowest)} to {signed(found.highest)}",
            "P(lower, within, higher)": ", ".join(
                f"{bayes[side]:.2g}" for side in ("lower", "equivalent", "higher")
            ),
            "won : lost": f"{found.wins} : {found.losses}",
        }
    return pd.DataFrame(list(lines.values()), index=pd.Index(lines, name="comparison"))
