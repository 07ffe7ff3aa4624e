"""What a study is, and ``@study``, which registers the job that answers its question.

    @study("Does lp beat l1?", trials=20, parameters=GRID)
    def lead(task): ...

makes ``python -m replication run --all --study lead --save results`` write results/lead.csv.

A contestant of a study is a list of scored cells; the referee of the main tables represents it by
the cell with the highest validation AUC.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lpsvdd.solver import Solution, solve_path
from replication.experiment import Study
from replication.methods import ScoredCell, SplitKernels, centre_cell
from replication.paper import COSTS, EXPONENTS
from replication.protocol import (
    JudgedCell,
    Options,
    Task,
    chosen,
    outcome_row,
    tied_cells,
)
from replication.runner import Row

GRID = {"p": EXPONENTS, "c": COSTS}
"""Parameters of a study on the paper's grid."""


FRESH = 10
"""Number of the first split that the first tables did not use."""


class Named:
    """A task of a study's own kind: its file is named after its values."""

    @property
    def key(self) -> str:
        """Name of the file that holds the result."""
        return "-".join(str(value) for value in vars(self).values())


@dataclass(frozen=True)
class VariantTask:
    """A task under a named variant of the protocol."""

    task: Task
    variant: str
    options: Options

    @property
    def key(self) -> str:
        """Name of the file that holds the result; "width x 1/4" must not name a folder."""
        return f"{self.task.key}-{self.variant.replace('/', '-')}"


STUDIES: dict[str, Study] = {}


def study(question: str, *, name: str | None = None, **options: Any) -> Callable:
    """Register a job under its own name, or another; the options are those of :class:`Study`."""

    def register(job: Callable[[Any], list[Row]]) -> Callable[[Any], list[Row]]:
        one = Study(name or job.__name__, question, job, **options)
        if one.name in STUDIES:
            raise ValueError(f"two studies are called {one.name!r}")
        STUDIES[one.name] = one
        return job

    return register


def as_rows(table: pd.DataFrame) -> list[Row]:
    """The rows of a table as JSON knows them."""
    return json.loads(table.to_json(orient="records", double_precision=15))


# -- what jobs share: the paper's grid, and rows of contestants ------------------------------------


def is_feasible(solution: Solution) -> bool:
    """Whether the dual has a solution: for p = 1 the costs must sum to 1 (up to rounding)."""
    return solution.p > 1.0 or solution.c * len(solution.alpha) >= 1.0 - 1e-9


def paper_path(kernels: SplitKernels, ps: Sequence[float] = EXPONENTS) -> list[ScoredCell]:
    """Cells of the paper's one-class grid; without scores where the l1 dual is infeasible."""
    return [
        centre_cell(kernels, kernels.y * found.alpha, p=found.p, c=found.c)
        if is_feasible(found)
        else ScoredCell({"p": found.p, "c": found.c}, None)
        for found in solve_path(kernels.K, kernels.y, ps=ps, cs=COSTS)
    ]


def mean_cell(kernels: SplitKernels) -> ScoredCell:
    """The kernel mean of the positives."""
    positive = kernels.y > 0
    return centre_cell(kernels, positive / positive.sum())


def contestant_rows(task: Task, contestants: Mapping[str, Sequence[JudgedCell]]) -> list[Row]:
    """One row per contestant: the cell that validation chooses from its judged ones."""
    return [
        {"dataset": task.dataset, "trial": task.trial, "contestant": name}
        | outcome_row(chosen(cells))
        for name, cells in contestants.items()
    ]


def shared_place_rows(task: Task, contestants: Mapping[str, Sequence[JudgedCell]]) -> list[Row]:
    """One row per contestant; cells that tie on validation share the place, so order is nothing.

    ``auc`` is the mean test AUC of the tied cells, which is what a draw among them gives on
    average; ``auc_first`` and ``auc_last`` are those of the first and the last of the grid.
    """
    rows = []
    for name, cells in contestants.items():
        aucs = [cell.auc for cell in tied_cells(cells) if cell.auc is not None]
        ends = {"auc_first": aucs[0], "auc_last": aucs[-1]} if aucs else {}
        found = {"auc": float(np.mean(aucs)) if aucs else None} | ends
        where = {"dataset": task.dataset, "trial": task.trial, "contestant": name}
        values = {key: None if v is None else round(v, 4) for key, v in found.items()}
        rows.append(where | values | {"tied": len(aucs), "cells": len(cells)})
    return rows
