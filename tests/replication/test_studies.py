"""The deciding experiments on one small split each, and the parts that are new in them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from replication import studies
from replication.methods import SplitKernels
from replication.paper import COSTS, EXPONENTS
from replication.protocol import Task
from replication.studies import gain, general_solvers, negatives, preparation
from replication.trial import prepare

PURE = Task("D1", "pure", 0)
BOTH = Task("D1", "negatives", 0)


@pytest.fixture(scope="module")
def small() -> SplitKernels:
    return prepare(BOTH).kernels


def test_a_support_vector_has_a_millionth_of_the_largest_multiplier(monkeypatch) -> None:
    alpha = np.array([0.5, 1e-3, 6e-7, 4e-7, 0.0])
    solutions = [SimpleNamespace(p=p, c=1.0, alpha=alpha, radius_sq=0.3) for p in (1.0, 2.0)]
    monkeypatch.setattr(gain, "solve_path", lambda *_, **__: solutions)
    assert [row["support"] for row in gain.support(PURE)] == [3 / 5, 3 / 5]


def test_support_grows_towards_the_kernel_mean() -> None:
    rows = pd.DataFrame(gain.support(PURE))
    table = gain.summarise_support(rows).set_index(["p", "c"])
    assert len(table) == 11 * 4
    for p in EXPONENTS:
        shares = [table.loc[(p, c), "support_mean"] for c in COSTS]
        assert shares == sorted(shares, reverse=True)
    # 17 positives train: c <= 1e-2 has no l1 solution
    assert table.loc[(1.0, 1e-3), "feasible"] == 0
    assert np.isnan(table.loc[(1.0, 1e-3), "support_mean"])
    assert table.loc[(2.0, 1e-3), "negative_radius"] == 1.0


def test_the_sum_to_one_variant_solves_its_own_problem(small: SplitKernels) -> None:
    import cvxpy as cp

    y, K, p, c, c_neg = small.y, small.K, 2.0, 1e-2, 1e-3
    found = negatives.sum_to_one(small, p, c, c_neg)
    assert found.status == "optimal"
    assert found.alpha.sum() == pytest.approx(1.0) and found.alpha.min() >= 0.0
    alpha = cp.Variable(len(y), nonneg=True)
    cost = np.where(y > 0, c, c_neg)
    penalty = (1 - 1 / p) * (cost * p) ** (-1 / (p - 1))
    root = np.linalg.cholesky(K + 1e-10 * np.eye(len(y)))
    value = cp.multiply(y, K.diagonal()) @ alpha - cp.sum_squares(root.T @ cp.multiply(y, alpha))
    problem = cp.Problem(cp.Maximize(value - penalty @ alpha**2), [cp.sum(alpha) == 1])
    problem.solve(solver="CLARABEL")
    assert found.dual == pytest.approx(problem.value, abs=1e-6)
    assert np.allclose(found.alpha, alpha.value, atol=1e-4)
    # it is a different problem: here the negatives have weight
    assert found.alpha[y < 0].sum() > 0.01


def test_negatives_without_weight_are_counted(small: SplitKernels) -> None:
    rows = {row["grid"]: row for row in negatives.negative_weight(BOTH)}
    assert rows["paper"]["cells"] == 160 and rows["wide"]["cells"] == 196
    for row in rows.values():
        assert 0 <= row["with_weight"] <= row["cells"]
        # R^2 below the nearest negative leaves every negative outside, hence without weight
        assert row["with_weight"] + row["radius_below_nearest_negative"] <= row["cells"]
        assert row["largest_gap"] <= 1e-8


def test_contestants_with_negatives() -> None:
    rows = {row["contestant"]: row for row in negatives.negative_contest(BOTH)}
    assert len(rows) == 7
    # the means' difference contains the mean itself (lam = 0)
    assert rows["kernel mean difference"]["auc_val"] >= rows["kernel mean"]["auc_val"]
    assert json.loads(rows["two-class SVM"]["params"])["C"] > 0


def test_targets_change_the_task() -> None:
    tasks = preparation.target_tasks(["D1"], 1)
    assert [task.variant for task in tasks] == ["virginica", "versicolor", "setosa"]
    first, _, last = (preparation.targets(task) for task in tasks)
    assert [row["method"] for row in first][-1] == "kernel mean"
    assert first[-1]["auc"] != last[-1]["auc"]


def test_cvxpy_answers_and_what_is_selected_from_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(general_solvers, "EXPONENTS", (32 / 31, 2.0))
    monkeypatch.setattr(general_solvers, "COSTS", (1e-3, 1.0))
    rows = pd.DataFrame(general_solvers.cvxpy_grid(PURE))
    assert len(rows) == 4 * 4
    own = rows[rows["solver"] == "own"]
    assert (own["gap"] <= 1e-9).all()
    easy = rows[(rows["p"] == 2.0) & (rows["c"] == 1.0) & (rows["solver"] == "CLARABEL")].iloc[0]
    assert easy["gap"] < 1e-6  # whatever Clarabel calls it
    table = general_solvers.selections(rows).set_index(["solver", "kept"])
    assert table.loc[("own", "optimal"), "cells"] == 4
    assert table["auc_val"].max() <= 100.0


def test_run_store_and_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LPSVDD_RESULTS", str(tmp_path))
    computed = studies.run_study("validation_size", names=["D1"], trials=1, progress=False)
    assert len(computed) == 6
    stored = computed.assign(auc=1.0)
    studies.save_study("validation_size", stored, tmp_path)
    again = studies.run_study("validation_size", names=["D1"], progress=False)
    assert (again["auc"] == 1.0).all()
    fewer = studies.run_study("validation_size", names=["D1"], trials=1, progress=False)
    assert (fewer["auc"] != 1.0).all()
    with pytest.raises(KeyError, match="unknown experiment"):
        studies.run_study("horoscope")


def test_preparation_variants() -> None:
    tasks = preparation.preparation_tasks(["D1"], 1)
    assert len(tasks) == len(preparation.VARIANTS) == len({task.key for task in tasks})
    default = preparation.preparation(tasks[0])
    narrow = preparation.preparation(tasks[5])
    assert len(default) == 10 and len(narrow) == 7
    assert tasks[5].options.width_factor == 0.25
