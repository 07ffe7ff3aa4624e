r"""The problem as printed, with R^2 >= 0: the branch R^2 = 0 and which branch is the solution.

    min_{a, R2 >= 0}  R2 + sum_i c_i z_i^p,    z_i = (y_i (||phi(x_i) - a||^2 - R2))_+ .

With d_i = ||phi(x_i) - a||^2 and the sums over the positives, let

    a0 = argmin_a sum_i c_i d_i^p,     T = p sum_i c_i d_i(a0)^(p-1).

**Theorem.** If T <= 1 the solution is (a0, R2 = 0) and the negatives have no effect. If T >= 1 it
is the solution of the problem with free R2, which then has R2 >= 0.

*Proof.* At R2 = 0 no negative has slack. Without negatives the problem is convex in (a, R2), and
its Lagrangian dual over R2 >= 0 is

    max  D(alpha) = sum_i alpha_i d_i(a') - (1 - 1/p) sum_i alpha_i (alpha_i / (c_i p))^(1/(p-1)),
    alpha >= 0,  sum_i alpha_i <= 1,       a' = sum_i alpha_i phi_i / sum_i alpha_i :

the equality of the free problem becomes an inequality. For any centre a take
alpha_i = c_i p d_i(a)^(p-1). Then (alpha_i / (c_i p))^(1/(p-1)) = d_i(a), the primal value at
(a, 0) is sum_i alpha_i d_i(a) / p, and by Steiner's identity

    P - D = sum_i alpha_i (d_i(a) - d_i(a')) = T ||a - a'||^2.

At a0 the gradient 2 T (a0 - a') vanishes, so the gap is zero; alpha is feasible when T <= 1.
Negatives can only add to the value, and at (a0, 0) they add nothing: a0 stays optimal. If T >= 1,
d/dR2 of the best value at R2 = 0 is 1 - T <= 0, so the convex free problem of the positives has
its minimum at R2 >= 0; with negatives a free solution with R2 < 0 would leave them without slack
and so solve the problem of the positives, which has none. QED.

The problem with negatives is not convex in these variables once R2 >= 0 is kept; the theorem
needs no convexity there. For p = 1 it reads: if sum_i c_i <= 1, R2 = 0 and a0 is the weighted mean
(Chang, Lee and Lin 2013). **Limits.** c -> 0: the centre is a0 and depends on the ratios of the
costs only; it is the mean for p = 1 alone. p -> inf: a0 tends to the centre of the hard ball.

**Method.** Newton's method on sum c_i d_i^p. Divided by 2T the Hessian is
I + 2 (p-1) sum_i v_i u_i u_i' with weights v_i = alpha_i/T and unit vectors u_i along phi_i - a,
so its eigenvalues lie in [1, 2p - 1]. All weights are taken in logarithms. For large p the centre
of p/2 is the start of that of p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from lpsvdd.solver._certificate import Certificate
from lpsvdd.solver._gram import Gram
from lpsvdd.solver._problem import Problem
from lpsvdd.solver._rows import Rows

LOG_TINY = -700.0
HALVINGS = 40


@dataclass(frozen=True)
class ZeroRadius:
    """The branch R2 = 0, on the positives.

    ``alpha`` sums to one: the multipliers divided by their sum T = exp(log_total), so that the
    centre is sum_i alpha_i phi_i. ``gap`` is (P - D)/P = p ||a - a'||^2 / sum_i alpha_i d_i.
    """

    alpha: np.ndarray
    distances: np.ndarray
    log_total: float
    gap: float
    n_iter: int

    def primal(self, p: float) -> float:
        """sum_i c_i d_i^p = T sum_i alpha_i d_i / p, 0 where that is below any float."""
        scatter = float(self.alpha @ self.distances)
        if scatter <= 0.0:
            return 0.0
        return math.exp(max(self.log_total + math.log(scatter / p), LOG_TINY))


@dataclass(frozen=True)
class _Point:
    """A centre a = sum beta_i phi_i with what follows from it."""

    beta: np.ndarray
    k_beta: np.ndarray
    norm_sq: float
    d: np.ndarray
    weights: np.ndarray  # v_i = alpha_i / T
    log_total: float
    level: float  # log of (sum_i c_i d_i^p)^(1/p), which Newton's method lowers
    gap: float


def at_radius_zero(problem: Problem, tol: float, max_iter: int) -> tuple[Certificate, int] | None:
    """Certificate of (a0, R2 = 0) and Newton steps where T <= 1; None where R2 is to be free.

    ``alpha`` sums to one and is zero on the negatives; the gap is (P - D)/P.
    """
    rows = np.flatnonzero(problem.positive)
    gram = problem.gram
    if problem.has_negatives:
        gram = gram.part(rows)
    found = zero_radius(gram, problem.cost[rows], problem.p, tol, max_iter)
    # Where T passes 1 by rounding only, alpha / T is feasible, and costs a gap of second order.
    if found.log_total > tol:
        return None
    alpha, slack = np.zeros(problem.n), np.zeros(problem.n)
    alpha[rows], slack[rows] = found.alpha, found.distances
    primal = found.primal(problem.p)
    dual = primal * (1.0 - found.gap)
    return Certificate(alpha, primal, dual, found.gap, 0.0, slack, alpha), found.n_iter


def zero_radius(
    gram: Gram | Rows, cost: np.ndarray, p: float, tol: float, max_iter: int
) -> ZeroRadius:
    """Centre that minimises sum_i c_i d_i^p over all points of ``gram``, with its certificate."""
    log_cost = np.log(cost)
    beta = cost / cost.sum()
    n_iter = 0
    stages = [p]
    while stages[0] > 4.0:
        stages.insert(0, stages[0] / 2.0)
    for exponent in stages:
        final = exponent == p
        goal = tol if final else 1e-3
        point = _at(gram, log_cost, exponent, beta)
        while point.gap > goal and n_iter < max_iter:
            moved = _newton_step(gram, log_cost, exponent, point)
            n_iter += 1
            if moved is None:
                break
            point = moved
        beta = point.beta
    # alpha = the weights that belong to the centre: for them the gap above is exact.
    return ZeroRadius(point.weights, point.d, point.log_total, point.gap, n_iter)


def _at(gram: Gram | Rows, log_cost: np.ndarray, p: float, beta: np.ndarray) -> _Point:
    k_beta = gram.K @ beta
    norm_sq = float(beta @ k_beta)
    d = np.maximum(gram.diag - 2.0 * k_beta + norm_sq, 0.0)
    largest = float(d.max())
    if largest <= 1e-14 * max(float(np.abs(gram.diag).max()), np.finfo(float).tiny):
        weights = np.exp(log_cost - log_cost.max())
        weights /= weights.sum()
        return _Point(
            weights, k_beta, norm_sq, np.zeros_like(d), weights, -math.inf, -math.inf, 0.0
        )
    with np.errstate(divide="ignore"):
        logs = log_cost + (p - 1.0) * np.log(d / largest) if p > 1.0 else log_cost
    top = float(logs.max())
    weights = np.exp(logs - top)
    total = float(weights.sum())
    weights /= total
    scatter = float(weights @ d)
    log_total = math.log(p * total) + top + (p - 1.0) * math.log(largest)
    step = weights - beta
    gap = p * max(float(step @ (gram.K @ step)), 0.0) / scatter
    level = (log_total + math.log(scatter / p)) / p
    return _Point(beta, k_beta, norm_sq, d, weights, log_total, level, gap)


def _newton_step(gram: Gram | Rows, log_cost: np.ndarray, p: float, point: _Point) -> _Point | None:
    """A damped Newton step; None where no step lowers the value any more."""
    beta, d = point.beta, point.d
    step = point.weights - beta
    if p > 1.0:
        # (I + 2(p-1) S'S)^-1 g = g - S'(I/(2(p-1)) + SS')^-1 S g, rows of S: sqrt(v_i) u_i.
        far = d > 1e-14 * d.max()
        scale = np.zeros_like(d)
        scale[far] = np.sqrt(point.weights[far] / d[far])
        centred = gram.K - point.k_beta[:, None] - point.k_beta[None, :] + point.norm_sq
        system = centred * np.outer(scale, scale)
        system.flat[:: len(d) + 1] += 1.0 / (2.0 * (p - 1.0))
        k_step = gram.K @ step
        right = scale * (k_step - beta @ k_step)
        solved = scale * cho_solve(cho_factor(system, lower=True), right)
        step = step - solved + solved.sum() * beta
    length = 1.0
    for _ in range(HALVINGS):
        moved = _at(gram, log_cost, p, beta + length * step)
        if moved.level < point.level or moved.gap < 0.25 * point.gap:
            return moved
        length *= 0.5
    return None
