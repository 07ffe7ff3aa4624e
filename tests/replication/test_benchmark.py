"""The benchmark: its cells, its referee, its table and its summary."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from lpsvdd.solver import solve
from replication.benchmark import GridCell, make_problem, scale
from replication.benchmark import solvers as who
from replication.benchmark.objective import SOLVED, referee_gap, sample_cells
from replication.benchmark.report import report_of
from replication.benchmark.small import (
    BENCHMARK_COLUMNS,
    SMALL_PROFILES,
    SmallSize,
    run_small,
)
from replication.cli import build
from replication.paper import COSTS, EXPONENTS, SETTINGS
from replication.results import read


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A table of one small size, with two cells for each contestant."""
    path = tmp_path_factory.mktemp("bench") / "benchmark.csv"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SMALL_PROFILES, "tiny", (SmallSize(12, 20.0, 2),))
        patch.setattr("replication.benchmark.small.MEMORY_CELLS", (GridCell(1.5, 0.1),))
        patch.setattr(who, "REPEATS", 1)
        run_small("tiny", path, progress=False)
    return path


@pytest.mark.parametrize("setting", SETTINGS)
def test_referee_sees_the_difference_between_right_and_wrong(setting):
    cell = GridCell(2.0, 1.0, None if setting == "pure" else 0.1)
    K, y = make_problem(16, setting)
    good = solve(K, y, p=cell.p, c=cell.costs(y)).alpha
    assert referee_gap(16, setting, cell, good) <= 1e-9
    assert referee_gap(16, setting, cell, 3.0 * good - 1e-12) <= 1e-8  # made feasible first
    assert referee_gap(16, setting, cell, np.where(y > 0, 1.0, 0.0)) > SOLVED
    for none in (None, np.full(16, np.nan), np.zeros(16)):
        assert referee_gap(16, setting, cell, none) == np.inf


@pytest.mark.parametrize("setting", SETTINGS)
def test_samples_of_cells_reach_all_exponents_and_costs(setting):
    cells = sample_cells(setting, 10)
    assert len(set(cells)) == 10 and {cell.p for cell in cells} == set(EXPONENTS)
    assert {cell.c for cell in cells} == set(COSTS)


def test_table_is_tidy_and_complete_and_ours_solves_every_cell(path):
    table = read(path)
    assert tuple(pd.read_csv(path, nrows=0).columns) == BENCHMARK_COLUMNS
    keys = ["experiment", "contestant", "setting", "n", "p", "c", "c_neg", "status"]
    assert not table.duplicated(keys).any()
    grid = table[table["experiment"] == "grid"]
    assert (grid.groupby(["contestant", "setting"]).size().unstack() == [160, 40]).all(axis=None)
    skipped = grid["status"] == "not run"
    assert skipped.sum() == 4 * (200 - 2 * 2)
    assert grid.loc[skipped, ["solved", "seconds", "gap"]].isna().all(axis=None)
    ran = grid[~skipped & (grid["status"] != "not installed")]
    assert (ran["seconds"] > 0).all() and (ran["cholesky_units"] > 0).all()
    ours = table[table["contestant"].isin([who.COLD, who.PATH])]
    assert (ours["solved"].astype(str) == "True").all() and len(ours) > 2 * 200
    assert table.loc[table["experiment"] == "memory", "memory"].gt(0.0).all()


def test_bench_reports_a_table_and_names_what_is_missing(path, tmp_path):
    invoke = CliRunner().invoke
    shown = invoke(build(), ["bench", "--report", "--save", str(path.parent)])
    assert shown.exit_code == 0 and "claimed_not_solved" in shown.output
    assert "is not one of" in invoke(build(), ["bench", "--profile", "x"]).output
    missing = invoke(build(), ["bench", "--report", "--save", str(tmp_path)])
    assert missing.exit_code == 1 and "no table benchmark.csv" in missing.output


# -- large problems -----------------------------------------------------------------------------


def test_scale_at_a_small_size(tmp_path, monkeypatch):
    monkeypatch.setattr(scale, "alone", lambda function, *words: function(*words))
    table = scale.run_scale(tmp_path / "scale.csv", scale=0.005, progress=False)
    assert (tmp_path / "scale.provenance.json").exists()
    ours = table[table["tol"].notna()]
    assert (ours["solved"] <= ours["tol"]).all() and (table["seconds"] > 0.0).all()
    aimed = table[table["goal"].notna()]
    assert len(aimed) == 46 and aimed["ratio"].notna().all()
    assert "slope of log time, OneClassSVM" in report_of(tmp_path / "scale.csv")
    assert len(scale.ratios(table)) == 44  # those of small problems stay out


def test_scale_compares_times_at_one_size_and_asks_for_the_certificate():
    row = {"name": "fit", "width": "scale", "data": "wide", "n": 10, "against": None, "tol": np.nan,
           "solved": np.nan, "goal": np.nan, "contestant": "b"}  # fmt: skip
    ours = row | {"against": "b", "contestant": "a", "goal": 2.0, "tol": 1e-6, "seconds": 6.0}
    table = scale.with_ratios(
        pd.DataFrame(
            [
                row | {"seconds": 4.0},
                row | {"seconds": 1.0, "n": 20},
                ours | {"solved": 1e-7},
                ours | {"solved": 1e-5},
                ours | {"solved": 1e-7, "n": 20},
            ]
        )
    )
    assert table["ratio"].iloc[2:].tolist() == [1.5, 1.5, 6.0]
    assert table["met"].iloc[2:].tolist() == [True, False, False]
    times = pd.DataFrame({"name": scale.GROWTH, "contestant": "a", "n": [100, 10, 1000]})
    assert scale.slope(times.assign(seconds=times["n"] ** 1.5), "a") == pytest.approx(1.5)
