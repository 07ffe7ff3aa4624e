r"""The interior-point method: Newton's method on the optimality conditions, in logarithms.

In the scaled problem (see ``problem``) the optimality conditions in alpha, slack z, constraint
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
problem here and many at once in ``batch``.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from lpsvdd.solver._problem import Problem, Value

STEP = 0.999  # fraction of the way to the boundary
ROUGH = 1e-10  # how well R2 is known where nothing more is asked for; the gap holds for any R2


def interior(problem: Problem, value: Value, mu) -> tuple[np.ndarray, float]:
    """A point with all variables positive and complementarity near mu, close to the given start."""
    signed = problem.y * (value.d - value.radius_sq)
    # Inside the ball z g = mu and c p z^(p-1) = g nearly: z = (mu / (c p))^(1/p).
    z = np.maximum(signed, np.exp((np.log(mu) - problem.log_rate) / problem.p))
    z = np.minimum(z, problem.slack_ceiling())
    alpha = np.maximum(value.alpha, mu / (np.maximum(z - signed, 0.0) + np.sqrt(mu)))
    u = np.maximum(z - signed, mu / alpha)
    rate = np.exp(np.minimum(problem.log_rate + (problem.p - 1.0) * np.log(z), 50.0))
    g = np.maximum(rate - alpha, mu / z)
    beta = problem.y * alpha
    b = value.radius_sq - problem.dot(beta, problem.kernel_times(beta))
    return np.array([alpha, z, u, g]), b


class Step:
    """Mehrotra's predictor-corrector step from one interior point.

    The rows of a point are alpha, z (the head) and their partners u, g (the tail) in the products
    alpha*u, z*g. A step that aims at products ``target`` and allows for second-order terms has

        d tail = aim - tail - (tail/head) d head,   aim = (target - second-order terms)/head.

    The predictor's aim is zero. With h = d head/head then d tail/tail = -1 - h, and the
    second-order terms are -products * h (1 + h): its d tail is never formed.

    ``diagonal`` is what the linear system adds to 2K.
    """

    def __init__(self, problem: Problem, point: np.ndarray, signed: np.ndarray, r_sum) -> None:
        self.problem, self.point, self.r_sum = problem, point, r_sum
        self.head, self.tail = point[:2], point[2:]
        alpha, z, _, g = point
        self.residual = signed - z
        self.ratio = self.tail / self.head
        self.total = alpha + g
        self.stretch = z / (g + (problem.p - 1.0) * self.total)
        self.diagonal = self.ratio[0] + self.stretch

    def take(self, solve, products) -> tuple[np.ndarray, float, float]:
        """(move of the point, move of b, how far to go along them).

        ``solve`` solves the linear system for right sides given as rows.
        """
        problem, point, total = self.problem, self.point, self.total
        z, g, power = point[1], point[3], problem.p - 1.0
        # Predictor. The solve for the column of db goes along with it.
        law = g + total * (problem.log_rate + power * np.log(z) - np.log(total))
        right = np.ones((*z.shape[:-1], 2, problem.n))
        right[..., 1, :] = problem.y * (self.residual + self.stretch * law)
        solved = solve(right)
        v, x = solved[..., 0, :], solved[..., 1, :]
        column = v, problem.total(v)
        move = np.empty_like(point)
        self._move_head(move, x, column, law)
        h = move[:2] / self.head
        h_plus = 1.0 + h
        worst = problem.smaller(problem.least(h), problem.least(-h_plus))
        reach = problem.smaller(1.0, _to_boundary(problem, worst))
        change = self.head * self.tail * h * h_plus
        after = (1.0 - reach) * products - reach**2 * problem.total(change[0] + change[1])
        target = problem.larger((after / products) ** 3, 1e-8) * products / (2 * problem.n)
        # Corrector: second-order terms of the products (Mehrotra) and, as far as the step is to
        # be trusted, of the two logarithms.
        curvature = ((move[0] - g * h_plus[1]) / total) ** 2 - power * h[1] ** 2
        aim = (target + change) / self.head
        law += (0.5 * reach**2) * total * curvature - aim[1]
        right = problem.y * (self.residual + aim[0] + self.stretch * law)
        x = solve(right[..., None, :])[..., 0, :]
        db = self._move_head(move, x, column, law)
        np.subtract(aim - self.tail, self.ratio * move[:2], out=move[2:])
        worst = problem.least(move / point)
        return move, db, problem.smaller(1.0, STEP * _to_boundary(problem, worst))

    def _move_head(self, move, x, column, law) -> float:
        v, v_sum = column
        db = (self.problem.total(x) - self.r_sum) / v_sum
        np.multiply(self.problem.y, x - db * v, out=move[0])
        np.multiply(self.stretch, move[0] - law, out=move[1])
        return db


def _to_boundary(problem: Problem, worst) -> float:
    """Largest t with 1 + t * worst >= 0, or a huge number."""
    return -1.0 / problem.smaller(worst, -1e-300)


def state_of(problem: Problem, point: np.ndarray, b) -> tuple:
    """y'alpha, K beta, ||a||^2, y (d - R2) and alpha'u + g'z (2 n mu on the central path)."""
    alpha, z, u, g = point
    beta = problem.y * alpha
    k_beta = problem.kernel_times(beta)
    signed = problem.y * (problem.diag - (2.0 * k_beta + b))
    products = problem.dot(alpha, u) + problem.dot(z, g)
    return problem.total(beta), k_beta, problem.dot(beta, k_beta), signed, products


def newton(problem: Problem, start, tol, max_iter, work, polish) -> tuple[Value, int]:
    """Newton's method from an interior point; returns (value, iterations)."""
    point, b = start
    polished = polish > 0
    # The gap is in the end a part of the products: near p = 1 most of them, for larger p a ten-
    # thousandth. While they are larger than that the gap need not be looked at.
    watch = (300.0 if problem.p < 1.4 else 1e4) * tol
    iteration = 0
    while True:
        alpha = point[0]
        y_alpha, k_beta, norm_sq, signed, products = state_of(problem, point, b)
        if products <= watch * (1.0 + abs(b)):
            gap = gap_of_point(problem, alpha, y_alpha, k_beta, b + norm_sq, signed)
            if gap <= 0.9 * tol:
                if polish == 0:
                    break
                polish -= 1
        if iteration == max_iter:
            break
        step = Step(problem, point, signed, 1.0 - y_alpha)
        factor = factorise(problem.gram.K, problem.inv_scale, step.diagonal, work)
        if factor is None:
            break
        iteration += 1
        move, db, length = step.take(partial(solve_rows, factor), products)
        if not length > 1e-10 or not math.isfinite(db):
            break
        point = point + length * move
        b += length * db
    return _settle(problem, alpha, signed, b + norm_sq / y_alpha**2, tol, polished), iteration


def gap_of_point(problem: Problem, alpha, y_alpha, k_beta, radius, signed) -> float:
    """Relative gap of (beta, b), a primal point as it stands, and alpha / y'alpha, a dual one."""
    primal = radius + problem.penalty(signed)
    if not problem.is_boxed:
        dual = problem.dual_value(alpha / y_alpha, k_beta / y_alpha)
    else:
        boxed = problem.feasible(alpha)
        dual = problem.dual_value(boxed, problem.kernel_times(problem.y * boxed))
    return (primal - dual) / (1.0 + abs(primal))


def without_dust(alpha: np.ndarray, signed: np.ndarray) -> np.ndarray:
    """alpha without what the barrier left on points inside the ball."""
    dust = (signed < 0.0) & (alpha < 1e-6 * alpha.max(axis=-1, keepdims=True))
    return np.where(dust, 0.0, alpha)


def _settle(problem: Problem, alpha, signed, radius, tol, polished) -> Value:
    """The certificate: without dust and with R2 to ten digits, if that is enough for it."""
    clean = without_dust(alpha, signed)
    for given, digits in ((clean, 1e-13 if polished else ROUGH), (clean, 1e-13), (alpha, 1e-13)):
        value = problem.evaluate(problem.feasible(given), radius, digits)
        if value.gap <= tol:
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
