r"""Sample weights of the re-weighted SVDD variants: w_i >= 0, used as c_i = C w_i.

With weights the problem is  min R^2 + C sum_i w_i zeta_i^p  under the usual constraints; at p = 1
its dual is that of SVDD with the box 0 <= alpha_i <= C w_i. P-, DW- and GL-SVDD are therefore
``LpSVDD(p=1)`` with ``sample_weight`` from this module, and the same weights serve every other p.
A weight of zero drops the point; at p = 1 the dual is feasible when C sum_i w_i >= 1.

Only DW-SVDD's weight (`density`) was published with a formula that we could read. `position`
(P-SVDD) and `global_local` (GL-SVDD) are **reconstructions** from abstracts and from the summary in
S. R. Arashloo, "lp slack norm support vector data description", arXiv:2203.08932.

In every function y holds labels +1 / -1 (None: all +1). Positives are weighted among positives
only. None of the sources says how labelled negatives are weighted; here they have weight 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import cdist

from lpsvdd._validation import check_labels


def position(
    K: np.ndarray,
    y: np.ndarray | None = None,
    *,
    variant: Literal["linear", "minmax", "exp"] = "linear",
) -> np.ndarray:
    r"""Return weights from the squared distance to the kernel mean (P-SVDD, reconstruction).

    D_i = K_ii - (2/n) sum_j K_ij + 1'K1/n^2 of the kernel matrix K, and

    * "linear":  w_i = 1 - D_i / max D,
    * "minmax":  w_i = (max D - D_i) / (max D - min D),
    * "exp":     w_i = exp(-D_i / mean D), never zero.

    That weights fall with the distance is inferred; the default has the form of DW-SVDD's weight,
    and gives the furthest point weight zero. Where all D_i are equal every weight is 1.
    C.-D. Wang, J. Lai, "Position regularized support vector domain description", Pattern
    Recognition 46(3), 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from replication.weights import position
    >>> x = np.array([-1.0, 0.0, 1.0, 4.0])
    >>> position(np.outer(x, x)).round(2).tolist()  # the furthest point gets no weight
    [0.56, 0.89, 1.0, 0.0]
    """
    if variant not in ("linear", "minmax", "exp"):
        raise ValueError(f"variant must be 'linear', 'minmax' or 'exp', got {variant!r}")

    def of_positives(block: np.ndarray) -> np.ndarray:
        D = np.maximum(np.diag(block) - 2.0 * block.mean(axis=1) + block.mean(), 0.0)
        low, high = D.min(), D.max()
        if high - low <= 1e-12 * max(high, np.abs(block).max()):  # round-off
            return np.ones(len(block))
        if variant == "exp":
            return np.exp(-D / D.mean())
        return (high - D) / (high - low if variant == "minmax" else high)

    return _weights(of_positives, K, y)


def density(
    X: np.ndarray | None = None,
    y: np.ndarray | None = None,
    *,
    k: int = 5,
    distances: np.ndarray | None = None,
) -> np.ndarray:
    r"""Return weights from the distance to the k-th nearest neighbour (DW-SVDD).

    w_i = 1 - d_k(x_i) / max_j d_k(x_j),  d_k(x) = distance to the k-th nearest *other* point.

    Distances are those of the rows X, or the matrix ``distances``, e.g. `kernel_distances` of a
    kernel matrix; k is at most n - 1. The sparsest point always has weight zero and is dropped.
    Where all d_k are equal (duplicates everywhere, two points, one point) every weight is 1.
    M. Cha, J. S. Kim, J.-G. Baek, "Density weighted support vector data description", Expert
    Systems with Applications 41(7), 2014.
    """
    if distances is None:
        if X is None:
            raise ValueError("give X or distances")
        distances = cdist(X, X)

    def of_positives(block: np.ndarray) -> np.ndarray:
        nearest = _nearest_others(block, k)
        d = np.take_along_axis(block, nearest[:, -1:], axis=1)[:, 0]
        high = d.max()
        return np.ones(len(d)) if high - d.min() <= 1e-12 * high else 1.0 - d / high

    return _weights(of_positives, distances, y)


def global_local(
    K: np.ndarray, y: np.ndarray | None = None, *, k: int = 5, lam: float = 0.5
) -> np.ndarray:
    r"""Return weights from a global and a local kernel density (GL-SVDD, reconstruction).

    g_i = (1/n) sum_j K_ij,  l_i = (1/k) sum over the k nearest others j of K_ij,
    w_i = lam · g_i / max g + (1 - lam) · l_i / max l.

    "Nearest" is by feature-space distance, k at most n - 1. A density needs a non-negative kernel:
    negative g_i or l_i count as zero. lam = 1 is the global density alone, 0 the local one. For a
    Gaussian kernel the weights lie in (0, 1], and lam = 1 is an increasing affine function of the
    "linear" weights of `position`. Hu et al., the method called GL-SVDD, IEEE Transactions on
    Neural Networks and Learning Systems, 2021 (IEEE Xplore 9632278).
    """
    if not 0.0 <= lam <= 1.0:
        raise ValueError(f"lam must lie in [0, 1], got {lam!r}")

    def of_positives(block: np.ndarray) -> np.ndarray:
        nearest = _nearest_others(kernel_distances(block), k)
        local = np.take_along_axis(block, nearest, axis=1).mean(axis=1)
        return lam * _relative(block.mean(axis=1)) + (1.0 - lam) * _relative(local)

    return _weights(of_positives, K, y)


def sample_weights(
    weighting: str,
    K: np.ndarray,
    y: np.ndarray | None = None,
    X: np.ndarray | None = None,
    **parameters: Any,
) -> np.ndarray:
    """Return weights by name; "density" takes distances in X, or in feature space if X is None."""
    if weighting == "position":
        return position(K, y, **parameters)
    if weighting == "density":
        distances = kernel_distances(K) if X is None else None
        return density(X, y, distances=distances, **parameters)
    if weighting == "global-local":
        return global_local(K, y, **parameters)
    known = "'position', 'density', 'global-local'"
    raise ValueError(f"weighting must be one of {known}, got {weighting!r}")


def kernel_distances(K: np.ndarray) -> np.ndarray:
    r"""Return ||phi(x_i) - phi(x_j)|| = sqrt(K_ii + K_jj - 2 K_ij), never below zero."""
    diagonal = np.diag(K)
    return np.sqrt(np.maximum(diagonal[:, None] + diagonal - 2.0 * K, 0.0))


def _nearest_others(distances: np.ndarray, k: int) -> np.ndarray:
    """Return the columns of the k nearest other points, or of all; of a lone point itself."""
    if k < 1 or int(k) != k:
        raise ValueError(f"k must be a positive integer, got {k!r}")
    far = distances + np.diag(np.full(len(distances), np.inf))
    return np.argsort(far, axis=1, kind="stable")[:, : max(min(k, len(distances) - 1), 1)]


def _relative(values: np.ndarray) -> np.ndarray:
    """Return values / max, negative values as zero; all ones where nothing is positive."""
    values = np.maximum(values, 0.0)
    high = values.max()
    return values / high if high > 0.0 else np.ones(len(values))


def _weights(
    of_positives: Callable[[np.ndarray], np.ndarray], matrix: np.ndarray, y: np.ndarray | None
) -> np.ndarray:
    """Return weights from the positives' block of a matrix; 1 for the negatives."""
    matrix = np.asarray(matrix, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"expected a square matrix, got shape {matrix.shape}")
    positive = check_labels(y, len(matrix)) > 0.0
    weights = np.ones(len(matrix))
    weights[positive] = of_positives(matrix[np.ix_(positive, positive)])
    return weights
