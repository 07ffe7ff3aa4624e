"""Run many tasks, keep each result at once, go on where an earlier run was stopped.

The runner knows nothing of data or methods: it maps a pure function (task -> rows) over tasks,
stores the rows of each task when they arrive, and returns all rows in the order of the tasks. So
the table depends neither on the backend nor on the number of workers, the order of execution, or
how often the run was interrupted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from replication.backends import SERIAL, Dask, Failure, Local, Serial
from replication.store import Row, Store


class HasKey(Protocol):
    """Anything with a text that names it uniquely within a run."""

    @property
    def key(self) -> str: ...


class RunFailed(RuntimeError):
    """Some tasks raised; the finished ones are stored."""


def run(
    function: Callable[[Any], list[Row]],
    tasks: Sequence[HasKey],
    *,
    signature: dict[str, Any],
    folder: str | Path | None = None,
    backend: Serial | Local | Dask = SERIAL,
    cost: Callable[[Any], float] | None = None,
    progress: bool = True,
    known: dict[str, list[Row]] | None = None,
) -> list[Row]:
    """Rows of all tasks, computed or taken from what is stored.

    Parameters
    ----------
    function : pure function of a task, returning rows that JSON can express
    tasks : the tasks; the rows are returned in this order
    signature : what decides the numbers; a folder made with another one is refused
    folder : where results are kept; None keeps nothing
    backend : where tasks are computed
    cost : expected relative time of a task: long tasks start first, and the progress bar counts
        in these units so that its time left is meaningful
    known : rows of tasks already known from elsewhere, by key
    """
    keys = [task.key for task in tasks]
    if len(set(keys)) != len(keys):
        raise ValueError("two tasks have the same key")
    store = Store(folder, signature) if folder is not None else None
    rows: dict[str, list[Row]] = {}
    for key in keys:
        found = (known or {}).get(key)
        if found is None and store is not None:
            found = store.read(key)
        if found is not None:
            rows[key] = found
    missing = [task for task in tasks if task.key not in rows]
    weigh = cost if cost is not None else (lambda task: 1.0)
    missing.sort(key=weigh, reverse=True)  # a stable sort: equal costs keep the given order
    failures = _compute(function, missing, store, rows, backend, weigh, progress)
    if failures:
        listed = "\n".join(f"  {key}: {failure.message}" for key, failure in failures.items())
        first = next(iter(failures.values())).details
        kept = "" if store is None else " Finished tasks are kept."
        raise RunFailed(
            f"{len(failures)} of {len(tasks)} tasks failed.{kept}\n{listed}\n\nThe first:\n{first}"
        )
    return [row for key in keys for row in rows[key]]


def _compute(
    function: Callable[[Any], list[Row]],
    missing: list[HasKey],
    store: Store | None,
    rows: dict[str, list[Row]],
    backend: Serial | Local | Dask,
    weigh: Callable[[Any], float],
    progress: bool,
) -> dict[str, Failure]:
    """Compute the missing tasks into ``rows`` and the store; return those that raised."""
    from tqdm.auto import tqdm

    failures: dict[str, Failure] = {}
    if not missing:
        return failures
    total = sum(weigh(task) for task in missing)
    layout = "{desc} {percentage:3.0f}%|{bar}| {elapsed} gone, {remaining} left"
    with tqdm(total=total, disable=not progress, bar_format=layout) as bar:
        bar.set_description(f"0/{len(missing)} tasks")
        for done, (index, outcome) in enumerate(backend.map(function, missing), start=1):
            task = missing[index]
            if isinstance(outcome, Failure):
                failures[task.key] = outcome
            else:
                # the same rows whether they were stored and read again or not
                rows[task.key] = json.loads(json.dumps(outcome))
                if store is not None:
                    store.write(task.key, outcome)
            bar.update(weigh(task))
            bar.set_description(f"{done}/{len(missing)} tasks")
    return failures
