"""Every committed table has a record of how it was made, and nobody has edited it since."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import shlex
import shutil
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from replication.cli import build
from replication.cli.checks import Profile
from replication.experiment import experiment, paper_table
from replication.paper import SETTINGS
from replication.results import (
    ResultsError,
    read,
    read_record,
    record_path,
    refuse_other,
    save_table,
)
from replication.studies import STUDIES, run_study

RESULTS = Path(__file__).resolve().parents[2] / "results"
TABLES = sorted(RESULTS.glob("*.csv"))
FROZEN = sorted((RESULTS / "frozen").glob("*.csv"))
FORM = {
    "command", "sha256", "signature", "git_commit", "date", "python", "system", "processor",
    "cores", "packages", "blas",
}  # fmt: skip


def test_stored_tables_are_those_of_their_records() -> None:
    for table in [*TABLES, *FROZEN]:
        record = read_record(table)
        assert record is not None, f"{table.name} has no record: write it with save_table"
        assert FORM <= set(record), FORM - set(record)
        digest = hashlib.sha256(table.read_bytes()).hexdigest()
        assert record["sha256"] == digest, f"{table.name} is not the table recorded"


def test_commands_of_the_records_make_these_tables() -> None:
    commands = ("bench", "fuzz", "run")
    invoke = CliRunner().invoke
    known = {c: invoke(build(), [c, "--help"], env={"COLUMNS": "200"}).output for c in commands}
    for table in TABLES:
        python, flag, package, command, *options = shlex.split(read_record(table)["command"])
        assert (python, flag, package) == ("python", "-m", "replication")
        values = dict(zip(options, options[1:], strict=False))
        if command == "bench":
            assert table.stem == {"scale": "scale"}.get(values["--profile"], "benchmark")
            assert values["--profile"] in list(Profile)
        elif command == "fuzz":
            assert table.stem == "fuzz" and values["--save"] == "results"
        else:
            assert command == "run" and "--all" in options and values["--save"] == "results"
            named = values.get("--study") or values["--setting"]
            assert named == table.stem and named in {*STUDIES, *SETTINGS}
            one = STUDIES.get(named) or paper_table(named)  # the one the code would run
            wanted = json.loads(json.dumps(one.signature()))
            assert read_record(table)["signature"] == wanted, named
        assert all(option in known[command] for option in options if option.startswith("--"))


def test_lists_of_tables_are_true() -> None:
    lines = re.findall(
        r"^\| `(.+?)\.csv` \| .+ \| `(.+)` \|$", (RESULTS / "README.md").read_text(), re.M
    )
    assert dict(lines) == {path.stem: read_record(path)["command"] for path in TABLES}
    text = (RESULTS / "frozen" / "README.md").read_text()
    listed = re.findall(r"^\| `(.+?)\.csv` \| .+ \| .+ \| [0-9a-f]{7} \|$", text, re.M)
    assert sorted(listed) == [path.stem for path in FROZEN]
    assert set(listed) & set(STUDIES) == set()


def test_read_returns_what_was_saved_and_refuses_what_was_altered(tmp_path: Path) -> None:
    path = tmp_path / "new" / "one.csv"
    table = pd.DataFrame({"dataset": ["D1", "D2"], "auc": [50.25, None], "params": ["{}", ""]})
    save_table(table, path, command="a test", signature={"study": "one"}, wall_seconds=2.5)
    pd.testing.assert_frame_equal(read(path), table)
    record, text = read_record(path), record_path(path).read_text()
    assert record["wall_seconds"] == 2.5 and FORM <= set(record)
    for secret in (platform.node(), str(Path.home()), str(Path.cwd())):
        assert secret in ("", "/", ".") or secret not in text  # HOME=/ names nothing
    path.write_text(path.read_text().replace("50.25", "99.25"))
    with pytest.raises(ResultsError, match=r"one\.csv is not the file .* make it again: a test"):
        read(path)
    record_path(path).unlink()
    with pytest.raises(ResultsError, match=r"one\.csv has no record"):
        read(path)
    with pytest.raises(FileNotFoundError, match=r"no table none\.csv"):
        read("none")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the results, which the commands take for them."""
    folder = tmp_path / "results"
    shutil.copytree(RESULTS, folder)
    monkeypatch.setenv("LPSVDD_RESULTS", str(folder))
    return folder


def test_whoever_reads_an_altered_table_refuses_it(folder: Path) -> None:
    for path in folder.glob("*.csv"):
        text = path.read_text()
        last = next(k for k in range(len(text) - 1, 0, -1) if text[k] in "12345678")
        path.write_text(text[:last] + "9" + text[last + 1 :])
    for ask in (
        *(lambda name=table.stem: read(name) for table in TABLES),
        lambda: experiment("pure", names=["D7"], trials=1),
        lambda: run_study("common_range", progress=False),
    ):
        with pytest.raises(ResultsError, match="is not the file that its record describes"):
            ask()
    done = CliRunner().invoke(build(), ["claims", "--check"])
    assert done.exit_code == 1 and re.search(r"error: \w+\.csv is not the file", done.stderr)
    assert "no longer follow" not in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        "run --dataset D7 --save",
        "run --all --trials 2 --save",
        "run --dataset D7 --study decisions --save",
        "fuzz --problems 3 --save",
        "bench --profile quick --save",
    ],
)
def test_a_part_does_not_replace_the_whole(folder: Path, words: str) -> None:
    before = {path.name: path.read_bytes() for path in folder.glob("*.*")}
    done = CliRunner().invoke(build(), [*words.split(), str(folder)])
    assert done.exit_code == 1 and "Save to another folder" in done.stderr, done.output
    assert {path.name: path.read_bytes() for path in folder.glob("*.*")} == before


def test_refuse_other_compares_settings_data_sets_and_splits(tmp_path: Path) -> None:
    path, signature = tmp_path / "one.csv", {"study": "one", "p": (1, 2)}
    refuse_other(path, signature)
    table = pd.DataFrame({"dataset": ["D1", "D2"], "trial": [0, 1]})
    save_table(table, path, command="a test", signature=signature)
    refuse_other(path, signature, ["D2", "D1"], 2)
    for wrong, why in (
        ((signature, ["D1"], 2), "holds more"),
        ((signature, ["D1", "D2"], 1), "holds more"),
        ((signature | {"p": 1}, ["D1", "D2"], 2), "other settings"),
    ):
        with pytest.raises(ResultsError, match=why):
            refuse_other(path, *wrong)


def test_a_record_says_what_was_run(tmp_path: Path) -> None:
    save = ["--trials", "1", "--jobs", "1", "--save", str(tmp_path / "mine")]
    for words, table in (
        ("run --dataset D1 --setting pure", "pure"),
        ("run --dataset D1 --study decisions", "decisions"),
        ("fuzz --problems 3", "fuzz"),
    ):
        options = save[-2:] if words.startswith("fuzz") else save
        done = CliRunner().invoke(build(), [*words.replace("D1", "iris").split(), *options])
        assert done.exit_code == 0, done.output
        record = read_record(tmp_path / "mine" / f"{table}.csv")
        trials = "" if table == "fuzz" else " --trials 1"
        assert record["command"] == f"python -m replication {words}{trials} --save mine"
    record = read_record(tmp_path / "mine" / "decisions.csv")
    assert record["signature"]["trials"] == 1 and record["datasets"] == ["D1"]


@pytest.mark.parametrize("save", [True, False])
def test_what_is_saved_is_computed_and_not_read_back(tmp_path, monkeypatch, save) -> None:
    """A record names the commit of its run; one that only read the stored table was none."""
    asked = []

    def looked_at(*args, **options):
        asked.append(options["recompute"])
        raise RuntimeError("enough")

    monkeypatch.setattr("replication.experiment.compute", looked_at)
    for what in (["--study", "relabelling"], ["--setting", "pure"]):
        CliRunner().invoke(build(), ["run", "--all", *what, *(["--save", str(tmp_path)] * save)])
    assert asked == [save, save]
