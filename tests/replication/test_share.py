"""The ball that leaves a given share of its rows outside."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from lpsvdd import solve
from replication.share import SHELL, solve_share

RNG = np.random.default_rng(7)
X = RNG.normal(size=(120, 3))
NEAR = np.vstack([X[:100], RNG.normal(0.8, 1.0, size=(20, 3))])
Y = np.r_[np.ones(100), -np.ones(20)]


def outside(found, y=None):
    """Which positives lie beyond the threshold."""
    d = found.solution.distances
    return (d > found.threshold)[slice(None) if y is None else y > 0]


@pytest.mark.parametrize("gamma", [0.1, 8.0])
@pytest.mark.parametrize("p", [1.02, 2.0, 20.0])
@pytest.mark.parametrize("nu", [0.05, 0.1, 0.5, 0.9])
def test_the_share_outside_is_nu_up_to_one_sample(p, nu, gamma):
    found = solve_share(rbf_kernel(X, gamma=gamma), p=p, nu=nu)
    assert abs(outside(found).sum() - nu * len(X)) <= 1.0
    assert found.solution.converged


def test_solve_share_where_no_cost_reaches_the_share_says_so_and_draws_a_thick_surface():
    K = rbf_kernel(X, gamma=4.0)  # the hard ball touches nearly all samples
    assert np.mean(solve(K, p=2.0, c=1e8).slack > 0.0) > 0.5
    found = solve_share(K, p=2.0, nu=0.1)
    assert not found.reached and outside(found).sum() == 12
    assert 0.0 < found.threshold - found.solution.radius_sq < 3.0 * SHELL


@pytest.mark.parametrize("c_neg", [None, 0.05])
@pytest.mark.parametrize("p", [1.0, 1.3, 2.0, 5.0])
def test_solve_share_with_negatives_counts_the_positives(p, c_neg):
    K = rbf_kernel(NEAR, gamma=0.1)
    found = solve_share(K, Y, p=p, nu=0.2, c_neg=c_neg)
    if p == 1.0:  # an upper bound on those that positive multipliers hold; negatives may add some
        assert found.cost == pytest.approx(1.0 / 20)
    else:
        assert abs(outside(found, Y).sum() - 20) <= 1
    cost = np.where(Y > 0, found.cost, found.cost if c_neg is None else c_neg)
    again = solve(K, Y, p=p, c=cost)
    assert found.solution.radius_sq == pytest.approx(again.radius_sq, abs=1e-4)


def test_solve_share_counts_weights():
    weight = RNG.uniform(0.1, 3.0, size=120)
    found = solve_share(rbf_kernel(NEAR, gamma=0.1), Y, p=2.0, nu=0.2, sample_weight=weight)
    targets = weight[Y > 0]
    assert abs(targets[outside(found, Y)].sum() - 0.2 * targets.sum()) <= targets.max()


def test_solve_share_keeps_copies_of_a_row_together():
    found = solve_share(rbf_kernel(np.repeat(X[:20], 6, axis=0), gamma=0.2), p=2.0, nu=0.13)
    assert outside(found).sum() == 18  # three rows of twenty; 0.13 of 120 is 15.6


@pytest.mark.parametrize("points", [X[:1], np.ones((5, 2)), X[:2], X[:3]], ids=str)
def test_solve_share_of_few_or_coinciding_points_accepts_all(points):
    assert not outside(solve_share(rbf_kernel(points, gamma=0.2), p=2.0, nu=0.1)).any()


def test_solve_share_beyond_floats_is_refused_by_its_cause():
    rows = 1e100 * X[:20]
    with pytest.raises(ValueError, match="squared distances near .* rescale K"):
        solve_share(rows @ rows.T, p=20.0, nu=0.1)
