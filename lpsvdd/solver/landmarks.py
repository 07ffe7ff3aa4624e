r"""Points seen from landmarks: the ball whose centre lies in their span.

Landmarks l_1, ..., l_m span a space of functions. With K_ll = LL' a point x has in it the
coordinates z(x) = L^-1 (k(l_1, x), ..., k(l_m, x)), and a centre a = sum_j g_j phi(l_j) the
coordinates L'g. Squared distances to such a centre are exact,

    ||phi(x) - a||^2 = k(x, x) - 2 sum_j g_j k(l_j, x) + g'K_ll g:

k(x, x), not ||z(x)||^2. A point far from all landmarks has z(x) = 0, and would look close to
everything if its length were forgotten. So the restricted problem is one of ``problem`` with
K = ZZ' and k(x, x) as its diagonal, and P is the objective of a ball of the *unrestricted* problem,
which bounds its optimum from above. Any alpha bounds it from below; two gaps follow from one alpha:

    P - D_restricted   is what the optimisation left, and is brought below ``tol``,
    P - D_exact        = that + || what of sum_i beta_i phi_i the landmarks do not span ||^2.

The second bounds what the restriction and the optimisation cost together; it needs |S|^2 kernel
values, S the support.

For the linear kernel no landmarks are needed: the input features are coordinates (``Axes``).
Coordinates are taken about an origin, the mean of some points, lest distances that are small
compared with k(x, x) lose their digits. Those of the rows that matter are held in memory; a pass
over all rows (``blocks``) holds one block.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from sklearn.cluster import MiniBatchKMeans

from lpsvdd.kernels import kernel_diagonal, kernel_matrix, rbf_left, rbf_product, rbf_right
from lpsvdd.solver.blocks import ArrayBlocks, DaskBlocks
from lpsvdd.solver.memory import available_memory
from lpsvdd.solver.points import Coordinates, sample_of, unit_of_length

LANDMARK_METHODS = ("uniform", "k-means", "pivots")
DEFAULT = 300  # landmarks
FLOOR = 1e-10  # of the largest k(x, x): what adds less to the span of the others is left out
LANDMARK_BLOCK_ROWS = 2_000  # rows and columns of a block of kernel values
FIRST_BALL_ROWS = 5_000  # rows on which the first ball is found,
PER_COORDINATE = 20  # or so many for each coordinate
MAX_PAIRS = 10**8  # kernel values for the exact gap


class LandmarkPoints:
    """Rows of an array or of dask as points (``points``), seen from a chart.

    Parameters
    ----------
    blocks : the rows
    chart : Landmarks or Axes
    options : of the kernel
    """

    is_remote = True

    def __init__(self, blocks: ArrayBlocks | DaskBlocks, chart, options: dict) -> None:
        self.blocks, self.chart = blocks, chart
        self.memory = min(2.5e9, 0.3 * available_memory())  # bytes for coordinates
        self.sample_size = max(FIRST_BALL_ROWS, PER_COORDINATE * chart.rank)
        some = blocks.take(sample_of(blocks.n, LANDMARK_BLOCK_ROWS // 2))
        K = kernel_matrix(some - some.mean(axis=0) if chart.is_linear else some, **options)
        self.size = float(K.diagonal().max())
        spread = float(K.diagonal().mean()) - float(K.mean())
        self.spread = unit_of_length(spread, self.size)
        self.diag = np.concatenate(blocks.map(_diagonal, (), chart, width=chart.rank))
        self.held, self.Z = np.zeros(0, dtype=np.intp), np.empty((0, chart.rank))

    def _coordinates(self, rows: np.ndarray) -> np.ndarray:
        """Coordinates of some rows, held from now on."""
        new = np.setdiff1d(rows, self.held)
        if len(new):
            need = 8 * (len(self.held) + len(new)) * self.chart.rank
            if need > self.memory:
                raise MemoryError(
                    f"the coordinates of {len(self.held) + len(new)} samples need {need / 1e9:.1f} "
                    f"GB where {self.memory / 1e9:.1f} GB may be used: take fewer landmarks, or "
                    "leave fewer samples outside (a larger C, a smaller nu)"
                )
            part = self.blocks.subset(new).map(_coordinates, (), self.chart, width=self.chart.rank)
            held = np.concatenate([self.held, new])
            order = np.argsort(held, kind="stable")
            self.held, self.Z = held[order], np.concatenate([self.Z, *part])[order]
        if len(rows) == len(self.held):
            return self.Z
        return self.Z[np.searchsorted(self.held, rows)]

    def centre(self, beta: np.ndarray) -> np.ndarray:
        """Coordinates of sum_i beta_i phi_i, as far as the landmarks span it."""
        rows = np.flatnonzero(beta)
        if 8 * len(rows) * self.chart.rank > 0.5 * self.memory:  # the mean of all, say
            return sum(self.blocks.map(_sum, (beta,), self.chart, width=self.chart.rank))
        return beta[rows] @ self._coordinates(rows)

    def times(self, beta: np.ndarray) -> np.ndarray:
        """ZZ'beta of all rows: one pass."""
        w = self.centre(beta)
        return np.concatenate(self.blocks.map(_project, (), self.chart, w, width=self.chart.rank))

    def part(self, rows: np.ndarray) -> Coordinates:
        """Coordinates of some rows."""
        return Coordinates(self._coordinates(rows), self.diag[rows], self.spread, self.size)

    subset = part

    def beyond(self, rows: np.ndarray) -> np.ndarray:
        """The part of k(x, x) that the landmarks do not span, of some rows."""
        Z = self._coordinates(rows)
        return np.maximum(self.diag[rows] - np.einsum("ij,ij->i", Z, Z), 0.0)

    def exact_gap(self, solution, y: np.ndarray) -> float:
        """Relative gap of the problem with the exact kernel; NaN where that takes too long.

        It needs |S|^2 / 2 kernel values, S the support.
        """
        support = np.flatnonzero(solution.alpha)
        too_much = 8 * len(support) * self.blocks.n_features > self.memory
        if too_much or len(support) ** 2 > 2 * MAX_PAIRS:
            return math.nan
        beta = (y * solution.alpha)[support]
        lost = max(self.chart.lost(self.blocks.take(support), beta), 0.0)
        if solution.status == "radius-zero":  # P is total cost times the mean distance
            lost *= solution.primal / max(float(solution.alpha @ solution.distances), 1e-300)
        return float(solution.gap + lost / (self.spread + abs(solution.primal)))


def _diagonal(X: np.ndarray, chart) -> np.ndarray:
    return chart.diagonal(X)


def _coordinates(X: np.ndarray, chart) -> np.ndarray:
    return chart.coordinates(X)


def _project(X: np.ndarray, chart, w: np.ndarray) -> np.ndarray:
    return chart.project(X, w)


def _sum(X: np.ndarray, beta: np.ndarray, chart) -> np.ndarray:
    return beta @ chart.coordinates(X)


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
    rows : the landmarks that are kept: Cholesky with pivots leaves out what adds nothing
    rank : their number
    """

    is_linear = False

    def __init__(self, rows: np.ndarray, about: np.ndarray, options: dict) -> None:
        self.options = options
        K = np.array(kernel_matrix(rows, **options), order="F")
        largest = float(K.diagonal().max())
        if not largest > 0.0:
            raise ValueError(
                "the kernel is zero on every landmark, so they span no space: choose other ones"
            )
        factor, pivots, rank, _ = dpstrf(K, tol=FLOOR * largest, lower=1, overwrite_a=1)
        self.rank = int(rank)
        self.rows = rows[pivots[:rank] - 1]
        lower = np.tril(factor[:rank, :rank])
        self.inverse = solve_triangular(lower, np.eye(rank), lower=True)
        self.middle = self.rows.mean(axis=0)
        self.right: np.ndarray | None = None
        if options.get("kernel", "rbf") == "rbf":
            gamma = options.get("gamma", 1.0)
            left = rbf_left(self.rows, self.middle, gamma)
            self.right = None if left is None else rbf_right(left, gamma)
        self.origin = self.kernel(about).mean(axis=0) @ self.inverse.T

    def kernel(self, X: np.ndarray) -> np.ndarray:
        """k(x, l_j), of a Gaussian kernel as one product where that has all digits."""
        if self.right is not None:
            left = rbf_left(X, self.middle, self.options.get("gamma", 1.0))
            if left is not None:
                return rbf_product(left, self.right)
        return kernel_matrix(X, self.rows, **self.options)

    def coordinates(self, X: np.ndarray) -> np.ndarray:
        """z(x) about the origin."""
        Z = self.kernel(X) @ self.inverse.T
        Z -= self.origin
        return Z

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Squared distances of the points to the origin."""
        along = self.kernel(X) @ (self.origin @ self.inverse)
        return kernel_diagonal(X, **self.options) - 2.0 * along + float(self.origin @ self.origin)

    def project(self, X: np.ndarray, w: np.ndarray) -> np.ndarray:
        """z(x)'w."""
        return self.kernel(X) @ (w @ self.inverse) - float(self.origin @ w)

    def centre(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points l_j and coefficients g_j with centre = sum_j g_j phi(l_j)."""
        return self.rows, (self.origin + w) @ self.inverse

    def lost(self, X: np.ndarray, beta: np.ndarray) -> float:
        """Squared length of what of sum_i beta_i phi(x_i) is not spanned.

        beta'K beta less the squared length of the projection.
        """
        whole, inside = 0.0, np.zeros(self.rank)
        blocks = _batches(len(X))
        for i, some in enumerate(blocks):
            inside += beta[some] @ self.kernel(X[some])
            for other in blocks[i:]:
                K = kernel_matrix(X[some], X[other], **self.options)
                whole += (1.0 if other == some else 2.0) * float(beta[some] @ K @ beta[other])
        inside = self.inverse @ inside
        return whole - float(inside @ inside)


class Axes:
    """The input features themselves, for the linear kernel: nothing is lost."""

    is_linear = True

    def __init__(self, about: np.ndarray) -> None:
        self.origin = about.mean(axis=0)
        self.rank = about.shape[1]

    def coordinates(self, X: np.ndarray) -> np.ndarray:
        return X - self.origin

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        Z = X - self.origin
        return np.einsum("ij,ij->i", Z, Z)

    def project(self, X: np.ndarray, w: np.ndarray) -> np.ndarray:
        return (X - self.origin) @ w

    def centre(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """One point is enough: the centre itself."""
        return (self.origin + w)[None], np.ones(1)

    def lost(self, X: np.ndarray, beta: np.ndarray) -> float:
        return 0.0


def _batches(n: int) -> list[slice]:
    return [
        slice(first, min(first + LANDMARK_BLOCK_ROWS, n))
        for first in range(0, n, LANDMARK_BLOCK_ROWS)
    ]


def choose_landmarks(
    X: np.ndarray,
    m: int,
    *,
    method: str = "pivots",
    weight: np.ndarray | None = None,
    random_state: int = 0,
    **options,
) -> np.ndarray:
    """Up to m landmarks for the rows of X.

    Parameters
    ----------
    X : array of shape (n, n_features)
    m : number of landmarks; fewer come back where the kernel has fewer directions
    method : "uniform", "k-means" or "pivots"
        At random; the means of m clusters, which need not be points; or one after the other, at
        random with probabilities proportional to the residual k(x, x) - ||z(x)||^2, what those
        before do not span (randomly pivoted Cholesky; Chen, Epperly, Tropp and Webber, 2024).
    weight : array of shape (n,), optional
        Points with a larger weight are chosen rather.
    random_state : int
    options : kernel, gamma, degree, coef0 as in ``lpsvdd.kernels.kernel_matrix``
    """
    if method not in LANDMARK_METHODS:
        raise ValueError(f"method must be one of {LANDMARK_METHODS}, got {method!r}")
    random = np.random.default_rng(random_state)
    if method == "k-means":
        means = MiniBatchKMeans(min(m, len(X)), random_state=random_state, n_init=1)
        return means.fit(X, sample_weight=weight).cluster_centers_
    share = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
    if method == "uniform":
        size = min(m, int(np.count_nonzero(share)))
        return X[random.choice(len(X), size, replace=False, p=share / share.sum())]
    return X[_pivots(X, min(m, len(X)), share, random, options)]


def _pivots(X, m, share, random, options) -> np.ndarray:
    residual = kernel_diagonal(X, **options)
    floor = FLOOR * float(residual.max())
    columns = np.zeros((m, len(X)))
    chosen: list[int] = []
    while len(chosen) < m:
        odds = np.where(residual > floor, share * residual, 0.0)
        total = float(odds.sum())
        if not total > 0.0:
            break
        pivot = int(random.choice(len(X), p=odds / total))
        k = len(chosen)
        row = kernel_matrix(X, X[pivot : pivot + 1], **options)[:, 0]
        row -= columns[:k, pivot] @ columns[:k]
        columns[k] = row / np.sqrt(residual[pivot])
        residual = residual - columns[k] ** 2
        residual[pivot] = 0.0
        chosen.append(pivot)
    return np.array(chosen, dtype=np.intp)
