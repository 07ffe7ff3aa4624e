"""Summaries with heavy tails: known answers, and a model that finds what it was drawn from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from replication import heavy_tails as tails


def series(values) -> pd.Series:
    return pd.Series(values, index=[f"t{k}" for k in range(len(values))], dtype=float)


def test_median_range_of_order_statistics_covers():
    rng = np.random.default_rng(0)
    found = [tails.median_range(rng.standard_t(2, size=60)) for _ in range(600)]
    held = np.mean([one.low <= 0.0 <= one.high for one in found])
    assert 0.93 < held < 0.99
    few = tails.median_range(np.arange(5.0))
    assert few.value == 2.0 and few.low == -np.inf  # no two order statistics reach 95 %


def test_shares_have_the_interval_of_clopper_and_pearson():
    none = tails.share_range(0, 100)
    assert none.low == 0.0 and none.high == pytest.approx(1 - 0.025 ** (1 / 100))
    assert f"{tails.Range(-0.5, -1.0, 0.25):+.1f}" == "−0.5 [−1.0, +0.2]"


def test_summaries_do_not_follow_three_wild_tables():
    calm = np.random.default_rng(1).normal(0.1, 0.2, size=100)
    found = tails.summaries(series([*calm, 300.0, 300.0, 300.0]))
    assert found["mean"].value > 8.0 and found["kurtosis"] > 20.0
    assert abs(found["without three"] - 0.1) < 0.1 and abs(found["median"].value - 0.1) < 0.1
    assert abs(found["trimmed mean"].value - 0.1) < 0.1
    assert (
        found["state"] == "undecided" and found["state without three"] == "higher, yet equivalent"
    )


def test_p_values_say_what_the_intervals_say():
    rng = np.random.default_rng(2)
    for mean in (0.0, 0.1, 0.3, 0.45):
        values = series(rng.normal(mean, 1.0, size=80))
        found = tails.compare_over_sets(values)
        assert (tails.p_exists(values) < 0.05) == found.exists
        assert (tails.p_equivalent(values) < 0.05) == found.equivalent
