r"""When does p matter? Rank correlations that need no labels, beside the true change of AUC.

The plans are ``plans/exponent_sensitivity.md``, where the cost is the default, and
``plans/exponent_sensitivity_share.md``, where the balls leave the same share outside. Tables and
draws are those of ``tables``. A row of new data z scores :math:`\sum_i \alpha_i k(x_i, z)`, which
ranks as its distance to the centre does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import rankdata
from sklearn.model_selection import KFold

from lpsvdd import LpSVDDCV
from lpsvdd.cost_rule import cost_by_scale, spread_of
from lpsvdd.kernels import resolve_gamma
from lpsvdd.selection import Fold
from lpsvdd.solver import Gram, Solution, solve
from lpsvdd.surface import leave_one_out
from replication import table_sets
from replication.protocol import auc
from replication.runner import Row
from replication.share import SharePath
from replication.studies.study import study
from replication.studies.tables import (
    DESIGN,
    JUDGED,
    RULES,
    TABLE_SHARE,
    TABLE_SIZES,
    TableSplit,
    TableTask,
    draw,
    timed_fit,
)

COMPARED_EXPONENTS = (1.0, 2.0, 20.0)
PAIRS = {"1_2": ("1", "2"), "1_20": ("1", "20")}
HELD_OUT_FOLDS = 5
EQUAL_SHARE_EXPONENTS = (1.0, 2.0)
Scores = dict[str, np.ndarray]
Balls = Callable[[np.ndarray], dict[str, Solution]]


def later_tasks(names: list[str], trials: int) -> list[TableTask]:
    """Draws 1, 2, ... of every table: draw 0 was looked at before."""
    table_sets.tables_folder()  # a folder that is not there shows before anything is computed
    return [TableTask(name, trial) for trial in range(1, trials + 1) for name in names]


def widths_of(data: TableSplit, trial: int) -> dict[str, float]:
    """The two rules, and the width that `LpSVDDCV` chooses."""
    chosen = timed_fit(LpSVDDCV(random_state=trial), data.train)[0].best_params_["gamma"]
    rule, wide = (resolve_gamma(name, data.train) for name in RULES)
    return {"rule": rule, "chosen": chosen, "scale": wide}


def default_balls(K: np.ndarray) -> dict[str, Solution]:
    """The ball of every exponent at the default cost."""
    points, spread = Gram.check(K), spread_of(K, np.ones(len(K)))
    return {
        f"{p:g}": solve(points, p=p, c=cost_by_scale(TABLE_SHARE, len(K), p, spread))
        for p in COMPARED_EXPONENTS
    }


def equal_share_balls(K: np.ndarray) -> dict[str, Solution]:
    """The balls of two exponents that leave the same share outside."""
    points = Gram.check(K)
    return {f"{p:g}": SharePath(points, p).share(TABLE_SHARE)[0] for p in EQUAL_SHARE_EXPONENTS}


def scores_of(solved: Mapping[str, Solution], kernel_values: np.ndarray) -> Scores:
    """Scores of rows under every ball."""
    return {name: kernel_values @ ball.centre for name, ball in solved.items()}


def without_themselves(solved: Mapping[str, Solution], K: np.ndarray) -> Scores:
    """Minus the mean squared distance of each training row to a ball that has not seen it."""
    ones = np.ones(len(K))
    found = {}
    for name, ball in solved.items():
        rows = np.flatnonzero(ball.alpha)
        s = ball.distances + ball.alpha @ ball.distances
        found[name] = -leave_one_out(
            s, ball.alpha, p=ball.p, y=ones, weight=ones, slack=ball.slack, K=K[np.ix_(rows, rows)]
        )
    return found


def correlations(scores: Scores) -> dict[str, float]:
    """Spearman's correlation of every pair: 1 where both scores are constant, NaN where one is."""
    found = {}
    for pair, (first, second) in PAIRS.items():
        if second not in scores:
            continue
        constant = [np.ptp(scores[name]) == 0.0 for name in (first, second)]
        if any(constant):
            found[pair] = 1.0 if all(constant) else np.nan
        else:
            a, b = (rankdata(scores[name]) for name in (first, second))
            found[pair] = float(np.corrcoef(a, b)[0, 1])
    return found


class HeldOut:
    """Five folds of the training rows, with artificial outliers: distances serve every width."""

    def __init__(self, X: np.ndarray, seed: int, balls: Balls) -> None:
        self.X, self.seed, self.balls = X, seed, balls

    @cached_property
    def parts(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Of each fold the fitted rows, the held-out rows, and distances of all outliers."""
        folds = KFold(HELD_OUT_FOLDS, shuffle=True, random_state=self.seed)
        return [
            (fit, held, cdist(self.outliers(fit, held), self.X[fit], "sqeuclidean"))
            for fit, held in folds.split(self.X)
        ]

    def outliers(self, fit: np.ndarray, held: np.ndarray) -> np.ndarray:
        """Artificial outliers of a fold."""
        return Fold(self.X[fit], self.X[held], seed=self.seed).all_outliers

    def correlations(self, K: np.ndarray, gamma: float) -> dict[str, dict[str, float]]:
        """Means over the folds, for held-out rows alone and together with artificial outliers."""
        found: dict[str, list[dict[str, float]]] = {"held": [], "artificial": []}
        for fit, held, far in self.parts:
            solved = self.balls(K[np.ix_(fit, fit)])
            own = scores_of(solved, K[np.ix_(held, fit)])
            made = scores_of(solved, np.exp(-gamma * far))
            found["held"].append(correlations(own))
            both = {name: np.concatenate([own[name], made[name]]) for name in own}
            found["artificial"].append(correlations(both))
        return {
            kind: {pair: float(np.mean([one[pair] for one in folds])) for pair in folds[0]}
            for kind, folds in found.items()
        }


def rows_of(task: TableTask, balls: Balls) -> list[Row]:
    """One row a width: AUC of every exponent, and four rank correlations of every pair."""
    data, rows = draw(task), []
    squared, new = (cdist(part, data.train, "sqeuclidean") for part in (data.train, data.test))
    held_out = HeldOut(data.train, task.trial, balls)
    for width, gamma in widths_of(data, task.trial).items():
        K = np.exp(-gamma * squared)
        solved = balls(K)
        scores = scores_of(solved, np.exp(-gamma * new))
        found = {
            "loo": correlations(without_themselves(solved, K)),
            **held_out.correlations(K, gamma),
            "test": correlations(scores),
        }
        row: Row = {"dataset": task.dataset, "trial": task.trial, "width": width}
        row |= {f"auc_{name}": round(auc(one, data.y), 6) for name, one in scores.items()}
        row |= {
            f"{kind}_{pair}": None if np.isnan(r) else round(r, 6)
            for kind, pairs in found.items()
            for pair, r in pairs.items()
        }
        rows.append(row)
    return rows


@study(
    "Can training rows alone tell when p matters?",
    tasks=later_tasks, names=DESIGN + JUDGED, trials=1,
    parameters=TABLE_SIZES | {
        "p": COMPARED_EXPONENTS, "nu": TABLE_SHARE, "rules": RULES, "folds": HELD_OUT_FOLDS,
        "first": 1,
    },
)  # fmt: skip
def exponent_sensitivity(task: TableTask) -> list[Row]:
    """p = 1, 2, 20 at the default cost."""
    return rows_of(task, default_balls)


@study(
    "Can training rows alone tell when p matters at the same share outside?",
    tasks=later_tasks, names=DESIGN + JUDGED, trials=1,
    parameters=TABLE_SIZES | {
        "p": EQUAL_SHARE_EXPONENTS, "share": TABLE_SHARE, "rules": RULES, "folds": HELD_OUT_FOLDS,
        "first": 1,
    },
)  # fmt: skip
def exponent_sensitivity_share(task: TableTask) -> list[Row]:
    """p = 1 and 2 with the same share of training rows outside."""
    return rows_of(task, equal_share_balls)
