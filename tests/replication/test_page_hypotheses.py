"""Chapters with results: every fact that a text quotes is computed, verdicts follow the tables."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from quoted import quoted

from replication.experiment import experiment
from replication.pages import exponent, hypotheses, labelled_negatives, paper_tables, study_table
from replication.pages import solvers_and_exponents as rest
from replication.printed import printed_matrix
from replication.studies import conditions


@pytest.fixture(scope="module")
def stored() -> dict[str, pd.DataFrame]:
    names = ("fair_grid", "preparation", "negative_weight", "negative_contest", "targets")
    names += ("cvxpy_grid", "cvxpy_time", "support", "choice_of_p")
    names += ("common_range", "matched_sparsity", "relabelling", "conditions", "validation_size")
    names += ("radius_pure", "radius_negatives", "fixed_cost", "waveform", "density_weights")
    return {name: study_table(name) for name in names}


@pytest.fixture(scope="module")
def main() -> dict[str, pd.DataFrame]:
    return {setting: experiment(setting, progress=False) for setting in ("pure", "negatives")}


def shifted(table: pd.DataFrame, points: float, **where: str) -> pd.DataFrame:
    """A copy with the AUC of some rows moved."""
    table = table.copy()
    chosen = np.logical_and.reduce([table[name] == value for name, value in where.items()])
    table.loc[chosen, "auc"] += points
    return table


def test_the_text_quotes_what_is_computed(stored, main) -> None:
    columns = ["dataset", "method", "trial", "auc"]
    both = pd.concat([rows[columns] for rows in main.values()])
    weight, contest = stored["negative_weight"], stored["negative_contest"]
    facts = (
        hypotheses.range_facts(stored["fair_grid"], 10.0)
        | hypotheses.preparation_facts(stored["preparation"])
        | labelled_negatives.contest_facts(contest)
        | labelled_negatives.weight_facts(weight, contest, both)
        | hypotheses.target_facts(stored["targets"])
        | rest.solver_facts(stored["cvxpy_grid"])
        | rest.time_facts(stored["cvxpy_time"], main)
        | rest.support_facts(stored["support"])
        | rest.exponent_facts(stored["choice_of_p"])
        | exponent.range_facts(stored["common_range"], stored["matched_sparsity"])
        | exponent.relabelling_facts(stored["relabelling"])
        | exponent.condition_facts(stored["conditions"])
        | exponent.reading_facts(stored["radius_pure"], stored["radius_negatives"])
        | exponent.validation_facts(stored["validation_size"])
        | exponent.hypothesis_facts(
            stored["fixed_cost"], stored["waveform"], stored["density_weights"]
        )
    )
    asked = quoted("choices") + quoted("exponent")
    assert {name for name, _ in asked} <= set(facts)
    for name, form in asked:
        format(facts[name], form)  # a number where a number is quoted


def test_the_map_says_where_p_helps(stored) -> None:
    rows = stored["conditions"].rename(columns={"contestant": "method"})
    helped = shifted(rows, 20.0, method=exponent.LP, condition="tails 2")
    assert "heavier tails" in exponent.condition_facts(helped)["condition_helps"]
    table = exponent.condition_table(helped)
    assert table.loc["heavier tails", "says (ℓ1)"] == "higher"
    assert len(table) == len(conditions.CONDITIONS) + len(conditions.FRACTIONS) - 1


def test_figures_of_the_studies_of_p(stored) -> None:
    for narrow in (False, True):
        common = stored["common_range"]
        assert len(exponent.draw_fixed(common, narrow).axes[0].get_yticklabels()) == 11
        assert len(exponent.draw_steps(common, narrow).axes[0].get_yticklabels()) == 5
        assert len(exponent.draw_relabelling(stored["relabelling"], narrow).axes) == 2
        maps = exponent.draw_conditions(stored["conditions"], narrow).axes
        assert len(maps[0].get_yticklabels()) == stored["conditions"]["condition"].nunique()
        assert len(exponent.draw_sparsity(stored["matched_sparsity"], narrow).axes[0].lines) == 5
        assert len(exponent.draw_readings(narrow).axes) == 2
    assert list(exponent.density_table(stored["density_weights"]).columns[:2]) == ["D1", "D2"]
    assert exponent.sparsity_table(stored["matched_sparsity"]).index[0] == 1.0
    assert "ℓp-SVDD⁻" in exponent.reading_table().index
    plt.close("all")


def test_a_class_of_the_waveforms_must_be_near_in_both_tables(stored) -> None:
    waves = stored["waveform"]
    assert exponent.class_that_fits(waves) == "" and exponent.class_that_fits(waves, 20.0) == "0"
    apart = exponent.waveform_distances(waves)
    between = apart.loc[0].min() + 0.5 * np.ptp(apart.loc[0])
    assert exponent.class_that_fits(waves, between) == ""


def test_hypothesis_1_counts_sets_with_a_wide_gap(stored) -> None:
    fair = stored["fair_grid"]
    wide = hypotheses.range_facts(fair, 10.0)["n_wide"]
    closer = shifted(fair, 9.0, method="l1, paper's grid")
    assert hypotheses.range_facts(closer, 1.0)["n_wide"] == wide > 0
    assert hypotheses.range_facts(fair, 1e6)["n_wide"] == 0


def test_hypothesis_2_follows_the_variant_without_unit_norm(stored) -> None:
    table = stored["preparation"]
    lowered = shifted(table, -50.0, variant="no unit norm")
    assert "not established" in hypotheses.preparation_facts(lowered)["h2_verdict"]
    apart = shifted(table, -50.0, variant="no unit norm", method="l1-SVDD")
    assert "does not shrink" in hypotheses.preparation_facts(apart)["h2_verdict"]
    default = hypotheses.variant_table(table).loc["default"]
    means = table[table["variant"] == "default"].groupby("method")["auc"].mean()
    assert default["ℓp-SVDD"] == pytest.approx(means["lp-SVDD"], abs=1e-9)


def test_hypothesis_3_counts_cells_and_gains(stored, main) -> None:
    weight, contest = stored["negative_weight"], stored["negative_contest"]
    columns = ["dataset", "method", "trial", "auc"]
    both = pd.concat([rows[columns] for rows in main.values()])
    better = shifted(contest, 5.0, method="lp with negatives")
    verdict = labelled_negatives.weight_facts(weight, better, both)["h3_verdict"]
    assert verdict.endswith("the gain is not small.")
    every = weight.assign(with_weight=weight["cells"])
    found = labelled_negatives.weight_facts(every, contest, both)
    assert found["h3_share"] == 100.0 and "against H3" in found["h3_verdict"]
    table = labelled_negatives.distance_table(contest)
    assert table["nearer"].iloc[0].startswith("0 of ")  # not nearer than itself


def test_hypothesis_4_takes_the_nearest_class(stored) -> None:
    targets = stored["targets"]
    row = printed_matrix("pure").loc["D1"]
    exact = targets.copy()
    setosa = exact["variant"] == "setosa"
    exact.loc[setosa, "auc"] = exact.loc[setosa, "method"].map(row)
    exact = exact[exact["method"] != "kernel mean"]
    found = hypotheses.target_facts(exact)
    assert found["h4_d1"] == "setosa" and found["h4_d1_apart"] == pytest.approx(0.0)
    assert found["h4_d1_sure"] == 100.0


def test_a_solver_is_certified_by_its_gap_and_not_by_its_word(stored) -> None:
    grid = stored["cvxpy_grid"]
    liar = grid.assign(status="optimal", gap=1.0)
    table = rest.solver_table(liar)
    assert (table["certified"] == 0).all() and (table["optimal, not certified"] == 100).all()
    honest = rest.solver_table(grid)
    assert np.allclose(honest[["optimal", "inaccurate", "failed"]].sum(axis=1), 100)


def test_exponents_are_counted_over_all_splits(stored) -> None:
    choice = stored["choice_of_p"]
    table = rest.exponent_table(choice)
    assert table["chosen"].sum() == pytest.approx(100.0) and len(table) == 10
    better = shifted(choice, 30.0, method="p = 5")
    found = rest.exponent_facts(better)
    assert found["p_best_fixed"] == "p = 5" and found["p_best_fixed_diff"].startswith("+")


@pytest.mark.parametrize("narrow", [False, True])
def test_figures_show_every_data_set(stored, narrow) -> None:
    contest, preparation = stored["negative_contest"], stored["preparation"]
    ax = labelled_negatives.draw_weight(stored["negative_weight"], narrow).axes[0]
    assert len(ax.get_yticklabels()) == stored["negative_weight"]["dataset"].nunique()
    assert len(labelled_negatives.draw_contest(contest, narrow).axes[0].get_yticklabels()) == 5
    dots = labelled_negatives.draw_beside_print(contest, narrow).axes[0].collections
    assert [len(part.get_offsets()) for part in dots] == [contest["dataset"].nunique()] * 4
    lines = hypotheses.draw_unit_norm(preparation, narrow).axes[0].lines
    assert len(lines) == preparation["dataset"].nunique()
    assert len(rest.draw_certified(stored["cvxpy_grid"], narrow).axes) == 3
    assert len(rest.draw_support(stored["support"], narrow).axes) == 2
    ax = rest.draw_exponents(stored["choice_of_p"], narrow).axes[0]
    assert len(ax.get_yticklabels()) == 10
    plt.close("all")


@pytest.mark.parametrize("narrow", [False, True])
def test_figures_of_the_papers_tables(main, narrow) -> None:
    few = {name: rows[rows["dataset"].isin(["D1", "D7", "D17"])] for name, rows in main.items()}
    pure, labelled = (paper_tables.Setting(few[name], name) for name in ("pure", "negatives"))
    for table, methods in ((pure, 9), (labelled, 7)):
        for draw in (paper_tables.draw_means, paper_tables.draw_ranks, paper_tables.draw_off):
            ax = draw(table, narrow).axes[0]
            assert [t.get_text() for t in ax.get_yticklabels()].count(
                "ℓ1-SVDD" + "⁻" * (methods == 7)
            ) == 1
            assert len(ax.get_yticklabels()) == methods
        assert (
            len(paper_tables.draw_against(table, narrow).axes[0].get_yticklabels()) == methods - 1
        )
        names = paper_tables.draw_by_set(paper_tables.pair_parts(table), narrow).axes[0]
        shown = [tick.get_text() for tick in names.get_yticklabels()]
        assert set(shown) == {"Iris (D1)", "Wine (D7)", "Cleveland (D17)", "all sets"}
    gains = paper_tables.gains(labelled, pure)
    assert len(paper_tables.draw_gains(gains, narrow).axes[0].get_yticklabels()) == 7
    assert gains.index[0] == "lp-SVDD-"
    plt.close("all")


def test_the_two_chapters_on_the_papers_tables_quote_what_is_computed(main) -> None:
    settings = {name: paper_tables.Setting(rows, name) for name, rows in main.items()}
    pure, labelled = settings["pure"], settings["negatives"]
    facts = {
        "pure": paper_tables.facts(pure) | paper_tables.improvement(pure, "D17"),
        "negatives": paper_tables.facts(labelled)
        | paper_tables.gain_facts(paper_tables.gains(labelled, pure))
        | paper_tables.misprint_facts(labelled),
    }
    for name, known in facts.items():
        for key, form in quoted(name):
            format(known[key], form)
    assert facts["pure"]["printed_wins"] == 19 and facts["negatives"]["n_methods"] == 7


def test_a_missing_table_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LPSVDD_RESULTS", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="support.csv"):
        study_table("support")
