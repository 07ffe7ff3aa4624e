"""Where tasks are computed: in this process, in local processes, or on a dask cluster.

Every backend maps a pure function over tasks and yields ``(index, outcome)`` as tasks finish, in
any order. Workers run the linear algebra on one thread each, so that the processes, not the
threads inside them, share the cores, and the sums inside BLAS do not depend on the machine's
number of cores. An exception inside a task is an outcome like any other: the other tasks go on.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from joblib import Parallel, cpu_count, delayed
from joblib.externals.loky.process_executor import BrokenProcessPool
from threadpoolctl import threadpool_limits

Outcomes = Iterator[tuple[int, Any]]


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
    """Tasks on a dask.distributed cluster.

    Parameters
    ----------
    scheduler : address of a running scheduler ("tcp://host:8786"); None starts a cluster of
        ``n_workers`` processes on this machine for the time of the run
    n_workers : processes of the local cluster
    timeout : seconds to wait for the scheduler

    Notes
    -----
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
                    one_each = {
                        "threads_per_worker": 1,
                        "processes": True,
                        "dashboard_address": None,
                    }
                    address = stack.enter_context(
                        LocalCluster(n_workers=self.n_workers, **one_each)
                    )
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
