r"""How much slack is dear? The constant f of the cost rule, C = 1/(nu n p (f s)^(p-1)).

The plan is ``plans/cost_scale.md``. Tables, draws and standardisation are those of ``tables``; the
shapes are those on which rates were too low where few rows lie on a bounded set.
"""

from __future__ import annotations

import numpy as np

from lpsvdd import LpSVDD
from lpsvdd.cost_rule import SLACK_SHARE, cost_by_scale, spread_of
from lpsvdd.kernels import kernel_matrix, resolve_gamma
from replication import table_sets
from replication.protocol import trial_seed
from replication.runner import Row
from replication.studies.study import study
from replication.studies.tables import (
    DESIGN,
    JUDGED,
    SEED,
    TABLE_SHARE,
    TABLE_SIZES,
    TableTask,
    as_they_come,
    aucs_of_parts,
    draw,
    timed_fit,
)

CONSTANTS = (0.01, 0.03, 0.1, 0.3, 1.0)
RULE_RATES = (0.05, 0.1)
SHAPES = ("ring", "square", "clusters")
SHAPE_ROWS, SHAPE_NEW, SHAPE_DRAWS = 60, 2_000, 20


def plane_shape(name: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows in the plane: a ring, a uniform square, or three clusters."""
    noise = rng.normal(size=(n, 2))
    if name == "ring":
        angle = rng.uniform(0.0, 2.0 * np.pi, size=n)
        return np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * noise
    if name == "square":
        return rng.uniform(-1.0, 1.0, size=(n, 2))
    corners = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    return corners[rng.integers(3, size=n)] + 0.15 * noise


def with_constant(f: float, nu: float, X: np.ndarray) -> LpSVDD:
    """Return the detector that is the default but for f, with its cost as a number."""
    K = kernel_matrix(X, kernel="rbf", gamma=resolve_gamma(LpSVDD().gamma, X))
    spread = spread_of(K, np.ones(len(X)))
    return LpSVDD(C=cost_by_scale(nu, len(X), LpSVDD().p, spread * f / SLACK_SHARE), nu=nu)


def table_and_shape_tasks(names: list[str], trials: int) -> list[TableTask]:
    """Return every draw of every shape, and one draw of every table."""
    if set(names) - set(SHAPES):
        table_sets.tables_folder()  # a folder that is not there shows before anything is computed
    return [
        TableTask(name, trial)
        for name in names
        for trial in range(SHAPE_DRAWS if name in SHAPES else trials)
    ]


@study(
    "Which constant does the cost rule need?",
    tasks=table_and_shape_tasks, names=SHAPES + DESIGN + JUDGED, trials=1,
    parameters=TABLE_SIZES | {
        "f": CONSTANTS, "nu": TABLE_SHARE, "levels": RULE_RATES,
        "shapes": {"rows": SHAPE_ROWS, "new": SHAPE_NEW, "draws": SHAPE_DRAWS},
    },
)  # fmt: skip
def cost_scale(task: TableTask) -> list[Row]:
    """Return one row a constant: AUC (of a table), per cent of new normal rows rejected."""
    if task.dataset in SHAPES:
        rng = np.random.default_rng([SEED, trial_seed(task.dataset, task.trial)])
        X, new = (plane_shape(task.dataset, n, rng) for n in (SHAPE_ROWS, SHAPE_NEW))
        ranked = None
    else:
        ranked, (data, anomaly) = draw(task), as_they_come(task)
        X, new = data.train, data.test[~anomaly]
    rows = []
    for f in CONSTANTS:
        row: Row = {"dataset": task.dataset, "trial": task.trial, "f": f, "auc": None}
        if ranked is not None:
            model = timed_fit(with_constant(f, TABLE_SHARE, ranked.train), ranked.train)[0]
            row["auc"] = aucs_of_parts(model.score_samples(ranked.test), ranked.y)["auc"]
        for level in RULE_RATES:
            out = timed_fit(with_constant(f, level, X), X)[0].predict(new) < 0
            row[f"rejected_{100 * level:g}"] = round(100 * float(out.mean()), 2)
        rows.append(row)
    return rows
