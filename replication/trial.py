r"""One trial computed: a pure function from (data set, setting, trial) to rows of a results table.

A trial prepares *one* training kernel K and one evaluation kernel K_eval (validation rows, then
test rows) and hands both to every method; a method solves its whole grid on them (``Method.path``)
and never sees the labels of the evaluated rows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from lpsvdd import datasets
from lpsvdd.kernels import half_mean_distance, kernel_diagonal, kernel_matrix, rbf_gamma
from lpsvdd.preprocessing import preprocessor
from replication.methods import KernelTask, Method
from replication.protocol import (
    DEFAULTS,
    FLAGGED,
    Options,
    Task,
    auc,
    select,
    split,
    trial_seed,
)

COLUMNS = (
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

CERTIFIED = ("optimal", "closed form")
"""Statuses of cells that need no caution."""


@dataclass(frozen=True)
class Trial:
    """A kernel task with what the referee keeps to itself: the labels of the evaluated rows."""

    kernel_task: KernelTask
    y_validation: np.ndarray
    y_test: np.ndarray
    width: float
    seed: int

    def aucs(self, scores: np.ndarray) -> tuple[float, float]:
        """Validation and test AUC of scores given for the validation rows, then the test rows."""
        m = len(self.y_validation)
        return auc(scores[:m], self.y_validation), auc(scores[m:], self.y_test)


@dataclass(frozen=True)
class CellRecord:
    """One cell of a method's grid as the referee sees it; AUCs are None without a solution."""

    params: dict[str, Any]
    auc_val: float | None
    auc: float | None
    gap: float
    status: str


@lru_cache(maxsize=2)
def _load(name: str, target: str | None) -> datasets.Dataset:
    return datasets.load(name, target=target)


def prepare(task: Task, options: Options = DEFAULTS) -> Trial:
    """Split, impute, standardise, normalise and compute the kernels of one trial."""
    data = _load(task.dataset, options.target)
    parts = split(data.y, task.dataset, task.trial, options)
    train = parts.train
    if task.setting == "pure":
        train = train[data.y[train] == 1]
    evaluated = np.concatenate([parts.validation, parts.test])
    steps = preprocessor(impute=options.imputation, unit_norm=options.unit_norm)
    y = data.y[train]
    X = steps.fit(data.X[train], y).transform(data.X[train])
    Z = steps.transform(data.X[evaluated])
    width = options.width_factor * half_mean_distance(X)
    gamma = rbf_gamma(width, options.formula)
    return Trial(
        kernel_task=KernelTask(
            K=kernel_matrix(X, kernel="rbf", gamma=gamma),
            y=y,
            K_eval=kernel_matrix(Z, X, kernel="rbf", gamma=gamma),
            diag=kernel_diagonal(X, kernel="rbf", gamma=gamma),
            diag_eval=kernel_diagonal(Z, kernel="rbf", gamma=gamma),
            X=X,
        ),
        y_validation=data.y[parts.validation],
        y_test=data.y[parts.test],
        width=width,
        seed=trial_seed(task.dataset, task.trial, options.seed),
    )


def evaluate(trial: Trial, method: Method) -> list[CellRecord]:
    """Solve a method's whole grid and referee every cell."""
    records = []
    for cell in method.path(trial.kernel_task, method.grid):
        validation, test = (None, None) if cell.scores is None else trial.aucs(cell.scores)
        records.append(CellRecord(cell.params, validation, test, cell.gap, cell.status))
    return records


def compact(params: dict[str, Any]) -> str:
    """Parameters as JSON without blanks."""
    return json.dumps(params, separators=(",", ":"))


def chosen_row(records: Sequence[CellRecord]) -> dict[str, Any]:
    """Columns that describe the selected cell and the grid it was selected from."""
    index = select([record.auc_val for record in records])
    infeasible = sum(record.auc_val is None for record in records)
    uncertified = sum(
        record.auc_val is not None and record.status not in CERTIFIED for record in records
    )
    counts = {"cells": len(records), "infeasible": infeasible, "uncertified": uncertified}
    if index is None:
        return {"auc": None, "auc_val": None, "params": "", "gap": None, "status": "infeasible"} | (
            counts
        )
    cell = records[index]
    return {
        "auc": round(cell.auc, 4),
        "auc_val": round(cell.auc_val, 4),
        "params": compact(cell.params),
        "gap": None if np.isnan(cell.gap) else float(f"{cell.gap:.1e}"),
        "status": cell.status,
    } | counts


def run_trial(
    task: Task, options: Options = DEFAULTS, methods: Sequence[Method] = ()
) -> list[dict[str, Any]]:
    """Rows of one trial, one per method, with the columns ``COLUMNS``."""
    trial = prepare(task, options)
    rows = []
    for method in methods:
        start = time.process_time()
        chosen = chosen_row(evaluate(trial, method))
        seconds = time.process_time() - start
        row = chosen | {
            "dataset": task.dataset,
            "method": method.name,
            "trial": task.trial,
            "n_train": len(trial.kernel_task.y),
            "seconds": round(seconds, 3),
            "seed": trial.seed,
            "flag": FLAGGED.get(task.dataset, ""),
        }
        rows.append({column: row[column] for column in COLUMNS})
    return rows
