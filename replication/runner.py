"""Run many tasks, keep each result at once, go on where an earlier run was stopped.

The runner knows nothing of data or methods: it maps a pure function (task -> rows) over tasks,
stores the rows of each task when they arrive, and returns all rows in the order of the tasks. So
the table depends neither on the backend nor on the number of workers, the order of execution, or
how often the run was interrupted.

A backend (:class:`Local`: this process or others of this machine; :class:`Dask`: a cluster) yields
``(index, outcome)`` as tasks finish. Workers run the linear algebra on one thread each, so that
sums inside BLAS do not depend on the machine's number of cores. An exception inside a task is an
outcome like any other: the other tasks go on.
"""

from __future__ import annotations

import json
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from joblib import Parallel, cpu_count, delayed
from joblib.externals.loky.process_executor import BrokenProcessPool
from threadpoolctl import threadpool_limits

from replication.store import Row, Store

Outcomes = Iterator[tuple[int, Any]]


class HasKey(Protocol):
    """Anything with a text that names it uniquely within a run."""

    @property
    def key(self) -> str: ...


class RunFailed(RuntimeError):
    """Some tasks raised; the finished ones are stored."""


class WorkerLost(OSError):
    """A worker process ended before its task did, for example for want of memory."""


@dataclass(frozen=True)
class Failure:
    """A task that raised: the last line of the exception and the whole traceback."""

    message: str
    details: str


def guarded(function: Callable[[Any], Any], index: int, task: Any) -> tuple[int, Any]:
    """Call the function on one BLAS thread; an exception becomes a :class:`Failure`."""
    with threadpool_limits(limits=1):
        try:
            return index, function(task)
        except Exception as error:  # the runner reports it with the task's name
            message = "".join(traceback.format_exception_only(error)).strip()
            return index, Failure(message, traceback.format_exc())


@dataclass(frozen=True)
class Local:
    """Tasks in ``n_jobs`` processes of this machine (joblib); one job is this process."""

    n_jobs: int = 1

    def map(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Outcomes:
        """Outcomes as they come."""
        parallel = Parallel(
            n_jobs=self.n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
        )
        try:
            yield from parallel(delayed(guarded)(function, *pair) for pair in enumerate(tasks))
        except BrokenProcessPool as error:
            raise WorkerLost(
                "a worker process was killed, perhaps for want of memory. Finished tasks are kept "
                "if the run has a folder: run the same command again, or with fewer jobs"
            ) from error


@dataclass(frozen=True)
class Dask:
    """Tasks on the dask scheduler at an address ("tcp://host:8786"), or on a local cluster.

    A worker that dies costs the tasks it held: the scheduler gives them to the others, a few times.
    Only the process that called the runner writes files, so workers need no shared disk. Data sets
    that are not shipped (D4, D5) must be registered on every machine. This does not go through
    joblib, whose dask backend waits for ever for a task that killed its workers.
    """

    scheduler: str | None = None
    n_workers: int = 2
    timeout: float = 30.0

    def map(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Outcomes:
        """Outcomes as they come."""
        from distributed import Client, KilledWorker, LocalCluster, as_completed

        with ExitStack() as stack:
            address: Any = self.scheduler
            try:
                if address is None:
                    one_each = {"threads_per_worker": 1, "dashboard_address": None}
                    cluster = LocalCluster(n_workers=self.n_workers, processes=True, **one_each)
                    address = stack.enter_context(cluster)
                client = stack.enter_context(Client(address, timeout=self.timeout))
            except (RuntimeError, OSError) as error:  # "Nanny failed to start.", or a time-out
                if self.scheduler is None:
                    raise WorkerLost(
                        f"the dask cluster on this machine did not start ({error}): "
                        "run the same command again, or use the backend 'joblib'"
                    ) from error
                raise ConnectionError(
                    f"no dask scheduler answers at {self.scheduler}: start one with `dask "
                    "scheduler`, or leave the address out for a cluster on this machine"
                ) from error
            numbered = list(zip(*enumerate(tasks), strict=True))
            futures = client.map(guarded, [function] * len(tasks), *numbered, pure=False)
            try:
                for future in as_completed(futures):
                    yield future.result()
                    future.release()
            except KilledWorker as error:
                raise WorkerLost(f"a task killed every worker that was given it: {error}") from None


SERIAL = Local(1)
Backend = Local | Dask


def make_backend(name: str, n_jobs: int, scheduler: str | None = None) -> Backend:
    """Backend by its name on the command line: "joblib" or "dask".

    More jobs than cores only compete for them: on this machine their number is capped, with a word.
    """
    cores = cpu_count()
    if scheduler is None and n_jobs > cores:
        warnings.warn(f"{n_jobs} jobs were asked for, {cores} are used: one a core", stacklevel=2)
        n_jobs = cores
    if name == "dask":
        if find_spec("distributed") is None:
            raise ValueError(
                "the backend 'dask' needs dask: install the extra cluster, or use 'joblib'"
            )
        return Dask(scheduler=scheduler, n_workers=n_jobs)
    if name != "joblib":
        raise ValueError(f"unknown backend {name!r}: expected 'joblib' or 'dask'")
    if scheduler is not None:
        raise ValueError("a scheduler address needs the backend 'dask'")
    return Local(n_jobs)


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
    """Rows of all tasks, in their order, computed or taken from what is stored.

    Parameters
    ----------
    function : pure function of a task, returning rows that JSON can express
    signature : what decides the numbers; a folder made with another one is refused
    folder : where results are kept; None keeps nothing
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
                # through JSON: the same rows whether they are stored or not
                rows[task.key] = json.loads(json.dumps(outcome))
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
