r"""What hangs on the validation rows: how many there are, and which of the cells that tie wins.

* ``validation_size``: lp on the paper's grid, chosen with a quarter, a half and all of the
  validation rows. The subsets are nested and keep the ratio of the classes.
* ``tied_tables``: the methods of both tables when tied cells share the place.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from replication.experiment import paper_methods
from replication.methods import ScoredCell
from replication.paper import EXPONENTS
from replication.protocol import Task
from replication.store import Row
from replication.studies.ranges import FOUR, label, share_path
from replication.studies.study import contestant_rows, paper_path, shared_place_rows, splits, study
from replication.trial import Trial, judge, prepare

FRACTIONS = (0.25, 0.5, 1.0)
CONDITIONS = (
    "as is", "contamination 0.05", "contamination 0.1", "contamination 0.2", "n = 10", "n = 20",
    "n = 40", "tails 1", "tails 2",
)  # fmt: skip
"""Of a study that went (``results/README.md``): the record of ``validation_size`` names them."""
PARAMETERS = {"conditions": CONDITIONS, "fractions": FRACTIONS, "four": FOUR, "p": EXPONENTS}


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
