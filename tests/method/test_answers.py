"""Answers that were wrong once: hard problems, units beyond floats, indefinite kernels, scores."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from lpsvdd import LpSVDD, solve, solve_path
from lpsvdd.kernels import kernel_matrix
from lpsvdd.solver import Rows
from replication.studies.fuzz_judge import Case, judge

CASES = json.loads(Path(__file__).parent.parent.joinpath("hard_cases.json").read_text())
X = np.random.default_rng(0).normal(size=(2500, 3))
ROADS = ("dense", "working-set", "landmarks")


@pytest.mark.parametrize("hard", CASES, ids=lambda case: case["name"])
def test_no_road_calls_a_hard_problem_optimal_that_is_not(hard):
    """Tight clusters, points far from the origin, both labels at one point, p - 1 = 1e-6."""
    points, y = np.array(hard["rows"])[hard["points"]], np.array(hard["labels"], dtype=float)
    kernel = {"kernel": hard["kernel"], "gamma": hard["gamma"]}
    p, cost = hard["p"], np.full(len(y), hard["c"])
    K = kernel_matrix(points, **kernel)
    case = Case(K, points, y, p, cost, power=int(hard["kernel"] == "linear"))
    model = LpSVDD(p=p, C=hard["c"], contamination=0.1, **kernel)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = [
            solve(K, y, p=p, c=cost),
            solve(K, y, p=p, c=cost, polish=2),
            solve(Rows(points, **kernel), y, p=p, c=cost),
            *solve_path(K, y, ps=[max(1.0, p - 1e-3), p], cs=[0.5, 1.0], sample_weight=cost)[3:],
        ]
        model.fit(points, y)
    centre = np.zeros(len(y))
    centre[model.centre_rows_] = model.centre_coef_
    ball = {"radius_sq": model.radius_sq_, "status": model.status_}
    fitted = replace(found[0], alpha=model.alpha_, centre=centre, **ball)
    for solution in found:
        assert solution.status == "not-converged" or judge(case, solution).is_right
    if hard["kernel"] == "linear":  # a fit is about the mean of its samples
        moved = points - points.mean(axis=0)
        case = replace(case, K=moved @ moved.T, X=moved)
    assert fitted.status == "not-converged" or judge(case, fitted).is_right
    found.append(fitted)
    warned = [one for one in caught if issubclass(one.category, ConvergenceWarning)]
    assert len(warned) >= sum(not one.converged for one in found)


# -- scores ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("n, p, C", [
    (2500, 1.1, 1e-5), (400, 1.1, 1e-5), (400, 1.5, 1e-4), (200, 2.0, 1e-9), (200, 1.05, 1e-3),
])  # fmt: skip
def test_scores_are_distances_to_the_centre_where_the_radius_is_far_below_zero(road, n, p, C):
    """R2 = -4e15 once left errors of 28 % of the range of the scores, in silence."""
    model = LpSVDD(p=p, C=C, contamination=0.1, solver=road).fit(X[:n])
    new, gamma = X[:100] + 0.1, model.gamma_
    rows, g = model.X_fit_[model.centre_rows_], model.centre_coef_
    norm = float(g @ kernel_matrix(rows, gamma=gamma) @ g)
    d = 1.0 - 2.0 * kernel_matrix(new, rows, gamma=gamma) @ g + norm
    assert model.score_samples(new) == pytest.approx(-d, abs=1e-6)
    assert model.distance_fit_[:100] == pytest.approx(-model.score_samples(X[:100]), abs=1e-6)
    if road != "landmarks":  # the centre is that of the multipliers, too
        alpha = model.alpha_[model.support_]
        K = kernel_matrix(X[model.support_], gamma=gamma)
        d = 1.0 - 2.0 * kernel_matrix(new, X[model.support_], gamma=gamma) @ alpha
        assert model.score_samples(new) == pytest.approx(-d - alpha @ K @ alpha, abs=1e-6)
    assert np.mean(model.predict(X[:n]) < 0) == pytest.approx(0.1, abs=2.0 / n)


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("n", [100, 2500])
@pytest.mark.parametrize("options", [
    {"p": 1.01, "C": 1e-7}, {"p": 1.01, "C": 1e-6, "kernel": "linear"},
], ids=str)  # fmt: skip
def test_a_unit_beyond_floats_is_the_mean(road, n, options):
    model = LpSVDD(contamination=0.1, solver=road, **options).fit(X[:n])
    assert model.status_ == "optimal" and model.radius_sq_ < -1e200
    np.testing.assert_allclose(model.alpha_, 1.0 / n, rtol=1e-9)
    assert np.mean(model.predict(X[:n]) < 0) == pytest.approx(0.1, abs=2.0 / n)
    kernel = {"kernel": model.kernel, "gamma": model.gamma_}
    K = kernel_matrix(X[:50], X[:n], **kernel)
    norm = float(kernel_matrix(X[:n], **kernel).mean())
    d = kernel_matrix(X[:50], **kernel).diagonal() - 2.0 * K.mean(axis=1) + norm
    if road != "landmarks":
        assert model.score_samples(X[:50]) == pytest.approx(-d, abs=1e-6)
    else:  # as far as the landmarks span the mean
        assert model.score_samples(X[:50]) == pytest.approx(-d, abs=0.05)
    mean = solve(kernel_matrix(X[:n], **kernel), p=1.01, c=1e-7)
    assert mean.radius_sq == -math.inf and mean.n_iter == 0  # seconds, where it is searched for


# -- kernels that are none ------------------------------------------------------------------------


@pytest.mark.parametrize("n, pair", [
    (40, (0, 1)), (2500, (0, 1)), (2500, (1200, 1300)), (2500, (2498, 2499)),
])  # fmt: skip
def test_an_indefinite_matrix_is_refused_wherever_its_bad_rows_are(n, pair):
    K = kernel_matrix(X[:n], gamma=0.3)
    K[pair] = K[pair[::-1]] = 46.0
    with pytest.raises(ValueError, match=r"not positive semidefinite: .* eigenvalue is -4\d"):
        LpSVDD(kernel="precomputed", C=0.1).fit(K)


@pytest.mark.parametrize("bad", [-0.009, -1e-5, 0.0])
def test_an_eigenvalue_counts_relative_to_the_spread_not_to_the_distance_from_the_origin(bad):
    rng = np.random.default_rng(0)
    start = rng.normal(size=(30, 30))
    start[:, 0] = np.r_[np.ones(15), -np.ones(15)]  # at right angles to the mean, which is free
    Q = np.linalg.qr(start)[0]
    B = (Q * np.r_[bad, np.linspace(0.1, 2.0, 29)]) @ Q.T
    K = 1.0 + 1e-6 * (B + B.T) / 2.0
    if bad == 0.0:
        assert solve(K, p=2.0, c=0.1).status == "optimal"
        return
    with pytest.raises(ValueError, match="not positive semidefinite"):
        solve(K, p=2.0, c=0.1)


# -- time ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_polynomial_with_as_many_negatives_ends_on_the_road_for_many_points():
    """The working set of p = 10 on labels without any structure once went on for ever."""
    X = np.random.default_rng(0).normal(size=(2_001, 10))
    y = np.where(np.arange(len(X)) % 2 == 0, 1, -1)
    model = LpSVDD(p=10.0, C=1.4, kernel="poly").fit(X, y)
    assert model.solver_ == "working-set" and model.status_ == "optimal"
