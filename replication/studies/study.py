"""What a study is, and ``@study``, which registers the job that answers its question.

    @study("Does lp beat l1?", trials=20, parameters=GRID)
    def lead(task): ...

makes ``python -m replication run --all --study lead --save results`` write results/lead.csv.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from replication.experiment import all_datasets, make_tasks
from replication.paper import COSTS, EXPONENTS, TRIALS
from replication.protocol import COMPUTATION_VERSION, Task
from replication.runner import HasKey
from replication.store import Row

GRID = {"p": EXPONENTS, "c": COSTS}
"""Parameters of a study on the paper's grid."""


FRESH = 10
"""Number of the first split that the first tables did not use."""


def splits(
    names: list[str], trials: int, *, settings: Sequence[str] = ("pure",), first: int = 0
) -> list[Task]:
    """Splits of every data set, from the number ``first`` on."""
    return [t for s in settings for t in make_tasks(s, names, range(first, first + trials))]


def _unchanged(rows: pd.DataFrame) -> pd.DataFrame:
    return rows


@dataclass(frozen=True)
class Study:
    """One question, the job that answers it on one task, and the size of the experiment.

    ``parameters`` holds, beside the job's code, what decides the numbers; ``finish`` turns the
    rows of all tasks into the table that is kept.
    """

    name: str
    question: str
    job: Callable[[Any], list[Row]]
    tasks: Callable[[list[str], int], Sequence[HasKey]] = splits
    names: tuple[str, ...] = tuple(all_datasets())
    trials: int = TRIALS
    parameters: dict[str, Any] = field(default_factory=dict)
    finish: Callable[[pd.DataFrame], pd.DataFrame] = _unchanged

    def signature(self) -> dict[str, Any]:
        """Whatever decides the numbers, whichever data sets are run."""
        return {
            "computation": COMPUTATION_VERSION,
            "study": self.name,
            "trials": self.trials,
            "parameters": self.parameters,
        }


STUDIES: dict[str, Study] = {}


def study(question: str, *, name: str | None = None, **options: Any) -> Callable:
    """Register a job under its own name, or another; the options are those of :class:`Study`."""

    def register(job: Callable[[Any], list[Row]]) -> Callable[[Any], list[Row]]:
        one = Study(name or job.__name__, question, job, **options)
        if one.name in STUDIES:
            raise ValueError(f"two studies are called {one.name!r}")
        STUDIES[one.name] = one
        return job

    return register


class WholeTable(NamedTuple):
    """The only task of a study that is computed in one piece."""

    key: str = "all"


def _whole(names: list[str], trials: int) -> list[WholeTable]:
    return [WholeTable()]


def as_rows(table: pd.DataFrame) -> list[Row]:
    """The rows of a table as JSON knows them."""
    return json.loads(table.to_json(orient="records", double_precision=15))


def _all_rows(task: WholeTable, make: Callable[[], pd.DataFrame]) -> list[Row]:
    return as_rows(make())


def simulation(question: str, *, name: str, **parameters: Any) -> Callable:
    """Register a function that makes a whole table without any data set."""

    def register(make: Callable[[], pd.DataFrame]) -> Callable[[], pd.DataFrame]:
        options = {"tasks": _whole, "names": (), "trials": 1, "parameters": parameters}
        study(question, name=name, **options)(partial(_all_rows, make=make))
        return make

    return register
