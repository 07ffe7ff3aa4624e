r"""What the deciding experiments share: grids, scores from multipliers, selection of a contestant.

A contestant is a list of cells (parameters, scores or None); like a method of the main tables it
is represented by the cell with the highest validation AUC, the first one among ties.

Grids. The paper's grid is p in P_GRID, c in C_GRID. On the *nu grid* the cost is

    c = 1 / (p n nu),    nu in NU_GRID,

which for p = 1 is the usual SVDD parametrisation C = 1/(n nu) with nu in (0, 1]. For p > 1 values
of nu above 1 exist as well (``NU_LARGE``); they lead on towards the kernel mean, which p = 1
reaches at nu = 1. So on this grid every p ranges from the (nearly) hard ball to the kernel mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpsvdd.solver import Solution, solve_path
from replication.methods import KernelTask
from replication.methods.paths import distance_scores
from replication.protocol import DEFAULTS, Options, Task, select
from replication.store import Row
from replication.trial import Trial, compact

P_GRID = (32 / 31, 16 / 15, 8 / 7, 6 / 5, 4 / 3, 3 / 2, 2.0, 5 / 2, 5.0, 20.0)
C_GRID = (1e-3, 1e-2, 1e-1, 1.0)
NU_GRID = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)
NU_LARGE = (10.0, 100.0, 1000.0)

Cell = tuple[dict[str, Any], np.ndarray | None]


@dataclass(frozen=True)
class VariantTask:
    """A task under a named variant of the protocol."""

    task: Task
    variant: str
    options: Options = DEFAULTS

    @property
    def key(self) -> str:
        """Name of the file that holds the result; "width x 1/4" must not name a folder."""
        return f"{self.task.key}-{self.variant.replace('/', '-')}"


def centre_scores(task: KernelTask, beta: np.ndarray) -> np.ndarray:
    """-||phi(z) - a||^2 of the evaluated rows, a = sum_i beta_i phi(x_i)."""
    return distance_scores(task, beta[:, None])[:, 0]


def is_feasible(solution: Solution) -> bool:
    """Whether the dual has a solution: for p = 1 the costs must sum to 1 (up to rounding)."""
    return solution.p > 1.0 or solution.c * len(solution.alpha) >= 1.0 - 1e-9


def solution_cell(task: KernelTask, solution: Solution, **params: Any) -> Cell:
    """Cell of a solved one-class problem; without scores where the l1 dual is infeasible."""
    if not is_feasible(solution):
        return params, None
    return params, centre_scores(task, task.y * solution.alpha)


def paper_path(task: KernelTask, ps: Sequence[float] = P_GRID) -> list[Cell]:
    """Cells of the paper's one-class grid."""
    solutions = solve_path(task.K, task.y, ps=ps, cs=C_GRID)
    return [solution_cell(task, found, p=found.p, c=found.c) for found in solutions]


def nu_path(task: KernelTask, ps: Sequence[float] = P_GRID) -> list[Cell]:
    """Cells of the nu grid; at p = 1 and nu = 1 the centre is the kernel mean."""
    cells = []
    for p in ps:
        nus = NU_GRID if p == 1.0 else NU_GRID + NU_LARGE
        cs = [1.0 / (p * len(task.y) * nu) for nu in nus]
        solutions = solve_path(task.K, task.y, ps=[p], cs=cs)
        for nu, found in zip(nus, solutions, strict=True):
            scores = centre_scores(task, task.y * found.alpha)
            cells.append(({"p": p, "nu": nu}, scores))
    return cells


def mean_cell(task: KernelTask) -> Cell:
    """The kernel mean of the positives."""
    positive = task.y > 0
    return {}, centre_scores(task, positive / positive.sum())


def contest(trial: Trial, contestant: str, cells: Iterable[Cell]) -> tuple[Row, np.ndarray | None]:
    """Row of the cell that validation selects, and its scores."""
    cells = list(cells)
    aucs = [None if scores is None else trial.aucs(scores) for _, scores in cells]
    chosen = select([None if pair is None else pair[0] for pair in aucs])
    row = {"contestant": contestant, "auc": None, "auc_val": None, "params": ""}
    if chosen is None:
        return row, None
    validation, test = aucs[chosen]
    params, scores = cells[chosen]
    row |= {"auc": round(test, 4), "auc_val": round(validation, 4), "params": compact(params)}
    return row, scores
