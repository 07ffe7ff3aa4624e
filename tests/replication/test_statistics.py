"""Tests and intervals against hand-made cases and against what the paper prints."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from replication.evidence import compare_over_sets, order_probability, rank_places
from replication.statistics import (
    calibrated_quantile,
    cluster_interval,
    cluster_of,
    critical_difference,
    friedman,
    mean_interval,
    mean_matrix,
    paired_differences,
)


@pytest.fixture
def perfect() -> pd.DataFrame:
    """Ten data sets on which a > b > c always."""
    rng = np.random.default_rng(0)
    base = rng.uniform(50, 90, size=10)
    return pd.DataFrame({"a": base + 2, "b": base + 1, "c": base})


def test_friedman_of_a_constant_order(perfect: pd.DataFrame) -> None:
    found = friedman(perfect)
    # average ranks 1, 2, 3 of N = 10, k = 3: chi2 = N (k - 1) = 20, the largest possible
    assert found.ranks.tolist() == [1.0, 2.0, 3.0]
    assert found.statistic == pytest.approx(20.0)
    assert found.p_value == pytest.approx(np.exp(-10.0))
    assert found.iman_davenport == np.inf and found.iman_davenport_p == 0.0


def test_critical_difference_of_demsar() -> None:
    # Demsar (2006), Table 5: q_0.05 = 2.569 for four methods; his example with 14 data sets: 1.25
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


def test_paired_differences_per_data_set_and_over_all() -> None:
    rows = pd.DataFrame(
        [
            {"dataset": d, "method": m, "trial": t, "auc": 60 + 5 * i + t + (m == "a") * gain}
            for i, (d, gain) in enumerate([("D1", 2.0), ("D2", -1.0), ("D3", 4.0)])
            for m in ("a", "b")
            for t in range(3)
        ]
    )
    found = paired_differences(rows, "a", "b").set_index("dataset")
    assert list(found.index) == ["D1", "D2", "D3", "all"]
    assert found.loc["D2", "mean"] == pytest.approx(-1.0)
    assert found.loc["all", "mean"] == pytest.approx(5 / 3)
    assert found.loc["all", "wins"] == 2 and found.loc["all", "losses"] == 1
    assert mean_matrix(rows).loc["D1", "a"] == pytest.approx(63.0)
    with pytest.raises(ValueError, match="'c' is not in the table"):
        paired_differences(rows, "a", "c")


def _values(**by_set: float) -> pd.Series:
    return pd.Series(by_set)


def test_related_sets_count_once() -> None:
    """Three copies of one table say no more than one: the interval must not shrink with them."""
    rng = np.random.default_rng(0)
    alone = pd.Series({f"X{k}": value for k, value in enumerate(rng.normal(size=12))})
    copies = pd.concat([alone, _values(D9=2.0, D12=2.0, D19=2.0)])
    apart = pd.concat([alone, _values(E1=2.0, E2=2.0, E3=2.0)])
    clustered, naive = cluster_interval(copies), cluster_interval(apart)
    assert clustered.mean == pytest.approx(naive.mean)
    assert clustered.high - clustered.low > naive.high - naive.low
    assert {cluster_of(name) for name in ("D9", "D12", "D19")} == {"D9"}
    assert cluster_of("D15") == cluster_of("D18") != cluster_of("D17")


def test_cluster_interval_is_student_s_with_half_the_error() -> None:
    """Without relations: the t interval of 97.5 % where 95 % is asked for."""
    values = pd.Series(np.linspace(-1, 2, 30), index=[f"X{k}" for k in range(30)])
    wider, clustered = mean_interval(values.to_numpy(), level=0.975), cluster_interval(values)
    assert clustered.low == pytest.approx(wider.low)
    assert clustered.high == pytest.approx(wider.high)
    assert np.isnan(cluster_interval(values[:1]).low)


@pytest.mark.parametrize(
    ("mean", "spread", "state"),
    [
        (0.0, 0.2, "equivalent"),
        (0.2, 0.1, "higher, yet equivalent"),
        (2.0, 1.0, "higher"),
        (-2.0, 1.0, "lower"),
        (0.4, 3.0, "undecided"),
    ],
)
def test_states_of_a_difference(mean: float, spread: float, state: str) -> None:
    noise = np.random.default_rng(1).normal(size=16)
    noise = (noise - noise.mean()) / noise.std()
    values = pd.Series(mean + spread * noise, index=[f"X{k}" for k in range(16)])
    assert compare_over_sets(values).state == state


def test_detectable_difference_is_found_four_times_in_five() -> None:
    """What is called detectable for deviation 1 is found by the t test in 80 % of new draws."""
    rng = np.random.default_rng(2)
    names = [f"X{k}" for k in range(17)]
    samples = [pd.Series(rng.normal(size=17), index=names) for _ in range(40)]
    detectable = np.mean([compare_over_sets(one).detectable / one.std(ddof=1) for one in samples])
    draws = rng.normal(detectable, 1.0, size=(4000, 17))
    t = draws.mean(axis=1) / (draws.std(axis=1, ddof=1) / np.sqrt(17))
    assert np.mean(t > calibrated_quantile(0.95, 17)) == pytest.approx(0.8, abs=0.04)


def _table(means: dict[str, float], noise: float, sets: int = 10, splits: int = 6) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        [
            {"dataset": f"X{s}", "trial": t, "method": m, "auc": 70 + v + noise * rng.normal()}
            for s in range(sets)
            for t in range(splits)
            for m, v in means.items()
        ]
    )


def test_places_are_certain_where_methods_are_far_apart_and_open_where_not() -> None:
    clear = rank_places(_table({"a": 9.0, "b": 0.0, "c": -9.0}, 0.5), resamples=300)
    assert clear.loc["a", 1] == clear.loc["b", 2] == clear.loc["c", 3] == 1.0
    open_ = rank_places(_table({"a": 0.0, "b": 0.0, "c": -9.0}, 3.0), resamples=300)
    assert 0.02 < open_.loc["a", 1] < 0.98
    assert open_.loc["c", 3] == 1.0
    ties = rank_places(_table({"a": 0.0, "b": 0.0}, 0.0), resamples=50)
    assert ties[1].tolist() == [1.0, 1.0]
    assert order_probability(_table({"a": 9.0, "b": 0.0}, 0.5), "a", "b", resamples=50) == 1.0
    assert order_probability(_table({"a": 0.0, "b": 0.0}, 0.0), "a", "b", resamples=50) == 0.5
