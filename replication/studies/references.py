r"""Reference methods on the splits of the first table, chosen by the rule of the paper's methods.

* ``references``: kernel PCA with and without "no component", which is the kernel mean; nearest
  neighbours with k, Parzen windows with their width, and scikit-learn's `OneClassSVM` with width
  and share chosen on the validation rows, as the paper's methods choose theirs; the kernel mean at
  the width that the protocol gives to all. To be read beside ``pure.csv`` on the same splits.
* ``constant_columns``: columns that are constant among the training targets, divided by a standard
  deviation that is rounding noise, or left alone as scikit-learn does.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.svm import OneClassSVM

from lpsvdd.kernels import rbf_gamma
from replication.methods import METHODS, ScoredCell, grid, kpca_path
from replication.protocol import (
    Task,
    Trial,
    judge,
    load_split_data,
    prepare,
    prepare_rows,
    split,
    trial_seed,
)
from replication.runner import Row
from replication.studies.study import VariantTask, shared_place_rows, study, variants

REFERENCE_NEIGHBOURS = (1, 2, 3, 5, 10, 20)
REFERENCE_WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of the width that the protocol gives to every method."""
REFERENCE_SHARES = (0.01, 0.1, 0.3, 0.6, 0.9)
WITH_CONSTANTS = ("D3", "D16", "D20")
"""Sets with a column that is constant among the training targets of some split.

D2 has one too, in few splits; it has missing values besides, and is left out.
"""
PREPARATIONS = ("left alone", "divided by rounding noise")
COMPARED_METHODS = ("kernel mean", "KPCA", "l1-SVDD", "l2-SVDD", "lp-SVDD")


def neighbour_cells(trial: Trial) -> list[ScoredCell]:
    """Return minus the distance to the k-th nearest training row."""
    distances = np.sort(cdist(trial.kernels.X_eval, trial.kernels.X), axis=1)
    known = [k for k in REFERENCE_NEIGHBOURS if k <= distances.shape[1]]
    return [ScoredCell({"k": k}, -distances[:, k - 1]) for k in known]


def parzen_cells(trial: Trial) -> list[ScoredCell]:
    """Return kernel densities, the kernel mean among them, by width."""
    squared = cdist(trial.kernels.X_eval, trial.kernels.X, "sqeuclidean")
    return [
        ScoredCell(
            {"width": factor}, np.exp(-rbf_gamma(factor * trial.width) * squared).mean(axis=1)
        )
        for factor in REFERENCE_WIDTHS
    ]


def machine_cells(trial: Trial) -> list[ScoredCell]:
    """Return cells of `OneClassSVM` by width and share."""
    kernels, cells = trial.kernels, []
    for params in grid(width=REFERENCE_WIDTHS, nu=REFERENCE_SHARES):
        gamma = rbf_gamma(params["width"] * trial.width)
        machine = OneClassSVM(nu=params["nu"], gamma=gamma).fit(kernels.X)
        cells.append(ScoredCell(params, machine.score_samples(kernels.X_eval)))
    return cells


@study(
    "What do reference methods reach that are chosen by the same rule as the paper's?",
    trials=20,
    parameters={"k": REFERENCE_NEIGHBOURS, "widths": REFERENCE_WIDTHS, "shares": REFERENCE_SHARES},
)
def references(task: Task) -> list[Row]:
    """Return one row a reference on one split of the first table."""
    trial = prepare(task)
    components = METHODS["pure", "KPCA"].grid
    cells = {
        "kernel mean": METHODS["pure", "kernel mean"].run(trial.kernels),
        "KPCA": kpca_path(trial.kernels, components),
        "KPCA, one component or more": kpca_path(
            trial.kernels, [one for one in components if one["n_components"] > 0]
        ),
        "nearest neighbours": neighbour_cells(trial),
        "Parzen": parzen_cells(trial),
        "OneClassSVM": machine_cells(trial),
    }
    return shared_place_rows(task, {name: judge(trial, own) for name, own in cells.items()})


def naively_standardised(train: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return (X - mean)/deviation at unit length, a deviation of 0 left alone.

    The mean of equal numbers may miss them by a unit in the last place. The deviation of a constant
    column is then such a unit: its training rows get one value of about 1 in size, and a row with
    another value one of about 1e15, beside which its other columns vanish.
    """
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    Z = (X - mean) / np.where(deviation > 0.0, deviation, 1.0)
    return Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), np.finfo(float).tiny)


@study(
    "What do columns that are constant among the training rows change?",
    tasks=lambda names, trials: variants(names, trials, of=dict.fromkeys(PREPARATIONS)),
    names=WITH_CONSTANTS,
    trials=10,
    parameters={
        "preparations": PREPARATIONS,
        "contestants": COMPARED_METHODS,
        "naive": "all columns",
    },
)
def constant_columns(variant: VariantTask) -> list[Row]:
    """Return one row a method under one preparation of the constant columns."""
    task = variant.task
    data = load_split_data(task.dataset)
    parts = split(data.y, task.dataset, task.trial)
    train = parts.train[data.y[parts.train] == 1]
    X, rows = data.X.astype(float), (train, parts.validation, parts.test)
    count = int((np.ptp(X[train], axis=0) == 0.0).sum())
    if variant.variant == PREPARATIONS[1]:
        trial = prepare_rows(
            *((naively_standardised(X[train], X[one]), data.y[one]) for one in rows),
            seed=trial_seed(task.dataset, task.trial),
            prepared=True,
        )
    else:
        trial = prepare(task)
    judged = {n: judge(trial, METHODS["pure", n].run(trial.kernels)) for n in COMPARED_METHODS}
    where = {"preparation": variant.variant, "constant": count}
    return [where | row for row in shared_place_rows(task, judged)]
