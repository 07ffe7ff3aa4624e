"""Findings: numbers of hand-made tables, and of stored ones with some rows moved.

Which verdicts follow from them, and when not, is in ``test_claims.py``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from replication.evidence import compare, decision_table
from replication.findings import (
    choices,
    outliers,
    read,
    rejection,
    rerun,
    same_range,
    solvers,
)
from replication.paper import EXPONENTS
from replication.printed import printed_matrix
from replication.studies import fuzz as fuzz_study
from replication.studies.ranges import fixed_label


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


def shifted(table: pd.DataFrame, points: float, **where: str) -> pd.DataFrame:
    """A copy with the AUC of some rows moved."""
    table = table.copy()
    chosen = np.logical_and.reduce([table[name] == value for name, value in where.items()])
    table.loc[chosen, "auc"] += points
    return table


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


def test_tuned_p_is_compared_with_every_fixed_one():
    fixed = dict.fromkeys(map(fixed_label, (1.0, *EXPONENTS)), 0.0) | {fixed_label(2.0): 2.0}
    found = same_range.tuned_exponent(contest(fixed | {same_range.LP: 2.0}), read("decomposition"))
    assert (found["best"], found["above"], found["same"], found["total"]) == ("2", 10, 1, 11)


def test_lead_on_all_sets_but_one_names_that_one():
    rows = contest({"lp-SVDD": 3.0, "l1-SVDD": 0.0, "l2-SVDD": 0.0})
    lost = (rows["dataset"] == "D4") & (rows["method"] == "lp-SVDD")
    rows.loc[lost, "auc"] = 59.0
    found = rerun.leads(rows)
    assert found["lost"]["l1-SVDD"] == ["D4"] and found["wins"]["l1-SVDD"] == 9
    assert found["printed"]["l1-SVDD"] == pytest.approx(
        (printed_matrix("pure")["lp-SVDD"] - printed_matrix("pure")["l1-SVDD"])[:10].mean()
    )


def test_gain_on_one_set_has_an_interval_over_its_splits():
    """lp is 9 to 11 points above l1 and 4 to 6 above l2 on ten splits of D1."""
    splits = np.tile([-1.0, -0.5, 0.0, 0.5, 1.0], 2)
    matrix = {"l1-SVDD": 60 - splits, "l2-SVDD": 65 - splits, "lp-SVDD": np.full(10, 70.0)}
    rows = pd.DataFrame(matrix).rename_axis("trial").reset_index().assign(dataset="D1")
    rows = rows.melt(["dataset", "trial"], var_name="method", value_name="auc")
    found = rerun.gain_on(rows, dataset="D1")
    assert found["l1"].low < 10.0 < found["l1"].high < 10.6
    assert found["l2"].mean == pytest.approx(5.0)


def test_ranking_is_sure_where_methods_are_far_apart():
    rows = contest({"lp-SVDD": 2.0, "l1-SVDD": 0.0, "l2-SVDD": 9.0})
    found = rerun.ranking(rows)
    assert found["rank"] == {"l2-SVDD": 1.0, "lp-SVDD": 2.0, "l1-SVDD": 3.0}
    assert found["first"]["l2-SVDD"] == found["second"]["lp-SVDD"] == 1.0
    assert found["before_l1"] == {"lp": 1.0, "l2": 1.0} and found["friedman"] < 1e-3


# -- other tables -----------------------------------------------------------------------------


def test_preparation_follows_the_variant_without_unit_norm():
    rows = read("preparation")
    lowered = choices.preparation_table(shifted(rows, -50.0, variant="no unit norm"))
    assert (
        lowered.loc["ℓ1-SVDD", "change"].mean
        < 0
        < choices.preparation_table(rows)["change"].iloc[0].mean
    )
    assert (lowered["sets down"] > lowered["sets up"]).all()
    default = choices.variant_table(rows).loc["default"]
    means = rows[rows["variant"] == "default"].groupby("method")["auc"].mean()
    assert default["ℓp-SVDD"] == pytest.approx(means["lp-SVDD"], abs=1e-9)


def test_target_class_nearest_to_the_printed_row_is_named():
    exact = read("targets")
    setosa = exact["variant"] == "setosa"
    exact.loc[setosa, "auc"] = exact.loc[setosa, "method"].map(printed_matrix("pure").loc["D1"])
    found = choices.target_class(exact[exact["method"] != "kernel mean"], dataset="D1")
    assert found["nearest"] == "setosa" and found["apart"]["setosa"] == pytest.approx(0.0)


def test_outliers_are_weighed_by_grid_and_compared_with_print():
    rows = read("negative_weight")
    every = outliers.weight(rows.assign(with_weight=rows["cells"]))
    assert every["share"] == 100.0 and every["never"] == []
    assert outliers.weight(rows)["never"] == ["D4", "D5", "D7", "D17"]
    near = outliers.outlier_print(read("negative_contest"))
    assert near["nearer"].iloc[0].startswith("0 of ")  # not nearer than itself


def test_solver_is_certified_by_its_gap_and_not_by_its_word():
    rows = read("cvxpy_grid").assign(status="optimal", gap=1.0)
    assert solvers.general_solvers(rows)["high"] == 0.0


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
    assert rejection.cell_power(1000, 0.05) == pytest.approx(0.77, abs=0.01)  # as planned


def test_ties_are_counted_at_p_1_with_atoms_only():
    bad = {"below_without_ties": 0.9}
    rows = [cell(**bad), cell(p=2.0, **bad), cell(atoms=False, **bad), cell()]
    found = rejection.rejection_coverage(pd.DataFrame(rows))
    assert (found["ties_cells"], found["ties_fail"], found["ties_worst"]) == (2, 1, 90.0)
    assert found["misses"] == 4 * 30 and found["failures"] == 0


def test_stored_tables_meet_the_rules_of_the_plan():
    coverage = rejection.judged_coverage(read("rejection_coverage"))
    assert (coverage["repetitions"] >= 1000).all() and coverage["population"].nunique() == 9
    assert not coverage[["fails_0.05", "fails_0.5"]].to_numpy().any()
    sets = read("rejection_datasets")
    proved = sets[sets["preparation"] == "aside"]
    assert proved["dataset"].nunique() == 20 and proved["disagrees"].mean() <= 0.05
    assert (sets["gap"] < 1e-8).all()


# -- the paper's two tables -------------------------------------------------------------------


def test_two_standard_errors_of_both_means_are_the_limit():
    """3 over 25 splits here, the root of 6.4 over ten in print: the standard error is 1."""
    table = pd.DataFrame(
        {
            "method": "GP",
            "auc_sd": 3.0,
            "printed_sd": np.sqrt(6.4),
            "trials": 25,
            "auc_mean": [70.0, 70.0, 71.0, 72.0],
            "difference": [1.95, 2.05, -1.95, -2.05],
        }
    )
    table["printed_mean"] = table["auc_mean"] - table["difference"]
    assert rerun.by_method(table).loc["GP", "within two standard errors"] == 2


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


def test_the_first_pair_orders_the_data_sets():
    rows = contest({"lp": 2.0, "l1": 0.0, "l2": 1.0})
    rows.loc[(rows["dataset"] == "D3") & (rows["method"] == "lp"), "auc"] += 9.0
    stated = pd.DataFrame({"lp": 3.0, "l1": 1.0, "l2": 2.0}, index=[f"D{i}" for i in range(1, 11)])
    found = rerun.by_set(rows, {"a": ("lp", "l1"), "b": ("lp", "l2")}, stated)
    assert found["a"].index[0] == "Ecoli (D3)" and found["a"].index[-1] == "all sets"
    assert list(found["a"].index) == list(found["b"].index)
    assert (found["a"]["printed"] == 2.0).all() and (found["b"]["printed"] == 1.0).all()


def test_grids_of_the_notebook_replace_only_those_of_lp():
    published = ["32/31", "16/15", "8/7", "6/5", "4/3", "3/2", "2", "5/2", "5", "20"]
    paper = rerun.paper_methods
    assert rerun.methods_with("pure", published, [0.001, 0.01, 0.1, 1.0]) == paper("pure")
    assert rerun.methods_with("pure", [], []) == paper("pure")
    own = {m.name: m for m in rerun.methods_with("negatives", [1, "3/2"], [0.1])}
    assert [cell["p"] for cell in own["lp-SVDD-"].grid] == [1.0, 1.5]
    assert all(cell["C_neg"] == 0.1 for cell in own["lp-SVDD-"].grid)
    assert own["l2-SVDD-"] == {m.name: m for m in paper("negatives")}["l2-SVDD-"]
