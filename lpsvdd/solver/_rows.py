r"""Kernel values of many points on demand: what a Gram matrix is asked for, without the matrix.

A large problem needs K times a vector (the distances of all n points to a centre), the matrix of a
few chosen points, the diagonal and two numbers: the spread, which is the unit of length, and the
size of k_ii, which says how many digits sums keep. ``Rows`` computes these from the points, block
by block, so that memory is bounded whatever n is. It takes the place of ``Gram`` in a ``Problem``;
so the certificate of the *whole* problem is that of ``_certificate``, line for line.

**Origin.** A ball does not care where the origin of the feature space is. Where the points lie far
from it compared with their spread, distances are taken about the mean m of a few of them,

    k(x, z) - <phi(x), m> - <m, phi(z)> + <m, m>,

which is another kernel with the same distances and all their digits. A linear kernel moves the
points themselves.

**Estimates.** The spread is the mean of k_ii less the mean of all K_ij. Above SAMPLE points the
latter is that of a sample of them: it is a unit, a per cent of which changes no solution, only the
last digits of what a relative gap is relative to.

**Single precision.** Who is on which side of a surface needs few digits, and a kernel value in
single precision costs a third. ``times(beta, single=True)`` gives K beta to some 1e-6 of
sum |beta_i|, where ``has_single`` says so; certificates are computed in double precision.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from lpsvdd.kernels import Kernel, kernel_diagonal, kernel_matrix
from lpsvdd.solver._gram import Features, Gram, unit_of_length

BLOCK = 2_000_000  # kernel values in memory at once, for each thread
SAMPLE = 1_000  # points that stand for all where all pairs would be too many
LOST = 1e-2  # spread over size below which the origin is moved, as in ``Gram.check``
NEAR = 5.0  # largest gamma ||x||^2 for which single precision keeps six digits of k
FAR = 1e3  # largest gamma ||x||^2 for which ||x||^2 - 2<x, z> + ||z||^2 keeps 13 digits of k


class Rows:
    """Points with a kernel; the sibling of ``Gram`` for problems too large for a matrix.

    Parameters
    ----------
    X : array of shape (n, n_features), or the kernel matrix itself for kernel="precomputed"
    kernel, gamma, degree, coef0 : as in ``kernel_matrix``
    n_jobs : int or None
        Threads over blocks of rows; None is one, -1 one for each processor.

    Attributes
    ----------
    diag : k_ii about the origin in use
    spread, size : as in ``Gram``
    sample : rows that stand for all where all pairs would be too many
    """

    explicit = None  # no feature vectors are kept (``Gram.explicit``)

    def __init__(
        self,
        X: np.ndarray,
        *,
        kernel: Kernel = "rbf",
        gamma: float = 1.0,
        degree: float = 3,
        coef0: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel, self.n_jobs = kernel, n_jobs
        self._options: dict[str, Any] = {
            "kernel": kernel,
            "gamma": gamma,
            "degree": degree,
            "coef0": coef0,
        }
        self._raw_diag: np.ndarray | None = None
        if kernel == "linear":
            self._raw_diag = np.einsum("ij,ij->i", X, X)
            X = X - X.mean(axis=0)
        self.X = X
        self._offset: np.ndarray | None = None  # <phi(x_i), m> - <m, m>/2, where moved
        self._prepare()
        self.diag = self.diagonal() if kernel != "linear" else np.einsum("ij,ij->i", X, X)
        self._look_at_sample()

    def __len__(self) -> int:
        return len(self.X)

    def diagonal(self) -> np.ndarray:
        """k_ii of the kernel as given."""
        if self._raw_diag is None:
            if self.kernel == "precomputed":
                self._raw_diag = self.X.diagonal().copy()
            else:
                self._raw_diag = kernel_diagonal(self.X, **self._options)
        return self._raw_diag

    def _prepare(self) -> None:
        """For the Gaussian kernel: -gamma ||x - z||^2 as one product of longer vectors."""
        self._left: np.ndarray | None = None
        self._right = np.empty((0, 0))
        self._short: tuple[np.ndarray, np.ndarray] | None = None  # both in single precision
        self.has_single = False
        if self.kernel != "rbf":
            return
        gamma = self._options["gamma"]
        Z = self.X - self.X.mean(axis=0)
        squares = np.einsum("ij,ij->i", Z, Z)
        if gamma * float(squares.max()) > FAR:
            return  # pair by pair, lest digits cancel
        ones = np.ones(len(Z))
        self._left = np.column_stack([Z, squares, ones])
        self._right = np.column_stack([2.0 * gamma * Z, -gamma * ones, -gamma * squares])
        self.has_single = gamma * float(squares.max()) <= NEAR

    def _look_at_sample(self) -> None:
        """Spread and size; the checks of ``Gram`` on a sample; the origin moved if need be."""
        n = len(self)
        some = self.sample = sample_of(n, SAMPLE if not callable(self.kernel) else SAMPLE // 5)
        K = self.block(some, some)
        if not np.isfinite(K).all():
            raise ValueError("the kernel gives NaN or infinity")
        gram = Gram.check(K)
        self.size = float(np.abs(self.diag).max())
        if not self.size * n < 0.01 * np.finfo(float).max:  # sums over K must stay finite
            raise ValueError(f"the kernel has values as large as {self.size:.3g}, which overflow")
        pairs = max(len(some), 1) ** 2
        mean = float(K.sum()) / pairs
        if len(some) < n:  # without the diagonal, which has more weight in a sample
            off = (float(K.sum()) - float(K.diagonal().sum())) / (pairs - len(some))
            mean = off + (float(self.diag.mean()) - off) / n
        spread = float(self.diag.mean()) - mean
        if gram.size > 0.0 and spread < LOST * self.size:
            k_mean = np.empty(n)
            for rows in self._blocks(len(some)):
                k_mean[rows] = self.block(rows, some).mean(axis=1)
            self._offset = k_mean - 0.5 * float(k_mean[some].mean())
            self.has_single = False  # what is left of k has fewer digits
            self.diag = np.maximum(self.diag - 2.0 * self._offset, 0.0)
            K = self.block(some, some)
            spread = float(self.diag.mean()) - max(float(K.mean()), 0.0)
        self.spread = unit_of_length(spread, self.size)

    # -- kernel values ------------------------------------------------------------------------

    def block(self, rows, columns) -> np.ndarray:
        """k(x_i, x_j) for i in ``rows`` and j in ``columns`` (slices or indices)."""
        if self.kernel == "precomputed":
            K = self.X[rows][:, columns]
        elif self._left is not None:
            K = self._left[rows] @ self._right[columns].T
            np.minimum(K, 0.0, out=K)
            np.exp(K, out=K)
        else:
            K = kernel_matrix(self.X[rows], self.X[columns], **self._options)
        if self._offset is not None:
            K = K - self._offset[rows][:, None]
            K -= self._offset[columns][None, :]
        return K

    def _single_block(self, rows, columns) -> np.ndarray:
        if self._short is None:
            assert self._left is not None
            self._short = self._left.astype(np.float32), self._right.astype(np.float32)
        K = self._short[0][rows] @ self._short[1][columns].T
        np.minimum(K, 0.0, out=K)
        return np.exp(K, out=K)

    def times(self, beta: np.ndarray, *, single: bool = False) -> np.ndarray:
        """K beta of all points; only columns with beta_j != 0 are computed."""
        columns = np.flatnonzero(beta)
        beta, single = beta[columns], single and self.has_single
        index, out = np.arange(len(self)), np.zeros(len(self))
        if len(columns):
            block = self._single_block if single else self.block
            beta = beta.astype(np.float32) if single else beta
            work = partial(self._fill, out, index, columns, beta, block)
            threads = self._threads()
            if threads == 1:
                for some in self._blocks(len(columns)):
                    work(some)
            else:
                with ThreadPoolExecutor(threads) as pool:
                    list(pool.map(work, self._blocks(len(columns))))
        return out

    @staticmethod
    def _fill(out, index, columns, beta, block, some: slice) -> None:
        out[some] = block(index[some], columns) @ beta

    def _threads(self) -> int:
        if self.n_jobs is None or callable(self.kernel):
            return 1
        return self.n_jobs if self.n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + self.n_jobs)

    def _blocks(self, n_columns: int) -> Iterator[slice]:
        n, step = len(self), max(1, BLOCK // max(n_columns, 1))
        for first in range(0, n, step):
            yield slice(first, min(first + step, n))

    @property
    def K(self) -> np.ndarray:
        """The whole matrix: for callers who know that n is small."""
        return self.block(slice(None), slice(None))

    @property
    def features(self) -> Features:
        """The points as short vectors (``Gram.features``); needs the whole matrix."""
        return self.part(np.arange(len(self))).features

    # -- parts --------------------------------------------------------------------------------

    def part(self, rows: np.ndarray) -> Gram:
        """The Gram matrix of some rows, in the same units and about the same origin."""
        return Gram(self.block(rows, rows), self.diag[rows], self.spread, self.size)

    def subset(self, rows: np.ndarray) -> Rows:
        """Some of the points as rows of their own, in the same units and about the same origin."""
        some = copy.copy(self)
        some.X = self.X[np.ix_(rows, rows)] if self.kernel == "precomputed" else self.X[rows]
        some.diag, some._raw_diag = self.diag[rows], self.diagonal()[rows]
        if self._left is not None:
            some._left, some._right, some._short = self._left[rows], self._right[rows], None
        if self._offset is not None:
            some._offset = self._offset[rows]
        some.sample = sample_of(len(rows), len(self.sample))
        return some


def sample_of(n: int, size: int) -> np.ndarray:
    """At most ``size`` of n rows, in order, the same at each call."""
    if n <= size:
        return np.arange(n)
    return np.sort(np.random.default_rng(n).choice(n, size, replace=False))
