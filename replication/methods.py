r"""METHODS[setting, name]: the methods of the paper's two tables under its names, and references.

    from replication.methods import METHODS
    method = METHODS["pure", "l1-SVDD"]                 # or "negatives", "l1-SVDD-"
    cells = method.run(kernels)                         # every cell of the paper's grid
    cells = method.path(kernels, [{"nu": 0.1}])         # of another

A path solves a whole grid on one kernel matrix and gives one `ScoredCell` per entry, in order. GP
and KPCA take one eigendecomposition for all noise levels and numbers of components, KNFST one for
all variants. The SVDD family goes through ``solve_path``, one path per weight vector, and one
matrix product scores all its cells: with B the matrix of centres (column = y∘alpha of a cell),
-||phi(z) - a||^2 = 2 (K_eval B) - k(z,z) - diag(B'KB).

A grid holds the paper's p and c for the SVDD family, and for the methods whose grid the paper does
not give (GP, KPCA, the neighbour counts) the values that follow from their literature. Which score
the paper's GP uses is not stated: the grid takes the mean (see `GaussianProcessOCC`). Which weight
function P-SVDD has could not be verified: its variants are offered to validation as if they were a
parameter. The order of a grid decides between cells that tie on validation: the first one wins.

Everything here is a module-level function or a partial of one, so a `Method` can be sent to another
process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np
from scipy.linalg import eigh
from sklearn.svm import SVC

from lpsvdd.kernels import squared_distances
from lpsvdd.solver import Solution, solve_path
from replication.baselines import Components, Spectrum, normality, null_space
from replication.paper import COSTS, EXPONENTS
from replication.weights import sample_weights

Params = dict[str, Any]
Grid = list[Params]
WEIGHTINGS = {"P-SVDD": "position", "DW-SVDD": "density", "GL-SVDD": "global-local"}
"""Methods of the paper that weigh their rows, and how."""
RESOLUTION = 1e-12
"""Scores closer than this times the largest |score| count as equal: identical rows may be
rounded differently by matrix products of different shapes."""
CERTIFIED_RESOLUTION = 1e-5
"""The same for scores of solved problems. D is strongly concave in the centre: P - D >=
||a - a*||^2. A gap of 1e-9 thus leaves a centre known to 3e-5 and no more, and where all points lie
on one sphere (D13 has few distinct rows) the order of finer digits is not proved."""
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


@dataclass(frozen=True)
class Method:
    """A named method in one setting ("pure": positives only; "negatives": y holds both labels).

    ``origin`` is the class of a user's own method.
    """

    name: str
    setting: Literal["pure", "negatives"]
    grid: Sequence[Params]
    path: Callable[[SplitKernels, Sequence[Params]], list[ScoredCell]]
    origin: str = ""

    def run(self, kernels: SplitKernels) -> list[ScoredCell]:
        """Solve the grid."""
        return self.path(kernels, self.grid)


def grid(**axes: Any) -> Grid:
    """Return all combinations of the axes, the last one varying fastest."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def kernel_weights(weighting: str, kernels: SplitKernels, **parameters: Any) -> np.ndarray:
    """Return sample weights of the training points."""
    return sample_weights(weighting, kernels.K, kernels.y, kernels.X, **parameters)


def distance_scores(kernels: SplitKernels, centres: np.ndarray) -> np.ndarray:
    """Return -||phi(z) - a||^2, one column per column of coefficients in ``centres``."""
    norms = np.einsum("ij,ij->j", centres, kernels.K @ centres)
    return -squared_distances(kernels.K_eval, centres, kernels.diag_eval, norms)


def centre_cell(kernels: SplitKernels, beta: np.ndarray, **params: Any) -> ScoredCell:
    """Return the cell whose scores are the distances to the centre sum_i beta_i phi(x_i)."""
    scores = distance_scores(kernels, beta[:, None])[:, 0]
    return ScoredCell(params, scores, resolution=CERTIFIED_RESOLUTION)


# -- closed forms ----------------------------------------------------------------------------------


def closed_form(cells: Iterable[Params], scores: Iterable[np.ndarray]) -> list[ScoredCell]:
    """Return cells of a method that needs no iteration."""
    return [ScoredCell(params, values) for params, values in zip(cells, scores, strict=True)]


def mean_path(kernels: SplitKernels, cells: Sequence[Params]) -> list[ScoredCell]:
    """Return the distance to m_+ - lam · m_-, the kernel means of positives and negatives.

    Without lam it is the kernel mean. The difference is no method of the paper: the simplest way
    to use labelled negatives (Schölkopf and Smola 2002, section 1.2), a floor for the others.
    """
    positive = kernels.y > 0
    plus, minus = positive / positive.sum(), ~positive / max((~positive).sum(), 1)
    return [
        centre_cell(kernels, plus - params.get("lam", 0.0) * minus, **params) for params in cells
    ]


def gp_path(kernels: SplitKernels, cells: Sequence[Params]) -> list[ScoredCell]:
    """Score Gaussian processes: every noise level from one eigendecomposition."""
    spectrum = Spectrum.of(kernels.K)
    projected = kernels.K_eval @ spectrum.vectors

    def scores(params: Params) -> np.ndarray:
        found = spectrum.posterior(projected, kernels.diag_eval, params["noise"])
        return normality(*found, params["criterion"])

    return closed_form(cells, map(scores, cells))


def kpca_path(kernels: SplitKernels, cells: Sequence[Params]) -> list[ScoredCell]:
    """Score kernel PCA: errors of all numbers of components are partial sums of one series."""
    components = Components(kernels.K)
    errors = components.errors(kernels.K_eval, kernels.diag_eval)
    columns = (components.number(params["n_components"]) for params in cells)
    return closed_form(cells, (-errors[:, column] for column in columns))


def knfst_path(kernels: SplitKernels, cells: Sequence[Params]) -> list[ScoredCell]:
    """Score KNFST: every variant from one eigendecomposition."""
    spectrum = eigh(kernels.K)

    def scores(params: Params) -> np.ndarray:
        directions, target = null_space(kernels.K, kernels.y, spectrum, **params)
        return -np.linalg.norm(kernels.K_eval @ directions - target, axis=1)

    return closed_form(cells, map(scores, cells))


# -- iterative methods -----------------------------------------------------------------------------


def svm_path(kernels: SplitKernels, cells: Sequence[Params]) -> list[ScoredCell]:
    """Solve two-class SVMs, positives against negatives, with the gap (P - D)/(1 + |P|).

    No method of the paper, and a ceiling: it assumes that future outliers resemble the labelled
    ones, which no one-class method does.
    """
    found = []
    for params in cells:
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
        found.append(ScoredCell(params, scores, gap, status))
    return found


def svdd_path(
    kernels: SplitKernels,
    cells: Sequence[Params],
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
    groups: dict[tuple[Any, ...], list[int]] = {}
    for index, params in enumerate(cells):
        # p = 1 has paths of its own: there, unlike for p > 1, some values of C are infeasible.
        values = tuple(params[name] for name in own)
        groups.setdefault((params.get("p", p) == 1.0, *values), []).append(index)
    y, solutions = kernels.y, {}
    centres = np.zeros((len(y), len(cells)))
    for (is_box, *values), members in groups.items():
        weights = np.ones(len(y))
        if weigh is not None:
            weights = weigh(kernels, **dict(zip(own, values, strict=True)))
        kept = np.flatnonzero(weights > 0.0)
        total = float(weights[(y > 0) & (weights > 0.0)].sum())
        wanted = {}
        for i in members:
            params = cells[i]
            cost = 1.0 / (params["nu"] * total) if "nu" in params else params["C"]
            if not (is_box and cost * total < 1.0 - _FULL):
                wanted[i] = (params.get("p", p), cost, params.get("C_neg"))
        if not wanted:
            continue
        ps, cs, negatives = (
            list(dict.fromkeys(axis)) for axis in zip(*wanted.values(), strict=True)
        )
        path = solve_path(
            kernels.K[np.ix_(kept, kept)], y[kept], ps=ps, cs=cs,
            c_neg=None if negatives == [None] else negatives, sample_weight=weights[kept],
        )  # fmt: skip
        found = {(one.p, one.c, one.c_neg): one for one in path}
        for i, cell in wanted.items():
            solutions[i] = found[cell]
            centres[kept, i] = y[kept] * found[cell].alpha
    scores = dict(
        zip(solutions, distance_scores(kernels, centres[:, list(solutions)]).T, strict=True)
    )
    return [
        ScoredCell(params, scores.get(i), *_certificate(solutions.get(i)), CERTIFIED_RESOLUTION)
        for i, params in enumerate(cells)
    ]


def _certificate(solution: Solution | None) -> tuple[float, str]:
    if solution is None:
        return float("nan"), "infeasible"
    # Where the bounds sum to one, the only feasible alpha is optimal; the solver calls it
    # "radius-zero" for the second reading (R^2 >= 0) that it also solves.
    return solution.gap, "not-converged" if solution.status == "not-converged" else "optimal"


# -- the methods -----------------------------------------------------------------------------------


def _weighted(name: str, **own: tuple) -> tuple[Callable, dict[str, tuple]]:
    weigh = partial(kernel_weights, WEIGHTINGS[name])
    return partial(svdd_path, weigh=weigh, own=tuple(own)), own


# How to solve a grid, and its own axes; the costs come after them, with negatives a pair of costs.
_FAMILY: dict[str, tuple[Callable, dict[str, tuple]]] = {
    "P-SVDD": _weighted("P-SVDD", variant=("linear", "minmax", "exp")),
    "DW-SVDD": _weighted("DW-SVDD", k=(3, 5, 7, 10, 15)),
    "GL-SVDD": _weighted("GL-SVDD", k=(3, 5, 7, 10), lam=(0.0, 0.25, 0.5, 0.75, 1.0)),
    "l1-SVDD": (partial(svdd_path, p=1.0), {}),
    "l2-SVDD": (partial(svdd_path, p=2.0), {}),
    "lp-SVDD": (svdd_path, {"p": EXPONENTS}),
}
_PURE: dict[str, tuple[Callable, Grid]] = {
    "GP": (gp_path, grid(criterion=("mean",), noise=(1e-4, 1e-3, 1e-2, 1e-1, 1.0))),
    "KPCA": (kpca_path, grid(n_components=(0, 1, 2, 3, 5, 10, 20, 40))),
    "KNFST": (knfst_path, [{}]),
    **{name: (path, grid(**own, C=COSTS)) for name, (path, own) in _FAMILY.items()},
    "kernel mean": (mean_path, [{}]),
}
_NEGATIVES: dict[str, tuple[Callable, Grid]] = {
    "KNFST-": (knfst_path, grid(variant=("A",))),
    **{f"{n}-": (path, grid(**own, C=COSTS, C_neg=COSTS)) for n, (path, own) in _FAMILY.items()},
    "mean difference": (mean_path, grid(lam=(0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0))),
    "SVM": (svm_path, grid(C=(1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3))),
}

METHODS: dict[tuple[str, str], Method] = {
    (setting, name): Method(name, setting, cells, path)  # type: ignore[arg-type]
    for setting, known in (("pure", _PURE), ("negatives", _NEGATIVES))
    for name, (path, cells) in known.items()
}
