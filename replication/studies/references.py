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
from replication.methods import METHODS, ScoredCell, grid
from replication.methods.paths import kpca_path
from replication.protocol import Task, split, trial_seed
from replication.store import Row
from replication.studies.study import VariantTask, shared_place_rows, study, variants
from replication.trial import Trial, judge, load_split_data, prepare, prepare_rows

NEIGHBOURS = (1, 2, 3, 5, 10, 20)
WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of the width that the protocol gives to every method."""
SHARES = (0.01, 0.1, 0.3, 0.6, 0.9)
WITH_CONSTANTS = ("D2", "D3", "D16", "D20")
"""Sets with a column that is constant among the training targets of some split."""
PREPARATIONS = ("left alone", "divided by rounding noise")
CONTESTANTS = ("kernel mean", "KPCA", "l1-SVDD", "l2-SVDD", "lp-SVDD")


def neighbour_cells(trial: Trial) -> list[ScoredCell]:
    """Minus the distance to the k-th nearest training row."""
    distances = np.sort(cdist(trial.kernels.X_eval, trial.kernels.X), axis=1)
    known = [k for k in NEIGHBOURS if k <= distances.shape[1]]
    return [ScoredCell({"k": k}, -distances[:, k - 1]) for k in known]


def parzen_cells(trial: Trial) -> list[ScoredCell]:
    """Kernel densities, the kernel mean among them, by width."""
    squared = cdist(trial.kernels.X_eval, trial.kernels.X, "sqeuclidean")
    return [
        ScoredCell(
            {"width": factor}, np.exp(-rbf_gamma(factor * trial.width) * squared).mean(axis=1)
        )
        for factor in WIDTHS
    ]


def machine_cells(trial: Trial) -> list[ScoredCell]:
    """`OneClassSVM` by width and share."""
    kernels, cells = trial.kernels, []
    for params in grid(width=WIDTHS, nu=SHARES):
        gamma = rbf_gamma(params["width"] * trial.width)
        machine = OneClassSVM(nu=params["nu"], gamma=gamma).fit(kernels.X)
        cells.append(ScoredCell(params, machine.score_samples(kernels.X_eval)))
    return cells


@study(
    "What do reference methods reach that are chosen by the same rule as the paper's?",
    trials=20,
    parameters={"k": NEIGHBOURS, "widths": WIDTHS, "shares": SHARES},
)
def references(task: Task) -> list[Row]:
    """One row a reference on one split of the first table."""
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


def naive_columns(train: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Constant columns of the training rows, divided by the deviation that rounding gives them.

    The mean of equal numbers may miss them by a unit in the last place; the deviation is then such
    a unit and not 0, and a row with another value gets one of about 1e16.
    """
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    divided = (np.ptp(train, axis=0) == 0.0) & (deviation > 0.0)
    return np.where(divided, (X - mean) / np.where(divided, deviation, 1.0), X)


@study(
    "What hangs on columns that are constant among the training rows?",
    tasks=lambda names, trials: variants(names, trials, of=dict.fromkeys(PREPARATIONS)),
    names=WITH_CONSTANTS,
    trials=10,
    parameters={"preparations": PREPARATIONS, "contestants": CONTESTANTS},
)
def constant_columns(variant: VariantTask) -> list[Row]:
    """One row a method under one preparation of the constant columns."""
    task = variant.task
    data = load_split_data(task.dataset)
    parts = split(data.y, task.dataset, task.trial)
    train = parts.train[data.y[parts.train] == 1]
    X = data.X.astype(float)
    count = int((np.ptp(X[train], axis=0) == 0.0).sum())
    if variant.variant == PREPARATIONS[1]:
        X = naive_columns(X[train], X)
    trial = prepare_rows(
        *((X[rows], data.y[rows]) for rows in (train, parts.validation, parts.test)),
        seed=trial_seed(task.dataset, task.trial),
    )
    judged = {n: judge(trial, METHODS["pure", n].run(trial.kernels)) for n in CONTESTANTS}
    where = {"preparation": variant.variant, "constant": count}
    return [where | row for row in shared_place_rows(task, judged)]
