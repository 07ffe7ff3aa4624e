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
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from lpsvdd.problem import Problem, Value

STEP = 0.995  # fraction of the way to the boundary


def interior(problem: Problem, value: Value, mu: float) -> tuple[np.ndarray, float]:
    """A point with all variables positive and complementarity near mu, close to the given start."""
    signed = problem.y * (value.d - value.radius_sq)
    # Inside the ball z g = mu and c p z^(p-1) = g nearly: z = (mu / (c p))^(1/p).
    z = np.maximum(signed, np.exp((math.log(mu) - problem.log_rate) / problem.p))
    if problem.p >= 2.0:
        # Multipliers above 1e3 are unheard of. A primal residual is linear and leaves at the
        # first full step; a violated power law with a large exponent does not.
        z = np.minimum(z, np.exp((math.log(1e3) - problem.log_rate) / (problem.p - 1.0)))
    alpha = np.maximum(value.alpha, mu / (np.maximum(z - signed, 0.0) + math.sqrt(mu)))
    u = np.maximum(z - signed, mu / alpha)
    rate = np.exp(np.minimum(problem.log_rate + (problem.p - 1.0) * np.log(z), 50.0))
    g = np.maximum(rate - alpha, mu / z)
    beta = problem.y * alpha
    b = value.radius_sq - float(beta @ problem.kernel_times(beta))
    return np.array([alpha, z, u, g]), b


def newton(problem: Problem, start, tol, max_iter, work, polish) -> tuple[Value, int]:
    """Mehrotra's predictor-corrector from an interior point; returns (value, iterations)."""
    y, p = problem.y, problem.p
    point, b = start
    y_diag = y * problem.diag
    iteration = 0
    while True:
        alpha, z, u, g = point
        beta = y * alpha
        y_alpha = float(y @ alpha)
        k_beta = problem.kernel_times(beta)
        norm_sq = float(beta @ k_beta)
        signed = y_diag - y * (2.0 * k_beta + b)
        products = float(np.vdot(point[:2], point[2:]))
        # The gap holds the products alpha*u; while these are large it need not be looked at.
        if products <= 1e4 * tol * (1.0 + abs(b)):
            gap = _gap_of_point(problem, alpha, y_alpha, k_beta, b + norm_sq, signed)
            if gap <= 0.9 * tol:
                if polish == 0:
                    break
                polish -= 1
        if iteration == max_iter:
            break
        total = alpha + g
        stretch = z / (g + (p - 1.0) * total)
        factor = _factorise(problem, u / alpha + stretch, work)
        if factor is None:
            break
        iteration += 1
        r_power = total * (problem.log_rate + (p - 1.0) * np.log(z) - np.log(total))
        system = _Newton(y, factor, point, stretch, r_power, signed + u - z, 1.0 - y_alpha)
        move, _ = system.predictor()
        reach = min(1.0, _to_boundary(point, move))
        reached = point + reach * move
        reached = float(np.vdot(reached[:2], reached[2:]))
        target = max((reached / products) ** 3, 1e-8) * products / (2 * problem.n)
        # Second-order terms of the products (Mehrotra) and, as far as the step is to be trusted,
        # of the two logarithms.
        curvature = ((move[0] + move[3]) / total) ** 2 - (p - 1.0) * (move[1] / z) ** 2
        system.r_power += 0.5 * reach**2 * total * curvature
        move, db = system.direction(target - move[:2] * move[2:])
        step = min(1.0, STEP * _to_boundary(point, move))
        if not step > 1e-10 or not math.isfinite(db):
            break
        point = point + step * move
        b += step * db
    return _settle(problem, alpha, signed, b + norm_sq / y_alpha**2, tol), iteration


def _gap_of_point(problem: Problem, alpha, y_alpha, k_beta, radius, signed) -> float:
    """Relative gap of (beta, b), a primal point as it stands, and alpha / y'alpha, a dual one."""
    primal = radius + problem.penalty(signed)
    if problem.p > 1.0:
        dual = problem.dual_value(alpha / y_alpha, k_beta / y_alpha)
    else:
        boxed = problem.feasible(alpha)
        dual = problem.dual_value(boxed, problem.kernel_times(problem.y * boxed))
    return (primal - dual) / (1.0 + abs(primal))


def _settle(problem: Problem, alpha, signed, radius, tol) -> Value:
    """The certificate, without the dust that the barrier left on points inside the ball."""
    dust = (signed < 0.0) & (alpha < 1e-6 * alpha.max())
    value = problem.evaluate(problem.feasible(np.where(dust, 0.0, alpha)), radius)
    if value.gap <= tol or not dust.any():
        return value
    return problem.evaluate(problem.feasible(alpha), radius)


class _Newton:
    """One iteration's linear system: factored once, solved for predictor and corrector.

    The rows of a point are alpha, z and their partners u, g in the products alpha*u, g*z.
    """

    def __init__(self, y, factor, point, stretch, r_power, r_primal, r_sum) -> None:
        self.y, self.factor = y, factor
        self.head, self.tail = point[:2], point[2:]
        self.ratio = self.tail / self.head
        self.stretch, self.r_power, self.r_primal, self.r_sum = stretch, r_power, r_primal, r_sum

    def predictor(self) -> tuple[np.ndarray, float]:
        """Step towards zero products; the solve for the column of db goes along with it."""
        shift = -self.tail
        right = np.ones((2, len(self.y)))
        right[1] = self._right(shift)
        self.v, x = dpotrs(self.factor, right.T, lower=1)[0].T
        self.v_sum = float(self.v.sum())
        return self._move(x, shift)

    def direction(self, target) -> tuple[np.ndarray, float]:
        """Step towards head * tail = target; ``predictor`` comes first."""
        shift = target / self.head - self.tail
        x = dpotrs(self.factor, self._right(shift), lower=1, overwrite_b=1)[0]
        return self._move(x, shift)

    def _right(self, shift) -> np.ndarray:
        return self.y * (self.r_primal + shift[0] - self.stretch * (shift[1] - self.r_power))

    def _move(self, x, shift) -> tuple[np.ndarray, float]:
        db = (float(x.sum()) - self.r_sum) / self.v_sum
        move = np.empty((4, len(x)))
        np.multiply(self.y, x - db * self.v, out=move[0])
        np.multiply(self.stretch, move[0] + shift[1] - self.r_power, out=move[1])
        np.subtract(shift, self.ratio * move[:2], out=move[2:])
        return move, db


def _factorise(problem: Problem, diagonal, work):
    """Cholesky factor of 2K/s + diag; a little more is added where rounding asks for it."""
    jitter = 1e-14
    for _ in range(4):
        np.multiply(problem.gram.K, 2.0 * problem.inv_scale, out=work.T)  # K is symmetric
        work.flat[:: problem.n + 1] += diagonal + jitter
        factor, failed = dpotrf(work, lower=1, clean=0, overwrite_a=1)
        if failed == 0:
            return factor
        jitter *= 1e3
    return None


def _to_boundary(point: np.ndarray, move: np.ndarray) -> float:
    """Largest t with point + t * move >= 0."""
    worst = float((move / point).min())
    return -1.0 / worst if worst < 0.0 else math.inf
