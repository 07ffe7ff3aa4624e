"""Findings: numbers of hand-made tables, and of stored ones with some rows moved.

Which verdicts follow from them, and when not, is in ``test_claims.py``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from replication.evidence import compare, decision_table
from replication.findings import (
    read,
    rejection,
    rerun,
    same_range,
    solvers,
)
from replication.printed import printed_matrix
from replication.studies import fuzz as fuzz_study


def contest(leads: dict[str, float], trials: int = 2) -> pd.DataFrame:
    """Rows of ten data sets: a contestant's mean is 60 plus its lead, with noise over the sets."""
    rng = np.random.default_rng(0)
    noise = rng.normal(scale=0.3, size=(len(leads), 10))
    noise -= noise.mean(axis=1, keepdims=True)
    return pd.DataFrame(
        {"dataset": f"D{i + 1}", "trial": t, "method": name, "auc": 60.0 + lead + t + noise[k, i]}
        for k, (name, lead) in enumerate(leads.items())
        for i in range(10)
        for t in range(trials)
    )


# -- differences ------------------------------------------------------------------------------


def test_comparisons_are_named_and_paired():
    rows = contest({"a": 1.0, "b": 0.0})
    found = compare(rows, {"lead": ("a", "b"), "none": ("a", "a")})
    assert found["lead"].mean == pytest.approx(1.0) and found["lead"].state == "higher"
    assert (found["none"].low, found["none"].high) == (0.0, 0.0)
    one = compare(rows[rows["dataset"] == "D1"], {"lead": ("a", "b")})["lead"]
    assert np.isnan(one.low) and one.state == "undecided" and not one.equivalent


def test_lead_is_measured_on_the_grid_and_over_the_same_range():
    names = {name for pair in same_range.STEPS.values() for name in pair}
    leads = dict.fromkeys(names, 0.0) | {"lp, paper's grid": 10.0, same_range.LP: 4.0}
    found = same_range.lead(contest(leads))
    assert found["lead"].mean == pytest.approx(10.0) and found["left"].mean == pytest.approx(4.0)
    assert found["splits"] == 2
    few = read("common_range").query("dataset in ['D1', 'D7', 'D17']")
    assert same_range.lead(few)["left"].n == 3


def test_lead_on_all_sets_but_one_names_that_one():
    rows = contest({"lp-SVDD": 3.0, "l1-SVDD": 0.0, "l2-SVDD": 0.0})
    lost = (rows["dataset"] == "D4") & (rows["method"] == "lp-SVDD")
    rows.loc[lost, "auc"] = 59.0
    found = rerun.leads(rows)
    assert found["lost"]["l1-SVDD"] == ["D4"] and found["wins"]["l1-SVDD"] == 9
    assert found["printed"]["l1-SVDD"] == pytest.approx(
        (printed_matrix("pure")["lp-SVDD"] - printed_matrix("pure")["l1-SVDD"])[:10].mean()
    )


def test_ranking_is_sure_where_methods_are_far_apart():
    rows = contest({"lp-SVDD": 2.0, "l1-SVDD": 0.0, "l2-SVDD": 9.0})
    found = rerun.ranking(rows)
    assert found["rank"] == {"l2-SVDD": 1.0, "lp-SVDD": 2.0, "l1-SVDD": 3.0}
    assert found["first"]["l2-SVDD"] == found["second"]["lp-SVDD"] == 1.0
    assert found["before_l1"] == {"lp": 1.0, "l2": 1.0} and found["friedman"] < 1e-3


# -- other tables -----------------------------------------------------------------------------


def test_counts_of_the_fuzz_study_are_summed():
    counts = fuzz_study.count_outcomes(fuzz_study.run_fuzz(range(12)))
    found = solvers.fuzz_counts(counts)
    assert found["solutions"] == counts["solutions"].sum()
    assert found["wrong"] == 0
    counts.loc[0, ["wrong", "not_converged"]] = 3, 1
    worse = solvers.fuzz_counts(counts)
    share = 100 * counts["not_converged"].sum() / counts["solutions"].sum()
    assert worse["wrong"] == 3 and worse["stopped_share"] == pytest.approx(share)


# -- guarantees -------------------------------------------------------------------------------


def cell(**changes):
    """One row of the coverage table that does not fail."""
    row = {
        "population": "coin", "n": 30, "p": 1.0, "atoms": True, "repetitions": 1000,
        "below_0.05": 0.01, "above_0.05": 0.02, "below_0.5": 0.1, "above_0.5": 0.1,
        "below_without_ties": 0.02,
    }  # fmt: skip
    return row | changes


def test_a_cell_fails_from_74_misses_of_a_thousand_on():
    rows = [cell(), cell(**{"above_0.05": 0.063}), cell(**{"above_0.05": 0.064})]
    judged = rejection.judged_coverage(pd.DataFrame(rows))
    assert judged["fails_0.05"].tolist() == [False, False, True]
    assert not judged["fails_0.5"].any()


def test_stored_tables_meet_the_rules_of_the_plan():
    coverage = rejection.judged_coverage(read("rejection_coverage"))
    assert (coverage["repetitions"] >= 1000).all() and coverage["population"].nunique() == 9
    assert not coverage[["fails_0.05", "fails_0.5"]].to_numpy().any()
    sets = read("rejection_datasets")
    proved = sets[sets["preparation"] == "aside"]
    assert proved["dataset"].nunique() == 20 and proved["disagrees"].mean() <= 0.05
    assert (sets["gap"] < 1e-8).all()


# -- the paper's two tables -------------------------------------------------------------------


@pytest.mark.parametrize("names, splits", [("D7", 1), ("D9 D12", 3), ("D1 D7 D17", 1)])
def test_one_data_set_and_one_split_are_enough(names, splits):
    """What one data set cannot tell is said, and nothing fails."""
    names, tables = names.split(), {}
    for setting in ("pure", "negatives"):
        rows = read(setting)
        rows = rows[rows["dataset"].isin(names) & (rows["trial"] < splits)]
        table = tables[setting] = rerun.Rerun(rows, setting)
        shown = table.leads["ℓp − ℓ1"]
        assert ("all sets" in shown.index) == (len(names) > 1)
        assert (table.test is None) == (len(names) == 1)
        decided = decision_table(rows, table.against).join(rerun.holm_lines(table))
        assert len(decided) == len(table.methods) - 1
        assert ("rerun" in rerun.test_lines(table).index) == (len(names) > 1)
        assert table.here.shape == table.printed.shape == (len(names), len(table.methods))
    gains = rerun.gains(tables["negatives"], tables["pure"])
    assert list(gains.index[:2]) == ["ℓp-SVDD", "ℓ1-SVDD"] and len(gains) == 7
    if len(names) < 3:
        assert "(one " in str(rerun.leads(tables["pure"].rows)["over"]["l1-SVDD"])


def test_grids_of_the_notebook_replace_only_those_of_lp():
    published = ["32/31", "16/15", "8/7", "6/5", "4/3", "3/2", "2", "5/2", "5", "20"]
    paper = rerun.paper_methods
    assert rerun.methods_with("pure", published, [0.001, 0.01, 0.1, 1.0]) == paper("pure")
    assert rerun.methods_with("pure", [], []) == paper("pure")
    own = {m.name: m for m in rerun.methods_with("negatives", [1, "3/2"], [0.1])}
    assert [cell["p"] for cell in own["lp-SVDD-"].grid] == [1.0, 1.5]
    assert all(cell["C_neg"] == 0.1 for cell in own["lp-SVDD-"].grid)
    assert own["l2-SVDD-"] == {m.name: m for m in paper("negatives")}["l2-SVDD-"]
