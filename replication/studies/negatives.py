r"""Labelled negatives: do they carry weight, and what would (H3)?

* ``negative_weight``: at the certified optimum of every cell of a grid (p, c1, c2), the share of
  cells in which the negatives have any weight, and in which R^2 lies below the squared distance
  of the nearest negative (then every alpha of a negative is zero).
* ``negative_contest``: contestants on the same splits and kernels: lp with negatives on the
  paper's grid and on wider cost grids, lp without them, a variant with another equality, the
  difference of kernel means, and a two-class SVM.

The variant, labelled "sum alpha = 1", is a different problem from the paper's Eq. (15):

    max  sum_i y_i alpha_i K_ii - (y*alpha)'K(y*alpha) - sum_i A_i alpha_i^q,
    alpha >= 0,  1'alpha = 1        instead of        y'alpha = 1.

With Q = yy'*K it is the one-class problem of the kernel Q with the linear term y*diag(K) in place
of diag(Q); the solver and its certificate need nothing else.
"""

from __future__ import annotations

import numpy as np

from lpsvdd.solver import Gram, Solution, solve, solve_path
from replication.methods import METHODS, KernelTask
from replication.protocol import Task
from replication.store import Row
from replication.studies.common import (
    C_GRID,
    P_GRID,
    Cell,
    centre_scores,
    contest,
    mean_cell,
)
from replication.trial import prepare

WIDE_P = (8 / 7, 3 / 2, 2.0, 5.0)
WIDE_C = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
WEIGHT_LEVEL = 1e-4
"""Negatives count as weightless when their multipliers sum to less than this (positives: >= 1)."""


def grids(task: KernelTask) -> dict[str, list[Solution]]:
    """Solutions on the paper's grid and on the wide one."""
    return {
        "paper": solve_path(task.K, task.y, ps=P_GRID, cs=C_GRID, c_neg=C_GRID),
        "wide": solve_path(task.K, task.y, ps=WIDE_P, cs=WIDE_C, c_neg=WIDE_C),
    }


def describe(task: KernelTask, grid: str, solutions: list[Solution]) -> Row:
    """Counts over the cells of one grid."""
    negative = task.y < 0
    weighted, below, masses = 0, 0, []
    for found in solutions:
        beta = task.y * found.alpha
        distances = task.diag - 2.0 * task.K @ beta + beta @ task.K @ beta
        mass = float(found.alpha[negative].sum())
        weighted += mass > WEIGHT_LEVEL
        below += found.radius_sq < distances[negative].min()
        masses.append(mass)
    return {
        "grid": grid,
        "cells": len(solutions),
        "with_weight": weighted,
        "radius_below_nearest_negative": int(below),
        "largest_weight": float(f"{max(masses):.4g}"),
        "largest_gap": float(f"{max(found.gap for found in solutions):.1e}"),
    }


def sum_to_one(task: KernelTask, p: float, c: float, c_neg: float) -> Solution:
    """Solve the variant with 1'alpha = 1 (module docstring)."""
    signed = Gram(K=task.K * np.outer(task.y, task.y), diag=task.y * task.diag, spread=1.0)
    return solve(signed, p=p, c=np.where(task.y > 0, c, c_neg))


def negative_weight(task: Task) -> list[Row]:
    """One row per grid."""
    problem = prepare(task).kernel_task
    head = {"dataset": task.dataset, "trial": task.trial}
    return [head | describe(problem, grid, found) for grid, found in grids(problem).items()]


def _cells(task: KernelTask, solutions: list[Solution]) -> list[Cell]:
    return [
        ({"p": s.p, "c": s.c, "c_neg": s.c_neg}, centre_scores(task, task.y * s.alpha))
        for s in solutions
    ]


def _without_negatives(task: KernelTask) -> list[Cell]:
    positive = task.y > 0
    cells = []
    for found in solve_path(task.K[np.ix_(positive, positive)], ps=P_GRID, cs=C_GRID):
        beta = np.zeros(len(task.y))
        beta[positive] = found.alpha
        cells.append(({"p": found.p, "c": found.c}, centre_scores(task, beta)))
    return cells


def _variant(task: KernelTask) -> list[Cell]:
    cells = []
    for p in P_GRID:
        for c in C_GRID:
            for c_neg in C_GRID:
                alpha = sum_to_one(task, p, c, c_neg).alpha
                params = {"p": p, "c": c, "c_neg": c_neg}
                cells.append((params, centre_scores(task, task.y * alpha)))
    return cells


def _registered(task: KernelTask, name: str) -> list[Cell]:
    """Cells of a method of the registry, on its default grid."""
    return [(cell.params, cell.scores) for cell in METHODS["negatives", name].run(task)]


def negative_contest(task: Task) -> list[Row]:
    """Rows of all contestants on one split."""
    trial = prepare(task)
    problem = trial.kernel_task
    solved = grids(problem)
    contestants = {
        "lp with negatives": _cells(problem, solved["paper"]),
        "lp with negatives, wide costs": _cells(problem, solved["wide"]),
        "lp without negatives": _without_negatives(problem),
        "kernel mean": [mean_cell(problem)],
        "sum alpha = 1": _variant(problem),
        "kernel mean difference": _registered(problem, "mean difference"),
        "two-class SVM": _registered(problem, "SVM"),
    }
    head = {"dataset": task.dataset, "trial": task.trial}
    return [head | contest(trial, name, cells)[0] for name, cells in contestants.items()]
