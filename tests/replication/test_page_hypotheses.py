"""Chapter 10: every fact that its text quotes is computed, and verdicts follow the tables."""

from __future__ import annotations

import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from replication.experiment import experiment
from replication.pages import exponent, hypotheses, in_order, labelled_negatives, study_table
from replication.pages import solvers_and_exponents as rest
from replication.printed import printed_matrix
from replication.studies import conditions

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "10_where_gain.ipynb"


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
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    text = "".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    quoted = re.findall(r"\{glue:text\}`(\w+)(?::([^`]+))?`", text)
    assert {name for name, _ in quoted} <= set(facts)
    for name, form in quoted:
        format(facts[name], form)  # a number where a number is quoted


def test_the_map_says_where_p_helps(stored) -> None:
    rows = stored["conditions"].rename(columns={"contestant": "method"})
    helped = shifted(rows, 20.0, method=exponent.LP, condition="tails 2")
    assert "tails 2" in exponent.condition_facts(helped)["condition_helps"]
    table = exponent.condition_table(helped)
    assert table.loc["tails 2", "says (ℓ1)"] == "higher"
    assert len(table) == len(conditions.CONDITIONS) + len(conditions.FRACTIONS) - 1


def test_figures_of_the_studies_of_p(stored) -> None:
    ticks = exponent.draw_fixed(stored["common_range"]).axes[0].get_yticklabels()
    assert len(ticks) == 11
    assert len(exponent.draw_relabelling(stored["relabelling"]).axes) == 2
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


def test_hypothesis_1_follows_what_is_left_of_the_gap(stored) -> None:
    fair = stored["fair_grid"]
    assert hypotheses.range_facts(fair, 10.0)["h1_verdict"] == "H1 holds."
    worse = shifted(fair, -2.0, method="l1, nu grid")
    assert "most of the gap" in hypotheses.range_facts(worse, 10.0)["h1_verdict"]
    worst = shifted(fair, -20.0, method="l1, nu grid")
    found = hypotheses.range_facts(worst, 1e6)
    assert found["h1_verdict"] == "H1 does not hold."
    assert found["n_wide"] == 0 and found["wide_left"] == "nothing"


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
    assert table.loc[0, "nearer"].startswith("0 of ")  # not nearer than itself


def test_hypothesis_4_takes_the_nearest_class(stored) -> None:
    targets = stored["targets"]
    row = printed_matrix("pure").loc["D1"]
    exact = targets.copy()
    setosa = exact["variant"] == "setosa"
    exact.loc[setosa, "auc"] = exact.loc[setosa, "method"].map(row)
    exact = exact[exact["method"] != "kernel mean"]
    found = hypotheses.target_facts(exact)
    assert found["h4_d1"] == "setosa" and found["h4_d1_apart"] == pytest.approx(0.0)
    assert found["h4_d1_sure"] == 100.0 and found["h4_d1_named_sure"] == 0.0


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


def test_figures_show_every_data_set(stored) -> None:
    fair, contest = stored["fair_grid"], stored["negative_contest"]
    labels = [tick.get_text() for tick in hypotheses.draw_range(fair).axes[0].get_yticklabels()]
    assert labels[:-1] == in_order(fair["dataset"].unique()) and labels[-1] == "all"
    bars = labelled_negatives.draw_weight(stored["negative_weight"]).axes[0].patches
    assert len(bars) == 2 * contest["dataset"].nunique()
    lines = hypotheses.draw_unit_norm(stored["preparation"]).axes[0].lines
    assert len(lines) == stored["preparation"]["dataset"].nunique()
    assert len(rest.draw_certified(stored["cvxpy_grid"]).axes) == 6  # three maps, three bars
    assert len(rest.draw_support(stored["support"]).axes) == 4
    assert len(rest.draw_exponents(stored["choice_of_p"]).axes[0].patches) == 10
    plt.close("all")


def test_a_missing_table_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LPSVDD_RESULTS", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="support.csv"):
        study_table("support")
