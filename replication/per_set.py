r"""Differences set by set, shrunk towards their mean: is an exception real or noise?

The mean difference y_s of a data set over its splits has the standard error e_s. With

    y_s ~ N(theta_s, e_s^2),    theta_s ~ N(mu, tau^2),

tau is the spread over sets that the splits do not explain. It solves (Paule and Mandel 1982)

    Q(tau) = sum_s (y_s - mu)^2 / (e_s^2 + tau^2) = S - 1,   mu the mean with these weights;

Q(0) is Cochran's test of "all sets alike". Given tau, a set's effect is normal with mean
w y_s + (1 - w) mu, w = tau^2 / (tau^2 + e_s^2), and variance w e_s^2. Splits share the rows of one
table: an effect is that on this table, not on fresh data of its kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import optimize, stats

LEAST_ERROR = 0.01
"""AUC points; a set on which two methods agree on nearly every split is not known better."""


@dataclass(frozen=True)
class Effects:
    """``table``: per data set mean, error, and the shrunken mean with its 95 % ends."""

    table: pd.DataFrame
    mean: float
    between: float
    q: float
    freedom: int
    p_value: float

    def beyond(self, sign: int) -> list[str]:
        """Sets whose shrunken interval lies above (+1) or below (-1) zero."""
        end = self.table["low"] if sign > 0 else -self.table["high"]
        return list(self.table.index[end > 0.0])


def effects(differences: pd.Series) -> Effects:
    """The model fitted to differences indexed by (dataset, trial)."""
    groups = differences.dropna().groupby("dataset", sort=False)
    mean, error = groups.mean(), np.maximum(groups.sem(), LEAST_ERROR)
    freedom = len(mean) - 1
    if freedom < 1:
        raise ValueError("effects set by set need at least two data sets")

    def centre(tau: float) -> float:
        return float(np.average(mean, weights=1.0 / (error**2 + tau**2)))

    def q(tau: float) -> float:
        return float((((mean - centre(tau)) ** 2) / (error**2 + tau**2)).sum())

    widest = 10.0 * float(np.ptp(mean)) + LEAST_ERROR
    tau = 0.0
    if q(0.0) > freedom:
        tau = float(optimize.brentq(lambda t: q(t) - freedom, 0.0, widest))
    weight = tau**2 / (tau**2 + error**2)
    shrunk = weight * mean + (1.0 - weight) * centre(tau)
    half = stats.norm.ppf(0.975) * np.sqrt(weight) * error
    table = pd.DataFrame({
        "observed": mean, "error": error,
        "mean": shrunk, "low": shrunk - half, "high": shrunk + half,
    })  # fmt: skip
    return Effects(table, centre(tau), tau, q(0.0), freedom, float(stats.chi2.sf(q(0.0), freedom)))
