r"""Kernels and kernel widths.

The Gaussian kernel is k(x, z) = exp(-gamma ||x - z||^2). The paper sets its width sigma to half the
mean pairwise Euclidean distance of the training objects and does not print the formula that turns
the width into gamma; here gamma = 1/(2 sigma^2).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel

KERNELS = ("rbf", "linear", "poly", "precomputed")
TAIL = 2.0**-38  # of 1 + ||a||^2: sums of kernel values below this are spread by their logarithm
DISTANCE_RULES = {"quarter-mean-distance": 0.5, "half-mean-distance": 1.0}
"""Names of width rules, and the width as a multiple of half the mean distance."""
MANY = 5_000
"""Points up to which the mean distance is taken over all pairs."""
Kernel = str | Callable[[np.ndarray, np.ndarray], float]


def half_mean_distance(X: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    r"""Return sigma, half of the mean of ||x_i - x_j|| over pairs i < j.

    A weight counts copies: weight 2 gives the width of the data with that row written twice.
    (Weights that sum to less than 2 cannot be counts; then each pair of different rows is
    weighted by w_i w_j instead.) Returns 1.0 where no two points differ. Above MANY points the
    mean is over the pairs of a sample of them, which is accurate to a per cent.

    Examples
    --------
    >>> import numpy as np
    >>> from lpsvdd.kernels import half_mean_distance, rbf_gamma
    >>> width = half_mean_distance(np.array([[0.0], [1.0], [2.0]]))  # mean of 1, 1 and 2, halved
    >>> round(width, 4), round(rbf_gamma(width), 4)
    (0.6667, 1.125)
    """
    if len(X) < 2:
        return 1.0
    if len(X) > MANY:
        some = np.random.default_rng(len(X)).choice(len(X), MANY, replace=False)
        X = X[some]
        sample_weight = None if sample_weight is None else np.asarray(sample_weight)[some]
    distances = pdist(X)
    if sample_weight is None:
        mean = float(distances.mean())
    else:
        w = np.asarray(sample_weight, dtype=float)
        total = w.sum()
        pairs = total * (total - 1.0) if total >= 2.0 else total**2 - w @ w
        mean = float(w @ squareform(distances) @ w / pairs) if pairs > 0.0 else 0.0
    return 0.5 * mean if mean > 0.0 else 1.0


def rbf_gamma(width: float) -> float:
    r"""Return gamma = 1/(2 sigma^2)."""
    if not width > 0.0:
        raise ValueError(f"width must be positive, got {width!r}")
    with np.errstate(over="ignore", under="ignore"):
        gamma = 1.0 / (np.float64(width) ** 2 * 2.0)
    return float(np.clip(gamma, np.finfo(float).tiny, np.finfo(float).max))


def resolve_gamma(
    gamma: float | str, X: np.ndarray, sample_weight: np.ndarray | None = None
) -> float:
    """Return the number behind ``gamma``: itself, or the rule of that name applied to X.

    "scale" and "auto" are scikit-learn's: 1/(number of features · variance of all entries of X),
    and 1/(number of features).
    """
    if isinstance(gamma, str):
        if gamma in DISTANCE_RULES:
            return rbf_gamma(DISTANCE_RULES[gamma] * half_mean_distance(X, sample_weight))
        if gamma == "auto":
            return 1.0 / X.shape[1]
        if gamma == "scale":
            centred = X - np.average(X, axis=0, weights=sample_weight).mean()
            variance = float(np.average(centred**2, axis=0, weights=sample_weight).mean())
            return 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0
        raise ValueError(
            "gamma must be a positive number, 'quarter-mean-distance', 'half-mean-distance', "
            "'scale' or 'auto', "
            f"got {gamma!r}"
        )
    if not (np.isfinite(gamma) and gamma > 0.0):
        raise ValueError(f"gamma must be positive and finite, got {gamma!r}")
    return float(gamma)


def kernel_matrix(
    X: np.ndarray,
    Y: np.ndarray | None = None,
    *,
    kernel: Kernel = "rbf",
    gamma: float = 1.0,
    degree: float = 3,
    coef0: float = 1.0,
) -> np.ndarray:
    """Return K_ij = k(x_i, y_j); with Y left out, the symmetric matrix of X with itself.

    The Gaussian kernel takes its distances pair by pair rather than from the expansion
    ||x||^2 - 2<x, y> + ||y||^2: no cancellation, and a row does not depend on its batch.
    """
    Z = X if Y is None else Y
    if callable(kernel):
        K = np.array([[kernel(a, b) for b in Z] for a in X], dtype=float)
        return K.reshape(len(X), len(Z))
    if kernel == "rbf":
        distances = squareform(pdist(X, "sqeuclidean")) if Y is None else cdist(X, Y, "sqeuclidean")
        distances *= -gamma
        return np.exp(distances, out=distances)
    if kernel == "linear":
        return linear_kernel(X, Z)
    if kernel == "poly":
        return polynomial_kernel(X, Z, degree=degree, gamma=gamma, coef0=coef0)
    raise ValueError(f"kernel must be one of {KERNELS} or a callable, got {kernel!r}")


def rbf_left(X: np.ndarray, origin: np.ndarray, gamma: float) -> np.ndarray | None:
    """Return L with -gamma ||x_i - z_j||^2 = (L R')_ij: many Gaussian kernel values as one product.

    None where gamma ||x - origin||^2 is so large that the sum would cancel.
    """
    d = X.shape[1]
    left = np.empty((len(X), d + 2))
    Z = np.subtract(X, origin, out=left[:, :d])
    np.einsum("ij,ij->i", Z, Z, out=left[:, d])
    left[:, d + 1] = 1.0
    return None if gamma * float(left[:, d].max(initial=0.0)) > 1e3 else left


def rbf_right(left: np.ndarray, gamma: float) -> np.ndarray:
    """Return R of ``rbf_left``, from the L of the other points."""
    return np.column_stack([2.0 * gamma * left[:, :-2], -gamma * left[:, :-3:-1]])


def rbf_product(left: np.ndarray, right: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return exp(L R') of ``rbf_left`` and ``rbf_right``; rounding makes no value larger than 1."""
    K = np.matmul(left, right.T, out=out)
    np.minimum(K, 0.0, out=K)
    return np.exp(K, out=K)


def squared_distances(
    Kz: np.ndarray, beta: np.ndarray, diag: np.ndarray, norm_sq: float | np.ndarray
) -> np.ndarray:
    """Return ||phi(z) - a||^2 = k(z, z) - 2 sum_i beta_i k(z, x_i) + ||a||^2.

    The centre is a = sum_i beta_i phi(x_i).

    Kz holds k(z, x_i), ``diag`` k(z, z), ``norm_sq`` = beta'K beta. Several centres are the columns
    of beta. One centre goes through einsum on contiguous rows, not BLAS: the distance of a row then
    does not depend on the rows around it.
    """
    if beta.ndim == 2:
        return diag[:, None] - 2.0 * (Kz @ beta) + norm_sq
    return diag - 2.0 * np.einsum("ij,j->i", Kz, beta) + norm_sq


def rbf_distances(
    squared: np.ndarray, gamma: float, beta: np.ndarray, norm_sq: float
) -> np.ndarray:
    r"""Return ||phi(z) - a||^2 for the Gaussian kernel without ties.

    ``squared`` holds ||z - x_i||^2.

    In 1 - 2 s + ||a||^2, s = sum_i beta_i exp(-gamma ||z - x_i||^2), an s below the rounding error
    of 1 is lost, and with a narrow kernel that is most of the space. So |s| < t = 2^-38 (1 +
    ||a||^2) is replaced by t (1 - log(1 + log(t/|s|))/c) with the sign of s. That grows with s, is
    s at |s| = t and differs from s by less than t: the distance keeps eleven digits and its order.
    """
    d = squared_distances(np.exp(-gamma * squared), beta, np.ones(len(squared)), norm_sq)
    total = 1.0 + norm_sq
    tail = TAIL * total
    far = np.flatnonzero(np.abs(total - d) < 2.0 * tail)
    if len(far):
        exponent = -gamma * squared[far]
        top = exponent.max(axis=1)
        share = np.einsum("ij,j->i", np.exp(exponent - top[:, None]), beta)
        with np.errstate(divide="ignore"):  # shares of both signs may cancel to nothing
            steps = np.log(tail) - np.log(np.abs(share)) - top
        farthest = 1e10  # gamma ||z - x||^2 that is still told from a larger one
        depth = np.log1p(np.clip(steps, 0.0, farthest)) / np.log1p(farthest)
        d[far] = total - 2.0 * tail * np.sign(share) * (1.0 - depth)
    return d


def kernel_diagonal(
    X: np.ndarray,
    *,
    kernel: Kernel = "rbf",
    gamma: float = 1.0,
    degree: float = 3,
    coef0: float = 1.0,
) -> np.ndarray:
    """Return k(x_i, x_i) for every row, without the matrix."""
    if callable(kernel):
        return np.array([kernel(a, a) for a in X], dtype=float)
    if kernel == "rbf":
        return np.ones(len(X))
    squared_norms = np.einsum("ij,ij->i", X, X)
    if kernel == "linear":
        return squared_norms
    if kernel == "poly":
        return (gamma * squared_norms + coef0) ** degree
    raise ValueError(f"kernel must be one of {KERNELS} or a callable, got {kernel!r}")
