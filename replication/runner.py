"""Run many tasks, keep each result, go on where an earlier run was stopped.

joblib maps a pure function (task -> rows) over the tasks, in processes of this machine or on a dask
cluster. A folder keeps the rows of each finished task as a line of a file that is named after the
signature of the run, so tasks of different options never mix. The table depends neither on the
workers nor on the order of execution or on how often the run was interrupted. Only this process
writes, so workers need no shared disk.

joblib waits for ever for a dask task whose workers were all killed (for want of memory, say): press
Ctrl-C, give the workers more memory, and run the same command again.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from joblib import Parallel, cpu_count, delayed, parallel_config
from joblib.externals.loky.process_executor import BrokenProcessPool
from threadpoolctl import threadpool_limits

Row = dict[str, Any]


class HasKey(Protocol):
    """Anything with a text that names it uniquely within a run."""

    @property
    def key(self) -> str: ...


class RunFailed(RuntimeError):
    """Some tasks raised, or a worker was lost; the finished tasks are kept."""


def run_tasks(
    function: Callable[[Any], list[Row]],
    tasks: Sequence[HasKey],
    *,
    signature: dict[str, Any],
    folder: str | Path | None = None,
    n_jobs: int = 1,
    backend: str = "joblib",
    progress: bool = True,
) -> list[Row]:
    """Rows of all tasks, in their order, computed or taken from the folder.

    Parameters
    ----------
    function : pure function of a task, returning rows that JSON can express
    signature : what decides the numbers
    folder : where the rows of finished tasks are kept; None keeps nothing
    backend : "joblib" for processes of this machine, "dask" for a cluster on this machine, or the
        address of a dask scheduler, such as "tcp://host:8786"
    """
    keys = [task.key for task in tasks]
    if len(set(keys)) != len(keys):
        raise ValueError("two tasks have the same key")
    signed = hashlib.sha256(json.dumps(signature, sort_keys=True).encode()).hexdigest()
    kept = None if folder is None else Path(folder) / f"{signed[:16]}.jsonl"
    rows = {} if kept is None else _kept_rows(kept)
    missing = [task for task in tasks if task.key not in rows]
    random.Random(0).shuffle(missing)  # long tasks among short ones: the time left means something
    failures: dict[str, str] = {}
    with _workers(backend, n_jobs if len(missing) > 1 else 1):
        parallel = Parallel(return_as="generator_unordered", batch_size=1)
        outcomes = parallel(delayed(_guarded)(function, task) for task in missing)
        try:
            for key, found in with_progress(outcomes, len(missing), progress):
                if isinstance(found, str):
                    failures[key] = found
                    continue
                line = json.dumps([key, found])
                rows[key] = json.loads(line)[1]  # the same rows whether they were kept or not
                if kept is not None:
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    with kept.open("a", encoding="utf-8") as handle:
                        handle.write(f"\n{line}")  # below a line that a killed run left unfinished
        except BrokenProcessPool as error:
            raise RunFailed(
                "a worker process was killed, perhaps for want of memory. Finished tasks are kept "
                "if the run has a folder: run the same command again, or with fewer jobs"
            ) from error
    if failures:
        listed = "\n".join(f"  {key}: {text.splitlines()[-1]}" for key, text in failures.items())
        raise RunFailed(
            f"{len(failures)} of {len(tasks)} tasks failed."
            f"{' The others are kept.' if kept is not None else ''}\n{listed}\n\n"
            f"The first:\n{next(iter(failures.values()))}"
        )
    return [row for key in keys for row in rows[key]]


def _kept_rows(path: Path) -> dict[str, list[Row]]:
    """Rows of the finished tasks by key; a line that was not finished counts for nothing."""
    found = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                key, found[key] = json.loads(line)
    return found


def _guarded(function: Callable[[Any], list[Row]], task: HasKey) -> tuple[str, list[Row] | str]:
    """Key and rows of a task, computed on one BLAS thread; for an exception its traceback."""
    with threadpool_limits(limits=1):
        try:
            return task.key, function(task)
        except Exception:  # the run goes on, and names the task at its end
            return task.key, traceback.format_exc().strip()


@contextmanager
def _workers(backend: str, n_jobs: int) -> Iterator[None]:
    """Let joblib use processes of this machine, one a core at most, or a dask cluster."""
    if backend == "joblib":
        with parallel_config("loky", n_jobs=min(n_jobs, cpu_count())):
            yield
        return
    if backend != "dask" and "://" not in backend:
        raise ValueError(f"backend {backend!r}: expected joblib, dask or tcp://host:port")
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("dask is not installed: take the extra cluster, or use joblib") from None
    here = {"n_workers": n_jobs, "threads_per_worker": 1, "dashboard_address": None}
    try:
        client = Client(**here) if backend == "dask" else Client(backend, timeout=10)
    except (RuntimeError, OSError) as error:  # "Nanny failed to start.", or a time-out
        raise ConnectionError(f"no dask scheduler answers at {backend} ({error})") from error
    with client, parallel_config("dask"):
        yield


def with_progress(outcomes: Iterable[Any], total: int, show: bool = True) -> Iterator[Any]:
    """Yield what comes; on a terminal a line says how many came, and how long the others take."""
    show = show and sys.stderr.isatty()
    started = time.monotonic()
    for done, outcome in enumerate(outcomes, start=1):
        yield outcome
        if show:
            bar = f"{'#' * (30 * done // total):-<30}"
            left = timedelta(seconds=round((time.monotonic() - started) * (total / done - 1)))
            end = "\n" if done == total else ""
            print(f"\r{bar} {done} of {total}, {left} left", end=end, file=sys.stderr, flush=True)
