r"""Hypotheses about printed numbers, each tested on what was not used to form it.

* ``density_weights``: in print DW-SVDD and l1-SVDD agree in mean and deviation on D1, D5, D10 and
  D17. Is there a density weight for which the two agree on these sets, and only on these?
* ``fixed_cost``: l2-SVDD with one fixed cost, without and with negatives.
* ``waveform``: D8 drawn anew, with each class as target.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist

from lpsvdd.solver import solve_path
from replication.datasets.generate import CENTRES, waveform
from replication.experiment import all_datasets, paper_methods
from replication.methods import METHODS, ScoredCell, SplitKernels
from replication.methods.paths import centre_cell, svdd_path
from replication.paper import COSTS, EXPONENTS, SETTINGS
from replication.protocol import Task
from replication.store import Row
from replication.studies.study import FRESH, VariantTask, contestant_rows, splits, study
from replication.trial import chosen, judge, outcome, prepare

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
DRAWS = 8
PARAMETERS = {"densities": DENSITIES, "p": EXPONENTS, "c": COSTS, "draws": DRAWS}


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


@study(
    "Does l2 with a fixed cost fit the printed column?",
    tasks=partial(splits, settings=SETTINGS, first=FRESH),
    trials=8,
    parameters=PARAMETERS,
)
def fixed_cost(task: Task) -> list[Row]:
    """l2 with each cost fixed (c1 = c2 with negatives) and tuned, and lp tuned."""
    trial = prepare(task)
    kernels = trial.kernels
    both = task.setting == "negatives"
    path = solve_path(kernels.K, kernels.y, ps=EXPONENTS, cs=COSTS, c_neg=COSTS if both else None)

    def cell(found) -> ScoredCell:
        return centre_cell(kernels, kernels.y * found.alpha, p=round(found.p, 4), c=found.c)

    l2 = [found for found in path if found.p == 2.0]
    contestants = {"lp, tuned": map(cell, path), "l2, tuned": map(cell, l2)}
    for c in COSTS:
        fixed = [cell(found) for found in l2 if found.c == c and found.c_neg in (None, c)]
        contestants[f"l2, c = {c:g}"] = fixed
    judged = {name: judge(trial, cells) for name, cells in contestants.items()}
    return [{"setting": task.setting} | row for row in contestant_rows(task, judged)]


class Draw(NamedTuple):
    """Waveforms, and +1 for those of the target class."""

    X: np.ndarray
    y: np.ndarray


def waveform_tasks(names: list[str], trials: int) -> list[VariantTask]:
    """Every class as target, in every draw, with and without negatives."""
    return [
        VariantTask(Task("D8", setting, trial), f"class {target} draw {draw}")
        for setting in ("pure", "negatives")
        for target in CENTRES
        for draw in range(DRAWS)
        for trial in range(trials)
    ]


@study(
    "Which class and draw of the waveforms fit the printed row of D8?",
    name="waveform",
    tasks=waveform_tasks,
    names=("D8",),
    trials=2,
    parameters=PARAMETERS,
)
def waveforms(variant: VariantTask) -> list[Row]:
    """All methods of a table on one draw with one class as target."""
    task = variant.task
    _, target, _, draw = variant.variant.split()
    X, labels = waveform(seed=1000 + int(draw))
    drawn = Draw(X, np.where(labels == target, 1, -1))
    trial = prepare(Task(f"waveform {draw}", task.setting, task.trial), data=drawn)
    head = {"dataset": "D8", "setting": task.setting, "target": target, "draw": int(draw)}
    return [
        head | {"trial": task.trial, "method": method.name}
        | outcome(chosen(judge(trial, method.run(trial.kernels))))
        for method in paper_methods(task.setting)
    ]  # fmt: skip
