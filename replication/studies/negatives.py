r"""Labelled negatives: do they carry weight, and what would (H3)?

* ``negative_weight``: at the certified optimum of every cell of a grid (p, c1, c2), the share of
  cells in which the negatives have any weight, and in which R^2 lies below the squared distance
  of the nearest negative (then every alpha of a negative is zero).
* ``negative_contest``: contestants on the same splits and kernels: lp with negatives on the
  paper's grid and on wider cost grids, lp without them, a variant with another equality, the
  difference of kernel means, and a two-class SVM.

The variant, labelled "sum alpha = 1", is a different problem from the paper's Eq. (16):

    max  sum_i y_i alpha_i K_ii - (y*alpha)'K(y*alpha) - sum_i A_i alpha_i^q,
    alpha >= 0,  1'alpha = 1        instead of        y'alpha = 1.

With Q = yy'*K it is the one-class problem of the kernel Q with the linear term y*diag(K) in place
of diag(Q); the solver and its certificate need nothing else.
"""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np

from lpsvdd.kernels import squared_distances
from lpsvdd.solver import Gram, Solution, solve, solve_path
from replication.methods import METHODS, ScoredCell, SplitKernels, centre_cell
from replication.paper import COSTS, EXPONENTS
from replication.protocol import Task, judge, prepare
from replication.runner import Row
from replication.studies.study import GRID, contestant_rows, mean_cell, splits, study

WIDE_EXPONENTS = (8 / 7, 3 / 2, 2.0, 5.0)
WIDE_COSTS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
WEIGHT_LEVEL = 1e-4
"""Negatives count as weightless when their multipliers sum to less than this (positives: >= 1)."""


_SPLITS = partial(splits, settings=("negatives",))
_PARAMETERS = GRID | {"wide_p": WIDE_EXPONENTS, "wide_c": WIDE_COSTS}


def solve_grids(kernels: SplitKernels) -> dict[str, list[Solution]]:
    """Return solutions on the paper's grid and on the wide one."""
    K, y = kernels.K, kernels.y
    return {
        "paper": solve_path(K, y, ps=EXPONENTS, cs=COSTS, c_neg=COSTS),
        "wide": solve_path(K, y, ps=WIDE_EXPONENTS, cs=WIDE_COSTS, c_neg=WIDE_COSTS),
    }


def describe(kernels: SplitKernels, grid: str, solutions: list[Solution]) -> Row:
    """Count over the cells of one grid."""
    negative = kernels.y < 0
    weighted, below, masses = 0, 0, []
    for found in solutions:
        beta = kernels.y * found.alpha
        distances = squared_distances(kernels.K, beta, kernels.diag, beta @ kernels.K @ beta)
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


def sum_to_one(kernels: SplitKernels, p: float, c: float, c_neg: float) -> Solution:
    """Solve the variant with 1'alpha = 1 (module docstring)."""
    K, y = kernels.K, kernels.y
    size = float(np.abs(kernels.diag).max())
    signed = Gram(K * np.outer(y, y), y * kernels.diag, spread=1.0, size=size)
    return solve(signed, p=p, c=np.where(y > 0, c, c_neg))


@study(
    "In how many grid cells do labelled negatives carry any weight?",
    tasks=_SPLITS,
    parameters=_PARAMETERS,
)
def negative_weight(task: Task) -> list[Row]:
    """Return one row per grid."""
    kernels = prepare(task).kernels
    head = {"dataset": task.dataset, "trial": task.trial}
    return [head | describe(kernels, grid, found) for grid, found in solve_grids(kernels).items()]


def _cells(kernels: SplitKernels, solutions: list[Solution]) -> list[ScoredCell]:
    return [
        centre_cell(kernels, kernels.y * s.alpha, p=s.p, c=s.c, c_neg=s.c_neg) for s in solutions
    ]


def _without_negatives(kernels: SplitKernels) -> list[ScoredCell]:
    positive = kernels.y > 0
    cells = []
    for found in solve_path(kernels.K[np.ix_(positive, positive)], ps=EXPONENTS, cs=COSTS):
        beta = np.zeros(len(kernels.y))
        beta[positive] = found.alpha
        cells.append(centre_cell(kernels, beta, p=found.p, c=found.c))
    return cells


def _sum_to_one_cells(kernels: SplitKernels) -> list[ScoredCell]:
    return [
        centre_cell(
            kernels, kernels.y * sum_to_one(kernels, p, c, c_neg).alpha, p=p, c=c, c_neg=c_neg
        )
        for p, c, c_neg in product(EXPONENTS, COSTS, COSTS)
    ]


@study("What do negatives add, in this model and in others?", tasks=_SPLITS, parameters=_PARAMETERS)
def negative_contest(task: Task) -> list[Row]:
    """Return rows of all contestants on one split."""
    trial = prepare(task)
    kernels = trial.kernels
    solved = solve_grids(kernels)
    contestants = {
        "lp with negatives": _cells(kernels, solved["paper"]),
        "lp with negatives, wide costs": _cells(kernels, solved["wide"]),
        "lp without negatives": _without_negatives(kernels),
        "kernel mean": [mean_cell(kernels)],
        "sum alpha = 1": _sum_to_one_cells(kernels),
        "kernel mean difference": METHODS["negatives", "mean difference"].run(kernels),
        "two-class SVM": METHODS["negatives", "SVM"].run(kernels),
    }
    return contestant_rows(task, {name: judge(trial, part) for name, part in contestants.items()})
