r"""Weights, range and exponent on tables: which of the three makes the weighted methods better?

The plan is ``plans/weights_range_tables.md``. A contestant is a weighting (none, three, and each
of the three with its weights permuted among the rows), a range of costs and an exponent. A half of
the test labels chooses one of its cells, the other half judges it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lpsvdd.kernels import kernel_matrix, resolve_gamma
from lpsvdd.solver import solve_path
from replication.methods import grid
from replication.paper import COSTS, EXPONENTS
from replication.protocol import auc, trial_seed
from replication.runner import Row
from replication.studies.ranges import BEYOND, CELLS, FOUR, SHARES, costs_at_mean
from replication.studies.study import study
from replication.studies.tables import (
    JUDGED,
    TABLE_SIZES,
    TableTask,
    draw,
    halves,
    later_tasks,
    standardised,
)
from replication.weights import sample_weights

PS = (1.0, 2.0, 5.0)
WEIGHT_VARIANTS = {
    "position": grid(variant=("linear", "minmax", "exp")),
    "density": grid(k=(3, 5, 7, 10, 15)),
    "global-local": grid(k=(5,), lam=(0.0, 0.25, 0.75, 1.0)),
}
WIDE_CELLS = {"position": 13, "density": 8, "global-local": 10}  # of each variant
TABLES, ROWS, DRAW = 240, 150, 1
WIDTH = "half-mean-distance"
FULL = 1e-9  # costs that sum to one up to this leave one solution at p = 1


class Tried(NamedTuple):
    """A cell: its name, its AUC on each half of the test rows, and whether it is certified."""

    name: str
    halves: tuple[float, float]
    certified: bool = True


class Kernels(NamedTuple):
    """Kernel values among the training rows and of the test rows, and the labels of the latter."""

    K: np.ndarray
    test: np.ndarray
    y: np.ndarray

    def score(self, name: str, coefficients: np.ndarray, certified: bool = True) -> Tried:
        """Score the test rows by sum_i coefficient_i k(x_i, z)."""
        return Tried(name, half_aucs(self.test @ coefficients, self.y, halves(self.y)), certified)


def half_aucs(
    scores: np.ndarray, y: np.ndarray, parts: Sequence[np.ndarray]
) -> tuple[float, float]:
    """Return the AUC on each of two parts of the test rows, to a thousandth."""
    first, second = (round(auc(scores[part], y[part]), 3) for part in parts)
    return first, second


def chosen_by_half(cells: Sequence[Tried]) -> Row:
    """Judge the cell that one half of the test rows chooses on the other; average both ways.

    Of equals the first counts. ``first`` and ``second`` name the cells that the halves choose.
    """
    left = [cell for cell in cells if cell.certified]
    row: Row = {"auc": None, "cells": len(cells), "lost": len(cells) - len(left)}
    if left:
        one, two = (max(left, key=lambda cell, k=k: cell.halves[k]) for k in (0, 1))
        judged = (one.halves[1] + two.halves[0]) / 2.0
        row |= {"auc": round(judged, 4), "first": one.name, "second": two.name}
    return row


def wide_costs(K: np.ndarray, weights: np.ndarray, p: float, number: int) -> list[float]:
    """Return costs from the hard ball to the weighted mean; forty without weights."""
    if p == 1.0:
        total = float(weights.sum())
        if number == CELLS:  # share_costs, whose first share is that of one row
            return [1.0 / (total * max(k / (CELLS - 1), 1.0 / total)) for k in range(CELLS)]
        return [number / ((k + 1) * total) for k in range(number)]
    m, kept = weights / weights.sum(), weights > 0.0
    d = K.diagonal() - 2.0 * K @ m + m @ K @ m
    forty = costs_at_mean(d[kept], weights[kept], p)
    return [forty[k] for k in np.linspace(0, CELLS - 1, number).round().astype(int)]


def cells_of(
    kernels: Kernels, weights: np.ndarray, p: float, costs: Sequence[float], name: str = ""
) -> list[Tried]:
    """Solve the cells of a weighting; at p = 1 costs that sum to less than one have no solution."""
    if p == 1.0:
        costs = [c for c in costs if c * weights.sum() >= 1.0 - FULL]
    if not costs:
        return []
    kept = np.flatnonzero(weights > 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # counted as lost
        K = kernels.K[np.ix_(kept, kept)]
        balls = solve_path(K, ps=[p], cs=costs, sample_weight=weights[kept])
    found = []
    for ball in balls:
        coefficients = np.zeros(len(weights))
        coefficients[kept] = ball.alpha
        found.append(kernels.score(f"{name} {ball.c:.4g}".strip(), coefficients, ball.converged))
    return found


def both_spans(kernels: Kernels, weights: np.ndarray, number: int, name: str) -> Iterator[tuple]:
    """Yield span, p and the cells of a weighting over the wide and the narrow range of costs."""
    for p in PS:
        wide = wide_costs(kernels.K, weights, p, number)
        for span, costs in (("wide", wide), ("narrow", sorted(COSTS)[::-1])):
            yield span, p, cells_of(kernels, weights, p, costs, name)


def unweighted(kernels: Kernels) -> dict[str, list[Tried]]:
    """Solve the contestants without weights."""
    ones = np.ones(len(kernels.K))
    found = {"kernel mean": [kernels.score("", ones / len(ones))]}
    for span, p, cells in both_spans(kernels, ones, CELLS, ""):
        found[f"none, {span}, p = {p:g}"] = cells
    found["l1, 4 shares"] = [found["none, wide, p = 1"][k] for k in FOUR]
    found["lp, 40 cells"] = []
    for p in EXPONENTS:
        forty = wide_costs(kernels.K, ones, p, CELLS)
        four = cells_of(kernels, ones, p, [forty[k] for k in FOUR], f"p={p:.4g}")
        found["lp, 40 cells"] += four
    return found


def weighted(kernels: Kernels, X: np.ndarray, order: np.ndarray) -> dict[str, list[Tried]]:
    """Solve the contestants with weights, own and permuted; each variant at p = 1, wide."""
    found: dict[str, list[Tried]] = {}
    for weighting, variants in WEIGHT_VARIANTS.items():
        for variant in variants:
            own = sample_weights(weighting, kernels.K, X=X, **variant)
            single = str(list(variant.values())[-1])
            for kind, weights in (("", own), (" permuted", own[order])):
                for span, p, cells in both_spans(kernels, weights, WIDE_CELLS[weighting], single):
                    name = f"{weighting}{kind}, {span}, p = {p:g}"
                    found[name] = found.get(name, []) + cells
                    if p == 1.0 and span == "wide":
                        found[f"{weighting} {single}{kind}, wide, p = 1"] = cells
    return found


@study(
    "Over the same range of costs: is it the weights, the range or the exponent?",
    tasks=later_tasks, names=JUDGED[:TABLES], trials=1,
    parameters=TABLE_SIZES | {
        "p": PS, "variants": WEIGHT_VARIANTS, "cells": WIDE_CELLS, "c": COSTS, "lp": EXPONENTS,
        "shares": SHARES, "beyond": BEYOND, "four": FOUR, "rows": ROWS, "width": WIDTH,
        "draw": DRAW,
    },
)  # fmt: skip
def weights_range_tables(task: TableTask) -> list[Row]:
    """Make a row a contestant: AUC, cells with a solution, those without a certificate."""
    data = draw(task)
    data = standardised(data.train[:ROWS], data.test, data.y)
    gamma = resolve_gamma(WIDTH, data.train)
    K, test = (kernel_matrix(rows, data.train, gamma=gamma) for rows in (data.train, data.test))
    kernels, n = Kernels(K, test, data.y), len(data.train)
    rng = np.random.default_rng([trial_seed(task.dataset, task.trial), 1])
    contestants = unweighted(kernels) | weighted(kernels, data.train, rng.permutation(n))
    kept = ("auc", "cells", "lost")
    return [
        {"dataset": task.dataset, "contestant": name} | {k: chosen_by_half(cells)[k] for k in kept}
        for name, cells in contestants.items()
    ]
