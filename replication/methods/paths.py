r"""Whole grids on one kernel matrix: one factorisation a method where the mathematics allows it.

GP and KPCA take one eigendecomposition for all noise levels and numbers of components, KNFST one
for all ridges and variants. The SVDD family goes through ``solve_path``, one path per weight
vector, and a single matrix product scores all its cells: with B the matrix of centres
(column = y∘alpha of a cell),  -||phi(z) - a||^2 = 2 (K_eval B) - k(z,z) - diag(B'KB).

Every path gives one `ScoredCell` per grid entry, in the order of the grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.svm import SVC

from lpsvdd.kernels import squared_distances
from lpsvdd.solver import Solution, solve_path
from replication.baselines.gaussian_process import Spectrum, normality
from replication.baselines.knfst import null_space
from replication.baselines.kpca import Components
from replication.protocol import CERTIFIED_RESOLUTION, RESOLUTION

Params = dict[str, Any]
_FULL = 1e-9  # a sum of upper bounds this close to 1 is 1: then exactly one alpha is feasible
_SVM_TOLERANCE, _SVM_GAP = 1e-6, 1e-3  # a KKT violation that LIBSVM leaves costs C = 1e3 this much


@dataclass(frozen=True)
class SplitKernels:
    """One training kernel and the kernel rows to score; inputs are preprocessed already.

    ``K`` (n, n), ``y`` (n,) of +1 and -1, ``K_eval`` (m, n), ``diag`` (n,), ``diag_eval`` (m,), and
    the training inputs ``X`` (n, d), or None where only kernels exist: then distances come from K.
    ``X_eval`` (m, d) and ``seed`` serve methods that know nothing of kernels.
    """

    K: np.ndarray
    y: np.ndarray
    K_eval: np.ndarray
    diag: np.ndarray
    diag_eval: np.ndarray
    X: np.ndarray | None = None
    X_eval: np.ndarray | None = None
    seed: int = 0


@dataclass(frozen=True)
class ScoredCell:
    """One cell of a grid, solved.

    ``scores`` (m,): higher = more normal; None where the cell has no solution. ``gap``: relative
    duality gap of iterative methods, NaN for closed forms. ``status``: "optimal" (certified),
    "not-converged" (scores are there, the gap says how far off), "closed form", "as fitted" (a
    method that has no certificate), or "infeasible".
    ``resolution``: the relative difference below which two scores mean the same.
    """

    params: Params
    scores: np.ndarray | None
    gap: float = float("nan")
    status: str = "closed form"
    resolution: float = RESOLUTION


def closed_form(grid: Iterable[Params], scores: Iterable[np.ndarray]) -> list[ScoredCell]:
    """Return cells of a method that needs no iteration."""
    return [ScoredCell(params, values) for params, values in zip(grid, scores, strict=True)]


def distance_scores(kernels: SplitKernels, centres: np.ndarray) -> np.ndarray:
    """Return -||phi(z) - a||^2, one column per column of coefficients in ``centres``."""
    norms = np.einsum("ij,ij->j", centres, kernels.K @ centres)
    return -squared_distances(kernels.K_eval, centres, kernels.diag_eval, norms)


def centre_cell(kernels: SplitKernels, beta: np.ndarray, **params: Any) -> ScoredCell:
    """Return the cell whose scores are the distances to the centre sum_i beta_i phi(x_i)."""
    scores = distance_scores(kernels, beta[:, None])[:, 0]
    return ScoredCell(params, scores, resolution=CERTIFIED_RESOLUTION)


# -- closed forms -----------------------------------------------------------------------------


def mean_path(kernels: SplitKernels, grid: Sequence[Params]) -> list[ScoredCell]:
    """Return the distance to m_+ - lam · m_-, the kernel means of positives and negatives.

    Without lam it is the kernel mean. The difference is no method of the paper: the simplest way
    to use labelled negatives (Schölkopf and Smola 2002, section 1.2), a floor for the others.
    """
    positive = kernels.y > 0
    plus, minus = positive / positive.sum(), ~positive / max((~positive).sum(), 1)
    return [
        centre_cell(kernels, plus - params.get("lam", 0.0) * minus, **params) for params in grid
    ]


def gp_path(kernels: SplitKernels, grid: Sequence[Params]) -> list[ScoredCell]:
    """Score Gaussian processes: every noise level from one eigendecomposition."""
    spectrum = Spectrum.of(kernels.K)
    projected = kernels.K_eval @ spectrum.vectors
    posterior = {
        noise: spectrum.posterior(projected, kernels.diag_eval, noise)
        for noise in {params["noise"] for params in grid}
    }

    def scores(params: Params) -> np.ndarray:
        mean, variance = posterior[params["noise"]]
        return normality(mean, variance, params["criterion"])

    return closed_form(grid, map(scores, grid))


def kpca_path(kernels: SplitKernels, grid: Sequence[Params]) -> list[ScoredCell]:
    """Score kernel PCA: errors of all numbers of components are partial sums of one series."""
    components = Components(kernels.K, True)
    potential = components.potential(kernels.K_eval, kernels.diag_eval)
    explained = np.cumsum(components.project(kernels.K_eval) ** 2, axis=1)
    left = potential[:, None] - np.column_stack([np.zeros(len(potential)), explained])
    errors = np.maximum(left, 0.0)
    columns = (components.number(params["n_components"]) for params in grid)
    return closed_form(grid, (-errors[:, column] for column in columns))


def knfst_path(kernels: SplitKernels, grid: Sequence[Params]) -> list[ScoredCell]:
    """Score KNFST: every variant and ridge from one eigendecomposition."""
    spectrum = eigh(kernels.K)

    def scores(params: Params) -> np.ndarray:
        directions, target = null_space(kernels.K, kernels.y, spectrum, **params)
        return -np.linalg.norm(kernels.K_eval @ directions - target, axis=1)

    return closed_form(grid, map(scores, grid))


# -- iterative methods ------------------------------------------------------------------------


def svm_path(kernels: SplitKernels, grid: Sequence[Params]) -> list[ScoredCell]:
    """Solve two-class SVMs, positives against negatives, with the gap (P - D)/(1 + |P|).

    No method of the paper, and a ceiling: it assumes that future outliers resemble the labelled
    ones, which no one-class method does.
    """
    cells = []
    for params in grid:
        machine = SVC(kernel="precomputed", tol=_SVM_TOLERANCE, **params).fit(kernels.K, kernels.y)
        beta = np.zeros(len(kernels.y))
        beta[machine.support_] = machine.dual_coef_[0]
        intercept = float(machine.intercept_[0])
        values = kernels.K @ beta
        hinge = np.maximum(1.0 - kernels.y * (values + intercept), 0.0)
        primal = 0.5 * beta @ values + params["C"] * hinge.sum()
        gap = float((primal - np.abs(beta).sum() + 0.5 * beta @ values) / (1.0 + abs(primal)))
        status = "optimal" if gap <= _SVM_GAP else "not-converged"
        scores = np.einsum("ij,j->i", kernels.K_eval, beta) + intercept
        cells.append(ScoredCell(params, scores, gap, status))
    return cells


def svdd_path(
    kernels: SplitKernels,
    grid: Sequence[Params],
    *,
    p: float = 1.0,
    weigh: Callable[..., np.ndarray] | None = None,
    own: tuple[str, ...] = (),
) -> list[ScoredCell]:
    """Solve lp-SVDD (parameter "p"), or a fixed p, optionally with sample weights.

    ``weigh(kernels, **own parameters)`` gives the weights; ``own`` names those parameters in the
    grid. "C" (or "nu", meaning C = 1/(nu · sum of positive weights)) and "C_neg" are the costs. A
    cell with p = 1 and C · sum of positive weights < 1 has no dual solution: status "infeasible".
    """
    solutions: dict[int, Solution] = {}
    supports: dict[int, np.ndarray] = {}
    groups: dict[tuple[Any, ...], list[int]] = {}
    for index, params in enumerate(grid):
        groups.setdefault(tuple(params[name] for name in own), []).append(index)
    for values, members in groups.items():
        weights = np.ones(len(kernels.y))
        if weigh is not None:
            weights = weigh(kernels, **dict(zip(own, values, strict=True)))
        kept = np.flatnonzero(weights > 0.0)
        total = float(weights[(kernels.y > 0) & (weights > 0.0)].sum())
        cells = {i: _cost_cell(grid[i], p, total) for i in members}
        solved = _solve_cells(kernels, kept, weights[kept], total, cells)
        solutions |= solved
        supports |= dict.fromkeys(solved, kept)
    centres = np.zeros((len(kernels.y), len(solutions)))
    for column, (i, solution) in enumerate(solutions.items()):
        centres[supports[i], column] = kernels.y[supports[i]] * solution.alpha
    scores = dict(zip(solutions, distance_scores(kernels, centres).T, strict=True))
    return [
        ScoredCell(params, scores.get(i), *_certificate(solutions.get(i)), CERTIFIED_RESOLUTION)
        for i, params in enumerate(grid)
    ]


def _cost_cell(params: Params, p: float, total: float) -> tuple[float, float, float | None]:
    """Return (p, C, C_neg) of a cell."""
    cost = 1.0 / (params["nu"] * total) if "nu" in params else params["C"]
    return params.get("p", p), cost, params.get("C_neg")


def _solve_cells(kernels, kept, weights, total, cells) -> dict[int, Solution]:
    """Return solutions of the feasible cells of one weight vector, one path each.

    p = 1 has its own path: there, unlike for p > 1, some values of C are infeasible.
    """
    K, y = kernels.K[np.ix_(kept, kept)], kernels.y[kept]
    solutions: dict[int, Solution] = {}
    for is_box in (True, False):
        wanted = {
            i: cell
            for i, cell in cells.items()
            if (cell[0] == 1.0) == is_box and not (is_box and cell[1] * total < 1.0 - _FULL)
        }
        if not wanted:
            continue
        ps, cs, negatives = (
            list(dict.fromkeys(axis)) for axis in zip(*wanted.values(), strict=True)
        )
        path = solve_path(
            K, y, ps=ps, cs=cs, c_neg=None if negatives == [None] else negatives,
            sample_weight=weights,
        )  # fmt: skip
        found = {(s.p, s.c, s.c_neg): s for s in path}
        solutions |= {i: found[cell] for i, cell in wanted.items()}
    return solutions


def _certificate(solution: Solution | None) -> tuple[float, str]:
    if solution is None:
        return float("nan"), "infeasible"
    # Where the bounds sum to one, the only feasible alpha is optimal; the solver calls it
    # "radius-zero" for the second reading (R^2 >= 0) that it also solves.
    return solution.gap, "not-converged" if solution.status == "not-converged" else "optimal"
