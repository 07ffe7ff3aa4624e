r"""One trial computed: a pure function from (data set, setting, trial) to rows of a results table.

A trial prepares *one* training kernel K and one evaluation kernel K_eval (validation rows, then
test rows) and hands both to every method; a method solves its whole grid on them (``Method.path``)
and never sees the labels of the evaluated rows. ``judge`` is the only referee: it chooses on the
validation rows and scores on the test rows, for the paper's methods and for those of the studies.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from lpsvdd.kernels import half_mean_distance, kernel_diagonal, kernel_matrix, rbf_gamma
from replication import datasets
from replication.methods import Method, ScoredCell, SplitKernels
from replication.preprocessing import preprocessor
from replication.protocol import (
    DEFAULTS,
    FLAGGED,
    Options,
    Task,
    auc,
    best_validation_cell,
    drop_fine_digits,
    split,
    trial_seed,
)

TRIAL_COLUMNS = (
    "dataset",
    "method",
    "trial",
    "auc",
    "auc_val",
    "params",
    "n_train",
    "seconds",
    "gap",
    "seed",
    "status",
    "cells",
    "infeasible",
    "uncertified",
    "flag",
)
"""Columns of ``results/pure.csv`` and ``results/negatives.csv``.

``auc`` and ``auc_val`` (validation) are in percent; ``params``, ``gap`` (relative duality gap,
empty for methods without one) and ``status`` belong to the selected cell; ``seconds`` is the
processor time of the whole grid, on one thread; ``cells``, ``infeasible``, ``uncertified`` count
the cells of the grid.
"""

CERTIFIED = ("optimal", "closed form", "as fitted")
"""Statuses of cells that need no caution, or of methods that promise no certificate."""


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


@lru_cache(maxsize=2)
def load_split_data(name: str, target: str | None = None) -> datasets.Dataset:
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
        (data.X[train], data.y[train]),
        (data.X[parts.validation], data.y[parts.validation]),
        (data.X[parts.test], data.y[parts.test]),
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
    if not prepared:
        steps = preprocessor(impute=options.imputation, unit_norm=options.unit_norm).fit(*train)
        train, validation, test = ((steps.transform(X), y) for X, y in (train, validation, test))
    X, Z = train[0], np.concatenate([validation[0], test[0]])
    width = options.width_factor * half_mean_distance(X)
    gamma = rbf_gamma(width) * (1.0 if options.formula == "2s2" else 2.0)
    return Trial(
        kernels=SplitKernels(
            K=kernel_matrix(X, kernel="rbf", gamma=gamma),
            y=train[1],
            K_eval=kernel_matrix(Z, X, kernel="rbf", gamma=gamma),
            diag=kernel_diagonal(X, kernel="rbf", gamma=gamma),
            diag_eval=kernel_diagonal(Z, kernel="rbf", gamma=gamma),
            X=X,
            X_eval=Z,
            seed=seed,
        ),
        y_validation=validation[1],
        y_test=test[1],
        width=width,
        seed=seed,
    )


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


def chosen(cells: Sequence[JudgedCell]) -> JudgedCell | None:
    """The cell with the highest validation AUC, the first one among ties; None without any."""
    index = best_validation_cell([cell.auc_val for cell in cells])
    return None if index is None else cells[index]


def tied_cells(cells: Sequence[JudgedCell]) -> list[JudgedCell]:
    """All cells with the highest validation AUC, in the order of the grid."""
    known = [cell.auc_val for cell in cells if cell.auc_val is not None]
    return [cell for cell in cells if known and cell.auc_val == max(known)]


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
        seconds = time.process_time() - start
        row |= {
            "dataset": task.dataset,
            "method": method.name,
            "trial": task.trial,
            "n_train": len(trial.kernels.y),
            "seconds": round(seconds, 3),
            "seed": trial.seed,
            "flag": FLAGGED.get(task.dataset, ""),
        }
        rows.append({column: row[column] for column in TRIAL_COLUMNS})
    return rows
