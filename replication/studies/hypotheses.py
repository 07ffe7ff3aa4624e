"""In print DW-SVDD and l1-SVDD agree in mean and deviation on D1, D5, D10 and D17.

Is there a density weight for which the two agree on these sets, and only on these?
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist

from replication.experiment import all_datasets
from replication.methods import METHODS, SplitKernels
from replication.methods.paths import svdd_path
from replication.paper import COSTS, EXPONENTS
from replication.protocol import Task
from replication.store import Row
from replication.studies.study import study
from replication.trial import chosen, judge, prepare

DENSITIES = (
    "1 - d/max",
    "1 - d/(2 max)",
    "min/d",
    "max/d",
    "mean one",
    "exp(-d/mean)",
    "kernel density",
)
"""Weights from d, the distance to the k-th neighbour (the last one: from the kernel)."""
SAME = 0.005
"""AUC points below which two values print alike."""
PARAMETERS = {"densities": DENSITIES, "p": EXPONENTS, "c": COSTS, "draws": 8}
"""As recorded; "draws" belonged to a study that went (``results/README.md``)."""


def density_weight(kernels: SplitKernels, k: int, form: str) -> np.ndarray:
    """Weights of the training points in one of the forms ``DENSITIES``."""
    if form == "kernel density":
        density = kernels.K.mean(axis=1)
        return density / density.max()
    distances = cdist(kernels.X, kernels.X)
    np.fill_diagonal(distances, np.inf)
    kth = min(k, len(distances) - 1) - 1
    d = np.partition(distances, kth, axis=1)[:, kth]
    if np.ptp(d) == 0.0:
        return np.ones(len(d))
    floor = max(float(d[d > 0].min()), 1e-6 * float(d.max()))
    falling = 1.0 - d / d.max()
    return {
        "1 - d/max": falling,
        "1 - d/(2 max)": 1.0 - d / (2.0 * d.max()),
        "min/d": floor / np.maximum(d, floor),
        "max/d": d.max() / np.maximum(d, floor),
        "mean one": falling / falling.mean(),
        "exp(-d/mean)": np.exp(-d / d.mean()),
    }[form]


def summarise_densities(rows: pd.DataFrame) -> pd.DataFrame:
    """Per set and form: mean AUC, that of l1, and the share of splits on which they are equal."""
    rows = rows.assign(equal=(rows["auc"] - rows["l1"]).abs() < SAME)
    grouped = rows.groupby(["dataset", "form"], sort=False)
    table = grouped.agg(
        splits=("trial", "size"), auc=("auc", "mean"), l1=("l1", "mean"), equal=("equal", "mean")
    )
    return table.round(4).reset_index()


@study(
    "Which density weight makes DW-SVDD equal to l1-SVDD?",
    names=tuple(name for name in all_datasets() if name not in ("D4", "D20")),
    trials=10,
    parameters=PARAMETERS,
    finish=summarise_densities,
)
def density_weights(task: Task) -> list[Row]:
    """Each form of the weight against l1 on the same split, costs and neighbours of the table."""
    trial = prepare(task)
    grid = METHODS["pure", "DW-SVDD"].grid
    reference = chosen(judge(trial, METHODS["pure", "l1-SVDD"].run(trial.kernels)))
    rows = []
    for form in DENSITIES:
        weigh = partial(density_weight, form=form)
        cells = svdd_path(trial.kernels, grid, p=1.0, weigh=weigh, own=("k",))
        best = chosen(judge(trial, cells))
        rows.append(
            {"dataset": task.dataset, "trial": task.trial, "form": form, "auc": best.auc,
             "l1": reference.auc}
        )  # fmt: skip
    return rows
