"""Tables of the experiments: what is taken from results/, what is computed, how both compare."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from replication import datasets
from replication.cli import build
from replication.experiment import (
    REQUIRED_SHARE,
    agreement,
    compute,
    experiment,
    paper_table,
    save_study,
)
from replication.methods import METHODS
from replication.protocol import Options
from replication.results import read, read_record, save_table
from replication.studies import find_study, run_study

CHEAP = [METHODS["pure", name] for name in ("GP", "KPCA", "l1-SVDD")]
TWO = {"names": ["D1"], "trials": 2, "methods": CHEAP[:2], "progress": False}
RECOGNISABLE = 12.5


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A results folder of its own with two trials of D1, two methods, recognisable values."""
    monkeypatch.setenv("LPSVDD_RESULTS", str(tmp_path))
    one, table = paper_table("pure", CHEAP[:2]), experiment("pure", **TWO)
    save_study(one, table.assign(auc=RECOGNISABLE), tmp_path, command="a test")
    return tmp_path / "pure.csv"


def test_experiment_takes_stored_rows_as_far_as_they_serve(results: Path) -> None:
    for fewer in ({}, {"trials": 1}, {"methods": CHEAP[1:2]}, {"names": None}):
        assert experiment("pure", **TWO | fewer)["auc"].eq(RECOGNISABLE).all()
    assert experiment("pure", **TWO | {"methods": CHEAP[1::-1]})["method"][0] == "KPCA"
    for more in (
        {"trials": 3}, {"methods": CHEAP[:3]}, {"names": ["D1", "D17"]},
        {"options": Options(unit_norm=False)}, {"recompute": True},
    ):  # fmt: skip
        assert experiment("pure", **TWO | more)["auc"].ne(RECOGNISABLE).all()
    kept = read(results).query("not (trial == 1 and method == 'KPCA')")
    save_table(kept, results, command="a test", signature=read_record(results)["signature"])
    assert experiment("pure", **TWO | {"trials": 1})["auc"].eq(RECOGNISABLE).all()
    assert experiment("pure", **TWO)["auc"].ne(RECOGNISABLE).all()


@pytest.mark.parametrize("entry", ["computation", "setting", "options", "methods"])
def test_rows_of_another_computation_are_not_taken(results: Path, entry: str) -> None:
    """Of all that decides the numbers, each difference alone is enough to compute again."""
    signature = paper_table("pure", CHEAP[:2]).signature()
    other = {
        "computation": "another version",
        "setting": "negatives",
        "options": signature["options"] | {"seed": 1},
        "methods": signature["methods"] | {"GP": {"cells": 5, "grid": "00000000"}},
    }
    signature |= {entry: other[entry]}
    save_table(read(results), results, command="a test", signature=signature)
    assert experiment("pure", **TWO)["auc"].ne(RECOGNISABLE).all()


def test_run_study_takes_a_stored_table_of_the_same_parameters(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LPSVDD_RESULTS", str(tmp_path))
    computed = run_study("references", names=["D1"], trials=1, progress=False)
    assert len(computed) == 6
    save_study(find_study("references"), computed.assign(auc=1.0), tmp_path, command="a test")
    assert run_study("references", names=["D1"], progress=False)["auc"].eq(1.0).all()
    fewer = run_study("references", names=["D1"], trials=1, progress=False)
    assert fewer["auc"].ne(1.0).all()
    with pytest.raises(KeyError, match="unknown experiment"):
        run_study("horoscope")


def test_experiment_refuses_what_is_unknown_before_anything_runs() -> None:
    with pytest.raises(KeyError, match="D99"):
        experiment("pure", names=["D1", "D99"], trials=1)
    with pytest.raises(ValueError, match="setting='semi'"):
        experiment("semi", names=["D1"])
    with pytest.raises(ValueError, match="nothing to run"):
        compute(paper_table("pure"), names=[], recompute=True)


def test_agreement_counts_and_lists() -> None:
    stored = pd.DataFrame(
        {"dataset": "D1", "method": list("abcd"), "trial": 0, "auc": [50.0, 60.0, None, 70.0],
         "params": ""}
    )  # fmt: skip
    computed = stored.assign(auc=[50.04, 59.94, None, 70.06])
    found = agreement(stored, computed)
    assert (found.rows, found.within) == (4, 2)
    assert found.others["method"].tolist() == ["b", "d"]
    missing = agreement(stored.iloc[:2], computed)
    assert missing.within == 1 and missing.share == pytest.approx(1 / 4)


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["pure", "negatives"])
def test_one_split_of_a_table_comes_out_as_it_is_stored(setting: str) -> None:
    """Every method on every data set that is here: 162 and 126 rows, each cell certified."""
    names = [record.id for record in datasets.RECORDS if record.kind != "user"]
    table = experiment(setting, names=names, trials=1, recompute=True, progress=False)
    again = agreement(read(setting), table)
    assert again.rows == len(names) * {"pure": 9, "negatives": 7}[setting]
    assert again.share >= REQUIRED_SHARE, again.others
    assert table["gap"].max() <= 1e-9


# -- the command line ------------------------------------------------------------------------------


def invoke(words: str):
    return CliRunner().invoke(build(), words.split())


def test_run_compares_with_the_committed_table() -> None:
    """The whole road: splits, preparation, grids, selection on validation, test AUC."""
    found = invoke("run --dataset D7 --setting pure --trials 5 --jobs 1 --compare")
    assert found.exit_code == 0, found.output
    assert "45 of 45 rows within" in found.output


def test_run_whose_comparison_fails_ends_with_an_error(results: Path) -> None:
    """The table of the fixture has two of the nine methods, and numbers that are none of theirs."""
    found = invoke("run --dataset D1 --setting pure --trials 2 --jobs 1 --compare")
    assert found.exit_code == 1 and "0 of 18 rows within" in found.output


def test_run_says_what_is_wrong_and_what_to_do() -> None:
    for words, sentence in (
        ("run --dataset D99", "D99"),
        ("run --all --dataset D7", "or take all with --all"),
        ("run --dataset D7 --label z", "--label and --target are for a CSV file"),
        ("run --dataset D7 --backend mpi", "backend 'mpi': expected joblib, dask or tcp"),
    ):
        found = invoke(words)
        assert found.exit_code == 1 and sentence in found.output, words


def test_run_stopped_by_ctrl_c_says_how_to_go_on(tmp_path: Path, monkeypatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("replication.experiment.compute", interrupted)
    done = invoke("run --dataset D7")
    assert done.exit_code == 130 and "with --folder NAME" in done.stderr
    done = invoke(f"run --dataset D7 --folder {tmp_path}")
    assert "the same command goes on from there" in done.stderr
