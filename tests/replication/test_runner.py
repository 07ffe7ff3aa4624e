"""The runner on toy tasks: killed runs, lost workers, failing tasks, damaged entries."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import cloudpickle
import joblib
import pytest
from threadpoolctl import threadpool_info

from replication.runner import ResultsWarning, RunFailed, run_tasks, with_progress

# dask workers are fresh interpreters that cannot import this file
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@dataclass(frozen=True)
class Toy:
    number: int

    @property
    def key(self) -> str:
        return f"toy-{self.number:02d}"


def square(task: Toy) -> list[dict]:
    return [{"number": task.number, "square": task.number**2, "third": task.number / 3}]


TASKS = [Toy(number) for number in range(8)]
EXPECTED = [row for task in TASKS for row in square(task)]
SIGNED = {"signature": {"options": {"unit_norm": True}}, "progress": False}


class Spy:
    """``square``, and the numbers of the tasks that were computed in this process."""

    def __init__(self) -> None:
        self.computed: list[int] = []

    def __call__(self, task: Toy) -> list[dict]:
        self.computed.append(task.number)
        return square(task)


def test_run_tasks_with_other_options_shares_no_entry_of_a_folder(tmp_path: Path) -> None:
    run_tasks(square, TASKS[:5], folder=tmp_path, **SIGNED)
    spy = Spy()
    assert run_tasks(spy, TASKS, folder=tmp_path, **SIGNED) == EXPECTED
    assert sorted(spy.computed) == [5, 6, 7]
    others = SIGNED | {"signature": {"options": {"unit_norm": False}}}
    assert run_tasks(spy, TASKS, folder=tmp_path, **others) == EXPECTED
    assert len(spy.computed) == 3 + 8


def test_run_tasks_returns_the_same_rows_whether_they_were_kept_or_not(tmp_path: Path) -> None:
    """JSON makes lists of tuples and text of keys; no task of no rows is computed again."""

    def odd(task: Toy) -> list[dict]:
        return [{"pair": (task.number, 0.1), 1: None}] if task.number else []

    computed = run_tasks(odd, TASKS, **SIGNED)
    assert computed[1] == {"pair": [2, 0.1], "1": None} and len(computed) == 7
    assert run_tasks(odd, TASKS, folder=tmp_path, **SIGNED) == computed
    assert run_tasks(Spy(), TASKS, folder=tmp_path, **SIGNED) == computed


def test_run_tasks_with_a_failing_task_names_it_and_keeps_the_others(tmp_path: Path) -> None:
    def fails_on_three(task: Toy) -> list[dict]:
        if task.number == 3:
            raise ValueError("three is not supported")
        return square(task)

    with pytest.raises(RunFailed, match=r"(?s)1 of 8 tasks.*toy-03: ValueError: three is not"):
        run_tasks(fails_on_three, TASKS, folder=tmp_path, **SIGNED)
    spy = Spy()
    assert run_tasks(spy, TASKS, folder=tmp_path, **SIGNED) == EXPECTED
    assert spy.computed == [3]
    with pytest.raises(ValueError, match="same key"):
        run_tasks(square, [Toy(1), Toy(1)], **SIGNED)


def entries(folder: Path) -> dict[str, Path]:
    """The file of each kept task."""
    return {joblib.load(path)["task"]: path for path in folder.rglob("output.pkl")}


DAMAGES = {
    "emptied": lambda own, other: own.write_bytes(b""),
    "cut off": lambda own, other: own.write_bytes(own.read_bytes()[:-9]),
    "not a pickle": lambda own, other: own.write_text("[null]"),
    "another task's": lambda own, other: own.write_bytes(other.read_bytes()),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_run_tasks_names_a_damaged_entry_and_computes_it_again(tmp_path: Path, damage) -> None:
    run_tasks(square, TASKS, folder=tmp_path, **SIGNED)
    files, spy = entries(tmp_path), Spy()
    damage(files["toy-01"], files["toy-03"])
    with pytest.warns(ResultsWarning, match="kept result of the task toy-01 is not used"):
        assert run_tasks(spy, TASKS, folder=tmp_path, **SIGNED) == EXPECTED
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run_tasks(spy, TASKS, folder=tmp_path, **SIGNED) == EXPECTED
    assert spy.computed == [1]


@pytest.mark.filterwarnings("ignore::replication.runner.ResultsWarning")
def test_run_tasks_returns_true_rows_whichever_byte_of_an_entry_is_wrong(tmp_path: Path) -> None:
    run_tasks(square, TASKS[1:2], folder=tmp_path, **SIGNED)
    ((_, file),) = entries(tmp_path).items()
    content = file.read_bytes()
    for at in range(len(content)):
        file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert run_tasks(square, TASKS[1:2], folder=tmp_path, **SIGNED) == EXPECTED[1:2]


SCRIPT = """
import signal, sys, time
from dataclasses import dataclass
import typer
from replication.cli import sentences
from replication.runner import run_tasks

@dataclass(frozen=True)
class Toy:
    number: int
    @property
    def key(self):
        return f"toy-{self.number:02d}"

def square(task):
    time.sleep(0.15)
    return [{"number": task.number, "square": task.number**2, "third": task.number / 3}]

if __name__ == "__main__":
    folder, backend, jobs = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        with sentences(f"finished tasks are in {folder}"):
            run_tasks(square, [Toy(i) for i in range(8)], folder=folder, progress=False,
                      backend=backend, n_jobs=int(jobs), signature={"options": {"unit_norm": True}})
    except typer.Exit as stopped:
        sys.exit(stopped.exit_code)
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"])
@pytest.mark.parametrize(
    "workers",
    [("joblib", "1"), ("joblib", "2"), pytest.param(("dask", "2"), marks=pytest.mark.slow)],
    ids="-".join,
)
def test_a_stopped_run_goes_on_and_ends_with_the_same_table(
    tmp_path: Path, workers: tuple[str, str], end: signal.Signals
) -> None:
    script, folder = tmp_path / "script.py", tmp_path / "results"
    script.write_text(SCRIPT)
    for wanted in (1, 3):  # stopped twice, at different points
        with open(tmp_path / "said", "w") as said:
            process = subprocess.Popen(
                [sys.executable, str(script), str(folder), *workers],
                stderr=said, start_new_session=True,
                env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
            )  # fmt: skip
        deadline = time.monotonic() + 120
        while len(list(folder.rglob("output.pkl"))) < wanted:
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.01)
        if end == signal.SIGINT:  # as a terminal does: to the workers too
            os.killpg(process.pid, end)
            assert process.wait(60) == 130
            assert f"stopped; finished tasks are in {folder}" in (tmp_path / "said").read_text()
        else:
            process.kill()
            assert process.wait(60) == -end
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what is left of the workers
    assert len(list(folder.rglob("output.pkl"))) < len(TASKS)
    assert run_tasks(square, TASKS, folder=folder, **SIGNED) == EXPECTED


def test_run_tasks_stops_for_an_interrupt_while_an_entry_is_written(tmp_path, monkeypatch) -> None:
    """joblib catches everything there, Ctrl-C included."""
    store = joblib._store_backends.FileSystemStoreBackend
    write = store._concurrency_safe_write

    def interrupted(self, content, filename, writer) -> None:
        if filename.endswith("metadata.json"):
            signal.raise_signal(signal.SIGINT)
        write(self, content, filename, writer)

    monkeypatch.setattr(store, "_concurrency_safe_write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_tasks(square, TASKS, folder=tmp_path, **SIGNED)
    monkeypatch.undo()
    spy = Spy()
    assert run_tasks(spy, TASKS, folder=tmp_path, **SIGNED) == EXPECTED
    assert len(spy.computed) == len(TASKS) - 1


def test_a_cluster_that_loses_a_worker_ends_with_the_same_table(tmp_path: Path) -> None:
    from distributed import LocalCluster

    lock = tmp_path / "killed"

    def kills_its_worker_once(task: Toy) -> list[dict]:
        time.sleep(0.05)
        if task.number == 3 and not lock.exists():
            lock.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return square(task)

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        rows = run_tasks(
            kills_its_worker_once, TASKS, backend=cluster.scheduler_address,
            folder=tmp_path / "results", **SIGNED,
        )  # fmt: skip
    assert lock.exists() and rows == EXPECTED


def test_a_lost_local_worker_is_reported_and_the_run_goes_on(tmp_path: Path) -> None:
    def dies_on_seven(task: Toy) -> list[dict]:
        if task.number == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        return square(task)

    with pytest.raises(RunFailed, match="run the same command again"):
        run_tasks(dies_on_seven, TASKS, n_jobs=2, folder=tmp_path, **SIGNED)
    assert run_tasks(square, TASKS, folder=tmp_path, **SIGNED) == EXPECTED


def test_run_tasks_computes_on_one_blas_thread() -> None:
    import numpy  # noqa: F401  (its BLAS is what is asked about)

    def threads(task: Toy) -> list[dict]:
        return [{"threads": max(one["num_threads"] for one in threadpool_info())}]

    for n_jobs in (1, 2):
        rows = run_tasks(threads, TASKS[:2], n_jobs=n_jobs, **SIGNED)
        assert [row["threads"] for row in rows] == [1, 1]


def test_run_tasks_with_a_backend_that_is_none_gets_a_sentence(monkeypatch) -> None:
    with pytest.raises(ValueError, match="backend 'mpi': expected joblib, dask or tcp"):
        run_tasks(square, TASKS, backend="mpi", **SIGNED)

    def broken(*_: object, **__: object) -> None:
        raise OSError("timed out")

    monkeypatch.setattr("distributed.Client", broken)
    with pytest.raises(ConnectionError, match="no dask scheduler answers at tcp://127.0.0.1:9"):
        run_tasks(square, TASKS, backend="tcp://127.0.0.1:9", **SIGNED)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match="take the extra cluster"):
        run_tasks(square, TASKS, backend="dask", **SIGNED)


def test_counted_draws_a_bar_on_a_terminal_and_nothing_elsewhere(capsys, monkeypatch) -> None:
    assert list(with_progress("ab", 2)) == ["a", "b"] and capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(with_progress("ab", 2)) == ["a", "b"]
    assert capsys.readouterr().err.endswith("2 of 2, 0:00:00 left\n")
