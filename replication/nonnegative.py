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
import warnings
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning

from lpsvdd import solve
from lpsvdd._validation import check_labels

LOG_SMALLEST = math.log(np.finfo(float).tiny)


class NonnegativeSolution(NamedTuple):
    """A solution with R2 >= 0: the ball, its value, and the gap that bounds the value's error.

    ``status`` is "radius-zero" on the branch R2 = 0, else that of the problem with free R2. On the
    branch ``alpha`` sums to one (the multipliers that belong to the centre, divided by their sum
    T) and ``gap`` is (P - D)/P of the centre that is returned. ``centre`` holds coefficients of a.
    """

    alpha: np.ndarray
    centre: np.ndarray
    distances: np.ndarray
    radius_sq: float
    primal: float
    gap: float
    n_iter: int
    status: str


def solve_nonnegative(
    K: np.ndarray,
    y: np.ndarray | None = None,
    *,
    p: float,
    c: float | np.ndarray,
    tol: float = 1e-9,
    max_iter: int = 1000,
) -> NonnegativeSolution:
    """Solve the lp-SVDD problem with the constraint R2 >= 0; parameters as in `lpsvdd.solve`.

    Examples
    --------
    >>> import numpy as np
    >>> from replication.nonnegative import solve_nonnegative
    >>> x = np.array([0.0, 0.0, 3.0])  # argmin 2 a^4 + (3 - a)^4 is 3/(1 + 2^(1/3)), not the mean
    >>> ball = solve_nonnegative(np.outer(x, x), p=2.0, c=1e-6)
    >>> ball.radius_sq, round(float(ball.centre @ x), 4), ball.status
    (0.0, 1.3275, 'radius-zero')
    """
    K = np.asarray(K, dtype=float)
    rows = np.flatnonzero(check_labels(y, len(K)) > 0.0)
    log_cost = np.log(np.broadcast_to(np.asarray(c, dtype=float), len(K))[rows])
    point, n_iter = _descend(K[np.ix_(rows, rows)], log_cost, p, tol, max_iter)
    # Where T passes 1 by rounding only, alpha / T is feasible, and costs a gap of second order.
    if point.log_total > tol:
        free = solve(K, y, p=p, c=c, tol=tol, max_iter=max_iter)
        # The exact R2 is not negative here; its last digits may be.
        return NonnegativeSolution(
            free.alpha, free.centre, free.distances, max(free.radius_sq, 0.0), free.primal,
            free.gap, free.n_iter, free.status,
        )  # fmt: skip
    alpha, centre = np.zeros(len(K)), np.zeros(len(K))
    alpha[rows], centre[rows] = point.weights, point.beta
    scatter, primal = float(point.weights @ point.d), 0.0
    if scatter > 0.0:  # sum_i c_i d_i^p = T sum_i alpha_i d_i / p, 0 where that is below any float
        primal = math.exp(max(point.log_total + math.log(scatter / p), LOG_SMALLEST))
    d = K.diagonal() - 2.0 * K @ centre + point.norm_sq
    d[rows] = point.d
    status = "radius-zero" if point.gap <= tol else "not-converged"
    if status == "not-converged":
        warnings.warn(
            f"R^2 = 0, p = {p:g}: the gap is {point.gap:.1e} after {n_iter} iterations, more than "
            f"tol = {tol:g}; raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    return NonnegativeSolution(alpha, centre, d, 0.0, primal, point.gap, n_iter, status)


class _Point(NamedTuple):
    """A centre a = sum beta_i phi_i with what follows from it."""

    beta: np.ndarray
    k_beta: np.ndarray
    norm_sq: float
    d: np.ndarray
    weights: np.ndarray  # v_i = alpha_i / T
    log_total: float  # log T
    level: float  # log of (sum_i c_i d_i^p)^(1/p), which Newton's method lowers
    gap: float


def _descend(K: np.ndarray, log_cost, p: float, tol: float, max_iter: int) -> tuple[_Point, int]:
    """Return the centre that minimises sum_i c_i d_i^p over all points, and the Newton steps."""
    beta = np.exp(log_cost - log_cost.max())
    beta /= beta.sum()
    n_iter, exponents = 0, [p]
    while exponents[0] > 4.0:
        exponents.insert(0, exponents[0] / 2.0)
    for exponent in exponents:
        goal = tol if exponent == p else 1e-3
        point = _at(K, log_cost, exponent, beta)
        while point.gap > goal and n_iter < max_iter:
            moved = _newton_step(K, log_cost, exponent, point)
            n_iter += 1
            if moved is None:
                break
            point = moved
        beta = point.beta
    return point, n_iter


def _at(K: np.ndarray, log_cost: np.ndarray, p: float, beta: np.ndarray) -> _Point:
    k_beta = K @ beta
    norm_sq = float(beta @ k_beta)
    d = np.maximum(K.diagonal() - 2.0 * k_beta + norm_sq, 0.0)
    largest = float(d.max())
    if largest <= 1e-14 * max(float(np.abs(K.diagonal()).max()), np.finfo(float).tiny):
        weights = np.exp(log_cost - log_cost.max())
        weights /= weights.sum()
        zero = np.zeros_like(d)
        return _Point(weights, k_beta, norm_sq, zero, weights, -math.inf, -math.inf, 0.0)
    with np.errstate(divide="ignore"):
        logs = log_cost + (p - 1.0) * np.log(d / largest) if p > 1.0 else log_cost
    top = float(logs.max())
    weights = np.exp(logs - top)
    total = float(weights.sum())
    weights /= total
    scatter = float(weights @ d)
    log_total = math.log(p * total) + top + (p - 1.0) * math.log(largest)
    step = weights - beta
    gap = p * max(float(step @ K @ step), 0.0) / scatter
    level = (log_total + math.log(scatter / p)) / p
    return _Point(beta, k_beta, norm_sq, d, weights, log_total, level, gap)


def _newton_step(K: np.ndarray, log_cost: np.ndarray, p: float, point: _Point) -> _Point | None:
    """Return a damped Newton step; None where no step lowers the value any more."""
    beta, d = point.beta, point.d
    step = point.weights - beta
    if p > 1.0:
        # (I + 2(p-1) S'S)^-1 g = g - S'(I/(2(p-1)) + SS')^-1 S g, rows of S: sqrt(v_i) u_i.
        far = d > 1e-14 * d.max()
        scale = np.zeros_like(d)
        scale[far] = np.sqrt(point.weights[far] / d[far])
        centred = K - point.k_beta[:, None] - point.k_beta[None, :] + point.norm_sq
        system = centred * np.outer(scale, scale)
        system.flat[:: len(d) + 1] += 1.0 / (2.0 * (p - 1.0))
        k_step = K @ step
        right = scale * (k_step - beta @ k_step)
        solved = scale * cho_solve(cho_factor(system, lower=True), right)
        step = step - solved + solved.sum() * beta
    length = 1.0
    for _ in range(40):
        moved = _at(K, log_cost, p, beta + length * step)
        if moved.level < point.level or moved.gap < 0.25 * point.gap:
            return moved
        length *= 0.5
    return None
