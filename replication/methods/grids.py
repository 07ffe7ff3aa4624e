"""Parameter grids as plain data: GRIDS[setting, method] is a list of parameter dicts.

The paper's p and c values for the SVDD family, and for the methods whose grid the paper does not
give (GP, KPCA, the neighbour counts) the values that follow from their literature. Which score the
paper's GP uses is not stated: the grid takes the mean (see `GaussianProcessOCC`). Which weight
function P-SVDD has could not be verified: its variants are offered to validation as if they were a
parameter.

The order of a grid decides between cells that tie on validation: the first one wins.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from replication.paper import COSTS, EXPONENTS

NUS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)
"""Shares for methods with p = 1, C = 1/(nu · sum of positive weights): feasible whatever n is."""

Grid = list[dict[str, Any]]


def grid(**axes: Any) -> Grid:
    """All combinations of the axes, the last one varying fastest."""
    names = list(axes)
    return [dict(zip(names, values, strict=True)) for values in product(*axes.values())]


_FAMILY: dict[str, dict[str, tuple]] = {
    "P-SVDD": {"variant": ("linear", "minmax", "exp")},
    "DW-SVDD": {"k": (3, 5, 7, 10, 15)},
    "GL-SVDD": {"k": (3, 5, 7, 10), "lam": (0.0, 0.25, 0.5, 0.75, 1.0)},
    "l1-SVDD": {},
    "l2-SVDD": {},
    "lp-SVDD": {"p": EXPONENTS},
}

GRIDS: dict[tuple[str, str], Grid] = {
    ("pure", "kernel mean"): [{}],
    ("pure", "GP"): grid(criterion=("mean",), noise=(1e-4, 1e-3, 1e-2, 1e-1, 1.0)),
    ("pure", "KPCA"): grid(n_components=(0, 1, 2, 3, 5, 10, 20, 40)),
    ("pure", "KNFST"): [{}],
    ("negatives", "KNFST-"): grid(variant=("A",)),
    ("negatives", "mean difference"): grid(lam=(0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)),
    ("negatives", "SVM"): grid(C=(1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)),
    **{("pure", name): grid(**own, C=COSTS) for name, own in _FAMILY.items()},
    **{
        ("negatives", f"{name}-"): grid(**own, C=COSTS, C_neg=COSTS)
        for name, own in _FAMILY.items()
    },
}
