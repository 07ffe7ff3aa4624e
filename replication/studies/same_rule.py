r"""Everybody tuned by one criterion: `LpSVDDCV` beside detectors that choose by its own rule.

The folds and the ten kinds of artificial outliers are those that `LpSVDDCV` makes for itself. On
each fold every candidate of every detector is fitted, and the mean AUC of the held-out rows against
the kinds chooses: k of the nearest neighbours, the width of Parzen windows and of `OneClassSVM`
(the seven widths of `LpSVDDCV`, nu = 0.1). Beside them stand defaults: `LpSVDD()`,
`OneClassSVM()`, five neighbours and one, and a kernel density with Scott's width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.neighbors import KernelDensity
from sklearn.svm import OneClassSVM

from lpsvdd import LpSVDD, LpSVDDCV
from lpsvdd.baselines import KernelMean
from lpsvdd.selection import CRITERIA, Fold
from lpsvdd.selection._search import WIDTHS
from replication import anomaly_sets
from replication.store import Row
from replication.studies.anomaly import FRESH_NAMES, NAMES
from replication.studies.novelty import MASTER_SEED, AnomalyTask, Neighbours, judged, split
from replication.studies.study import study

NEIGHBOURS = (1, 2, 3, 5, 10, 20)
SHARE = 0.1
MOST_TRAIN, MOST_TEST = 400, 1000
FIRST_FRESH, FIRST_SEEN = 3, 10
"""Numbers of the first splits that ``anomaly_fresh`` and ``anomaly`` did not use."""
CRITERION = CRITERIA["artificial-outliers"]


def tasks(names: list[str], trials: int) -> list[AnomalyTask]:
    """Splits of every set that no other study has used."""
    anomaly_sets.require(names)
    return [
        AnomalyTask(name, trial + (FIRST_FRESH if name in FRESH_NAMES else FIRST_SEEN))
        for name in names
        for trial in range(trials)
    ]


def searched(X: np.ndarray, seed: int) -> tuple[LpSVDDCV, list[Fold]]:
    """`LpSVDDCV` fitted to the rows, and the folds it has made."""
    folds: dict[int, Fold] = {}

    def note(fold: Fold, model: Any, held_out: np.ndarray) -> float:
        folds[id(fold)] = fold
        return CRITERION(fold, model, held_out)

    return LpSVDDCV(criterion=note, random_state=seed).fit(X), list(folds.values())


def best(make: Callable[[Any], Any], values: Iterable[Any], folds: list[Fold]) -> Any:
    """The value with the largest mean criterion over the folds; the first one among equals."""

    def mean(value: Any) -> float:
        found = [CRITERION(fold, make(value).fit(fold.X), fold.held_out) for fold in folds]
        return float(np.mean(found))

    return max(values, key=mean)


@study(
    "Is LpSVDDCV above detectors that are tuned by the same criterion?",
    tasks=tasks,
    names=(*FRESH_NAMES, *NAMES),
    trials=2,
    parameters={
        "most_train": MOST_TRAIN, "most_test": MOST_TEST, "master_seed": MASTER_SEED,
        "k": NEIGHBOURS, "widths": WIDTHS, "nu": SHARE,
    },
)  # fmt: skip
def same_rule(task: AnomalyTask) -> list[Row]:
    """One row a detector: tuned by the common criterion, or with its defaults."""
    data = split(task, MOST_TRAIN, MOST_TEST)
    X, seed = data.train, task.trial
    search, folds = searched(X, seed)
    gammas = [one["gamma"] for one in search.cv_results_["params"]]
    families: dict[str, tuple[Callable[[Any], Any], Iterable[Any]]] = {
        "nearest neighbours, k chosen": (Neighbours, NEIGHBOURS),
        "Parzen, width chosen": (lambda gamma: KernelMean(gamma=gamma), gammas),
        "OneClassSVM, width chosen": (lambda gamma: OneClassSVM(nu=SHARE, gamma=gamma), gammas),
    }
    detectors: dict[str, Any] = {
        "LpSVDDCV": search.best_estimator_,
        "p = 1, width chosen": LpSVDD(p=1.0, nu=SHARE, gamma=search.best_params_["gamma"]),
    }
    for name, (make, values) in families.items():
        detectors[name] = make(best(make, values, folds))
    detectors |= {
        "LpSVDD()": LpSVDD(),
        "OneClassSVM()": OneClassSVM(),
        "5 nearest neighbours": Neighbours(5),
        "1 nearest neighbour": Neighbours(1),
        "Parzen, Scott's width": KernelDensity(bandwidth="scott"),
    }
    where = {"dataset": task.dataset, "trial": task.trial, "n_train": len(X)}
    return [
        where | {"method": name, "auc": judged(name, detector, data)[1]["auc"]}
        for name, detector in detectors.items()
    ]
