"""Every committed table has a record of how it was made, and nobody has edited it since."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from replication import benchmark
from replication.benchmark import PROFILES
from replication.cli import build
from replication.experiment import experiment
from replication.paper import SETTINGS
from replication.results import read, read_record, record_path, save_table
from replication.store import ResultsError, differences
from replication.studies import STUDIES, run_study

RESULTS = Path(__file__).resolve().parents[2] / "results"
TABLES = sorted(RESULTS.glob("*.csv"))
FROZEN = sorted((RESULTS / "frozen").glob("*.csv"))
FORM = {
    "command", "sha256", "signature", "git_commit", "date", "python", "system", "processor",
    "cores", "packages", "blas",
}  # fmt: skip


def test_the_records_belong_to_their_tables() -> None:
    for table in [*TABLES, *FROZEN]:
        record = read_record(table)
        assert record is not None, f"{table.name} has no record: write it with save_table"
        assert FORM <= set(record), FORM - set(record)
        digest = hashlib.sha256(table.read_bytes()).hexdigest()
        assert record["sha256"] == digest, f"{table.name} is not the table recorded"


def test_the_commands_make_these_tables() -> None:
    commands = ("bench", "fuzz", "run")
    invoke = CliRunner().invoke
    known = {c: invoke(build(), [c, "--help"], env={"COLUMNS": "200"}).output for c in commands}
    for table in TABLES:
        python, flag, package, command, *options = shlex.split(read_record(table)["command"])
        assert (python, flag, package) == ("python", "-m", "replication")
        values = dict(zip(options, options[1:], strict=False))
        if command == "bench":
            profile = values["--profile"]
            assert table.stem == ("scale" if profile == "scale" else "benchmark")
            assert profile in {*PROFILES, "scale"}
        elif command == "fuzz":
            assert table.stem == "fuzz" and values["--save"] == "results"
        else:
            assert command == "run" and "--all" in options and values["--save"] == "results"
            named = values.get("--study") or values["--setting"]
            assert named == table.stem and named in {*STUDIES, *SETTINGS}
        assert all(option in known[command] for option in options if option.startswith("--"))


def test_the_list_of_tables_is_true() -> None:
    lines = re.findall(
        r"^\| `(.+?)\.csv` \| .+ \| `(.+)` \|$", (RESULTS / "README.md").read_text(), re.M
    )
    assert dict(lines) == {path.stem: read_record(path)["command"] for path in TABLES}


def test_frozen_tables_are_listed_and_have_no_study() -> None:
    text = (RESULTS / "frozen" / "README.md").read_text()
    listed = re.findall(r"^\| `(.+?)\.csv` \| .+ \| .+ \| [0-9a-f]{7} \|$", text, re.M)
    assert sorted(listed) == [path.stem for path in FROZEN]
    assert set(listed) & set(STUDIES) == set()


def test_a_table_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    path = tmp_path / "new" / "one.csv"
    table = pd.DataFrame({"dataset": ["D1", "D2"], "auc": [50.25, None], "params": ["{}", ""]})
    save_table(table, path, command="a test", signature={"study": "one"}, wall_seconds=2.5)
    pd.testing.assert_frame_equal(read(path), table)
    record = read_record(path)
    assert (
        record["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        and record["wall_seconds"] == 2.5
    )
    path.write_text(path.read_text().replace("50.25", "99.25"))
    with pytest.raises(ResultsError, match=r"one\.csv is not the file .* make it again: a test"):
        read(path)
    record_path(path).write_text("[]")
    with pytest.raises(ResultsError, match=r"one\.provenance\.json is not the record of a table"):
        read(path)
    record_path(path).unlink()
    with pytest.raises(ResultsError, match=r"one\.csv has no record"):
        read(path)


@pytest.fixture
def altered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the results in which the AUC of one row of each table was made larger."""
    folder = tmp_path / "results"
    shutil.copytree(RESULTS, folder)
    for path in folder.glob("*.csv"):
        text = path.read_text()
        end = len(text) - 1
        last = next(k for k in range(end, 0, -1) if text[k] in "12345678")
        path.write_text(text[:last] + "9" + text[last + 1 :])
    monkeypatch.setenv("LPSVDD_RESULTS", str(folder))
    return folder


def test_an_altered_table_is_refused_whichever_it_is(altered: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no table none\.csv"):
        read("none")
    for table in TABLES:
        with pytest.raises(ResultsError, match=rf"{table.name} is not the file"):
            read(table.stem)


def test_claims_refuse_an_altered_table(altered: Path) -> None:
    done = CliRunner().invoke(build(), ["claims", "--check"])
    assert done.exit_code == 1 and re.search(r"error: \w+\.csv is not the file", done.stderr)
    assert "no longer follow" not in done.stdout


def test_pages_and_experiments_refuse_an_altered_table(altered: Path) -> None:
    for ask in (
        lambda: experiment("pure", names=["D7"], trials=1),
        lambda: run_study("common_range", progress=False),
        lambda: benchmark.read(altered / "benchmark.csv"),
    ):
        with pytest.raises(ResultsError, match="is not the file that its record describes"):
            ask()


def test_a_stored_study_is_the_one_the_code_would_run() -> None:
    for path in TABLES:
        if path.stem in STUDIES:
            wanted = json.loads(json.dumps(STUDIES[path.stem].signature()))
            assert differences(read_record(path)["signature"], wanted) == [], path.stem


# -- no part replaces the whole --------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, lost",
    [
        (["--dataset", "D7"], "D1, D2"),
        (["--all", "--trials", "2"], "of 100 splits"),
        (["--all", "--no-unit-norm", "--trials", "200"], "rows made with other options"),
        (["--dataset", "D7", "--study", "decisions"], "D1, D2"),
        (["--all", "--trials", "1", "--study", "relabelling"], "5 of 6 splits"),
    ],
)
def test_a_part_does_not_replace_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], lost: str
) -> None:
    folder = tmp_path / "results"
    shutil.copytree(RESULTS, folder)
    monkeypatch.setenv("LPSVDD_RESULTS", str(folder))
    before = {path.name: path.read_bytes() for path in folder.glob("*.*")}
    done = CliRunner().invoke(build(), ["run", "--jobs", "1", *words, "--save", str(folder)])
    assert done.exit_code == 1 and "a part does not replace the whole" in done.stderr
    assert lost in done.stderr and "Save to another folder" in done.stderr
    assert {path.name: path.read_bytes() for path in folder.glob("*.*")} == before


def test_a_quick_benchmark_or_fewer_fuzz_problems_do_not_replace_the_stored(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "results"
    shutil.copytree(RESULTS, folder)
    before = {path.name: path.read_bytes() for path in folder.glob("*.*")}
    for words, sentence in (
        (["fuzz", "--problems", "3", "--save", str(folder)], "counts 10,000 problems"),
        (
            ["bench", "--profile", "quick", "--output", str(folder / "benchmark.csv")],
            "holds the profile 'full'",
        ),
    ):
        done = CliRunner().invoke(build(), words)
        assert done.exit_code == 1 and sentence in done.stderr
    assert {path.name: path.read_bytes() for path in folder.glob("*.*")} == before
    done = CliRunner().invoke(build(), ["fuzz", "--problems", "3", "--save", str(tmp_path / "x")])
    assert done.exit_code == 0, done.output
    command = read_record(tmp_path / "x" / "fuzz.csv")["command"]
    assert command == "python -m replication fuzz --problems 3 --save x"


def test_a_record_says_what_was_run(tmp_path: Path) -> None:
    words = ["run", "--jobs", "1", "--dataset", "iris", "--setting", "pure", "--trials", "1"]
    done = CliRunner().invoke(build(), [*words, "--quiet", "--save", str(tmp_path / "mine")])
    assert done.exit_code == 0, done.output
    record = read_record(tmp_path / "mine" / "pure.csv")
    assert record["command"] == (
        "python -m replication run --dataset D1 --setting pure --trials 1 --save mine"
    )
    study = [
        "run",
        "--jobs",
        "1",
        "--dataset",
        "D1",
        "--study",
        "matched_sparsity",
        "--trials",
        "1",
    ]
    done = CliRunner().invoke(build(), [*study, "--quiet", "--save", str(tmp_path / "mine")])
    assert done.exit_code == 0, done.output
    record = read_record(tmp_path / "mine" / "matched_sparsity.csv")
    assert record["signature"]["trials"] == 1 and record["datasets"] == ["D1"]
    assert record["command"] == (
        "python -m replication run --dataset D1 --study matched_sparsity --trials 1 --save mine"
    )


@pytest.mark.parametrize("save", [True, False])
def test_what_is_saved_is_computed_and_not_read_back(tmp_path, monkeypatch, save):
    """A record names the commit of its run; one that only read the stored table was none."""
    from replication import experiment, studies

    asked = []

    def looked_at(*args, **options):
        asked.append(options["recompute"])
        raise RuntimeError("enough")

    monkeypatch.setattr(studies, "run_study", looked_at)
    monkeypatch.setattr(experiment, "experiment", looked_at)
    words = ["--save", str(tmp_path)] if save else []
    for what in (["--study", "relabelling"], ["--setting", "pure"]):
        CliRunner().invoke(build(), ["run", "--all", *what, *words])
    assert asked == [save, save]
