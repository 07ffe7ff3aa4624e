"""A solution is called optimal exactly when the gap of its multipliers meets the tolerance."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from lpsvdd import solve
from lpsvdd.kernels import kernel_matrix
from lpsvdd.solver import certify


def points(n: int, n_neg: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(8).normal(size=(n + n_neg, 3))
    X[n:] += 0.8
    return X, np.r_[np.ones(n), -np.ones(n_neg)]


def assert_honest(solution, K, y, p, c, tol) -> float:
    """The gap as it is, counted from alpha, over the tolerance asked for."""
    gap = certify(K, y, p=p, c=c, alpha=solution.alpha).gap
    assert solution.gap == pytest.approx(gap, rel=1e-3, abs=1e-10)
    assert solution.converged == (solution.gap <= tol)
    assert solution.status == ("optimal" if solution.converged else "not-converged")
    return gap / tol


@pytest.mark.parametrize("n_neg", [0, 20], ids=["one-class", "negatives"])
@pytest.mark.parametrize("p", [1.0, 1.5, 5.0])
def test_optimal_means_within_the_tolerance(p, n_neg):
    """Few iterations leave gaps of every size, also a little above what was asked for."""
    X, y = points(60, n_neg)
    K = kernel_matrix(X, gamma=0.3)
    ratios = []
    limits = (*range(1, 14, 2), 60)
    for tol, max_iter, c in itertools.product((1e-3, 1e-6, 1e-9), limits, (0.1, 0.3)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = solve(K, y, p=p, c=c, tol=tol, max_iter=max_iter)
        ratios.append(assert_honest(found, K, y, p, c, tol))
        warned = any(issubclass(one.category, ConvergenceWarning) for one in caught)
        assert warned == (not found.converged)
    most = 1e3 if p > 1.0 else np.inf  # p = 1 ends with a jump
    assert any(1.0 < ratio < most for ratio in ratios)  # where a lax rule would say "optimal"
    assert any(ratio <= 1.0 for ratio in ratios)
