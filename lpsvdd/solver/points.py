r"""What a problem asks of its points: :math:`k_{ii}`, K times a vector, the points of some rows.

Three kinds of points answer: ``Gram``, a kernel matrix that has been checked; ``Rows``, which
compute kernel values when they are asked for and cache the columns they can; and ``Coordinates``,
points of a space with few dimensions. Each has

- ``diag``: k_ii about the origin in use; ``spread``: the mean squared distance to the mean, the
  unit of length; ``size``: the largest k_ii as given, which says how many digits sums keep;
- ``is_remote``: whether ``times`` is a pass over rows that are not in memory;
- ``times(beta)``: K beta; ``part(rows)``: some of the points, in the same units and about the same
  origin, as a ``Gram`` or ``Coordinates``; ``subset(rows)``: the same without computing anything.

``Gram`` and ``Coordinates`` also have ``inverse(factor, D)``, that of 2 factor K + D.

**Origin.** A ball does not care where the origin of the feature space is. Where the points lie far
from it compared with their spread, distances are taken about the mean m of (some of) them,

    k(x, z) - <phi(x), m> - <m, phi(z)> + <m, m>,

which is another kernel with the same distances and all their digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from scipy.linalg.lapack import dpotrf
from scipy.sparse.linalg import eigsh

from lpsvdd._validation import check_square_kernel
from lpsvdd.kernels import Kernel, kernel_diagonal, kernel_matrix, rbf_left, rbf_product, rbf_right
from lpsvdd.solver.linear_systems import Cholesky, Woodbury
from lpsvdd.solver.memory import cache_size, row_batches

EPS = float(np.finfo(float).eps)
FAR_FROM_ORIGIN = 1e-2  # spread over size below which the origin is moved
INDEFINITE = 1e-8  # of the spread: a negative eigenvalue that rounding does not explain
EIGENVALUE_POINTS = (
    4_000  # points up to which the smallest eigenvalue is bounded by a factorisation
)
SAMPLE_POINTS = 300  # points that stand for all where all pairs would be too many


def sample_of(n: int, size: int) -> np.ndarray:
    """At most ``size`` of n rows, in order, the same at each call."""
    if n <= size:
        return np.arange(n)
    return np.sort(np.random.default_rng(n).choice(n, size, replace=False))


def unit_of_length(spread: float, size: float) -> float:
    """The spread; where all points coincide any unit of length will do."""
    if spread > 1e-13 * size:
        return spread
    return size if size > 0.0 else 1.0


@dataclass(frozen=True)
class Gram:
    """A kernel matrix, its diagonal, and the mean squared distance of the points to their mean.

    ```check`` makes one from any matrix.
    """

    K: np.ndarray
    diag: np.ndarray
    spread: float
    size: float
    is_remote = False

    @classmethod
    def check(cls, K: np.ndarray) -> Gram:
        """Validate K: real, finite, square, symmetric, positive semidefinite."""
        if hasattr(K, "toarray"):
            raise TypeError("K must be a dense array; sparse kernel matrices are not supported")
        K = np.asarray(K)
        if K.dtype.kind not in "fiub":
            raise ValueError(f"K must hold real numbers, got dtype {K.dtype}")
        K = K.astype(float, copy=False)
        if K.ndim != 2 or K.shape[0] == 0:
            raise ValueError(f"K must be a non-empty square kernel matrix, got shape {K.shape}")
        if not np.isfinite(K).all():
            raise ValueError("K contains NaN or infinity")
        check_square_kernel(K)
        size = float(np.abs(K.diagonal()).max())
        if 0.0 < size < 1e-290:
            raise ValueError(f"K holds values as small as {size:.3g}, which underflow; rescale it")
        gram = cls.of(K)
        refuse_indefinite(gram)
        return gram

    @classmethod
    def of(cls, K: np.ndarray) -> Gram:
        """The matrix of a kernel that is known to be one, about an origin that keeps digits."""
        n = len(K)
        diag = K.diagonal().copy()
        size = float(np.abs(diag).max())
        row_means = K.sum(axis=1) / n
        mean = float(row_means.sum()) / n
        spread = float(diag.sum()) / n - mean
        if spread < FAR_FROM_ORIGIN * size:
            K = K - row_means[:, None]
            K -= row_means[None, :] - mean
            diag = K.diagonal().copy()
            spread = float(diag.mean())
        return cls(K, diag, unit_of_length(spread, size), size)

    def times(self, beta: np.ndarray) -> np.ndarray:
        """K beta."""
        rows = np.flatnonzero(beta)
        if 3 * len(rows) < len(beta):
            return beta[rows].dot(self.K[rows])
        return self.K.dot(beta)

    def part(self, rows: np.ndarray) -> Gram:
        """The points of some rows."""
        return Gram(self.K[np.ix_(rows, rows)], self.diag[rows], self.spread, self.size)

    subset = part

    def in_single(self, rows: np.ndarray) -> np.ndarray:
        """K of some rows in single precision."""
        return self.K[np.ix_(rows, rows)].astype(np.float32)

    def inverse(self, factor: float, D: np.ndarray) -> Cholesky:
        """The inverse of 2 factor K + D."""
        return Cholesky(2.0 * factor * self.K, D)


class Coordinates:
    """Points of a space with few dimensions, whose coordinates Z are in memory: K = Z Z'.

    ``diag`` may exceed ||z_i||^2: then a part of every point is perpendicular to all centres
    (landmarks).
    """

    is_remote = False

    def __init__(self, Z: np.ndarray, diag: np.ndarray, spread: float, size: float) -> None:
        self.Z, self.diag, self.spread, self.size = Z, diag, spread, size

    def times(self, beta: np.ndarray) -> np.ndarray:
        """K beta = Z (Z'beta)."""
        return self.Z @ (beta @ self.Z)

    def part(self, rows: np.ndarray) -> Coordinates:
        """The points of some rows."""
        return Coordinates(self.Z[rows], self.diag[rows], self.spread, self.size)

    subset = part

    def inverse(self, factor: float, D: np.ndarray) -> Woodbury:
        """The inverse of 2 factor K + D."""
        return Woodbury(self.Z * np.sqrt(factor), D)


def refuse_indefinite(gram: Gram) -> None:
    """ValueError where an eigenvalue is below -1e-8 of the spread, and rounding is no excuse.

    The limit is relative to how far the points are apart, not to how far from the origin they
    are. Up to EIGENVALUE_POINTS points Cholesky of K + limit I decides; beyond, Lanczos looks for
    the smallest eigenvalue, which it finds where it is far from the others.
    """
    K, n = gram.K, len(gram.diag)
    limit = max(INDEFINITE * gram.spread, 10.0 * n * EPS * gram.size) + np.finfo(float).tiny
    if n <= EIGENVALUE_POINTS:
        shifted = np.array(K, order="F")
        shifted.flat[:: n + 1] += limit
        if dpotrf(shifted, lower=1, clean=0, overwrite_a=1)[1] == 0:
            return
        lowest = float(eigvalsh(K, subset_by_index=[0, 0])[0])
    else:
        start = np.random.default_rng(n).normal(size=n)
        lowest = float(eigsh(K, k=1, which="SA", v0=start, tol=1e-2, return_eigenvectors=False)[0])
        if lowest >= -limit:
            return
    raise ValueError(
        f"K is not positive semidefinite: its most negative eigenvalue is {lowest:.6g} "
        f"(mean squared distance to the mean {gram.spread:.6g}). The problem is then not convex; "
        "use a positive semidefinite kernel, or clip the negative eigenvalues first."
    )


class Rows:
    """Points with a kernel, whose values are computed on demand; columns once used are kept.

    Parameters
    ----------
    X : array of shape (n, n_features)
    kernel, gamma, degree, coef0 : as in ``lpsvdd.kernels.kernel_matrix``, "rbf" or "poly"

    Notes
    -----
    The spread is the mean of k_ii less the mean of all K_ij; above SAMPLE_POINTS points the latter
    is that of a sample of them. An error of one per cent does not change the solution, only the
    last digits of what a relative gap is relative to.
    """

    is_remote = False

    def __init__(
        self,
        X: np.ndarray,
        *,
        kernel: Kernel = "rbf",
        gamma: float = 1.0,
        degree: float = 3,
        coef0: float = 1.0,
    ) -> None:
        self.options: dict[str, Any] = {
            "kernel": kernel, "gamma": gamma, "degree": degree, "coef0": coef0,
        }  # fmt: skip
        self.X = X
        self.raw_diag = kernel_diagonal(X, **self.options)
        self.diag = self.raw_diag
        self.offset: np.ndarray | None = None  # <phi(x_i), m> - <m, m>/2, where the origin is moved
        left = rbf_left(X, X.mean(axis=0), gamma) if kernel == "rbf" else None
        self._factors = None if left is None else (left, rbf_right(left, gamma))
        self._find_unit()
        self._keep_nothing()

    def __len__(self) -> int:
        return len(self.X)

    def _find_unit(self) -> None:
        n = len(self)
        some = sample_of(n, SAMPLE_POINTS)
        K = self.block(some, some)
        if not np.isfinite(K).all():
            raise ValueError("the kernel gives NaN or infinity: check the kernel function and X")
        self.size = float(np.abs(self.diag).max())
        if not self.size * n < 0.01 * np.finfo(float).max:  # sums over K must stay finite
            raise ValueError(
                f"the kernel has values as large as {self.size:.3g}, which overflow: rescale it"
            )
        mean, mean_diag = float(K.mean()), float(self.diag.mean())
        if len(some) < n:  # without the diagonal, which has more weight in a sample
            off = (float(K.sum()) - float(K.trace())) / (len(some) * (len(some) - 1))
            mean = off + (mean_diag - off) / n
        spread = mean_diag - mean
        if spread < FAR_FROM_ORIGIN * self.size:
            k_mean = np.concatenate(
                [self.block(rows, some).mean(axis=1) for rows in row_batches(n, SAMPLE_POINTS)]
            )
            self.offset = k_mean - 0.5 * float(k_mean[some].mean())
            self.diag = np.maximum(self.diag - 2.0 * self.offset, 0.0)
            spread = float(self.diag.mean()) - max(float(self.block(some, some).mean()), 0.0)
        self.spread = unit_of_length(spread, self.size)

    def block(self, rows, columns, out: np.ndarray | None = None) -> np.ndarray:
        """k(x_i, x_j) for i in ``rows`` and j in ``columns`` (slices or indices)."""
        if self._factors is not None:
            K = rbf_product(self._factors[0][rows], self._factors[1][columns], out)
        else:
            K = kernel_matrix(self.X[rows], self.X[columns], **self.options)
            if out is not None:
                out[:] = K
                K = out
        if self.offset is not None:
            K -= self.offset[rows][:, None]
            K -= self.offset[columns][None, :]
        return K

    # -- columns that are kept --------------------------------------------------------------------

    def _keep_nothing(self) -> None:
        n = len(self)
        self._most = min(n, cache_size(self.X.shape[1]) // max(n, 1))
        self._kept, self._n_kept = np.empty((0, n)), 0  # made whole when first used
        self._place = np.full(n, -1)
        self._last = np.zeros(n), np.zeros(n)  # beta and K beta
        self._single = np.empty(0, dtype=np.float32)

    def _keep(self, columns: np.ndarray) -> bool:
        """Whether all these columns are kept now."""
        new = columns[self._place[columns] < 0]
        if not len(new):
            return True
        total = self._n_kept + len(new)
        if total > self._most:
            return False
        if not len(self._kept):  # memory that is never written to is never taken
            self._kept = np.empty((self._most, len(self)))
        for part in row_batches(len(new), len(self)):
            some = new[part]
            place = self._n_kept
            self.block(some, slice(None), self._kept[place : place + len(some)])
            self._place[some] = np.arange(place, place + len(some))
            self._n_kept += len(some)
        return True

    def times(self, beta: np.ndarray) -> np.ndarray:
        """K beta of all points; only columns with beta_j != 0 are computed.

        Where they are too many to be kept, only those whose coefficient is not that of the last
        time: from one round to the next (p = 1) most of them stay.
        """
        columns = np.flatnonzero(beta)
        if self._keep(columns):
            return self._sum_of_kept(beta, columns)
        before, product = self._last
        change = beta - before
        moved = np.flatnonzero(change)
        if 2 * len(moved) > len(columns):
            change, moved, product = beta, columns, np.zeros(len(self))
        if self._keep(moved):
            product = product + self._sum_of_kept(change, moved)
        else:
            given, parts = change[moved], row_batches(len(self), len(moved))
            product = product + np.concatenate([self.block(some, moved) @ given for some in parts])
        self._last = beta.copy(), product
        return product.copy()

    def _sum_of_kept(self, beta: np.ndarray, columns: np.ndarray) -> np.ndarray:
        coefficients = np.zeros(self._n_kept)
        coefficients[self._place[columns]] = beta[columns]
        return coefficients.dot(self._kept[: self._n_kept])

    def norm_sq(self, beta: np.ndarray) -> float:
        """||sum_i beta_i phi_i||^2 about the kernel's own origin."""
        moved = float(beta @ self.times(beta))
        return (
            moved if self.offset is None else moved + 2.0 * float(self.offset @ beta) * beta.sum()
        )

    def part(self, rows: np.ndarray) -> Gram:
        """The Gram matrix of some rows."""
        if self._keep(rows):
            K = self._kept[np.ix_(self._place[rows], rows)]
        else:
            K = self.block(rows, rows)
        return Gram(K, self.diag[rows], self.spread, self.size)

    def in_single(self, rows: np.ndarray) -> np.ndarray:
        """K of some rows in single precision, in memory that the next call writes to again."""
        m = len(rows)
        if len(self._single) < m * m:  # new memory takes longer than what is written there
            self._single = np.empty(min(m * m * 5 // 4, len(self) ** 2), dtype=np.float32)
        K = self._single[: m * m].reshape(m, m)
        for some in row_batches(m, m):
            K[some] = self.block(rows[some], rows)
        return K

    def subset(self, rows: np.ndarray) -> Rows:
        """Some of the points as rows of their own, in the same units and about the same origin."""
        some = object.__new__(Rows)
        some.options, some.spread, some.size = self.options, self.spread, self.size
        some.X, some.diag, some.raw_diag = self.X[rows], self.diag[rows], self.raw_diag[rows]
        some.offset = None if self.offset is None else self.offset[rows]
        some._factors = self._factors and tuple(factor[rows] for factor in self._factors)
        some._keep_nothing()
        return some
