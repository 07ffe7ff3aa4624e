"""Kernels, widths and checked matrices, against NumPy, scikit-learn and hand-made spectra."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import OneClassSVM

from lpsvdd._validation import weighted_quantile
from lpsvdd.kernels import (
    TAIL,
    half_mean_distance,
    rbf_distances,
    resolve_gamma,
    squared_distances,
)

X = np.random.default_rng(5).normal(size=(40, 3)) * [1.0, 2.0, 0.5] + [0.0, 3.0, -1.0]


@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_gamma_means_what_it_means_in_scikit_learn(gamma):
    assert resolve_gamma(gamma, X) == pytest.approx(OneClassSVM(gamma=gamma).fit(X)._gamma)


def test_width_is_a_share_of_the_mean_distance_of_pairs():
    corners = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])  # distances 3, 4, 5
    assert half_mean_distance(corners) == pytest.approx(2.0)
    assert resolve_gamma("half-mean-distance", corners) == pytest.approx(1.0 / 8.0)
    assert resolve_gamma("quarter-mean-distance", corners) == pytest.approx(1.0 / 2.0)
    written_out = np.repeat(corners, [1, 2, 3], axis=0)
    weighted = half_mean_distance(corners, np.array([1.0, 2.0, 3.0]))
    assert weighted == pytest.approx(half_mean_distance(written_out))
    assert half_mean_distance(corners, np.array([0.2, 0.2, 0.0])) == pytest.approx(1.5)


@given(
    pairs=st.lists(
        st.tuples(st.integers(-9, 9), st.integers(0, 4)), min_size=1, max_size=20
    ).filter(lambda pairs: any(count for _, count in pairs)),
    level=st.floats(0.0, 1.0),
)
def test_a_weighted_quantile_is_that_of_the_values_written_out(pairs, level):
    values, counts = np.array(pairs, dtype=float).T
    wanted = np.quantile(np.repeat(values, counts.astype(int)), level)
    assert weighted_quantile(values, level, counts) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("signs", [np.ones(5), np.array([1.0, -1.0, 1.0, -0.5, 1.0])], ids=str)
def test_far_rows_keep_their_order_and_the_distance_its_digits(signs):
    rng = np.random.default_rng(2)
    squared = np.sort(rng.uniform(0.9, 1.1, size=(60, 5)) * np.geomspace(1, 4e3, 60)[:, None], 0)
    beta = np.array([0.5, 0.3, 0.1, 0.06, 0.04]) * signs
    with mpmath.workdps(60):
        sums = [mpmath.fdot(beta, [mpmath.exp(-mpmath.mpf(d)) for d in row]) for row in squared]
    d = rbf_distances(squared, 1.0, beta, 0.2)
    assert np.argsort(d).tolist() == sorted(range(60), key=lambda i: -sums[i])
    assert len(set(d)) == 60  # where 1.2 - 2 s alone has a handful of values
    plain = squared_distances(np.exp(-squared), beta, np.ones(60), 0.2)
    assert len(set(plain)) < 30
    assert np.abs(d - plain).max() <= 2.0 * 1.2 * TAIL < 1e-11
    near = np.array([abs(s) > 1.2 * TAIL for s in sums])
    assert 3 < near.sum() < 57 and np.allclose(d[near], plain[near], atol=1e-9)


def test_absurdly_far_rows_are_farthest_and_finite():
    d = rbf_distances(np.array([[1.0], [1e3], [1e300]]), 1.0, np.array([1.0]), 1.0)
    assert np.isfinite(d).all() and d[0] < d[1] < d[2] <= 2.0
    cancelled = rbf_distances(np.array([[900.0, 900.0]]), 1.0, np.array([1.0, -1.0]), 0.5)
    assert cancelled == pytest.approx(1.5)
