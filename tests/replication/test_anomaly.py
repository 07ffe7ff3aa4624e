"""The studies on anomaly sets: splits, contestants, criteria, grid, on one made-up set."""

from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd
import pytest

from replication import anomaly_sets
from replication.studies import anomaly as study
from replication.studies import novelty
from replication.studies.novelty import AnomalyTask


@pytest.fixture
def small_set(monkeypatch, tmp_path):
    """A made-up set in place of "wine": a cloud of 90 rows, 24 anomalies round it."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(90, 3)), 3.0 + rng.normal(size=(24, 3))]) * [1.0, 20.0, 0.0]
    y = np.repeat([0, 1], [90, 24])
    path = tmp_path / "45_wine.npz"
    np.savez(path, X=X, y=y)
    one = anomaly_sets.AnomalySet(
        45,
        "wine",
        path.name,
        "",
        "wine",
        *X.shape,
        24,
        hashlib.sha256(path.read_bytes()).hexdigest(),
    )
    monkeypatch.setenv(anomaly_sets.ADBENCH_VARIABLE, str(tmp_path))
    monkeypatch.setattr(anomaly_sets, "SETS", (one, anomaly_sets.find("cover")))
    novelty._loaded.cache_clear()
    yield X, y == 1
    novelty._loaded.cache_clear()


def test_a_split_trains_on_half_of_the_normal_rows_and_tests_on_the_others(small_set):
    X, anomaly = small_set
    found = novelty.split(AnomalyTask("wine", 0))
    assert found.train.shape == (45, 3) and found.test.shape == (45 + 24, 3)
    assert (found.y[:45] == 1).all() and (found.y[45:] == -1).all()
    assert np.allclose(found.train.mean(axis=0), 0.0) and np.isfinite(found.test).all()
    assert np.allclose(found.train.std(axis=0), [1.0, 1.0, 0.0])
    few = novelty.split(AnomalyTask("wine", 0), 20, 10)
    assert few.train.shape == (20, 3) and few.y.tolist() == [1] * 10 + [-1] * 10
    other = novelty.split(AnomalyTask("wine", 1))
    assert not np.allclose(other.train, found.train)
    again = novelty.split(AnomalyTask("wine", 0))
    assert np.array_equal(again.test, found.test)


def test_contamination_replaces_training_rows_and_never_tests_on_them(small_set):
    clean, mixed = (novelty.split(AnomalyTask("wine", 0, share)) for share in (0, 20))
    assert len(mixed.train) == len(clean.train) == 45
    assert (mixed.y == -1).sum() == 24 - 9 and (mixed.y == 1).sum() == 45
    spread = mixed.train.max(axis=0) - mixed.train.mean(axis=0)
    assert mixed.train[-9:, :2].mean() > 1.0 > mixed.train[:-9, :2].mean() and spread[0] > 1.0
    one = anomaly_sets.find("wine")
    assert study.enough_anomalies(one, 20) and not study.enough_anomalies(one, 50)


def test_tasks_name_what_is_missing_before_anything_is_computed(small_set, monkeypatch):
    assert [task.key for task in study.tasks(["wine"], 2)] == ["wine-000-0", "wine-001-0"]
    keys = [task.key for task in study.tasks_with_contamination(["wine"], 1)]
    assert keys == ["wine-000-0", "wine-000-5", "wine-000-10", "wine-000-20"]
    with pytest.raises(anomaly_sets.AnomalyDataError, match="lacks cover"):
        study.tasks(["wine", "cover"], 1)
    monkeypatch.delenv(anomaly_sets.ADBENCH_VARIABLE)
    with pytest.raises(anomaly_sets.AnomalyDataError, match=anomaly_sets.ADBENCH_VARIABLE):
        study.tasks(["wine"], 1)


def test_every_contestant_has_a_row_and_finds_the_cloud(small_set):
    rows = pd.DataFrame(study.anomaly(AnomalyTask("wine", 0)))
    assert rows["method"].tolist() == [
        "LpSVDDCV", "p = 2", "p = 1", "p = 1.2", "p = 5", "kernel mean", "LpSVDD defaults",
        "OneClassSVM", "nearest neighbours", "local outlier factor", "isolation forest", "ECOD",
        "kernel density",
    ]  # fmt: skip
    assert rows["auc"].min() > 80.0
    assert rows.set_index("method").loc[["p = 2", "LpSVDDCV"], "auc"].nunique() == 1
    mixed = pd.DataFrame(study.anomaly_contaminated(AnomalyTask("wine", 0, 20)))
    assert (mixed["contaminated"] == 20).all() and mixed["auc"].mean() < rows["auc"].mean()
    assert rows["gap"].dropna().max() < 1e-9 and rows["gap"].notna().sum() == 6
    assert rows["width"].iloc[0] in [2.0**k for k in range(7)]


def test_criteria_and_grid_cover_every_width(small_set):
    rows = pd.DataFrame(study.anomaly_criteria(AnomalyTask("wine", 0)))
    assert tuple(rows["width"]) == study.WIDTHS
    assert set(study.CRITERION_COLUMNS) < set(rows) and rows.notna().all().all()
    kinds = rows[[name for name in rows if name.startswith("only ")]]
    assert rows["artificial-outliers"].to_numpy() == pytest.approx(kinds.mean(axis=1).to_numpy())
    grid = pd.DataFrame(study.anomaly_grid(AnomalyTask("wine", 0)))
    assert len(grid) == len(study.GRID_WIDTHS) * (4 * len(study.GRID_SHARES) + 1)
    assert grid.groupby(["p", "nu", "width"]).size().eq(1).all()


def test_ecod_is_that_of_pyod_for_one_new_row():
    from pyod.models.ecod import ECOD

    rng = np.random.default_rng(4)
    train, test = rng.exponential(size=(60, 3)) * [1.0, -1.0, 1.0], rng.normal(size=(8, 3))
    ours = novelty.Ecod().fit(train).score_samples(test)
    theirs = [-ECOD().fit(train).decision_function(row[None])[0] for row in test]
    assert ours == pytest.approx(theirs)


def test_neighbours_score_by_the_fifth():
    rows = np.arange(10.0)[:, None]
    assert novelty.Neighbours().fit(rows).score_samples([[-1.0]]) == pytest.approx(-5.0)
