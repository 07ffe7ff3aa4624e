"""The benchmark: its cells, its referee, its table and its summary."""

from __future__ import annotations

import multiprocessing
import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from lpsvdd.solver import solve
from replication.benchmark import (
    GridCell,
    Profile,
    make_problem,
    read,
    run,
    scale,
)
from replication.benchmark import contestants as who
from replication.benchmark.report import (
    certified,
    costs,
    disagreements,
    memory,
    ratios,
)
from replication.benchmark.run import (
    COLUMNS,
    SOLVED_GAP,
    Measurement,
    _row,
    certified_gap,
)
from replication.cli import build
from replication.paper import SETTINGS

TINY = Profile(
    sizes=(12,),
    samples={
        (name, setting): {12: 2 if name in (who.CLARABEL, who.ECOS) else 0}
        for name in who.CVXPY_CONTESTANTS
        for setting in SETTINGS
    },
    limits={12: 20.0, 30: 20.0},
    p1_sizes=(12,),
    memory_size=30,
    memory_cells=(GridCell(1.5, 0.1),),
)


@pytest.fixture(scope="module")
def table_path(tmp_path_factory):
    return run(TINY, tmp_path_factory.mktemp("bench") / "table.csv", progress=False)


@pytest.fixture(scope="module")
def table(table_path):
    return read(table_path)


@pytest.mark.parametrize("setting", SETTINGS)
def test_referee_sees_the_difference_between_right_and_wrong(setting):
    cell = GridCell(2.0, 1.0, None if setting == "pure" else 0.1)
    K, y = make_problem(16, setting)
    good = solve(K, y, p=cell.p, c=cell.costs(y)).alpha
    assert certified_gap(16, setting, cell, good) <= 1e-9
    assert certified_gap(16, setting, cell, 3.0 * good - 1e-12) <= 1e-8  # made feasible first
    assert certified_gap(16, setting, cell, np.where(y > 0, 1.0, 0.0)) > SOLVED_GAP
    assert certified_gap(16, setting, cell, None) == np.inf
    assert certified_gap(16, setting, cell, np.full(16, np.nan)) == np.inf
    assert certified_gap(16, setting, cell, np.zeros(16)) == np.inf


def test_rows_are_tidy_and_complete(table_path, table):
    assert tuple(pd.read_csv(table_path, nrows=0).columns) == COLUMNS
    keys = ["experiment", "contestant", "setting", "n", "p", "c", "c_neg", "status"]
    assert not table.duplicated(keys).any()
    grid = table[table["experiment"] == "grid"]
    assert (grid.groupby(["contestant", "setting"]).size().unstack() == [160, 40]).all(axis=None)
    assert table[["cpu", "threads", "platform", "python", "versions"]].notna().all(axis=None)
    run_rows = grid[~grid["status"].isin(["not run", who.NOT_INSTALLED])]
    assert (run_rows["seconds"] > 0).all() and (run_rows["cholesky_units"] > 0).all()


def test_cells_that_were_not_run_are_neither_solved_nor_failed(table):
    skipped = table[table["status"] == "not run"]
    assert len(skipped) == 4 * 200 - 2 * 2 * 2
    assert skipped["solved"].isna().all() and skipped["seconds"].isna().all()
    counts = certified(table).set_index(["setting", "contestant"])
    assert (counts.loc[[(s, who.SCS) for s in SETTINGS], "run"] == 0).all()
    assert (counts.loc[[(s, who.CLARABEL) for s in SETTINGS], "run"] == 2).all()


def test_a_solver_that_is_not_installed_is_neither_solved_nor_failed(monkeypatch):
    monkeypatch.setattr(who, "find_spec", lambda package: None if package == "ecos" else package)
    cell = GridCell(2.0, 1.0)
    answer = who.measure(who.ECOS, 12, "pure", cell, 20.0)
    assert answer.status == "not installed" and answer.alpha is None
    row = _row(Measurement("grid", who.ECOS, "pure", 12, (cell,)), cell, answer, 1.0)
    assert row["status"] == "not installed"
    assert row["solved"] == row["gap"] == row["seconds"] == ""


def test_ours_solves_every_cell(table):
    counts = certified(table).set_index(["setting", "contestant"])["solved"]
    for name in (who.COLD, who.PATH):
        assert counts["pure", name] == 40 and counts["negatives", name] == 160
    p_one = table[(table["experiment"] == "p = 1") & (table["contestant"] == who.COLD)]
    assert p_one["solved"].all()


def test_summaries_of_a_small_table_by_hand():
    def row(experiment, contestant, c, seconds, gap, **more):
        base = {"setting": "pure", "n": 50, "p": 2.0, "c_neg": 0.0, "status": "optimal"}
        measured = {"c": c, "seconds": seconds, "gap": gap, "n_iter": 3.0}
        known = {"cholesky_units": seconds, "wall_seconds": 2 * seconds, "memory": np.nan}
        times = {"solver_seconds": seconds}
        names = {"experiment": experiment, "contestant": contestant, "solved": gap <= SOLVED_GAP}
        return base | names | measured | known | times | more

    table = pd.DataFrame(
        [
            row("grid", who.COLD, 0.1, 1.0, 1e-10),
            row("grid", who.COLD, 1.0, 2.0, 1e-10),
            row("path", who.PATH, 0.1, 0.5, 1e-10),
            row("path", who.PATH, 1.0, 0.5, 1e-10),
            row("turns", who.COLD, "", 3.0, np.nan),
            row("turns", who.PATH, "", 1.0, np.nan),
            row("grid", who.CLARABEL, 0.1, 30.0, 1e-8),
            row("grid", who.CLARABEL, 1.0, 1.0, 1e-3),  # claims optimal, is not: no ratio
            row("memory", who.COLD, 1.0, 1.0, 1e-10, status="pages", n=2000, memory=4.5),
        ]
    )
    table["solved"] = table["solved"].astype("boolean")
    counts = certified(table).set_index("contestant")
    assert counts.loc[who.CLARABEL, ["solved", "run"]].tolist() == [1, 2]
    ratio = ratios(table).iloc[0]
    assert (ratio["cells"], ratio["cold"], ratio["path"], ratio["solver_only"]) == (1, 30, 60, 15)
    cost = costs(table).iloc[0]
    assert cost["path_over_cold"] == pytest.approx(1 / 3)
    assert cost["cholesky_median"] == 1.5 and cost["cholesky_worst"] == 2.0
    claims = disagreements(table).set_index("contestant")
    assert claims.loc[who.CLARABEL, "claimed_not_solved"] == 1
    assert memory(table)["memory"].tolist() == [4.5]


def test_a_contestant_that_hangs_is_stopped_and_the_next_one_still_runs():
    before = set(multiprocessing.active_children())  # joblib keeps workers of other tests
    with who.Worker() as worker:
        arguments = (who.COLD, 12, "pure", GridCell(2.0, 1.0), 20.0)
        with pytest.raises(KeyError, match="nobody"):  # a mistake here is not a result
            worker.call("measure", "nobody", *arguments[1:], limit=60.0)
        started = time.perf_counter()
        stopped = worker.call("measure_memory", 2500, "pure", GridCell(2.0, 1.0), limit=0.05)
        assert stopped.status == "time limit" and stopped.alpha is None
        assert time.perf_counter() - started < 10.0
        assert worker.call("measure", *arguments, limit=60.0).status == "optimal"
    assert set(multiprocessing.active_children()) <= before


def test_command_line(table_path, tmp_path):
    runner = CliRunner()
    shown = runner.invoke(build(), ["bench", "--report", "--output", str(table_path)])
    assert shown.exit_code == 0, shown.output
    assert "Peak memory" in shown.output
    assert runner.invoke(build(), ["bench", "--profile", "huge"]).exit_code != 0
    missing = ["bench", "--report", "--output", str(tmp_path / "none.csv")]
    assert runner.invoke(build(), missing).exit_code != 0


# -- large problems -----------------------------------------------------------------------------


class Inline:
    """A pool of one process that is this one."""

    def __init__(self, workers, mp_context=None):
        self.value = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def submit(self, function, *args):
        self.value = function(*args)
        return self

    def result(self):
        return self.value


def test_scale_at_a_small_size(tmp_path, monkeypatch):
    monkeypatch.setattr(scale, "ProcessPoolExecutor", Inline)
    for name in scale.THREADS:
        monkeypatch.setenv(name, "1")
    table = scale.run(tmp_path / "scale.csv", scale=0.005)
    assert (tmp_path / "scale.provenance.json").exists()
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "scale.csv")[["name", "contestant", "n"]],
        table[["name", "contestant", "n"]],
    )
    ours = table[table["tol"].notna()]
    assert (ours["solved"] <= ours["tol"]).all() and (table["seconds"] > 0.0).all()
    aimed = table[table["goal"].notna()]
    assert len(aimed) == 46 and aimed["ratio"].notna().all()
    text = scale.summary(table)
    assert text.count("\n") == len(table) + 1 and "log-log slope of time, OneClassSVM" in text
    quoted, growth = scale.facts(table), table[table["name"] == scale.GROWTH]
    last = growth[growth["n"] == quoted["scale_n"]].set_index("contestant")["seconds"]
    assert quoted["scale_n"] == growth["n"].max() and quoted["scale_svm"] == last["OneClassSVM"]
    assert len(scale.ratios(table)) == 44  # those of small problems stay out


def test_scale_compares_times_at_one_size_and_asks_for_the_certificate():
    row = {
        "name": "fit",
        "width": "scale",
        "data": "wide",
        "n": 10,
        "against": None,
        "tol": np.nan,
        "solved": np.nan,
    }
    ours = row | {"against": "b", "contestant": "a", "goal": 2.0, "tol": 1e-6}
    table = scale.with_ratios(
        pd.DataFrame(
            [
                row | {"contestant": "b", "seconds": 4.0, "goal": np.nan},
                row | {"contestant": "b", "seconds": 1.0, "goal": np.nan, "n": 20},
                ours | {"seconds": 6.0, "solved": 1e-7},
                ours | {"seconds": 6.0, "solved": 1e-5},
                ours | {"seconds": 6.0, "solved": 1e-7, "n": 20},
            ]
        )
    )
    assert table["ratio"].iloc[2:].tolist() == [1.5, 1.5, 6.0]
    assert table["met"].iloc[2:].tolist() == [True, False, False]
    times = pd.DataFrame({"name": scale.GROWTH, "contestant": "a", "n": [100, 10, 1000]})
    assert scale.slope(times.assign(seconds=times["n"] ** 1.5), "a") == pytest.approx(1.5)
