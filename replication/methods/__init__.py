"""METHODS[setting, name]: the methods of the paper's two tables under its names, and references.

    from replication.methods import METHODS
    method = METHODS["pure", "l1-SVDD"]                 # or "negatives", "l1-SVDD-"
    cells = method.run(kernels)                         # every cell of the paper's grid
    cells = method.path(kernels, [{"nu": 0.1}])         # of another

Setting "pure" (positives only): GP, KPCA, KNFST, P-SVDD, DW-SVDD, GL-SVDD, l1-SVDD, l2-SVDD,
lp-SVDD; reference: "kernel mean". Setting "negatives" (labelled negatives too): KNFST-, P-SVDD-,
DW-SVDD-, GL-SVDD-, l1-SVDD-, l2-SVDD-, lp-SVDD-; references: "mean difference" and "SVM".

A grid holds the paper's p and c for the SVDD family, and for the methods whose grid the paper does
not give (GP, KPCA, the neighbour counts) the values that follow from their literature. Which score
the paper's GP uses is not stated: the grid takes the mean (see `GaussianProcessOCC`). Which weight
function P-SVDD has could not be verified: its variants are offered to validation as if they were a
parameter. The order of a grid decides between cells that tie on validation: the first one wins.

Everything here is a module-level function or a partial of one, so a `Method` can be sent to another
process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np

from replication.methods import paths
from replication.methods.paths import Params, ScoredCell, SplitKernels
from replication.paper import COSTS, EXPONENTS
from replication.weights import sample_weights

__all__ = [
    "METHODS", "WEIGHTINGS", "Method", "ScoredCell", "SplitKernels", "grid", "kernel_weights",
]  # fmt: skip

Grid = list[Params]
WEIGHTINGS = {"P-SVDD": "position", "DW-SVDD": "density", "GL-SVDD": "global-local"}
"""Methods of the paper that weigh their rows, and how."""


@dataclass(frozen=True)
class Method:
    """A named method in one setting ("pure": positives only; "negatives": y holds both labels).

    ``path(kernels, grid)`` solves a whole grid on one kernel and gives one `ScoredCell` per entry,
    in order. ``origin`` is the class of a user's own method.
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


def _weighted(name: str, **own: tuple) -> tuple[Callable, dict[str, tuple]]:
    weigh = partial(kernel_weights, WEIGHTINGS[name])
    return partial(paths.svdd_path, weigh=weigh, own=tuple(own)), own


# How to solve a grid, and its own axes; the costs come after them, with negatives a pair of costs.
_FAMILY: dict[str, tuple[Callable, dict[str, tuple]]] = {
    "P-SVDD": _weighted("P-SVDD", variant=("linear", "minmax", "exp")),
    "DW-SVDD": _weighted("DW-SVDD", k=(3, 5, 7, 10, 15)),
    "GL-SVDD": _weighted("GL-SVDD", k=(3, 5, 7, 10), lam=(0.0, 0.25, 0.5, 0.75, 1.0)),
    "l1-SVDD": (partial(paths.svdd_path, p=1.0), {}),
    "l2-SVDD": (partial(paths.svdd_path, p=2.0), {}),
    "lp-SVDD": (paths.svdd_path, {"p": EXPONENTS}),
}
_PURE: dict[str, tuple[Callable, Grid]] = {
    "GP": (paths.gp_path, grid(criterion=("mean",), noise=(1e-4, 1e-3, 1e-2, 1e-1, 1.0))),
    "KPCA": (paths.kpca_path, grid(n_components=(0, 1, 2, 3, 5, 10, 20, 40))),
    "KNFST": (paths.knfst_path, [{}]),
    **{name: (path, grid(**own, C=COSTS)) for name, (path, own) in _FAMILY.items()},
    "kernel mean": (paths.mean_path, [{}]),
}
_NEGATIVES: dict[str, tuple[Callable, Grid]] = {
    "KNFST-": (paths.knfst_path, grid(variant=("A",))),
    **{f"{n}-": (path, grid(**own, C=COSTS, C_neg=COSTS)) for n, (path, own) in _FAMILY.items()},
    "mean difference": (paths.mean_path, grid(lam=(0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0))),
    "SVM": (paths.svm_path, grid(C=(1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3))),
}

METHODS: dict[tuple[str, str], Method] = {
    (setting, name): Method(name, setting, cells, path)  # type: ignore[arg-type]
    for setting, known in (("pure", _PURE), ("negatives", _NEGATIVES))
    for name, (path, cells) in known.items()
}
