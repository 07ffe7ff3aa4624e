r"""One trial: split, scale, kernel, grid, selection on validation, test AUC.

For a data set with labels y in {+1, -1} and a trial number t, the positives and the negatives are
each permuted by a generator seeded from (seed, data set, t) and cut into train, validation and
test parts. The partition depends on nothing else, so every method, both settings and every order
of execution see the same one. In the setting ``pure`` the negatives of the training part are
dropped; in ``negatives`` they stay.

Features are imputed, standardised with mean and standard deviation of the *positive training*
rows, and each row is scaled to unit Euclidean norm. The Gaussian kernel is
exp(-d^2 / (2 s^2)) with s = half the mean pairwise distance of the training rows (both classes
when negatives are used). ``prepare`` makes *one* training kernel K and one evaluation kernel K_eval
(validation rows, then test rows) and hands both to every method, which solves its whole grid on
them (``Method.path``) and never sees the labels of the evaluated rows. ``judge`` is the only
referee, for the paper's methods and for those of the studies: the cell with the highest validation
AUC is kept and its test AUC reported,

    AUC = 100 (#{s_pos > s_neg} + 1/2 #{s_pos = s_neg}) / (n_pos n_neg)      in percent.

Ties in the validation AUC are exact (it is a ratio of half-integers) and go to the first cell in
the order of the method's grid. Cells without a solution (l1 with c < 1/n) take no part in the
selection and are counted in the column ``infeasible``.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from lpsvdd.kernels import half_mean_distance, kernel_diagonal, kernel_matrix, rbf_gamma
from replication import datasets
from replication.methods import RESOLUTION, Method, ScoredCell, SplitKernels
from replication.preprocessing import preprocessor

COMPUTATION_VERSION = "2"
"""Raised by hand whenever a change of code may change a number in ``results/``."""

FLAGGED = {"D4": "inferred-labels", "D5": "inferred-target"}
"""Data sets whose rows carry a flag, with the reason (see the catalogue's notes)."""

TRIAL_COLUMNS = (
    "dataset", "method", "trial", "auc", "auc_val", "params", "n_train", "seconds", "gap", "seed",
    "status", "cells", "infeasible", "uncertified", "flag",
)  # fmt: skip
"""Columns of ``results/pure.csv`` and ``results/negatives.csv``; ``results/README.md`` has them."""

CERTIFIED = ("optimal", "closed form", "as fitted")
"""Statuses of cells that need no caution, or of methods that promise no certificate."""


@dataclass(frozen=True)
class Options:
    """Every choice the paper leaves open, with the default used for the main tables.

    Parameters
    ----------
    train, validation : fractions of each class, written as text ("1/3"); the rest is the test part
    unit_norm : scale each standardised row to norm 1 (the paper does)
    formula : "2s2" for exp(-d^2/(2 s^2)), "s2" for exp(-d^2/s^2)
    width_factor : multiplies the half-mean-distance width s
    imputation : how missing values are filled, as in ``Preparation``
    target : another target class than the catalogue's, None for the catalogue's
    seed : first entry of every trial's seed
    """

    train: str = "1/3"
    validation: str = "1/3"
    unit_norm: bool = True
    formula: str = "2s2"
    width_factor: float = 1.0
    imputation: str = "mean"
    target: str | None = None
    seed: int = 0


DEFAULTS = Options()


@dataclass(frozen=True, order=True)
class Task:
    """The unit of work: one data set, one setting, one trial."""

    dataset: str
    setting: str
    trial: int

    @property
    def key(self) -> str:
        """Name under which the result is kept."""
        return f"{self.dataset}-{self.setting}-{self.trial:02d}"


class Split(NamedTuple):
    """Row numbers of the three parts, each with both classes, in ascending order."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Trial:
    """The kernels of a split with what the referee keeps to itself: labels of evaluated rows."""

    kernels: SplitKernels
    y_validation: np.ndarray
    y_test: np.ndarray
    width: float
    seed: int


@dataclass(frozen=True)
class JudgedCell:
    """One cell of a grid as the referee sees it; without a solution AUCs and scores are None."""

    params: dict[str, Any]
    auc_val: float | None
    auc: float | None
    gap: float = float("nan")
    status: str = "closed form"
    scores: np.ndarray | None = None


# -- splits and kernels ----------------------------------------------------------------------------


def trial_seed(dataset: str, trial: int, seed: int = 0) -> int:
    """32-bit seed of a trial: SHA-256 of "seed:dataset:trial", so it is the same everywhere."""
    text = f"{seed}:{dataset}:{trial}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def split(y: np.ndarray, dataset: str, trial: int, options: Options = DEFAULTS) -> Split:
    """Cut positives and negatives each at random into train, validation and test rows."""
    rng = np.random.default_rng(trial_seed(dataset, trial, options.seed))
    cuts = (Fraction(options.train), Fraction(options.train) + Fraction(options.validation))
    parts: tuple[list[np.ndarray], ...] = ([], [], [])
    for label in (1, -1):
        rows = rng.permutation(np.flatnonzero(y == label))
        first, second = (round(cut * len(rows)) for cut in cuts)
        if not 0 < first < second < len(rows):
            raise ValueError(
                f"{dataset}: {len(rows)} rows of class {label:+d} cannot be cut into three parts"
            )
        for part, piece in zip(parts, np.split(rows, [first, second]), strict=True):
            part.append(piece)
    return Split(*(np.sort(np.concatenate(part)) for part in parts))


@lru_cache(maxsize=2)
def load_split_data(name: str, target: str | None = None) -> datasets.Dataset:
    """Load a data set, once for all trials that follow one another."""
    return datasets.load(name, target=target)


def prepare(task: Task, options: Options = DEFAULTS, data: Any = None) -> Trial:
    """Split, impute, standardise, normalise and compute the kernels of one trial.

    ``data`` has the rows X and labels y of the task's data set where it is not in the catalogue.
    """
    data = load_split_data(task.dataset, options.target) if data is None else data
    parts = split(data.y, task.dataset, task.trial, options)
    train = parts.train
    if task.setting == "pure":
        train = train[data.y[train] == 1]
    return prepare_rows(
        *((data.X[rows], data.y[rows]) for rows in (train, parts.validation, parts.test)),
        options=options,
        seed=trial_seed(task.dataset, task.trial, options.seed),
    )


def prepare_rows(
    train: tuple[np.ndarray, np.ndarray],
    validation: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    *,
    options: Options = DEFAULTS,
    seed: int = 0,
    prepared: bool = False,
) -> Trial:
    """The trial of given rows (inputs, labels): impute, standardise, normalise, kernels.

    Rows that are ``prepared`` are taken as they are.
    """
    X, Z = train[0], np.concatenate([validation[0], test[0]])
    if not prepared:
        steps = preprocessor(impute=options.imputation, unit_norm=options.unit_norm).fit(*train)
        X, Z = steps.transform(X), steps.transform(Z)
    width = options.width_factor * half_mean_distance(X)
    rbf = {"kernel": "rbf", "gamma": rbf_gamma(width) * (1.0 if options.formula == "2s2" else 2.0)}
    kernels = SplitKernels(
        K=kernel_matrix(X, **rbf),
        y=train[1],
        K_eval=kernel_matrix(Z, X, **rbf),
        diag=kernel_diagonal(X, **rbf),
        diag_eval=kernel_diagonal(Z, **rbf),
        X=X,
        X_eval=Z,
        seed=seed,
    )
    return Trial(kernels, validation[1], test[1], width, seed)


# -- the referee -----------------------------------------------------------------------------------


def drop_fine_digits(scores: np.ndarray, resolution: float) -> np.ndarray:
    """Scores as multiples of ``resolution`` times the largest |score|: finer digits are dropped.

    First, neighbours in order that are closer than RESOLUTION get one value: between equal rows
    that were rounded differently there must not lie the border of a multiple.
    """
    largest = max(float(np.abs(scores).max()), np.finfo(float).tiny / RESOLUTION)
    order = np.argsort(scores)
    ordered = scores[order]
    first = np.append(True, np.diff(ordered) > RESOLUTION * largest)
    equal = np.empty_like(ordered)
    equal[order] = ordered[first][np.cumsum(first) - 1]
    if resolution <= RESOLUTION:
        return equal
    return np.round(equal / (resolution * largest)) * (resolution * largest)


def auc(scores: np.ndarray, y: np.ndarray) -> float:
    """Area under the ROC curve in percent; higher scores mean more normal (+1)."""
    if not np.all(np.isfinite(scores)):
        raise ValueError("scores must be finite")
    positive = np.asarray(y) == 1
    n_pos, n_neg = int(positive.sum()), int((~positive).sum())
    if n_pos == 0 or n_neg == 0:
        raise ValueError("the AUC needs rows of both classes")
    wins = rankdata(scores)[positive].sum() - n_pos * (n_pos + 1) / 2
    return 100.0 * wins / (n_pos * n_neg)


def judge(trial: Trial, cells: Iterable[ScoredCell]) -> list[JudgedCell]:
    """Validation and test AUC of each scored cell."""
    m = len(trial.y_validation)
    judged = []
    for cell in cells:
        found, scores = (None, None), None
        if cell.scores is not None:
            scores = drop_fine_digits(cell.scores, cell.resolution)
            found = auc(scores[:m], trial.y_validation), auc(scores[m:], trial.y_test)
        judged.append(JudgedCell(cell.params, *found, cell.gap, cell.status, scores))
    return judged


def best_validation_cell(validation: Sequence[float | None]) -> int | None:
    """Index of the highest validation AUC, the first one among ties; None if no cell has one."""
    known = [value for value in validation if value is not None]
    return list(validation).index(max(known)) if known else None


def chosen(cells: Sequence[JudgedCell]) -> JudgedCell | None:
    """The cell with the highest validation AUC, the first one among ties; None without any."""
    index = best_validation_cell([cell.auc_val for cell in cells])
    return None if index is None else cells[index]


def tied_cells(cells: Sequence[JudgedCell]) -> list[JudgedCell]:
    """All cells with the highest validation AUC, in the order of the grid."""
    best = chosen(cells)
    return [] if best is None else [cell for cell in cells if cell.auc_val == best.auc_val]


def outcome_row(cell: JudgedCell | None) -> dict[str, Any]:
    """The columns every table has of a chosen cell: test AUC, validation AUC, parameters."""
    if cell is None or cell.auc is None:
        return {"auc": None, "auc_val": None, "params": ""}
    return {
        "auc": round(cell.auc, 4),
        "auc_val": round(cell.auc_val, 4),
        "params": json.dumps(cell.params, separators=(",", ":")),
    }


def chosen_row(cells: Sequence[JudgedCell]) -> dict[str, Any]:
    """Columns that describe the chosen cell and the grid it was chosen from."""
    cell = chosen(cells)
    solved = [one for one in cells if one.auc_val is not None]
    return outcome_row(cell) | {
        "gap": None if cell is None or np.isnan(cell.gap) else float(f"{cell.gap:.1e}"),
        "status": "infeasible" if cell is None else cell.status,
        "cells": len(cells),
        "infeasible": len(cells) - len(solved),
        "uncertified": sum(one.status not in CERTIFIED for one in solved),
    }


def run_trial(
    task: Task,
    options: Options = DEFAULTS,
    methods: Sequence[Method] = (),
    own: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Rows of one trial, one per method, with the columns ``TRIAL_COLUMNS``.

    ``own`` holds data sets that are not in the catalogue, by name.
    """
    trial = prepare(task, options, (own or {}).get(task.dataset))
    rows = []
    for method in methods:
        start = time.process_time()
        row = chosen_row(judge(trial, method.run(trial.kernels)))
        row |= {
            "dataset": task.dataset,
            "method": method.name,
            "trial": task.trial,
            "n_train": len(trial.kernels.y),
            "seconds": round(time.process_time() - start, 3),
            "seed": trial.seed,
            "flag": FLAGGED.get(task.dataset, ""),
        }
        rows.append({column: row[column] for column in TRIAL_COLUMNS})
    return rows
