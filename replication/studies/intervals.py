r"""How often do intervals for a mean over clusters of data sets cover it? On our own differences.

A profile is the difference of two contestants of a stored table, one value a data set. It is taken
as a population of clusters: G of them are drawn with replacement, the interval is computed, and it
covers or misses the mean of the profile. Three intervals, at 95 and at 90 %:

* percentiles of a bootstrap of clusters (what was used before);
* Student's t over clusters;
* the same with half the error, ``statistics.cluster_interval``.

A profile whose mean hangs on one cluster is the hard case: that cluster is absent from a third of
the draws, and no interval made of the others knows of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import stats

from replication.evidence import difference_by_set
from replication.results import read
from replication.statistics import calibrated_quantile, cluster_of, ratio_error
from replication.studies.study import simulation

CONTESTS = {"pure": "lp-SVDD", "negatives": "lp-SVDD-", "common_range": "lp, 40 cells"}
"""Stored tables and the contestant that the others are compared with."""
DRAWS, RESAMPLES, LEVELS = 2000, 400, (0.95, 0.9)


def profiles() -> Iterator[tuple[str, str, pd.Series]]:
    """Table, other contestant and the differences by data set."""
    for table, own in CONTESTS.items():
        rows = read(table).rename(columns={"contestant": "method"})
        for other in dict.fromkeys(rows["method"]):
            if other != own:
                values = difference_by_set(rows, own, other)
                if values.abs().max() > 0.0:
                    yield table, other, values


def percentile_ends(
    sums: np.ndarray, sizes: np.ndarray, level: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Ends of the bootstrap interval of one draw of clusters."""
    drawn = rng.integers(len(sums), size=(RESAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
    return float(low), float(high)


def coverage(values: pd.Series, level: float, rng: np.random.Generator) -> dict[str, float]:
    """Share of draws in which each interval covers the mean of the profile."""
    groups = values.groupby([cluster_of(name) for name in values.index])
    sums, sizes = groups.sum().to_numpy(), groups.size().to_numpy()
    truth, count = float(values.mean()), len(sums)
    drawn = rng.integers(count, size=(DRAWS, count))
    s, n = sums[drawn], sizes[drawn]
    away = np.abs(s.sum(axis=1) / n.sum(axis=1) - truth)
    error = ratio_error(s, n)
    ends = np.array([percentile_ends(*one, level, rng) for one in zip(s, n, strict=True)])
    tiny = 1e-12 * float(values.abs().max())
    return {
        "percentile": float(np.mean((ends[:, 0] - tiny <= truth) & (truth <= ends[:, 1] + tiny))),
        "student": float(np.mean(away <= stats.t.ppf(0.5 + 0.5 * level, count - 1) * error + tiny)),
        "calibrated": float(np.mean(away <= calibrated_quantile(level, count) * error + tiny)),
    }


@simulation(
    "How often does an interval over clusters cover the mean difference?",
    name="interval_coverage",
    contests=CONTESTS,
    draws=DRAWS,
    resamples=RESAMPLES,
    levels=LEVELS,
)
def interval_coverage() -> pd.DataFrame:
    """One row a profile and level: the coverage of three intervals, in per cent."""
    rng = np.random.default_rng(24)
    rows = []
    for table, other, values in profiles():
        for level in LEVELS:
            shares = {name: round(100 * v, 2) for name, v in coverage(values, level, rng).items()}
            where = {"table": table, "other": other, "level": 100 * level}
            clusters = len({cluster_of(name) for name in values.index})
            skewness = round(float(stats.skew(values)), 3)
            rows.append(where | {"clusters": clusters, "skewness": skewness} | shares)
    return pd.DataFrame(rows)
