"""Does ``LpSVDD(nu=...)`` reject the share of new targets that it was asked for?

The plan is ``plans/kept_rate.md``: six tenths of a set's targets are fitted, the others are new.
"""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from lpsvdd import LpSVDD
from replication.datasets import load
from replication.preprocessing import preprocessor
from replication.protocol import Task
from replication.runner import Row
from replication.studies.study import study

RATES = (0.05, 0.1, 0.2)
COMPARED_SURFACES = ("ball", "leave-one-out")
MOST_ROWS = 500


@study(
    "Does the leave-one-out surface reject the wanted share of new targets?",
    trials=20,
    parameters={"rates": RATES, "surfaces": COMPARED_SURFACES, "largest": MOST_ROWS, "new": 0.4},
)
def kept_rate(task: Task) -> list[Row]:
    """Return one row a rate and surface: per cent of the new targets that are rejected."""
    data = load(task.dataset)
    train, new = train_test_split(data.X[data.y == 1], test_size=0.4, random_state=task.trial)
    where = {"dataset": task.dataset, "trial": task.trial}
    rows = []
    for nu in RATES:
        for surface in COMPARED_SURFACES:
            detector = LpSVDD(nu=nu, surface=surface)
            model = make_pipeline(preprocessor(unit_norm=False), detector).fit(train[:MOST_ROWS])
            rejected = 100 * float(np.mean(model.predict(new) < 0))
            rows.append(where | {"nu": nu, "surface": surface, "rejected": round(rejected, 4)})
    return rows
