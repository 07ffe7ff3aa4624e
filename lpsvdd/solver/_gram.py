"""A kernel matrix that has been looked at: real, finite, symmetric, positive semidefinite."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg import eigvalsh, lstsq, qr, svd
from scipy.linalg.lapack import dpotrf, dpstrf

from lpsvdd._validation import check_square_kernel


@dataclass(frozen=True)
class Features:
    """Points about their mean m: d_i = diag_i - 2 w'z_i + ||w||^2 for the centre m + w.

    The columns of Z are principal coordinates. A direction in which the points do not differ would
    do to the distances what the radius does, and leave both undetermined.
    """

    Z: np.ndarray
    diag: np.ndarray

    @classmethod
    def of(cls, Z: np.ndarray, diag: np.ndarray, floor: float) -> Features:
        """From any feature vectors, given k_ii; no direction with squares below ``floor``."""
        rest = diag - np.einsum("ij,ij->i", Z, Z)  # rounding, for a kernel
        U, sizes, _ = svd(Z - Z.mean(axis=0), full_matrices=False)
        kept = sizes > len(Z) * np.finfo(float).eps * sizes.max(initial=0.0)
        kept &= sizes**2 > floor
        Z = U[:, kept] * sizes[kept]
        return cls(Z, np.einsum("ij,ij->i", Z, Z) + rest)

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """Small g with sum_i g_i phi_i = m + w, on at most one row more than there are coordinates.

        sum_i g_i = 1 and Z'g = w; the rows are chosen by QR with pivots, after bringing all
        coordinates to the same size.
        """
        columns = np.column_stack([self.Z, np.ones(len(self.Z))])
        sizes = np.linalg.norm(columns, axis=0)
        columns, target = columns / sizes, np.append(w, 1.0) / sizes
        _, R, pivots = qr(columns.T, mode="economic", pivoting=True)
        lead = np.abs(R.diagonal())
        rows = pivots[: np.count_nonzero(lead > 1e-12 * lead.max())]
        found = np.zeros(len(columns))
        found[rows] = lstsq(columns[rows].T, target)[0]
        return found


@dataclass(frozen=True)
class Gram:
    """A checked kernel matrix, its diagonal, and the mean squared distance to the mean.

    ``size`` is the largest k_ii, before the points were moved to their mean if they were.
    ``explicit`` are feature vectors, where they are known without K.
    """

    K: np.ndarray
    diag: np.ndarray
    spread: float
    size: float = 0.0
    explicit: np.ndarray | None = field(default=None, repr=False)

    @classmethod
    def check(cls, K: np.ndarray) -> Gram:
        """Validate K: real, finite, square, symmetric, positive semidefinite.

        Where the points lie far from the origin of the feature space compared with their spread
        (a linear kernel of uncentred data, say), the Gram matrix of the points moved to their
        mean is kept instead: distances do not change, and their digits are not lost.
        """
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
        diag = K.diagonal().copy()
        size = float(np.abs(diag).max())
        if 0.0 < size < 1e-290:
            raise ValueError(f"K holds values as small as {size:.3g}, which underflow; rescale it")
        _refuse_indefinite(K, size)
        row_means = K.sum(axis=1) / len(K)
        mean = float(row_means.sum()) / len(K)
        spread = float(diag.sum()) / len(K) - mean
        if spread < 1e-2 * size:
            K = K - row_means[:, None]
            K -= row_means[None, :] - mean
            diag = np.maximum(K.diagonal(), 0.0)
            spread = float(diag.mean())
        return cls(K, diag, unit_of_length(spread, size), size)

    @classmethod
    def of_features(cls, X: np.ndarray) -> Gram:
        """The linear kernel of the rows of X, moved to their mean before anything is squared."""
        Z = X - X.mean(axis=0)
        K = Z @ Z.T
        diag = np.einsum("ij,ij->i", Z, Z)
        size = float(diag.max())
        explicit = Z if Z.shape[1] < len(Z) else None
        return cls(K, diag, unit_of_length(float(diag.mean()), size), size, explicit)

    def times(self, beta: np.ndarray) -> np.ndarray:
        """K beta."""
        return self.K.dot(beta)  # ``dot`` costs half of ``@`` if short

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Some rows and columns of K."""
        return self.K[np.ix_(rows, columns)]

    def part(self, rows: np.ndarray) -> Gram:
        """The points of some rows, in the same units and about the same origin."""
        explicit = None if self.explicit is None else self.explicit[rows]
        K = self.K[np.ix_(rows, rows)]
        return Gram(K, self.diag[rows], self.spread, self.size, explicit)

    @cached_property
    def features(self) -> Features:
        """The points as short vectors; Cholesky with pivots tells how short."""
        if self.explicit is not None:
            return Features.of(self.explicit, self.diag, 0.0)
        # What is below the rounding errors of K, as it was before centring, is no direction.
        size = max(self.size, float(np.abs(self.diag).max()))
        floor = 20.0 * len(self.K) * np.finfo(float).eps * size
        given = np.array(self.K, order="F")
        factor, pivots, rank, _ = dpstrf(given, tol=floor, lower=1, overwrite_a=1)
        Z = np.empty((len(factor), rank))
        Z[pivots - 1] = np.tril(factor)[:, :rank]
        return Features.of(Z, self.diag, floor)


def unit_of_length(spread: float, size: float) -> float:
    """The spread; where all points coincide any unit of length will do."""
    if spread > 1e-13 * size:
        return spread
    return size if size > 0.0 else 1.0


def _refuse_indefinite(K: np.ndarray, size: float) -> None:
    """Cholesky of K + 1e-8 max|K_ii| I succeeds iff no eigenvalue is below -1e-8 max|K_ii|."""
    shifted = np.array(K, order="F")
    shifted.flat[:: len(K) + 1] += 1e-8 * size + np.finfo(float).tiny
    if dpotrf(shifted, lower=1, clean=0, overwrite_a=1)[1] != 0:
        lowest = float(eigvalsh(K, subset_by_index=[0, 0])[0])
        raise ValueError(
            f"K is not positive semidefinite: its most negative eigenvalue is {lowest:.6g} "
            f"(largest diagonal entry {size:.6g}). The problem is then not convex; use a "
            "positive semidefinite kernel, or clip the negative eigenvalues first."
        )
