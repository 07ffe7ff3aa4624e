"""Leaving out the negatives outside the ball gives what solving with all of them gives."""

from __future__ import annotations

import numpy as np
import pytest

from lpsvdd import solve, solve_path
from lpsvdd.solver import _dense as solver
from lpsvdd.solver import certify
from lpsvdd.weights import global_local
from replication.protocol import Task
from replication.trial import prepare

PS = (1.0, 16 / 15, 2.0, 5.0)
CS = (1e-2, 1e-1, 1.0)


@pytest.fixture(scope="module", params=["D1", "D7", "D12"])
def task(request: pytest.FixtureRequest):
    return prepare(Task(request.param, "negatives", 0)).kernels


@pytest.mark.parametrize("weighted", [False, True])
def test_same_solutions_as_with_all_negatives(task, weighted, monkeypatch) -> None:
    n = len(task.y)
    weight = np.random.default_rng(0).uniform(0.2, 1.0, n) if weighted else None
    arguments = {"ps": PS, "cs": CS, "c_neg": CS, "sample_weight": weight}
    monkeypatch.setattr(solver, "MANY_WITH_NEGATIVES", n + 1)
    plain = solve_path(task.K, task.y, **arguments)
    monkeypatch.setattr(solver, "MANY_WITH_NEGATIVES", 1)
    small = solve_path(task.K, task.y, **arguments)
    assert [(s.p, s.c, s.c_neg, s.status) for s in small] == [
        (s.p, s.c, s.c_neg, s.status) for s in plain
    ]
    for one, other in zip(small, plain, strict=True):
        assert one.dual == pytest.approx(other.dual, rel=1e-7, abs=1e-8)
        centre, expected = (task.K @ (task.y * s.alpha) for s in (one, other))
        assert np.allclose(centre, expected, atol=2e-4)


def test_the_gap_holds_for_the_whole_problem(task, monkeypatch) -> None:
    monkeypatch.setattr(solver, "MANY_WITH_NEGATIVES", 1)
    for found in solve_path(task.K, task.y, ps=PS[1:], cs=CS, c_neg=CS):
        cost = np.where(task.y > 0, found.c, found.c_neg)
        alone = solve(task.K, task.y, p=found.p, c=cost)
        for solution in (found, alone):
            judged = certify(task.K, task.y, p=found.p, c=cost, alpha=solution.alpha)
            assert judged.gap <= 1e-9
            assert judged.radius_sq == pytest.approx(solution.radius_sq, rel=1e-5, abs=1e-5)


def test_one_negative_in_the_middle_is_found(monkeypatch) -> None:
    monkeypatch.setattr(solver, "MANY_WITH_NEGATIVES", 1)
    angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    X = np.vstack([np.column_stack([np.cos(angles), np.sin(angles)]), [[0.0, 0.0]], np.eye(2) * 9])
    X = np.vstack([X, -9.0 * np.eye(2), [[9.0, 9.0]]])
    y = np.r_[np.ones(12), -np.ones(6)]
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    found = solve(K, y, p=2.0, c=1.0)
    assert found.alpha[12] > 1e-3
    assert (found.alpha[13:] == 0.0).all()
    assert y @ found.alpha == pytest.approx(1.0)


def test_a_start_that_misleads_is_dropped() -> None:
    """p = 1 with unequal costs: from its neighbour this cell ends in no certificate."""
    hard = prepare(Task("D19", "negatives", 27)).kernels
    weight = global_local(hard.K, hard.y, k=5, lam=0.25)
    path = solve_path(hard.K, hard.y, ps=[1.0], cs=[0.1], c_neg=[0.1, 1.0], sample_weight=weight)
    assert [found.status for found in path] == ["optimal"] * 2


def test_what_stalls_near_the_solution_ends_on_its_support() -> None:
    """p = 1, K all but singular: on all points Newton's method swings about a gap of 1e-8."""
    hard = prepare(Task("D12", "negatives", 61)).kernels
    weight = global_local(hard.K, hard.y, k=3, lam=0.75)
    cost = np.where(hard.y > 0, 0.1, 1.0) * weight
    assert solve(hard.K, hard.y, p=1.0, c=cost).status == "optimal"
    costs = [0.001, 0.01, 0.1, 1.0]  # and from the neighbours of a grid, where its support misleads
    path = solve_path(hard.K, hard.y, ps=[1.0], cs=[0.1], c_neg=costs, sample_weight=weight)
    assert {found.status for found in path} == {"optimal"}
