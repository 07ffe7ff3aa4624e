r"""Labelled outliers on tables: what do they gain, and who makes the best use of them?

The plan is ``plans/labelled_outliers_tables.md``. A third of the anomalies of a draw is known in
training. Every method has 36 cells; a half of the test labels chooses one, the other half judges.
Balls of C(nu, p) = ``cost_by_scale`` on the targets, and C_neg = r C n/m for m labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVC

from lpsvdd import LpSVDD, LpSVDDCV
from lpsvdd.cost_rule import cost_by_scale, spread_of
from lpsvdd.kernels import kernel_matrix, resolve_gamma
from lpsvdd.solver import solve
from replication.runner import Row
from replication.studies.study import study
from replication.studies.tables import (
    JUDGED,
    TABLE_SIZES,
    NeighbourDistance,
    TableTask,
    draw,
    standardised,
)
from replication.studies.weights_range_tables import DRAW, Tried, chosen_by_half, half_aucs
from replication.table_sets import tables_folder

LABEL_TABLES, LEAST_ANOMALIES, MOST_TARGETS, MOST_LABELS = 120, 60, 200, 50
LABEL_WIDTHS = ("quarter-mean-distance", "chosen", "scale")
LABEL_PS, NO_LABEL_PS = (2.0, 1.0, 1.2, 5.0), (2.0, 1.0, 5.0)
NUS, RATIOS = (0.1, 0.05, 0.3, 0.6), (1.0, 10.0, 0.1)
COST_PAIRS = ((0.1, 1.0), (0.05, 10.0), (0.3, 0.1))
LAMBDAS = (1.0, 0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 1.5, 2.0)
MACHINE = tuple(10.0 ** (k / 2) for k in (0, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 7))
TREES = {"learning_rate": (0.1, 0.03, 0.3), "max_leaf_nodes": (7, 3, 15),
         "l2_regularization": (0.0, 0.1, 1.0, 10.0)}  # fmt: skip
NETWORK = {"hidden": (20, 64, 128), "l2": (0.01, 0.0001, 1.0), "epochs": (20, 50),
           "pairs": (1000, 2000)}  # fmt: skip
BATCH, REFERENCES = 100, 30


@dataclass(frozen=True)
class Known:
    """Targets, labelled outliers and test rows, standardised, and the two halves of the test."""

    targets: np.ndarray
    labels: np.ndarray
    test: np.ndarray
    y: np.ndarray
    parts: tuple[np.ndarray, np.ndarray]

    def tried(self, name: str, scores: np.ndarray, certified: bool = True) -> Tried:
        """Return a cell with its AUC on both halves."""
        return Tried(name, half_aucs(scores, self.y, self.parts), certified)


def labelled_split(task: TableTask) -> Known:
    """Draw a table with every third anomaly as a label."""
    data = draw(task)
    targets = data.train[:MOST_TARGETS]
    data = standardised(targets, data.test, data.y)
    normal, foreign = data.test[data.y > 0], data.test[data.y < 0]
    tested = np.arange(len(foreign)) % 3 > 0
    number = np.concatenate([np.arange(len(normal)) % 2, np.arange(len(foreign))[tested] % 3 - 1])
    y = np.repeat([1, -1], [len(normal), int(tested.sum())])
    return Known(
        data.train, foreign[~tested][:MOST_LABELS], np.vstack([normal, foreign[tested]]), y,
        (number == 0, number == 1),
    )  # fmt: skip


# -- kernel methods --------------------------------------------------------------------------------


def labelled_balls(data: Known, gamma: float) -> dict[str, list[Tried]]:
    """Solve every ball of a width, with labels (in the order p, nu, r) and without."""
    n, m = len(data.targets), len(data.labels)
    known_rows = np.vstack([data.targets, data.labels])
    y = np.repeat([1.0, -1.0], [n, m])
    K, test = (kernel_matrix(rows, known_rows, gamma=gamma) for rows in (known_rows, data.test))
    spread = spread_of(K[:n, :n], np.ones(n))

    def ball(p: float, nu: float, r: float | None) -> Tried:
        cost = cost_by_scale(nu, n, p, spread)
        used = n if r is None else n + m
        costs = np.repeat([cost, (r or 0.0) * cost * n / m], [n, m])[:used]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # counted as lost
            found = solve(K[:used, :used], y[:used], p=p, c=costs)
        name = f"p={p:g} nu={nu:g}" + ("" if r is None else f" r={r:g}")
        return data.tried(name, test[:, :used] @ found.centre, found.converged)

    cells = {(p, nu, r): ball(p, nu, r) for p, nu, r in product(LABEL_PS, NUS, RATIOS)}
    return {
        "l1-": [cells[1.0, nu, r] for nu, r in product(NUS, RATIOS)],
        "l2-": [cells[2.0, nu, r] for nu, r in product(NUS, RATIOS)],
        "lp-": [cells[p, nu, r] for p in LABEL_PS for nu, r in COST_PAIRS],
        "lp-, all": list(cells.values()),
        "lp without labels": [ball(p, nu, None) for p, nu in product(NO_LABEL_PS, NUS)],
    }


def kernel_rivals(data: Known, gamma: float) -> dict[str, list[Tried]]:
    """Score by the difference of kernel means and by the two-class machine."""
    n = len(data.targets)
    known_rows = np.vstack([data.targets, data.labels])
    K, test = (kernel_matrix(rows, known_rows, gamma=gamma) for rows in (known_rows, data.test))
    plus, minus = test[:, :n].mean(axis=1), test[:, n:].mean(axis=1)
    y = np.repeat([1, -1], [n, len(data.labels)])
    machines = {
        C: SVC(C=C, kernel="precomputed", class_weight="balanced").fit(K, y) for C in MACHINE
    }
    return {
        "difference of means": [
            data.tried(f"lambda={weight:g}", plus - weight * minus) for weight in LAMBDAS
        ],
        "two-class machine": [
            data.tried(f"C={C:.3g}", machine.decision_function(test))
            for C, machine in machines.items()
        ],
    }


# -- rivals of the same age ------------------------------------------------------------------------


def learnt_scores(fitted_to: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Learn three scores from targets: lp-SVDD, fifth neighbour, isolation forest."""
    detectors = (LpSVDD(), NeighbourDistance(5), IsolationForest(random_state=1))
    return np.column_stack([one.fit(fitted_to).score_samples(rows) for one in detectors])


def tree_scores(data: Known) -> list[Tried]:
    """Fit trees to columns and learnt scores; targets get theirs from the other folds."""
    own = np.empty((len(data.targets), 3))
    for kept, left in KFold(5, shuffle=True, random_state=1).split(data.targets):
        own[left] = learnt_scores(data.targets[kept], data.targets[left])
    X = np.vstack([
        np.column_stack([data.targets, own]),
        np.column_stack([data.labels, learnt_scores(data.targets, data.labels)]),
    ])  # fmt: skip
    test = np.column_stack([data.test, learnt_scores(data.targets, data.test)])
    y = np.repeat([1, 0], [len(data.targets), len(data.labels)])
    found = []
    for values in product(*TREES.values()):
        options = dict(zip(TREES, values, strict=True))
        model = HistGradientBoostingClassifier(
            class_weight="balanced", max_iter=100, min_samples_leaf=5, random_state=1, **options
        ).fit(X, y)
        found.append(data.tried(_name(options), model.predict_proba(test)[:, 1]))
    return found


def pairs_of(n: int, m: int, count: int, rng: np.random.Generator) -> Iterator[tuple]:
    """Draw an epoch in batches: rows of (targets, labels) in pairs, and the worth of each."""
    few = count // 4
    left = np.r_[n + rng.integers(m, size=2 * few), rng.integers(n, size=count - 2 * few)]
    right = np.r_[n + rng.integers(m, size=few), rng.integers(n, size=count - few)]
    worth = np.repeat([8.0, 4.0, 0.0], [few, few, count - 2 * few])
    order = rng.permutation(count)
    for start in range(0, count, BATCH):
        batch = order[start : start + BATCH]
        yield left[batch], right[batch], worth[batch]


def pair_network_scores(data: Known) -> list[Tried]:
    """Train networks to tell the worth of a pair: 8 for two labels, 4 for one, 0 for none.

    A row scores minus the mean over its pairs (label, row) and (row, target) with some of both.
    """
    X, n = np.vstack([data.targets, data.labels]), len(data.targets)
    rng = np.random.default_rng(2)
    labels, targets = (
        rows[rng.integers(len(rows), size=REFERENCES)] for rows in (data.labels, data.targets)
    )
    both = [np.vstack([np.r_[one, z] for one in labels] + [np.r_[z, one] for one in targets])
            for z in data.test]  # fmt: skip
    asked = np.vstack(both)
    found: dict[tuple, Tried] = {}
    for hidden, l2, pairs in product(NETWORK["hidden"], NETWORK["l2"], NETWORK["pairs"]):
        rng = np.random.default_rng(1)
        options = {"alpha": l2, "batch_size": BATCH, "random_state": 1}
        model = MLPRegressor(hidden_layer_sizes=(hidden,), **options)
        for epochs in range(1, max(NETWORK["epochs"]) + 1):  # fewer are the beginning of more
            for left, right, worth in pairs_of(n, len(data.labels), pairs, rng):
                model.partial_fit(np.hstack([X[left], X[right]]), worth)
            if epochs in NETWORK["epochs"]:
                values = (hidden, l2, epochs, pairs)
                scores = -model.predict(asked).reshape(len(data.test), -1).mean(axis=1)
                found[values] = data.tried(_name(dict(zip(NETWORK, values, strict=True))), scores)
    return [found[values] for values in product(*NETWORK.values())]


def _name(options: dict[str, float]) -> str:
    return " ".join(f"{key}={value:g}" for key, value in options.items())


# -- the study -------------------------------------------------------------------------------------


def all_methods(data: Known) -> dict[str, list[Tried]]:
    """Compute the cells of every method; those of the widths one after the other."""
    chosen = LpSVDDCV(random_state=1).fit(data.targets).best_params_["gamma"]
    methods: dict[str, list[Tried]] = {}
    for rule in LABEL_WIDTHS:
        gamma = chosen if rule == "chosen" else resolve_gamma(rule, data.targets)
        for name, cells in (labelled_balls(data, gamma) | kernel_rivals(data, gamma)).items():
            named = [cell._replace(name=f"{rule} {cell.name}") for cell in cells]
            methods[name] = methods.get(name, []) + named
            if rule == "chosen" and name in ("l1-", "l2-", "lp-", "lp-, all"):
                methods[f"{name}, chosen width"] = named
    return methods | {"trees": tree_scores(data), "network": pair_network_scores(data)}


def tables_with_anomalies(names: list[str], trials: int) -> list[TableTask]:
    """Return the first 120 tables whose draw has 60 anomalies or more."""
    tables_folder()  # a folder that is not there shows before anything is computed
    drawn = (TableTask(name, DRAW) for name in names)
    enough = (task for task in drawn if (draw(task).y < 0).sum() >= LEAST_ANOMALIES)
    return list(islice(enough, LABEL_TABLES))


_PARAMETERS: dict[str, Sequence | dict | int] = {
    "tables": LABEL_TABLES, "anomalies": LEAST_ANOMALIES, "targets": MOST_TARGETS,
    "labels": MOST_LABELS, "widths": LABEL_WIDTHS, "p": LABEL_PS, "p_without": NO_LABEL_PS,
    "nu": NUS, "r": RATIOS, "pairs": COST_PAIRS, "lambda": LAMBDAS, "C": MACHINE, "trees": TREES,
    "network": NETWORK, "batch": BATCH, "references": REFERENCES, "draw": DRAW,
}  # fmt: skip


@study(
    "A third of the anomalies is labelled: does lp-SVDD gain, and who makes the most of it?",
    tasks=tables_with_anomalies, names=JUDGED, trials=1, parameters=TABLE_SIZES | _PARAMETERS,
)  # fmt: skip
def labelled_outliers_tables(task: TableTask) -> list[Row]:
    """Make a row a method: AUC, cells, those lost, the cells that the two halves choose."""
    data = labelled_split(task)
    head = {"dataset": task.dataset, "targets": len(data.targets), "labels": len(data.labels)}
    return [
        head | {"contestant": name} | chosen_by_half(cells)
        for name, cells in all_methods(data).items()
    ]
