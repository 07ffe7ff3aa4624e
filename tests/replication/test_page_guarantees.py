"""The chapter on guarantees: what its text quotes is computed, and follows the tables."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from quoted import quoted

from lpsvdd.bounds import sample_size
from replication.pages import error_bounds, risk_of_rejection, study_table


@pytest.fixture(scope="module")
def stored() -> dict[str, pd.DataFrame]:
    names = ["coverage", "conditions", "compare", "curves", "datasets"]
    tables = {name: study_table(f"rejection_{name}") for name in names}
    return tables | {"terms": study_table("bound_terms"), "held": study_table("bound_coverage")}


def test_the_text_quotes_what_is_computed(stored):
    facts = (
        {"example_low": 0.0, "example_high": 0.0}
        | error_bounds.size_facts(0.5, 0.05, n=30, n_draws=400, seed=0)
        | error_bounds.choice_facts(stored["terms"], stored["held"], 0.5)
        | risk_of_rejection.curve_facts(stored["curves"])
        | risk_of_rejection.coverage_facts(stored["coverage"])
        | risk_of_rejection.condition_facts(stored["conditions"])
        | risk_of_rejection.compare_facts(stored["compare"])
        | risk_of_rejection.dataset_facts(stored["datasets"])
    )
    asked = quoted("guarantees")
    assert len(asked) > 30 and {name for name, _ in asked} <= set(facts)
    for name, form in asked:
        assert f"{facts[name]:{form}}" and facts[name] == facts[name], name


def test_every_figure_can_be_drawn_at_both_widths(stored):
    for narrow in (False, True):
        error_bounds.draw_sizes(0.5, 0.05, narrow=narrow)
        error_bounds.draw_choice(stored["terms"], 0.5, narrow=narrow)
        for name in ("curves", "coverage", "compare", "datasets"):
            getattr(risk_of_rejection, f"draw_{name}")(stored[name], narrow=narrow)
        plt.close("all")


def test_sample_sizes_are_those_of_the_package():
    facts = error_bounds.size_facts(0.5, 0.05, n=30, n_draws=400, seed=0)
    assert facts["n_paper_p1"] == f"{sample_size(1.0, 0.5, 0.05, form='paper'):,}"
    assert 1 / np.sqrt(2) < facts["mc_ratio_min"] < facts["mc_ratio_max"] < 1.2
    assert error_bounds.readable(1450) == "1,450" and error_bounds.readable(2.7e10) == "2.7·10¹⁰"


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
    judged = risk_of_rejection.judged_coverage(pd.DataFrame(rows))
    assert judged["fails_0.05"].tolist() == [False, False, True]
    assert not judged["fails_0.5"].any()
    assert risk_of_rejection.power(1000, 0.05) == pytest.approx(0.77, abs=0.01)  # as planned
    half = risk_of_rejection.judged_coverage(pd.DataFrame([cell(**{"below_0.5": 0.5})]))
    assert half["fails_0.5"].all()


def test_ties_are_counted_at_p_1_with_atoms_only():
    bad = {"below_without_ties": 0.9}
    rows = [cell(**bad), cell(p=2.0, **bad), cell(atoms=False, **bad), cell()]
    facts = risk_of_rejection.coverage_facts(pd.DataFrame(rows))
    assert (facts["ties_cells"], facts["ties_fail"], facts["ties_worst"]) == (2, 1, 90.0)
    assert facts["cover_misses"] == 4 * 30 and facts["cover_failures"] == 0


def test_variants_take_their_worst_case():
    row = {"variant": "fixed before", "proved": True, "count": 1000, "below": 0.0, "above": 0.01}
    row["repetitions"] = 1000
    other = row | {"variant": "C from the sample", "proved": False}
    table = pd.DataFrame([row, row | {"above": 0.04}, other, other | {"below": 0.2}])
    shown = risk_of_rejection.condition_table(table)
    assert shown["above, %"].tolist() == [4.0, 1.0] and shown["fails"].tolist() == [False, True]
    facts = risk_of_rejection.condition_facts(table)
    assert facts["conditions_proved_fail"] == 0 and facts["conditions_unproved_fail"] == 1
    assert facts["conditions_failed_names"] == "C from the sample"


def test_stored_tables_meet_the_rules_of_the_plan(stored):
    coverage = risk_of_rejection.judged_coverage(stored["coverage"])
    assert (coverage["repetitions"] >= 1000).all() and coverage["population"].nunique() == 9
    assert not coverage[["fails_0.05", "fails_0.5"]].to_numpy().any()
    assert risk_of_rejection.condition_facts(stored["conditions"])["conditions_proved_fail"] == 0
    proved = stored["datasets"].query("preparation == 'aside'")
    assert proved["dataset"].nunique() == 20 and proved["disagrees"].mean() <= 0.05
    assert (stored["datasets"]["gap"] < 1e-8).all()
    sharper = stored["compare"].query("statement == 'corrected bound'")["smaller"]
    assert (sharper >= 0.95).all()


def test_costs_for_wanted_rates():
    table = risk_of_rejection.rates((60, 150), seed=6)
    assert table["C"].isna().tolist()[:2] == [True, True]
    chosen = table.dropna()
    assert (chosen["upper end"] <= chosen["wanted"]).all()
    assert (chosen["measured"] <= chosen["wanted"]).all()
