r"""Newton's method on the support: few steps where it is nearly known.

With s_i = y_i (d_i - R2) the optimality conditions say that (alpha_i, s_i) lies on the curve

.. math::

    \alpha_i = c_i p z_i^{p-1},\; z_i = s_i \quad\text{if } s_i > 0, \qquad
    \alpha_i = 0 \quad\text{if } s_i \le 0,

for p = 1 on the step from 0 to c_i at s_i = 0. For any g > 0 that is
alpha_i = prox(s_i + g alpha_i), where prox(t) is the alpha of the point (alpha, z) of the curve
with z + g alpha = t. So t > 0 names the support S, and that point is where the curve is linearised,
by its slope D_i = dz/dalpha = z_i/((p-1) alpha_i). The equations of a step, solved by
``linear_systems``, are

.. math::

    (2 K_{SS} + D) \beta^+ + 1 b^+ = k_{ii} - y z + D y \alpha, \quad 1'\beta^+ = 1.

Multipliers that become negative are held at zero and the others solved for again; the gap or the
dual value decides how far to go; where neither improves, the step is damped. For p = 1 D and z are
zero and multipliers at their bound, t >= g c_i, are held there.
"""

from __future__ import annotations

import math

import numpy as np

from lpsvdd.solver.linear_systems import Cholesky, Woodbury, bordered, conjugate_gradients
from lpsvdd.solver.points import Gram, Rows
from lpsvdd.solver.problem import Problem, Value
from lpsvdd.solver.radius import TINY

PROX = 6.0  # g, in units of the spread
DAMPING, MAX_DAMPING = 1.0, 1e4  # of a step, times the gap;
FALL, RISE, SHORT_STEP = 0.3, 10.0, 0.3  # it falls after full steps and rises after short ones
DIRECT = 600  # support vectors up to which the equations are factorised at once,
CHOLESKY_POINTS = 8_000  # and up to which they are where conjugate gradients do not get there
MAX_PRODUCTS = 40  # of a conjugate gradient solve
MAX_STEPS, MAX_FAILURES, CERTIFICATE_EVERY = 80, 4, 12
MAX_HOLDS = 4  # times that what leaves its bounds is held there
LENGTHS = (1.0, 0.4, 0.15, 0.05)  # of a step, tried in turn


def newton_on_support(
    problem: Problem, value: Value, tol: float, max_iter: int
) -> tuple[Value, int]:
    """Return the best value of a descent from a feasible start, and the number of steps."""
    base = PROX * problem.points.spread * problem.inv_scale
    g, damping, failures, n_iter = base, DAMPING, 0, 0
    systems = _Systems(problem)
    k_beta = problem.kernel_times(problem.y * value.alpha)
    best, before = value, value.gap
    is_last = False
    while failures <= MAX_FAILURES and n_iter < min(max_iter, MAX_STEPS) and not is_last:
        n_iter += 1
        # A gap says how near the centre is to its square root only: one step more gives all digits.
        is_last = value.gap <= tol
        if not is_last and n_iter % (4 if problem.p > 8.0 else CERTIFICATE_EVERY) == 0:
            if best.gap > 0.5 * before:
                break
            before = best.gap
        new = _target(problem, value, k_beta, g, damping * max(value.gap, 0.0), systems)
        moved, length = None, 0.0
        if new is not None:
            moved, k_moved, length = _line_search(problem, value, new, k_beta, tol, best.gap)
        change = FALL if length == 1.0 else RISE if length < SHORT_STEP else 1.0
        damping = min(max(damping * change, DAMPING), MAX_DAMPING)
        if moved is None:
            failures, g = failures + 1, 4.0 * g
            continue
        failures, g = 0, max(0.5 * g, base)
        value, k_beta = moved, k_moved
        best = value if value.gap < best.gap or is_last else best
    return best, n_iter


def _target(problem: Problem, value: Value, k_beta, g, damping, systems) -> np.ndarray | None:
    """Return the feasible alpha that solves the linearised equations on the support."""
    t = value.signed + g * value.alpha
    new = np.zeros(problem.n)
    # No multiplier needs to be larger than that of a slack well beyond all; near p = 1 this is
    # nearly the box, which the linearised law does not see.
    farthest = np.full(problem.n, 2.0 * max(float(value.signed.max()), 0.0))
    most = problem.cost if problem.is_boxed else problem.multipliers(farthest)
    if problem.is_boxed:
        held = t >= g * problem.cost
        rows = np.flatnonzero((t > 0.0) & ~held)
        new[held] = problem.cost[held]
        z, alpha, D = np.zeros((3, len(rows)))
    else:
        rows = np.flatnonzero(t > 0.0)
        alpha, z = _prox(problem, t[rows], g, rows)
        D = z / ((problem.p - 1.0) * np.maximum(alpha, TINY))
    if not len(rows):
        return problem.feasible(new) if new.any() else None
    # In residual form, from the multipliers at hand: a factor in single precision then costs digits
    # of the step only. Multipliers that leave, or go to their bound, have gone there already.
    y, base = problem.y[rows], new.copy()
    base[rows] = value.alpha[rows]
    jumped = problem.y * (base - value.alpha)
    k_base = k_beta + problem.kernel_times(jumped) if jumped.any() else k_beta
    right = problem.diag[rows] - y * z - 2.0 * k_base[rows] + D * y * (alpha - base[rows])
    right -= right.mean()
    missing = 1.0 - float(problem.y @ base)
    try:
        moved = systems.solve(rows, D + damping, right, missing, base[rows], most[rows])
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(moved).all():
        return None
    new[rows] = base[rows] + y * moved
    new = np.clip(new, 0.0, most)
    return problem.feasible(new)


def _prox(problem: Problem, t: np.ndarray, g: float, rows) -> tuple[np.ndarray, np.ndarray]:
    """Return (alpha, z) on the curve with z + g alpha = t, by Newton's method from above.

    In alpha for p <= 2 and in z for p > 2, where the other is a convex function of it. Rounding
    does no harm: any point of the curve may be linearised at.
    """
    power = problem.p - 1.0
    if power <= 1.0:
        alpha = np.minimum(t / g, problem.multipliers(t, rows))
        for _ in range(6):
            z = problem.slack_of(alpha, rows)
            slope = z / (power * np.maximum(alpha, TINY)) + g
            alpha = np.maximum(alpha - (z + g * alpha - t) / slope, 1e-3 * alpha)
        return alpha, problem.slack_of(alpha, rows)
    z = np.minimum(t, problem.slack_of(t / g, rows))
    for _ in range(6):
        alpha = problem.multipliers(z, rows)
        slope = 1.0 + g * power * alpha / np.maximum(z, TINY)
        z = np.maximum(z - (z + g * alpha - t) / slope, 1e-3 * z)
    return problem.multipliers(z, rows), z


def _line_search(problem: Problem, value: Value, new: np.ndarray, k_beta, tol, lowest: float):
    """Return the first value on the way to ``new`` that raises D or has the lowest gap so far.

    With it come its K beta and how far it is on the way.

    At p = 1, where D is quadratic, its maximiser on the way is tried after the full step.
    """
    k_new = problem.kernel_times(problem.y * new)
    dual = value.primal - value.excess
    lengths: tuple[float, ...] = LENGTHS
    if problem.is_boxed:
        change = new - value.alpha
        curvature = 2.0 * float((problem.y * change) @ (k_new - k_beta))
        highest = float(change @ value.signed) / max(curvature, TINY)
        lengths = (1.0, *(min(highest, 1.0) * LENGTHS[i] for i in (0, 2)))
    for length in lengths:
        alpha = value.alpha + length * (new - value.alpha) if length < 1.0 else new
        k_moved = k_beta + length * (k_new - k_beta) if length < 1.0 else k_new
        moved = problem.evaluate(alpha, value.radius_sq, k_moved)
        rises = moved.primal - moved.excess > dual + 1e-2 * length * value.excess
        if rises or moved.gap < (1.0 - 0.1 * length) * lowest or moved.gap <= tol:
            return moved, k_moved, length
    return None, None, 0.0


class _Systems:
    """Solves the equations of one step after another, and remembers how that went."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.is_iterative = True
        self.rows: np.ndarray = np.zeros(0, dtype=np.intp)
        self.K = np.zeros((0, 0), dtype=np.float32)

    def solve(self, rows, D, right, missing: float, start, most) -> np.ndarray:
        """Return the change of beta on ``rows``, for multipliers between 0 and ``most``."""
        problem, points, m = self.problem, self.problem.points, len(rows)
        factor, y = 2.0 * problem.inv_scale, problem.y[rows]
        unit = points.spread * problem.inv_scale
        if not isinstance(points, (Gram, Rows)):
            Z = points.part(rows).Z * math.sqrt(problem.inv_scale)
            small = Woodbury(Z, D + 1e-12 * unit)
            if m > DIRECT:
                return bordered(small, right, missing)[0]
            return _holding(small, right, missing, y, start, most)
        if m <= DIRECT:
            inverse = Cholesky(factor * points.part(rows).K, D + 1e-13 * unit)
            return _holding(inverse, right, missing, y, start, most)
        if self.is_iterative:
            x, left = _holding_by_products(
                self._single(rows), factor, D + 1e-9 * unit, right, missing, y, start, most,
                rounds=MAX_HOLDS if problem.p < 2.0 else 1,
            )  # fmt: skip
            if left < 0.1 or m > CHOLESKY_POINTS:
                return x
            self.is_iterative = False  # the kernel is smooth and will be so in the next steps
        inverse = Cholesky(np.float32(factor) * self._single(rows), D + 1e-7 * unit)
        return _holding(inverse, right, missing, y, start, most)

    def _single(self, rows: np.ndarray) -> np.ndarray:
        """Return K of the rows in single precision, from the last one where they are the same."""
        if not np.array_equal(rows, self.rows):
            self.rows, self.K = rows, self.problem.points.in_single(rows)
        return self.K


def _holding_by_products(
    K, factor, D, right, missing, y, start, most, rounds: int
) -> tuple[np.ndarray, float]:
    """Return what ``_holding`` does, from products with K, and what is left of the residual.

    For p >= 2 one round is enough: D is large where multipliers are small, and few change sign.
    """
    x, free = np.zeros(len(D)), np.arange(len(D))
    for number in range(rounds):
        x[free], left = conjugate_gradients(
            K, factor, D[free], right, missing, accuracy=1e-3, most=MAX_PRODUCTS
        )
        alpha = start[free] + y[free] * x[free]
        out = (alpha < -1e-15) | (alpha > most[free])
        is_last = number == rounds - 1
        if is_last or left > 0.1 or not out.any() or 2 * np.count_nonzero(out) > len(free):
            break
        held = free[out]
        x[held] = y[held] * (np.where(alpha[out] < 0.0, 0.0, most[held]) - start[held])
        right = right[~out] - factor * (K[np.ix_(~out, out)] @ x[held])
        missing -= float(x[held].sum())
        K, free = K[np.ix_(~out, ~out)], free[~out]
    return x, left


def _holding(inverse, right, missing, y, start, most_alpha) -> np.ndarray:
    """Return the change of beta; what leaves its bounds is held there and the rest moved along."""
    m = len(right)
    solved = inverse(np.column_stack([right, np.ones(m)]))
    column, total = solved[:, 1], float(solved[:, 1].sum())
    x = solved[:, 0] - (float(solved[:, 0].sum()) - missing) / total * column
    held, moves, now = np.zeros(0, dtype=np.intp), np.zeros((m, 0)), x
    aims = np.zeros(m)
    most = m - 1 if m <= DIRECT else 0.35 * m
    for _ in range(MAX_HOLDS):
        alpha = start + y * now
        new = np.setdiff1d(np.flatnonzero((alpha < -1e-15) | (alpha > most_alpha)), held)
        if not len(new) or len(held) + len(new) >= most:
            break
        aims[new] = np.where(alpha[new] < 0.0, 0.0, most_alpha[new])
        unit = np.zeros((m, len(new)))
        unit[new, np.arange(len(new))] = 1.0
        move = inverse(unit)
        move -= np.outer(column, move.sum(axis=0) / total)
        held, moves = np.append(held, new), np.column_stack([moves, move])
        try:
            aim = y[held] * (aims[held] - start[held])
            now = x - moves @ np.linalg.solve(moves[held], x[held] - aim)
        except np.linalg.LinAlgError:
            break
    return now
