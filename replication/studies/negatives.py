r"""Labelled negatives: what do they add, in this model and in others (H3)?

Contestants on the same splits and kernels: lp with negatives on the paper's grid and on wider cost
grids, lp without them, a variant with another equality, the difference of kernel means, and a
two-class SVM. The variant, "sum alpha = 1", is a different problem from the paper's Eq. (16):

    max  sum_i y_i alpha_i K_ii - (y*alpha)'K(y*alpha) - sum_i A_i alpha_i^q,
    alpha >= 0,  1'alpha = 1        instead of        y'alpha = 1.

With Q = yy'*K it is the one-class problem of the kernel Q with the linear term y*diag(K) in place
of diag(Q); the solver and its certificate need nothing else.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from lpsvdd.solver import Gram, Solution, solve, solve_path
from replication.experiment import splits
from replication.methods import METHODS, ScoredCell, SplitKernels, centre_cell
from replication.paper import COSTS, EXPONENTS
from replication.protocol import Task, judge, prepare
from replication.runner import Row
from replication.studies.study import GRID, contestant_rows, mean_cell, study

WIDE_EXPONENTS = (8 / 7, 3 / 2, 2.0, 5.0)
WIDE_COSTS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)


def sum_to_one(kernels: SplitKernels, p: float, c: float, c_neg: float) -> Solution:
    """Solve the variant with 1'alpha = 1 (module docstring)."""
    K, y = kernels.K, kernels.y
    size = float(np.abs(kernels.diag).max())
    signed = Gram(K * np.outer(y, y), y * kernels.diag, spread=1.0, size=size)
    return solve(signed, p=p, c=np.where(y > 0, c, c_neg))


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


@study(
    "What do negatives add, in this model and in others?",
    tasks=partial(splits, settings=("negatives",)),
    parameters=GRID | {"wide_p": WIDE_EXPONENTS, "wide_c": WIDE_COSTS},
)
def negative_contest(task: Task) -> list[Row]:
    """Return rows of all contestants on one split."""
    trial = prepare(task)
    kernels = trial.kernels
    K, y = kernels.K, kernels.y
    paper = solve_path(K, y, ps=EXPONENTS, cs=COSTS, c_neg=COSTS)
    wide = solve_path(K, y, ps=WIDE_EXPONENTS, cs=WIDE_COSTS, c_neg=WIDE_COSTS)
    variant = [
        replace(sum_to_one(kernels, p, c, c_neg), c=c, c_neg=c_neg)
        for p, c, c_neg in product(EXPONENTS, COSTS, COSTS)
    ]
    contestants = {
        "lp with negatives": _cells(kernels, paper),
        "lp with negatives, wide costs": _cells(kernels, wide),
        "lp without negatives": _without_negatives(kernels),
        "kernel mean": [mean_cell(kernels)],
        "sum alpha = 1": _cells(kernels, variant),
        "kernel mean difference": METHODS["negatives", "mean difference"].run(kernels),
        "two-class SVM": METHODS["negatives", "SVM"].run(kernels),
    }
    return contestant_rows(task, {name: judge(trial, part) for name, part in contestants.items()})
