"""Quantities of the page on limits."""

from __future__ import annotations

import numpy as np
import pytest

from lpsvdd import solve, solve_path
from lpsvdd.kernels import kernel_matrix
from replication.limits import centre_distance, critical_cost, outside_and_support


@pytest.fixture(scope="module")
def K():
    return kernel_matrix(np.random.default_rng(2).normal(size=(25, 2)), gamma=0.4)


@pytest.mark.parametrize("p", [1.5, 3.0])
def test_the_radius_changes_its_sign_at_the_critical_cost(K, p):
    c = critical_cost(K, p)
    assert solve(K, p=p, c=0.99 * c).radius_sq < 0.0 < solve(K, p=p, c=1.01 * c).radius_sq


def test_above_one_support_vectors_are_the_points_outside(K):
    outside, support = outside_and_support(K, solve_path(K, ps=[1.5], cs=[0.02, 0.1, 0.2]))
    np.testing.assert_array_equal(outside, support)
    outside, support = outside_and_support(K, solve_path(K, ps=[1.0], cs=[0.11, 0.3]))
    assert (support > outside).all()


def test_distance_of_centres(K):
    one, other = np.eye(25)[0], np.eye(25)[1]
    assert centre_distance(K, one, other) == pytest.approx(np.sqrt(2.0 - 2.0 * K[0, 1]))
    assert centre_distance(K, one, one) == 0.0
