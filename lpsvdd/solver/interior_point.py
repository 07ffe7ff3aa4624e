r"""Interior-point Newton method on the optimality conditions, with the power law in logarithms.

In the scaled problem (see ``problem``) the optimality conditions in alpha, slack z, constraint
slack u, multiplier g of z >= 0 and b = R2 - ||a||^2 are, for all i,

    y_i (K_ii - 2 (K beta)_i - b) + u_i = z_i,   y'alpha = 1,   beta = y * alpha,
    log(alpha_i + g_i) = log(c_i p) + (p - 1) log z_i,
    alpha_i u_i = mu,   g_i z_i = mu,   mu -> 0.

Taking the power law in logarithms is what makes one method serve p = 1.001 and p = 20: its
linearisation is exact in relative terms. Eliminating u, z and g from Newton's equations leaves

    (2K + diag(u/alpha + z/(g + (p-1)(alpha + g)))) dbeta + 1 db = r,   1'dbeta = 1 - y'alpha,

one factorisation an iteration (``linear_systems``), used for Mehrotra's predictor and corrector.
"""

from __future__ import annotations

import math

import numpy as np

from lpsvdd.solver.certificate import better_value
from lpsvdd.solver.linear_systems import bordered
from lpsvdd.solver.problem import Problem, Value
from lpsvdd.solver.radius import TINY

TO_BOUNDARY = 0.999  # fraction of the way to the boundary that a step goes
RELATIVE_ZERO = 1e-6  # multipliers below this share of the largest (p = 1: 10 times, of c_i) are 0
LARGEST_START = 1e3  # no multiplier of a start needs to be larger
STALLED_ITERATIONS = 15  # iterations without progress


def interior_point(
    problem: Problem, start: Value, tol: float, max_iter: int, mu: float
) -> tuple[Value, int]:
    """Return the best feasible value found from an interior point near ``start``, and iterations.

    ``mu`` is the product that the pairs start with: large from afar, small from a near start.
    """
    point = _interior(problem, start.alpha, start.signed, mu)
    beta = problem.y * point[0]
    b = start.radius_sq - float(beta @ problem.kernel_times(beta))
    best, n_iter, since_best, lowest = start, 0, 0, math.inf
    while n_iter < max_iter and since_best <= STALLED_ITERATIONS:
        alpha, z, u, g = point
        beta = problem.y * alpha
        k_beta = problem.kernel_times(beta)
        signed = problem.y * (problem.diag - 2.0 * k_beta - b)
        products = float(alpha @ u + z @ g)
        merit = products / (1.0 + abs(b))
        # In the end the gap is a part of the products: near p = 1 most of them, for larger p a
        # ten-thousandth. While they are larger than that the gap need not be looked at.
        if merit < (300.0 if problem.p < 1.4 else 1e4) * tol:
            # At p = 1 residue would make every point a support vector: go on until it is none.
            clean = problem.evaluate(problem.feasible(_without_residue(problem, alpha, signed)))
            if clean.gap <= tol:
                return clean, n_iter
            best = better_value(problem, best, clean, problem.evaluate(problem.feasible(alpha)))
            if best.gap <= tol and not problem.is_boxed:
                return best, n_iter
        since_best = 0 if merit < 0.7 * lowest else since_best + 1
        lowest = min(lowest, merit)
        step = _Step(problem, point, signed)
        try:
            inverse = problem.points.inverse(problem.inv_scale, step.diagonal)
            move, db, length = step.take(inverse, 1.0 - float(beta.sum()), products)
        except (ArithmeticError, np.linalg.LinAlgError, ValueError):  # numbers beyond floats
            break
        if not (length > 1e-10 and math.isfinite(db)):
            break
        n_iter += 1
        point, b = point + length * move, b + length * db
    return best, n_iter


def _interior(problem: Problem, alpha: np.ndarray, signed: np.ndarray, mu: float) -> np.ndarray:
    """Return a point (alpha, z, u, g) > 0 with products near mu, close to alpha and y (d - R2)."""
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


class _Step:
    r"""Mehrotra's predictor-corrector step from one interior point (alpha, z, u, g).

    The pairs (alpha, u) and (z, g) have products that are to become mu; call (alpha, z) the head of
    the point and (u, g) its tail. Three facts carry the code:

    *Products.* With an aim A (what the tail should be), d tail = A - tail - (tail/head) d head. The
    predictor has A = 0. For its h = d head/head then d tail/tail = -(1 + h), so neither its d tail
    nor the second-order terms head*tail*h*(1 + h) of the products need another array.

    *Law.* log(alpha + g) = log(c p) + (p - 1) log z, linearised and cleared of d g, reads
    d z = stretch (d alpha - law), stretch = z/(g + (p - 1)(alpha + g)), law = (alpha + g) times the
    law's residual, plus g (as the predictor aims at g = 0).

    *System.* What is left are the n + 1 equations in (d beta, d b), with
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

    def take(self, inverse, missing: float, products: float) -> tuple[np.ndarray, float, float]:
        """Return the move of the point, the move of b, and how far to go along them.

        ``products`` is alpha'u + z'g; ``missing`` is 1 - y'alpha.
        """
        self.inverse, self.missing = inverse, missing
        point, problem = self.point, self.problem
        _, z, _, g = point
        move = np.empty_like(point)
        power_law = problem.log_rate + (problem.p - 1.0) * np.log(z)
        law = g + self.total * (power_law - np.log(self.total))
        self._move_head(move, 0.0, law)
        h = move[:2] / self.head
        # how far the predictor goes before head (1 + t h) or tail (1 - t (1 + h)) is negative
        reach = min(1.0, _to_boundary(min(float(h.min()), float((-1.0 - h).min()))))
        second_order = self.head * self.tail * h * (1.0 + h)
        after = (1.0 - reach) * products - reach**2 * float(second_order.sum())
        target = max((after / products) ** 3, 1e-8) * products / (2 * problem.n)
        aim = (target + second_order) / self.head
        # Second-order terms of the two logarithms; the predictor moves g by -g (1 + h_z).
        d_total = move[0] - g * (1.0 + h[1])
        curvature = self.total * ((d_total / self.total) ** 2 - (problem.p - 1.0) * h[1] ** 2)
        law += 0.5 * reach**2 * curvature - aim[1]
        db = self._move_head(move, aim[0], law)
        np.subtract(aim - self.tail, self.ratio * move[:2], out=move[2:])
        return move, db, min(1.0, TO_BOUNDARY * _to_boundary(float((move / point).min())))

    def _move_head(self, move: np.ndarray, aim_u, law: np.ndarray) -> float:
        """Write d alpha and d z into ``move`` and return d b."""
        right = self.problem.y * (self.residual + aim_u + self.stretch * law)
        d_beta, db = bordered(self.inverse, right, self.missing)
        np.multiply(self.problem.y, d_beta, out=move[0])
        np.multiply(self.stretch, move[0] - law, out=move[1])
        return db


def _to_boundary(worst: float) -> float:
    """Return the largest t with 1 + t * worst >= 0, or a huge number."""
    return -1.0 / min(worst, -TINY)


def _without_residue(problem: Problem, alpha: np.ndarray, signed: np.ndarray) -> np.ndarray:
    """Return alpha without interior-point residue on points that are no support vectors.

    For p > 1: points inside the ball with a relatively tiny alpha. For p = 1, where support vectors
    may lie on the surface: any alpha that is tiny beside its bound c_i.
    """
    if problem.is_boxed:
        return np.where(alpha < 10.0 * RELATIVE_ZERO * problem.cost, 0.0, alpha)
    return np.where((signed < 0.0) & (alpha < RELATIVE_ZERO * alpha.max()), 0.0, alpha)
