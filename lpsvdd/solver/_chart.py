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

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """g with centre = sum_j g_j phi(l_j)."""
        return (self.origin + w) @ self.inverse

    def distances(self, X: np.ndarray, w: np.ndarray) -> np.ndarray:
        """||phi(x) - a||^2 for the centre with coordinates w."""
        centre = self.origin + w
        Kx = kernel_matrix(X, self.rows, **self.options)
        diag = kernel_diagonal(X, **self.options)
        return diag - 2.0 * (Kx @ (centre @ self.inverse)) + float(centre @ centre)

    def lost(self, X: np.ndarray, beta: np.ndarray, Y: np.ndarray, gamma: np.ndarray) -> float:
        """sum_ij beta_i gamma_j <r_i, r_j>, r being what of phi the landmarks do not span."""
        inside = [kernel_matrix(A, self.rows, **self.options) @ self.inverse.T for A in (X, Y)]
        across = float(beta @ kernel_matrix(X, Y, **self.options) @ gamma)
        return across - float((beta @ inside[0]) @ (gamma @ inside[1]))


class Axes:
    """The input features themselves, for the linear kernel: nothing is lost."""

    def __init__(self, about: np.ndarray) -> None:
        self.origin = about.mean(axis=0)
        self.rank = about.shape[1]

    def coordinates(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        Z = X - self.origin
        return Z, np.einsum("ij,ij->i", Z, Z)

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """Of the one landmark that is needed, the centre itself."""
        return np.ones(1)

    @property
    def rows(self) -> np.ndarray:
        return self.origin[None]

    def distances(self, X: np.ndarray, w: np.ndarray) -> np.ndarray:
        off = X - (self.origin + w)
        return np.einsum("ij,ij->i", off, off)

    def lost(self, X, beta, Y, gamma) -> float:
        return 0.0
