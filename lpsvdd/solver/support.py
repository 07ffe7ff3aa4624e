r"""Newton's method on the support: few steps where it is nearly known.

On the support S = {alpha_i > 0} the optimality conditions are equations, s_i = z_i(alpha_i) with
s = y (k_ii - 2 K beta - b) and the law alpha_i = c_i p z_i^(p-1); elsewhere alpha_i = 0. Linearised
at a pair (alpha_i, z_i) of that law they are

.. math::

    (2 K_{SS} + D) \beta^+ + 1 b^+ = k_{ii} - y z + D \beta, \quad 1'\beta^+ = 1,
    \quad D_i = z_i / ((p-1) \alpha_i),

and what is found names the next S. There is no barrier, so a good start ends in two to four
factorisations of the size of S with all digits; a bad one is handed on to ``newton``.

- For p >= 2 the pair is taken from the slack, which is Newton's method for the primal, P(beta),
  a smooth convex function; a line search on P makes it safe. Where many points are support
  vectors, D is large and conjugate gradients need few products with K.
- For p < 2 the pair is taken from alpha, which is Newton's method for the dual; what becomes
  negative is dropped, who is found outside enters, and a line search on D makes it safe.
- For p = 1 D and z are zero and alpha_i = c_i on the points outside, B: with their coefficients
  fixed, 2 K_FF beta_F + 1 b = k_ii - 2 K_FB beta_B on the surface.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from lpsvdd.solver.newton import KernelSystem
from lpsvdd.solver.points import Rows, sample_of
from lpsvdd.solver.problem import Problem, Value

MOST_STEPS = 25
DIRECT = 1_000  # support vectors up to which the equations are factorised
MOST_FACTORISED = 4_000  # the same where conjugate gradients are no way (p < 2)
LANDMARKS = 300  # of the preconditioner of conjugate gradients
MOST_PRODUCTS = 60  # with K, for one step by conjugate gradients
HALVINGS = 4
DAMPING = 100.0  # of a step, times the gap: without it the support of a smooth kernel flickers
DIGITS = 1e-17  # a gap at which nothing is left to polish


def newton_on_support(
    problem: Problem, value: Value, tol: float, max_iter: int, polish: int
) -> tuple[Value, int]:
    """The best value from a feasible start, and steps; ``polish`` more of them after ``tol``."""
    step = _dual_step
    best, n_iter, since_best = value, 0, 0
    preconditioner = _Preconditioner(problem)
    while n_iter < min(max_iter, MOST_STEPS) and since_best < 3:
        if best.gap <= tol:
            if polish == 0 or best.gap <= DIGITS:
                break
            polish -= 1
        try:
            moved = step(problem, value, preconditioner)
        except np.linalg.LinAlgError:
            break
        n_iter += 1
        if moved is None or not math.isfinite(moved.gap):
            break
        value = moved
        since_best = 0 if value.gap < 0.8 * best.gap else since_best + 1
        if value.gap < best.gap:
            best = value
    return best, n_iter


# -- the dual: 1 <= p < 2 --------------------------------------------------------------------------


def _dual_step(problem: Problem, value: Value, preconditioner) -> Value | None:
    alpha, signed, cost = value.alpha, value.signed, problem.cost
    if problem.is_boxed:
        free = np.where(alpha <= 0.0, signed > 0.0, np.where(alpha >= cost, signed < 0.0, True))
        fixed = ~free & (alpha > 0.0)
    else:
        free, fixed = (alpha > 0.0) | (signed > 0.0), np.zeros(problem.n, dtype=bool)
    rows = np.flatnonzero(free)
    if not len(rows) or len(rows) > MOST_FACTORISED:
        return None
    y, beta = problem.y[rows], problem.y * alpha
    right, diagonal = problem.diag[rows].copy(), np.zeros(len(rows))
    missing = 1.0
    if fixed.any():
        outside = np.where(fixed, beta, 0.0)
        right -= 2.0 * problem.kernel_times(outside)[rows]
        missing -= float(outside.sum())
    if not problem.is_boxed:
        z = problem.slack_of(alpha)[rows]
        z[alpha[rows] <= 0.0] = 0.0
        diagonal = np.where(z > 0.0, z / ((problem.p - 1.0) * np.maximum(alpha[rows], 1e-300)), 0.0)
        right += diagonal * beta[rows] - y * z
    damping = DAMPING * abs(value.gap)
    diagonal += damping
    right += damping * beta[rows]
    solved, _ = _system(problem, rows, diagonal, missing)(right)
    new = np.where(fixed, alpha, 0.0)
    new[rows] = np.clip(y * solved, 0.0, cost[rows] if problem.is_boxed else None)
    new = problem.feasible(new)
    dual = value.primal - value.excess
    length = 1.0
    for _ in range(HALVINGS):
        moved = problem.evaluate(alpha + length * (new - alpha), value.radius_sq)
        if moved.primal - moved.excess > dual or moved.gap < 0.5 * value.gap:
            return moved
        length *= 0.25
    return None


def _system(problem: Problem, rows: np.ndarray, diagonal: np.ndarray, missing: float):
    K = problem.points.part(rows).K
    work = np.empty((len(rows), len(rows)), order="F")
    return KernelSystem(K, problem.inv_scale, diagonal, missing, work)


# -- the primal: p >= 2 ----------------------------------------------------------------------------


def _primal_step(problem: Problem, value: Value, preconditioner) -> Value | None:
    y, signed = problem.y, value.signed
    beta = y * value.alpha
    alpha = problem.multipliers(signed)
    total = float(y.dot(alpha))
    if not total > 0.5:  # multipliers so large that y'alpha = 1 has lost its digits
        return None
    alpha /= total
    rows = np.flatnonzero(alpha > 1e-12 * alpha.max())
    diagonal = signed[rows] / ((problem.p - 1.0) * alpha[rows])
    target = y * alpha
    if len(rows) <= DIRECT:
        right = problem.diag[rows] - (y * signed)[rows] + diagonal * target[rows]
        solved, _ = _system(problem, rows, diagonal, 1.0)(right)
        new = np.zeros(problem.n)
        new[rows] = solved
    else:
        k_r = problem.kernel_times(target - beta)
        new = target.copy()
        new[rows] += _conjugate_gradients(problem, rows, diagonal, k_r, value.gap, preconditioner)
    k_beta, k_new = problem.kernel_times(beta), problem.kernel_times(new)
    length = 1.0
    for _ in range(HALVINGS):
        moved = _value_of_centre(
            problem, beta + length * (new - beta), k_beta + length * (k_new - k_beta), value
        )
        if moved.primal < value.primal or moved.gap < 0.5 * value.gap:
            return moved
        length *= 0.25
    return None


def _value_of_centre(problem: Problem, beta, k_beta, before: Value) -> Value:
    """The value of the multipliers that belong to the slacks of a centre."""
    norm_sq = float(beta.dot(k_beta))
    d = problem.diag - 2.0 * k_beta + norm_sq
    radius = problem.radius_sq(d, before.radius_sq)
    alpha = problem.feasible(problem.multipliers(problem.y * (d - radius)))
    return problem.evaluate(alpha, radius)


def _conjugate_gradients(problem: Problem, rows, diagonal, k_r, gap, preconditioner) -> np.ndarray:
    """e with (2 K_SS + D) e + 1 db = -2 (K r)_S and 1'e = 0, to a tolerance that falls with the gap."""
    K = problem.points.part(rows).K
    solve = preconditioner.at(rows, diagonal)
    residual = -2.0 * k_r[rows]
    x = np.zeros(len(rows))
    g = solve(residual)
    direction, rho = g, float(residual @ g)
    goal = min(0.1, 0.1 * math.sqrt(max(gap, 0.0))) ** 2 * rho
    for _ in range(MOST_PRODUCTS):
        if not rho > 1e-30:
            break
        image = (2.0 * problem.inv_scale) * K.dot(direction) + diagonal * direction
        length = rho / float(direction @ image)
        x += length * direction
        residual = residual - length * image
        g = solve(residual)
        new = float(residual @ g)
        if not new > goal:
            break
        direction, rho = g + (new / rho) * direction, new
    return x


class _Preconditioner:
    """(2 Z Z' + D)^-1 within 1'e = 0, Z the coordinates of all points in the span of a few."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.Z: np.ndarray | None = None

    def at(self, rows: np.ndarray, D: np.ndarray):
        if self.Z is None:
            self.Z = self._coordinates()
        Z = self.Z[rows]
        over = Z / D[:, None]
        inner = Z.T @ over
        inner.flat[:: len(inner) + 1] += 0.5
        factor = cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)

        def solve(v: np.ndarray) -> np.ndarray:
            return v / D - over @ cho_solve(factor, over.T @ v, check_finite=False)

        column = solve(np.ones(len(rows)))
        total = float(column.sum())

        def projected(v: np.ndarray) -> np.ndarray:
            g = solve(v)
            return g - (float(g.sum()) / total) * column

        return projected

    def _coordinates(self) -> np.ndarray:
        points = self.problem.points
        some = sample_of(self.problem.n, LANDMARKS)
        K = points.block(slice(None), some) if isinstance(points, Rows) else points.K[:, some]
        K = K * self.problem.inv_scale
        inner = K[some].copy()
        inner.flat[:: len(inner) + 1] += 1e-8 * max(float(inner.diagonal().mean()), 1e-300)
        factor = np.linalg.cholesky(inner)
        return solve_triangular(factor, K.T, lower=True, check_finite=False).T
