r"""Newton's method on the support: for p >= 2 with many support vectors.

For coefficients beta of a centre (1'beta = 1) let z be the slacks at the best R2 of that centre and
alpha_i = c_i p z_i^(p-1) their multipliers, which satisfy y'alpha = 1 since R2 is best. The
optimality conditions are r = y*alpha - beta = 0, and by Fenchel and Young the gap between the
primal value at beta and the dual value at alpha is

    P(beta) - D(alpha) = ||sum_i r_i phi(x_i)||^2 = r'K r.

Newton's step is beta+ = y*alpha + e, where e is zero where z is, and on the support S

    (2 K_SS + D) e + 1 db = -2 (K r)_S,   1'e = 0,    D_i = 1/(c_i p (p-1) z_i^(p-2)).

For p = 2, D is constant, and D is large where there are many support vectors; so conjugate
gradients need few products with K, which are all that is asked of it: a matrix, or rows on demand.
They run in the plane 1'e = 0 and are preconditioned by 2 Z Z' + D, Z the coordinates of the points
in the span of a few of them. A line search on P, which is convex, makes it safe.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from lpsvdd.solver._arithmetic import Value
from lpsvdd.solver._problem import Problem
from lpsvdd.solver._rows import Rows, sample_of

LANDMARKS = 300  # of the preconditioner
FEW = 1_000  # support vectors that do without
MOST_PRODUCTS = 60  # with K, for one Newton step
HALVINGS = 30


def newton_on_support(
    problem: Problem, alpha: np.ndarray, tol: float, max_iter: int, polish: int = 0
) -> tuple[Value, int]:
    """From a feasible alpha to a gap of ``tol`` (and ``polish`` more steps, while they help)."""
    beta = problem.y * alpha
    k_beta = problem.kernel_times(beta)
    radius = None
    preconditioner = _Preconditioner(problem)
    n_iter = 0
    while True:
        here = _Primal(problem, k_beta, beta, radius)
        radius = here.radius
        alpha = problem.multipliers(here.signed)
        total = problem.dot(problem.y, alpha)
        if not total > 0.5:  # multipliers so large that y'alpha = 1 has lost its digits
            return problem.evaluate(problem.feasible(problem.y * beta)), n_iter
        alpha /= total
        r = problem.y * alpha - beta
        k_r = problem.kernel_times(r)
        gap = max(problem.dot(r, k_r), 0.0) / (1.0 + abs(here.primal))
        if gap <= tol:
            polish -= 1
        if polish < 0 or n_iter >= max_iter or gap <= 1e-15 or not math.isfinite(gap):
            break
        e, k_e = _step(problem, alpha, here.signed, k_r, preconditioner, gap)
        step, k_step = r + e, k_r + k_e
        length = _length(problem, here, beta, k_beta, step, k_step, gap)
        if length == 0.0:
            break
        n_iter += 1
        beta, k_beta = beta + length * step, k_beta + length * k_step
    return problem.value_at(alpha, k_beta + k_r, radius), n_iter


class _Primal:
    """The primal value of a centre, with its best R2 and y (d - R2)."""

    def __init__(self, problem: Problem, k_beta, beta, guess) -> None:
        d = problem.diag - 2.0 * k_beta + problem.dot(beta, k_beta)
        self.radius, rate = problem.best_radius(d, guess)
        self.signed = problem.y * (d - self.radius)
        self.primal = self.radius + problem.penalty(self.signed)


def _length(problem, here, beta, k_beta, step, k_step, gap) -> float:
    """Longest step of 1, 1/2, ... that lowers P; near the end, where digits are lost, 1."""
    if gap < 1e-12:
        return 1.0
    length = 1.0
    for _ in range(HALVINGS):
        new = _Primal(problem, k_beta + length * k_step, beta + length * step, here.radius)
        if new.primal <= here.primal - 1e-4 * length * gap or new.primal < here.primal - gap:
            return length
        length *= 0.5
    return 0.0


def _step(problem, alpha, signed, k_r, preconditioner, gap) -> tuple[np.ndarray, np.ndarray]:
    """e and K e by projected conjugate gradients, to a tolerance that falls with the gap."""
    support = np.flatnonzero(alpha > 1e-12 * alpha.max())
    D = signed[support] / ((problem.p - 1.0) * alpha[support])
    solve = preconditioner.at(support, D)
    residual = -2.0 * k_r[support]
    goal = min(0.1, gap**0.25) if isinstance(problem.gram, Rows) else min(0.1, 0.1 * math.sqrt(gap))
    x, k_x = np.zeros(len(support)), np.zeros(problem.n)
    g = solve(residual)
    direction, rho = g, float(residual @ g)
    first = rho
    for _ in range(MOST_PRODUCTS):
        if not rho > 1e-30:
            break
        whole = np.zeros(problem.n)
        whole[support] = direction
        k_direction = problem.kernel_times(whole)
        image = 2.0 * k_direction[support] + D * direction
        length = rho / float(direction @ image)
        x += length * direction
        k_x += length * k_direction
        residual = residual - length * image
        g = solve(residual)
        new = float(residual @ g)
        if not new > goal**2 * first:
            break
        direction, rho = g + (new / rho) * direction, new
    e = np.zeros(problem.n)
    e[support] = x
    return e, k_x


class _Preconditioner:
    """(2 Z Z' + D)^-1 within 1'e = 0; Z is computed once, for all points."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.Z: np.ndarray | None = None

    def at(self, support: np.ndarray, D: np.ndarray):
        if len(support) <= FEW:
            inverse = 1.0 / (D + 2.0 * self.problem.diag[support].clip(0.0))
            return _projected(lambda v: inverse * v, len(support))
        Z = self._features()[support]
        over = Z / D[:, None]
        inner = Z.T @ over
        inner.flat[:: len(inner) + 1] += 0.5
        factor = cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)

        def solve(v: np.ndarray) -> np.ndarray:
            return v / D - over @ cho_solve(factor, over.T @ v, check_finite=False)

        return _projected(solve, len(support))

    def _features(self) -> np.ndarray:
        if self.Z is None:
            problem = self.problem
            some = sample_of(problem.n, LANDMARKS)
            everyone = np.arange(problem.n)
            K = problem.gram.block(everyone, some) * problem.inv_scale
            inner = K[some].copy()
            inner.flat[:: len(inner) + 1] += 1e-8 * max(float(inner.diagonal().mean()), 1e-300)
            L = np.linalg.cholesky(inner)
            self.Z = solve_triangular(L, K.T, lower=True, check_finite=False).T
        return self.Z


def _projected(solve, n: int):
    """The solution of M g + 1 t = v with 1'g = 0."""
    column = solve(np.ones(n))
    total = float(column.sum())

    def projected(v: np.ndarray) -> np.ndarray:
        g = solve(v)
        return g - (float(g.sum()) / total) * column

    return projected
