"""Rows on both sides of a split: what drawing with replacement before it does to an AUC.

The plan is ``plans/duplicates.md``; the sets are those of ADBench (``replication.anomaly_sets``).
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.svm import OneClassSVM

from lpsvdd import LpSVDD, LpSVDDCV
from replication import anomaly_sets
from replication.preprocessing import shared_rows
from replication.protocol import auc, trial_seed
from replication.store import Row
from replication.studies.study import study
from replication.studies.tables import Neighbours, TableTask, fitted, standardised

FIRST, MOST_TRAIN, MOST_TEST, DRAWN = 20, 300, 1000, 1000
NAMES = tuple(anomaly_sets.records().index)
AS_THEY_ARE, WITHOUT, DRAWN_TWICE = "as they are", "without shared rows", "drawn with replacement"


def tasks(names: list[str], trials: int) -> list[TableTask]:
    """Splits that no other study has used."""
    anomaly_sets.require(names)
    return [TableTask(name, FIRST + trial) for name in names for trial in range(trials)]


def drawn(task: TableTask, way: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows, test rows and labels of the test rows, +1 for normal ones."""
    X, anomaly = anomaly_sets.load(task.dataset)
    rng = np.random.default_rng(trial_seed(task.dataset, task.trial))
    if way == DRAWN_TWICE:
        some = rng.choice(len(X), DRAWN)
        X, anomaly = X[some], anomaly[some]
    normal, foreign = (rng.permutation(np.flatnonzero(one)) for one in (~anomaly, anomaly))
    n = min(len(normal) // 2, MOST_TRAIN)
    parts = normal[n:][:MOST_TEST], foreign[:MOST_TEST]
    y = np.repeat([1, -1], [len(part) for part in parts])
    return X[normal[:n]], X[np.concatenate(parts)], y


@study(
    "What do rows on both sides of a split do to an AUC?",
    tasks=tasks, names=NAMES, trials=3,
    parameters={"most_train": MOST_TRAIN, "most_test": MOST_TEST, "drawn": DRAWN, "first": FIRST},
)  # fmt: skip
def duplicates(task: TableTask) -> list[Row]:
    """One row a way and detector: AUC, and per cent of normal test rows that stand in training."""
    rows: list[Row] = []
    small = bool(anomaly_sets.records()["rows"][task.dataset] < DRAWN)
    for way in (AS_THEY_ARE, WITHOUT, *[DRAWN_TWICE] * small):
        train, test, y = drawn(task, way)
        shared = shared_rows(train, test)
        where = {"dataset": task.dataset, "trial": task.trial, "way": way}
        where["shared"] = round(100 * float(shared[y > 0].mean()), 2)
        kept = ~shared if way == WITHOUT else np.full(len(y), True)
        if len(set(y[kept])) < 2:  # every row of a kind stands in training
            continue
        detectors = {
            "LpSVDDCV": LpSVDDCV(random_state=task.trial),
            "LpSVDD()": LpSVDD(),
            "1 nearest neighbour": Neighbours(1),
            "5 nearest neighbours": Neighbours(5),
            "OneClassSVM()": OneClassSVM(),
            "isolation forest": IsolationForest(random_state=task.trial),
        }
        data = standardised(train, test[kept], y[kept])
        for name, detector in detectors.items():
            scores = fitted(detector, data.train)[0].score_samples(data.test)
            rows.append(where | {"method": name, "auc": round(auc(scores, data.y), 4)})
    return rows
