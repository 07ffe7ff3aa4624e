r"""Points as short vectors: coordinates in which a centre keeps its digits.

For points z_i about their mean m and the centre m + w, d_i = diag_i - 2 w'z_i + ||w||^2: exact
whatever the multipliers are, where kernel sums of multipliers of 1e17 have none. ``diag`` may
exceed ||z_i||^2: then a part of every point is perpendicular to all centres (landmarks).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lstsq, qr, svd
from scipy.linalg.lapack import dpstrf


@dataclass(frozen=True)
class Features:
    """Principal coordinates of points about their mean.

    A direction in which the points do not differ would do to the distances what the radius does,
    and leave both undetermined; none is kept.
    """

    Z: np.ndarray
    diag: np.ndarray

    @classmethod
    def of(cls, Z: np.ndarray, diag: np.ndarray, floor: float = 0.0) -> Features:
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
        g = np.zeros(len(columns))
        g[rows] = lstsq(columns[rows].T, target)[0]
        return g


def features_of_matrix(K: np.ndarray, diag: np.ndarray, size: float) -> Features:
    """Features of a kernel matrix; Cholesky with pivots tells how many there are.

    What is below the rounding errors of K, as it was before centring, is no direction.
    """
    size = max(size, float(np.abs(diag).max()))
    floor = 20.0 * len(K) * np.finfo(float).eps * size
    factor, pivots, rank, _ = dpstrf(np.array(K, order="F"), tol=floor, lower=1, overwrite_a=1)
    Z = np.empty((len(factor), rank))
    Z[pivots - 1] = np.tril(factor)[:, :rank]
    return Features.of(Z, diag, floor)


class Coordinates:
    """Points of a space with few dimensions (``points``), whose coordinates are in memory."""

    def __init__(self, Z: np.ndarray, diag: np.ndarray, spread: float, size: float) -> None:
        self.Z, self.diag, self.spread, self.size = Z, diag, spread, size

    def times(self, beta: np.ndarray) -> np.ndarray:
        """K beta = Z (Z'beta)."""
        return self.Z @ (beta @ self.Z)

    def part(self, rows: np.ndarray) -> Coordinates:
        """The points of some rows."""
        return Coordinates(self.Z[rows], self.diag[rows], self.spread, self.size)

    subset = part

    @cached_property
    def features(self) -> Features:
        """The points about their mean, in principal coordinates."""
        return Features.of(self.Z, self.diag)
