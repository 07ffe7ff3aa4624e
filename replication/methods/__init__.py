"""METHODS[setting, name]: the methods of the paper's two tables under its names, and references.

    from replication.methods import METHODS
    method = METHODS["pure", "l1-SVDD"]                 # or "negatives", "l1-SVDD-"
    cells = method.run(kernels)                         # every cell of the paper's grid
    cells = method.path(kernels, [{"nu": 0.1}])         # of another
    estimator = method.make({"C": 0.1})                 # the scikit-learn estimator of one cell

Setting "pure" (positives only): GP, KPCA, KNFST, P-SVDD, DW-SVDD, GL-SVDD, l1-SVDD, l2-SVDD,
lp-SVDD; reference: "kernel mean". Setting "negatives" (labelled negatives too): KNFST-, P-SVDD-,
DW-SVDD-, GL-SVDD-, l1-SVDD-, l2-SVDD-, lp-SVDD-; references: "mean difference" and "SVM".

``grids`` holds the parameter values (plain data), ``paths`` solves a whole grid on one kernel
matrix. Everything here is a module-level function or a partial of one, so a `Method` can be sent
to another process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lpsvdd._base import KernelOneClass
from lpsvdd.baselines import KNFST, GaussianProcessOCC, KernelMean, KernelPCAOCC
from lpsvdd.estimators import LpSVDD
from lpsvdd.weighted import WeightedLpSVDD
from lpsvdd.weights import sample_weights
from replication.methods import paths
from replication.methods.core import Method, Params, ScoredCell, SplitKernels
from replication.methods.grids import GRIDS
from replication.references import KernelMeanDifference, KernelSVM

__all__ = ["METHODS", "Method", "ScoredCell", "SplitKernels", "kernel_weights"]


def construct(estimator: type[KernelOneClass], params: Params, **options: Any) -> KernelOneClass:
    """Estimator of a cell; a parameter of the grid overrides an option."""
    return estimator(**(options | params))


def construct_weighted(
    weighting: str, own: tuple[str, ...], params: Params, **options: Any
) -> WeightedLpSVDD:
    """Weighted SVDD of a cell: the weighting's own parameters are handed on as a dict."""
    costs = {name: value for name, value in params.items() if name not in own}
    of_weights = {name: params[name] for name in own}
    return WeightedLpSVDD(
        **({"p": 1.0} | options | costs), weighting=weighting, weighting_params=of_weights
    )


def kernel_weights(weighting: str, kernels: SplitKernels, **parameters: Any) -> np.ndarray:
    """Sample weights of the training points."""
    return sample_weights(weighting, kernels.K, kernels.y, kernels.X, **parameters)


def _weighted(weighting: str, *own: str) -> tuple[Callable, Callable]:
    return (
        partial(construct_weighted, weighting, own),
        partial(paths.svdd_path, weigh=partial(kernel_weights, weighting), own=own),
    )


# (how to make the estimator of a cell, how to solve a whole grid); the family of the paper's
# two tables first, each entry serving a method with and without labelled negatives.
_FAMILY: dict[str, tuple[Callable, Callable]] = {
    "P-SVDD": _weighted("position", "variant"),
    "DW-SVDD": _weighted("density", "k"),
    "GL-SVDD": _weighted("global-local", "k", "lam"),
    "l1-SVDD": (partial(construct, LpSVDD, p=1.0), partial(paths.svdd_path, p=1.0)),
    "l2-SVDD": (partial(construct, LpSVDD, p=2.0), partial(paths.svdd_path, p=2.0)),
    "lp-SVDD": (partial(construct, LpSVDD), paths.svdd_path),
}
_IMPLEMENTATIONS: dict[tuple[str, str], tuple[Callable, Callable]] = {
    ("pure", "GP"): (partial(construct, GaussianProcessOCC), paths.gp_path),
    ("pure", "KPCA"): (partial(construct, KernelPCAOCC), paths.kpca_path),
    ("pure", "KNFST"): (partial(construct, KNFST), paths.knfst_path),
    **{("pure", name): pair for name, pair in _FAMILY.items()},
    ("pure", "kernel mean"): (partial(construct, KernelMean), paths.mean_path),
    ("negatives", "KNFST-"): (partial(construct, KNFST), paths.knfst_path),
    **{("negatives", f"{name}-"): pair for name, pair in _FAMILY.items()},
    ("negatives", "mean difference"): (partial(construct, KernelMeanDifference), paths.mean_path),
    ("negatives", "SVM"): (partial(construct, KernelSVM), paths.svm_path),
}

METHODS: dict[tuple[str, str], Method] = {
    (setting, name): Method(
        name=name,
        setting=setting,
        make=make,
        grid=GRIDS[setting, name],
        path=path,
    )
    for (setting, name), (make, path) in _IMPLEMENTATIONS.items()
}
