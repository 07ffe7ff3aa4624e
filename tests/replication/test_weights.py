"""Sample weights: formulas, degenerate inputs, the treatment of negatives."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from lpsvdd.kernels import kernel_matrix
from replication.weights import density, global_local, kernel_distances, position, sample_weights

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
K = kernel_matrix(X, kernel="rbf", gamma=0.3)
Y = np.r_[np.ones(20), -np.ones(10)]

FUNCTIONS = {
    "position-linear": lambda X, y=None, **kw: position(_rbf(X), y, **kw),
    "position-minmax": lambda X, y=None, **kw: position(_rbf(X), y, variant="minmax", **kw),
    "position-exp": lambda X, y=None, **kw: position(_rbf(X), y, variant="exp", **kw),
    "density": density,
    "global-local": lambda X, y=None, **kw: global_local(_rbf(X), y, **kw),
}


def _rbf(X):
    return kernel_matrix(np.asarray(X, dtype=float), kernel="rbf", gamma=0.3)


def test_position_uses_the_distance_to_the_mean():
    # With the linear kernel the feature-space mean is the mean of the data.
    D = ((X - X.mean(axis=0)) ** 2).sum(axis=1)
    linear = X @ X.T
    np.testing.assert_allclose(position(linear), 1.0 - D / D.max(), atol=1e-9)
    np.testing.assert_allclose(
        position(linear, variant="minmax"), (D.max() - D) / np.ptp(D), atol=1e-9
    )
    np.testing.assert_allclose(position(linear, variant="exp"), np.exp(-D / D.mean()), rtol=1e-9)


@pytest.mark.parametrize("k", [1, 5, 29, 500])
def test_density_uses_the_kth_other_neighbour(k):
    nearest = NearestNeighbors(n_neighbors=min(k, 29)).fit(X)
    d = nearest.kneighbors()[0][:, -1]  # without arguments: the point itself is not counted
    np.testing.assert_allclose(density(X, k=k), 1.0 - d / d.max(), atol=1e-9)


def test_density_takes_distances_from_the_inputs_where_there_are_any():
    by_inputs, by_kernel = (sample_weights("density", K, Y, rows, k=3) for rows in (X, None))
    np.testing.assert_array_equal(by_inputs, density(X, Y, k=3))
    np.testing.assert_array_equal(by_kernel, density(y=Y, distances=kernel_distances(K), k=3))
    assert np.abs(by_inputs - by_kernel).max() > 0.01


def test_global_local_parts():
    g = K.mean(axis=1)
    others = np.sort(K - 2.0 * np.eye(30), axis=1)[:, ::-1]  # own entry last
    local = others[:, :4].mean(axis=1)
    np.testing.assert_allclose(global_local(K, k=4, lam=1.0), g / g.max())
    np.testing.assert_allclose(global_local(K, k=4, lam=0.0), local / local.max())
    mixed = 0.25 * g / g.max() + 0.75 * local / local.max()
    np.testing.assert_allclose(global_local(K, k=4, lam=0.25), mixed)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_negatives(name):
    weigh = FUNCTIONS[name]
    weights = weigh(X, Y)
    np.testing.assert_array_equal(weights[Y < 0], 1.0)
    np.testing.assert_allclose(weights[Y > 0], weigh(X[Y > 0]), atol=1e-9)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_equal_points_get_equal_positive_weights(name):
    for data in (np.zeros((1, 2)), np.zeros((6, 2)), np.array([[0.0], [1.0]]), np.eye(5)):
        w = FUNCTIONS[name](data)
        assert w[0] > 0.0
        np.testing.assert_allclose(w, w[0])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_weights_are_finite_and_not_all_zero(name):
    rng = np.random.default_rng(0)
    for n, copies in ((1, 3), (2, 1), (2, 3), (7, 2), (12, 1)):
        w = FUNCTIONS[name](np.repeat(rng.normal(size=(n, 2)), copies, axis=0))
        assert np.isfinite(w).all() and (w >= 0.0).all() and (w <= 1.0 + 1e-9).all() and w.any()
