"""Working sets give what solving with all negatives gives, with the same certificates."""

from __future__ import annotations

import numpy as np
import pytest

from lpsvdd import solver, working_set
from lpsvdd.experiments.protocol import Task
from lpsvdd.experiments.trial import prepare
from lpsvdd.problem import Problem

PS = (1.0, 16 / 15, 2.0, 5.0)
CS = (1e-2, 1e-1, 1.0)


@pytest.fixture(scope="module", params=["D1", "D7", "D12"])
def task(request: pytest.FixtureRequest):
    return prepare(Task(request.param, "negatives", 0)).kernel_task


@pytest.mark.parametrize("weighted", [False, True])
def test_same_solutions_as_with_all_negatives(task, weighted: bool) -> None:
    n = len(task.y)
    weight = np.random.default_rng(0).uniform(0.2, 1.0, n) if weighted else None
    arguments = {"ps": PS, "cs": CS, "c_neg": CS, "sample_weight": weight}
    plain = solver.solve_path(task.K, task.y, **arguments)
    small = working_set.solve_path(task.K, task.y, **arguments)
    assert [(s.p, s.c, s.c_neg, s.status) for s in small] == [
        (s.p, s.c, s.c_neg, s.status) for s in plain
    ]
    for one, other in zip(small, plain, strict=True):
        assert one.dual == pytest.approx(other.dual, rel=1e-7, abs=1e-8)
        centre, expected = (task.K @ (task.y * s.alpha) for s in (one, other))
        assert np.allclose(centre, expected, atol=2e-4)


def test_the_gap_holds_for_the_whole_problem(task) -> None:
    for found in working_set.solve_path(task.K, task.y, ps=PS[1:], cs=CS, c_neg=CS):
        cost = np.where(task.y > 0, found.c, found.c_neg)
        certificate = Problem(task.K, task.y, p=found.p, c=cost).certificate(found.alpha)
        assert certificate.gap <= 1e-8
        assert certificate.radius_sq == pytest.approx(found.radius_sq, rel=1e-5, abs=1e-5)


def test_without_negatives_it_is_the_plain_path(task) -> None:
    positive = task.y > 0
    K = task.K[np.ix_(positive, positive)]
    for y in (None, np.ones(len(K))):
        found = working_set.solve_path(K, y, ps=[2.0], cs=CS, c_neg=None)
        expected = solver.solve_path(K, ps=[2.0], cs=CS)
        assert all(np.array_equal(a.alpha, b.alpha) for a, b in zip(found, expected, strict=True))


def test_one_negative_in_the_middle_is_found() -> None:
    angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    X = np.vstack([np.column_stack([np.cos(angles), np.sin(angles)]), [[0.0, 0.0], [9.0, 9.0]]])
    y = np.r_[np.ones(12), -1.0, -1.0]
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    found = working_set.solve_path(K, y, ps=[2.0], cs=[1.0], c_neg=[1.0])[0]
    assert found.alpha[12] > 1e-3 and found.alpha[13] == 0.0
    assert y @ found.alpha == pytest.approx(1.0)
