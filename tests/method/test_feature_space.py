"""Inseparable negatives, kernels of low rank, large p and c: multipliers beyond kernel sums.

The judge is arithmetic with 60 digits (``replication.studies.fuzz_judge``).
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from lpsvdd import LpSVDD, solve
from lpsvdd.kernels import kernel_matrix
from lpsvdd.solver import Gram, certify
from replication.studies.fuzz_judge import Case, judge


def mixed(n: int, d: int, seed: int, negative: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    """Normal points with labels that no ball separates."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(rng.random(n) < negative, -1.0, 1.0)
    y[0] = 1.0
    return X, y


def assert_is_the_exact_ball(found, X, y, p, c) -> None:
    case = Case(X @ X.T, X, np.array(y, dtype=float), p, np.full(len(X), c), power=1)
    assert found.status == "optimal" and -1e-11 <= found.gap <= 1e-9
    assert judge(case, found).is_right


SMALL = [
    (np.array([[5.0], [4.0], [0.0], [-3.0]]), [1, 1, -1, 1]),
    (np.array([[5.0], [2.0], [-3.0]]), [1, -1, 1]),
    (np.array([[1.0], [0.5], [0.25], [-1.0], [-0.5]]), [1, -1, 1, -1, 1]),
    mixed(9, 2, seed=0),
    mixed(9, 2, seed=1),
]


@pytest.mark.parametrize("p, c", [(2.0, 1e5), (3.0, 1e-3), (10.0, 1.0), (20.0, 1.0), (100.0, 1e5)])
@pytest.mark.parametrize("X, y", SMALL, ids=len)
def test_on_a_line_and_in_the_plane_it_is_the_exact_ball(X, y, p, c):
    assert_is_the_exact_ball(solve(X @ X.T, y, p=p, c=c), X, y, p, c)


@pytest.mark.parametrize("p", [1.0, 1.0 + 1e-8, 1.5, 20.0, 100.0])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_inseparable_negatives_are_ordinary_problems(kernel, p):
    X, y = mixed(30, 2, seed=4)
    X[20:] = X[:10]  # the same points with both labels
    K = kernel_matrix(X, kernel=kernel, gamma=1.0 if kernel == "poly" else 0.1, degree=3)
    # A Gaussian kernel, p near 1 and c = 1e3 is at the limit of doubles: some processors say so.
    costs = (1e-6, 1e-2, 1.0) if kernel == "rbf" and p <= 1.01 else (1e-6, 1e-2, 1.0, 1e3)
    for c in costs:
        found = solve(K, y, p=p, c=c)
        assert found.status in ("optimal", "radius-zero")
        judged = certify(K, y, p=p, c=c, alpha=found.alpha)
        assert -1e-11 <= judged.gap <= 1e-8
        assert judged.radius_sq == pytest.approx(found.radius_sq, rel=1e-4, abs=1e-4)


# -- scores --------------------------------------------------------------------------------------


def quadratic(X: np.ndarray) -> np.ndarray:
    """Explicit features of (x'z + 1)^2."""
    pairs = itertools.combinations(range(X.shape[1]), 2)
    mixed_terms = [np.sqrt(2.0) * X[:, i] * X[:, j] for i, j in pairs]
    return np.column_stack([np.ones(len(X)), np.sqrt(2.0) * X, X**2, *mixed_terms])


@pytest.mark.parametrize("p, C", [(1.0, 0.1), (1.5, 10.0), (2.0, 10.0), (20.0, 0.1), (100.0, 10.0)])
@pytest.mark.parametrize("kernel", ["linear", "poly", "precomputed"])
def test_scores_are_distances_to_the_centre_itself(kernel, p, C):
    X, y = mixed(16, 2, seed=7)
    new = np.random.default_rng(8).normal(size=(30, 2))
    features = (lambda Z: Z) if kernel == "linear" else quadratic
    model = LpSVDD(p=p, C=C, kernel=kernel, gamma=1.0, degree=2, coef0=1.0, contamination=0.1)
    if kernel == "precomputed":
        model.fit((X @ X.T + 1.0) ** 2, y)
        scores = model.score_samples((new @ X.T + 1.0) ** 2, diag=((new**2).sum(1) + 1.0) ** 2)
    else:
        scores = model.fit(X, y).score_samples(new)
    assert model.duality_gap_ <= 1e-9
    centre = model.centre_coef_ @ features(X)[model.centre_rows_]
    distances = ((features(new) - centre) ** 2).sum(axis=1)
    assert scores == pytest.approx(-distances, rel=1e-6)


# -- the pieces ----------------------------------------------------------------------------------


def test_multipliers_beyond_any_float_are_reported():
    X, y = mixed(15, 2, seed=5)
    K = 1e8 * (X @ X.T)
    with pytest.warns(ConvergenceWarning, match="without a certificate"):
        found = solve(K, y, p=100.0, c=1e8)
    assert found.status == "not-converged"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert solve(K, y, p=30.0, c=1.0).status == "optimal"


def test_rounding_errors_of_a_kernel_are_no_directions():
    """Far from the origin K is known to 1e-14 only; a centre must not go 1e8 along its noise."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(25, 3)) + 10.0
    y = np.where(rng.random(25) < 0.5, -1.0, 1.0)
    assert Gram.check(X @ X.T).features.Z.shape[1] == 3
    found = solve(X @ X.T, y, p=3.0, c=1e7)
    assert found.status == "optimal"
    assert np.abs(found.centre).sum() < 100.0
    assert_is_the_exact_ball(found, X, y, 3.0, 1e7)
