"""The studies on tables: loader, draws, jobs and findings, on one made-up table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lpsvdd import LpSVDD
from lpsvdd.cost_rule import SLACK_SHARE
from replication import table_sets
from replication.findings import read
from replication.findings import tables as findings
from replication.preprocessing import shared_rows
from replication.studies import cost_scale as cost_study
from replication.studies import tables as study
from replication.table_sets import TableDataError

NAME = "oddbench__Made"


@pytest.fixture
def made(monkeypatch, tmp_path):
    """A table of 90 training rows, ten of which stand in the test part too, and 80 anomalies."""
    rng = np.random.default_rng(0)
    train = rng.normal(size=(90, 3)).astype("<f4")
    test = np.vstack([train[:10], rng.normal(size=(60, 3)), 3 + rng.normal(size=(80, 3))])
    arrays = train, test.astype("<f4"), np.repeat([0, 1], [70, 80]).astype("i1")
    np.savez(tmp_path / f"{NAME}.npz", train=arrays[0], test=arrays[1], y=arrays[2])
    record = pd.DataFrame(
        {"name": [NAME], "part": ["judged"], "sha256": [table_sets._content(arrays)]}
    ).set_index("name", drop=False)
    monkeypatch.setattr(table_sets, "records", lambda: record)
    monkeypatch.setenv(table_sets.VARIABLE, str(tmp_path))
    return tmp_path


def test_a_draw_never_tests_on_a_training_row(made):
    data = study.draw(study.TableTask(NAME))
    assert data.train.shape == (90, 3) and (data.y == 1).sum() == 60
    assert not shared_rows(data.train, data.test).any()
    assert np.allclose(data.train.mean(axis=0), 0.0)


def test_another_table_of_that_name_is_refused(made):
    with np.load(made / f"{NAME}.npz") as held:
        parts = dict(held)
    parts["y"] = 1 - parts["y"]
    np.savez(made / f"{NAME}.npz", **parts)
    with pytest.raises(TableDataError, match="SHA-256"):
        table_sets.load_table(NAME)
    np.savez(made / f"{NAME}.npz", other=parts["y"])
    for damage in (None, b"no archive", b"PK\x03\x04 cut", b""):
        if damage is not None:
            (made / f"{NAME}.npz").write_bytes(damage)
        with pytest.raises(TableDataError, match="arrays train, test and y"):
            table_sets.load_table(NAME)


def test_the_jobs_give_every_detector_width_and_rate(made):
    contest = pd.DataFrame(study.tables_contest(study.TableTask(NAME)))
    own = contest[contest["method"] == "LpSVDDCV"]["auc"].iloc[0]
    grid = contest[contest["width"].notna() & (contest["width"] != "")]
    assert len(grid) == 8 and own in set(grid["auc"])
    rates = pd.DataFrame(study.tables_rates(study.TableTask(NAME)))
    at_ten = rates[rates["level"] == 0.1].set_index("method")["rejected"]
    assert at_ten["LpSVDD"] < 25 < at_ten["LpSVDD, the ball's surface"] + 25
    rows = study.tables_exponents(study.TableTask(NAME))
    assert len(rows) == 9 and all(80 < row["auc_2"] <= 100 for row in rows)


def test_labels_gain_only_what_the_other_half_confirms():
    chance = {"2": {"first": 70, "second": 70}, "1": {"first": 75, "second": 65}}
    real = {"2": {"first": 70, "second": 70}, "1": {"first": 75, "second": 75}}
    assert study.label_gain(chance) == -2.5 and study.label_gain(real) == 5.0


def test_a_design_table_never_judges_and_an_effect_of_p_is_seen():
    names = [*study.DESIGN[:8], *study.JUDGED[:8]]
    rows = pd.DataFrame({"dataset": names, "width": "chosen", "share": 0.1, "gain": 0.0,
                         "rows": 9, "auc_2": 70.0})  # fmt: skip
    rows[[f"auc_{p}" for p in findings.OTHERS]] = 70.0
    rows.loc[8:, "auc_1"] = 73.0 + 0.01 * np.arange(8)
    assert set(findings.of_part(rows)["dataset"]) == set(study.JUDGED[:8])
    over = findings.over_two(findings.of_part(rows), "chosen", 0.1)
    assert over["1"].state == "higher" and over["5"].equivalent


def test_folder_without_tables_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv(table_sets.VARIABLE, raising=False)
    with pytest.raises(TableDataError, match=f"--from or the variable {table_sets.VARIABLE}"):
        table_sets.tables_folder()
    with pytest.raises(TableDataError, match="holds no table"):
        table_sets.use_folder(tmp_path)
    (tmp_path / f"{NAME}.npz").touch()
    monkeypatch.setenv(table_sets.VARIABLE, "elsewhere")
    table_sets.use_folder(tmp_path)
    with pytest.raises(TableDataError, match=r"the folder lacks .*\.npz"):
        table_sets.load_table("ovrbench__none")


# -- the constant of the cost rule -----------------------------------------------------------------


def test_the_constant_of_the_rule_is_the_one_that_the_plan_chooses():
    """Of rates within a tenth of 10 % and shapes within half of 5 %, the highest AUC."""
    rows = read("cost_scale")
    is_shape = rows["dataset"].isin(cost_study.SHAPES)
    design = findings.of_part(rows[~is_shape], "design").groupby("f")[["auc", "rejected_10"]].mean()
    shapes = rows[is_shape].groupby(["f", "dataset"])["rejected_5"].mean().unstack()
    admissible = design["rejected_10"].between(9.0, 11.0) & shapes.ge(2.5).all(axis=1)
    admissible &= shapes.le(7.5).all(axis=1)
    best = design[admissible & (design["auc"] >= design["auc"][admissible].max() - 0.1)]
    chosen = 0.1 if best.empty else (best["rejected_10"] - 10.0).abs().idxmin()
    assert chosen == SLACK_SHARE


def test_an_explicit_cost_is_that_of_the_default():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = cost_study.with_constant(SLACK_SHARE, 0.05, X).fit(X)
    default = LpSVDD(nu=0.05).fit(X)
    assert model.C_ == pytest.approx(default.C_) and model.offset_ == pytest.approx(default.offset_)
    assert cost_study.with_constant(2 * SLACK_SHARE, 0.05, X).C == pytest.approx(model.C_ / 2)


def test_the_job_of_the_cost_rule_takes_shapes_and_tables(made):
    for name in ("ring", NAME):
        rows = pd.DataFrame(cost_study.cost_scale(study.TableTask(name)))
        assert rows["f"].tolist() == list(cost_study.CONSTANTS)
        assert rows["auc"].isna().all() if name == "ring" else rows["auc"].between(50, 100).all()
        assert (rows["rejected_5"] < 25).all() and (rows["rejected_5"] <= rows["rejected_10"]).all()
