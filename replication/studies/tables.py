r"""Hundreds of other tables: what p, the choice of width and a promised rate are worth there.

The plan is ``plans/tables.md``; ``replication.table_sets`` says where the tables come from. A draw
has at most 300 distinct training rows and at most 500 test rows of each kind, none of which stands
in training; standardised with the training rows.

    tables_exponents     AUC and ranking of every p at three widths and three shares
    tables_contest       every detector, and LpSVDD at every width with what chooses it
    tables_rates         share of new normal rows rejected where 5 or 10 % are wanted
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import rankdata, skew
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import KernelDensity, LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM

from lpsvdd import ConformalDetector, LpSVDD, LpSVDDCV
from lpsvdd.kernels import kernel_matrix, resolve_gamma
from lpsvdd.selection import CRITERIA, KINDS, Fold
from lpsvdd.selection._folds import FoldModel, likelihood
from lpsvdd.selection._folds import ranking_auc as share_above
from lpsvdd.selection._search import WIDTH_MULTIPLES
from replication import table_sets
from replication.baselines import KernelMean
from replication.preprocessing import shared_rows
from replication.protocol import auc, trial_seed
from replication.runner import Row
from replication.share import solve_share
from replication.studies.study import Named, study

SEED = 25
MOST_TRAIN, MOST_TEST = 300, 500
TABLE_EXPONENTS, TABLE_SHARES = (1.0, 1.2, 2.0, 5.0, 20.0), (0.05, 0.1, 0.3)
RULES = ("quarter-mean-distance", "scale")
NEIGHBOURS, TABLE_SHARE = (1, 2, 3, 5, 10, 20), 0.1
CRITERION = CRITERIA["artificial-outliers"]
WANTED_RATES = (0.05, 0.1)
DESIGN, JUDGED = table_sets.names("design"), table_sets.names("judged")
TABLE_SIZES = {"seed": SEED, "most_train": MOST_TRAIN, "most_test": MOST_TEST}


@dataclass(frozen=True)
class TableTask(Named):
    """One draw of a table."""

    dataset: str
    trial: int = 0


@dataclass(frozen=True)
class TableSplit:
    """Standardised rows of a draw; ``y`` is +1 for the normal test rows and -1 for anomalies."""

    train: np.ndarray
    test: np.ndarray
    y: np.ndarray


def table_tasks(names: list[str], trials: int, first: int = 0) -> list[TableTask]:
    """Return every draw of every table, from the number ``first`` on."""
    table_sets.tables_folder()  # a folder that is not there shows before anything is computed
    return [TableTask(name, trial) for trial in range(first, first + trials) for name in names]


later_tasks = partial(table_tasks, first=1)
"""Draws that the first table study has not looked at."""


def draw(task: TableTask) -> TableSplit:
    """Return the rows of a task, normal rows first."""
    train, test, anomaly = table_sets.load_table(task.dataset)
    rng = np.random.default_rng([SEED, trial_seed(task.dataset, task.trial)])
    X = rng.permutation(np.unique(train, axis=0))[:MOST_TRAIN]
    new = ~shared_rows(train, test)
    normal, foreign = (test[rng.permutation(np.flatnonzero(new & y))] for y in (~anomaly, anomaly))
    parts = normal[:MOST_TEST], foreign[:MOST_TEST]
    y = np.repeat([1, -1], [len(part) for part in parts])
    return standardised(X, np.vstack(parts), y)


def as_they_come(task: TableTask) -> tuple[TableSplit, np.ndarray]:
    """Return the rows of a task for rates, copies and all, and which test rows are anomalies."""
    train, test, anomaly = table_sets.load_table(task.dataset)
    rng = np.random.default_rng([SEED, trial_seed(task.dataset, task.trial)])
    X = rng.permutation(train)[:MOST_TRAIN]
    return standardised(X, test, np.where(anomaly, -1, 1)), anomaly


def standardised(X: np.ndarray, test: np.ndarray, y: np.ndarray) -> TableSplit:
    """Return rows in units of the training rows' deviations."""
    deviation = X.std(axis=0)
    scale = np.where(deviation > 1e-9 * np.abs(X).max(axis=0), deviation, 1.0)
    return TableSplit((X - X.mean(axis=0)) / scale, (test - X.mean(axis=0)) / scale, y)


def properties(task: TableTask, data: TableSplit) -> Row:
    """Describe a table, for the question when a choice pays."""
    train = table_sets.load_table(task.dataset)[0]
    X, low, high = data.train, data.train.min(axis=0), data.train.max(axis=0)
    beyond = ((data.test < low) | (data.test > high)).any(axis=1)
    return {
        "dataset": task.dataset, "trial": task.trial, "rows": len(X), "features": X.shape[1],
        "anomalies": int((data.y < 0).sum()),
        "few_values": round(float(np.mean([len(np.unique(x)) <= 10 for x in X.T])), 3),
        "copies": round(1.0 - len(np.unique(train, axis=0)) / len(train), 3),
        "outside": round(float(beyond[data.y < 0].mean()), 3),
    }  # fmt: skip


def timed_fit(detector: Any, X: np.ndarray) -> tuple[Any, float]:
    """Return the detector after its fit, and the processor seconds it took."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector.fit(X)
    return detector, round(time.process_time() - start, 4)


def halves(y: np.ndarray) -> list[np.ndarray]:
    """Return two halves of the test rows, each with both kinds."""
    place = np.concatenate([np.arange((y > 0).sum()), np.arange((y < 0).sum())])
    return [place % 2 == k for k in (0, 1)]


def aucs_of_parts(scores: np.ndarray, y: np.ndarray) -> Row:
    """Return AUC of all test rows, and of each half."""
    parts = [auc(scores[half], y[half]) for half in halves(y)]
    return dict(zip(("auc", "first", "second"), np.round([auc(scores, y), *parts], 3), strict=True))


class NeighbourDistance:
    """Minus the distance to the k-th nearest training row."""

    def __init__(self, k: int) -> None:
        self.k = k

    def fit(self, X: np.ndarray) -> NeighbourDistance:
        """Remember the rows."""
        self.index_ = NearestNeighbors(n_neighbors=min(self.k, len(X))).fit(X)
        return self

    def score_samples(self, X: np.ndarray) -> np.ndarray:
        """Return scores that are high for rows with near neighbours."""
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
        """Return minus the sum over the columns."""
        n, total = len(self.columns_), np.zeros(len(X))
        for column, side, x in zip(self.columns_.T, self.side_, X.T, strict=True):
            left = -np.log((1 + np.searchsorted(column, x, "right")) / (n + 1))
            right = -np.log((1 + n - np.searchsorted(column, x, "left")) / (n + 1))
            tail = right if side > 0 else left if side < 0 else left + right
            total += np.maximum(np.maximum(left, right), tail)
        return -total


# -- question 1: p at the same width and share -----------------------------------------------------


@study(
    "What is p worth at the same width and share?",
    tasks=table_tasks, names=DESIGN + JUDGED, trials=1,
    parameters=TABLE_SIZES | {"p": TABLE_EXPONENTS, "shares": TABLE_SHARES, "rules": RULES},
)  # fmt: skip
def tables_exponents(task: TableTask) -> list[Row]:
    """Return one row a width and share: AUC of every p and of the mean, correlation with p = 2."""
    data = draw(task)
    chosen = timed_fit(LpSVDDCV(random_state=task.trial), data.train)[0].best_params_["gamma"]
    widths = {rule: resolve_gamma(rule, data.train) for rule in RULES} | {"chosen": chosen}
    head, rows = properties(task, data), []
    for width, gamma in widths.items():
        K, Kz = (kernel_matrix(rows, data.train, gamma=gamma) for rows in (data.train, data.test))
        mean = KernelMean(gamma=gamma).fit(data.train).score_samples(data.test)
        for share in TABLE_SHARES:
            balls = {f"{p:g}": solve_share(K, p=p, nu=share).solution for p in TABLE_EXPONENTS}
            scores = {name: Kz @ ball.centre for name, ball in balls.items()} | {"mean": mean}
            found = {name: aucs_of_parts(one, data.y) for name, one in scores.items()}
            ranks = {name: rankdata(one) for name, one in scores.items()}
            row = head | {"width": width, "share": share, "gain": label_gain(found)}
            row |= {f"auc_{name}": one["auc"] for name, one in found.items()}
            row |= {
                f"rank_{name}": round(float(np.corrcoef(one, ranks["2"])[0, 1]), 5)
                for name, one in ranks.items()
                if name != "2" and np.ptp(one) > 0.0 and np.ptp(ranks["2"]) > 0.0
            }
            rows.append(row)
    return rows


def label_gain(found: Mapping[str, Row]) -> float:
    """Return what the exponent that half of the test rows chooses gains over p = 2 on the rest."""
    some = {name: one for name, one in found.items() if name != "mean"}
    gains = []
    for ask, judge in (("first", "second"), ("second", "first")):
        top = max(some, key=lambda name: (some[name][ask], name == "2"))
        gains.append(some[top][judge] - some["2"][judge])
    return round(float(np.mean(gains)), 3)


# -- question 2: the choice of width ---------------------------------------------------------------


def searched_width(X: np.ndarray, seed: int) -> tuple[LpSVDDCV, list[Fold], float]:
    """Return `LpSVDDCV` after its fit, its folds, and its seconds without our notes."""
    search, seconds = timed_fit(LpSVDDCV(random_state=seed), X)
    folds: dict[int, Fold] = {}

    def note(fold: Fold, model: Any, held_out: np.ndarray) -> float:
        folds[id(fold)] = fold
        return 0.0

    LpSVDDCV(random_state=seed, gammas=[1.0], criterion=note).fit(X)
    return search, list(folds.values()), seconds


def kinds_of(fold: Fold, gamma: float) -> tuple[list[float], float]:
    """Return the held-out rows' AUC against each kind of artificial outliers, and likelihood."""
    model = FoldModel(nu=TABLE_SHARE, gamma=gamma, tol=1e-6).fit_fold(fold)
    normal = model.score_samples(fold.held_out)
    parts = np.split(model.score_samples(fold.all_outliers), len(fold.outliers))
    return [share_above(normal, part) for part in parts], likelihood(fold, model, fold.held_out)


@study(
    "Is the choice of width worth its time, and when does it cost?",
    tasks=table_tasks, names=DESIGN + JUDGED, trials=1,
    parameters=TABLE_SIZES | {"k": NEIGHBOURS, "widths": WIDTH_MULTIPLES, "nu": TABLE_SHARE},
)  # fmt: skip
def tables_contest(task: TableTask) -> list[Row]:
    """Return one row a detector; those of LpSVDD at a width have the criteria of that width too.

    ``evidence`` is the criterion minus that of the default width, over its standard error.
    """
    data = draw(task)
    X, head = data.train, properties(task, data)
    search, folds, seconds = searched_width(X, task.trial)
    gammas = [one["gamma"] for one in search.cv_results_["params"]]
    rows: list[Row] = []

    def add(name: str, detector: Any, spent: float | None, **further: Any) -> None:
        found = aucs_of_parts(detector.score_samples(data.test), data.y)
        rows.append(head | {"method": name, "seconds": spent} | found | further)

    add("LpSVDDCV", search, seconds)
    default = LpSVDD()
    spent = timed_fit(default, X)[1]
    own = [kinds_of(fold, default.gamma_) for fold in folds]
    for width, gamma in [("default", default.gamma_), *zip(WIDTH_MULTIPLES, gammas, strict=True)]:
        found = own if width == "default" else [kinds_of(fold, gamma) for fold in folds]
        values = np.array([kinds for kinds, _ in found])
        more = (values - np.array([kinds for kinds, _ in own])).ravel()
        error = more.std(ddof=1) / math.sqrt(len(more))
        criteria = {
            "evidence": round(float(more.mean() / error), 3) if error > 0.0 else 0.0,
            "criterion": round(float(values.mean()), 5),
            "likelihood": round(float(np.mean([value for _, value in found])), 4),
            **dict(zip(KINDS, np.round(values.mean(axis=0), 4), strict=True)),
        }
        if width == "default":
            add("LpSVDD()", default, spent, width="default", **criteria)
        else:
            model = LpSVDD(nu=TABLE_SHARE, gamma=gamma)
            add(f"width {width:g}", model, timed_fit(model, X)[1], width=f"{width:g}", **criteria)
    for name, (make, values) in tuned_families(gammas).items():
        start = time.process_time()
        made = make(best_by_criterion(make, values, folds)).fit(X)
        add(name, made, round(time.process_time() - start, 4))
    for name, detector in default_detectors(task.trial).items():
        add(name, *timed_fit(detector, X))
    return rows


def best_by_criterion(make: Callable[[Any], Any], values: Iterable[Any], folds: list[Fold]) -> Any:
    """Return the value with the largest mean criterion over the folds, the first if they tie."""
    return max(values, key=lambda value: np.mean([
        CRITERION(fold, make(value).fit(fold.X), fold.held_out) for fold in folds
    ]))  # fmt: skip


def tuned_families(gammas: list[float]) -> dict[str, tuple[Callable[[Any], Any], Any]]:
    """Return detectors that choose by the criterion of `LpSVDDCV`, and what they choose among."""
    return {
        "nearest neighbours, k chosen": (NeighbourDistance, NEIGHBOURS),
        "Parzen, width chosen": (lambda g: KernelMean(gamma=g), gammas),
        "OneClassSVM, width chosen": (lambda g: OneClassSVM(nu=TABLE_SHARE, gamma=g), gammas),
    }


def default_detectors(seed: int) -> dict[str, Any]:
    """Return detectors as they come."""
    return {
        "1 nearest neighbour": NeighbourDistance(1),
        "5 nearest neighbours": NeighbourDistance(5),
        "Parzen, Scott's width": KernelDensity(bandwidth="scott"),
        "OneClassSVM()": OneClassSVM(),
        "local outlier factor": LocalOutlierFactor(novelty=True),
        "isolation forest": IsolationForest(random_state=seed),
        "ECOD": Ecod(),
    }


# -- question 3: the promise ----------------------------------------------------------------------


@study(
    "What share of new normal rows is rejected where 5 or 10 per cent are wanted?",
    tasks=table_tasks, names=DESIGN + JUDGED, trials=1,
    parameters=TABLE_SIZES | {"levels": WANTED_RATES},
)  # fmt: skip
def tables_rates(task: TableTask) -> list[Row]:
    """Return one row a method and level: per cent of normal rows rejected, and of anomalies found.

    Rows are drawn as they come: without copies in training, new rows would be rarer than old ones.
    """
    data, anomaly = as_they_come(task)
    search = timed_fit(LpSVDDCV(random_state=task.trial), data.train)[0]
    gamma = search.best_params_["gamma"]
    conformal = {
        f"{method} conformal": timed_fit(
            ConformalDetector(LpSVDD(), method=method, random_state=task.trial), data.train
        )[0].p_values(data.test)
        for method in ("split", "cross")
    }
    forest = timed_fit(IsolationForest(random_state=task.trial), data.train)[0]
    factor = timed_fit(LocalOutlierFactor(novelty=True), data.train)[0]
    own = {  # scikit-learn's threshold: a percentile of the training rows' own scores
        "isolation forest": (forest.score_samples(data.train), forest.score_samples(data.test)),
        "local outlier factor": (factor.negative_outlier_factor_, factor.score_samples(data.test)),
    }
    rows = []
    for level in WANTED_RATES:
        models = {
            "LpSVDD": LpSVDD(nu=level),
            "LpSVDD, the ball's surface": LpSVDD(nu=level, surface="ball"),
            "LpSVDD, width chosen": LpSVDD(nu=level, gamma=gamma),
            "OneClassSVM": OneClassSVM(nu=level),
        }
        rejected = {
            n: timed_fit(m, data.train)[0].predict(data.test) < 0 for n, m in models.items()
        }
        rejected |= {n: values <= level + 1e-9 for n, values in conformal.items()}
        rejected |= {n: new < np.percentile(old, 100 * level) for n, (old, new) in own.items()}
        for name, out in rejected.items():
            shares = {"rejected": out[~anomaly].mean(), "found": out[anomaly].mean()}
            where = {"dataset": task.dataset, "trial": task.trial, "method": name, "level": level}
            rows.append(where | {key: round(100 * float(v), 2) for key, v in shares.items()})
    return rows
