r"""The paper's problem read in three ways, on the same splits and the paper's grid.

* "free": R^2 is any real number, as the dual with sum alpha = 1 has it. l1 with n c < 1 has no
  solution.
* "nonnegative": R^2 >= 0 as printed. Where the free R^2 is negative the centre minimises
  sum_pos c_i d_i^p, whatever the size of c; l1 with n c < 1 is the kernel mean
  (Chang, Lee and Lin 2013 study p = 1 and 2 under this rule).
* "half cost": the joint form as printed, which is the free problem with half of every cost.

``solve_nonnegative`` gives the centre of the second branch once per p: it does not
depend on c, and it is the solution wherever c p sum_pos d_i^(p-1) <= 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from lpsvdd.solver import solve_path
from replication.experiment import splits
from replication.methods import (
    METHODS,
    WEIGHTINGS,
    ScoredCell,
    SplitKernels,
    centre_cell,
    kernel_weights,
)
from replication.nonnegative import solve_nonnegative
from replication.paper import COSTS, EXPONENTS
from replication.protocol import Task, judge, prepare
from replication.runner import Row
from replication.studies.study import FRESH, contestant_rows, study

SMALL_COST = 1e-30
"""A cost at which R^2 = 0 for certain: the centre of that branch is the same at any cost."""

Readings = dict[str, list[ScoredCell]]
READING_GRID = {"p": EXPONENTS, "c": COSTS, "methods": list(WEIGHTINGS)}


def zero_branch(kernels: SplitKernels, p: float) -> tuple[np.ndarray, float]:
    """Return coefficients of the centre with R^2 = 0, and p sum_pos d_i^(p-1) there."""
    positive = np.flatnonzero(kernels.y > 0)
    K = kernels.K[np.ix_(positive, positive)]
    found = solve_nonnegative(K, p=p, c=SMALL_COST)
    beta = np.zeros(len(kernels.y))
    beta[positive] = found.alpha
    return beta, p * float(np.sum(found.distances ** (p - 1.0)))


def readings(kernels: SplitKernels, ps: Sequence[float], factor: float = 1.0) -> Readings:
    """Return cells of the grid with R^2 free and with R^2 >= 0, all costs times ``factor``."""
    both = bool((kernels.y < 0).any())
    costs = [factor * c for c in COSTS]
    path = solve_path(kernels.K, kernels.y, ps=ps, cs=costs, c_neg=costs if both else None)
    branches = {p: zero_branch(kernels, p) for p in ps}
    cells: Readings = {"free": [], "nonnegative": []}
    for found in path:
        params = {"p": round(found.p, 4), "c": found.c} | ({"c2": found.c_neg} if both else {})
        free = centre_cell(kernels, kernels.y * found.alpha, **params)
        centre, total = branches[found.p]
        at_zero = found.c * total <= 1.0
        if found.p == 1.0 and found.c * total < 1.0 - 1e-9:
            free = ScoredCell(params, None)
        cells["free"].append(free)
        cells["nonnegative"].append(centre_cell(kernels, centre, **params) if at_zero else free)
    return cells


def weighted_readings(kernels: SplitKernels, setting: str, name: str) -> Readings:
    """Return cells of a weighted method at p = 1, infeasible or the weighted mean."""
    method = METHODS[setting, name + ("-" if setting == "negatives" else "")]
    free = method.run(kernels)
    kept = []
    means: dict[tuple, np.ndarray] = {}
    for cell in free:
        own = {key: value for key, value in cell.params.items() if not key.startswith("C")}
        key = tuple(own.values())
        if cell.scores is None and key not in means:
            weights = kernel_weights(WEIGHTINGS[name], kernels, **own) * (kernels.y > 0)
            means[key] = weights / weights.sum()
        mean = cell.scores is None
        kept.append(centre_cell(kernels, means[key], **cell.params) if mean else cell)
    return {"free": free, "nonnegative": kept}


@study(
    "What does R^2 >= 0, or half of every cost, change without negatives?",
    name="radius_pure",
    tasks=partial(splits, first=FRESH),
    trials=15,
    parameters=READING_GRID,
)
@study(
    "What does R^2 >= 0, or half of every cost, change with negatives?",
    name="radius_negatives",
    tasks=partial(splits, settings=("negatives",), first=FRESH),
    trials=5,
    parameters=READING_GRID,
)
def radius_rule(task: Task) -> list[Row]:
    """Return rows of every method of the SVDD family under each reading."""
    trial = prepare(task)
    kernels = trial.kernels
    readings_of = {
        "l1-SVDD": readings(kernels, [1.0]),
        "lp-SVDD": readings(kernels, EXPONENTS),
    }
    readings_of["lp-SVDD"]["half cost"] = readings(kernels, EXPONENTS, 0.5)["free"]
    readings_of["l2-SVDD"] = {
        reading: [cell for cell in cells if cell.params["p"] == 2.0]
        for reading, cells in readings_of["lp-SVDD"].items()
    }
    for name in WEIGHTINGS:
        readings_of[name] = weighted_readings(kernels, task.setting, name)
    judged = {
        f"{name}, {reading}": judge(trial, cells)
        for name, found in readings_of.items()
        for reading, cells in found.items()
    }
    return contestant_rows(task, judged)
