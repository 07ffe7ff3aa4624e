r"""Decisions, not only rankings: who is accepted by the ball of the chosen model (Section 3.6)?

The paper accepts z when ||phi(z) - a||^2 <= R^2 and reports the AUC, which does not see R^2. Here
the model that validation chooses is solved once more for its radius, and three surfaces decide on
the test rows: the ball's own; the leave-one-out surface of ``lpsvdd.surface`` at a share of 0.1;
and, as models that no label has chosen, `LpSVDD` and scikit-learn's `OneClassSVM` at nu = 0.1.

Outside means d > R^2 + 1e-6 times the spread of d, and a support vector has alpha above 1e-6 of the
largest: the definitions of ``matched_sparsity`` and of its figure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import OneClassSVM

from lpsvdd import LpSVDD
from lpsvdd.solver import Problem, Solution, solve
from lpsvdd.surface import surface_at
from replication.methods import METHODS, WEIGHTINGS, SplitKernels, distance_scores, kernel_weights
from replication.protocol import JudgedCell, Task, Trial, chosen, judge, prepare
from replication.runner import Row
from replication.studies.ranges import outside_and_support
from replication.studies.study import study

REJECTED_SHARE = 0.1
FIXED_EXPONENTS = {"l1-SVDD": 1.0, "l2-SVDD": 2.0}
DECIDERS = ("lp-SVDD", *FIXED_EXPONENTS, *WEIGHTINGS)
"""Methods of the first table whose model has a radius."""


def solved_again(
    kernels: SplitKernels, name: str, cell: JudgedCell
) -> tuple[np.ndarray, Problem, Solution]:
    """Return the rows with weight, the problem of a chosen cell on them, and its solution."""
    params: dict[str, Any] = dict(cell.params)
    cost, p = params.pop("C"), params.pop("p", FIXED_EXPONENTS.get(name, 1.0))
    weights = np.ones(len(kernels.y))
    if name in WEIGHTINGS:
        weights = kernel_weights(WEIGHTINGS[name], kernels, **params)
    kept = np.flatnonzero(weights > 0.0)
    K = kernels.K[np.ix_(kept, kept)]
    problem = Problem(K, p=p, c=cost * weights[kept])
    return kept, problem, solve(K, p=p, c=problem.cost)


def decision_rates(distances: np.ndarray, surface: float, y: np.ndarray) -> tuple[float, float]:
    """Return the shares of targets that are rejected and of outliers that are accepted."""
    inside = distances <= surface
    return float(np.mean(~inside[y > 0])), float(np.mean(inside[y < 0]))


def row_of(name: str, trial: Trial, cell: JudgedCell) -> Row:
    """Return radius, shares of the training rows, and what two surfaces decide on the test rows."""
    kernels, m = trial.kernels, len(trial.y_validation)
    kept, problem, found = solved_again(kernels, name, cell)
    alpha = np.zeros(len(kernels.y))
    alpha[kept] = found.alpha
    d_test = -distance_scores(kernels, alpha[:, None])[m:, 0]
    d = kernels.diag - 2.0 * kernels.K @ alpha + alpha @ kernels.K @ alpha
    rows = np.flatnonzero(alpha)
    calibrated = surface_at(
        problem, found.alpha, found.distances, found.slack, REJECTED_SHARE,
        kernel_of_support=kernels.K[np.ix_(rows, rows)],
    )  # fmt: skip
    outside, support = outside_and_support(d, found.radius_sq, alpha)
    reject, accept = decision_rates(d_test, found.radius_sq, trial.y_test)
    reject_cal, accept_cal = decision_rates(d_test, calibrated, trial.y_test)
    return {
        "method": name, "p": round(found.p, 4), "auc": cell.auc,
        "empty": bool(found.radius_sq < 0.0), "outside": outside, "support": support,
        "reject": reject, "accept": accept, "reject_calibrated": reject_cal,
        "accept_calibrated": accept_cal,
    }  # fmt: skip


def unchosen_rows(trial: Trial) -> list[Row]:
    """Return models at nu = 0.1 and the width of the protocol, which no label has chosen."""
    kernels, m = trial.kernels, len(trial.y_validation)
    own = {"nu": REJECTED_SHARE, "kernel": "precomputed"}
    models = {
        "LpSVDD(nu=0.1), ball": LpSVDD(surface="ball", **own),
        "LpSVDD(nu=0.1)": LpSVDD(surface="leave-one-out", **own),
        "OneClassSVM(nu=0.1)": OneClassSVM(**own),
    }
    rows = []
    for name, model in models.items():
        accepted = model.fit(kernels.K).predict(kernels.K_eval[m:]) > 0
        reject, accept = (~accepted[trial.y_test > 0]).mean(), accepted[trial.y_test < 0].mean()
        rows.append({"method": name, "reject": float(reject), "accept": float(accept)})
    return rows


@study(
    "What do the chosen models accept and reject, and how many of their balls are empty?",
    trials=5,
    parameters={"deciders": DECIDERS, "share": REJECTED_SHARE},
)
def decisions(task: Task) -> list[Row]:
    """Return one row a method: the decision of the model that validation chose, targets only."""
    trial = prepare(task)
    rows = []
    for name in DECIDERS:
        cell = chosen(judge(trial, METHODS["pure", name].run(trial.kernels)))
        if cell is not None:
            rows.append(row_of(name, trial, cell))
    where = {"dataset": task.dataset, "trial": task.trial}
    return [
        where | {key: round(v, 4) if isinstance(v, float) else v for key, v in row.items()}
        for row in rows + unchosen_rows(trial)
    ]
