r"""Where p matters: one condition of the training or validation rows changed at a time.

* ``conditions``: contamination (negatives among the training rows, taken for positives), few
  training rows, few validation rows. l1 and l2 have forty cells from the hard ball to the mean, lp
  forty cells over ten exponents (``ranges``); the first cell wins a tie. Its rows "tails" are not
  read any more: every standardised feature z became sinh(t z), and then every row was scaled to
  unit length, which leaves no heavy tail.
* ``ties_and_tails``: as is, with few validation rows, without unit length, and with heavy tails
  without unit length. Cells that tie on validation share the place: ``auc`` is their mean,
  ``auc_first`` and ``auc_last`` are those of the ends of the grid.
* ``extreme_sets``: the sets with the largest differences of ``common_range``, on other splits.
* ``validation_size``: lp on the paper's grid, chosen with a quarter, a half and all of the
  validation rows. The subsets are nested and keep the ratio of the classes.
* ``tied_tables``: the methods of both tables when tied cells share the place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.stats import kurtosis

from lpsvdd.solver import solve_path
from replication.experiment import paper_methods
from replication.methods import ScoredCell, SplitKernels
from replication.methods.paths import centre_cell
from replication.paper import EXPONENTS
from replication.protocol import DEFAULTS, Task, split, trial_seed
from replication.store import Row
from replication.studies.ranges import FOUR, label, share_costs, share_path
from replication.studies.study import (
    FRESH,
    VariantTask,
    contestant_rows,
    mean_cell,
    paper_path,
    shared_place_rows,
    splits,
    study,
    variants,
)
from replication.trial import Trial, judge, load_split_data, prepare, prepare_rows

CONTAMINATION = (0.05, 0.1, 0.2)
SIZES = (10, 20, 40)
TAILS = (1.0, 2.0)
FRACTIONS = (0.25, 0.5, 1.0)
CONDITIONS = (
    "as is",
    *(f"contamination {share:g}" for share in CONTAMINATION),
    *(f"n = {n}" for n in SIZES),
    *(f"tails {t:g}" for t in TAILS),
)
PLANNED = (*CONDITIONS[:-2], "no unit norm", *CONDITIONS[-2:])
"""Conditions of the second plan; ``ties_and_tails`` has those that the first run had wrong."""
RUN = ("as is", *PLANNED[-3:])
PARAMETERS = {"conditions": CONDITIONS, "fractions": FRACTIONS, "four": FOUR, "p": EXPONENTS}
NEUTRAL = PARAMETERS | {"conditions": PLANNED}
UNSEEN = 200
"""Number of the first split that no study had used when ties and tails were measured anew."""
EXTREME = ("D3", "D9", "D13")
"""Sets on which lp minus l1 over the same range is lowest, second lowest and highest."""


def changed(variant: VariantTask) -> Trial | None:
    """The trial under a condition; None where the set has no more training rows than asked for."""
    task, condition = variant.task, variant.variant
    data = load_split_data(task.dataset)
    parts = split(data.y, task.dataset, task.trial)
    X, y = data.X.astype(float), data.y
    train = parts.train[y[parts.train] == 1]
    rng = np.random.default_rng([trial_seed(task.dataset, task.trial), 1])
    if condition.startswith("n = "):
        n = int(condition.removeprefix("n = "))
        if n >= len(train):
            return None
        train = rng.permutation(train)[:n]
    elif condition.startswith("contamination "):
        share = float(condition.removeprefix("contamination "))
        outliers = rng.permutation(parts.train[y[parts.train] == -1])
        count = min(max(1, round(share * len(train))), len(outliers))
        train = np.concatenate([rng.permutation(train)[count:], outliers[:count]])
    elif condition.startswith("tails "):
        centre, scale = np.nanmean(X[train], axis=0), np.nanstd(X[train], axis=0)
        z = (X - centre) / np.where(scale > 0, scale, 1.0)
        X = np.sinh(float(condition.removeprefix("tails ")) * np.clip(z, -20.0, 20.0))
    return prepare_rows(
        (X[train], np.ones(len(train))),
        (X[parts.validation], y[parts.validation]),
        (X[parts.test], y[parts.test]),
        options=variant.options,
        seed=trial_seed(task.dataset, task.trial),
    )


def forty_cells(kernels: SplitKernels) -> list[ScoredCell]:
    """lp with forty cells: four of each exponent's forty."""
    cells = []
    for p in EXPONENTS:
        costs = share_costs(kernels, p)
        solutions = solve_path(kernels.K, ps=[p], cs=[costs[k] for k in FOUR])
        cells += [
            centre_cell(kernels, found.alpha, p=round(p, 4), cell=k)
            for k, found in zip(FOUR, solutions, strict=True)
        ]
    return cells


def fewer(trial: Trial, cells: list[ScoredCell], fraction: float) -> tuple[Trial, list[ScoredCell]]:
    """The trial and its cells with a fraction of the validation rows, each class for itself."""
    rng = np.random.default_rng([trial.seed, 2])
    m = len(trial.y_validation)
    kept = []
    for sign in (1, -1):
        rows = rng.permutation(np.flatnonzero(trial.y_validation == sign))
        kept.append(rows[: max(1, round(fraction * len(rows)))])
    rows = np.sort(np.concatenate(kept))
    chosen = np.concatenate([rows, np.arange(m, m + len(trial.y_test))])
    smaller = [c if c.scores is None else replace(c, scores=c.scores[chosen]) for c in cells]
    return replace(trial, y_validation=trial.y_validation[rows]), smaller


def contestants(kernels: SplitKernels) -> dict[str, list[ScoredCell]]:
    """Cells of every contestant."""
    ones = share_path(kernels, 1.0)
    return {
        "kernel mean": [mean_cell(kernels)],
        label(1.0): ones,
        "p = 1, 4 shares": [ones[k] for k in FOUR],
        label(2.0): share_path(kernels, 2.0),
        "lp, 40 cells": forty_cells(kernels),
    }


def by_fraction(
    variant: VariantTask, trial: Trial, cells: dict[str, list[ScoredCell]], rows_of: Callable
) -> list[Row]:
    """Rows under a condition; "as is" with fewer validation rows too."""
    rows = []
    for fraction in FRACTIONS if variant.variant == "as is" else (1.0,):
        judged = {name: judge(*fewer(trial, own, fraction)) for name, own in cells.items()}
        condition = variant.variant if fraction == 1.0 else f"validation {fraction:g}"
        rows += [{"condition": condition} | row for row in rows_of(variant.task, judged)]
    return rows


@study(
    "Under which conditions does p matter?",
    tasks=partial(variants, of=dict.fromkeys(CONDITIONS, DEFAULTS), first=FRESH),
    trials=8,
    parameters=PARAMETERS,
)
def conditions(variant: VariantTask) -> list[Row]:
    """Rows of four contestants under one condition."""
    trial = changed(variant)
    if trial is None:
        return []
    cells = contestants(trial.kernels)
    del cells["p = 1, 4 shares"]
    return by_fraction(variant, trial, cells, contestant_rows)


@study(
    "Does p matter with few validation rows or heavy tails when ties share the place?",
    tasks=partial(
        variants,
        of={one: replace(DEFAULTS, unit_norm=one == "as is") for one in RUN},
        first=UNSEEN,
    ),
    trials=4,
    parameters=NEUTRAL,
)
def ties_and_tails(variant: VariantTask) -> list[Row]:
    """Rows of the contestants under one condition, with the tails that the training rows have."""
    trial = changed(variant)
    tails = {"kurtosis": round(excess_kurtosis(trial.kernels.X), 3)}
    rows = by_fraction(variant, trial, contestants(trial.kernels), shared_place_rows)
    return [tails | row for row in rows]


def excess_kurtosis(X: np.ndarray) -> float:
    """Mean over the columns that vary of the excess kurtosis: 0 for a Gaussian."""
    return float(np.mean(kurtosis(X[:, np.ptp(X, axis=0) > 0.0], axis=0)))


@study(
    "Are the largest differences between p > 1 and p = 1 there on splits that nobody looked at?",
    tasks=partial(splits, first=UNSEEN),
    names=EXTREME,
    trials=40,
    parameters=NEUTRAL,
)
def extreme_sets(task: Task) -> list[Row]:
    """Rows of the contestants of ``ties_and_tails`` as is."""
    trial = prepare(task)
    judged = {name: judge(trial, cells) for name, cells in contestants(trial.kernels).items()}
    return shared_place_rows(task, judged)


@study(
    "Does a larger validation set help?",
    tasks=partial(splits, first=100),
    trials=20,
    parameters=PARAMETERS,
)
def validation_size(task: Task) -> list[Row]:
    """lp on the paper's grid and l1 on forty shares, by the size of the validation set."""
    trial = prepare(task)
    cells = {
        "lp, paper's grid": paper_path(trial.kernels),
        label(1.0): share_path(trial.kernels, 1.0),
    }
    judged = {
        f"{name}, validation {fraction:g}": judge(*fewer(trial, own, fraction))
        for name, own in cells.items()
        for fraction in FRACTIONS
    }
    return contestant_rows(task, judged)


@study(
    "What hangs on the order of cells that tie on validation?",
    tasks=partial(splits, settings=("pure", "negatives")),
    trials=15,
    parameters={"rule": "share, first, last"},
)
def tied_tables(task: Task) -> list[Row]:
    """Every method of the table of the task's setting, by its tied cells."""
    trial = prepare(task)
    judged = {
        method.name: judge(trial, method.run(trial.kernels))
        for method in paper_methods(task.setting)
    }
    return [{"setting": task.setting} | row for row in shared_place_rows(task, judged)]
