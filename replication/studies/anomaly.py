r"""Choosing width and share without outliers, on twenty-two public anomaly sets.

The plan is ``plans/anomaly.md``. Novelty protocol: half of the normal rows of a set, at most
``MOST_TRAIN``, train; other normal rows and anomalies test; columns standardised with the mean and
deviation of the training rows; AUC in percent. A width is a multiple of 1/(sum of the variances).

    anomaly               every contestant                                      -> anomaly.csv
    anomaly_contaminated  with anomalies among the training rows   -> anomaly_contaminated.csv
    anomaly_criteria      every criterion and the test AUC, width by width -> anomaly_criteria.csv
    anomaly_grid          AUC for every p, share and width                 -> anomaly_grid.csv

The sets are not part of the project: ``replication.adbench`` says where they come from.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import skew
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import KernelDensity, LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM

from lpsvdd import LpSVDD, LpSVDDCV
from lpsvdd.baselines import KernelMean
from lpsvdd.selection import CRITERIA, KINDS, Fold
from lpsvdd.selection._criteria import auc as share_above
from replication import adbench
from replication.protocol import auc
from replication.store import Row
from replication.studies.study import study

MASTER_SEED = 14
MOST_TRAIN, MOST_TEST = 1000, 2500  # test: of normal rows, and of anomalies
NEIGHBOURS = 5
FIXED_EXPONENTS = (1.0, 1.2, 2.0, 5.0)
SPLITS, CONTAMINATED_SPLITS = 10, 1
CONTAMINATION = (0, 5, 10, 20)  # per cent of the training rows
CONTAMINATED_TRAIN = 500
CRITERIA_SPLITS, GRID_SPLITS = 2, 1
WIDTHS = tuple(2.0**k for k in range(-1, 8))
"""Widths that criteria are judged on: beyond the automatic grid of LpSVDDCV at both ends."""
GRID_TRAIN = 300
GRID_WIDTHS, GRID_SHARES = tuple(2.0**k for k in range(-1, 7)), (0.02, 0.1, 0.3)
NAMES = tuple(one.name for one in adbench.SETS)
SIZES = {"most_train": MOST_TRAIN, "most_test": MOST_TEST, "master_seed": MASTER_SEED}


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
    """Every split of every set; what is not in the folder shows before anything is computed."""
    here = adbench.present(adbench.folder())
    missing = [name for name in names if name not in here]
    if missing:
        raise adbench.AnomalyDataError(f"the folder lacks {', '.join(missing)}")
    return [AnomalyTask(name, trial) for name in names for trial in range(trials)]


def tasks_with_contamination(names: list[str], trials: int) -> list[AnomalyTask]:
    """Every split with every share of anomalies, for the sets that can give the largest."""
    return [
        AnomalyTask(task.dataset, task.trial, share)
        for task in tasks(names, trials)
        if enough_anomalies(adbench.find(task.dataset), max(CONTAMINATION))
        for share in CONTAMINATION
    ]


def enough_anomalies(one: adbench.AnomalySet, share: int) -> bool:
    """Whether half of the anomalies or fewer make up that share of the training rows."""
    n = _train_size(one.rows - one.anomalies, CONTAMINATED_TRAIN)
    return 2 * _foreign(n, share) <= one.anomalies


def _train_size(normal: int, most: int) -> int:
    return min(normal // 2, most)


def _foreign(n: int, share: int) -> int:
    """Number of anomalies among n training rows."""
    return round(share * n / 100)


@lru_cache(maxsize=1)
def _loaded(name: str) -> tuple[np.ndarray, np.ndarray]:
    return adbench.load(name)


def split(task: AnomalyTask, most_train: int = MOST_TRAIN, most_test: int = MOST_TEST) -> Split:
    """The rows of a task. Splits with and without contamination share their clean rows."""
    X, anomaly = _loaded(task.dataset)
    rng = np.random.default_rng([MASTER_SEED, adbench.find(task.dataset).number, task.trial])
    normal = rng.permutation(np.flatnonzero(~anomaly))
    foreign = rng.permutation(np.flatnonzero(anomaly))
    n = _train_size(len(normal), most_train)
    k = _foreign(n, task.contaminated)
    train = np.concatenate([normal[: n - k], foreign[:k]])
    parts = normal[n:][:most_test], foreign[k:][:most_test]
    mean, deviation = X[train].mean(axis=0), X[train].std(axis=0)
    scale = np.where(deviation > 0.0, deviation, 1.0)
    y = np.repeat([1, -1], [len(part) for part in parts])
    return Split((X[train] - mean) / scale, (X[np.concatenate(parts)] - mean) / scale, y)


# -- contestants: a detector of the training rows, then scores, high for normal rows --------------


class Neighbours:
    """Minus the distance to the fifth nearest training row."""

    def fit(self, X: np.ndarray) -> Neighbours:
        """Remember the rows."""
        self.index_ = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(X))).fit(X)
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


def _judged(name: str, detector: Any, data: Split) -> tuple[Any, Row]:
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
    search, row = _judged("LpSVDDCV", LpSVDDCV(random_state=seed), data)
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
        rows.append(_judged(name, detector, data)[1])
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
        _, row = _judged("", LpSVDD(nu=0.1, gamma=gamma), data)
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
        _, row = _judged("", detector, data)
        where = {"dataset": task.dataset, "trial": task.trial, "p": p, "nu": nu, "width": width}
        rows.append(where | {"auc": row["auc"], "gap": row["gap"]})

    for width, gamma in zip(GRID_WIDTHS, _gammas(data, GRID_WIDTHS), strict=True):
        for p in FIXED_EXPONENTS:
            for nu in GRID_SHARES:
                add(p, nu, width, LpSVDD(p=p, nu=nu, gamma=gamma, tol=1e-7))
        add(None, None, width, KernelMean(gamma=gamma))
    return rows
