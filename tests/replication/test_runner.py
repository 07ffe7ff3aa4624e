"""The runner on toy tasks: killed runs, lost workers, failing tasks, unfinished lines."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import cloudpickle
import pytest
from threadpoolctl import threadpool_info

from replication.runner import RunFailed, run_tasks, with_progress

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


def test_run_tasks_computes_what_is_missing_under_the_same_signature(tmp_path: Path) -> None:
    run_tasks(square, TASKS[:5], folder=tmp_path, **SIGNED)
    spy = Spy()
    assert run_tasks(spy, TASKS, folder=tmp_path, **SIGNED) == EXPECTED
    assert sorted(spy.computed) == [5, 6, 7]
    (file,) = tmp_path.iterdir()
    file.write_text(file.read_text()[:-9])  # as a killed run may leave it
    for _ in range(2):
        assert run_tasks(spy, TASKS, folder=tmp_path, **SIGNED) == EXPECTED
    assert len(spy.computed) == 3 + 1
    others = SIGNED | {"signature": {"options": {"unit_norm": False}}}
    assert run_tasks(spy, TASKS, folder=tmp_path, **others) == EXPECTED
    assert len(spy.computed) == 4 + 8


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


SCRIPT = """
import signal, sys, time
import typer
from replication.cli import sentences
from replication.runner import run_tasks
from test_runner import SIGNED, TASKS, square

def slow(task):
    time.sleep(0.15)
    return square(task)

if __name__ == "__main__":
    folder, backend, jobs = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        with sentences(f"finished tasks are in {folder}"):
            run_tasks(slow, TASKS, folder=folder, backend=backend, n_jobs=int(jobs), **SIGNED)
    except typer.Exit as stopped:
        sys.exit(stopped.exit_code)
"""


def finished(folder: Path) -> int:
    return sum(path.read_text().count("toy") for path in folder.glob("*"))


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
    here = Path(__file__).resolve()
    for wanted in (1, 3):  # stopped twice, at different points
        with open(tmp_path / "said", "w") as said:
            process = subprocess.Popen(
                [sys.executable, str(script), str(folder), *workers],
                stderr=said, start_new_session=True,
                env=os.environ | {"PYTHONPATH": f"{here.parents[2]}{os.pathsep}{here.parent}"},
            )  # fmt: skip
        deadline = time.monotonic() + 120
        while finished(folder) < wanted:
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
    assert finished(folder) < len(TASKS)
    assert run_tasks(square, TASKS, folder=folder, **SIGNED) == EXPECTED


def test_a_lost_local_worker_is_reported_and_the_run_goes_on(tmp_path: Path) -> None:
    def dies_on_seven(task: Toy) -> list[dict]:
        if task.number == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        return square(task)

    with pytest.raises(RunFailed, match="run the same command again"):
        run_tasks(dies_on_seven, TASKS, n_jobs=2, folder=tmp_path, **SIGNED)
    assert run_tasks(square, TASKS, folder=tmp_path, **SIGNED) == EXPECTED


def test_run_tasks_computes_on_one_blas_thread() -> None:
    def threads(task: Toy) -> list[dict]:
        import numpy  # noqa: F401  (its BLAS is what is asked about)

        return [{"threads": max(one["num_threads"] for one in threadpool_info())}]

    assert run_tasks(threads, TASKS[:2], n_jobs=2, **SIGNED) == 2 * [{"threads": 1}]


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


def test_progress_draws_a_bar_on_a_terminal_and_nothing_elsewhere(capsys, monkeypatch) -> None:
    assert list(with_progress("ab", 2)) == ["a", "b"] and capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(with_progress("ab", 2)) == ["a", "b"]
    assert capsys.readouterr().err.endswith("2 of 2, 0:00:00 left\n")
