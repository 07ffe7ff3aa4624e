"""The paper's two experiments: which tasks, which methods, and what of it is known already.

``experiment`` is what notebooks and the command line call. It takes from a committed table the
tasks that were computed with the same options, the same grids and the same computation version,
computes the rest, and returns the table.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pandas as pd

from replication import datasets
from replication.methods import METHODS, Method
from replication.paper import METHOD_NAMES, SETTINGS
from replication.protocol import COMPUTATION_VERSION, DEFAULTS, Options, Task
from replication.results import read, read_record, results_folder
from replication.runner import SERIAL, Backend, run
from replication.trial import COLUMNS, run_trial

if TYPE_CHECKING:
    from replication.own import OwnSet

NOTHING: Mapping[str, OwnSet] = MappingProxyType({})
SPLITS = {"pure": 100, "negatives": 100}
"""Splits of the stored tables; the paper has ``paper.TRIALS``, and ours begin with as many."""
TOLERANCE = 0.05
"""AUC points within which a recomputed row counts as the same."""
REQUIRED_SHARE = 0.99
"""Share of rows that must be the same for a recomputation to count as agreeing."""


def paper_methods(setting: str) -> list[Method]:
    """Methods of the paper's table for a setting, in the order of its columns."""
    if setting not in SETTINGS:
        raise ValueError(f"setting={setting!r}: expected one of {', '.join(SETTINGS)}")
    return [METHODS[setting, name] for name in METHOD_NAMES[setting]]


def all_datasets() -> list[str]:
    """D1 ... D20."""
    return [record.id for record in datasets.RECORDS]


def available() -> list[str]:
    """Data sets that can be loaded here: all but those the user has not supplied."""
    found = []
    for name in all_datasets():
        try:
            datasets.load(name)
        except datasets.MissingDataError:
            continue
        found.append(name)
    return found


def grid_digest(method: Method) -> str:
    """Eight hexadecimal digits that change with any value of the grid, or its order."""
    text = json.dumps(method.grid)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def signature(setting: str, options: Options, methods: Sequence[Method]) -> dict[str, Any]:
    """Whatever decides the numbers of a run, for its manifest and provenance record."""
    return {
        "computation": COMPUTATION_VERSION,
        "setting": setting,
        "options": asdict(options),
        "methods": {
            method.name: {"cells": len(method.grid), "grid": grid_digest(method)}
            | ({"class": method.origin} if method.origin else {})
            for method in methods
        },
    }


def make_tasks(
    setting: str,
    names: Sequence[str],
    trials: int | Sequence[int],
    own: Mapping[str, OwnSet] = NOTHING,
) -> list[Task]:
    """Tasks in the order data set, trial; unknown names raise KeyError before anything runs."""
    numbers = range(trials) if isinstance(trials, int) else trials
    ids = [name if name in own else datasets.find(name).id for name in names]
    return [Task(name, setting, trial) for name in dict.fromkeys(ids) for trial in numbers]


def expected_cost(task: Task, own: Mapping[str, OwnSet] = NOTHING) -> float:
    """Relative time of a task: a few Cholesky factorisations per cell, plus a fixed share."""
    size = own[task.dataset] if task.dataset in own else datasets.find(task.dataset)
    n_train = (size.positives if task.setting == "pure" else size.n) / 3
    return 1.0 + (n_train / 200.0) ** 2.5


def stored_rows(
    table: Path, wanted: dict[str, Any], methods: Sequence[Method]
) -> dict[str, list[dict[str, Any]]]:
    """Rows of a committed table by task key, where its provenance matches what is wanted."""
    if not table.exists():
        return {}
    rows = read(table)  # raises where the file is not the one recorded
    record = read_record(table) or {}
    found = record["signature"]
    names = [method.name for method in methods]
    same = all(found.get(key) == wanted[key] for key in ("computation", "setting", "options"))
    if not same or any(found["methods"].get(name) != wanted["methods"][name] for name in names):
        return {}
    rows = rows[rows["method"].isin(names)]
    known = {}
    for (dataset, trial), part in rows.groupby(["dataset", "trial"], sort=False):
        part = part.set_index("method").reindex(names)
        if part["n_train"].notna().all():
            lines = part.reset_index()[list(COLUMNS)]
            key = Task(dataset, wanted["setting"], int(trial)).key
            known[key] = json.loads(lines.to_json(orient="records"))
    return known


def experiment(
    setting: str,
    *,
    names: Sequence[str] | None = None,
    trials: int | Sequence[int] | None = None,
    methods: Sequence[Method] | None = None,
    options: Options = DEFAULTS,
    own: Mapping[str, OwnSet] = NOTHING,
    backend: Backend = SERIAL,
    folder: str | Path | None = None,
    recompute: bool = False,
    progress: bool = True,
) -> pd.DataFrame:
    """Results table of one setting.

    Parameters
    ----------
    names, trials, methods : what to run; by default 20 data sets, ``SPLITS`` trials, the paper's
        methods
    options : the open choices of the protocol
    own : data sets that are not in the catalogue, by name; ``names`` says which are run
    backend : where to compute what is not known
    folder : keeps each finished task, so that an interrupted run goes on
    recompute : compute everything, even what ``results/`` holds for the same options and version
    """
    chosen = paper_methods(setting) if methods is None else list(methods)
    wanted = signature(setting, options, chosen)
    count = SPLITS[setting] if trials is None else trials
    tasks = make_tasks(setting, all_datasets() if names is None else names, count, own)
    used = {task.dataset: own[task.dataset] for task in tasks if task.dataset in own}
    if not (chosen and tasks):
        raise ValueError("nothing to run: no method, no data set or no split was named")
    files = {"files": {name: one.sha256 for name, one in used.items()}} if used else {}
    known = None
    if not recompute:
        known = stored_rows(results_folder() / f"{setting}.csv", wanted, chosen)
    rows = run(
        partial(run_trial, options=options, methods=chosen, own=used),
        tasks,
        signature=wanted | files,
        folder=folder,
        backend=backend,
        cost=partial(expected_cost, own=used),
        progress=progress,
        known=known,
    )
    return pd.DataFrame(rows, columns=list(COLUMNS))


@dataclass(frozen=True)
class Agreement:
    """How far a recomputed table agrees with a stored one."""

    rows: int
    within: int
    others: pd.DataFrame

    @property
    def share(self) -> float:
        """Share of rows within the tolerance."""
        return self.within / self.rows if self.rows else float("nan")


def compare(
    stored: pd.DataFrame, computed: pd.DataFrame, tolerance: float = TOLERANCE
) -> Agreement:
    """Compare the AUC of every computed row with the stored row of the same trial and method.

    A row without a counterpart counts as different; a row without an AUC in both counts as equal.
    """
    keys = ["dataset", "method", "trial"]
    both = computed[[*keys, "auc", "params"]].merge(
        stored[[*keys, "auc", "params"]],
        on=keys, how="left", suffixes=("", "_stored"), indicator=True,
    )  # fmt: skip
    both["difference"] = both["auc"] - both["auc_stored"]
    paired = both["_merge"] == "both"
    equal = both["difference"].abs() <= tolerance
    neither = both["auc"].isna() & both["auc_stored"].isna() & paired
    good = paired & (equal | neither)
    others = both.loc[~good].drop(columns="_merge")
    return Agreement(rows=len(both), within=int(good.sum()), others=others)
