"""The experiments that decide: each a pure job per task, each with its own table in ``results/``.

``study.STUDIES`` lists them. ``run_study`` computes one, or takes it from ``results/`` when it was
computed with the same parameters and computation version.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pandas as pd

from replication.experiment import all_datasets, available, expected_cost
from replication.protocol import Task
from replication.results import read, read_record, results_folder, save_table
from replication.runner import SERIAL, Backend, HasKey, run
from replication.store import differences
from replication.studies.study import STUDIES, Study, VariantTask

__all__ = ["STUDIES", "Study", "run_study", "save_study"]

for _found in iter_modules(__path__):  # a module registers its studies when it is imported
    import_module(f"{__name__}.{_found.name}")


def _cost(task: HasKey) -> float:
    task = task.task if isinstance(task, VariantTask) else task
    return expected_cost(task) if isinstance(task, Task) else 1.0


def _committed(one: Study, names: Sequence[str] | None, trials: int) -> pd.DataFrame | None:
    """The stored table, cut to what is asked, if it was made with the same parameters."""
    path = results_folder() / f"{one.name}.csv"
    stored = read_record(path)
    wanted = one.signature()
    if stored is None or not path.exists() or trials != one.trials:
        return None
    if differences(stored["signature"], json.loads(json.dumps(wanted))):
        return None
    table = read(path)
    if names is None:
        return table
    if not set(names) <= set(table["dataset"]):
        return None
    return table[table["dataset"].isin(names)].reset_index(drop=True)


def find_study(name: str) -> Study:
    """The study of that name."""
    if name not in STUDIES:
        raise KeyError(f"unknown experiment {name!r}: expected one of {', '.join(STUDIES)}")
    return STUDIES[name]


def names_here(one: Study) -> list[str]:
    """Data sets of a study that are available on this machine."""
    absent = set(all_datasets()) - set(available())
    return [name for name in one.names if name not in absent]


def run_study(
    name: str,
    *,
    names: Sequence[str] | None = None,
    trials: int | None = None,
    backend: Backend = SERIAL,
    folder: str | Path | None = None,
    recompute: bool = False,
    progress: bool = True,
) -> pd.DataFrame:
    """Table of one deciding experiment.

    Parameters
    ----------
    name : a key of ``STUDIES``
    names, trials : data sets and number of splits; by default those of the committed table, as
        far as the data sets are available here
    backend, folder, recompute, progress : as in ``experiment``
    """
    one = find_study(name)
    count = one.trials if trials is None else trials
    stored = None if recompute else _committed(one, names, count)
    if stored is not None:
        return stored
    rows = run(
        one.job,
        one.tasks(list(names_here(one) if names is None else names), count),
        signature=one.signature() | {"trials": count},
        folder=folder,
        backend=backend,
        cost=_cost,
        progress=progress,
    )
    return one.finish(pd.DataFrame(rows))


def save_study(
    name: str,
    table: pd.DataFrame,
    folder: Path,
    *,
    trials: int | None = None,
    command: str | None = None,
    **further: Any,
) -> None:
    """Write the table of an experiment, by default one of its full size, and its record."""
    one = STUDIES[name]
    if "dataset" in table:
        further["datasets"] = sorted(set(table["dataset"]))
    save_table(
        table,
        folder / f"{name}.csv",
        command=command or f"python -m replication run --all --study {name} --save results",
        signature=one.signature() | {"trials": trials or one.trials},
        question=one.question,
        **further,
    )
