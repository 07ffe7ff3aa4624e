"""Cells solved together give what cells solved alone give, and rows that fail are solved alone."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lpsvdd.solver._arithmetic import Points
from lpsvdd.solver._batch import Batch, solve_batch
from lpsvdd.solver._radius import best_radii
from sklearn.exceptions import ConvergenceWarning

from lpsvdd import solve, solve_path
from lpsvdd.solver import Gram, Problem, certify
from lpsvdd.solver import _batch as batch
from lpsvdd.solver import _solve as solver

PS = (1.001, 32 / 31, 1.2, 2.0, 5.0, 20.0)
CS = (1e-3, 0.05, 1.0)


def points(n: int, n_neg: int = 0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, n, n_neg])
    X = rng.normal(size=(n + n_neg, 3))
    X[n:] += 1.0
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return K, np.r_[np.ones(n), -np.ones(n_neg)]


def of(K, y) -> Points:
    return Points.of(Gram.check(K), y)


def alone(K, y, p, cost):
    return Problem(K, y, p=p, c=cost)


@pytest.mark.parametrize("n, n_neg", [(1, 0), (2, 0), (20, 0), (12, 8), (70, 0), (60, 35)])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_same_solutions_as_one_by_one(n, n_neg, weighted, monkeypatch):
    K, y = points(n, n_neg)
    weight = np.random.default_rng(1).uniform(0.1, 3.0, len(y)) if weighted else None
    grid = {"ps": PS, "cs": CS, "c_neg": CS if n_neg else None, "sample_weight": weight}
    together = solve_path(K, y, **grid)
    monkeypatch.setattr(solver, "IN_TWO_WAVES", 0)
    one_by_one = solve_path(K, y, **grid)
    cells = itertools.product(PS, CS, CS if n_neg else [None])
    for cell, found, expected in zip(cells, together, one_by_one, strict=True):
        assert (found.p, found.c, found.c_neg) == cell == (expected.p, expected.c, expected.c_neg)
        assert found.status == expected.status == "optimal"
        assert found.dual == pytest.approx(expected.dual, rel=1e-7, abs=1e-8)
        assert found.radius_sq == pytest.approx(expected.radius_sq, rel=1e-4, abs=1e-4)
        assert np.allclose(K @ (y * found.alpha), K @ (y * expected.alpha), atol=2e-4)
        cost = np.where(y > 0, found.c, found.c if found.c_neg is None else found.c_neg)
        cost = cost if weight is None else cost * weight
        judged = certify(K, y, p=found.p, c=cost, alpha=found.alpha)
        assert judged.gap <= 1e-9
        assert judged.primal == pytest.approx(found.primal, rel=1e-8, abs=1e-9)
        if found.p >= 1.2:  # below, the slack of points on the surface is rounding
            assert judged.slack == pytest.approx(found.slack, rel=1e-3, abs=1e-4)


def test_most_cells_are_indeed_solved_together(monkeypatch):
    K, y = points(30, 15)
    alone_cells = []
    original = solver.solve_problem
    monkeypatch.setattr(
        solver,
        "solve_problem",
        lambda problem, *rest: alone_cells.append(problem.p) or original(problem, *rest),
    )
    solve_path(K, y, ps=(1.0, *PS), cs=CS, c_neg=CS)
    assert alone_cells.count(1.0) == 9  # p = 1 is not a power law
    assert len([p for p in alone_cells if p > 1.01]) <= 3


def test_rows_that_fail_are_solved_alone(monkeypatch):
    K, y = points(25)
    expected = solve_path(K, y, ps=PS, cs=CS)
    monkeypatch.setattr(batch, "MOST_ITERATIONS", 1)
    found = solve_path(K, y, ps=PS, cs=CS)
    for one, other in zip(found, expected, strict=True):
        assert one.converged and one.gap <= 1e-9
        assert one.dual == pytest.approx(other.dual, rel=1e-7, abs=1e-8)


def test_a_failed_factorisation_costs_its_row_only(monkeypatch):
    K, y = points(25)
    original, calls = batch.factorise, []

    def sometimes(K, inv_scale, diagonal, work):
        calls.append(inv_scale)
        return None if len(calls) == 2 else original(K, inv_scale, diagonal, work)

    monkeypatch.setattr(batch, "factorise", sometimes)
    cells = list(itertools.product((1.2, 2.0, 5.0), (0.1, 1.0)))
    cost = np.array([np.full(25, c) for _, c in cells])
    found = solve_batch(of(K, y), [p for p, _ in cells], cost, [[]] * 6, 1e-9, 50)
    assert sum(certificate is None for certificate, _ in found) == 1
    calls.clear()
    assert all(s.converged for s in solve_path(K, y, ps=(1.2, 2.0, 5.0), cs=(0.1, 1.0)))


def test_an_iteration_limit_that_is_too_small_is_reported():
    K, y = points(25)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = solve_path(K, y, ps=[1.2], cs=[0.5, 1.0], max_iter=1)
    bad = [s for s in found if s.status == "not-converged"]
    assert bad and all(s.gap > 1e-9 for s in bad)
    assert len([w for w in caught if w.category is ConvergenceWarning]) == len(bad)


def test_costs_that_need_care_are_left_to_the_solver():
    K, y = points(15)
    p, c = np.array([1.5, 1.5, 100.0, 1.001]), np.array([1e8, 1.0, 1e8, 1e-8])
    rows = Batch(of(K, y), p[:, None], np.tile(c[:, None], 15))
    assert rows.is_easy().tolist() == [False, True, True, False]
    for exponent, cost in zip(p, c, strict=True):
        assert all(found.converged for found in solve_path(K, y, ps=[exponent], cs=[cost, 1.0]))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    p=st.lists(st.floats(1.02, 30.0), min_size=1, max_size=5),
    log_c=st.floats(-3.0, 1.0),
    n_neg=st.sampled_from([0, 4]),
)
def test_values_and_radii_are_those_of_the_problems(seed, p, log_c, n_neg):
    K, y = points(9, n_neg, seed)
    rng = np.random.default_rng(seed)
    cost = 10.0**log_c * rng.uniform(0.5, 2.0, (len(p), len(y)))
    rows = Batch(of(K, y), np.array(p)[:, None], cost)
    alpha = rows.feasible(rng.uniform(0.0, 1.0, (len(p), len(y))))
    value = rows.evaluate(alpha)
    d = rows.y * value.signed + value.radius_sq
    again, rate = best_radii(rows, d, value.radius_sq, 1e-13)
    assert again == pytest.approx(value.radius_sq, rel=1e-9, abs=1e-9)
    for i, exponent in enumerate(p):
        problem = alone(K, y, exponent, cost[i])
        assert problem.feasible(alpha[i]) == pytest.approx(alpha[i], abs=1e-14)
        expected = problem.evaluate(alpha[i])
        assert value.primal[i, 0] == pytest.approx(expected.primal, rel=1e-9, abs=1e-9)
        assert value.dual[i, 0] == pytest.approx(expected.dual, rel=1e-9, abs=1e-9)
        assert value.radius_sq[i, 0] == pytest.approx(expected.radius_sq, rel=1e-8, abs=1e-8)
        assert value.signed[i] == pytest.approx(expected.signed, rel=1e-8, abs=1e-8)
        if exponent >= 2.0 and expected.rate is not None:  # not at hand where costs are huge
            assert rate[i] == pytest.approx(expected.rate, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("p", [32 / 31, 1.5, 2.0, 5.0])
def test_the_fixed_point_map_keeps_solutions(p):
    K, y = points(15)
    found = solve(K, y, p=p, c=0.02, polish=3)
    problem = Problem(K, y, p=p, c=0.02)
    value = problem.evaluate(found.alpha, found.radius_sq * problem.inv_scale)
    mapped = problem.mapped(value, 1e-13)
    assert mapped.gap <= 1e-9
    assert mapped.dual == pytest.approx(problem.evaluate(mapped.alpha).dual, rel=1e-12, abs=1e-13)
    assert mapped.alpha == pytest.approx(found.alpha, abs=1e-5)
