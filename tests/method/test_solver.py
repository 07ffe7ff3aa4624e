"""``solve`` and ``solve_path``: analytic answers, certified problems, hard problems, kernels."""

import math

import numpy as np
import pytest
from by_hand import clusters

from lpsvdd import solve, solve_path
from lpsvdd.kernels import half_mean_distance, kernel_matrix, rbf_gamma
from lpsvdd.solver import Rows, certify
from replication.paper import COSTS, EXPONENTS

SLOW = pytest.mark.slow


def paper_like(n, n_neg=0, d=8, seed=0):
    """Unit vectors and the paper's kernel width."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    y = np.repeat([1.0, -1.0], [n - n_neg, n_neg])
    X[n - n_neg :] += 1.0
    X = (X - X[y > 0].mean(axis=0)) / X[y > 0].std(axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return kernel_matrix(X, gamma=rbf_gamma(half_mean_distance(X))), y


def assert_certified(solution, K, y, c, gap=1e-9):
    """By the referee, not by the solver's own word."""
    assert solution.converged and solution.gap <= gap
    y = np.ones(len(K)) if y is None else np.asarray(y)
    assert y @ solution.alpha == pytest.approx(1.0, abs=1e-9)
    assert solution.alpha.min() >= 0.0
    judged = certify(K, y, p=solution.p, c=c, alpha=solution.alpha)
    assert -1e-11 <= judged.gap <= gap  # below zero by rounding only


@pytest.mark.parametrize("p", [1.2, 2.0, 5.0])
@pytest.mark.parametrize("c", [0.1, 1.0, 30.0])
def test_two_points_have_the_solution_on_paper(p, c):
    """alpha = 1/2 each; both at distance D/4 from the middle, R2 = D/4 - (1/(2cp))^(1/(p-1))."""
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    found = solve(X @ X.T, p=p, c=c)
    slack = (0.5 / (c * p)) ** (1.0 / (p - 1.0))
    np.testing.assert_allclose(found.alpha, 0.5, atol=1e-6)
    np.testing.assert_allclose(found.slack, slack, rtol=1e-6, atol=1e-9)
    assert found.radius_sq == pytest.approx(25.0 / 4.0 - slack, rel=1e-6)
    assert found.primal == pytest.approx(found.radius_sq + 2.0 * c * slack**p, rel=1e-6)


@pytest.mark.parametrize("n_neg", [0, 6])
def test_p_one_with_too_little_cost_is_the_weighted_mean(n_neg):
    K, y = paper_like(30, n_neg)
    weight = np.random.default_rng(0).uniform(0.5, 1.0, size=30)
    c = 0.9 * weight / weight[y > 0].sum()
    found = solve(K, y, p=1.0, c=c)
    assert found.status == "radius-zero" and found.radius_sq == 0.0
    expected = np.where(y > 0, weight, 0.0) / weight[y > 0].sum()
    np.testing.assert_allclose(found.alpha, expected, rtol=1e-9)
    d = np.diag(K) - 2.0 * K @ expected + expected @ K @ expected
    assert found.primal == pytest.approx((c * d)[y > 0].sum())


def test_p_one_with_costs_that_sum_to_one_is_still_the_mean():
    found = solve(paper_like(4)[0], p=1.0, c=0.25)
    assert found.status == "radius-zero" and found.radius_sq == 0.0


@pytest.mark.parametrize("n", [30, 400])
def test_a_unit_beyond_floats_gives_the_mean(n):
    mean = solve(paper_like(n)[0], p=1.01, c=1e-7)
    assert mean.status == "optimal" and mean.radius_sq == -math.inf and mean.n_iter == 0
    np.testing.assert_allclose(mean.alpha, 1.0 / n, rtol=1e-9)


@pytest.mark.parametrize(("n", "n_neg"), [
    (16, 0), (50, 0), (350, 0), (16, 8), (50, 25), pytest.param(150, 75, marks=SLOW),
    pytest.param(1000, 0, marks=SLOW), pytest.param(1000, 500, marks=SLOW),
])  # fmt: skip
def test_every_cell_of_the_papers_grid_is_certified(n, n_neg):
    K, y = paper_like(n, n_neg)
    path = solve_path(K, y, ps=EXPONENTS, cs=COSTS, c_neg=COSTS if n_neg else None)
    assert len(path) == len(EXPONENTS) * len(COSTS) ** (2 if n_neg else 1)
    for found in path:
        cost = np.where(y > 0, found.c, found.c_neg) if n_neg else found.c
        assert_certified(found, K, y, cost)


def both_labels(r):
    X = r.normal(size=(30, 2))
    return kernel_matrix(np.vstack([X, X])), np.repeat([1.0, -1.0], 30)


ODD = {
    "duplicates": lambda r: (kernel_matrix(np.repeat(r.normal(size=(20, 3)), 5, axis=0)), None),
    "rank two": lambda r: ((X := r.normal(size=(200, 2))) @ X.T, None),
    "rank two, far away": lambda r: ((X := r.normal(size=(200, 2)) + 1e2) @ X.T, None),
    "constant": lambda r: (np.ones((30, 30)), None),
    "zero": lambda r: (np.zeros((5, 5)), None),
    "identity": lambda r: (np.eye(40), None),
    "nearly constant": lambda r: (kernel_matrix(r.normal(size=(50, 3)), gamma=1e-5), None),
    "large": lambda r: (1e6 * paper_like(40, 20)[0], paper_like(40, 20)[1]),
    "small": lambda r: (1e-6 * paper_like(40, 20)[0], paper_like(40, 20)[1]),
    "the same points with both labels": both_labels,
}


@pytest.mark.parametrize("p", [1.0, 1.001, 32 / 31, 4 / 3, 2.0, 5.0, 20.0])
@pytest.mark.parametrize("name", ODD)
def test_odd_problems_with_ordinary_costs_are_certified(name, p):
    rng = np.random.default_rng(5)
    K, y = ODD[name](rng)
    for c in (*COSTS, 10.0 ** rng.uniform(-3.0, 1.0, size=len(K))):  # one number, or one for each
        assert_certified(solve(K, y, p=p, c=c), K, y, c)


@pytest.mark.parametrize("kind", ["few", "many", "weights"])
def test_a_path_has_the_solutions_of_single_problems(kind):
    data = clusters(60 if kind == "few" else 240)
    rng = np.random.default_rng(1)
    y = None if kind == "weights" else np.where(rng.random(len(data)) < 0.1, -1.0, 1.0)
    weight = rng.integers(1, 5, size=len(data)).astype(float) if kind == "weights" else None
    ps, cs, c_neg = [1.0, 32 / 31, 1.2, 20.0], [0.01, 0.1, 1.0], [0.05, 0.5]
    labels = np.ones(len(data)) if y is None else y
    K = kernel_matrix(data, gamma=0.1)
    cells = [(p, c, m) for p in ps for c in cs for m in c_neg]
    for points in (K, Rows(data, gamma=0.1)):
        path = solve_path(points, y, ps=ps, cs=cs, c_neg=c_neg, sample_weight=weight)
        assert [(s.p, s.c, s.c_neg) for s in path] == cells
        for (p, c, m), found in zip(cells, path, strict=True):
            cost = np.where(labels > 0, c, m) * (1.0 if weight is None else weight)
            single = solve(K, y, p=p, c=cost)
            assert found.status == single.status != "not-converged"
            assert found.primal == pytest.approx(single.primal, rel=1e-7, abs=1e-8)
            np.testing.assert_allclose(K @ found.centre, K @ single.centre, atol=2e-4)
            judged = certify(K, y, p=p, c=cost, alpha=found.alpha)
            assert judged.gap <= 2e-9
            assert judged.radius_sq == pytest.approx(found.radius_sq, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("n, pair", [(40, (0, 1)), (1500, (700, 800))])
def test_an_indefinite_matrix_is_refused_wherever_its_bad_rows_are(n, pair):
    K = kernel_matrix(np.random.default_rng(0).normal(size=(n, 3)), gamma=0.3)
    K[pair] = K[pair[::-1]] = 46.0
    with pytest.raises(ValueError, match=r"not positive semidefinite: .* eigenvalue is -4\d"):
        solve(K, p=2.0, c=0.1)


@pytest.mark.parametrize("bad", [-0.009, -1e-5, 0.0])
def test_an_eigenvalue_counts_relative_to_the_spread_not_to_the_distance_from_the_origin(bad):
    start = np.random.default_rng(0).normal(size=(30, 30))
    start[:, 0] = np.r_[np.ones(15), -np.ones(15)]  # at right angles to the mean, which is free
    Q = np.linalg.qr(start)[0]
    B = (Q * np.r_[bad, np.linspace(0.1, 2.0, 29)]) @ Q.T
    K = 1.0 + 1e-6 * (B + B.T) / 2.0
    if bad == 0.0:
        assert solve(K, p=2.0, c=0.1).status == "optimal"
        return
    with pytest.raises(ValueError, match="not positive semidefinite"):
        solve(K, p=2.0, c=0.1)
