r"""Summaries of differences with heavy tails, and the correction of many statements.

The rules are in ``studies/plans/heavy_tails.md``. Means with their intervals decide
(``evidence.compare_over_sets``); what is here is reported beside them. A value belongs to a table,
and tables of one cluster count as one: summaries are of cluster means, shares take the first table
of each cluster.

The hierarchical model: the difference of cluster t in draw j is d_tj = delta_t + e_tj with

.. math::

    \delta_t \sim t_\nu(\mu, \tau), \qquad e_{tj} \sim t_4(0, \sigma).

Its four parameters are integrated on a grid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from replication import table_sets
from replication.evidence import MARGIN, compare_over_sets, signed_rank
from replication.statistics import Interval, cluster_error, cluster_of

TRIMMED, LARGEST = 0.1, 3
FAR_BELOW = 60.0  # of the log posterior at the median: cells of the grid that are left out


class Range(NamedTuple):
    """An estimate between two limits."""

    value: float
    low: float
    high: float

    def __format__(self, form: str) -> str:
        """Show "+0.12 [+0.05, +0.20]", each number in the given form, here "+.2f"."""
        return f"{self.value:{form}} [{self.low:{form}}, {self.high:{form}}]".replace("-", "−")

    @classmethod
    def of(cls, found: Interval) -> Range:
        """Return a mean with its 95 % interval."""
        return cls(found.mean, found.low, found.high)


def cluster_means(values: pd.Series | pd.DataFrame) -> np.ndarray:
    """Return the mean of each cluster of tables (the index)."""
    return values.groupby([cluster_of(name) for name in values.index]).mean().to_numpy()


def one_a_cluster(values: pd.Series) -> pd.Series:
    """Keep the first table of each cluster, in the order of ``table_sets.names``."""
    order = {name: k for k, name in enumerate(table_sets.names("judged"))}
    placed = sorted(values.index, key=lambda name: order.get(name, len(order)))
    first = {cluster_of(name): name for name in reversed(placed)}
    return values[[name for name in values.index if first[cluster_of(name)] == name]]


def median_range(values: np.ndarray, level: float = 0.95) -> Range:
    """Return the median with the interval between two order statistics."""
    ordered, n = np.sort(values), len(values)
    below = int(stats.binom.ppf(0.5 * (1.0 - level), n, 0.5))
    if below < 1 or stats.binom.cdf(below - 1, n, 0.5) > 0.5 * (1.0 - level):
        return Range(float(np.median(values)), float("-inf"), float("inf"))
    return Range(float(np.median(values)), float(ordered[below - 1]), float(ordered[n - below]))


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


def summaries(values: pd.Series) -> dict[str, object]:
    """Return all that is reported of one difference, except for the model."""
    means, singles, rest = cluster_means(values), one_a_cluster(values), without_largest(values)
    found = compare_over_sets(values)
    return {
        "mean": Range.of(found),
        "90 %": Range(found.mean, found.low_90, found.high_90),
        "detectable": found.detectable,
        "median": median_range(means),
        "trimmed mean": trimmed_range(means),
        "Wilcoxon p": float(stats.wilcoxon(means, zero_method="pratt").pvalue),
        **{f"P({side})": value for side, value in signed_rank(values).items()},
        "above": share_range(int((singles > MARGIN).sum()), len(singles)),
        "below": share_range(int((singles < -MARGIN).sum()), len(singles)),
        "kurtosis": float(stats.kurtosis(means)),
        "without three": compare_over_sets(rest).mean,
        "state": found.state,
        "state without three": compare_over_sets(rest).state,
    }


# -- several statements ----------------------------------------------------------------------------


def p_exists(values: pd.Series, against: float = 0.0) -> float:
    """Return the p-value of "the mean is not ``against``", doubled as the intervals are widened."""
    error, clusters = cluster_error(values)
    t = abs(values.mean() - against) / error
    return float(min(1.0, 4.0 * stats.t.sf(t, clusters - 1)))


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
    ordered, largest, found = sorted(p_values, key=p_values.__getitem__), 0.0, {}
    for k, name in enumerate(ordered):
        largest = max(largest, min(1.0, (len(ordered) - k) * p_values[name]))
        found[name] = largest
    return {name: found[name] for name in p_values}


# -- the hierarchical model ------------------------------------------------------------------------


class QuadratureGrid(NamedTuple):
    """Numbers of steps; ``doubled`` is how the plan checks that they suffice."""

    mu: int = 41
    tau: int = 21
    sigma: int = 15
    x: int = 2801
    nu: tuple[float, ...] = (1, 1.5, 2, 3, 5, 8, 15, 30, 100)

    def doubled(self) -> QuadratureGrid:
        """Return a grid with twice as many steps."""
        between = [float(np.sqrt(a * b)) for a, b in zip(self.nu, self.nu[1:], strict=False)]
        finer = tuple(sorted([*self.nu, *between]))
        return QuadratureGrid(*(2 * steps - 1 for steps in self[:4]), finer)


class Posterior(NamedTuple):
    """Medians and 95 % intervals, and two probabilities of half a point."""

    mu: Range
    tau: Range
    nu: Range
    centre_within: float
    new_within: float


PLANNED = QuadratureGrid()


def hierarchical(draws: pd.DataFrame, grid: QuadratureGrid = PLANNED) -> Posterior:
    """Fit the model to differences, one row a table and one column a draw.

    With one draw there is no error of a draw. ``centre_within`` is P(abs(mu) < 0.5) and
    ``new_within`` P(abs(delta) < 0.5) of a new table.
    """
    d = cluster_means(draws)
    x = 0.2 * np.sinh(np.linspace(-1.0, 1.0, grid.x) * np.arcsinh(100.0 / 0.2))
    step = _trapezium(x)
    log_scales = np.log([0.05, 10.0])
    tau = np.exp(np.linspace(*log_scales, grid.tau))
    sigma = np.exp(np.linspace(*log_scales, grid.sigma)) if d.shape[1] > 1 else np.ones(1)
    noise = [_log_noise(d, x, step, s) if d.shape[1] > 1 else None for s in sigma]
    nu, mu = np.array(grid.nu), np.array([np.median(d)])
    prior_nu = np.log(_trapezium(nu)) + stats.gamma.logpdf(nu, 2.0, scale=10.0)
    matters = np.ones((len(nu), len(tau), len(sigma)), dtype=bool)
    for refined in range(3):  # the median alone, the whole range of mu, the likely range
        log_post = np.full((*matters.shape, len(mu)), -np.inf)
        for i, j in np.argwhere(matters.any(axis=2)):
            density = stats.t.pdf((x[:, None] - mu) / tau[j], nu[i]) / tau[j]
            for k in np.flatnonzero(matters[i, j]):
                log_post[i, j, k] = _log_likelihood(d, mu, tau[j], nu[i], density, noise[k])
        log_post += prior_nu[:, None, None, None] + stats.norm.logpdf(mu, scale=2.0)
        if not refined:
            matters = log_post[..., 0] > log_post.max() - FAR_BELOW
            mu = np.linspace(-4.0, 4.0, grid.mu)
            continue
        whole = np.exp(log_post - log_post.max())
        post, last = whole.sum(axis=2) / whole.sum(), mu
        of_mu = post.sum(axis=(0, 1))
        low, high = (_quantile(mu, of_mu, q) for q in (5e-5, 1.0 - 5e-5))
        gap = mu[1] - mu[0]
        mu = np.linspace(low - gap, high + gap, grid.mu)
    within = np.array([
        [stats.t.cdf((MARGIN - last) / t, f) - stats.t.cdf((-MARGIN - last) / t, f) for t in tau]
        for f in nu
    ])  # fmt: skip
    inside = np.interp([-MARGIN, MARGIN], last, np.cumsum(of_mu), left=0.0, right=1.0)
    return Posterior(
        _summary(last, of_mu), _summary(tau, post.sum(axis=(0, 2))),
        _summary(nu, post.sum(axis=(1, 2))), float(inside[1] - inside[0]),
        float((post * within).sum()),
    )  # fmt: skip


def _trapezium(points: np.ndarray) -> np.ndarray:
    """Return the weights of the trapezium rule."""
    gaps = np.diff(points)
    return 0.5 * (np.append(gaps, 0.0) + np.append(0.0, gaps))


def _log_noise(d: np.ndarray, x: np.ndarray, step: np.ndarray, scale: float) -> tuple:
    """Return prod_j t_4(d_tj - x; scale) times the step of x, scaled by cluster, and the scale."""
    log = stats.t.logpdf((d[:, :, None] - x) / scale, 4).sum(axis=1) - d.shape[1] * np.log(scale)
    top = log.max(axis=1, keepdims=True)
    return (np.exp(log - top) * step).astype(np.float32), float(top.sum())


def _log_likelihood(
    d: np.ndarray, mu: np.ndarray, tau: float, nu: float, density: np.ndarray, noise: tuple | None
) -> np.ndarray:
    """Return the log likelihood of every mu; ``density`` is that of a table's difference at x."""
    if noise is None:
        return stats.t.logpdf((d[:, 0] - mu[:, None]) / tau, nu).sum(axis=1) - len(d) * np.log(tau)
    weights, top = noise
    found = (weights @ density.astype(np.float32)).astype(float)
    return np.log(np.maximum(found, 1e-300)).sum(axis=0) + top


def _quantile(points: np.ndarray, mass: np.ndarray, level: float) -> float:
    """Return a quantile of a distribution on a grid."""
    return float(np.interp(level, np.cumsum(mass) - 0.5 * mass, points))


def _summary(points: np.ndarray, mass: np.ndarray) -> Range:
    """Return the median and the central 95 %."""
    return Range(*(_quantile(points, mass, level) for level in (0.5, 0.025, 0.975)))
