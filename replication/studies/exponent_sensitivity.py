r"""When does p matter at the same share outside? Rank correlations without labels, beside the AUC.

The plan is ``plans/exponent_sensitivity_share.md``. Tables and draws are those of ``tables``. A row
of new data z scores :math:`\sum_i \alpha_i k(x_i, z)`, which ranks as its distance to the centre
does.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.model_selection import KFold

from lpsvdd import LpSVDDCV
from lpsvdd.kernels import resolve_gamma
from lpsvdd.selection import Fold
from lpsvdd.sensitivity import rank_correlation
from lpsvdd.solver import Gram, Solution
from lpsvdd.surface import leave_one_out
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
    later_tasks,
    timed_fit,
)

HELD_OUT_FOLDS = 5
EQUAL_SHARE_EXPONENTS = (1.0, 2.0)


def widths_of(data: TableSplit, trial: int) -> dict[str, float]:
    """Return the two rules, and the width that `LpSVDDCV` chooses."""
    chosen = timed_fit(LpSVDDCV(random_state=trial), data.train)[0].best_params_["gamma"]
    rule, wide = (resolve_gamma(name, data.train) for name in RULES)
    return {"rule": rule, "chosen": chosen, "scale": wide}


def equal_share_balls(K: np.ndarray) -> list[Solution]:
    """Return the balls of two exponents that leave the same share outside."""
    points = Gram.check(K)
    return [SharePath(points, p).share(TABLE_SHARE).solution for p in EQUAL_SHARE_EXPONENTS]


def without_itself(ball: Solution, K: np.ndarray) -> np.ndarray:
    """Return minus the squared distance of each training row to a ball that has not seen it."""
    ones, rows = np.ones(len(K)), np.flatnonzero(ball.alpha)
    s = ball.distances + ball.alpha @ ball.distances
    return -leave_one_out(
        s, ball.alpha, p=ball.p, y=ones, weight=ones, slack=ball.slack, K=K[np.ix_(rows, rows)]
    )


@study(
    "Can training rows alone tell when p matters at the same share outside?",
    tasks=later_tasks, names=DESIGN + JUDGED, trials=1,
    parameters=TABLE_SIZES | {
        "p": EQUAL_SHARE_EXPONENTS, "share": TABLE_SHARE, "rules": RULES, "folds": HELD_OUT_FOLDS,
        "first": 1,
    },
)  # fmt: skip
def exponent_sensitivity_share(task: TableTask) -> list[Row]:
    """Return a row a width: AUC of p = 1 and 2, and four rank correlations of their scores.

    "held" and "artificial" are means over the folds, of held-out rows alone and together with
    artificial outliers.
    """
    data, rows = draw(task), []
    X = data.train
    squared, new = (cdist(part, X, "sqeuclidean") for part in (X, data.test))
    parts = []
    for fit, held in KFold(HELD_OUT_FOLDS, shuffle=True, random_state=task.trial).split(X):
        outliers = Fold(X[fit], X[held], seed=task.trial).all_outliers
        parts.append((fit, held, cdist(outliers, X[fit], "sqeuclidean")))
    for width, gamma in widths_of(data, task.trial).items():
        K = np.exp(-gamma * squared)
        balls = equal_share_balls(K)
        scores = [np.exp(-gamma * new) @ ball.centre for ball in balls]
        alike = []
        for fit, held, far in parts:
            fitted = equal_share_balls(K[np.ix_(fit, fit)])
            own = [K[np.ix_(held, fit)] @ ball.centre for ball in fitted]
            both = [np.r_[one, np.exp(-gamma * far) @ ball.centre]
                    for one, ball in zip(own, fitted, strict=True)]  # fmt: skip
            alike.append((rank_correlation(*own), rank_correlation(*both)))
        signs = (
            rank_correlation(*(without_itself(ball, K) for ball in balls)),
            *np.mean(alike, axis=0),
            rank_correlation(*scores),
        )
        row: Row = {"dataset": task.dataset, "trial": task.trial, "width": width}
        for p, one in zip(EQUAL_SHARE_EXPONENTS, scores, strict=True):
            row[f"auc_{p:g}"] = round(auc(one, data.y), 6)
        for kind, r in zip(("loo", "held", "artificial", "test"), signs, strict=True):
            row[f"{kind}_1_2"] = None if np.isnan(r) else round(float(r), 6)
        rows.append(row)
    return rows
