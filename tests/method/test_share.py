"""The cost that belongs to a share: counted, certified, with weights, negatives, copies."""

from __future__ import annotations

import lpsvdd.solver.cost as share
import numpy as np
import pytest
from lpsvdd.solver.cost import solve_share
from sklearn.metrics.pairwise import rbf_kernel

from lpsvdd import LpSVDD, solve

RNG = np.random.default_rng(7)
X = RNG.normal(size=(120, 3))
NEAR = np.vstack([X[:100], RNG.normal(0.8, 1.0, size=(20, 3))])
Y = np.r_[np.ones(100), -np.ones(20)]


def distances(K, centre):
    return np.diag(K) - 2.0 * K @ centre + centre @ K @ centre


def outside(K, found, y=None):
    """Number of positives beyond the threshold."""
    d = distances(K, found.solution.centre)
    return int((d > found.threshold)[slice(None) if y is None else y > 0].sum())


@pytest.mark.parametrize("gamma", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("p", [1.02, 1.2, 2.0, 5.0, 20.0])
@pytest.mark.parametrize("nu", [0.05, 0.1, 0.5, 0.9])
def test_the_share_outside_is_nu_up_to_one_sample(p, nu, gamma):
    K = rbf_kernel(X, gamma=gamma)
    found = solve_share(K, p=p, nu=nu)
    assert abs(outside(K, found) - nu * len(X)) <= 1.0
    assert found.solution.converged


def test_where_no_cost_reaches_the_share_the_surface_is_thick():
    K = rbf_kernel(X, gamma=4.0)  # the hard ball touches nearly all samples
    hard = solve(K, p=2.0, c=1e8, polish=2)
    assert np.mean(hard.slack > 0.0) > 0.5
    found = solve_share(K, p=2.0, nu=0.1, polish=2)
    assert not found.reached and outside(K, found) == 12
    assert 0.0 < found.threshold - found.solution.radius_sq < 3.0 * share.SHELL
    again = solve(K, p=2.0, c=found.cost, polish=2)
    assert found.solution.radius_sq == pytest.approx(again.radius_sq, abs=1e-8)


@pytest.mark.parametrize("c_neg", [None, 0.05])
@pytest.mark.parametrize("p", [1.0, 1.3, 2.0, 5.0])
def test_with_negatives_the_positives_are_counted(p, c_neg):
    K = rbf_kernel(NEAR, gamma=0.1)
    found = solve_share(K, Y, p=p, nu=0.2, c_neg=c_neg, polish=2)
    if p == 1.0:  # an upper bound on those that positive multipliers hold; negatives may add some
        assert found.cost == pytest.approx(1.0 / 20)
    else:
        assert abs(outside(K, found, Y) - 20) <= 1
    cost = np.where(Y > 0, found.cost, found.cost if c_neg is None else c_neg)
    again = solve(K, Y, p=p, c=cost, polish=2)
    assert found.solution.radius_sq == pytest.approx(again.radius_sq, abs=1e-6)


def test_copies_of_a_row_stay_together():
    rows = np.repeat(X[:20], 6, axis=0)
    K = rbf_kernel(rows, gamma=0.2)
    found = solve_share(K, p=2.0, nu=0.13, polish=2)
    assert outside(K, found) == 18  # three rows of twenty; 0.13 of 120 is 15.6


@pytest.mark.parametrize("points", [X[:1], np.ones((5, 2)), X[:2], X[:3]], ids=str)
def test_few_or_coinciding_points_are_all_accepted(points):
    K = rbf_kernel(points, gamma=0.2)
    found = solve_share(K, p=2.0, nu=0.1, polish=2)
    assert outside(K, found) == 0


# -- the estimator ----------------------------------------------------------------------------


def test_the_estimator_counts_weights_and_positives():
    weight = RNG.uniform(0.0, 3.0, size=120)
    weight[:5] = 0.0
    model = LpSVDD(p=2.0, nu=0.2, surface="ball").fit(NEAR, Y, sample_weight=weight)
    rejected = (model.predict(NEAR) < 0) & (Y > 0)
    share_outside = weight[rejected].sum() / weight[Y > 0].sum()
    assert share_outside == pytest.approx(0.2, abs=3.0 / weight[Y > 0].sum())


@pytest.mark.parametrize("size", [1e100, 1e-100])
def test_a_cost_beyond_floats_is_refused_by_its_cause(size):
    X = size * np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match="squared distances near .* rescale"):
        LpSVDD(p=20.0, kernel="linear").fit(X)
