r"""The same range for every method: forty cells from the hard ball to the kernel mean.

For p > 1 a point has a positive multiplier exactly when it lies outside, so the share of points
outside the ball is a parameter that means the same for every p. With d_i the squared distances to
the kernel mean, the cost

    c = 1 / (p sum_i (d_i - R2)_+^(p-1)),      R2 = the (1 - share) quantile of d,

makes R2 the best radius *at the mean*; at the solution the share outside is near the one aimed at.
A solution with p > 1 leaves outside at least the support vectors of the hard ball, with little
slack, so small shares are out of its reach where these are many; the cells then crowd at the hard
ball. Costs beyond share 1 (R2 = min d - delta) lead on to the mean, which p = 1 reaches at share 1:
there C = 1/(n share). So every p has forty cells: ``SHARES`` and ``BEYOND`` for p > 1, forty shares
for p = 1. ``common_range`` compares every fixed p, lp with as many cells, the weighted methods with
as many, and what tests the mechanism of H1, on the same splits.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from lpsvdd.solver import solve_path
from replication.experiment import splits
from replication.methods import METHODS, ScoredCell, SplitKernels, centre_cell, grid
from replication.paper import COSTS, EXPONENTS
from replication.protocol import Task, judge, prepare
from replication.runner import Row
from replication.studies.study import FRESH, contestant_rows, mean_cell, paper_path, study

SHARES = tuple(k / 32 for k in range(32))
BEYOND = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
"""How far R2 lies below min d, in units of the spread of d: on towards the kernel mean."""
CELLS = len(SHARES) + len(BEYOND)
FOUR = (0, 12, 25, CELLS - 1)
"""Which four of the forty cells a method gets that has ten exponents to share them with."""
WEIGHTED = {
    "P-SVDD": grid(variant=("linear", "minmax", "exp"), nu=tuple((k + 1) / 13 for k in range(13))),
    "DW-SVDD": grid(k=(3, 5, 7, 10, 15), nu=tuple((k + 1) / 8 for k in range(8))),
    "GL-SVDD": grid(k=(5,), lam=(0.0, 0.25, 0.75, 1.0), nu=tuple((k + 1) / 10 for k in range(10))),
}
"""Forty cells (P-SVDD: 39) for each weighted method, its own parameter included."""
ON_BOUNDARY = 1e-6
"""A slack below this share of the spread of d counts as none, an alpha below it of the largest."""


def share_costs(kernels: SplitKernels, p: float) -> list[float]:
    """Return the forty costs of an exponent, from the hard ball to the mean."""
    n = len(kernels.y)
    if p == 1.0:
        return [1.0 / (n * max(k / (CELLS - 1), 1.0 / n)) for k in range(CELLS)]
    d = kernels.diag - 2.0 * kernels.K.mean(axis=1) + kernels.K.mean()
    return costs_at_mean(d, np.ones(n), p)


def costs_at_mean(d: np.ndarray, weights: np.ndarray, p: float) -> list[float]:
    """Return costs that make forty radii the best at the (weighted) mean, at distances d."""
    spread = float(np.ptp(d)) or float(d.mean())
    radii = [float(np.quantile(d, 1.0 - share)) for share in SHARES]
    radii[0] = float(d.max()) - 1e-3 * spread  # share 0: no slack worth the name
    radii += [float(d.min()) - delta * spread for delta in BEYOND]
    costs = []
    for radius in radii:
        slack = np.maximum(d - min(radius, float(d.max()) - 1e-3 * spread), 0.0)
        largest = float(slack.max())
        scaled = float(np.sum(weights * (slack / largest) ** (p - 1.0)))
        costs.append(float(np.exp(-np.log(p * scaled) - (p - 1.0) * np.log(largest))))
    return costs


def outside_and_support(d: np.ndarray, radius_sq: float, alpha: np.ndarray) -> tuple[float, float]:
    """Return the shares of points outside the ball and of support vectors.

    Outside: d - R2 > 1e-6 of the spread of d. Support vector: alpha > 1e-6 of the largest, or
    outside. In exact arithmetic, for p > 1, the two are the same points; for p near 1 a slack is so
    high a power of alpha that support vectors stick out by less than is measured.
    """
    spread = float(np.ptp(d)) or float(d.mean())
    outside = d - radius_sq > ON_BOUNDARY * spread
    active = alpha > ON_BOUNDARY * alpha.max()
    return float(outside.mean()), float((active | outside).mean())


def share_path(kernels: SplitKernels, p: float) -> list[ScoredCell]:
    """Return the forty cells of an exponent, numbered from the hard ball (0) to the mean (39)."""
    found = solve_path(kernels.K, ps=[p], cs=share_costs(kernels, p))
    return [
        centre_cell(kernels, ball.alpha, p=round(p, 4), cell=number)
        for number, ball in enumerate(found)
    ]


def fixed_label(p: float) -> str:
    """Return the name of a fixed exponent's contestant."""
    return f"p = {p:.4g}, 40 shares"


@study(
    "Does lp beat each fixed p and the weighted methods over the same range?",
    tasks=partial(splits, first=FRESH),
    trials=20,
    parameters={
        "p": EXPONENTS, "c": COSTS, "shares": SHARES, "beyond": BEYOND, "four": FOUR,
        "weighted": {name: len(cells) for name, cells in WEIGHTED.items()},
        "targets": (0.1, 0.25, 0.5, 0.75),  # of a study that is frozen
    },
)  # fmt: skip
def common_range(task: Task) -> list[Row]:
    """Return rows of all contestants on one split (see ``plans/common_range.md``)."""
    trial = prepare(task)
    kernels = trial.kernels
    paths = {p: judge(trial, share_path(kernels, p)) for p in (1.0, *EXPONENTS)}
    paper = judge(trial, paper_path(kernels))
    l1_paper = judge(trial, paper_path(kernels, [1.0]))
    mean = judge(trial, [mean_cell(kernels)])
    least = 1.0 / len(kernels.y)
    contestants = {
        "kernel mean": mean,
        **{fixed_label(p): cells for p, cells in paths.items()},
        "lp, 40 cells": [paths[p][k] for p in EXPONENTS for k in FOUR],
        "lp, 400 cells": [cell for p in EXPONENTS for cell in paths[p]],
        "p = 1, 4 shares": [paths[1.0][k] for k in FOUR],
        "l1, paper's grid": l1_paper,
        "l1, paper's grid and mean": [*mean, *l1_paper],
        "l2, paper's grid": [cell for cell in paper if cell.params["p"] == 2.0],
        "lp, paper's grid": paper,
        "lp, cells feasible for l1": [cell for cell in paper if cell.params["c"] >= least],
    }
    for name, cells in WEIGHTED.items():
        method = METHODS["pure", name]
        contestants[f"{name}, 40 cells"] = judge(trial, method.path(kernels, cells))
    return contestant_rows(task, contestants)
