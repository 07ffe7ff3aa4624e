"""Parameter grids as plain data: GRIDS[setting, method][grid] is a list of parameter dicts.

Grids are named. "paper" is the default of every method: the paper's p and c values for the SVDD
family, and for the methods whose grid the paper does not give (GP, KPCA, the neighbour counts)
the values that follow from their literature. "nu" gives the p = 1 methods C = 1/(nu · sum of
positive weights), nu in (0, 1], so that every cell is feasible whatever n is. "wide" reaches
further in every parameter. "lp" runs the weighted variants at the paper's p values, the extension
its discussion proposes.

Which score the paper's GP uses is not stated: "paper" takes the mean (see `GaussianProcessOCC`),
"both" lets validation choose between mean and variance. Which weight function P-SVDD has could not
be verified: its variants are offered to validation as if they were a parameter.

The order of a grid decides between cells that tie on validation: the first one wins.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from replication.paper import COSTS, EXPONENTS

WIDE_COSTS = (1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 1e1, 1e2)
NUS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)

Grid = list[dict[str, Any]]


def grid(**axes: Any) -> Grid:
    """All combinations of the axes, the last one varying fastest."""
    names = list(axes)
    return [dict(zip(names, values, strict=True)) for values in product(*axes.values())]


def _svdd(negatives: bool, **own: Any) -> dict[str, Grid]:
    """Grids of a p = 1 method with its own parameters."""
    pair = {"C_neg": COSTS} if negatives else {}
    return {
        "paper": grid(**own, C=COSTS, **pair),
        "nu": grid(**own, nu=NUS, **pair),
        "wide": grid(**own, C=WIDE_COSTS, **({"C_neg": COSTS} if negatives else {})),
    }


def _weighted(negatives: bool, **own: Any) -> dict[str, Grid]:
    pair = {"C_neg": COSTS} if negatives else {}
    return _svdd(negatives, **own) | {"lp": grid(**own, p=EXPONENTS, C=COSTS, **pair)}


def _family(negatives: bool) -> dict[str, dict[str, Grid]]:
    pair = {"C_neg": COSTS} if negatives else {}
    return {
        "P-SVDD": _weighted(negatives, variant=("linear", "minmax", "exp")),
        "DW-SVDD": _weighted(negatives, k=(3, 5, 7, 10, 15)),
        "GL-SVDD": _weighted(negatives, k=(3, 5, 7, 10), lam=(0.0, 0.25, 0.5, 0.75, 1.0)),
        "l1-SVDD": _svdd(negatives),
        "l2-SVDD": {"paper": grid(C=COSTS, **pair), "wide": grid(C=WIDE_COSTS, **pair)},
        "lp-SVDD": {
            "paper": grid(p=EXPONENTS, C=COSTS, **pair),
            "wide": grid(p=EXPONENTS, C=WIDE_COSTS, **pair),
        },
    }


NOISE = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
RIDGE = (0.0, 1e-8, 1e-6, 1e-4, 1e-2)
COMPONENTS = (0, 1, 2, 3, 5, 10, 20, 40)

GRIDS: dict[tuple[str, str], dict[str, Grid]] = {
    ("pure", "kernel mean"): {"paper": [{}]},
    ("pure", "GP"): {
        "paper": grid(criterion=("mean",), noise=NOISE),
        "both": grid(criterion=("mean", "variance"), noise=NOISE),
        "wide": grid(
            criterion=("mean", "variance", "logprob", "ratio"), noise=(1e-6, 1e-5, *NOISE, 1e1, 1e2)
        ),
    },
    ("pure", "KPCA"): {
        "paper": grid(n_components=COMPONENTS),
        "wide": grid(
            centred=(True, False),
            n_components=(*COMPONENTS, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99),
        ),
    },
    ("pure", "KNFST"): {"paper": [{}], "wide": grid(ridge=RIDGE)},
    ("negatives", "KNFST-"): {
        "paper": grid(variant=("A",)),
        "B": grid(variant=("B",)),
        "C": grid(variant=("C",)),
        "wide": grid(variant=("A", "B", "C"), ridge=RIDGE),
    },
    ("negatives", "mean difference"): {
        "paper": grid(lam=(0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)),
    },
    ("negatives", "SVM"): {"paper": grid(C=(1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3))},
}
GRIDS |= {("pure", name): grids for name, grids in _family(negatives=False).items()}
GRIDS |= {("negatives", f"{name}-"): grids for name, grids in _family(negatives=True).items()}
