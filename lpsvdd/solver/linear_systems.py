r"""Linear systems with 2 K + D, D a positive diagonal: directly, in coordinates, or by iteration.

Every step of Newton's method solves

.. math::

    (2 K + D) x + 1 b = r, \qquad 1'x = m.

With an inverse of 2 K + D at hand that is ``bordered``. ``Cholesky`` has it for a kernel matrix,
``Woodbury`` for K = Z Z' with few columns. ``conjugate_gradients`` needs products with K alone; its
preconditioner is the exact block of the rows with the smallest D, where the system is stiff, and
the diagonal of the others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, spotrf, spotrs

ROWS_AT_ONCE = 4096  # of Z, weighted and added up
BLOCK_SHARE, MAX_BLOCK = 2, 1000  # the exact block: half of the rows, at most so many
Inverse = Callable[[np.ndarray], np.ndarray]


class Cholesky:
    """The inverse of A + D by one factorisation, in the precision of A, which is overwritten.

    Where rounding leaves A + D indefinite, jitter is added until the factorisation succeeds.
    """

    def __init__(self, A: np.ndarray, D: np.ndarray) -> None:
        factorise, self._solve = (dpotrf, dpotrs) if A.dtype == np.float64 else (spotrf, spotrs)
        self.dtype = A.dtype
        A, diagonal = A.T, A.diagonal() + D  # symmetric: the transpose has the order of Fortran
        unit = float(diagonal.max(initial=0.0)) * float(np.finfo(self.dtype).eps)
        for jitter in (0.0, 10.0 * unit, 1e3 * unit, 1e6 * unit):
            np.fill_diagonal(A, diagonal + jitter)
            self.factor, failed = factorise(A, lower=1, clean=0, overwrite_a=1)
            if failed == 0:
                return
            A = np.asfortranarray(np.triu(A, 1) + np.triu(A, 1).T)  # the upper half is as it was
        raise np.linalg.LinAlgError("the system of a Newton step is singular")

    def __call__(self, right: np.ndarray) -> np.ndarray:
        solved = self._solve(self.factor, right.astype(self.dtype, copy=False), lower=1)[0]
        return solved.astype(np.float64, copy=False)


class Woodbury:
    r"""The inverse of 2 Z Z' + D from the small matrix I + 2 Z' D^-1 Z, with one refinement."""

    def __init__(self, Z: np.ndarray, D: np.ndarray) -> None:
        self.Z, self.D = Z, D
        n, rank = Z.shape
        small = np.zeros((rank, rank))
        root = np.sqrt(2.0 / D)
        for first in range(0, n, ROWS_AT_ONCE):
            some = slice(first, first + ROWS_AT_ONCE)
            part = Z[some] * root[some, None]
            small += part.T @ part
        self.small = Cholesky(small, np.ones(rank))

    def __call__(self, right: np.ndarray) -> np.ndarray:
        x = self._once(right)
        D = self.D if right.ndim == 1 else self.D[:, None]
        return x + self._once(right - 2.0 * (self.Z @ (self.Z.T @ x)) - D * x)

    def _once(self, right: np.ndarray) -> np.ndarray:
        D = self.D if right.ndim == 1 else self.D[:, None]
        over = right / D
        return over - 2.0 * (self.Z @ self.small(self.Z.T @ over)) / D


def bordered(inverse: Inverse, right: np.ndarray, m: float) -> tuple[np.ndarray, float]:
    """Return (x, b) with A x + 1 b = right and 1'x = m, from the inverse of A."""
    solved = inverse(np.column_stack([right, np.ones(len(right))]))
    b = float((solved[:, 0].sum() - m) / solved[:, 1].sum())
    return solved[:, 0] - b * solved[:, 1], b


def conjugate_gradients(
    K: np.ndarray, factor: float, D: np.ndarray, right: np.ndarray, m: float,
    *, accuracy: float, most: int,
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Return x of (factor K + D) x + 1 b = right, 1'x = m, and how much is left of the residual.

    K may be in single precision: a direction is all that is asked for.
    """
    precondition = _Preconditioner(K, factor, D)
    x = (m / precondition.total) * precondition.column if m else np.zeros(len(D))

    def times(v: np.ndarray) -> np.ndarray:
        return factor * K.dot(v.astype(K.dtype, copy=False)) + D * v

    residual = right - times(x) if m else right
    g = precondition(residual)
    direction, rho = g, float(residual @ g)
    first = last = max(rho, 1e-300)
    for _ in range(most):
        if not last > accuracy**2 * first:
            break
        image = times(direction)
        curvature = float(direction @ image)
        if not curvature > 0.0:
            break
        length = last / curvature
        x = x + length * direction
        residual = residual - length * image
        g = precondition(residual)
        rho = float(residual @ g)
        direction, last = g + (rho / last) * direction, max(rho, 1e-300)
    return x, (last / first) ** 0.5


class _Preconditioner:
    """The inverse within 1'x = 0: the block of smallest D exactly, the other rows by diagonal."""

    def __init__(self, K: np.ndarray, factor: float, D: np.ndarray) -> None:
        n = len(D)
        size = min(n // BLOCK_SHARE, MAX_BLOCK)
        self.block = np.sort(np.argpartition(D, size)[:size])
        self.diagonal = factor * K.diagonal().astype(np.float64) + D
        self.inverse = Cholesky(factor * K[np.ix_(self.block, self.block)], D[self.block])
        self.column = self._solve(np.ones(n))
        self.total = float(self.column.sum())

    def _solve(self, v: np.ndarray) -> np.ndarray:
        g = v / self.diagonal
        g[self.block] = self.inverse(v[self.block])
        return g

    def __call__(self, v: np.ndarray) -> np.ndarray:
        g = self._solve(v)
        return g - (float(g.sum()) / self.total) * self.column
