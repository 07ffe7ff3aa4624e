r"""A surface that keeps its rate, from distances of the targets to a ball fitted without them.

A ball lies where its own rows are, so it rejects more new rows than old ones. Let

.. math::

    s(x) &= \sum_j \beta_j \|\phi(x) - \phi(x_j)\|^2 = \|\phi(x) - a\|^2 + V, \\
    \beta_j &= y_j \alpha_j, \quad V = \sum_j \beta_j \|\phi(x_j) - a\|^2,

the mean squared distance to the rows that hold the centre. It ranks as the distance to the centre
does, and it shows what is wrong with a training row: that mean counts its distance to itself, 0.
The surface is the quantile, at level 1 - nu, of the :math:`s_i` of the targets without row i.

*First order.* Leave row i out of the mean: :math:`s_i / (1 - \alpha_i)`. This ignores that rows
near i would take over its weight, so it is too large.

*Second order.* Take row i's weight away and move the other weights of the support by one Newton
step on the optimality conditions :math:`k_{jj} - 2 (K\beta)_j - \rho = y_j \zeta_j`,
:math:`\sum_j \beta_j = 1`, with stiffness :math:`\zeta'_j = \zeta_j / ((p - 1) \alpha_j)` (at p = 1
none on the surface, and rows at the bound do not move). With N the inverse of

.. math::

    \begin{pmatrix} 2K + \operatorname{diag}\zeta' & 1 \\ 1^\top & 0 \end{pmatrix},

one factorisation gives all: row i resists by :math:`g_i = 1/N_{ii} - \zeta'_i`, and taking
:math:`\alpha_i` away raises :math:`s_i` by :math:`\alpha_i (g_i - (N_{0i} + (Nk)_i)/N_{ii})`, k the
diagonal of K and 0 the last row. Rows with :math:`\alpha_i = 0` do not move the ball.

The proofs of what is guaranteed are in the book, "A rate for new rows".
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky
from scipy.linalg.lapack import dtrtri

from lpsvdd.solver.active_set import minimise
from lpsvdd.solver.points import Gram, Rows
from lpsvdd.solver.problem import Problem

SURFACES = ("auto", "ball", "leave-one-out")
SECOND_ORDER = 1_000  # support rows up to which the second order is computed, by a factorisation
REFITTED, REFITTED_NEAR_ONE = 100, 500  # rows up to which those that decide are refitted,
REFIT_TOL, MAX_REFIT_STEPS = 1e-3, 60  # to this gap
STIFF = 1e6  # stiffness of a row that does not move; the unit is the largest kernel value
JITTER = 1e-10  # stiffness of all, as equal rows make K singular
RELATIVE_ZERO_SLACK = 1e-8  # slack that counts as none at p = 1, the same unit


def surface_at(
    problem: Problem,
    alpha: np.ndarray,
    distances: np.ndarray,
    slack: np.ndarray,
    nu: float,
    *,
    weight: np.ndarray | None = None,
    kernel_of_support: np.ndarray | None = None,
    beyond: float | np.ndarray = 0.0,
) -> float:
    """Return the squared radius that a share ``nu`` of new targets exceeds.

    Parameters
    ----------
    problem, alpha : the problem and its solution
    distances, slack : squared distances of its rows to the centre, and their slacks, in units of K
    nu : wanted rate, in (0, 1]; it is that of targets
    weight : sample weights, None: 1 each. A weight counts copies, of which one is left out.
    kernel_of_support : kernel values among ``flatnonzero(alpha)``, for the second order; without
        them the first
    beyond : the part of the squared distances that no centre can change (landmarks), a row each
    """
    y = problem.y
    weight = np.ones(len(alpha)) if weight is None else weight
    within = distances - beyond
    mean = float((y * alpha) @ within)
    without = beyond + leave_one_out(
        within + mean, alpha, p=problem.p, y=y, weight=weight, slack=slack, K=kernel_of_support
    )
    if problem.n <= (REFITTED_NEAR_ONE if problem.p < 1.5 else REFITTED):
        if isinstance(problem.points, Rows):
            problem = problem.part(np.arange(problem.n))
        if isinstance(problem.points, Gram):
            _refit_deciding_rows(problem, alpha, within + mean, without, nu, weight)
    targets = y > 0.0
    return upper_quantile(without[targets], nu, weight[targets]) - mean


def _refit_deciding_rows(problem: Problem, alpha, s, without, nu: float, weight) -> None:
    """Replace, from the farthest on, what is left out by refits until the quantile is of refits.

    The Newton step knows the rows of the support only. Where few rows hold the centre (p near 1)
    others take over, and its distances are too large. No row comes nearer by leaving: one whose
    ``s`` is beyond the two ranks of the quantile needs no refit.
    """
    targets = np.flatnonzero(problem.y > 0.0)
    pending = targets[alpha[targets] > 0.0]
    while len(pending):
        low, high, _ = _quantile_ranks(without[targets], nu, weight[targets])
        near = low * (1.0 - 1e-12)
        deciding = pending[(without[pending] >= near) & (s[pending] <= high)]
        if not len(deciding):
            return
        row = deciding[np.argmax(without[deciding])]
        pending = pending[pending != row]
        without[row] = _refit_without(problem, alpha, row, weight[row])


def _refit_without(problem: Problem, alpha: np.ndarray, row: int, weight: float) -> float:
    """Return s of a row for the ball without one copy of it, at the same cost in total."""
    cost = problem.cost.copy()
    cost[row] *= max(weight - 1.0, 0.0) / weight
    kept = np.flatnonzero(cost > 0.0)
    if not (problem.y[kept] > 0.0).any():
        return float("inf")
    ratio = problem.total_cost / float(cost[problem.positive].sum())
    part = problem.part(kept, cost=ratio * cost[kept])
    if part.is_radius_zero:
        held = part.weighted_mean()
    else:
        held = minimise(part, alpha[kept], REFIT_TOL, MAX_REFIT_STEPS)[0].alpha
    beta = part.y * held
    K, diag = problem.points.K, problem.points.diag
    return float(diag[row] - 2.0 * K[row, kept] @ beta + beta @ diag[kept])


def leave_one_out(
    s: np.ndarray,
    alpha: np.ndarray,
    *,
    p: float,
    y: np.ndarray,
    weight: np.ndarray,
    slack: np.ndarray | None = None,
    K: np.ndarray | None = None,
) -> np.ndarray:
    """Return mean squared distances of the targets to the support of a ball without them.

    ``s`` are those with them; negatives keep theirs. Where nothing is left without a row (all the
    weight is its own) it gets the largest of the other rows.
    """
    copies = np.maximum(weight, 1.0)
    rest = 1.0 - alpha / copies
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(rest > 1e-12, s / rest, np.inf)
    without = np.where(y > 0.0, first, s)
    rows = np.flatnonzero(alpha)
    if K is not None and slack is not None and len(rows) > 1:
        beta, price = (y * alpha)[rows], alpha[rows] / weight[rows]
        moved = s[rows] + _rise(K, p, beta, price, slack[rows], copies[rows])
        # Nobody comes nearer by leaving; a step that asks for negative weights may go too far.
        moved = np.clip(moved, s[rows], first[rows])
        without[rows] = np.where(beta > 0.0, moved, s[rows])
    finite = np.isfinite(without)
    return np.where(finite, without, without[finite].max(initial=float(s.max())))


def _rise(K, p, beta, price, slack, copies) -> np.ndarray:
    """How much s_i grows when one copy of row i is taken away, by the Newton step.

    Infinite, which leaves the first order, where the step cannot be computed.
    """
    rows = K.mean(axis=1)
    K = K - rows[:, None] - rows + rows.mean()  # no origin is special, but rounding favours this
    unit = float(np.abs(K).max())
    if unit < np.finfo(float).tiny / JITTER:  # all rows are the same
        return np.zeros(len(K))
    K, slack = K / unit, slack / unit
    stiffness = _stiffness(p, beta, price, slack)
    A = 2.0 * K
    A[np.diag_indices_from(A)] += stiffness
    try:
        factor = cholesky(A, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return np.full(len(K), np.inf)
    diagonal = K.diagonal()
    both = np.column_stack([np.ones(len(K)), diagonal])
    u, v = cho_solve((factor, True), both, check_finite=False).T
    root = np.tril(dtrtri(factor, lower=1)[0])
    total = u.sum()
    n_ii = np.einsum("ij,ij->j", root, root) - u**2 / total
    n_ii = np.maximum(n_ii, 1.0 / (2.0 * STIFF))  # rounding, where one row holds all
    resistance = np.maximum(1.0 / n_ii - stiffness, 0.0)
    # Its copies, each w times as stiff, take over what they can.
    taken = beta * stiffness / ((copies - 1.0) * resistance + copies * stiffness)
    rise = resistance - (u / total + v - u * (u @ diagonal) / total) / n_ii
    return unit * taken * rise


def _stiffness(p, beta, price, slack) -> np.ndarray:
    """Derivative of a row's slack by its multiplier, in the unit of K."""
    if p > 1.0:
        return np.minimum(slack / ((p - 1.0) * np.abs(beta)), STIFF) + JITTER
    bound = slack > RELATIVE_ZERO_SLACK
    for same in (beta > 0.0, beta < 0.0):  # one price is paid at the bound, on the surface too
        if (bound & same).any():
            bound |= same & (price >= (1.0 - 1e-6) * price[bound & same].max())
    return np.where(bound, STIFF, 0.0) + JITTER


def rows_needed(nu: float) -> int:
    """Return the fewest rows of which (1 - nu)(n + 1) does not exceed n."""
    return int(np.ceil(1.0 / nu - 1e-9)) - 1 if nu < 1.0 else 1


def upper_quantile(values: np.ndarray, nu: float, weights: np.ndarray | None = None) -> float:
    r"""Return what a new value exceeds with probability nu: rank (1 - nu)(n + 1) of n values.

    A new value falls above the k-th smallest of n with probability 1 - k/(n + 1) (no ties). Between
    two ranks the line through both is taken; ranks above n are n and those below 1 are 1. Weights
    count copies; where they are less than one on average they cannot, and are scaled to one.
    """
    low, high, part = _quantile_ranks(values, nu, weights)
    return float(low + part * (high - low))


def _quantile_ranks(values, nu: float, weights) -> tuple[float, float, float]:
    """Return the values at the two ranks of ``upper_quantile``, and how far it is between them."""
    order = np.argsort(values)
    weights = np.ones(len(values)) if weights is None else weights[order]
    copies = np.cumsum(weights * max(1.0, len(values) / weights.sum()))
    rank = min(max((1.0 - nu) * (copies[-1] + 1.0), 1.0), max(copies[-1], 1.0))
    below = np.floor(rank + 1e-9)
    part = max(rank - below, 0.0)
    index = np.searchsorted(copies, [below - 1e-9, below + (part > 0.0) - 1e-9])
    low, high = values[order[np.minimum(index, len(values) - 1)]]
    return low, high, part
