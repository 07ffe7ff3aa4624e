"""Run many tasks, keep each result, go on where an earlier run was stopped.

joblib does the work. ``Parallel`` maps a pure function (task -> rows) over the tasks, in processes
of this machine or on a dask cluster; ``Memory`` keeps the rows of each finished task, under a key
that holds the signature of the run, so tasks of different options never mix. The table depends
neither on the workers nor on the order of execution or on how often the run was interrupted.

Only this process writes, so workers need no shared disk. An entry is compressed: its checksum shows
damage, and it repeats what it belongs to, which shows a copy of another one. Neither is used.

joblib waits for ever for a dask task whose workers were all killed (for want of memory, say): press
Ctrl-C, give the workers more memory, and run the same command again.
"""

from __future__ import annotations

import hashlib
import json
import random
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from joblib import Memory, Parallel, cpu_count, delayed, parallel_config
from joblib.externals.loky.process_executor import BrokenProcessPool
from threadpoolctl import threadpool_limits

Row = dict[str, Any]


class HasKey(Protocol):
    """Anything with a text that names it uniquely within a run."""

    @property
    def key(self) -> str: ...


class RunFailed(RuntimeError):
    """Some tasks raised, or a worker was lost; the finished tasks are kept."""


class ResultsWarning(UserWarning):
    """A kept task is not what it should be and is computed again; the message names it."""


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
    kept = None
    if folder is not None:
        kept = Memory(folder, verbose=0, compress=True).cache(_entry, ignore=["rows"])
    signed = hashlib.sha256(json.dumps(signature, sort_keys=True).encode()).hexdigest()
    rows = {} if kept is None else {key: _kept_rows(kept, signed, key) for key in keys}
    missing = [task for task in tasks if rows.get(task.key) is None]
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
                # through JSON: the same rows whether they were kept or not
                rows[key] = json.loads(json.dumps(found))
                if kept is not None:
                    with _interrupt_held():
                        kept.call(signed, key, rows[key])
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


def _entry(signed: str, key: str, rows: list[Row] | None) -> dict[str, Any]:
    """What the folder keeps of a task; joblib finds it by its first two arguments."""
    return {"signature": signed, "task": key, "rows": rows}


def _kept_rows(kept: Any, signed: str, key: str) -> list[Row] | None:
    """The kept rows of a task, None if it is not finished or its entry cannot be trusted."""
    if not kept.check_call_in_cache(signed, key, None):
        return None
    try:
        found = kept.call_and_shelve(signed, key, None).get()
        if (found["signature"], found["task"]) != (signed, key):
            raise ValueError(f"it belongs to {found['task']} or to other options")
        return found["rows"]
    except Exception as error:  # a damaged file raises whatever its bytes lead to
        warnings.warn(
            f"the kept result of the task {key} is not used ({error or type(error).__name__}); the "
            "task is computed again", ResultsWarning, stacklevel=3,
        )  # fmt: skip
        return None


@contextmanager
def _interrupt_held() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the block: joblib ignores one that comes while it writes."""
    if threading.current_thread() is not threading.main_thread():  # only that one gets signals
        yield
        return
    received: list[tuple[int, Any]] = []
    before = signal.signal(signal.SIGINT, lambda *one: received.append(one))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if received and callable(before):
        before(*received[0])


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
