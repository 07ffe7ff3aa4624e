"""Run many tasks, keep each result at once, go on where an earlier run was stopped.

The runner knows nothing of data or methods: it maps a pure function (task -> rows) over tasks,
stores the rows of each task when they arrive, and returns all rows in the order of the tasks. So
the table depends neither on the backend nor on the number of workers, the order of execution, or
how often the run was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from replication.backends import SERIAL, Backend, Failure
from replication.store import Row, Store, as_json


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
    backend: Backend = SERIAL,
    cost: Callable[[Any], float] = lambda task: 1.0,
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
    from tqdm.auto import tqdm

    keys = [task.key for task in tasks]
    if len(set(keys)) != len(keys):
        raise ValueError("two tasks have the same key")
    store = Store(folder, signature) if folder is not None else None
    rows = {key: known[key] for key in keys if known and key in known}
    for key in keys:
        if store is not None and key not in rows and (kept := store.read(key)) is not None:
            rows[key] = kept  # an empty list too: a task may have no rows
    missing = [task for task in tasks if task.key not in rows]
    missing.sort(key=cost, reverse=True)  # a stable sort: equal costs keep the given order
    failures: dict[str, Failure] = {}
    layout = "{desc} {percentage:3.0f}%|{bar}| {elapsed} gone, {remaining} left"
    total = sum(map(cost, missing))
    with tqdm(total=total, disable=not (progress and missing), bar_format=layout) as bar:
        outcomes = backend.map(function, missing) if missing else iter(())
        for done, (index, outcome) in enumerate(outcomes, start=1):
            task = missing[index]
            if isinstance(outcome, Failure):
                failures[task.key] = outcome
            else:
                rows[task.key] = as_json(outcome)  # the same rows whether they are stored or not
                if store is not None:
                    store.write(task.key, outcome)
            bar.update(cost(task))
            bar.set_description(f"{done}/{len(missing)} tasks")
    if failures:
        listed = "\n".join(f"  {key}: {failure.message}" for key, failure in failures.items())
        first = next(iter(failures.values())).details
        hint = "" if store is None else " Finished tasks are kept."
        raise RunFailed(
            f"{len(failures)} of {len(tasks)} tasks failed.{hint}\n{listed}\n\nThe first:\n{first}"
        )
    return [row for key in keys for row in rows[key]]
