"""What a table of results is, and the one function that computes it: the paper's two and studies.

A :class:`Study` is a name, a job (a pure function of a task), tasks, and the parameters that decide
the numbers. :func:`compute` takes its table from ``results/`` where it was made with the same
parameters and computation version, and runs it otherwise. :func:`paper_table` is the paper's
experiment of one setting; the others are in ``studies``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from replication import datasets
from replication.methods import METHODS, Method
from replication.paper import METHOD_NAMES, SETTINGS, TRIALS
from replication.protocol import (
    COMPUTATION_VERSION,
    DEFAULTS,
    TRIAL_COLUMNS,
    Options,
    Task,
    run_trial,
)
from replication.results import read, read_record, results_folder, save_table
from replication.runner import HasKey, Row, run_tasks

NOTHING: Mapping[str, Any] = MappingProxyType({})
SPLITS = 100
"""Splits of the paper's tables here; the paper has ``paper.TRIALS``, ours begin with as many."""
TOLERANCE = 0.05
"""AUC points within which a recomputed row counts as the same."""
REQUIRED_SHARE = 0.99
"""Share of rows that must be the same for a recomputation to count as agreeing."""


def all_datasets() -> list[str]:
    """D1 ... D20."""
    return [record.id for record in datasets.RECORDS]


def available() -> list[str]:
    """Data sets that can be loaded here: all but those the user has not supplied."""
    return [
        record.id
        for record in datasets.RECORDS
        if record.kind != "user" or datasets.user_file(record).is_file()
    ]


def splits(
    names: Sequence[str],
    trials: int,
    *,
    settings: Sequence[str] = ("pure",),
    first: int = 0,
    own: Mapping[str, Any] = NOTHING,
) -> list[Task]:
    """Splits of every data set, from the number ``first`` on; an unknown name raises KeyError."""
    ids = dict.fromkeys(name if name in own else datasets.find(name).id for name in names)
    numbers = range(first, first + trials)
    return [
        Task(name, setting, number) for setting in settings for name in ids for number in numbers
    ]


def unchanged(rows: pd.DataFrame) -> pd.DataFrame:
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
    finish: Callable[[pd.DataFrame], pd.DataFrame] = unchanged

    def signature(self) -> dict[str, Any]:
        """Whatever decides the numbers, whichever data sets are run."""
        return {
            "computation": COMPUTATION_VERSION,
            "study": self.name,
            "trials": self.trials,
            "parameters": self.parameters,
        }

    def names_here(self) -> list[str]:
        """Data sets of the study that are available on this machine."""
        absent = set(all_datasets()) - set(available())
        return [name for name in self.names if name not in absent]

    def stored_part(
        self, table: pd.DataFrame, signature: dict[str, Any], names: Sequence[str] | None
    ) -> pd.DataFrame | None:
        """Cut a stored table to the data sets asked for; None where it does not hold them all."""
        if signature != json.loads(json.dumps(self.signature())):
            return None
        if names is None:
            return table
        if not set(names) <= set(table.get("dataset", [])):
            return None
        return table[table["dataset"].isin(names)].reset_index(drop=True)


class PaperTable(Study):
    """The paper's experiment of a setting; its stored table serves for fewer splits and methods."""

    def signature(self) -> dict[str, Any]:
        """Options of the protocol, methods with their grids, files of a user's own."""
        return {"computation": COMPUTATION_VERSION, "setting": self.name} | self.parameters

    def stored_part(
        self, table: pd.DataFrame, signature: dict[str, Any], names: Sequence[str] | None
    ) -> pd.DataFrame | None:
        """Cut a stored table to these data sets, splits and methods, in this order, or None."""
        wanted, methods = self.signature(), self.parameters["methods"]
        stored = signature.get("methods", {})
        if not methods.items() <= stored.items() or wanted | {"methods": stored} != signature:
            return None
        names = list(dict.fromkeys(table["dataset"]) if names is None else names)
        keys = [
            (t.dataset, t.trial, one) for t in self.tasks(names, self.trials) for one in methods
        ]
        found = table.set_index(["dataset", "trial", "method"]).reindex(keys).reset_index()
        return None if found["n_train"].isna().any() else found[list(TRIAL_COLUMNS)]


def paper_methods(setting: str) -> list[Method]:
    """Methods of the paper's table for a setting, in the order of its columns."""
    if setting not in SETTINGS:
        raise ValueError(f"setting={setting!r}: expected one of {', '.join(SETTINGS)}")
    return [METHODS[setting, name] for name in METHOD_NAMES[setting]]


def method_grids(methods: Sequence[Method]) -> dict[str, dict[str, Any]]:
    """For each method the number of cells, and a digest of all values of its grid in order."""
    return {
        one.name: {
            "cells": len(one.grid),
            "grid": hashlib.sha256(json.dumps(one.grid).encode()).hexdigest()[:8],
        } | ({"class": one.origin} if one.origin else {})
        for one in methods
    }  # fmt: skip


def paper_table(
    setting: str,
    methods: Sequence[Method] | None = None,
    options: Options = DEFAULTS,
    own: Mapping[str, Any] = NOTHING,
) -> PaperTable:
    """The paper's experiment of a setting, by default with the paper's methods and options.

    ``own`` are data sets that are not in the catalogue, by name.
    """
    chosen = paper_methods(setting) if methods is None else list(methods)
    files = {"files": {name: one.sha256 for name, one in own.items()}} if own else {}
    return PaperTable(
        name=setting,
        question="AUC of every method on every data set and split, selected on validation rows.",
        job=partial(run_trial, options=options, methods=chosen, own=own),
        tasks=partial(splits, settings=[setting], own=own),
        trials=SPLITS,
        parameters={"options": asdict(options), "methods": method_grids(chosen)} | files,
    )


def compute(
    one: Study,
    *,
    names: Sequence[str] | None = None,
    trials: int | None = None,
    recompute: bool = False,
    **runner: Any,
) -> pd.DataFrame:
    """The table of a study.

    Parameters
    ----------
    names, trials : data sets and number of splits; by default those of the stored table, as far as
        the data sets are available here
    recompute : compute everything, even what ``results/`` holds
    runner : folder, n_jobs, backend and progress as in ``runner.run_tasks``
    """
    asked = one if trials is None else replace(one, trials=trials)
    if not recompute and (path := results_folder() / f"{one.name}.csv").exists():
        table = read(path)  # raises where the file is not the one recorded
        found = asked.stored_part(table, (read_record(path) or {})["signature"], names)
        if found is not None:
            return found
    tasks = asked.tasks(asked.names_here() if names is None else list(names), asked.trials)
    if not tasks:
        raise ValueError("nothing to run: no data set or no split was named")
    rows = run_tasks(asked.job, tasks, signature=asked.signature(), **runner)
    return asked.finish(pd.DataFrame(rows))


def save_study(
    one: Study, table: pd.DataFrame, folder: Path, *, command: str, **further: Any
) -> None:
    """Write the table of an experiment and its record."""
    if "dataset" in table:
        further["datasets"] = sorted(set(table["dataset"]))
    path = folder / f"{one.name}.csv"
    further |= {"signature": one.signature(), "question": one.question}
    save_table(table, path, command=command, **further)


def experiment(
    setting: str,
    *,
    methods: Sequence[Method] | None = None,
    options: Options = DEFAULTS,
    own: Mapping[str, Any] = NOTHING,
    **how: Any,
) -> pd.DataFrame:
    """The paper's table of a setting: ``paper_table``, computed with the options of ``compute``."""
    return compute(paper_table(setting, methods, options, own), **how)


class Agreement(NamedTuple):
    """How far a recomputed table agrees with a stored one: rows, those within the tolerance."""

    rows: int
    within: int
    share: float
    others: pd.DataFrame


def agreement(stored: pd.DataFrame, computed: pd.DataFrame) -> Agreement:
    """Compare the AUC of every computed row with the stored row of the same trial and method.

    A row without a counterpart counts as different; a row without an AUC in both counts as equal.
    """
    keys = ["dataset", "method", "trial"]
    both = computed[[*keys, "auc", "params"]].merge(
        stored[[*keys, "auc", "params"]],
        on=keys, how="left", suffixes=("", "_stored"), indicator=True,
    )  # fmt: skip
    both["difference"] = both["auc"] - both["auc_stored"]
    neither = both["auc"].isna() & both["auc_stored"].isna()
    good = (both.pop("_merge") == "both") & ((both["difference"].abs() <= TOLERANCE) | neither)
    within = int(good.sum())
    return Agreement(len(both), within, within / max(len(both), 1), both[~good])
