r"""The novelty protocol on anomaly sets: splits, and the detectors that are compared on them.

Half of the normal rows of a set, at most ``MOST_TRAIN``, train; other normal rows and anomalies
test; columns standardised with the mean and deviation of the training rows; AUC in percent.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import skew
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import KernelDensity, LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM

from lpsvdd import LpSVDD
from replication import anomaly_sets
from replication.protocol import auc
from replication.store import Row

MASTER_SEED = 14
MOST_TRAIN, MOST_TEST = 1000, 2500  # test: of normal rows, and of anomalies
NEIGHBOURS = 5


@dataclass(frozen=True)
class AnomalyTask:
    """One split of one set, with a share of anomalies (per cent) among the training rows."""

    dataset: str
    trial: int
    contaminated: int = 0

    @property
    def key(self) -> str:
        """Name of the file that holds the result."""
        return f"{self.dataset}-{self.trial:03d}-{self.contaminated}"


@dataclass(frozen=True)
class Split:
    """Standardised rows of a split; ``y`` is +1 for the normal test rows and -1 for anomalies."""

    train: np.ndarray
    test: np.ndarray
    y: np.ndarray


def tasks(names: list[str], trials: int) -> list[AnomalyTask]:
    """Every split of every set; what is not there shows before anything is computed."""
    anomaly_sets.require(names)
    return [AnomalyTask(name, trial) for name in names for trial in range(trials)]


def train_size(normal: int, most: int) -> int:
    return min(normal // 2, most)


def foreign_rows(n: int, share: int) -> int:
    """Number of anomalies among n training rows."""
    return round(share * n / 100)


@lru_cache(maxsize=1)
def _loaded(name: str) -> tuple[np.ndarray, np.ndarray]:
    return anomaly_sets.load(name)


def split(task: AnomalyTask, most_train: int = MOST_TRAIN, most_test: int = MOST_TEST) -> Split:
    """The rows of a task. Splits with and without contamination share their clean rows."""
    X, anomaly = _loaded(task.dataset)
    rng = np.random.default_rng([MASTER_SEED, anomaly_sets.find(task.dataset).number, task.trial])
    normal = rng.permutation(np.flatnonzero(~anomaly))
    foreign = rng.permutation(np.flatnonzero(anomaly))
    n = train_size(len(normal), most_train)
    k = foreign_rows(n, task.contaminated)
    train = np.concatenate([normal[: n - k], foreign[:k]])
    parts = normal[n:][:most_test], foreign[k:][:most_test]
    mean, deviation = X[train].mean(axis=0), X[train].std(axis=0)
    scale = np.where(deviation > 0.0, deviation, 1.0)
    y = np.repeat([1, -1], [len(part) for part in parts])
    return Split((X[train] - mean) / scale, (X[np.concatenate(parts)] - mean) / scale, y)


# -- contestants: a detector of the training rows, then scores, high for normal rows --------------


class Neighbours:
    """Minus the distance to the k-th nearest training row."""

    def __init__(self, k: int = NEIGHBOURS) -> None:
        self.k = k

    def fit(self, X: np.ndarray) -> Neighbours:
        """Remember the rows."""
        self.index_ = NearestNeighbors(n_neighbors=min(self.k, len(X))).fit(X)
        return self

    def score_samples(self, X: np.ndarray) -> np.ndarray:
        """High for rows in company."""
        return -self.index_.kneighbors(X)[0][:, -1]


class Ecod:
    r"""ECOD (Li et al., 2022): columns one by one, by how far out in their tails a row lies.

    With F(x) = (1 + number of training values <= x)/(n + 1) of a column and G the same for >=, a
    column counts max(-log F, -log G, the one of the longer tail). PyOD's class gives the same for
    one new row, but pools all rows that are scored together with the training rows; in the novelty
    protocol half of them may be anomalies, so the distribution here is that of the training rows.
    """

    def fit(self, X: np.ndarray) -> Ecod:
        """Keep the sorted columns and the side of their longer tail."""
        self.columns_ = np.sort(X, axis=0)
        self.side_ = np.sign(np.nan_to_num(skew(X, axis=0)))
        return self

    def score_samples(self, X: np.ndarray) -> np.ndarray:
        """Minus the sum over the columns."""
        n, total = len(self.columns_), np.zeros(len(X))
        for column, side, x in zip(self.columns_.T, self.side_, X.T, strict=True):
            left = -np.log((1 + np.searchsorted(column, x, "right")) / (n + 1))
            right = -np.log((1 + n - np.searchsorted(column, x, "left")) / (n + 1))
            tail = right if side > 0 else left if side < 0 else left + right
            total += np.maximum(np.maximum(left, right), tail)
        return -total


def others(seed: int) -> dict[str, Any]:
    """Detectors that do not depend on the width that was chosen."""
    return {
        "LpSVDD defaults": LpSVDD(),
        "OneClassSVM": OneClassSVM(),
        "nearest neighbours": Neighbours(),
        "local outlier factor": LocalOutlierFactor(novelty=True),
        "isolation forest": IsolationForest(random_state=seed),
        "ECOD": Ecod(),
        "kernel density": KernelDensity(bandwidth="scott"),
    }


def judged(name: str, detector: Any, data: Split) -> tuple[Any, Row]:
    """The detector after its fit, and its row of the table."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector.fit(data.train)
        fitted = time.process_time()
        scores = detector.score_samples(data.test)
    end = time.process_time()
    best = getattr(detector, "best_estimator_", detector)
    row = {
        "method": name,
        "auc": round(auc(scores, data.y), 4),
        "gap": getattr(best, "duality_gap_", None),
        "fit_seconds": round(fitted - start, 4),
        "score_seconds": round(end - fitted, 4),
    }
    return detector, row
