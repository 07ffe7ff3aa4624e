r"""The interior-point method: Newton's method on the optimality conditions, in logarithms.

In the scaled problem (see ``_problem``) the optimality conditions in alpha, slack z, constraint
slack u, multiplier g of z >= 0 and b = R2 - ||a||^2 are, for all i,

    y_i (K_ii - 2 (K beta)_i - b) + u_i = z_i,   y'alpha = 1,   beta = y * alpha,
    log(alpha_i + g_i) = log(c_i p) + (p - 1) log z_i,
    alpha_i u_i = mu,   g_i z_i = mu,   mu -> 0.

Taking the power law in logarithms is what makes one method serve p = 1.001 and p = 100: its
linearisation is exact in relative terms. Eliminating u, z and g from Newton's equations leaves

    (2K + diag(u/alpha + z/(g + (p-1)(alpha + g)))) dbeta + 1 db = r,   1'dbeta = 1 - y'alpha:

one Cholesky factorisation an iteration, in any label pattern. Mehrotra's predictor and corrector
choose mu.

``interior`` and ``Step`` take arrays whose last axis runs over the samples, so that they serve one
problem here, many at once in ``_batch``, and coordinates of the centre in ``_feature_space``.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from lpsvdd.solver._arithmetic import Arithmetic, Number, Value
from lpsvdd.solver._problem import Problem

STEP = 0.999  # fraction of the way to the boundary
ROUGH = 1e-10  # how well R2 is known where nothing more is asked for; the gap holds for any R2
DUST = 1e-6  # share of the largest multiplier that counts as none,
BOX_DUST = 1e-5  # and for p = 1 share of its bound c_i
LARGEST_START = 1e3  # no multiplier of a start needs to be larger


def interior(problem: Arithmetic, alpha: np.ndarray, signed: np.ndarray, mu: Number) -> np.ndarray:
    """A point (alpha, z, u, g) > 0 with products near mu, close to alpha and to y (d - R2)."""
    # Inside the ball z g = mu and c p z^(p-1) = g nearly: z = (mu / (c p))^(1/p).
    z = np.maximum(signed, np.exp((np.log(mu) - problem.log_rate) / problem.p))
    z = np.minimum(z, _slack_ceiling(problem))
    alpha = np.maximum(alpha, mu / (np.maximum(z - signed, 0.0) + np.sqrt(mu)))
    u = np.maximum(z - signed, mu / alpha)
    rate = np.exp(np.minimum(problem.log_rate + (problem.p - 1.0) * np.log(z), 50.0))
    g = np.maximum(rate - alpha, mu / z)
    return np.array([alpha, z, u, g])


def _slack_ceiling(problem: Arithmetic) -> np.ndarray:
    """Slack at which a multiplier is LARGEST_START, for p >= 2; there no start needs more.

    A primal residual is linear and leaves at the first full step of Newton's method; a violated
    power law with a large exponent does not.
    """
    exponent = (math.log(LARGEST_START) - problem.log_rate) / np.maximum(problem.p - 1.0, 1.0)
    return np.where(problem.p >= 2.0, np.exp(exponent), np.inf)


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

    def __init__(self, problem: Arithmetic, point: np.ndarray, signed: np.ndarray) -> None:
        self.problem, self.point = problem, point
        self.head, self.tail = point[:2], point[2:]
        alpha, z, _, g = point
        self.residual = signed - z
        self.ratio = self.tail / self.head
        self.total = alpha + g
        self.stretch = z / (g + (problem.p - 1.0) * self.total)
        self.diagonal = self.ratio[0] + self.stretch

    def take(self, system, products) -> tuple[np.ndarray, float, float]:
        """(move of the point, move of b, how far to go along them).

        ``products`` is alpha'u + z'g; ``system(right)`` gives (d beta, d b).
        """
        problem, point = self.problem, self.point
        move = np.empty_like(point)
        law = self._law()
        self._move_head(move, system, 0.0, law)
        h = move[:2] / self.head
        reach = self._predictor_reach(h)
        second_order = self.head * self.tail * h * (1.0 + h)
        after = (1.0 - reach) * products - reach**2 * problem.total(second_order.sum(axis=0))
        target = problem.larger((after / products) ** 3, 1e-8) * products / (2 * problem.n)
        aim = (target + second_order) / self.head
        law += 0.5 * reach**2 * self._curvature(move[0], h[1]) - aim[1]
        db = self._move_head(move, system, aim[0], law)
        np.subtract(aim - self.tail, self.ratio * move[:2], out=move[2:])
        worst = problem.least(move / point)
        return move, db, problem.smaller(1.0, STEP * _to_boundary(problem, worst))

    def _law(self) -> np.ndarray:
        """(alpha + g) (log(c p) + (p - 1) log z - log(alpha + g)) + g."""
        _, z, _, g = self.point
        problem = self.problem
        power_law = problem.log_rate + (problem.p - 1.0) * np.log(z)
        return g + self.total * (power_law - np.log(self.total))

    def _curvature(self, d_alpha, h_z) -> np.ndarray:
        """(alpha + g) times the second-order terms of the two logarithms in the law."""
        d_total = d_alpha - self.point[3] * (1.0 + h_z)  # the predictor moves g by -g (1 + h_z)
        return self.total * ((d_total / self.total) ** 2 - (self.problem.p - 1.0) * h_z**2)

    def _predictor_reach(self, h) -> float:
        """How far the predictor goes before head (1 + t h) or tail (1 - t (1 + h)) is negative."""
        problem = self.problem
        worst = problem.smaller(problem.least(h), problem.least(-1.0 - h))
        return problem.smaller(1.0, _to_boundary(problem, worst))

    def _move_head(self, move, system, aim_u, law) -> float:
        """d alpha and d z into ``move``; returns d b."""
        d_beta, db = system(self.problem.y * (self.residual + aim_u + self.stretch * law))
        np.multiply(self.problem.y, d_beta, out=move[0])
        np.multiply(self.stretch, move[0] - law, out=move[1])
        return db


class KernelSystem:
    """(2K/s + diag) d beta + 1 d b = right, 1'd beta = missing, by one Cholesky factorisation."""

    def __init__(self, problem: Problem, diagonal: np.ndarray, missing: float, work) -> None:
        self.missing, self.ones = missing, problem.ones
        self.factor = factorise(problem.gram.K, problem.inv_scale, diagonal, work)
        self.column: np.ndarray | None = None  # of d b: the solution for right = 1

    def __call__(self, right: np.ndarray) -> tuple[np.ndarray, float]:
        if self.column is None:  # along with the first right side
            self.column, x = solve_rows(self.factor, np.array([self.ones, right]))
            self.column_sum = self.column.dot(self.ones)  # not a float: it may be zero
        else:
            x = solve_rows(self.factor, right[None])[0]
        db = float((x.dot(self.ones) - self.missing) / self.column_sum)
        return x - db * self.column, db


def _to_boundary(problem: Arithmetic, worst: Number) -> Number:
    """Largest t with 1 + t * worst >= 0, or a huge number."""
    return -1.0 / problem.smaller(worst, -1e-300)


def state_of(problem: Arithmetic, point: np.ndarray, b: Number) -> tuple:
    """y'alpha, ||a||^2, y (d - R2) and alpha'u + g'z (2 n mu on the central path)."""
    alpha, z, u, g = point
    beta = problem.y * alpha
    k_beta = problem.kernel_times(beta)
    signed = problem.y * (problem.diag - (2.0 * k_beta + b))
    products = problem.dot(alpha, u) + problem.dot(z, g)
    return problem.total(beta), problem.dot(beta, k_beta), signed, products


def newton(
    problem: Problem, value: Value, mu: float, tol: float, max_iter: int, work, polish: int
) -> tuple[Value, int]:
    """Newton's method from an interior point near a value; returns (value, iterations)."""
    point = interior(problem, value.alpha, value.signed, mu)
    beta = problem.y * point[0]
    b = value.radius_sq - problem.dot(beta, problem.kernel_times(beta))
    polished = polish > 0
    # The gap is in the end a part of the products: near p = 1 most of them, for larger p a ten-
    # thousandth. While they are larger than that the gap need not be looked at.
    watch = (300.0 if problem.p < 1.4 else 1e4) * tol
    iteration = 0
    while True:
        alpha = point[0]
        y_alpha, norm_sq, signed, products = state_of(problem, point, b)
        # A y'alpha or an ||a||^2 below zero is what cancellation has left: no step can mend it.
        if not (y_alpha > 0.0 and norm_sq > -1e-6 and products > 0.0):
            break
        if products <= watch * (1.0 + abs(b)):
            if gap_of_point(problem, alpha, y_alpha, norm_sq, b, signed) <= 0.9 * tol:
                if polish == 0:
                    break
                polish -= 1
        if iteration == max_iter:
            break
        step = Step(problem, point, signed)
        system = KernelSystem(problem, step.diagonal, 1.0 - y_alpha, work)
        if system.factor is None:
            break
        iteration += 1
        move, db, length = step.take(system, products)
        if not length > 1e-10 or not math.isfinite(db):
            break
        point = point + length * move
        b += length * db
    radius = b + norm_sq / y_alpha**2 if y_alpha > 0.0 else None
    return _settle(problem, alpha, signed, radius, tol, polished), iteration


def gap_of_point(problem: Arithmetic, alpha, y_alpha, norm_sq, b, signed) -> Number:
    """Relative gap of (beta, b), a primal point as it stands, and alpha / y'alpha, a dual one.

    For p = 1 the dual point is what the box leaves of alpha.
    """
    penalty = problem.penalty(signed)
    primal = b + norm_sq + penalty
    if problem.is_boxed:
        boxed = problem.feasible(alpha)
        excess = primal - problem.dual_value(boxed, problem.kernel_times(problem.y * boxed))
    else:  # the two centres, a and a / y'alpha, differ; that adds the square of their distance
        apart = (1.0 - 1.0 / y_alpha) ** 2 * norm_sq
        excess = apart + problem.excess(alpha / y_alpha, signed, penalty)
    return excess / (1.0 + abs(primal))


def without_dust(problem: Arithmetic, alpha: np.ndarray, signed: np.ndarray) -> np.ndarray:
    """alpha without what the barrier left on points that are no support vectors.

    For p > 1: points inside the ball with alpha below DUST of the largest. For p = 1, where support
    vectors may lie on the surface: any alpha below BOX_DUST of its bound c_i.
    """
    if problem.is_boxed:
        return np.where(alpha < BOX_DUST * problem.cost, 0.0, alpha)
    dust = (signed < 0.0) & (alpha < DUST * alpha.max(axis=-1, keepdims=True))
    return np.where(dust, 0.0, alpha)


def _settle(problem: Problem, alpha, signed, radius, tol, polished) -> Value:
    """The value without dust and with R2 to ten digits, if that is enough for the certificate.

    A polished alpha in a box keeps its dust if it would lose its digits; ``_dense`` finds them
    without.
    """
    clean = without_dust(problem, alpha, signed)
    enough = 1e-3 * tol if polished and problem.is_boxed else tol
    for given, digits in ((clean, 1e-13 if polished else ROUGH), (clean, 1e-13), (alpha, 1e-13)):
        value = problem.evaluate(problem.feasible(given), radius, digits)
        if value.gap <= enough:
            break
    return value


def factorise(K, inv_scale, diagonal, work):
    """Cholesky factor of 2K/s + diag; a little more is added where rounding asks for it."""
    jitter = 1e-14
    for _ in range(4):
        np.multiply(K, 2.0 * inv_scale, out=work.T)  # K is symmetric
        work.flat[:: len(K) + 1] += diagonal + jitter
        factor, failed = dpotrf(work, lower=1, clean=0, overwrite_a=1)
        if failed == 0:
            return factor
        jitter *= 1e3
    return None


def solve_rows(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Each row of ``right`` solved for in its place."""
    return dpotrs(factor, right.T, lower=1, overwrite_b=1)[0].T
