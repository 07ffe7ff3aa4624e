r"""Newton's method on the support: few steps where it is nearly known.

On the support S = {alpha_i > 0} the optimality conditions are equations, s_i = z_i(alpha_i) with
s = y (k_ii - 2 K beta - b) and the law alpha_i = c_i p z_i^(p-1); elsewhere alpha_i = 0. Linearised
at a pair (alpha_i, z_i) of that law, that of alpha_i or (where it enters, p >= 2) that of s_i, they
are

.. math::

    (2 K_{SS} + D) \beta^+ + 1 b^+ = k_{ii} - y z + D y \alpha, \quad 1'\beta^+ = 1,
    \quad D_i = z_i / ((p-1) \alpha_i),

and what is found names the next S. There is no barrier, so a good start ends in two to four
factorisations of the size of S with all digits; a bad one is handed on to ``newton``.

This is Newton's method for the dual: what becomes negative is dropped and the rest solved for
again, who is found outside enters, and a line search on D makes it safe. For p = 1 D and z are zero
and alpha_i = c_i on the points outside, B: with their coefficients fixed,
2 K_FF beta_F + 1 b = k_ii - 2 K_FB beta_B on the surface. Where the kernel is smooth K_SS is nearly
singular, and a little of the gap on the diagonal damps the step. Where many points are support
vectors D is large, and conjugate gradients need few products with K; they are preconditioned by
2 Z Z' + D, Z the coordinates of the points in the span of a few of them.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from lpsvdd.solver.features import Coordinates
from lpsvdd.solver.newton import KernelSystem, NormalSystem
from lpsvdd.solver.points import Rows, sample_of
from lpsvdd.solver.problem import Problem, Value
from lpsvdd.solver.radius import TINY

PATIENCE = 6  # steps without progress
FACTORISED = 2_500  # support vectors up to which the equations are factorised
FACTORISED_SMOOTH = 800  # the same for p >= 2, where D is large and few products with K do
LANDMARKS = 300  # of the preconditioner of conjugate gradients
DROPS = 5  # factorisations of one step (p > 1), each without what became negative before
DAMPING = 100.0  # of a step, times the gap: without it the support of a smooth kernel flickers


def newton_on_support(
    problem: Problem, value: Value, tol: float, max_iter: int, polish: int
) -> tuple[Value, int]:
    """The best value from a feasible start, and steps; ``polish`` more of them after ``tol``."""
    best, n_iter, since_best = value, 0, 0
    preconditioner = _Preconditioner(problem)
    while n_iter < min(max_iter, 60) and since_best < PATIENCE:
        if best.gap <= tol:
            if polish == 0:
                break
            polish -= 1
        try:
            moved = _step(problem, value, preconditioner)
        except np.linalg.LinAlgError:
            break
        n_iter += 1
        if moved is None or not math.isfinite(moved.gap):
            break
        value = moved
        since_best = 0 if value.gap < 0.95 * best.gap else since_best + 1
        if value.gap < max(best.gap, 1e-14):  # where gaps are rounding, the later one is better
            best = value
    return best, n_iter


def _step(problem: Problem, value: Value, preconditioner: _Preconditioner) -> Value | None:
    """The value after one step; None where no step along its direction raises D."""
    alpha, signed, cost = value.alpha, value.signed, problem.cost
    fixed = np.zeros(problem.n, dtype=bool)
    if problem.is_boxed:
        free = np.where(alpha <= 0.0, signed > 0.0, np.where(alpha >= cost, signed < 0.0, True))
        fixed = ~free & (alpha > 0.0)
    else:
        free = (alpha > 0.0) | (signed > 0.0)
    rows = np.flatnonzero(free)
    if not len(rows) or (problem.is_boxed and len(rows) > FACTORISED):
        return None
    y, beta = problem.y[rows], problem.y * alpha
    right, diagonal, missing = problem.diag[rows].copy(), np.zeros(len(rows)), 1.0
    if fixed.any():
        outside = np.where(fixed, beta, 0.0)
        right -= 2.0 * problem.kernel_times(outside)[rows]
        missing -= float(outside.sum())
    if not problem.is_boxed:
        z = np.where(alpha[rows] > 0.0, problem.slack_of(alpha)[rows], 0.0)
        if problem.p >= 2.0:  # what enters is linearised at its distance: D grows as alpha falls
            z = np.where(alpha[rows] > 0.0, z, signed[rows])
        pair = problem.multipliers(z, rows)
        diagonal = z / ((problem.p - 1.0) * np.maximum(pair, TINY))
        right += diagonal * y * pair - y * z
    damping = DAMPING * abs(value.gap)
    diagonal += damping
    right += damping * beta[rows]
    new = np.where(fixed, alpha, 0.0)
    points = problem.points
    is_few = len(rows) <= (FACTORISED if problem.p < 2.0 else FACTORISED_SMOOTH)
    is_few |= isinstance(points, Coordinates)
    for _ in range(DROPS if is_few and not problem.is_boxed else 1):
        if isinstance(points, Coordinates):
            Z = points.Z[rows] * math.sqrt(problem.inv_scale)
            solved = NormalSystem(Z, 1.0, diagonal, np.zeros(Z.shape[1]), missing)(right)[0]
        elif is_few:
            K, work = points.part(rows).K, np.empty((len(rows), len(rows)), order="F")
            solved = KernelSystem(K, problem.inv_scale, diagonal, missing, work)(right)[0]
        else:
            solved = _conjugate_gradients(problem, rows, diagonal, right, value, preconditioner)
        kept = problem.y[rows] * solved >= 0.0
        if kept.all() or not kept.any():
            break
        rows, diagonal, right, solved = rows[kept], diagonal[kept], right[kept], solved[kept]
    new[rows] = np.clip(problem.y[rows] * solved, 0.0, cost[rows] if problem.is_boxed else None)
    new = problem.feasible(new)
    if problem.is_boxed and np.count_nonzero(new) > np.count_nonzero(fixed) + np.count_nonzero(
        free
    ):
        return None  # what was clipped had to go to points that are no support vectors
    dual, length = value.primal - value.excess, 1.0
    for _ in range(4):
        moved = problem.evaluate(alpha + length * (new - alpha), value.radius_sq)
        if moved.primal - moved.excess > dual or moved.gap < 0.5 * value.gap:
            return moved
        length *= 0.25
    return None


def _conjugate_gradients(problem: Problem, rows, diagonal, right, value: Value, preconditioner):
    """x with (2 K_SS + D) x + 1 b = right and 1'x = 1, from beta, by few products with K.

    A direction is all that is asked for, so K_SS is in single precision. What it has to mend, the
    residual at beta, is known from the distances in double.
    """
    K = problem.points.in_single(rows)
    solve = preconditioner.at(rows, diagonal)
    factor = 2.0 * problem.inv_scale

    def times(v: np.ndarray) -> np.ndarray:
        return factor * K.dot(v.astype(np.float32)) + diagonal * v

    x = (problem.y * value.alpha)[rows]
    moved = problem.diag[rows] - problem.y[rows] * value.signed[rows]  # 2 K beta up to a constant
    residual = right - moved - diagonal * x
    g = solve(residual)
    direction, rho = g, float(residual @ g)
    goal = 1e-4 * rho
    for _ in range(60):
        if not rho > 1e-30:
            break
        image = times(direction)
        length = rho / float(direction @ image)
        x = x + length * direction
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
