r"""Which points make good landmarks.

What the landmarks do not span is lost: the centre a = sum_i beta_i phi(x_i) is replaced by its
projection. Three ways to choose m of n points:

- "uniform": at random.
- "k-means": the means of m clusters, which need not be points.
- "pivots": one after the other, at random with probabilities proportional to the residual
  k(x, x) - ||z(x)||^2, what those before do not span (randomly pivoted Cholesky; Chen, Epperly,
  Tropp and Webber, 2024). Copies have residual zero and are not chosen twice.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from lpsvdd.kernels import kernel_diagonal, kernel_matrix

METHODS = ("uniform", "k-means", "pivots")
DEFAULT = 300  # landmarks
POOL = 20  # candidates for each landmark
ENOUGH = 1e-10  # of the largest k(x, x): a residual that is nothing


def choose_landmarks(
    X: np.ndarray,
    m: int,
    *,
    method: str = "pivots",
    weight: np.ndarray | None = None,
    random_state: int = 0,
    **options,
) -> np.ndarray:
    """Up to m landmarks for the rows of X.

    Parameters
    ----------
    X : array of shape (n, n_features)
    m : number of landmarks; fewer come back where the kernel has fewer directions
    method : "uniform", "k-means" or "pivots" (see the module)
    weight : array of shape (n,), optional
        Points with a larger weight are chosen rather.
    random_state : int
    options : kernel, gamma, degree, coef0 as in ``lpsvdd.kernels.kernel_matrix``
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    random = np.random.default_rng(random_state)
    if method == "k-means":
        means = MiniBatchKMeans(min(m, len(X)), random_state=random_state, n_init=1)
        return means.fit(X, sample_weight=weight).cluster_centers_
    share = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
    if method == "uniform":
        size = min(m, int(np.count_nonzero(share)))
        return X[random.choice(len(X), size, replace=False, p=share / share.sum())]
    return X[_pivots(X, min(m, len(X)), share, random, options)]


def _pivots(X, m, share, random, options) -> np.ndarray:
    residual = kernel_diagonal(X, **options)
    floor = ENOUGH * float(residual.max())
    columns = np.zeros((m, len(X)))
    chosen: list[int] = []
    while len(chosen) < m:
        odds = np.where(residual > floor, share * residual, 0.0)
        total = float(odds.sum())
        if not total > 0.0:
            break
        pivot = int(random.choice(len(X), p=odds / total))
        k = len(chosen)
        row = kernel_matrix(X, X[pivot : pivot + 1], **options)[:, 0]
        row -= columns[:k, pivot] @ columns[:k]
        columns[k] = row / np.sqrt(residual[pivot])
        residual = residual - columns[k] ** 2
        residual[pivot] = 0.0
        chosen.append(pivot)
    return np.array(chosen, dtype=np.intp)
