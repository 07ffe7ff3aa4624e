"""Beyond the paper: sample weights at every p, and several spheres for several classes.

* ``weighted_exponents``: the three weightings and none, each at several p, trained on the targets
  of a split, clean or with unlabelled outliers among them. Every contestant chooses among as many
  costs, from the hard ball towards the kernel mean.
* ``openset_digits``: handwritten digits, six known, two unknown for choosing parameters and two
  others for the test. Every contestant's threshold rejects 5 % of held-out known samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from lpsvdd.plots import fraction
from replication.methods import ScoredCell, SplitKernels, grid, kernel_weights
from replication.methods.paths import svdd_path
from replication.openset import OpenSetClassifier
from replication.protocol import Options, auc, split, trial_seed
from replication.store import Row
from replication.studies.study import Named, VariantTask, contestant_rows, study, variants
from replication.trial import Trial, judge, load_split_data, prepare_rows

# -- weights ----------------------------------------------------------------------------------

WEIGHTINGS: dict[str, dict[str, Any]] = {
    "none": {},
    "position": {},
    "density": {"k": 5},
    "global-local": {"k": 5, "lam": 0.5},
}
PS = (1.0, 2.0, 5.0)
NUS = (0.05, 0.1, 0.3, 0.5, 0.7, 1.0)
COSTS = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0)
SHARE_OUTLIERS = 0.1
TRAININGS = ("clean", "with outliers")
WEIGHT_PARAMETERS = {
    "weightings": WEIGHTINGS, "ps": PS, "nus": NUS, "costs": COSTS, "share": SHARE_OUTLIERS,
}  # fmt: skip


def unlabelled_outliers(item: VariantTask) -> Trial:
    """The trial whose training rows all count as targets, a share of them being outliers."""
    task = item.task
    data = load_split_data(task.dataset, None)
    parts = split(data.y, task.dataset, task.trial, item.options)
    train = parts.train[data.y[parts.train] == 1]
    if item.variant == "with outliers":
        others = parts.train[data.y[parts.train] == -1]
        number = min(round(SHARE_OUTLIERS / (1 - SHARE_OUTLIERS) * len(train)), len(others))
        rng = np.random.default_rng([1, trial_seed(task.dataset, task.trial)])
        train = np.concatenate([train, rng.choice(others, number, replace=False)])
    validation, test = ((data.X[rows], data.y[rows]) for rows in (parts.validation, parts.test))
    rows = (data.X[train], np.ones(len(train), dtype=int))
    return prepare_rows(rows, validation, test, options=item.options)


def weighted_cells(kernels: SplitKernels, weighting: str, p: float) -> list[ScoredCell]:
    """Six costs of one contestant, from the hard ball to the kernel mean."""
    costs = grid(nu=NUS) if p == 1.0 else grid(p=(p,), C=COSTS)
    weigh = partial(kernel_weights, weighting, **WEIGHTINGS[weighting])
    return svdd_path(kernels, costs, weigh=None if weighting == "none" else weigh)


@study(
    "Do sample weights help at any p, with clean training data and with outliers in them?",
    tasks=partial(variants, of=dict.fromkeys(TRAININGS, Options(unit_norm=False))),
    names=("D2", "D3", "D7", "D8", "D11", "D17"),
    trials=5,
    parameters=WEIGHT_PARAMETERS,
)
def weighted_exponents(item: VariantTask) -> list[Row]:
    """Rows of every weighting at every exponent on one split."""
    trial = unlabelled_outliers(item)
    rows = []
    for weighting in WEIGHTINGS:
        judged = {
            f"p = {fraction(p)}": judge(trial, weighted_cells(trial.kernels, weighting, p))
            for p in PS
        }
        head = {"training": item.variant, "weighting": weighting}
        rows += [head | row for row in contestant_rows(item.task, judged)]
    return rows


# -- several spheres --------------------------------------------------------------------------

PER_CLASS, HELD_OUT, VALIDATED, REJECTED = 40, 30, 30, 0.05
SPHERE_COSTS = (0.001, 0.03, 0.1, 1.0)
SPHERES: dict[str, list[dict[str, Any]]] = {
    "spheres, p = 1": [{"p": 1.0, "C": C} for C in (0.02, 0.05, 0.1, 1.0)],
    "spheres, p = 2": [{"p": 2.0, "C": C} for C in SPHERE_COSTS],
    "spheres, p = 5": [{"p": 5.0, "C": C} for C in SPHERE_COSTS],
    "spheres, p = 2, negatives": [{"p": 2.0, "C": C, "use_negatives": True} for C in SPHERE_COSTS],
    "kernel mean": [{"p": 2.0, "C": 1e-5}],
}
SVC_COSTS = (0.3, 1.0, 10.0, 100.0)
DIGIT_PARAMETERS = {
    "sizes": [PER_CLASS, HELD_OUT, VALIDATED], "spheres": SPHERES, "svc": SVC_COSTS,
}  # fmt: skip


@dataclass(frozen=True)
class Roles(Named):
    """One random choice of known and unknown digits."""

    choice: int


def roles(names: list[str], trials: int) -> list[Roles]:
    """As many choices as trials."""
    return [Roles(choice) for choice in range(trials)]


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    """Pixels in [0, 1] and labels of scikit-learn's digits."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return data.data / 16.0, data.target


def parts_of(choice: int) -> dict[str, np.ndarray]:
    """Rows of each part: known ones to train, hold out, validate, test; unknown ones of both."""
    _, labels = digits()
    rng = np.random.default_rng([0, choice])
    order = rng.permutation(10)
    pieces = [
        np.split(
            rng.permutation(np.flatnonzero(labels == digit)),
            np.cumsum([PER_CLASS, HELD_OUT, VALIDATED]),
        )
        for digit in order[:6]
    ]
    known = (np.concatenate(part) for part in zip(*pieces, strict=True))
    parts = dict(zip(("train", "held out", "validation", "test"), known, strict=True))
    unknown = (np.flatnonzero(np.isin(labels, part)) for part in (order[6:8], order[8:]))
    return parts | dict(zip(("unknown validation", "unknown test"), unknown, strict=True))


class Spheres:
    """One sphere per class: the name of the largest margin, and the margin."""

    def __init__(self, **options: Any) -> None:
        self.model = OpenSetClassifier(holdout=0.0, **options)

    def fit(self, X: np.ndarray, y: np.ndarray) -> Spheres:
        self.model.fit(X, y)
        return self

    def named(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        margins = self.model.margins(X)
        return self.model.classes_[margins.argmax(axis=1)], margins.max(axis=1)


class Vectors:
    """A support vector classifier with the spheres' kernel: its largest decision value."""

    def __init__(self, C: float) -> None:
        self.C = C

    def fit(self, X: np.ndarray, y: np.ndarray) -> Vectors:
        from sklearn.svm import SVC

        gamma = OpenSetClassifier(holdout=0.0).fit(X, y).gamma_
        self.model = SVC(C=self.C, gamma=gamma, decision_function_shape="ovr").fit(X, y)
        return self

    def named(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = self.model.decision_function(X)
        return self.model.classes_[values.argmax(axis=1)], values.max(axis=1)


class Neighbour:
    """Label and distance of the nearest training sample."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Neighbour:
        from sklearn.neighbors import NearestNeighbors

        self.model, self.y = NearestNeighbors(n_neighbors=1).fit(X), y
        return self

    def named(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        distance, index = self.model.kneighbors(X)
        return self.y[index[:, 0]], -distance[:, 0]


def separation(scores: np.ndarray, unknown: np.ndarray) -> float:
    """AUC in percent of known against unknown samples."""
    y = np.repeat([1, -1], [len(scores), len(unknown)])
    return auc(np.concatenate([scores, unknown]), y)


@study(
    "Do spheres tell known from unknown digits better than other classifiers?",
    tasks=roles,
    names=(),
    trials=8,
    parameters=DIGIT_PARAMETERS,
)
def openset_digits(task: Roles) -> list[Row]:
    """One row per contestant for one choice of digits."""
    pixels, labels = digits()
    parts = parts_of(task.choice)
    contestants: dict[str, list[Any]] = {
        name: [Spheres(**one) for one in options] for name, options in SPHERES.items()
    }
    contestants["SVC"] = [Vectors(C) for C in SVC_COSTS]
    contestants["nearest neighbour"] = [Neighbour()]
    rows = []
    for name, models in contestants.items():
        fitted = [one.fit(pixels[parts["train"]], labels[parts["train"]]) for one in models]
        scored = [{part: one.named(pixels[parts[part]]) for part in parts} for one in fitted]
        best = max(scored, key=lambda s: separation(s["validation"][1], s["unknown validation"][1]))
        (named, known), (_, unknown) = best["test"], best["unknown test"]
        threshold = np.quantile(best["held out"][1], REJECTED)
        rows.append(
            {
                "choice": task.choice,
                "contestant": name,
                "auc": round(separation(known, unknown), 4),
                "named": round(100 * float(np.mean(named == labels[parts["test"]])), 4),
                "known_rejected": round(100 * float(np.mean(known < threshold)), 4),
                "unknown_rejected": round(100 * float(np.mean(unknown < threshold)), 4),
            }
        )
    return rows
