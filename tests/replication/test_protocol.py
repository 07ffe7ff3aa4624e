"""Splits, AUC, selection and whole trials, with real data sets and toy methods."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from replication import datasets
from replication import experiment as experiments
from replication.cli import build
from replication.methods import METHODS
from replication.protocol import (
    DEFAULTS,
    RESOLUTION,
    Options,
    Task,
    auc,
    resolved,
    select,
    split,
    trial_seed,
)
from replication.results import read, read_record, save_table
from replication.trial import COLUMNS, JudgedCell, chosen_row, prepare, run_trial

CHEAP = [METHODS["pure", name] for name in ("GP", "KPCA", "l1-SVDD", "l2-SVDD")]


@pytest.mark.parametrize("name", ["D1", "D7", "D8", "D17"])
@pytest.mark.parametrize("options", [DEFAULTS, Options(train="1/2", validation="1/4")])
def test_parts_are_disjoint_complete_and_stratified(name: str, options: Options) -> None:
    y = datasets.load(name).y
    parts = split(y, name, 0, options)
    together = np.concatenate([parts.train, parts.validation, parts.test])
    assert sorted(together) == list(range(len(y)))
    share = 1 / 3 if options is DEFAULTS else 1 / 2
    for label in (1, -1):
        wanted = share * (y == label).sum()
        assert abs((y[parts.train] == label).sum() - wanted) <= 0.5


def test_a_split_depends_on_seed_data_set_and_trial_only() -> None:
    y = datasets.load("D7").y
    first = split(y, "D7", 3)
    again = split(y, "D7", 3)
    assert np.array_equal(first.train, again.train) and np.array_equal(first.test, again.test)
    others = [split(y, "D7", 4), split(y, "D12", 3), split(y, "D7", 3, Options(seed=1))]
    assert not any(np.array_equal(first.train, other.train) for other in others)


def test_seeds_are_fixed_for_good() -> None:
    """The committed tables rest on these numbers."""
    assert trial_seed("D7", 0) == 3441456634
    assert split(datasets.load("D7").y, "D7", 0).train[:5].tolist() == [2, 7, 8, 9, 13]


def test_both_settings_share_the_partition_and_the_evaluated_rows() -> None:
    pure, both = (prepare(Task("D7", setting, 1)) for setting in ("pure", "negatives"))
    assert np.array_equal(pure.y_test, both.y_test)
    assert set(pure.kernels.y) == {1} and set(both.kernels.y) == {1, -1}
    assert (both.kernels.y == 1).sum() == len(pure.kernels.y)
    # the scaler sees positives only, so the positive training rows are the same
    assert np.allclose(both.kernels.X[both.kernels.y == 1], pure.kernels.X)


def test_preparation_of_a_trial() -> None:
    trial = prepare(Task("D7", "pure", 0))
    X, K = trial.kernels.X, trial.kernels.K
    assert np.allclose(np.linalg.norm(X, axis=1), 1.0)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    width = distances[np.triu_indices(len(X), 1)].mean() / 2
    assert trial.width == pytest.approx(width)
    assert np.allclose(K, np.exp(-(distances**2) / (2 * width**2)))
    plain = prepare(Task("D7", "pure", 0), Options(unit_norm=False))
    assert np.allclose(plain.kernels.X.mean(axis=0), 0.0)
    assert np.allclose(plain.kernels.X.std(axis=0), 1.0)


def test_formula_s2_is_a_narrower_width() -> None:
    one = prepare(Task("D1", "pure", 0), Options(formula="s2")).kernels.K
    other = prepare(Task("D1", "pure", 0), Options(width_factor=2**-0.5)).kernels.K
    assert np.allclose(one, other)


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=40).filter(
        lambda pairs: 0 < sum(positive for _, positive in pairs) < len(pairs)
    )
)
def test_auc_equals_the_established_one(pairs: list[tuple[int, bool]]) -> None:
    scores = np.array([float(score) for score, _ in pairs])
    y = np.where([positive for _, positive in pairs], 1, -1)
    assert auc(scores, y) == pytest.approx(100 * roc_auc_score(y, scores))


def test_digits_that_mean_nothing_decide_nothing() -> None:
    y = np.array([1, -1, 1, -1])
    scores = np.array([0.3, 0.3 * (1 + 1e-15), 0.7, 0.1])
    assert auc(scores, y) == 75.0
    assert auc(resolved(scores, RESOLUTION), y) == 100 * 3.5 / 4
    coarse = resolved(np.array([0.3, 0.300002, 0.7, 0.1]), 1e-5)
    assert auc(coarse, y) == 100 * 3.5 / 4 and np.allclose(coarse, [0.3, 0.3, 0.7, 0.1], atol=7e-6)
    assert np.array_equal(resolved(np.zeros(2), 1e-5), np.zeros(2))
    with pytest.raises(ValueError, match="finite"):
        auc(np.array([np.nan, 1.0]), np.array([1, -1]))
    with pytest.raises(ValueError, match="both classes"):
        auc(np.ones(2), np.ones(2))


def test_equal_rows_stay_equal_wherever_their_score_lies() -> None:
    """Twins that differ by rounding, at a thousand places: also where a multiple begins."""
    twins = np.repeat(np.linspace(0.1, 1.0, 1000), 2)
    twins[1::2] *= 1 + 4e-15
    for resolution in (RESOLUTION, 1e-5):
        found = resolved(twins, resolution)
        assert np.array_equal(found[::2], found[1::2])
        assert len(set(found)) == 1000 and np.abs(found - twins).max() <= 0.51 * resolution + 1e-14


def test_ties_go_to_the_first_cell() -> None:
    assert select([None, 70.0, 80.0, 80.0]) == 2
    assert select([None, None]) is None


def test_infeasible_cells_are_counted_not_replaced() -> None:
    records = [
        JudgedCell({"C": 0.001}, None, None, float("nan"), "infeasible"),
        JudgedCell({"C": 0.1}, 60.0, 55.0, 1e-10, "optimal"),
        JudgedCell({"C": 1.0}, 60.0, 50.0, 1e-3, "not-converged"),
    ]
    row = chosen_row(records)
    assert row["params"] == '{"C":0.1}' and row["auc"] == 55.0
    assert (row["cells"], row["infeasible"], row["uncertified"]) == (3, 1, 1)
    nothing = chosen_row(records[:1])
    assert nothing["auc"] is None and nothing["status"] == "infeasible"


def test_a_trial_is_a_pure_function_of_its_task() -> None:
    task = Task("D1", "pure", 4)
    first, again = (run_trial(task, methods=CHEAP) for _ in range(2))
    for one, other in zip(first, again, strict=True):
        assert list(one) == list(COLUMNS)
        assert one | {"seconds": 0} == other | {"seconds": 0}
    alone = run_trial(task, methods=CHEAP[2:3])[0]
    assert alone | {"seconds": 0} == first[2] | {"seconds": 0}


def test_options_refuse_nonsense() -> None:
    for wrong in (
        {"train": "1/2", "validation": "1/2"},
        {"formula": "s3"},
        {"width_factor": 0.0},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Options(**wrong)


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A results folder of its own with two trials of D1, two methods."""
    folder = tmp_path / "results"
    monkeypatch.setenv("LPSVDD_RESULTS", str(folder))
    arguments = {"names": ["D1"], "trials": 2, "methods": CHEAP[:2], "progress": False}
    table = experiments.experiment("pure", **arguments)
    wanted = experiments.signature("pure", DEFAULTS, CHEAP[:2])
    save_table(table, folder / "pure.csv", command="a test", signature=wanted)
    return folder


RECOGNISABLE = 12.5


def mark(path: Path, **changes) -> None:
    """Give every row of a table a recognisable value; change entries of its signature."""
    record = read_record(path)
    marked = read(path).assign(auc=RECOGNISABLE)
    save_table(marked, path, command="a test", signature=record["signature"] | changes)


def test_what_is_known_is_taken_and_the_rest_computed(results: Path) -> None:
    mark(results / "pure.csv")
    arguments = {"names": ["D1"], "trials": 3, "methods": CHEAP[:2], "progress": False}
    table = experiments.experiment("pure", **arguments)
    assert table.query("trial < 2")["auc"].eq(RECOGNISABLE).all()
    assert table.query("trial == 2")["auc"].ne(RECOGNISABLE).all()
    afresh = experiments.experiment("pure", **arguments, recompute=True)
    assert afresh["auc"].ne(RECOGNISABLE).all()
    other = experiments.experiment("pure", **arguments, options=Options(unit_norm=False))
    assert other["auc"].ne(RECOGNISABLE).all()
    more = experiments.experiment("pure", **(arguments | {"methods": CHEAP[:3]}))
    assert more["auc"].ne(RECOGNISABLE).all()


@pytest.mark.parametrize("entry", ["computation", "setting", "options", "methods"])
def test_rows_of_another_computation_are_not_taken(results: Path, entry: str) -> None:
    """Of all that decides the numbers, each difference alone is enough to compute again."""
    signature = experiments.signature("pure", DEFAULTS, CHEAP[:2])
    other = {
        "computation": "another version",
        "setting": "negatives",
        "options": signature["options"] | {"seed": 1},
        "methods": signature["methods"] | {"GP": {"cells": 5, "grid": "00000000"}},
    }
    mark(results / "pure.csv", **{entry: other[entry]})
    arguments = {"names": ["D1"], "trials": 2, "methods": CHEAP[:2], "progress": False}
    assert experiments.experiment("pure", **arguments)["auc"].ne(RECOGNISABLE).all()


def test_a_task_with_a_method_missing_is_computed(results: Path) -> None:
    path = results / "pure.csv"
    mark(path)
    kept = read(path).query("not (trial == 1 and method == 'KPCA')")
    save_table(kept, path, command="a test", signature=read_record(path)["signature"])
    arguments = {"names": ["D1"], "trials": 2, "methods": CHEAP[:2], "progress": False}
    table = experiments.experiment("pure", **arguments)
    assert table.query("trial == 0")["auc"].eq(RECOGNISABLE).all()
    assert len(table) == 4 and table.query("trial == 1")["auc"].ne(RECOGNISABLE).all()


def test_stored_rows_come_back_as_they_were(results: Path) -> None:
    arguments = {"names": ["D1"], "trials": 2, "methods": CHEAP[:2], "progress": False}
    stored = experiments.experiment("pure", **arguments)
    afresh = experiments.experiment("pure", **arguments, recompute=True)
    pd.testing.assert_frame_equal(
        stored.drop(columns="seconds"), afresh.drop(columns="seconds"), check_dtype=False
    )


def test_unknown_data_sets_are_refused_before_anything_runs() -> None:
    with pytest.raises(KeyError, match="D99"):
        experiments.experiment("pure", names=["D1", "D99"], trials=1)
    with pytest.raises(ValueError, match="setting='semi'"):
        experiments.experiment("semi", names=["D1"])


def test_agreement_counts_and_lists() -> None:
    stored = pd.DataFrame(
        {"dataset": "D1", "method": list("abcd"), "trial": 0, "auc": [50.0, 60.0, None, 70.0],
         "params": ""}
    )  # fmt: skip
    computed = stored.assign(auc=[50.04, 59.94, None, 70.06])
    found = experiments.compare(stored, computed)
    assert (found.rows, found.within) == (4, 2)
    assert found.others["method"].tolist() == ["b", "d"]
    missing = experiments.compare(stored.iloc[:2], computed)
    assert missing.within == 1 and missing.share == pytest.approx(1 / 4)


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["pure", "negatives"])
def test_one_split_of_a_table_comes_out_as_it_is_stored(setting: str) -> None:
    """Every method on every data set that is here: 162 and 126 rows, each cell certified."""
    names = [name for name in datasets.catalogue().index if name not in ("D4", "D5")]
    table = experiments.experiment(setting, names=names, trials=1, recompute=True, progress=False)
    again = experiments.compare(read(setting), table)
    assert again.rows == len(names) * {"pure": 9, "negatives": 7}[setting]
    assert again.share >= experiments.REQUIRED_SHARE, again.others
    assert table["gap"].max() <= 1e-9


def test_a_comparison_that_fails_ends_with_an_error(results: Path) -> None:
    """The table of the fixture has two of the nine methods: 4 of 18 rows have a counterpart."""
    arguments = ["run", "--dataset", "D1", "--setting", "pure", "--trials", "2", "--jobs", "1"]
    found = CliRunner().invoke(build(), [*arguments, "--quiet", "--compare"])
    assert found.exit_code == 1 and "4 of 18 rows within" in found.output


def test_provenance_names_no_machine(tmp_path: Path) -> None:
    import getpass
    import platform

    wanted = experiments.signature("pure", DEFAULTS, CHEAP)
    table = tmp_path / "pure.csv"
    save_table(pd.DataFrame(), table, command="a test", signature=wanted, wall_seconds=1.0)
    text = (tmp_path / "pure.provenance.json").read_text()
    assert read_record(table) == json.loads(text)
    for secret in (platform.node(), str(Path.home()), str(Path.cwd())):
        assert secret in ("", "/", ".") or secret not in text  # HOME=/ names nothing
    assert f'"{getpass.getuser()}"' not in text
    content = json.loads(text)
    assert {"git_commit", "processor", "packages", "python", "blas", "signature"} <= set(content)


def test_command_line(results: Path) -> None:
    runner = CliRunner()
    shown = runner.invoke(build(), ["tables", "--setting", "pure"])
    assert shown.exit_code == 0 and "AUC, setting pure" in shown.output
    unknown = runner.invoke(build(), ["run", "--dataset", "D99"])
    assert unknown.exit_code == 1 and "D99" in unknown.output
    neither = runner.invoke(build(), ["run"])
    assert neither.exit_code == 1 and "--all" in neither.output
    absent = runner.invoke(build(), ["tables", "--setting", "negatives"])
    assert absent.exit_code == 1 and "negatives.csv" in absent.output


def test_the_command_line_names_a_stored_task_that_it_computes_again(tmp_path: Path) -> None:
    runner = CliRunner()
    arguments = ["run", "--dataset", "D1", "--setting", "pure", "--trials", "1", "--jobs", "1"]
    arguments += ["--folder", str(tmp_path), "--quiet"]
    assert runner.invoke(build(), arguments).exit_code == 0
    (tmp_path / "pure" / "tasks" / "D1-pure-00.json").write_text("[null]")
    again = runner.invoke(build(), arguments)
    assert again.exit_code == 0, again.output
    assert again.stderr.startswith("warning: tasks/D1-pure-00.json is not used")
    assert runner.invoke(build(), arguments).stderr == ""


def test_rows_from_the_command_line_are_those_of_the_committed_table() -> None:
    """The whole road: splits, preparation, grids, selection on validation, test AUC."""
    arguments = ["run", "--dataset", "D7", "--setting", "pure", "--trials", "5", "--jobs", "1"]
    found = CliRunner().invoke(build(), [*arguments, "--quiet", "--compare"])
    assert found.exit_code == 0, found.output
    assert "45 of 45 rows within" in found.output
