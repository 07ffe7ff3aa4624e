"""The solver against answers found by others: CVXPY, LIBSVM, and a ball without slack.

What a solver answers is judged by its certificate (``outside``), not by the status it claims.
"""

import numpy as np
import pytest
from outside import GAP, INSTALLED, certified, gap_of
from sklearn.svm import OneClassSVM

from lpsvdd import solve
from lpsvdd.kernels import half_mean_distance, kernel_matrix, rbf_gamma
from lpsvdd.reference import solve_dual, solve_primal
from replication.paper import COSTS, EXPONENTS

UNEQUAL = 10.0 ** np.random.default_rng(4).uniform(-2, 1, size=20)


def problem(n_pos: int, n_neg: int = 0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).normal(size=(n_pos + n_neg, 4))
    X[n_pos:] += 0.8
    y = np.repeat([1.0, -1.0], [n_pos, n_neg])
    return kernel_matrix(X, gamma=rbf_gamma(half_mean_distance(X))), y


def scores(K: np.ndarray, y: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Squared distances to the centre, up to the constant that they share."""
    return np.diag(K) - 2.0 * K @ (y * alpha)


@pytest.mark.parametrize("n_neg", [0, 8], ids=["pure", "negatives"])
@pytest.mark.parametrize("c", COSTS)
@pytest.mark.parametrize("p", EXPONENTS)
def test_solver_agrees_with_cvxpy_on_the_papers_grid(p, c, n_neg):
    """Against the well-scaled statement, which CVXPY can solve on the whole grid."""
    K, y = problem(12, n_neg)
    costs = np.where(y > 0, c, 0.3 * c)
    ours = solve(K, y, p=p, c=costs)
    oracle = certified(solve_primal, K, y, p, costs, scaled=True)
    size = 1.0 + abs(ours.primal)
    assert (ours.primal, ours.dual) == pytest.approx((oracle.value,) * 2, abs=1e-5 * size)
    # A flat optimum: CVXPY's radius has fewer digits than its value.
    assert ours.radius_sq == pytest.approx(oracle.radius_sq, rel=1e-2, abs=1e-3)
    assert scores(K, y, ours.alpha) == pytest.approx(scores(K, y, oracle.alpha), abs=1e-3)


@pytest.mark.parametrize("n_neg", [0, 8], ids=["pure", "negatives"])
@pytest.mark.parametrize("statement", [solve_dual, solve_primal])
@pytest.mark.parametrize("p, c", [
    (1.0, 0.12), (1.0, 2.0), (4 / 3, 0.1), (4 / 3, 3.0), (1.8, UNEQUAL), (5.0, 0.1), (5.0, 3.0),
], ids=str)  # fmt: skip
def test_solver_agrees_with_the_printed_problem_where_cvxpy_solves_it(p, c, statement, n_neg):
    K, y = problem(12, n_neg, seed=1)
    c = c[: len(y)] if p == 1.8 else c
    ours, printed = solve(K, y, p=p, c=c), certified(statement, K, y, p, c, scaled=p == 1.8)
    assert (ours.dual, ours.primal) == pytest.approx((printed.value,) * 2, abs=1e-5)
    assert ours.alpha == pytest.approx(printed.alpha, abs=1e-3)
    if p > 1.0:  # at p = 1 the radius may be any number in an interval
        assert ours.radius_sq == pytest.approx(printed.radius_sq, abs=1e-3)


@pytest.mark.parametrize("p", [1.5, 3.0])
def test_solver_agrees_for_a_kernel_whose_diagonal_is_not_constant(p):
    X = np.random.default_rng(3).normal(size=(14, 3)) + 2.0
    y = np.repeat([1.0, -1.0], [10, 4])
    for K in (X @ X.T, (X @ X.T + 1.0) ** 2):
        ours = solve(K, y, p=p, c=0.05)
        oracle = certified(solve_primal, K, y, p, 0.05, scaled=True)
        assert ours.primal == pytest.approx(oracle.value, rel=1e-5)
        assert ours.radius_sq == pytest.approx(oracle.radius_sq, rel=1e-3)


@pytest.mark.parametrize("solver", INSTALLED)
def test_every_solver_of_the_benchmark_agrees_on_an_easy_problem(solver):
    K, y = problem(10, 6)
    answer, ours = solve_dual(K, y, 2.0, 1.0, solver), solve(K, y, p=2.0, c=1.0)
    assert answer.value == pytest.approx(ours.primal, abs=1e-4)
    assert answer.radius_sq == pytest.approx(ours.radius_sq, abs=1e-3)
    assert answer.seconds > 0 and answer.solver_seconds > 0 and answer.n_iter > 0


@pytest.mark.parametrize("statement, p, c, solver, status", [
    (solve_dual, 1.0, 0.05, "CLARABEL", "infeasible"),  # 10 points, box 0.05: sum alpha <= 1/2
    (solve_primal, 1.0, 0.05, "CLARABEL", "unbounded"),
    (solve_dual, 1.001, 1e-3, "CLARABEL", "overflow"),  # coefficients beyond double precision
    (solve_dual, 2.0, 1.0, "NOBODY", "not installed"),
])  # fmt: skip
def test_reference_failure_is_in_the_status_and_carries_no_numbers(statement, p, c, solver, status):
    answer = statement(*problem(10), p, c, solver)
    assert answer.status.startswith(status) and not answer.ok
    assert np.isnan(answer.alpha).all() and np.isnan(answer.radius_sq)


def test_reference_point_that_comes_back_is_kept_and_judged_by_its_gap():
    """After two iterations Clarabel has a point but no solution, and the status says so."""
    K, y = problem(10)
    starved = solve_dual(K, y, 1.5, 1.0, max_iter=2)
    assert not starved.ok and starved.message
    assert np.isfinite(starved.alpha).all() and gap_of(starved, K, y, 1.5, 1.0) > GAP


@pytest.mark.parametrize("nu", [0.02, 0.1, 0.3, 0.5])
def test_p_one_is_the_one_class_svm(nu):
    """On a constant diagonal, SVDD with c = 1/(n nu) and OneClassSVM have the same dual."""
    K, y = problem(60)
    c = 1.0 / (60 * nu)
    ours = solve(K, p=1.0, c=c)
    svm = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-10).fit(K)
    theirs = np.zeros(60)
    theirs[svm.support_] = c * svm.dual_coef_[0]
    assert ours.alpha == pytest.approx(theirs, abs=1e-5)
    # Same ball: the decision functions agree up to the factor between distance and margin.
    d = scores(K, y, ours.alpha) + ours.alpha @ K @ ours.alpha
    margin = 2.0 * c * svm.decision_function(K)
    assert np.any((theirs > 1e-9) & (theirs < c * (1 - 1e-9)))  # so that R^2 is unique
    assert ours.radius_sq - d == pytest.approx(margin, abs=1e-5)


@pytest.mark.parametrize("c", [0.01, 0.2, 1.0, 30.0])
def test_p_two_is_a_ball_without_slack_in_a_shifted_kernel(c):
    """On a constant diagonal, c sum zeta^2 is the hard ball of K + I/(4c)."""
    K, _ = problem(30)
    soft = solve(K, p=2.0, c=c)
    hard = solve(K + np.eye(30) / (4.0 * c), p=1.0, c=1.0)  # c >= 1: no slack at p = 1
    assert soft.alpha == pytest.approx(hard.alpha, abs=1e-5)
    # d_hard = d_soft + (1 - 2 alpha_i + ||alpha||^2)/(4c), hence the values differ by 1/(4c).
    assert soft.dual == pytest.approx(hard.dual - 1.0 / (4.0 * c), abs=1e-8 * (1 + 1 / c))
