r"""What width, share and exponent are worth to somebody who has labels.

The plan is ``plans/decomposition.md``; tables and draws are those of ``tables``. A row z scores
:math:`\sum_i \alpha_i k(x_i, z)`, which ranks as its distance to the centre does.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from lpsvdd.cost_rule import cost_by_scale, spread_of
from lpsvdd.solver import Gram, Solution
from replication.protocol import auc
from replication.runner import Row
from replication.share import SharePath
from replication.studies.exponent_sensitivity import widths_of
from replication.studies.study import study
from replication.studies.tables import (
    JUDGED,
    RULES,
    TABLE_SIZES,
    TableTask,
    draw,
    halves,
    later_tasks,
)

TUNED_SHARES, TUNED_EXPONENTS = (0.1, 0.05, 0.3, 0.6), (2.0, 1.5, 1.2, 1.05, 5.0, 20.0, 1.0)
LATER_DRAWS = 2
FIVE = (2.0, 1.2, 5.0, 20.0, 1.0)  # as many exponents as shares
SHARE_LEVELS = (*TUNED_SHARES, "kernel mean")
COST_RULES = ("exact", "scale")


class WidthGrid(NamedTuple):
    """AUC of every cell of a width by (half, share, p), NaN where it is not certified.

    ``unreached`` counts exact shares that no cost leaves outside.
    """

    auc: np.ndarray
    unreached: int

    @property
    def lost(self) -> int:
        """Cells without a certificate."""
        return int(np.isnan(self.auc[0]).sum())


def grids(K: np.ndarray, Kz: np.ndarray, y: np.ndarray) -> dict[str, WidthGrid]:
    """The grid of each rule for the cost, from kernel values of training and of test rows."""
    points, n, spread = Gram.check(K), len(K), spread_of(K, np.ones(len(K)))
    parts = halves(y)

    def cell(ball: Solution) -> list[float]:
        return [found(Kz @ ball.centre, half) if ball.converged else np.nan for half in parts]

    def found(scores: np.ndarray, half: np.ndarray) -> float:
        return round(auc(scores[half], y[half]), 3)

    shape = (2, len(SHARE_LEVELS), len(TUNED_EXPONENTS))
    made = {cost: np.empty(shape) for cost in COST_RULES}
    for cost in COST_RULES:
        made[cost][:, -1, :] = [[found(Kz.mean(axis=1), half)] for half in parts]
    unreached = 0
    for k, p in enumerate(TUNED_EXPONENTS):
        path = SharePath(points, p)
        by_scale = {nu: math.log(cost_by_scale(nu, n, p, spread)) for nu in TUNED_SHARES}
        for nu in sorted(TUNED_SHARES, reverse=True):  # from cheap to dear: each starts the next
            made["scale"][:, TUNED_SHARES.index(nu), k] = cell(path.at(by_scale[nu]))
        for nu in sorted(TUNED_SHARES, reverse=True):
            ball, reached = path.share(nu)
            made["exact"][:, TUNED_SHARES.index(nu), k] = cell(ball)
            unreached += not reached
    found_in = {"exact": unreached, "scale": 0}
    return {cost: WidthGrid(values, found_in[cost]) for cost, values in made.items()}


def best_cell(asked: np.ndarray) -> tuple[int, ...]:
    """Place of the largest value, the first in lexicographic order among equals."""
    return np.unravel_index(int(np.nanargmax(asked)), asked.shape)  # type: ignore[return-value]


def tuned_auc(values: np.ndarray) -> float:
    """AUC on each half of the cell that the other half chooses, as a mean over both directions.

    Halves run along the first axis. NaN where nothing is certified.
    """
    if np.isnan(values).all():
        return math.nan
    both = [judge[best_cell(asked)] for asked, judge in (values, values[::-1])]
    return float(np.mean(both))


def values_of(auc_of: np.ndarray) -> dict[str, float]:
    """What knobs give when they are tuned on labels; ``auc_of`` by (half, width, share, p)."""
    five = [TUNED_EXPONENTS.index(p) for p in FIVE]
    return {
        "v_none": tuned_auc(auc_of[:, :, :1, :1]),
        "v_share": tuned_auc(auc_of[:, :, :, :1]),
        "v_p": tuned_auc(auc_of[:, :, :1, :]),
        "v_both": tuned_auc(auc_of),
        "v_p5": tuned_auc(auc_of[:, :, :1, five]),
        "v_both5": tuned_auc(auc_of[:, :, :, five]),
    }


def width_summary(found: Sequence[WidthGrid]) -> Row:
    """The stored values of one width, or of several of which one is to be chosen too."""
    auc_of = np.stack([one.auc for one in found], axis=1)
    _, share, p = best_cell(auc_of[0])
    return {
        **{key: None if np.isnan(v) else round(v, 3) for key, v in values_of(auc_of).items()},
        "unreached": sum(one.unreached for one in found),
        "lost": sum(one.lost for one in found),
        "best_share": str(SHARE_LEVELS[share]),
        "best_p": TUNED_EXPONENTS[p],
    }


@study(
    "How much AUC does a label-holder gain by tuning width, share and exponent?",
    tasks=later_tasks, names=JUDGED, trials=LATER_DRAWS,
    parameters=TABLE_SIZES
    | {"p": TUNED_EXPONENTS, "shares": TUNED_SHARES, "rules": RULES, "first": 1},
)  # fmt: skip
def decomposition(task: TableTask) -> list[Row]:
    """One row a rule for the cost and a width, and one in which the width is tuned too."""
    data = draw(task)
    squared, new = (cdist(part, data.train, "sqeuclidean") for part in (data.train, data.test))
    solved = {
        width: grids(np.exp(-gamma * squared), np.exp(-gamma * new), data.y)
        for width, gamma in widths_of(data, task.trial).items()
    }
    rows = []
    for cost, (width, names) in itertools.product(
        COST_RULES, [*((name, [name]) for name in solved), ("free", list(solved))]
    ):
        where = {"dataset": task.dataset, "trial": task.trial, "cost": cost, "width": width}
        rows.append(where | width_summary([solved[name][cost] for name in names]))
    return rows
