"""The CVXPY statements: primal and dual meet, analytic answers, failures are reported.

What a solver answers is judged by its certificate (``outside``), not by the status it claims.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
from outside import GAP, certified, gap_of

from lpsvdd.kernels import kernel_matrix
from lpsvdd.reference import solve_dual, solve_primal


def problem(n_pos: int = 10, n_neg: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n_pos + n_neg, 3))
    X[n_pos:] += 0.7
    return kernel_matrix(X, gamma=0.3), np.r_[np.ones(n_pos), -np.ones(n_neg)]


@pytest.mark.parametrize("n_neg", [0, 6], ids=["one-class", "negatives"])
@pytest.mark.parametrize("p, c", [(1.0, 0.11), (1.2, 1.0), (2.0, 8.0), (5.0, 0.11), (20.0, 1.0)])
def test_primal_and_dual_have_the_same_value_and_solution(p, c, n_neg):
    K, y = problem(10, n_neg)
    dual, primal = (certified(solve, K, y, p, c) for solve in (solve_dual, solve_primal))
    assert dual.value == pytest.approx(primal.value, abs=1e-6)
    assert dual.alpha == pytest.approx(primal.alpha, abs=1e-4)
    if p > 1.0:  # at p = 1 the radius may be any number in an interval
        assert dual.radius_sq == pytest.approx(primal.radius_sq, abs=1e-4)


def test_failures_are_in_the_status_and_carry_no_numbers():
    K, y = problem()
    infeasible = solve_dual(K, y, 1.0, 0.05)  # 10 points, box 0.05: sum alpha <= 1/2
    assert infeasible.status.startswith("infeasible") and not infeasible.ok
    assert np.isnan(infeasible.alpha).all() and np.isnan(infeasible.radius_sq)
    unbounded = solve_primal(K, y, 1.0, 0.05)
    assert unbounded.status.startswith("unbounded") and not unbounded.ok
    assert np.isnan(unbounded.alpha).all() and np.isnan(unbounded.radius_sq)


def test_a_point_that_comes_back_is_kept_and_judged_by_its_gap():
    """After two iterations Clarabel has a point but no solution, and the status says so."""
    K, y = problem()
    starved = solve_dual(K, y, 1.5, 1.0, max_iter=2)
    assert not starved.ok and starved.message
    assert np.isfinite(starved.alpha).all() and gap_of(starved, K, y, 1.5, 1.0) > GAP


def test_coefficients_beyond_double_precision_are_reported_as_overflow():
    K, y = problem()
    assert solve_dual(K, y, 1.001, 1e-3).status == "overflow"
    assert solve_primal(K, y, 1.001, 1e-3, scaled=True).status == "overflow"


# ECOS has no wheel for Python 3.13 and is not a requirement there.
@pytest.mark.parametrize(
    "solver", ["CLARABEL", "SCS", *(["ECOS"] if sys.version_info < (3, 13) else [])]
)
def test_every_solver_of_the_benchmark_agrees_on_an_easy_problem(solver):
    K, y = problem(10, 6)
    answer, oracle = solve_dual(K, y, 2.0, 1.0, solver), certified(solve_primal, K, y, 2.0, 1.0)
    assert answer.value == pytest.approx(oracle.value, abs=1e-4)
    assert answer.radius_sq == pytest.approx(oracle.radius_sq, abs=1e-3)
    assert answer.seconds > 0 and answer.solver_seconds > 0 and answer.n_iter > 0


def test_a_solver_that_is_not_installed_is_said_to_be_so(monkeypatch):
    import cvxpy

    def absent(*arguments, **options):
        raise cvxpy.error.SolverError("The solver NOBODY is not installed.")

    monkeypatch.setattr(cvxpy.Problem, "solve", absent)
    K, y = problem(4)
    assert solve_dual(K, y, 2.0, 1.0, "NOBODY").status == "not installed"
    failed = solve_dual(K, y, 2.0, 1.0, "CLARABEL")
    assert failed.status == "solver_error" and not failed.ok
    assert "NOBODY" in failed.message and np.isnan(failed.alpha).all()
