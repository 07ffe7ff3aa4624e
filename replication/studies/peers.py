"""Do detectors of scikit-learn, PyOD and this package keep the rate that they are asked for?

The plan is ``plans/peers.md``. PyOD is in no environment of the project, as it brings a compiler:
install it to run this study again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from lpsvdd import LpSVDD
from replication.runner import Row
from replication.studies.study import Named, study

PEER_RATE = 0.1
PEER_SIZES = (50, 200, 800)
NEW_ROWS = 2000
PEER_DRAWS = {"rate": 40, "ranking": 20}
NORMAL_CLASS = {"breast_cancer": 1, "wine": 1, "digits": 8}


def ring(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return n points near the unit circle."""
    angle, radius = rng.uniform(0, 2 * np.pi, n), 1 + 0.1 * rng.normal(size=n)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


SOURCES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "gaussian": lambda rng, n: rng.normal(size=(n, 8)),
    "ring": ring,
    "counts": lambda rng, n: rng.poisson(2.0, size=(n, 4)).astype(float),  # many rows are equal
}


@dataclass(frozen=True)
class PeerTask(Named):
    """One draw of one data source."""

    kind: str
    data: str
    size: int
    draw: int


def peer_tasks(names: list[str], trials: int) -> list[PeerTask]:
    """Return all draws: of the sources for the rate, of scikit-learn's data for the ranking."""
    del names, trials  # the plan fixes both
    cells = [("rate", source, size) for source in SOURCES for size in PEER_SIZES]
    cells += [("ranking", name, 0) for name in NORMAL_CLASS]
    return [PeerTask(*cell, draw) for cell in cells for draw in range(PEER_DRAWS[cell[0]])]


def library_peers() -> Iterator[tuple[str, Any, int]]:
    """Yield name, unfitted detector and sign: +1 where a high score means normal."""
    yield "LpSVDD", LpSVDD(nu=PEER_RATE), 1
    yield "OneClassSVM", OneClassSVM(nu=PEER_RATE), 1
    yield "LocalOutlierFactor", LocalOutlierFactor(novelty=True, contamination=PEER_RATE), 1
    yield "IsolationForest", IsolationForest(contamination=PEER_RATE, random_state=0), 1


def pyod_peers() -> Iterator[tuple[str, Any, int]]:
    """Yield the detectors of PyOD in the same manner."""
    from pyod.models.ecod import ECOD
    from pyod.models.knn import KNN

    yield "PyOD KNN", KNN(contamination=PEER_RATE), -1
    yield "PyOD ECOD", ECOD(contamination=PEER_RATE), -1


def peer_data(task: PeerTask) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return training rows, new normal rows and other rows of a draw."""
    rng = np.random.default_rng([task.draw, task.size, sum(task.data.encode())])
    if task.kind == "rate":
        rows = SOURCES[task.data](rng, task.size + NEW_ROWS)
        return rows[: task.size], rows[task.size :], rows[:0]
    X, y = getattr(datasets, f"load_{task.data}")(return_X_y=True)
    normal = rng.permutation(X[y == NORMAL_CLASS[task.data]])
    half = len(normal) // 2
    return normal[:half], normal[half:], X[y != NORMAL_CLASS[task.data]]


def peer_rows(task: PeerTask, peers: Iterable[tuple[str, Any, int]]) -> list[Row]:
    """One row a detector: per cent of new normal rows flagged, or the AUC in per cent."""
    train, new, others = peer_data(task)
    scaler = StandardScaler().fit(train)
    train, new = scaler.transform(train), scaler.transform(new)
    rows = []
    for name, model, sign in peers:
        model.fit(train)
        if task.kind == "rate":
            value = 100 * np.mean(model.predict(new) == -sign)
        else:
            scored = sign * model.decision_function(np.vstack([new, scaler.transform(others)]))
            value = 100 * roc_auc_score(np.arange(len(scored)) < len(new), scored)
        where = {"task": task.kind, "data": task.data, "n": len(train), "draw": task.draw}
        rows.append(where | {"detector": name, "value": round(float(value), 3)})
    return rows


@study(
    "Do detectors keep the rate that they are asked for, beside how they rank?",
    tasks=peer_tasks,
    names=(),
    trials=1,
    parameters={"rate": PEER_RATE, "sizes": PEER_SIZES, "draws": PEER_DRAWS, "data": NORMAL_CLASS},
)
def peers(task: PeerTask) -> list[Row]:
    """Rows of all six detectors."""
    return peer_rows(task, [*library_peers(), *pyod_peers()])
