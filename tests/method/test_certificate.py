"""What may be called optimal: every clause of the definition, and every road that leads to it."""

from __future__ import annotations

import numpy as np
import pytest
from lpsvdd.solver._certificate import EQUALITY, ROUNDING, is_optimal, largest_total, loses_digits
from lpsvdd.solver._interior_point import BOX_DUST
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import OneClassSVM

from lpsvdd import solve, solve_path
from lpsvdd.kernels import kernel_matrix, resolve_gamma
from lpsvdd.solver import Problem, _batch, _dense, certify


def problem(p: float = 2.0, n_neg: int = 4) -> Problem:
    X = np.random.default_rng(0).normal(size=(12, 2))
    y = np.ones(12)
    y[12 - n_neg :] = -1.0
    return Problem(np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2)), y, p=p, c=0.5)


@pytest.fixture(params=[1.0, 2.0])
def solved(request):
    one = problem(request.param)
    found = solve(one.gram, one.y, p=one.p, c=0.5, polish=2)
    return one, one.evaluate(found.alpha)


def test_a_solution_is_optimal(solved):
    one, value = solved
    assert is_optimal(one, value, 1e-9)


@pytest.mark.parametrize("gap, accepted", [
    (0.0, True), (1e-9, True), (-0.5 * ROUNDING, True), (1.1e-9, False),
    (-2.0 * ROUNDING, False), (-2.0, False), (np.nan, False), (np.inf, False),
])  # fmt: skip
def test_the_gap_lies_between_rounding_and_tolerance(solved, gap, accepted):
    one, value = solved
    assert is_optimal(one, value._replace(gap=gap), 1e-9) == accepted


def test_infeasible_multipliers_are_not_optimal(solved):
    one, value = solved
    alpha = value.alpha
    below = alpha.copy()
    below[np.argmin(alpha)] = -1e-12
    assert not is_optimal(one, value._replace(alpha=below), 1e-9)
    assert is_optimal(one, value._replace(alpha=alpha * (1 + 0.1 * EQUALITY)), 1e-9)
    assert not is_optimal(one, value._replace(alpha=alpha * (1 + 1e-8)), 1e-9)
    assert not is_optimal(one, value._replace(alpha=np.full(12, np.nan)), 1e-9)
    assert not is_optimal(one, value._replace(primal=np.inf), 1e-9)


def test_at_p_one_the_box_counts():
    one = problem(1.0, n_neg=0)
    value = one.evaluate(one.feasible(solve(one.gram, p=1.0, c=0.5, polish=2).alpha))
    assert is_optimal(one, value, 1e-9)
    assert not is_optimal(one.at(p=1.0, c=0.9 * value.alpha.max()), value, 1e-9)


def test_kernel_sums_that_cancel_prove_nothing(solved):
    one, value = solved
    much = largest_total(one.gram)
    pair = np.array([0, 11])  # one of each label
    for extra, accepted in ((0.4 * much, True), (0.6 * much, False)):
        alpha = value.alpha.copy()
        alpha[pair] += extra
        swollen = value._replace(alpha=alpha)
        assert loses_digits(one, swollen) != accepted
        assert is_optimal(one.at(p=2.0, c=1e9), swollen, 1e-9) == accepted


def test_rows_of_a_batch_are_judged_one_by_one():
    one = problem()
    batch = _batch.Batch(one.points, np.array([[2.0], [2.0], [2.0]]), np.full((3, 12), 0.5))
    alpha = np.tile(solve(one.gram, one.y, p=2.0, c=0.5, polish=2).alpha, (3, 1))
    value = batch.evaluate(alpha)
    value.gap[1] = -2.0
    value.alpha[2] *= 1.01
    assert is_optimal(batch, value, 1e-9).tolist() == [True, False, False]


def test_every_road_asks_the_same_question(monkeypatch):
    """With a judge that refuses, nothing is optimal, whichever way it was computed."""
    X = np.random.default_rng(1).normal(size=(110, 2))
    y = np.where(np.arange(110) % 4 == 0, -1.0, 1.0)
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    roads = {
        "single": lambda: [solve(K[:20, :20], p=2.0, c=0.5)],
        "in features": lambda: [solve(X[:20] @ X[:20].T, y[:20], p=20.0, c=1.0)],
        "without far negatives": lambda: [solve(K, y, p=2.0, c=0.5)],
        "batch": lambda: solve_path(K[:20, :20], ps=[1.2, 2.0], cs=[0.1, 1.0]),
        "path": lambda: solve_path(K, y, ps=[1.2, 2.0], cs=[0.1]),
        "p = 1": lambda: [solve(K, y, p=1.0, c=0.5)],
    }
    for name, road in roads.items():
        assert {s.status for s in road()} == {"optimal"}, name
    refuse = lambda problem, value, tol: np.zeros(value.alpha.shape[:-1], dtype=bool)  # noqa: E731
    for module in (_batch, _dense):
        monkeypatch.setattr(module, "is_optimal", refuse)
    for name, road in roads.items():
        with pytest.warns(ConvergenceWarning, match="without a certificate"):
            assert {s.status for s in road()} == {"not-converged"}, name


def test_certify_judges_what_it_is_given():
    one = problem()
    found = solve(one.gram, one.y, p=2.0, c=0.5, polish=2)
    assert abs(certify(one.gram, one.y, p=2.0, c=0.5, alpha=found.alpha).gap) <= 1e-12
    worse = found.alpha * np.random.default_rng(0).uniform(0.9, 1.1, 12)
    assert certify(one.gram, one.y, p=2.0, c=0.5, alpha=worse).gap > 1e-6


@pytest.mark.parametrize("n_neg", [0, 50])
def test_at_p_one_only_real_support_vectors_remain(n_neg):
    """Outside: alpha = c; on the surface: between; inside: exactly zero."""
    X = np.random.default_rng(2).normal(size=(300 + n_neg, 3))
    y = np.r_[np.ones(300), -np.ones(n_neg)]
    K = np.exp(-0.2 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    c = 1.0 / (300 * 0.1)
    found = solve(K, y, p=1.0, c=c)
    assert found.status == "optimal" and found.gap <= 1e-9
    positive = found.alpha[found.alpha > 0.0]
    assert positive.min() >= BOX_DUST * c
    signed = y * (np.diag(K) - 2.0 * K @ found.centre + found.centre @ K @ found.centre
                  - found.radius_sq)  # fmt: skip
    assert (found.alpha[signed < -1e-3] == 0.0).all()
    if not n_neg:
        assert 30 <= len(positive) <= 30 + 40


@pytest.mark.parametrize("polish", [0, 2])
@pytest.mark.parametrize("seed", [6, 7])
def test_at_p_one_a_narrow_kernel_has_the_support_vectors_that_libsvm_finds(seed, polish):
    """Few points are far from the surface here, so the barrier leaves much on those inside."""
    X = np.random.default_rng(seed).normal(size=(400, 2))
    K = kernel_matrix(X, gamma=resolve_gamma("quarter-mean-distance", X))
    found = solve(K, p=1.0, c=1.0 / 40.0, polish=polish)
    assert found.status == "optimal" and found.gap <= 1e-9
    positive = found.alpha[found.alpha > 0.0]
    assert positive.min() >= BOX_DUST / 40.0
    machine = OneClassSVM(kernel="precomputed", nu=0.1, tol=1e-9).fit(K)
    assert len(positive) <= 1.1 * len(machine.support_)
