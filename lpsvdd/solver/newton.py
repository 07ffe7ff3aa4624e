r"""Newton's method on the optimality conditions, in logarithms: one step, two linear systems.

In the scaled problem (see ``problem``) the optimality conditions in alpha, slack z, constraint
slack u, multiplier g of z >= 0 and b = R2 - ||a||^2 are, for all i,

    y_i (K_ii - 2 (K beta)_i - b) + u_i = z_i,   y'alpha = 1,   beta = y * alpha,
    log(alpha_i + g_i) = log(c_i p) + (p - 1) log z_i,
    alpha_i u_i = mu,   g_i z_i = mu,   mu -> 0.

Taking the power law in logarithms is what makes one method serve p = 1.001 and p = 100: its
linearisation is exact in relative terms. Eliminating u, z and g from Newton's equations leaves

    (2K + diag(u/alpha + z/(g + (p-1)(alpha + g)))) dbeta + 1 db = r,   1'dbeta = 1 - y'alpha.

**In the kernel** (``InKernel``) that is one Cholesky factorisation an iteration.

**In coordinates** (``InCoordinates``) the centre w is an unknown of its own and w = Z'beta an
equation. With r coordinates this costs n r^2 instead of n^3/3; and where the multipliers are so
large (1e17, and 1e88 at p = 100, with inseparable negatives) that kernel sums of them cancel, w
still has all its digits. Multipliers are then divided by M, their sum at the start; what was 1 in
the problem, y'alpha = 1 and w = Z'beta, becomes kappa = 1/M. Only log M is used, so alpha may have
any size.
"""

from __future__ import annotations

import copy
import math

import numpy as np
from scipy.linalg import cho_solve, qr, solve_triangular
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from lpsvdd.solver.problem import Problem
from lpsvdd.solver.radius import LOG_MAX, TINY

BOUNDARY = 0.999  # fraction of the way to the boundary that a step goes
DUST = 1e-6  # share of the largest multiplier that counts as none,
BOX_DUST = 1e-5  # and for p = 1 share of its bound c_i
LARGEST_START = 1e3  # no multiplier of a start needs to be larger
PATIENCE = 15  # iterations without progress
BLOCK = 4096  # rows of Z that are weighted at once
ROWS_OF_QR = 4_000  # points up to which coordinates are solved by QR, then by normal equations
SQRT2 = math.sqrt(2.0)


def interior(problem: Problem, alpha: np.ndarray, signed: np.ndarray, mu: float) -> np.ndarray:
    """A point (alpha, z, u, g) > 0 with products near mu, close to alpha and to y (d - R2)."""
    # Inside the ball z g = mu and c p z^(p-1) = g nearly: z = (mu / (c p))^(1/p).
    z = np.maximum(signed, np.exp((math.log(mu) - problem.log_rate) / problem.p))
    if problem.p >= 2.0:
        # A primal residual is linear and leaves at the first full step; a violated power law with a
        # large exponent does not. So no slack is larger than a multiplier LARGEST_START needs.
        z = np.minimum(z, np.exp((math.log(LARGEST_START) - problem.log_rate) / (problem.p - 1.0)))
    alpha = np.maximum(alpha, mu / (np.maximum(z - signed, 0.0) + math.sqrt(mu)))
    u = np.maximum(z - signed, mu / alpha)
    rate = np.exp(np.minimum(problem.log_rate + (problem.p - 1.0) * np.log(z), 50.0))
    g = np.maximum(rate - alpha, mu / z)
    return np.array([alpha, z, u, g])


class Step:
    r"""Mehrotra's predictor-corrector step from one interior point (alpha, z, u, g).

    The pairs (alpha, u) and (z, g) have products that are to become mu; call (alpha, z) the head of
    the point and (u, g) its tail. Three facts carry the code:

    *Products.* With an aim A (what the tail should be), d tail = A - tail - (tail/head) d head. The
    predictor has A = 0. For its h = d head/head then d tail/tail = -(1 + h), so neither its d tail
    nor the second-order terms head*tail*h*(1 + h) of the products need another array.

    *Law.* log(alpha + g) = log(c p) + (p - 1) log z, linearised and cleared of d g, reads
    d z = stretch (d alpha - law), stretch = z/(g + (p - 1)(alpha + g)), law = (alpha + g) times the
    law's residual, plus g (as the predictor aims at g = 0).

    *System.* What is left are the n + 1 equations in (d beta, d b) that ``system`` solves, with
    ``diagonal`` = u/alpha + stretch added to the kernel part.
    """

    def __init__(self, problem: Problem, point: np.ndarray, signed: np.ndarray) -> None:
        self.problem, self.point = problem, point
        self.head, self.tail = point[:2], point[2:]
        alpha, z, _, g = point
        self.residual = signed - z
        self.ratio = self.tail / self.head
        self.total = alpha + g
        self.stretch = z / (g + (problem.p - 1.0) * self.total)
        self.diagonal = self.ratio[0] + self.stretch

    def take(self, system, products: float) -> tuple[np.ndarray, float, float]:
        """(move of the point, move of b, how far to go along them).

        ``products`` is alpha'u + z'g; ``system(right)`` gives (d beta, d b).
        """
        point = self.point
        move = np.empty_like(point)
        law = self._law()
        self._move_head(move, system, 0.0, law)
        h = move[:2] / self.head
        # how far the predictor goes before head (1 + t h) or tail (1 - t (1 + h)) is negative
        reach = min(1.0, _to_boundary(min(float(h.min()), float((-1.0 - h).min()))))
        second_order = self.head * self.tail * h * (1.0 + h)
        after = (1.0 - reach) * products - reach**2 * float(second_order.sum())
        target = max((after / products) ** 3, 1e-8) * products / (2 * self.problem.n)
        aim = (target + second_order) / self.head
        law += 0.5 * reach**2 * self._curvature(move[0], h[1]) - aim[1]
        db = self._move_head(move, system, aim[0], law)
        np.subtract(aim - self.tail, self.ratio * move[:2], out=move[2:])
        return move, db, min(1.0, BOUNDARY * _to_boundary(float((move / point).min())))

    def _law(self) -> np.ndarray:
        """(alpha + g) (log(c p) + (p - 1) log z - log(alpha + g)) + g."""
        _, z, _, g = self.point
        problem = self.problem
        power_law = problem.log_rate + (problem.p - 1.0) * np.log(z)
        return g + self.total * (power_law - np.log(self.total))

    def _curvature(self, d_alpha: np.ndarray, h_z: np.ndarray) -> np.ndarray:
        """(alpha + g) times the second-order terms of the two logarithms in the law."""
        d_total = d_alpha - self.point[3] * (1.0 + h_z)  # the predictor moves g by -g (1 + h_z)
        return self.total * ((d_total / self.total) ** 2 - (self.problem.p - 1.0) * h_z**2)

    def _move_head(self, move: np.ndarray, system, aim_u, law: np.ndarray) -> float:
        """d alpha and d z into ``move``; returns d b."""
        d_beta, db = system(self.problem.y * (self.residual + aim_u + self.stretch * law))
        np.multiply(self.problem.y, d_beta, out=move[0])
        np.multiply(self.stretch, move[0] - law, out=move[1])
        return db


def _to_boundary(worst: float) -> float:
    """Largest t with 1 + t * worst >= 0, or a huge number."""
    return -1.0 / min(worst, -TINY)


class _Iteration:
    """Iterates (alpha, z, u, g, b) until ``measure`` is satisfied; the best one is kept.

    A subclass gives ``measure``, which sets ``signed`` = y (d - R2) and returns how far from
    optimal the point is, ``system`` and ``advance``.
    """

    problem: Problem
    point: np.ndarray
    b: float
    signed: np.ndarray
    n_iter, tol = 0, 0.0

    def run(self, tol: float, polish: int, max_iter: int) -> None:
        """Iterate to ``tol`` and, once there, ``polish`` times more."""
        self.tol = tol
        best, kept, since_best = math.inf, self.state(), 0
        while True:
            alpha, z, u, g = self.point
            merit = self.measure()
            since_best = 0 if merit < 0.7 * best else since_best + 1
            if merit < best or (merit <= tol and polish > 0):
                best, kept = merit, self.state()
            if merit <= tol:
                if polish == 0:
                    break
                polish -= 1
            products = float(alpha.dot(u) + z.dot(g))
            if self.n_iter >= max_iter or since_best > PATIENCE or not products > 0.0:
                break
            if not math.isfinite(merit):
                break
            step = Step(self.problem, self.point, self.signed)
            try:
                system = self.system(step.diagonal)
                move, db, length = step.take(system, products)
            except (np.linalg.LinAlgError, ValueError):  # numbers beyond floats
                break
            if not (length > 1e-10 and math.isfinite(db)):
                break
            self.n_iter += 1
            self.point = self.point + length * move
            self.b += length * db
            self.advance(length, system)
        self.restore(kept)

    def state(self) -> tuple:
        return self.point, self.b

    def restore(self, kept: tuple) -> None:
        self.point, self.b = kept

    def advance(self, length: float, system) -> None:
        pass

    def measure(self) -> float:
        raise TypeError(f"{type(self).__name__} must define measure")

    def system(self, diagonal: np.ndarray):
        raise TypeError(f"{type(self).__name__} must define system")


class InKernel(_Iteration):
    """The method from a feasible alpha and its slacks, with the kernel matrix of the points."""

    def __init__(
        self, problem: Problem, alpha: np.ndarray, signed: np.ndarray, radius_sq: float, mu: float
    ) -> None:
        self.problem, self.point = problem, interior(problem, alpha, signed, mu)
        self.K = problem.points.K
        self.work = np.empty((problem.n, problem.n), order="F")
        beta = problem.y * self.point[0]
        self.b = radius_sq - float(beta.dot(problem.kernel_times(beta)))
        # The gap is in the end a part of the products: near p = 1 most of them, for larger p a
        # ten-thousandth. While they are larger than that the gap need not be looked at.
        self.factor_of_products = 300.0 if problem.p < 1.4 else 1e4

    def measure(self) -> float:
        """Relative gap of (beta, b), a primal point as it stands, and alpha / y'alpha.

        For p = 1 the dual point is what the box leaves of alpha. A y'alpha or an ||a||^2 below
        zero is what cancellation has left: no step can mend it.
        """
        problem = self.problem
        alpha, z, u, g = self.point
        beta = problem.y * alpha
        k_beta = problem.kernel_times(beta)
        self.y_alpha = float(beta.sum())
        self.norm_sq = float(beta.dot(k_beta))
        self.signed = problem.y * (problem.diag - 2.0 * k_beta - self.b)
        if not (self.y_alpha > 0.0 and self.norm_sq > -1e-6):
            return math.nan
        products = float(alpha.dot(u) + z.dot(g)) / (1.0 + abs(self.b))
        if products > self.factor_of_products * self.tol:
            return products
        penalty = problem.penalty(self.signed)
        primal = self.b + self.norm_sq + penalty
        if problem.is_boxed:
            boxed = problem.feasible(alpha)
            beta = problem.y * boxed
            excess = primal - float(beta.dot(problem.diag - problem.kernel_times(beta)))
        else:  # the two centres, a and a / y'alpha, differ; that adds the square of their distance
            apart = (1.0 - 1.0 / self.y_alpha) ** 2 * self.norm_sq
            excess = apart + problem.excess(alpha / self.y_alpha, self.signed, penalty)
        return abs(excess) / (1.0 + abs(primal))

    def system(self, diagonal: np.ndarray) -> KernelSystem:
        return KernelSystem(self.K, self.problem.inv_scale, diagonal, 1.0 - self.y_alpha, self.work)

    def multipliers(self) -> tuple[np.ndarray, float | None]:
        """alpha without dust, and a guess of R2."""
        self.measure()
        alpha = without_dust(self.problem, self.point[0], self.signed)
        guess = self.b + self.norm_sq / self.y_alpha**2 if self.y_alpha > 0.0 else None
        return alpha, guess


class KernelSystem:
    """(2K/s + diag) d beta + 1 d b = right, 1'd beta = missing, by one Cholesky factorisation."""

    def __init__(self, K, inv_scale: float, diagonal: np.ndarray, missing: float, work) -> None:
        self.missing = missing
        self.factor = self._factorise(K, 2.0 * inv_scale, diagonal, work)
        self.column = self._solve(np.ones(len(diagonal)))  # of d b
        self.column_sum = self.column.sum()

    @staticmethod
    def _factorise(K, factor: float, diagonal: np.ndarray, work: np.ndarray) -> np.ndarray:
        """Cholesky factor; a little more is added to the diagonal where rounding asks for it."""
        for jitter in (1e-14, 1e-11, 1e-8, 1e-5):
            np.multiply(K, factor, out=work.T)  # K is symmetric
            work.flat[:: len(diagonal) + 1] += diagonal + jitter
            lower, failed = dpotrf(work, lower=1, clean=0, overwrite_a=1)
            if failed == 0:
                return lower
        raise np.linalg.LinAlgError("the equations of a step are singular")

    def _solve(self, right: np.ndarray) -> np.ndarray:
        return dpotrs(self.factor, right, lower=1)[0]

    def __call__(self, right: np.ndarray) -> tuple[np.ndarray, float]:
        x = self._solve(right)
        db = float((x.sum() - self.missing) / self.column_sum)
        return x - db * self.column, db


class InCoordinates(_Iteration):
    """The method from a centre, in coordinates Z of the points (both in units of K)."""

    def __init__(
        self, problem: Problem, Z: np.ndarray, diag: np.ndarray, centre: np.ndarray, mu: float
    ) -> None:
        self.unit = math.sqrt(problem.inv_scale)
        self.Z, self.diag = Z * self.unit, diag * problem.inv_scale
        self.w = centre * self.unit
        levels = self._levels()
        self.b = problem.radius_sq(levels)
        signed = problem.y * (levels - self.b)
        outside = signed > 0.0
        log_alpha = problem.log_rate + (problem.p - 1.0) * np.log(np.maximum(signed, TINY))
        self.log_unit = 0.0  # log M
        if outside.any():
            self.log_unit = max(0.0, float(np.logaddexp.reduce(log_alpha[outside])))
        self.kappa = math.exp(-self.log_unit)
        self.problem = copy.copy(problem)
        self.problem.log_rate = problem.log_rate - self.log_unit
        self.problem.cost = np.exp(np.log(problem.cost) - self.log_unit)
        alpha = np.where(outside, np.exp(np.minimum(log_alpha - self.log_unit, 0.0)), 0.0)
        self.point = interior(self.problem, alpha, signed, mu)

    def _levels(self) -> np.ndarray:
        """d_i - ||w||^2."""
        return self.diag - 2.0 * (self.Z @ self.w)

    def measure(self) -> float:
        problem, kappa, alpha = self.problem, self.kappa, self.point[0]
        beta = problem.y * alpha
        self.signed = problem.y * (self._levels() - self.b)
        self.off_centre = beta @ self.Z - kappa * self.w
        self.missing = kappa - float(beta.sum())
        penalty = problem.penalty(self.signed)
        primal = kappa * (self.b + self.w @ self.w) + penalty
        gap = problem.excess(alpha, self.signed, penalty) / (kappa + abs(primal))
        apart = max(float(np.abs(self.off_centre).max(initial=0.0)), abs(self.missing))
        return max(abs(float(gap)), apart / float(alpha.sum()))

    def system(self, diagonal: np.ndarray):
        kind = QRSystem if len(diagonal) <= ROWS_OF_QR else NormalSystem
        return kind(self.Z, self.kappa, diagonal, self.off_centre, self.missing)

    def advance(self, length: float, system) -> None:
        self.w = self.w + length * system.dw

    def state(self) -> tuple:
        return self.point, self.b, self.w

    def restore(self, kept: tuple) -> None:
        self.point, self.b, self.w = kept

    @property
    def centre(self) -> np.ndarray:
        """w in units of K."""
        return self.w / self.unit

    def multipliers(self) -> list[np.ndarray]:
        """alpha in its own units: without dust, and (p > 1) as the slacks of the centre have it."""
        signed = self.problem.y * (self._levels() - self.b)
        alphas = [without_dust(self.problem, self.point[0], signed)]
        if not self.problem.is_boxed:
            alphas.append(self.problem.multipliers(signed))
        return [np.exp(np.minimum(np.log(alpha) + self.log_unit, LOG_MAX)) for alpha in alphas]


class _CoordinateSystem:
    r"""The equations of ``Step`` with 2K d beta replaced by 2Z dw:

        2Z dw + 1 db + D d beta = right,   kappa dw = Z'd beta + off_centre,   1'd beta = missing.

    Without d beta they are normal equations: with A = D^(-1/2) [sqrt(2) Z, 1] and
    x = (sqrt(2) dw, db), (A'A + diag(kappa, ..., kappa, 0)) x = A' D^(-1/2) right + (sqrt(2)
    off_centre, -missing). A step of refinement gives back the digits that they lose.
    """

    def __init__(self, Z, kappa: float, diagonal: np.ndarray, off_centre, missing: float) -> None:
        self.Z, self.kappa, self.diagonal = Z, kappa, diagonal
        self.shift = np.append(SQRT2 * off_centre, -missing)
        self.dw = np.zeros(Z.shape[1])
        self.prepare()

    def __call__(self, right: np.ndarray) -> tuple[np.ndarray, float]:
        r = self.Z.shape[1]
        x = self.solve(right, self.shift)
        d_beta = self._d_beta(right, x)
        left = self.shift + self.sums(d_beta) - self.kappa * np.append(x[:r], 0.0)
        x += self.solve(None, left)
        self.dw = x[:r] / SQRT2
        return self._d_beta(right, x), float(x[r])

    def sums(self, v: np.ndarray) -> np.ndarray:
        """[sqrt(2) Z, 1]'v."""
        return np.append(SQRT2 * (v @ self.Z), v.sum())

    def _d_beta(self, right: np.ndarray, x: np.ndarray) -> np.ndarray:
        return (right - SQRT2 * (self.Z @ x[:-1]) - x[-1]) / self.diagonal

    def prepare(self) -> None:
        raise TypeError(f"{type(self).__name__} must define prepare")

    def solve(self, right: np.ndarray | None, shift: np.ndarray) -> np.ndarray:
        """x of the normal equations; ``right`` None is zero."""
        raise TypeError(f"{type(self).__name__} must define solve")


class QRSystem(_CoordinateSystem):
    """By QR of A with sqrt(kappa) I below it.

    Columns are pivoted and rows in descending order, since D ranges over many orders of magnitude:
    without this form 94 of 1,500 fuzz problems more end without a certificate.
    """

    def prepare(self) -> None:
        n, r = self.Z.shape
        self.root = np.sqrt(self.diagonal)
        stacked = np.zeros((n + r, r + 1))
        stacked[:n, :r] = SQRT2 * self.Z
        stacked[:n, r] = 1.0
        stacked[:n] /= self.root[:, None]
        stacked[n:].flat[:: r + 2] = math.sqrt(self.kappa)
        self.order = np.argsort(-np.abs(stacked).max(axis=1), kind="stable")
        self.Q, self.R, self.pivots = qr(stacked[self.order], mode="economic", pivoting=True)

    def solve(self, right: np.ndarray | None, shift: np.ndarray) -> np.ndarray:
        t = solve_triangular(self.R, shift[self.pivots], trans="T")
        if right is not None:
            padded = np.append(right / self.root, np.zeros(self.Z.shape[1]))[self.order]
            t = t + self.Q.T @ padded
        x = np.empty(len(t))
        x[self.pivots] = solve_triangular(self.R, t)
        return x


class NormalSystem(_CoordinateSystem):
    """By a Cholesky factorisation of the normal equations, added up in blocks: for many rows."""

    def prepare(self) -> None:
        n, r = self.Z.shape
        normal = np.zeros((r + 1, r + 1), order="F")  # its lower half
        root = 1.0 / np.sqrt(self.diagonal)
        block = np.empty((min(n, BLOCK), r + 1))
        for first in range(0, n, BLOCK):
            some = slice(first, min(first + BLOCK, n))
            part = block[: some.stop - first]
            np.multiply(self.Z[some], SQRT2 * root[some, None], out=part[:, :r])
            part[:, r] = root[some]
            normal = dsyrk(1.0, part.T, beta=1.0, c=normal, lower=1, overwrite_c=1)
        normal.flat[: r * (r + 1) : r + 2] += self.kappa
        sizes = normal.diagonal().copy()
        for jitter in (0.0, 1e-15, 1e-13, 1e-11):
            normal.flat[:: r + 2] = sizes * (1.0 + jitter)
            self.factor, failed = dpotrf(normal, lower=1, clean=0)
            if failed == 0 and np.isfinite(self.factor.diagonal()).all():
                return
        raise np.linalg.LinAlgError("the normal equations are singular")

    def solve(self, right: np.ndarray | None, shift: np.ndarray) -> np.ndarray:
        if right is not None:
            shift = shift + self.sums(right / self.diagonal)
        return cho_solve((self.factor, True), shift, check_finite=False)


def without_dust(problem: Problem, alpha: np.ndarray, signed: np.ndarray) -> np.ndarray:
    """alpha without what the barrier left on points that are no support vectors.

    For p > 1: points inside the ball with alpha below DUST of the largest. For p = 1, where support
    vectors may lie on the surface: any alpha below BOX_DUST of its bound c_i.
    """
    if problem.is_boxed:
        return np.where(alpha < BOX_DUST * problem.cost, 0.0, alpha)
    return np.where((signed < 0.0) & (alpha < DUST * alpha.max()), 0.0, alpha)
