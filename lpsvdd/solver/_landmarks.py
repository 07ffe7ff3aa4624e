r"""The ball whose centre lies in the span of m landmarks: a restriction, hence still a bound.

With coordinates z_i of the points (``_chart``) the problem has m + 1 unknowns,

    min_{w, b}  b + ||w||^2 + sum_i c_i (s_i)_+^p,    s_i = y_i (||phi_i - m_0||^2 - 2 w'z_i - b),

b = R2 - ||w||^2, convex for every label pattern. Distances are exact, so P(w, b) is the objective
of a ball of the *unrestricted* problem, and bounds its optimum from above. Any alpha that is
feasible there bounds it from below. Two gaps follow from one alpha:

    P - D_restricted = ||w - Z'beta||^2 + sum_i [c_i z_i^p + (1 - 1/p) alpha_i z_i(alpha_i)
                                                 - alpha_i s_i],
    P - D_exact      = the same + || what of sum_i beta_i phi_i the landmarks do not span ||^2.

The first is what the optimisation left and is brought below ``tol``. The second bounds what the
restriction and the optimisation cost together; it needs |S|^2 kernel values, S the support.

**Rows that matter.** A positive inside the ball has alpha = 0. The problem is solved on a sample
first, then on the rows that this ball leaves outside or near its surface, by the interior-point
method of ``_normal``; a pass over all rows then finds those that were missed, and the best R2 of
all. Coordinates are held of the active rows only; a pass holds one block.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpsvdd.kernels import kernel_matrix
from lpsvdd.solver._blocks import ArrayBlocks, DaskBlocks
from lpsvdd.solver._certificate import NOT_CONVERGED, OPTIMAL, RADIUS_ZERO, ROUNDING
from lpsvdd.solver._chart import Axes, Landmarks
from lpsvdd.solver._feature_space import MOST_MULTIPLIERS, stages
from lpsvdd.solver._gram import Gram
from lpsvdd.solver._normal import Coordinates, InBlocks
from lpsvdd.solver._passes import newton_by_passes
from lpsvdd.solver._problem import Problem

SAMPLE = 5_000  # rows on which the first ball is found,
PER_COORDINATE = 20  # or so many for each coordinate
PAIRS = 1_000  # rows whose pairs tell the unit of length
MOST_ROUNDS = 30
NEAR = 1e-3  # n mu of a start that is nearly right
SPARE = 0.2  # of the rows outside: so many more, nearest to the surface, are active
INNER = 0.3  # share of the tolerance that the active rows may use
MEMORY = 2.5e9  # bytes for coordinates; a machine may have less (``lpsvdd._landmark_fit``)
NUMBER = 8  # bytes
PAIRS_AT_MOST = 10**8  # kernel values for the exact gap, where none other is asked for
ROWS_AT_MOST = 1_000  # of a sampled gap
NO_MATRIX = np.empty((0, 0))


@dataclass
class Restricted:
    """A ball with its centre in the span; ``w`` are coordinates, the rest is in units of K."""

    w: np.ndarray
    radius_sq: float
    distances: np.ndarray
    slack: np.ndarray
    alpha: np.ndarray
    primal: float
    dual: float
    gap: float  # of the restricted problem
    unit: float  # of length, squared: P/unit is of order one
    n_iter: int
    passes: int
    status: str

    @property
    def converged(self) -> bool:
        """Whether the gap of the restricted problem meets the tolerance."""
        return self.status != NOT_CONVERGED


class LandmarkSolver:
    """Balls for one set of points and landmarks, at any cost; each may start from another.

    Parameters
    ----------
    blocks : the rows
    chart : Landmarks or Axes
    y : labels +1 and -1
    options : of the kernel
    memory : bytes that the coordinates of active rows may take
    report : called with a line of text after each round
    """

    def __init__(
        self,
        blocks: ArrayBlocks | DaskBlocks,
        chart: Landmarks | Axes,
        y: np.ndarray,
        options: dict,
        memory: float = MEMORY,
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.memory = memory
        self.blocks, self.chart, self.y, self.report = blocks, chart, y, report
        self.sample, self.factor = some_rows(y, max(SAMPLE, PER_COORDINATE * chart.rank))
        self.spread, self.size = unit_of(blocks.take(self.sample[:: len(self.sample) // PAIRS + 1]),
                                         options)  # fmt: skip
        self.active = np.zeros(0, dtype=np.intp)
        self.Z, self.diag = np.empty((0, chart.rank)), np.empty(0)

    # -- the data ---------------------------------------------------------------------------

    def distances(self, w: np.ndarray) -> np.ndarray:
        """Squared distances of all rows to a centre: one pass."""
        parts = self.blocks.map(distances, (), self.chart, w, width=self.chart.rank)
        return np.concatenate(parts)

    def mean(self, weight: np.ndarray) -> np.ndarray:
        """Coordinates of sum_i weight_i phi_i, weights summing to one: one pass."""
        return sum(self.blocks.map(_mean, (weight,), self.chart, width=self.chart.rank))

    def activate(self, rows: np.ndarray) -> None:
        """More rows whose coordinates are held."""
        new = np.setdiff1d(rows, self.active)
        if not len(new):
            return
        Z, diag = self.coordinates(new)
        self.Z = np.concatenate([self.Z, Z]) if len(self.active) else Z
        self.active = np.concatenate([self.active, new])
        self.diag = np.concatenate([self.diag, diag])

    def coordinates(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of some rows (in order); the rows themselves are not kept."""
        part = self.blocks.subset(rows)
        Z, diag = np.empty((len(rows), self.chart.rank)), np.empty(len(rows))
        first = 0
        for Z_part, diag_part in part.map(_coordinates, (), self.chart, width=self.chart.rank):
            some = slice(first, first + len(diag_part))
            Z[some], diag[some] = Z_part, diag_part
            first = some.stop
        return Z, diag

    # -- the solution -----------------------------------------------------------------------

    def solve(
        self,
        p: float,
        cost: np.ndarray,
        *,
        tol: float,
        max_iter: int,
        start: np.ndarray | None = None,
        polish: int = 0,
    ) -> Restricted:
        """The restricted ball to a relative gap of ``tol``; ``start`` are coordinates."""
        whole = Problem(Gram(NO_MATRIX, np.ones(self.blocks.n), self.spread, self.size), self.y,
                        p=p, c=cost)  # fmt: skip
        if whole.is_radius_zero:
            return self._radius_zero(whole)
        w, n_iter = (start, 0) if start is not None else self._on_sample(p, cost, max_iter)
        best: _Value | None = None
        candidates: list[Any] = []
        b, cold = None, w is None
        w = np.zeros(self.chart.rank) if w is None else w
        with np.errstate(all="ignore"):  # a step into overflow is refused, not warned about
            for passes in range(1, MOST_ROUNDS + 1):
                value = self._value(whole, w, b, candidates)
                if best is None or value.gap < best.gap:
                    best = value
                outside = int(np.count_nonzero(value.signed > 0.0))
                self.report(
                    f"pass {passes}: {len(self.active)} of {self.blocks.n} rows active, "
                    f"{outside} outside, gap {value.gap:.1e}"
                )
                if best.gap <= tol or n_iter >= max_iter:
                    break
                if self._is_too_much(outside):
                    best, more = self._by_passes(whole, best, tol, max_iter - n_iter)
                    n_iter, passes = n_iter + more, passes + more
                    break
                if not self._grow(value.signed, outside) and passes > 1:
                    if cold:
                        break
                    cold = True  # nothing was missed: once more, from farther away
                first_mu = 1.0 if cold else min(max(10.0 * value.gap, NEAR), 0.1)
                w, b, candidates, more = self._on_active(
                    best.w, p, cost, INNER * tol, max_iter - n_iter, polish, first_mu
                )
                n_iter += more
        assert best is not None  # there is at least one pass
        return self._in_units(whole, best, n_iter, passes, tol)

    def _wanted(self, outside: int) -> int:
        """How many rows are to be active: those outside and some near the surface."""
        wanted = int((1.0 + SPARE) * outside) + 2 * self.chart.rank + 100
        return wanted if wanted < 0.9 * self.blocks.n else self.blocks.n

    def _is_too_much(self, outside: int) -> bool:
        """Whether the coordinates of the active rows would not fit in memory."""
        return NUMBER * self._wanted(outside) * self.chart.rank > self.memory

    def _by_passes(self, whole: Problem, value: _Value, tol, max_iter) -> tuple[_Value, int]:
        """The way that keeps nothing of a row (``_passes``)."""
        if whole.p < 2.0:
            outside = int(np.count_nonzero(value.signed > 0.0))
            need = NUMBER * self._wanted(outside) * self.chart.rank
            raise MemoryError(
                f"p = {whole.p:g} needs the coordinates of {self._wanted(outside)} samples at "
                f"once, {need / 1e9:.1f} GB where {self.memory / 1e9:.1f} GB may be used: take "
                "fewer landmarks, leave fewer samples outside (a larger C, a smaller nu), or p >= 2"
            )
        w, radius, d, alpha, excess, passes = newton_by_passes(
            self.blocks, self.chart, whole, value.w, value.radius, tol, max_iter, self.report
        )
        signed = self.y * (d - radius)
        primal = radius + whole.penalty(signed)
        gap = excess / (1.0 + abs(primal))
        found = _Value(w, d / whole.inv_scale, radius, signed, alpha, primal, excess, gap)
        return found, passes

    def _grow(self, signed: np.ndarray, outside: int) -> bool:
        """Activate what is outside and the nearest inside; False if all of that is active."""
        is_active = np.zeros(len(signed), dtype=bool)
        is_active[self.active] = True
        if len(self.active) and not (signed[~is_active] > 0.0).any():
            return False
        wanted, rows = self._wanted(outside), np.arange(len(signed))
        if len(self.sample) < len(signed) and wanted < len(signed):
            rows = np.argpartition(-signed, wanted)[:wanted]
        self.activate(rows)
        return True

    @np.errstate(all="ignore")
    def _on_sample(self, p, cost, max_iter) -> tuple[np.ndarray | None, int]:
        """Coordinates of the ball of a sample, with the costs of all: good enough to start from.

        None where the sample is all there is.
        """
        some, y = self.sample, self.y[self.sample]
        if len(some) == self.blocks.n:
            return None, 0
        Z, diag = self.coordinates(some)
        problem = Problem(Gram(NO_MATRIX, diag, self.spread, self.size), y, p=p,
                          c=cost[some] * self.factor)  # fmt: skip
        if problem.is_radius_zero:
            return None, 0
        start = np.zeros(self.chart.rank)
        found = _descend(problem, Coordinates(Z), start, 1e-4, max_iter // 2, 0, 1.0)
        return found[0], found[3]

    def _on_active(self, w, p, cost, tol, max_iter, polish, first_mu):
        """The ball of the active rows: coordinates, b in units of K, multipliers, iterations."""
        problem = Problem(Gram(NO_MATRIX, self.diag, self.spread, self.size), self.y[self.active],
                          p=p, c=cost[self.active])  # fmt: skip
        return _descend(problem, Coordinates(self.Z), w, tol, max_iter, polish, first_mu)

    def _value(self, whole: Problem, w, b, candidates) -> _Value:
        """Objective of a centre with its best R2, and its restricted gap to the best multipliers.

        ``candidates`` are multipliers of the active rows.
        """
        d = self.distances(w)
        unit = math.sqrt(whole.inv_scale)
        scaled, centre = d * whole.inv_scale, w * unit
        radii = [whole.best_radius(scaled)[0]]
        if b is not None:
            radii.append(b * whole.inv_scale + float(centre @ centre))
        ends = [(r + whole.penalty(self.y * (scaled - r)), r) for r in radii]
        primal, radius = min(ends)
        signed = self.y * (scaled - radius)
        best, excess = np.zeros(0), math.inf
        for given in candidates:
            full = np.zeros(whole.n)
            full[self.active] = given
            full = whole.feasible(full)
            beta = (self.y * full)[self.active]
            apart = centre - unit * (beta @ self.Z)
            off = abs(1.0 - float(beta.sum())) * abs(radius)  # feasible, but for rounding
            more = float(apart @ apart) + off + whole.excess(full, signed, primal - radius)
            if more < excess:
                best, excess = full, more
        return _Value(w, d, radius, signed, best, primal, excess, excess / (1.0 + abs(primal)))

    def _in_units(self, whole: Problem, value: _Value, n_iter, passes, tol) -> Restricted:
        scale = 1.0 / whole.inv_scale
        status = OPTIMAL if -ROUNDING <= value.gap <= tol else NOT_CONVERGED
        return Restricted(
            value.w, value.radius * scale, value.distances, np.maximum(value.signed, 0.0) * scale,
            value.alpha, value.primal * scale, (value.primal - value.excess) * scale, value.gap,
            scale, n_iter, passes, status,
        )  # fmt: skip

    def _radius_zero(self, whole: Problem) -> Restricted:
        """``Problem.is_radius_zero``: the weighted mean, as near as the landmarks come to it."""
        alpha = whole.weighted_mean()
        w = self.mean(alpha)
        d = self.distances(w)
        cost = float(np.where(whole.positive, whole.cost, 0.0) @ d)
        return Restricted(
            w, 0.0, d, np.maximum(self.y * d, 0.0), alpha, cost, cost, 0.0, self.spread, 0, 2,
            RADIUS_ZERO,
        )  # fmt: skip

    # -- the exact kernel -------------------------------------------------------------------

    def exact_gap(self, found: Restricted, how: str = "auto") -> tuple[float, str]:
        """Relative gap of the problem with the exact kernel, and how it is known.

        "exact" takes |S|^2 / 2 kernel values. "sampled" is an estimate from some rows of S,
        two standard errors added: no bound. "auto" is "exact" up to PAIRS_AT_MOST values, then
        "sampled", and "none" where the rows of S do not fit in memory.
        """
        support = np.flatnonzero(found.alpha)
        too_much = NUMBER * len(support) * self.blocks.n_features > self.memory
        if how == "none" or not len(support) or (how == "auto" and too_much):
            return math.nan, "not computed"
        if how == "auto":
            how = "exact" if len(support) ** 2 <= 2 * PAIRS_AT_MOST else "sampled"
        beta = (self.y * found.alpha)[support]
        X = self.blocks.take(support)
        if how == "exact":
            lost = max(self.chart.lost(X, beta), 0.0)
        else:
            size = min(max(PAIRS_AT_MOST // len(support), 30), ROWS_AT_MOST)
            lost = self.chart.lost_in_sample(X, beta, size)
        if found.status == RADIUS_ZERO:  # P is total cost times the mean distance
            lost *= found.primal / max(float(found.alpha @ found.distances), 1e-300)
        return float(found.gap + lost / (found.unit + abs(found.primal))), how


@dataclass
class _Value:
    w: np.ndarray
    distances: np.ndarray  # in units of K; the rest is scaled
    radius: float
    signed: np.ndarray
    alpha: np.ndarray
    primal: float
    excess: float
    gap: float


def _descend(problem, Z, w, tol, max_iter, polish, first_mu):
    """Interior-point method from the centre w: (centre, b in units of K, multipliers, iterations).

    As ``solve_in_features``: through smaller exponents, and costs beyond effect lowered first.
    """
    n_iter, before, alphas = 0, None, []
    for most in MOST_MULTIPLIERS:
        easier = problem.hardened(most) if math.isfinite(most) else problem
        if before is not None and easier.log_rate is before.log_rate:
            continue
        before = easier
        for p in stages(problem.p) if first_mu >= 1.0 else [problem.p]:
            here = InBlocks(easier.with_exponent(p), w, Z, first_mu)
            aim = (tol, polish) if p == problem.p else (1e-2, 0)
            n_iter += here.run(*aim, max(max_iter - n_iter, 1))
            w = here.centre
        alphas += here.multipliers()
    return w, here.b / problem.inv_scale, alphas, n_iter


def distances(X: np.ndarray, chart, w: np.ndarray) -> np.ndarray:
    """Squared distances of a block, in the shape that ``map`` takes."""
    return chart.distances(X, w)


def _coordinates(X: np.ndarray, chart) -> tuple[np.ndarray, np.ndarray]:
    return chart.coordinates(X)


def _mean(X: np.ndarray, weight: np.ndarray, chart) -> np.ndarray:
    return weight @ chart.coordinates(X)[0]


def some_rows(y: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """About ``size`` rows, positives and negatives in proportion, and how many each stands for."""
    if len(y) <= size:
        return np.arange(len(y)), np.ones(len(y))
    rows, factors = [], []
    random = np.random.default_rng(len(y))
    for label in (1.0, -1.0):
        given = np.flatnonzero(y == label)
        wanted = max(size * len(given) // len(y), min(len(given), size // 4))
        chosen = np.sort(random.choice(given, wanted, replace=False)) if len(given) else given
        rows.append(chosen)
        factors.append(np.full(len(chosen), len(given) / max(len(chosen), 1)))
    order = np.argsort(np.concatenate(rows))
    return np.concatenate(rows)[order], np.concatenate(factors)[order]


def unit_of(X: np.ndarray, options: dict) -> tuple[float, float]:
    """Mean squared distance of points to their mean, and their largest k(x, x)."""
    K = kernel_matrix(X - X.mean(axis=0) if options["kernel"] == "linear" else X, **options)
    size = float(K.diagonal().max())
    spread = float(K.diagonal().mean()) - float(K.mean())
    return (spread if spread > 1e-13 * size else size if size > 0.0 else 1.0), size
