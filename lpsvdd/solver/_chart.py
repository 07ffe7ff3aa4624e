r"""Coordinates of a centre that is a combination of landmarks, or of input features.

Landmarks l_1, ..., l_m span a space of functions. With K_ll = LL' a point x has in it the
coordinates z(x) = L^-1 (k(l_1, x), ..., k(l_m, x)), and a centre a = sum_j g_j phi(l_j) the
coordinates L'g. Squared distances to such a centre are exact,

    ||phi(x) - a||^2 = k(x, x) - 2 sum_j g_j k(l_j, x) + g'K_ll g:

k(x, x), not ||z(x)||^2. A point far from all landmarks has z(x) = 0, and would look close to
everything if its length were forgotten. Landmarks that add nothing to the span of the others
(copies, or more of them than the kernel has directions) are left out: Cholesky with pivots tells.

For the linear kernel no landmarks are needed: the input features are coordinates (``Axes``).

Coordinates are taken about an origin, the mean of some points, lest distances that are small
compared with k(x, x) lose their digits.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from lpsvdd.kernels import kernel_diagonal, kernel_matrix

BLOCK = 2_000  # rows and columns of a block of kernel values
FLOOR = 1e-10  # of the largest k(l, l): a landmark nearer than this to the others' span is left out


class Landmarks:
    """The span of landmarks.

    Parameters
    ----------
    rows : array of shape (m, n_features)
    about : array of shape (n, n_features)
        Points whose mean becomes the origin.
    options : keywords of ``kernel_matrix``

    Attributes
    ----------
    rows : the landmarks that are kept
    rank : their number
    """

    def __init__(self, rows: np.ndarray, about: np.ndarray, options: dict) -> None:
        self.options = options
        K = np.array(kernel_matrix(rows, **options), order="F")
        largest = float(K.diagonal().max())
        if not largest > 0.0:
            raise ValueError("the kernel is zero on every landmark: there is no space they span")
        factor, pivots, rank, _ = dpstrf(K, tol=FLOOR * largest, lower=1, overwrite_a=1)
        self.rank = int(rank)
        self.rows = rows[pivots[:rank] - 1]
        lower = np.tril(factor[:rank, :rank])
        self.inverse = solve_triangular(lower, np.eye(rank), lower=True)
        self.origin = kernel_matrix(about, self.rows, **options).mean(axis=0) @ self.inverse.T
        self.shift = float(self.origin @ self.origin)

    def coordinates(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """z(x) about the origin, and the squared distances of the points to the origin."""
        Z = kernel_matrix(X, self.rows, **self.options) @ self.inverse.T
        diag = kernel_diagonal(X, **self.options) - 2.0 * (Z @ self.origin) + self.shift
        Z -= self.origin
        return Z, diag

    def centre(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points l_j and coefficients g_j with centre = sum_j g_j phi(l_j)."""
        return self.rows, (self.origin + w) @ self.inverse

    def norm_sq(self, w: np.ndarray) -> float:
        """||a||^2."""
        return float((self.origin + w) @ (self.origin + w))

    def distances(self, X: np.ndarray, w: np.ndarray) -> np.ndarray:
        """||phi(x) - a||^2 for the centre with coordinates w."""
        centre = self.origin + w
        Kx = kernel_matrix(X, self.rows, **self.options)
        diag = kernel_diagonal(X, **self.options)
        return diag - 2.0 * (Kx @ (centre @ self.inverse)) + float(centre @ centre)

    def lost(self, X: np.ndarray, beta: np.ndarray) -> float:
        """|| what of sum_i beta_i phi(x_i) the landmarks do not span ||^2, in n^2/2 kernel values.

        beta'K beta less the squared length of the projection.
        """
        whole, inside = 0.0, np.zeros(self.rank)
        blocks = _batches(len(X))
        for i, some in enumerate(blocks):
            inside += beta[some] @ kernel_matrix(X[some], self.rows, **self.options)
            for other in blocks[i:]:
                K = kernel_matrix(X[some], X[other], **self.options)
                whole += (1.0 if other == some else 2.0) * float(beta[some] @ K @ beta[other])
        inside = self.inverse @ inside
        return whole - float(inside @ inside)

    def lost_in_sample(self, X: np.ndarray, beta: np.ndarray, size: int) -> float:
        """An estimate of ``lost`` from ``size`` rows, two standard errors added.

        lost = sum_i beta_i r_i with r_i = <phi(x_i), what is not spanned>. Rows are drawn with
        probabilities |beta_i| / sum |beta|, so that beta_i r_i over its probability is of one
        size.
        """
        weight = np.abs(beta) / np.abs(beta).sum()
        rows = np.random.default_rng(len(beta)).choice(len(beta), size, p=weight)
        inside = np.zeros(self.rank)
        across = np.zeros(size)
        for some in _batches(len(X)):
            inside += beta[some] @ kernel_matrix(X[some], self.rows, **self.options)
            across += kernel_matrix(X[rows], X[some], **self.options) @ beta[some]
        inside = (self.inverse @ inside) @ self.inverse
        r = across - kernel_matrix(X[rows], self.rows, **self.options) @ inside
        r *= np.sign(beta[rows]) * np.abs(beta).sum()
        return max(float(r.mean()), 0.0) + 2.0 * float(r.std(ddof=1)) / np.sqrt(size)


class Axes:
    """The input features themselves, for the linear kernel: nothing is lost."""

    def __init__(self, about: np.ndarray) -> None:
        self.origin = about.mean(axis=0)
        self.rank = about.shape[1]

    def coordinates(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        Z = X - self.origin
        return Z, np.einsum("ij,ij->i", Z, Z)

    def centre(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """One point is enough: the centre itself."""
        return (self.origin + w)[None], np.ones(1)

    def norm_sq(self, w: np.ndarray) -> float:
        return float((self.origin + w) @ (self.origin + w))

    def distances(self, X: np.ndarray, w: np.ndarray) -> np.ndarray:
        off = X - (self.origin + w)
        return np.einsum("ij,ij->i", off, off)

    def lost(self, X: np.ndarray, beta: np.ndarray) -> float:
        return 0.0

    def lost_in_sample(self, X: np.ndarray, beta: np.ndarray, size: int) -> float:
        return 0.0


def _batches(n: int) -> list[slice]:
    return [slice(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK)]
