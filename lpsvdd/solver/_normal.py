r"""Newton's equations in coordinates of the centre, for many points: their normal equations.

With n points and r coordinates ``_feature_space`` takes the QR factorisation of an n x r matrix an
iteration. Where n is large only sums over the points are affordable,

    N = sum_i [z_i; 1] [z_i; 1]' / D_i,      Z'v,      Z w:

matrices of r + 1 rows, added up block by block. ``Coordinates`` gives these sums for points whose
coordinates fit in memory. N squares the condition number that QR works with; two steps of
refinement give back what the gap needs.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf

from lpsvdd.solver._feature_space import SQRT2, InFeatures
from lpsvdd.solver._problem import Problem

BLOCK = 4096  # rows of Z that are weighted at once
LOG_LEAST, LOG_MOST, HALVINGS = -120.0, 20.0, 40  # of slacks on the central path


class Coordinates:
    """Rows z_i times ``unit``, as a matrix of which only products are asked for."""

    def __init__(self, Z: np.ndarray, unit: float = 1.0) -> None:
        self.rows, self.unit, self.shape = Z, unit, Z.shape

    def scaled(self, unit: float) -> Coordinates:
        """The same coordinates in another unit of length; nothing is copied."""
        return Coordinates(self.rows, unit)

    def __matmul__(self, w: np.ndarray) -> np.ndarray:
        return self.rows @ (self.unit * w)

    def sums(self, v: np.ndarray) -> np.ndarray:
        """Z'v."""
        return self.unit * (v @ self.rows)

    def normal(self, weight: np.ndarray) -> np.ndarray:
        """sum_i weight_i [z_i; 1][z_i; 1]'."""
        n, r = self.shape
        found = np.zeros((r + 1, r + 1))
        root = np.sqrt(weight)
        block = np.empty((min(n, BLOCK), r + 1))
        for first in range(0, n, BLOCK):
            some = slice(first, min(first + BLOCK, n))
            part = block[: some.stop - first]
            np.multiply(self.rows[some], self.unit * root[some, None], out=part[:, :r])
            part[:, r] = root[some]
            found += part.T @ part
        return found


class InBlocks(InFeatures):
    """The interior-point method with ``Coordinates`` that are known apart from the problem."""

    patience = 30  # a start far from the centre takes its time for p near 1

    def __init__(
        self, problem: Problem, centre: np.ndarray, Z: Coordinates, first_mu: float = 0.1
    ) -> None:
        self.given, self.first_mu = Z, first_mu
        super().__init__(problem, centre)

    def coordinates(self, problem: Problem) -> tuple:
        return self.given.scaled(math.sqrt(problem.inv_scale)), problem.diag

    def start(self, alpha: np.ndarray, signed: np.ndarray) -> np.ndarray:
        return central(self.problem, signed, self.first_mu / self.problem.n)

    def sums(self, v: np.ndarray) -> np.ndarray:
        return self.Z.sums(v)

    def system(self, Z, kappa, diagonal, off_centre, missing):
        return NormalSystem(Z, kappa, diagonal, off_centre, missing)


def central(problem: Problem, signed: np.ndarray, mu: float) -> np.ndarray:
    r"""The point (alpha, z, u, g) of the central path whose slacks are those of a given ball.

    For each s_i the four equations z - u = s, alpha u = mu, g z = mu and alpha + g = c p z^(p-1)
    leave one unknown, the smaller of u and z, in which mu/u + mu/z - c p z^(p-1) decreases. It is
    found by halving intervals of its logarithm. From such a point on, only y'alpha = 1 and
    w = Z'beta are left to be met: a start from a ball that is nearly right is nearly central.
    """
    low, high = np.full(len(signed), LOG_LEAST), np.full(len(signed), LOG_MOST)
    log_mu = math.log(mu)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        least = np.exp(middle)
        most = least + np.abs(signed)
        z = np.where(signed > 0.0, most, least)
        # log(mu/u + mu/z) against log(c p z^(p-1))
        left = log_mu - middle + np.log1p(least / most)
        below = left > problem.log_rate + (problem.p - 1.0) * np.log(z)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    u, z = np.where(signed > 0.0, least, most), np.where(signed > 0.0, most, least)
    return np.array([mu / u, z, u, mu / z])


class NormalSystem:
    """The equations of ``FeatureSystem``, by a Cholesky factorisation of their normal equations."""

    def __init__(self, Z, kappa, diagonal, off_centre, missing) -> None:
        r = Z.shape[1]
        self.Z, self.kappa, self.diagonal = Z, kappa, diagonal
        normal = Z.normal(1.0 / diagonal)
        normal[:r] *= SQRT2
        normal[:, :r] *= SQRT2
        normal.flat[: r * (r + 1) : r + 2] += kappa
        self.factor = _factor(normal)
        self.shift = np.append(SQRT2 * off_centre, -missing)
        self.dw = np.zeros(r)

    def __call__(self, right: np.ndarray) -> tuple[np.ndarray, float]:
        r = self.Z.shape[1]
        weighted = right / self.diagonal
        x = self._solve(self._sums(weighted) + self.shift)
        d_beta = self._d_beta(right, x)
        # One step of refinement of the two equations that d beta has to meet.
        x += self._solve(self._sums(d_beta) - self.kappa * np.append(x[:r], 0.0) + self.shift)
        self.dw = x[:r] / SQRT2
        return self._d_beta(right, x), float(x[r])

    def _sums(self, v: np.ndarray) -> np.ndarray:
        """[sqrt(2) Z, 1]'v."""
        return np.append(SQRT2 * self.Z.sums(v), v.sum())

    def _d_beta(self, right: np.ndarray, x: np.ndarray) -> np.ndarray:
        return (right - SQRT2 * (self.Z @ x[:-1]) - x[-1]) / self.diagonal

    def _solve(self, right: np.ndarray) -> np.ndarray:
        return cho_solve((self.factor, True), right, check_finite=False)


def _factor(normal: np.ndarray) -> np.ndarray:
    """Lower Cholesky factor; a little is added to the diagonal where rounding asks for it."""
    sizes = normal.diagonal().copy()
    for jitter in (0.0, 1e-15, 1e-13, 1e-11):
        normal.flat[:: len(normal) + 1] = sizes * (1.0 + jitter)
        factor, failed = dpotrf(normal, lower=1, clean=0)
        if failed == 0 and np.isfinite(factor.diagonal()).all():
            return factor
    raise ValueError("the normal equations are singular")
