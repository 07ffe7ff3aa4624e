"""Reference methods on the splits of the first table, chosen by the rule of the paper's methods.

Kernel PCA with and without "no component", which is the kernel mean; nearest neighbours with k,
Parzen windows with their width, and scikit-learn's `OneClassSVM` with width and share chosen on the
validation rows, as the paper's methods choose theirs; the kernel mean at the width that the
protocol gives to all. To be read beside ``pure.csv`` on the same splits.
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
    prepare,
)
from replication.runner import Row
from replication.studies.study import shared_place_rows, study

REFERENCE_NEIGHBOURS = (1, 2, 3, 5, 10, 20)
REFERENCE_WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of the width that the protocol gives to every method."""
REFERENCE_SHARES = (0.01, 0.1, 0.3, 0.6, 0.9)


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
