"""The ball that leaves a given share of its rows outside."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from lpsvdd.solver import Gram
from replication.share import SharePath, solve_share

X = np.random.default_rng(7).normal(size=(120, 3))


def outside(found) -> int:
    """How many rows are outside the ball, those on its surface left out."""
    near = 1e-5 if found.solution.p < 1.2 else 1e-9
    return int((found.solution.distances > found.solution.radius_sq + near).sum())


@pytest.mark.parametrize("gamma", [0.1, 8.0])
@pytest.mark.parametrize("p", [1.0, 1.02, 1.2, 2.0, 20.0])
@pytest.mark.parametrize("nu", [0.05, 0.1, 0.5, 0.9])
def test_the_share_outside_is_nu_up_to_one_row_or_is_not_reached(p, nu, gamma):
    K = rbf_kernel(X, gamma=gamma)
    found = solve_share(K, p=p, nu=nu)
    assert found.solution.converged
    if p == 1.0:
        assert outside(found) <= nu * len(X)
    elif found.reached:
        assert abs(outside(found) - nu * len(X)) <= 1.0
    else:  # of narrow kernels, or few rows, the hard ball has more on its surface
        assert gamma == 8.0 or nu == 0.05 or p < 1.1


@pytest.mark.parametrize("p", [1.0, 1.2, 2.0, 20.0])
def test_several_shares_of_one_path_are_those_found_alone(p):
    K = rbf_kernel(X[:60, :2], gamma=0.3)
    path = SharePath(Gram.check(K), p)
    for nu in (0.6, 0.3, 0.05):
        one, other = path.share(nu), solve_share(K, p=p, nu=nu)
        assert one.reached == other.reached and one.solution.converged
        if one.reached:
            assert outside(one) == outside(other)
        else:
            assert np.allclose(one.solution.centre, other.solution.centre, atol=1e-6)


def test_copies_of_a_row_stay_together():
    found = solve_share(rbf_kernel(np.repeat(X[:20], 6, axis=0), gamma=0.05), p=2.0, nu=0.42)
    assert found.reached and outside(found) == 48  # eight rows of twenty; 0.42 of 120 is 50.4


def test_solve_share_beyond_floats_is_refused_by_its_cause():
    rows = 1e100 * X[:20]
    with pytest.raises(ValueError, match="squared distances near .* rescale K"):
        solve_share(rows @ rows.T, p=20.0, nu=0.1)
