"""The runner on toy tasks: killed runs, killed workers, failing tasks, refused folders."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import cloudpickle
import pandas as pd
import pytest
from typer.testing import CliRunner

from lpsvdd import _atomic
from replication.cli import build
from replication.results import save_table
from replication.runner import SERIAL, Dask, Local, RunFailed, WorkerLost, make_backend, run
from replication.store import (
    ResultsError,
    ResultsWarning,
    Store,
    write_text,
)

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


def fails_on_three(task: Toy) -> list[dict]:
    if task.number == 3:
        raise ValueError("three is not supported")
    return square(task)


TASKS = [Toy(number) for number in range(8)]
EXPECTED = [row for task in TASKS for row in square(task)]
SIGNATURE = {"options": {"unit_norm": True}, "version": "1"}


def test_rows_come_in_task_order_for_every_order_of_execution(tmp_path: Path) -> None:
    for number, cost in enumerate(
        [lambda task: 1.0, lambda task: task.number, lambda task: -task.number]
    ):
        rows = run(
            square, TASKS, signature=SIGNATURE, folder=tmp_path / str(number), cost=cost,
            progress=False,
        )  # fmt: skip
        assert rows == EXPECTED


def test_stored_tasks_are_not_computed_again(tmp_path: Path) -> None:
    run(square, TASKS[:5], signature=SIGNATURE, folder=tmp_path, progress=False)
    computed = []

    def spy(task: Toy) -> list[dict]:
        computed.append(task.number)
        return square(task)

    rows = run(spy, TASKS, signature=SIGNATURE, folder=tmp_path, progress=False)
    assert rows == EXPECTED
    assert computed == [5, 6, 7]


def test_rows_are_the_same_whether_they_were_stored_or_not(tmp_path: Path) -> None:
    """JSON makes lists of tuples and text of keys; it does so on every road."""

    def odd(task: Toy) -> list[dict]:
        return [{"pair": (task.number, 0.1), 1: None}]

    arguments = {"signature": SIGNATURE, "progress": False}
    computed = run(odd, TASKS, **arguments)
    assert computed[2] == {"pair": [2, 0.1], "1": None}
    assert run(odd, TASKS, folder=tmp_path, **arguments) == computed
    assert run(odd, TASKS, folder=tmp_path, **arguments) == computed


def test_a_failing_task_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"(?s)1 of 8 tasks.*toy-03: ValueError: three is not"):
        run(fails_on_three, TASKS, signature=SIGNATURE, folder=tmp_path, progress=False)
    assert len(list((tmp_path / "tasks").glob("*.json"))) == 7
    rows = run(square, TASKS, signature=SIGNATURE, folder=tmp_path, progress=False)
    assert rows == EXPECTED


def test_changed_options_are_refused_and_nothing_is_overwritten(tmp_path: Path) -> None:
    run(square, TASKS[:2], signature=SIGNATURE, folder=tmp_path, progress=False)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    changed = {"options": {"unit_norm": False}, "version": "1"}
    with pytest.raises(ResultsError, match=r"options.unit_norm: true -> false"):
        run(square, TASKS, signature=changed, folder=tmp_path, progress=False)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json")} == before


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear reader")
    with pytest.raises(ResultsError, match="not\\s+made by a run"):
        Store(tmp_path, SIGNATURE)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def stored(folder: Path, number: int) -> Path:
    return folder / "tasks" / f"toy-{number:02d}.json"


def altered(folder: Path) -> None:
    content = json.loads(stored(folder, 1).read_text())
    content["rows"][0]["square"] = 4711
    stored(folder, 1).write_text(json.dumps(content))


def copied_with_its_name_corrected(folder: Path) -> None:
    content = json.loads(stored(folder, 3).read_text())
    stored(folder, 1).write_text(json.dumps(content | {"task": "toy-01"}))


def from_a_run_with_other_options(folder: Path) -> None:
    other = folder.with_name("other")
    Store(other, {"options": {"unit_norm": False}, "version": "1"}).write("toy-01", square(Toy(9)))
    stored(folder, 1).write_bytes(stored(other, 1).read_bytes())


def of_the_wrong_type(folder: Path) -> None:
    Store(folder, SIGNATURE).write("toy-01", [None])


DAMAGES = {
    "altered": (altered, "altered, or written by a run with other options"),
    "copied": (
        lambda folder: stored(folder, 1).write_bytes(stored(folder, 3).read_bytes()),
        "holds the result of 'toy-03'",
    ),
    "copied, name corrected": (copied_with_its_name_corrected, "altered, or written by"),
    "of another run": (from_a_run_with_other_options, "altered, or written by"),
    "emptied": (lambda folder: stored(folder, 1).write_text(""), "Expecting value"),
    "cut off": (lambda folder: stored(folder, 1).write_text('[{"a"'), "delimiter"),
    "nested without end": (
        lambda folder: stored(folder, 1).write_text("[" * 100_000),
        "recursion",
    ),
    "a list": (lambda folder: stored(folder, 1).write_text("[null]"), "not the result of a task"),
    "rows alone": (
        lambda folder: stored(folder, 1).write_text(json.dumps(square(Toy(1)))),
        "not the result of a task",
    ),
    "rows of the wrong type": (of_the_wrong_type, "does not hold rows of a table"),
    "not text": (lambda folder: stored(folder, 1).write_bytes(b"\xff\xfe\x00"), "codec"),
}


@pytest.mark.parametrize("damage, reason", DAMAGES.values(), ids=list(DAMAGES))
def test_a_task_file_that_cannot_be_trusted_is_named_and_computed_again(
    tmp_path: Path, damage, reason: str
) -> None:
    folder, computed = tmp_path / "results", []

    def spy(task: Toy) -> list[dict]:
        computed.append(task.number)
        return square(task)

    arguments = {"signature": SIGNATURE, "folder": folder, "progress": False}
    run(square, TASKS, **arguments)
    damage(folder)
    with pytest.warns(ResultsWarning, match=rf"tasks/toy-01\.json is not used .*{reason}"):
        assert run(spy, TASKS, **arguments) == EXPECTED
    assert computed == [1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(spy, TASKS, **arguments) == EXPECTED
    assert computed == [1]


@pytest.mark.parametrize("text", ["[null]", "", "7", "[" * 100_000])
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ResultsError, match=r"manifest\.json"):
        Store(tmp_path, SIGNATURE)


WRITERS = {
    "task.json": lambda folder, rows: write_text(folder / "task.json", str(rows)),
    "tasks/toy-01.json": lambda folder, rows: Store(folder, SIGNATURE).write("toy-01", rows),
    "table.csv": lambda folder, rows: save_table(
        pd.DataFrame(rows), folder / "table.csv", command="a test", signature=SIGNATURE
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A text, a task, a table with its record: what was there stays, and nothing is left over."""
    WRITERS[name](tmp_path, [{"a": 1}])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert tmp_path / name in before

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_atomic.os, "fsync", full)
    with pytest.raises(ResultsError, match=rf"{Path(name).name} could not be written: No space"):
        WRITERS[name](tmp_path, [{"a": 2}])
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


SCRIPT = """
import signal, sys, time
from dataclasses import dataclass
import typer
from replication.runner import Dask, Local
from replication.cli import sentences
from replication.runner import run

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
    folder, backend = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        with sentences(f"finished tasks are in {folder}"):
            run(square, [Toy(i) for i in range(8)], folder=folder, progress=False,
                backend=eval(backend), signature={"options": {"unit_norm": True}, "version": "1"})
    except typer.Exit as stopped:
        sys.exit(stopped.exit_code)
"""
ROADS = [
    "Local(1)",
    "Local(2)",
    pytest.param("Dask(n_workers=2)", marks=pytest.mark.slow),
]


def test_what_a_kill_left_of_a_file_goes_when_the_task_is_done_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "results", SIGNATURE)
    store.write("toy-01", [])
    for name in (".toy-01.json.0123456789abcdef.tmp", ".toy-02.json.0123456789abcdef.tmp"):
        (tmp_path / "results" / "tasks" / name).write_text("{")
    store.write("toy-01", [])
    left = sorted(path.name for path in (tmp_path / "results" / "tasks").iterdir())
    assert left == [".toy-02.json.0123456789abcdef.tmp", "toy-01.json"]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"])
@pytest.mark.parametrize("backend", ROADS)
def test_a_stopped_run_goes_on_and_ends_with_the_same_table(
    tmp_path: Path, backend: str, end: signal.Signals
) -> None:
    script, folder = tmp_path / "script.py", tmp_path / "results"
    script.write_text(SCRIPT)
    for wanted in (1, 3):  # stopped twice, at different places
        with open(tmp_path / "said", "w") as said:
            process = subprocess.Popen(
                [sys.executable, str(script), str(folder), backend],
                stderr=said, start_new_session=True,
                env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
            )  # fmt: skip
        deadline = time.monotonic() + 120
        while len(list(folder.glob("tasks/toy-*.json"))) < wanted:
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
    assert len(list(folder.glob("tasks/toy-*.json"))) < len(TASKS)
    assert run(square, TASKS, signature=SIGNATURE, folder=folder, progress=False) == EXPECTED
    assert not [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".json"]


@pytest.mark.parametrize(
    "own",
    [
        pytest.param(False, id="by address"),
        pytest.param(True, id="started for the run", marks=pytest.mark.slow),
    ],
)
def test_a_cluster_that_loses_a_worker_ends_with_the_same_table(tmp_path: Path, own: bool) -> None:
    from distributed import LocalCluster

    lock = tmp_path / "killed"

    def kills_its_worker_once(task: Toy) -> list[dict]:
        time.sleep(0.05)
        if task.number == 3 and not lock.exists():
            lock.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return square(task)

    arguments = {"signature": SIGNATURE, "folder": tmp_path / "results", "progress": False}
    if own:
        rows = run(kills_its_worker_once, TASKS, backend=Dask(n_workers=2), **arguments)
    else:
        with LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster:
            backend = Dask(scheduler=cluster.scheduler_address)
            rows = run(kills_its_worker_once, TASKS, backend=backend, **arguments)
    assert lock.exists()
    assert rows == EXPECTED


def test_a_lost_local_worker_is_reported_and_the_run_goes_on(tmp_path: Path) -> None:
    def dies_on_seven(task: Toy) -> list[dict]:
        if task.number == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        return square(task)

    arguments = {"signature": SIGNATURE, "folder": tmp_path / "results", "progress": False}
    with pytest.raises(WorkerLost, match="run the same command again"):
        run(dies_on_seven, TASKS, backend=Local(2), **arguments)
    assert run(square, TASKS, **arguments) == EXPECTED


@pytest.mark.slow
def test_a_task_that_kills_every_worker_ends_the_run_with_a_sentence() -> None:
    def deadly(task: Toy) -> list[dict]:
        if task.number == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        return square(task)

    with pytest.raises(WorkerLost, match="a task killed every worker"):
        run(deadly, TASKS, signature=SIGNATURE, backend=Dask(n_workers=2), progress=False)


def test_an_unreachable_scheduler_is_named() -> None:
    with pytest.raises(ConnectionError, match="no dask scheduler answers at tcp://127.0.0.1:9"):
        backend = Dask(scheduler="tcp://127.0.0.1:9", timeout=0.5)
        run(square, TASKS, signature=SIGNATURE, backend=backend, progress=False)


def test_backends_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_backend("joblib", 1) == SERIAL == Local(1)
    monkeypatch.setattr("replication.runner.cpu_count", lambda: 4)
    assert make_backend("joblib", 3) == Local(3)
    assert make_backend("dask", 2, "tcp://a:1") == Dask(scheduler="tcp://a:1", n_workers=2)
    with pytest.raises(ValueError, match="unknown backend"):
        make_backend("mpi", 2)
    with pytest.raises(ValueError, match="needs the backend"):
        make_backend("joblib", 2, "tcp://a:1")


def test_jobs_are_capped_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replication.runner.cpu_count", lambda: 4)
    with pytest.warns(UserWarning, match="999999 jobs were asked for, 4 are used"):
        assert make_backend("joblib", 999_999) == Local(4)
    remote = make_backend("dask", 64, "tcp://a:1")  # other machines have their own cores
    assert remote == Dask(scheduler="tcp://a:1", n_workers=64)


def test_dask_that_is_absent_or_does_not_start_gets_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr("distributed.LocalCluster", broken)
    with pytest.raises(WorkerLost, match="did not start .Nanny failed to start"):
        list(Dask().map(square, TASKS))
    monkeypatch.setattr("replication.runner.find_spec", lambda name: None)
    with pytest.raises(ValueError, match="needs dask: install the extra cluster"):
        make_backend("dask", 1)


def test_ctrl_c_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("replication.cli.run._paper", interrupted)
    done = CliRunner().invoke(build(), ["run", "--dataset", "D7"])
    assert done.exit_code == 130 and "with --folder NAME" in done.stderr
    done = CliRunner().invoke(build(), ["run", "--dataset", "D7", "--folder", str(tmp_path)])
    assert "the same command goes on from there" in done.stderr


def test_two_tasks_with_one_key_are_refused() -> None:
    with pytest.raises(ValueError, match="same key"):
        run(square, [Toy(1), Toy(1)], signature=SIGNATURE, progress=False)
