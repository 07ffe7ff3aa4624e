"""The problem object: values against raw formulas, the radius, feasible points, the tilt."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq
from scipy.special import logsumexp

from lpsvdd.kernels import kernel_matrix
from lpsvdd.solver import Problem, certify, solve, solve_path

K = kernel_matrix(np.random.default_rng(0).normal(size=(20, 3)), kernel="rbf", gamma=0.3)


def labels(n: int, n_neg: int) -> np.ndarray:
    return np.repeat([1.0, -1.0], [n - n_neg, n_neg])


@pytest.mark.parametrize("p", [1.2, 2.0, 5.0])
@pytest.mark.parametrize("n_neg", [0, 6])
@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_values_are_those_of_the_printed_formulas(p, n_neg, factor):
    y = labels(20, n_neg)
    c = np.where(y > 0, 0.3, 0.7) / factor ** (p - 1.0)
    alpha = np.random.default_rng(1).uniform(0.1, 1.0, size=20) * np.where(y > 0, 1.0, 0.2)
    alpha[y > 0] *= (1.0 + alpha[y < 0].sum()) / alpha[y > 0].sum()
    found = certify(K * factor, y, p=p, c=c, alpha=alpha)
    beta = y * alpha
    norm_sq = factor * beta @ K @ beta
    penalty = (c * p) ** (-1.0 / (p - 1.0)) * (1.0 - 1.0 / p) * alpha ** (p / (p - 1.0))
    dual = factor - norm_sq - penalty.sum()
    d = factor - 2.0 * factor * K @ beta + norm_sq

    def stationarity(radius):
        slack = np.maximum(y * (d - radius), 0.0)
        return (y * c * p * slack ** (p - 1.0)).sum() - 1.0

    radius = brentq(stationarity, d.min() - 100 * factor, d.max() + factor, xtol=1e-12 * factor)
    slack = np.maximum(y * (d - radius), 0.0)
    values = dual, radius, radius + (c * slack**p).sum()
    assert (found.dual, found.radius_sq, found.primal) == pytest.approx(values, rel=1e-9)
    np.testing.assert_allclose(found.slack, slack, atol=1e-9 * factor)
    assert found.gap > 0.0  # an arbitrary alpha is not optimal


def test_radius_of_p_one_is_the_middle_of_the_flat_part():
    d = np.array([1.0, 2.0, 3.0, 4.0])
    # 1 - 0.5 * #{d > R}: zero while exactly two lie outside, R in [2, 3].
    assert Problem(np.diag(d), p=1.0, c=0.5).radius_sq(d) == pytest.approx(2.5)
    assert Problem(np.diag(d), p=1.0, c=0.4).radius_sq(d) == pytest.approx(2.0)


@given(
    d=arrays(float, 12, elements=st.floats(0.0, 2.0)),
    p=st.sampled_from([1.001, 1.05, 4 / 3, 2.0, 3.7, 20.0, 100.0]),
    log_c=st.floats(-3.0, 2.0),
    n_neg=st.integers(0, 6),
)
def test_radius_minimises_the_primal(d, p, log_c, n_neg):
    problem = Problem(np.eye(12), labels(12, n_neg), p=p, c=10.0**log_c)
    radius = problem.radius_sq(d)

    def primal(r):
        return r + problem.penalty(problem.y * (d - r))

    best = primal(radius)
    nearby = radius + np.array([-1e-2, -1e-5, -1e-8, 1e-8, 1e-5, 1e-2])
    assert all(best <= primal(r) + 1e-9 * (1.0 + abs(best)) for r in nearby)


def test_radius_with_many_negatives_and_a_steep_penalty_is_the_root():
    """Terms range over 1e130: a difference of two sums would be rounding, and stop the search."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        y = np.where(rng.random(30) < 0.5, -1.0, 1.0)
        y[0] = 1.0
        problem = Problem(np.eye(30), y, p=100.0, c=1e150)
        d = rng.gamma(1.0, size=30)

        def balance(radius, problem=problem, d=d):  # log F+ - log(1 + F-)
            with np.errstate(divide="ignore"):
                log_slack = np.log(np.maximum(problem.y * (d - radius), 0.0))
            terms = problem.log_rate + 99.0 * log_slack
            positive = problem.positive
            return logsumexp(terms[positive]) - logsumexp(np.append(terms[~positive], 0.0))

        root = brentq(balance, d.min() - 1.0, d[y > 0].max() * (1.0 - 1e-9))
        assert problem.radius_sq(d) == pytest.approx(root, abs=1e-8)


@given(
    alpha=arrays(float, 9, elements=st.floats(-1.0, 3.0)),
    cost=arrays(float, 9, elements=st.floats(0.05, 2.0)),
    p=st.sampled_from([1.0, 2.0]),
    n_neg=st.integers(0, 6),
)
def test_feasible_is_feasible_and_changes_no_feasible_point(alpha, cost, p, n_neg):
    y = labels(9, n_neg)
    cost = cost * max(1.0, 1.1 / cost[y > 0].sum())
    problem = Problem(np.eye(9), y, p=p, c=cost)
    found = problem.feasible(alpha.copy())
    assert found.min() >= 0.0 and y @ found == pytest.approx(1.0, abs=1e-9 * found.sum())
    assert p > 1.0 or (found <= cost * (1.0 + 1e-9)).all()
    np.testing.assert_allclose(problem.feasible(found.copy()), found, atol=1e-9)


def test_feasible_makes_no_support_vectors_where_those_there_are_have_room():
    found = Problem(np.eye(4), p=1.0, c=1.0).feasible(np.array([0.4, 0.5, 0.0, 0.0]))
    assert found.sum() == pytest.approx(1.0) and (found[2:] == 0.0).all()


@pytest.mark.parametrize("y, c, alpha, tilt", [
    ([1, 1, 1], 0.7, [0.5, 0.25, 0.25], 3 * (0.25 + 0.125) - 1),
    ([1, 1, 1], [1.0, 1.0, 2.0], [0.5, 0.5, 0.0], 4 * (0.25 + 0.25) - 1),  # reference 1/4, 1/4, 1/2
    ([1, 1, -1], 0.7, [1.0, 0.5, 0.5], 2 * 1.5 - 1),
])  # fmt: skip
def test_tilt_by_hand_on_three_points(y, c, alpha, tilt):
    found = Problem(np.eye(3), np.array(y, float), p=2.0, c=np.array(c)).tilt(np.array(alpha))
    assert found == pytest.approx(tilt)


def test_solutions_carry_their_tilt_from_the_mean_to_the_hard_ball():
    for p in (1.2, 2.0, 5.0):
        path = solve_path(K, ps=[p], cs=[1e-9 ** (p - 1), 0.05, 1e9 ** (p - 1)])
        tilts = [found.tilt for found in path]
        assert tilts == pytest.approx([20 * found.alpha @ found.alpha - 1 for found in path])
        assert -1e-9 <= tilts[0] < 1e-6 < tilts[1] < tilts[2]
    mean = solve(K, p=1.0, c=0.5 / 20)  # no alpha fits into the box: R2 = 0
    assert mean.tilt == pytest.approx(0.0, abs=1e-9)
