"""The solver: analytic answers, hard inputs, invariances, refusals. (Agreement with independent
solvers is in test_solver_agreement, identities between methods in test_identities.)"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpsvdd import solve, solve_path
from lpsvdd.kernels import half_mean_distance, kernel_matrix, rbf_gamma
from lpsvdd.solver import certify

PS = [32 / 31, 16 / 15, 8 / 7, 6 / 5, 4 / 3, 3 / 2, 2.0, 5 / 2, 5.0, 20.0]
CS = [1e-3, 1e-2, 1e-1, 1.0]


def paper_like(n, n_neg=0, d=8, seed=0):
    """Unit vectors and the paper's kernel width."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    y = np.ones(n)
    if n_neg:
        X[-n_neg:] += 1.0
        y[-n_neg:] = -1.0
    X = (X - X[y > 0].mean(axis=0)) / X[y > 0].std(axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return kernel_matrix(X, kernel="rbf", gamma=rbf_gamma(half_mean_distance(X))), y


def assert_certified(solution, K, y, c, gap=1e-9):
    """By the referee, not by the solver's own word."""
    assert solution.converged
    assert solution.gap <= gap
    y = np.ones(len(K)) if y is None else np.asarray(y)
    assert y @ solution.alpha == pytest.approx(1.0, abs=1e-9)
    assert solution.alpha.min() >= 0.0
    judged = certify(K, y, p=solution.p, c=c, alpha=solution.alpha)
    assert -1e-11 <= judged.gap <= gap  # below zero by rounding only


# -- analytic answers ---------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1.2, 2.0, 5.0])
@pytest.mark.parametrize("c", [0.1, 1.0, 30.0])
def test_two_points(p, c):
    """alpha = 1/2 each; both at distance D/4 from the middle, R2 = D/4 - (1/(2cp))^(1/(p-1))."""
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    found = solve(X @ X.T, p=p, c=c)
    slack = (0.5 / (c * p)) ** (1.0 / (p - 1.0))
    np.testing.assert_allclose(found.alpha, 0.5, atol=1e-6)
    np.testing.assert_allclose(found.slack, slack, rtol=1e-6, atol=1e-9)
    assert found.radius_sq == pytest.approx(25.0 / 4.0 - slack, rel=1e-7)
    assert found.primal == pytest.approx(found.radius_sq + 2.0 * c * slack**p, rel=1e-8)


def test_hard_ball_on_a_line_is_given_by_the_two_ends():
    x = np.array([-1.0, 0.3, 0.9, 2.0, 5.0])
    found = solve(np.outer(x, x), p=1.0, c=1.0)
    np.testing.assert_allclose(found.alpha[[0, 4]], 0.5, atol=1e-6)
    assert found.alpha @ x == pytest.approx(2.0, abs=1e-6)
    assert found.radius_sq == pytest.approx(9.0, rel=1e-7)


# -- the radius-zero case -------------------------------------------------------------------------


@pytest.mark.parametrize("n_neg", [0, 6])
def test_p_one_with_too_little_cost_is_the_weighted_mean(n_neg):
    K, y = paper_like(30, n_neg)
    weight = np.random.default_rng(0).uniform(0.5, 1.0, size=30)
    c = 0.9 * weight / weight[y > 0].sum()
    found = solve(K, y, p=1.0, c=c)
    assert found.status == "radius-zero"
    assert found.radius_sq == 0.0
    expected = np.where(y > 0, weight, 0.0) / weight[y > 0].sum()
    np.testing.assert_allclose(found.alpha, expected, rtol=1e-9)
    d = np.diag(K) - 2.0 * K @ expected + expected @ K @ expected
    assert found.primal == pytest.approx((c * d)[y > 0].sum())


# -- certified where it is hard -------------------------------------------------------------------


SLOW = pytest.mark.slow


@pytest.mark.parametrize(("n", "n_neg"), [
    (16, 0), (50, 0), (150, 0), (350, 0), (16, 8), (50, 25), pytest.param(150, 75, marks=SLOW),
    pytest.param(1000, 0, marks=SLOW), pytest.param(1000, 500, marks=SLOW),
])  # fmt: skip
def test_every_cell_of_the_papers_grid_is_certified(n, n_neg):
    K, y = paper_like(n, n_neg)
    path = solve_path(K, y, ps=PS, cs=CS, c_neg=CS if n_neg else None)
    assert len(path) == (160 if n_neg else 40)
    for found in path:
        cost = np.where(y > 0, found.c, found.c_neg) if n_neg else found.c
        assert_certified(found, K, y, cost)


def both_labels(r):
    X = r.normal(size=(30, 2))
    return kernel_matrix(np.vstack([X, X])), np.repeat([1.0, -1.0], 30)


HARD = {
    "ordinary": lambda r: paper_like(40),
    "negatives": lambda r: paper_like(40, 20),
    "duplicates": lambda r: (kernel_matrix(np.repeat(r.normal(size=(20, 3)), 5, axis=0)), None),
    "rank two": lambda r: ((X := r.normal(size=(200, 2))) @ X.T, None),
    "rank two, far away": lambda r: ((X := r.normal(size=(200, 2)) + 1e3) @ X.T, None),
    "constant": lambda r: (np.ones((30, 30)), None),
    "zero": lambda r: (np.zeros((5, 5)), None),
    "identity": lambda r: (np.eye(40), None),
    "nearly constant": lambda r: (kernel_matrix(r.normal(size=(50, 3)), gamma=1e-6), None),
    "large": lambda r: (1e6 * paper_like(40, 20)[0], paper_like(40, 20)[1]),
    "small": lambda r: (1e-6 * paper_like(40, 20)[0], paper_like(40, 20)[1]),
    "the same points with both labels": both_labels,
}


@pytest.mark.parametrize("p", [1.0, 1.001, 1.01, 32 / 31, 4 / 3, 2.0, 5.0, 20.0, 100.0])
@pytest.mark.parametrize("name", HARD)
def test_hard_problems_are_certified(name, p):
    rng = np.random.default_rng(5)
    K, y = HARD[name](rng)
    costs = [*CS, 10.0 ** rng.uniform(-4.0, 2.0, size=len(K))]  # one number, or one for each
    for c in costs if K.any() and name != "large" else CS:
        assert_certified(solve(K, y, p=p, c=c), K, y, c)
    for c in (1e-8, 1e3, 1e8) if name in ("ordinary", "negatives") else ():
        assert_certified(solve(K, y, p=p, c=c), K, y, c)


# -- invariances ----------------------------------------------------------------------------------

cells = {"p": st.sampled_from([1.0, 1.1, 1.5, 2.0, 6.0]), "c": st.sampled_from([0.05, 0.3, 2.0])}


@settings(max_examples=25)
@given(shift=st.lists(st.floats(-50.0, 50.0), min_size=2, max_size=2), **cells)
def test_translation_moves_the_centre_along(shift, p, c):
    X = np.random.default_rng(7).normal(size=(20, 2))
    moved = X + np.array(shift)
    here, there = (solve(Z @ Z.T, p=p, c=c, polish=2) for Z in (X, moved))
    assert there.radius_sq == pytest.approx(here.radius_sq, rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(there.alpha @ moved, here.alpha @ X + shift, atol=1e-5)


@settings(max_examples=25)
@given(log_scale=st.floats(-6.0, 6.0), **cells)
def test_scaling_kernel_and_cost_together_changes_nothing(log_scale, p, c):
    K, y = paper_like(24, 8)
    scale = 10.0**log_scale
    here = solve(K, y, p=p, c=c)
    there = solve(scale * K, y, p=p, c=c / scale ** (p - 1.0))
    assert there.primal == pytest.approx(scale * here.primal, rel=1e-7)
    assert there.radius_sq == pytest.approx(scale * here.radius_sq, rel=1e-3, abs=1e-4 * scale)


# -- it never lies --------------------------------------------------------------------------------


def test_polish_gives_alpha_more_digits():
    K, y = paper_like(60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = solve(K, y, p=1.3, c=1.0, tol=1e-11, polish=2).alpha
        rough = np.abs(solve(K, y, p=1.3, c=1.0).alpha - exact).max()
        fine = np.abs(solve(K, y, p=1.3, c=1.0, polish=2).alpha - exact).max()
    assert fine < 1e-8
    assert fine < rough
