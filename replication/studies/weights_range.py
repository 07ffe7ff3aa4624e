r"""Is it the weights? Weighted SVDD beside the same weights on other rows, at three exponents.

A weighting gives each row the cost c w_i. ``own`` weights stand where they belong; ``permuted``
ones on rows drawn at random, so that their distribution stays and their meaning goes; ``reversed``
ones turn the order around. Every contestant has the paper's costs, or as many cells from the hard
ball to the weighted mean as ``common_range`` gave it, its own parameter included. For p > 1 these
are the costs whose best radius at the weighted mean is the one aimed at. Ties share the place.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from replication.methods import ScoredCell, SplitKernels, grid, kernel_weights
from replication.methods.paths import svdd_path
from replication.paper import COSTS
from replication.protocol import Task
from replication.store import Row
from replication.studies.ranges import CELLS, costs_at_mean, share_path
from replication.studies.study import mean_cell, paper_path, shared_place_rows, splits, study
from replication.trial import judge, prepare

PS = (1.0, 2.0, 5.0)
VARIANTS: dict[str, list[dict]] = {
    "position": grid(variant=("linear", "minmax", "exp")),
    "density": grid(k=(3, 5, 7, 10, 15)),
    "global-local": grid(k=(5,), lam=(0.0, 0.25, 0.75, 1.0)),
}
NUMBER = {"position": 13, "density": 8, "global-local": 10}
"""Cells of each variant: about forty a weighting."""
FIRST = 300
"""Number of the first split that no study had used."""


def placed(weights: np.ndarray, kind: str, order: np.ndarray) -> np.ndarray:
    """The weights on their own rows, on rows in another order, or turned around."""
    if kind == "permuted":
        return weights[order]
    if kind == "reversed":
        turned = np.empty_like(weights)
        turned[np.argsort(weights, kind="stable")] = np.sort(weights)[::-1]
        return turned
    return weights


def share_cells(
    kernels: SplitKernels, weights: np.ndarray, p: float, number: int
) -> list[ScoredCell]:
    """Cells from the hard ball to the weighted mean."""
    costs = grid(nu=[(k + 1) / number for k in range(number)])
    if p > 1.0:
        kept, m = weights > 0.0, weights / weights.sum()
        d = kernels.diag - 2.0 * kernels.K @ m + m @ kernels.K @ m
        forty = costs_at_mean(d[kept], weights[kept], p)
        costs = grid(C=[forty[k] for k in np.linspace(0, CELLS - 1, number).round().astype(int)])
    return svdd_path(kernels, costs, p=p, weigh=lambda _: weights)


@study(
    "Is the lead of the weighted methods over the same range due to the weights?",
    tasks=partial(splits, first=FIRST),
    trials=10,
    parameters={"p": PS, "variants": VARIANTS, "cells": NUMBER, "c": COSTS},
)
def weights_range(task: Task) -> list[Row]:
    """Rows of all contestants on one split (see ``plans/weights_range.md``)."""
    trial = prepare(task)
    kernels, n = trial.kernels, len(trial.kernels.y)
    order = np.random.default_rng([trial.seed, 3]).permutation(n)
    cells = {"kernel mean": [mean_cell(kernels)]}
    for p in PS:
        cells[f"none, p = {p:g}, shares"] = share_path(kernels, p)
        cells[f"none, p = {p:g}, paper"] = paper_path(kernels, [p])
    for weighting, variants in VARIANTS.items():
        number = NUMBER[weighting]
        cells[f"none, p = 1, {number} shares"] = share_cells(kernels, np.ones(n), 1.0, number)
        for kind in ("own", "permuted", "reversed"):
            for variant in variants:
                weights = placed(kernel_weights(weighting, kernels, **variant), kind, order)
                name, single = f"{weighting}, {kind}", list(variant.values())[-1]
                shares = share_cells(kernels, weights, 1.0, number)
                _add(cells, f"{name}, p = 1, shares", shares)
                if kind == "reversed":
                    continue
                cells[f"{weighting} {single}, {kind}, p = 1, shares"] = shares
                _add(cells, f"{name}, mean", shares[-1:])
                for p in PS:
                    if p > 1.0:
                        more = share_cells(kernels, weights, p, number)
                        _add(cells, f"{name}, p = {p:g}, shares", more)
                    paper = svdd_path(kernels, grid(C=COSTS), p=p, weigh=lambda _, w=weights: w)
                    _add(cells, f"{name}, p = {p:g}, paper", paper)
    rows = shared_place_rows(task, {name: judge(trial, own) for name, own in cells.items()})
    return [{k: row[k] for k in ("dataset", "trial", "contestant", "auc")} for row in rows]


def _add(cells: dict[str, list[ScoredCell]], name: str, more: list[ScoredCell]) -> None:
    cells.setdefault(name, []).extend(more)
