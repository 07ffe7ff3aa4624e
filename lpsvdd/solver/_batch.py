r"""Many cells at once: problems on the same points, as rows of arrays.

On small problems NumPy's cost of a call is most of the time. Here one call serves all m cells
(p, c) of a grid: alpha, z, u and g are arrays of shape (m, n), K beta is one matrix product for all
of them, and only the factorisations are done one by one. The method is that of ``solver``: weighted
mean, interior point, certificate.

Nothing here has to succeed: a row whose certificate falls short is handed back empty, and
``solver`` solves it alone, with more patience.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lpsvdd.solver._arithmetic import Arithmetic, Points, Value, scales
from lpsvdd.solver._certificate import Certificate, is_optimal
from lpsvdd.solver._interior_point import (
    ROUGH,
    Step,
    factorise,
    gap_of_point,
    interior,
    solve_rows,
    state_of,
    without_dust,
)
from lpsvdd.solver._problem import log_ceiling
from lpsvdd.solver._radius import LOG_MAX, best_radii

MOST_ITERATIONS = 30  # a row that takes longer is better off alone
START_TOL = 1e-3  # how well R2 is known at the weighted mean


class Start(NamedTuple):
    """Where to start from: multipliers, and R2 in the units of K. A ``Solution`` serves as well."""

    alpha: np.ndarray
    radius_sq: float


class Batch(Arithmetic):
    """Problems with the same points, one a row: floats of a ``Problem`` are columns (m, 1) here.

    Parameters
    ----------
    points : Points
    p : array of shape (m, 1)
        Exponents, all above 1.
    cost : array of shape (m, n)
    """

    def __init__(self, points: Points, p: np.ndarray, cost: np.ndarray) -> None:
        super().__init__(points)
        self.p, self.cost = p, cost
        self.total_cost = self.total(cost * self.positive)
        self.log_scale, log_tau = scales(self.gram.spread, p, self.total_cost)
        self.inv_scale = np.exp(-self.log_scale)
        self.tau = np.exp(log_tau - self.log_scale)
        self.diag = self.gram.diag * self.inv_scale
        self.log_rate = np.log(cost * p) + (p - 1.0) * self.log_scale

    def rows(self, chosen: np.ndarray) -> Batch:
        """The problems of some of the rows."""
        other = copy.copy(self)
        for name in (
            "p", "cost", "total_cost", "log_scale", "inv_scale", "tau", "diag", "log_rate",
        ):  # fmt: skip
            setattr(other, name, getattr(self, name)[chosen])
        return other

    def dot(self, left, right):
        return np.einsum("...i,...i->...", left, right)[..., None]

    def total(self, values):
        return (values @ self.ones)[..., None]

    def least(self, stack):
        return stack.min(axis=(0, -1))[:, None]

    def smaller(self, one, other):
        return np.minimum(one, other)

    def larger(self, one, other):
        return np.maximum(one, other)

    def kernel_times(self, beta):
        return (beta @ self.gram.K) * self.inv_scale  # K is symmetric

    def best_radius(self, d, guess=None, tol=1e-13):
        return best_radii(self, d, guess, tol)

    def feasible(self, alpha):
        alpha = np.where(alpha > 0.0, alpha, 0.0)
        on_positives = self.total(alpha * self.positive)
        target = 1.0 + self.total(alpha) - on_positives
        return np.where(self.positive, alpha * (target / on_positives), alpha)

    def is_easy(self) -> np.ndarray:
        """Which rows need no care: no cost so large, no slack so long that floats are short."""
        steepest = self.log_rate.max(axis=1, keepdims=True)
        ceiling = log_ceiling(self.p, 30.0 if self.has_negatives else 1.0)
        easy = (steepest <= np.minimum(ceiling, 0.5 * LOG_MAX)) & (self.log_scale < LOG_MAX)
        return easy[:, 0]


def solve_batch(
    points: Points,
    exponents: Sequence[float],
    cost: np.ndarray,
    starts: Sequence[Sequence[Any]],  # of Start or Solution
    tol: float,
    max_iter: int,
) -> list[tuple[Certificate | None, int]]:
    """(certificate or None, iterations) of each cell (exponents[k], cost[k])."""
    result: list[tuple[Certificate | None, int]] = [(None, 0)] * len(cost)
    p = np.asarray(exponents, dtype=float)[:, None]
    with np.errstate(all="ignore"):  # a row that overflows has no certificate
        batch = Batch(points, p, cost)
        easy = np.flatnonzero((p[:, 0] > 1.0) & batch.is_easy()).tolist()
        if not easy:
            return result
        batch = batch.rows(np.array(easy))
        value = _best_start(batch, [starts[i] for i in easy])
        n_iter = np.zeros(len(easy), dtype=int)
        rest = np.flatnonzero(~(value.gap[:, 0] <= tol))
        if len(rest):
            start = _rows(value, rest)
            found, n_iter[rest] = _newton(batch.rows(rest), start, tol, max_iter)
            _put(value, rest, found)
        scale = np.exp(batch.log_scale)
        slack, centres = np.maximum(value.signed, 0.0) * scale, batch.y * value.alpha
        numbers = np.hstack(
            [value.primal * scale, value.dual * scale, value.gap, value.radius_sq * scale]
        ).tolist()
        optimal = np.flatnonzero(is_optimal(batch, value, tol))
    for i in optimal.tolist():
        primal, dual, gap, radius_sq = numbers[i]
        certificate = Certificate(
            value.alpha[i], primal, dual, gap, radius_sq, slack[i], centres[i]
        )
        result[easy[i]] = certificate, int(n_iter[i])
    return result


def _best_start(batch: Batch, starts: list[Sequence[Any]]) -> Value:
    """For each row the start with the highest dual value, or the weighted mean if it has none."""
    alpha, radius = batch.weighted_mean(), np.full((len(starts), 1), np.nan)
    best = np.full((len(starts), 1), -np.inf)
    most = max(map(len, starts))
    for k in range(most):
        rows = np.flatnonzero([len(given) > k for given in starts])
        part, given = batch.rows(rows), [starts[i][k] for i in rows]
        other = np.array([start.alpha for start in given])
        dual = part.dual_value(other, part.kernel_times(part.y * other))
        better = (dual > best[rows])[:, 0]
        rows = rows[better]
        alpha[rows], best[rows] = other[better], dual[better]
        radius[rows] = np.array([[start.radius_sq] for start in given])[better]
    return batch.evaluate(alpha, radius * batch.inv_scale, ROUGH if most else START_TOL)


def _newton(batch: Batch, value: Value, tol: float, max_iter: int) -> tuple[Value, np.ndarray]:
    """Interior point on all rows; a row leaves when its gap is met or its step fails."""
    m, n = value.alpha.shape
    mu = np.maximum(0.1 * value.gap / n, 1e-18)
    point = interior(batch, value.alpha, value.signed, mu)
    beta = batch.y * point[0]
    b = value.radius_sq - batch.dot(beta, batch.kernel_times(beta))
    work = np.empty((m, n, n))
    alphas, radii = np.full((2, m, n), np.nan), np.full((m, 1), np.nan)
    max_iter = min(max_iter, MOST_ITERATIONS)
    n_iter = np.full(m, max_iter)
    rows, here = np.arange(m), batch  # the rows still at work, and their problems
    for iteration in range(max_iter + 1):
        alpha = point[0]
        y_alpha, norm_sq, signed, products = state_of(here, point, b)
        if not (products > 1e4 * tol * (1.0 + abs(b))).all():
            gap = gap_of_point(here, alpha, y_alpha, norm_sq, b, signed)
            stay = (gap > 0.9 * tol)[:, 0]  # NaN does not
            gone = rows[~stay]
            alphas[:, gone] = without_dust(here, alpha, signed)[~stay], alpha[~stay]
            radii[gone] = (b + norm_sq / y_alpha**2)[~stay]
            n_iter[gone] = iteration
            rows, here = rows[stay], here.rows(stay)
            if not len(rows):
                break
            point, b, products = point[:, stay], b[stay], products[stay]
            signed, y_alpha = signed[stay], y_alpha[stay]
        step = Step(here, point, signed)
        move, db, length = step.take(_Systems(here, step.diagonal, 1.0 - y_alpha, work), products)
        point, b = point + length * move, b + length * db
    clean, raw = (batch.feasible(alpha) for alpha in alphas)
    value = batch.evaluate(clean, radii, ROUGH)
    short = ~(value.gap <= tol)[:, 0]
    if short.any():  # dust may hold what is missing
        _put(value, short, batch.rows(short).evaluate(raw[short], radii[short]))
    return value, n_iter


class _Systems:
    """``KernelSystem`` of all rows, each solved right after its factorisation, while in cache."""

    def __init__(self, batch: Batch, diagonal: np.ndarray, missing: np.ndarray, work) -> None:
        self.total, self.missing = batch.total, missing
        K, scale = batch.gram.K, batch.inv_scale[:, 0].tolist()
        self.factors: Iterable[np.ndarray | None] = (
            factorise(K, s, row, w.T) for s, row, w in zip(scale, diagonal, work, strict=False)
        )
        self.column: np.ndarray | None = None

    def __call__(self, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.column is None:
            both = self._solve(np.stack([np.ones_like(right), right], axis=1))
            self.column, x = both[:, 0], both[:, 1]
        else:
            x = self._solve(right[:, None])[:, 0]
        db = (self.total(x) - self.missing) / self.total(self.column)
        return x - db * self.column, db

    def _solve(self, right: np.ndarray) -> np.ndarray:
        """Right sides (m, k, n), solved in their place; NaN where there is no factor."""
        kept = []
        for factor, rows in zip(self.factors, right, strict=False):
            if factor is None:
                rows[:] = np.nan
            else:
                solve_rows(factor, rows)
            kept.append(factor)
        self.factors = kept
        return right


def _rows(value: Value, rows: np.ndarray) -> Value:
    return Value._make(None if field is None else field[rows] for field in value)


def _put(value: Value, rows: np.ndarray, found: Value) -> None:
    for whole, part in zip(value, found, strict=True):
        if whole is not None:
            whole[rows] = part
