"""Every study keeps one contract; below it, what single studies promise beyond it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lpsvdd.solver import solve
from replication.experiment import REQUIRED_SHARE, TOLERANCE, unchanged
from replication.nonnegative import solve_nonnegative
from replication.protocol import JudgedCell, Task, prepare
from replication.results import read
from replication.studies import STUDIES, general_solvers, negatives, radius_rule, ranges
from replication.studies.decisions import decision_rates
from replication.studies.ranges import outside_and_support
from replication.studies.study import mean_cell, shared_place_rows
from replication.table_sets import VARIABLE, records

PURE, BOTH = Task("D1", "pure", 0), Task("D1", "negatives", 0)
PLANS = Path(ranges.__file__).with_name("plans")
OLDER = {"preparation", "negative_contest", "cvxpy_grid", "bound_coverage", "bound_terms"}
"""Studies that are older than the first plan."""
LONG = {"cvxpy_grid", "labelled_outliers_tables"}
"""Half a minute a task or more: a smaller one is tried in a test of its own."""
ON_TABLES = {
    n for n, one in STUDIES.items() if one.names and set(one.names) <= set(records().index)
}
"""Their tables are not part of the project: made again where the folder is named."""
WITH_PYOD = {"peers"}
SUMMARISED = {"bound_coverage", "bound_terms", "rejection_coverage"}
"""Tables over hundreds of repetitions: one of them has the columns and not the numbers."""
AGREE = {"relabelling": 0.95}
"""Share of the rows to make again, where rounding decides between two models that are as near."""
NO_FOLDER = pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} names no folder")


@pytest.fixture(scope="module")
def kernels():
    return prepare(PURE).kernels


def jobs():
    for name in sorted(set(STUDIES) - LONG - WITH_PYOD):
        marks = (NO_FOLDER, pytest.mark.slow) if name in ON_TABLES else ()
        yield pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", list(jobs()))
def test_a_job_makes_its_stored_rows_again(name: str) -> None:
    """The first split of D7, or what stands for it; every split where the table is of means."""
    one, stored = STUDIES[name], read(name)
    first = stored["dataset"].iloc[0] if name in ON_TABLES else "D7"
    names = [name for name in (first, *one.names) if name in one.names][:1]
    whole = one.finish is not unchanged and name not in SUMMARISED
    tasks = one.tasks(names, one.trials if whole else 1)
    rows = [row for task in (tasks if whole else tasks[:1]) for row in one.job(task)]
    made = one.finish(pd.DataFrame(json.loads(json.dumps(rows))))
    assert list(made) == list(stored)
    if name in SUMMARISED:
        return
    for key in ("dataset", "trial"):
        if key in stored:
            stored = stored[stored[key] == made[key].iloc[0]]
    agrees = np.full(len(made), True)
    for column in (c for c in made if c != "params" and "gap" not in c and "seconds" not in c):
        new, old = made[column].reset_index(drop=True), stored[column].iloc[: len(made)]
        if pd.api.types.is_numeric_dtype(old):
            new = pd.to_numeric(new)
            agrees &= np.isclose(new, old, rtol=1e-3, atol=TOLERANCE, equal_nan=True)
        else:
            agrees &= new.fillna("").astype(str).to_numpy() == old.fillna("").astype(str).to_numpy()
    assert agrees.mean() >= AGREE.get(name, REQUIRED_SHARE)


def test_every_study_has_a_plan() -> None:
    plans = " ".join(path.read_text(encoding="utf-8") for path in PLANS.glob("*.md"))
    assert [name for name in set(STUDIES) - OLDER if f"`{name}.csv`" not in plans] == []


def test_tied_cells_share_the_place_whatever_their_order() -> None:
    cells = [
        JudgedCell({}, *aucs) for aucs in ((80.0, 10.0), (90.0, 60.0), (None, None), (90.0, 70.0))
    ]
    for order in (cells, cells[::-1]):
        (row,) = shared_place_rows(PURE, {"a": order})
        assert (row["auc"], row["tied"], row["cells"]) == (65.0, 2, 4)
        assert {row["auc_first"], row["auc_last"]} == {60.0, 70.0}
    (row,) = shared_place_rows(PURE, {"a": cells[2:3]})
    assert row["auc"] is None and row["tied"] == 0


def test_the_sum_to_one_variant_solves_its_own_problem() -> None:
    import cvxpy as cp

    small = prepare(BOTH).kernels
    y, K, p, c, c_neg = small.y, small.K, 2.0, 1e-2, 1e-3
    found = negatives.sum_to_one(small, p, c, c_neg)
    assert found.status == "optimal"
    assert found.alpha.sum() == pytest.approx(1.0) and found.alpha.min() >= 0.0
    alpha = cp.Variable(len(y), nonneg=True)
    penalty = (1 - 1 / p) * (np.where(y > 0, c, c_neg) * p) ** (-1 / (p - 1))
    root = np.linalg.cholesky(K + 1e-10 * np.eye(len(y)))
    value = cp.multiply(y, K.diagonal()) @ alpha - cp.sum_squares(root.T @ cp.multiply(y, alpha))
    problem = cp.Problem(cp.Maximize(value - penalty @ alpha**2), [cp.sum(alpha) == 1])
    problem.solve(solver="CLARABEL")
    assert found.dual == pytest.approx(problem.value, abs=1e-6)
    assert np.allclose(found.alpha, alpha.value, atol=1e-4)
    assert found.alpha[y < 0].sum() > 0.01  # a different problem: here the negatives have weight


def test_cvxpy_answers_and_what_is_selected_from_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(general_solvers, "EXPONENTS", (32 / 31, 2.0))
    monkeypatch.setattr(general_solvers, "COSTS", (1e-3, 1.0))
    rows = pd.DataFrame(general_solvers.cvxpy_grid(PURE))
    assert list(rows) == list(read("cvxpy_grid")) and len(rows) == 4 * 4
    assert (rows[rows["solver"] == "own"]["gap"] <= 1e-9).all()
    easy = rows[(rows["p"] == 2.0) & (rows["c"] == 1.0) & (rows["solver"] == "CLARABEL")].iloc[0]
    assert easy["gap"] < 1e-6  # whatever Clarabel calls it
    table = general_solvers.selections(rows).set_index(["solver", "kept"])
    assert table.loc[("own", "optimal"), "cells"] == 4
    assert table["auc_val"].max() <= 100.0


@pytest.mark.parametrize("p", [1.0, 32 / 31, 2.0, 20.0])
def test_forty_cells_reach_from_the_hard_ball_to_the_mean(kernels, p):
    cells = [solve(kernels.K, p=p, c=c) for c in ranges.share_costs(kernels, p)]
    assert len(cells) == 40
    hard = solve(kernels.K, p=1.0, c=1.0).alpha
    ends = (cells[0].alpha - hard, cells[-1].alpha - 1.0 / len(hard))
    whole = hard - 1.0 / len(hard)
    to_hard, to_mean, length = (float(np.sqrt(v @ kernels.K @ v)) for v in (*ends, whole))
    assert to_hard < 0.02 * length and to_mean < 0.1 * length
    assert (np.diff([cell.radius_sq for cell in cells]) <= 1e-6).all()


@pytest.mark.parametrize("task", [PURE, BOTH], ids=["pure", "negatives"])
def test_readings_are_the_solutions_of_their_rules(task):
    kernels = prepare(task).kernels
    cells = radius_rule.readings(kernels, [2.0])
    pairs = len(cells["free"])
    assert pairs == (4 if task is PURE else 16)
    for k in (0, pairs - 1):
        params = cells["nonnegative"][k].params
        cost = np.where(kernels.y > 0, params["c"], params.get("c2", params["c"]))
        for radius, rule in (("free", solve), ("nonnegative", solve_nonnegative)):
            beta = kernels.y * rule(kernels.K, kernels.y, p=2.0, c=cost).alpha
            expected = 2 * kernels.K_eval @ beta - kernels.diag_eval - beta @ kernels.K @ beta
            assert np.allclose(cells[radius][k].scores, expected, atol=1e-4)
    # c = 1e-3 is below c*: there the two rules differ
    assert not np.allclose(cells["free"][0].scores, cells["nonnegative"][0].scores, atol=1e-4)


def test_l1_without_a_solution_becomes_the_mean_when_the_radius_is_kept(kernels):
    cells = radius_rule.readings(kernels, [1.0])
    assert cells["free"][0].scores is None
    assert np.allclose(cells["nonnegative"][0].scores, mean_cell(kernels).scores)
    weighted = radius_rule.weighted_readings(kernels, "pure", "DW-SVDD")
    assert any(cell.scores is None for cell in weighted["free"])
    assert all(cell.scores is not None for cell in weighted["nonnegative"])


def test_rates_and_shares_of_a_ball() -> None:
    d, y = np.array([0.1, 0.5, 0.9, 1.1]), np.array([1, 1, -1, -1])
    assert decision_rates(d, 0.3, y) == (0.5, 0.0) and decision_rates(d, 1.0, y) == (0.0, 0.5)
    assert decision_rates(d, -0.1, y) == (1.0, 0.0)  # an empty ball
    alpha = np.array([0.0, 1e-9, 0.5, 0.5])
    assert outside_and_support(d, 0.9, alpha) == (0.25, 0.5)
    assert outside_and_support(d, 0.9 - 1e-12, alpha) == (0.25, 0.5)  # rounding is not outside
