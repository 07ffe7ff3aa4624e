"""A kernel matrix that has been looked at: real, finite, symmetric, positive semidefinite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigvalsh
from scipy.linalg.lapack import dpotrf

from lpsvdd._validation import check_square_kernel


@dataclass(frozen=True)
class Gram:
    """A checked kernel matrix, its diagonal, and the mean squared distance to the mean."""

    K: np.ndarray
    diag: np.ndarray
    spread: float

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
        _refuse_indefinite(K, size)
        row_means = K.sum(axis=1) / len(K)
        mean = float(row_means.sum()) / len(K)
        spread = float(diag.sum()) / len(K) - mean
        if spread < 1e-2 * size:
            K = K - row_means[:, None]
            K -= row_means[None, :] - mean
            diag = np.maximum(K.diagonal(), 0.0)
            spread = float(diag.mean())
        if spread <= 1e-13 * size:  # all points coincide: any unit of length will do
            spread = size if size > 0.0 else 1.0
        return cls(K, diag, spread)


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
