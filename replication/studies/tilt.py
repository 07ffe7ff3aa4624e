r"""p-paths at equal tilt: how far apart are centres, rankings and AUCs, and as far as predicted?

lp-SVDD is max_alpha V(alpha) - lambda D_q(alpha): V the variance of the sample reweighted by alpha,
D_q the power divergence of order q = p/(p-1) from equal weights, and

    lambda = (c p n)^(-1/(p-1)) / (p - 1),      tilt = n sum alpha^2 - 1 = 2 D_2(alpha).

With delta_i = d_i - mean d at the kernel mean, sigma^2, beta_1, beta_2 their variance, squared
skewness and kurtosis, kappa_p = (p-2)/(2(p-1)) and s = sqrt(tilt), weights at equal tilt differ by

    u_p - u_2 = kappa_p s^2 g + O(s^3),   g = (delta^2 - sigma^2)/sigma^2 - (m_3/sigma^4) delta,

which has variance beta_2 - beta_1 - 1. ``predicted`` is what this says on the centres, in units of
the way from the mean to the centre of p = 2. ``bound`` holds for all weights of that tilt:

    |a - a_2|^2 (1 + lambda_2/(2 rho)) <= V(alpha_2) - V(alpha),   rho = largest variance of a
    direction in feature space.

Proofs: notebooks/why.ipynb. At p = 1 the cost is c = 1/(n nu) and nothing is predicted; there equal
rows share their weight (``shared``), or the tilt would depend on which of them the solver takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.stats import spearmanr

from lpsvdd.solver import Problem, Solution, solve_path
from lpsvdd.solver.solve import MAX_ITER, solve_problem
from replication.experiment import splits
from replication.methods import SplitKernels, centre_cell
from replication.paper import COSTS, EXPONENTS
from replication.protocol import JudgedCell, Task, judge, prepare
from replication.runner import Row
from replication.studies.study import FRESH, is_feasible, study

COMPARED = (1.0, 1.2, 5.0, 20.0)
"""Exponents whose paths are compared with that of p = 2."""
TILT_SHARES = (0.001, 0.01, 0.03, 0.1, 0.3, 0.6, 0.9)
"""Tilts at which they are compared, as shares of that of the hard ball."""
NO_PRICE = 1e-7
"""Price of the tilt, in units of the variance at the mean, at which p = 2 is the hard ball."""
TILT_TOLERANCE = 1e-12
"""Relative duality gap: at the usual 1e-9 the centres of p = 20 are off by more than p moves them
at a tilt of 0.01."""


@dataclass(frozen=True)
class Shape:
    """Distances to the kernel mean, of which all first-order statements are made."""

    delta: np.ndarray
    """d_i - mean d."""
    sigma: float
    way: float
    """Distance of the centre from the mean, per unit of s."""
    bend: float
    """The same of the residual g, per unit of kappa_p s^2."""
    rho: float

    @classmethod
    def of(cls, K: np.ndarray) -> Shape:
        """Compute the shape of a kernel matrix."""
        n = len(K)
        delta = K.diagonal() - 2.0 * K.mean(axis=1)
        delta = delta - delta.mean()
        sigma = float(delta.std())
        centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
        rho = float(np.linalg.eigvalsh(centred)[-1]) / n
        if sigma <= 1e-9 * abs(K.diagonal()).max():  # all equally far: the mean is the hard ball
            return cls(delta, 0.0, 0.0, 0.0, rho)
        z = delta / sigma
        g = z**2 - 1.0 - (z**3).mean() * z
        way, bend = (math.sqrt(max(float(v @ K @ v), 0.0)) / n for v in (z, g))
        return cls(delta, sigma, way, bend, rho)

    def predicted(self, p: float, tilt: float) -> float:
        """Return the relative distance of the centres of p and 2 to first order in s; NaN at p = 1.

        NaN too where by symmetry the centre stays at the mean.
        """
        if p == 1.0 or self.way == 0.0:
            return math.nan
        kappa = (p - 2.0) / (2.0 * (p - 1.0))
        return abs(kappa) * math.sqrt(tilt) * self.bend / self.way

    def reach(self, tilt: float) -> float:
        """Return the largest relative change of a weight; from 1 on some weights are zero."""
        return math.sqrt(tilt) * float(np.abs(self.delta).max()) / self.sigma


def log_cost(p: float, n: int, log_price: float) -> float:
    """Return log c of log lambda (p > 1), or of log nu (p = 1)."""
    if p == 1.0:
        return -math.log(n) - log_price
    return -math.log(p * n) - (p - 1.0) * (math.log(p - 1.0) + log_price)


def least_tilt_solution(K: np.ndarray, found: Solution) -> Solution:
    """Return the solution of p = 1 of least tilt: equal rows have equal multipliers."""
    if found.p > 1.0:
        return found
    group = np.unique(np.round(K, 12), axis=0, return_inverse=True)[1].ravel()
    alpha = (np.bincount(group, found.alpha) / np.bincount(group))[group]
    return replace(found, alpha=alpha, tilt=Problem(K, p=1.0, c=1.0).tilt(alpha))


class Path:
    """Solutions of one exponent on one kernel matrix, each starting from the one before."""

    def __init__(self, K: np.ndarray, p: float) -> None:
        self.K, self.problem, self.p, self.n = K, Problem(K, p=2.0, c=1.0), p, len(K)
        self.last: np.ndarray | None = None

    def at(self, log_price: float) -> Solution:
        """Return the solution at a price of the tilt."""
        cost = math.exp(log_cost(self.p, self.n, log_price))
        problem = self.problem.at(p=self.p, c=cost)
        limits = {"tol": TILT_TOLERANCE, "max_iter": MAX_ITER}
        found = solve_problem(problem, self.last, cost, **limits)
        self.last = found.alpha
        return least_tilt_solution(self.K, found)

    def matched(self, tilt: float, sigma: float) -> tuple[Solution, float] | None:
        """Return the solution of that tilt and its log price, None if the path ends before it."""

        def excess(log_price: float) -> float:
            return math.log(max(self.at(log_price).tilt, 1e-300) / tilt)

        low, high, step = -math.log(self.n), 0.0, 0.5
        if self.p > 1.0:
            first = math.log(sigma / math.sqrt(tilt))
            low, high = first - 1e-3, first + 1e-3  # the first may be the root itself
        while excess(low) <= 0.0:
            low, step = low - step, 2.0 * step
            if self.p == 1.0 or step > 16.0:
                return None
        while self.p > 1.0 and excess(high) >= 0.0:
            high += 0.5
        root = brentq(excess, low, high, xtol=1e-8, rtol=1e-8)
        return self.at(root), root


def _length(K: np.ndarray, step: np.ndarray) -> float:
    return math.sqrt(max(float(step @ K @ step), 0.0))


def variance(K: np.ndarray, alpha: np.ndarray) -> float:
    """Return V(alpha), the variance in feature space of the sample with weights alpha."""
    return float(alpha @ K.diagonal() - alpha @ K @ alpha)


def matched_row(K: np.ndarray, shape: Shape, one: Solution, two: Solution, log_price: float) -> Row:
    """Compare the centres of p (``one``) and 2 (``two``), in units of the way to the latter."""
    n = len(K)
    way = _length(K, two.alpha - 1.0 / n) or math.nan
    lost = max(variance(K, two.alpha) - variance(K, one.alpha), 0.0)
    share = 1.0 + math.exp(log_price) / (2.0 * shape.rho)
    values = {
        "distance": _length(K, one.alpha - two.alpha) / way,
        "predicted": shape.predicted(one.p, two.tilt),
        "bound": math.sqrt(lost / share) / way,
        "reach": shape.reach(two.tilt),
    }
    return {name: None if math.isnan(v) else float(f"{v:.4g}") for name, v in values.items()}


def _correlation(one: np.ndarray, two: np.ndarray) -> float | None:
    if np.ptp(one) == 0.0 or np.ptp(two) == 0.0:
        return None
    return round(float(spearmanr(one, two)[0]), 6)


def matched_rows(kernels: SplitKernels, judged: Callable, first: int) -> list[Row]:
    """Compare every exponent with p = 2 at each tilt that both reach; no rows on a sphere."""
    K, shape = kernels.K, Shape.of(kernels.K)
    if shape.sigma == 0.0:
        return []
    paths = {p: Path(K, p) for p in (2.0, *COMPARED)}
    rows: list[Row] = []
    mean = np.full(len(K), 1.0 / len(K))
    most = paths[2.0].at(math.log(NO_PRICE * variance(K, mean))).tilt
    for share in TILT_SHARES:
        found = {p: path.matched(share * most, shape.sigma) for p, path in paths.items()}
        if found[2.0] is None:
            continue
        two, log_price = found[2.0]
        ranked = judged(two)
        for p, ball in ((p, reached[0]) for p, reached in found.items() if reached is not None):
            own = judged(ball)
            row: Row = {"kind": "matched", "share": share, "p": p, "tilt": ball.tilt}
            row["auc"] = own.auc
            if p != 2.0:
                row |= matched_row(K, shape, ball, two, log_price)
                row["correlation"] = _correlation(own.scores[first:], ranked.scores[first:])
            rows.append(row)
    return rows


@study(
    "Are the paths of all p one curve at equal tilt, and as far apart as predicted?",
    tasks=partial(splits, first=FRESH),
    trials=3,
    parameters={
        "p": COMPARED, "shares": TILT_SHARES, "no_price": NO_PRICE, "tolerance": TILT_TOLERANCE,
        "equal_rows": "shared", "grid": (EXPONENTS, COSTS),
    },
)  # fmt: skip
def tilt(task: Task) -> list[Row]:
    """Return rows of one split: exponents at equal tilt, the paper's cells, and both ends."""
    trial = prepare(task)
    kernels, first = trial.kernels, len(trial.y_validation)

    def judged(found: Solution) -> JudgedCell:
        return judge(trial, [centre_cell(kernels, found.alpha)])[0]

    rows = matched_rows(kernels, judged, first)
    n = len(kernels.y)
    ends = solve_path(kernels.K, ps=[1.0], cs=[1.0 / n, 1.0])
    paper = filter(is_feasible, solve_path(kernels.K, ps=(1.0, *EXPONENTS), cs=COSTS))
    rows += [
        {"kind": kind, "p": found.p, "c": found.c, "tilt": found.tilt, "auc": judged(found).auc}
        for kind, some in (("end", ends), ("paper", paper))
        for found in (least_tilt_solution(kernels.K, one) for one in some)
    ]
    for row in rows:
        row |= {"p": round(row["p"], 4), "auc": round(row["auc"], 4)}
        row["tilt"] = float(f"{row['tilt']:.6g}")
    return [{"dataset": task.dataset, "trial": task.trial, "n": n} | row for row in rows]
