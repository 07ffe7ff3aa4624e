"""The claims ledger: well-formed, recomputable, and able to fail."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from outside import certified
from typer.testing import CliRunner

from replication import printed
from replication.claims import (
    CHECKS,
    VERDICTS,
    LedgerError,
    consistency,
    exponent,
    figure,
    judge,
    markdown_cards,
    mathematics,
    read_ledger,
    reproduction,
    studies,
)
from replication.claims.ledger import THEMES, finding, load_checks, stored
from replication.claims.typeset import PLAIN_LEFT, evidence_titles, typeset
from replication.paper import EXPONENTS

ROOT = Path(__file__).resolve().parents[2]
LEDGER = read_ledger(ROOT / "claims.yml")


@pytest.mark.parametrize("claim", LEDGER, ids=lambda claim: claim.id)
def test_verdict_follows_from_its_check(claim):
    outcome = judge(claim)
    assert outcome.verdict == claim.verdict
    text = finding(claim, outcome)
    assert "{" not in text and "nan" not in text.lower().split()


def test_the_ledger_is_complete_and_grouped():
    assert len(LEDGER) >= 72
    assert {claim.theme for claim in LEDGER} == set(THEMES)


def test_every_check_is_used_and_every_verdict_kind_is_known():
    load_checks()
    assert {claim.check for claim in LEDGER} == set(CHECKS)
    assert {claim.verdict for claim in LEDGER} <= set(VERDICTS)


def test_evidence_points_at_a_figure_or_section_of_the_page_it_names():
    for claim in LEDGER:
        page, _, label = claim.evidence.partition("#")
        source = ROOT / page if page.startswith("notebooks/") else ROOT / "book" / page
        text = source.read_text(encoding="utf-8")
        assert f'"name": "{label}"' in text or f"({label})=" in text, (
            f"{claim.id}: {claim.evidence}"
        )
        title = evidence_titles(ROOT)[label]
        assert title and "{" not in title, f"{claim.id}: nothing says what {label} shows"


def test_every_claim_has_a_box_and_a_mismatch_is_shown():
    chosen = [claim for claim in LEDGER if claim.id in {"table-2-bold", "table-4-labels"}]
    text = markdown_cards(chosen, ROOT)
    assert text.count(":::{div} claim verdict-") == len(chosen)
    assert "**The printed tables**" in text and "{ref}`How close is the rerun to print? <" in text
    assert "ledger:" not in text
    wrong = [type(chosen[0])(**{**vars(chosen[0]), "verdict": "holds"})]
    assert "ledger: holds" in markdown_cards(wrong, ROOT)
    lost = [type(chosen[0])(**{**vars(chosen[0]), "evidence": "notebooks/pure.ipynb#fig-none"})]
    with pytest.raises(LedgerError, match="names no figure and no section"):
        markdown_cards(lost, ROOT)


def test_formulas_are_typeset():
    assert typeset("at p = 2, c = 1e-03.") == r"at $p = 2$, $c = 1 \cdot 10^{-3}$."
    assert typeset("With R² ≥ 0 and Σα = 1") == r"With $R^2 \ge 0$ and $\sum\alpha = 1$"
    assert typeset("a gap of 5e-11, -22 at p") == r"a gap of $5 \cdot 10^{-11}$, −22 at p"
    assert typeset("a plain step of ten points") == "a plain step of ten points"
    assert typeset("a description covers; n c < 1") == r"a description covers; $n\,c < 1$"
    for claim in LEDGER:
        for text in (claim.claim, re.sub(r"{[^}]*}", "", claim.finding)):
            rest = re.sub(r"\$[^$]*\$", "", typeset(text))
            assert not PLAIN_LEFT.search(rest), f"{claim.id}: {rest}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "maybe"}, "is none of"),
        ({"theme": "Sport"}, "is none of"),
        ({"check": "no_such_check"}, "no check"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_malformed_ledgers_are_refused(tmp_path, change, message):
    entry = {**yaml.safe_load((ROOT / "claims.yml").read_text(encoding="utf-8"))[0], **change}
    path = tmp_path / "claims.yml"
    path.write_text(yaml.safe_dump([entry]), encoding="utf-8")
    with pytest.raises(LedgerError, match=message):
        read_ledger(path)


def test_two_claims_with_one_id_are_refused(tmp_path):
    entry = yaml.safe_load((ROOT / "claims.yml").read_text(encoding="utf-8"))[0]
    path = tmp_path / "claims.yml"
    path.write_text(yaml.safe_dump([entry, entry]), encoding="utf-8")
    with pytest.raises(LedgerError, match="share an id"):
        read_ledger(path)


@pytest.fixture
def changed(tmp_path, monkeypatch):
    """Changes tables in a copy of the results, one after another; checks read the copy."""

    def apply(name: str, change) -> None:
        folder = tmp_path / "results"
        if not folder.exists():
            shutil.copytree(ROOT / "results", folder)
        table = pd.read_csv(folder / f"{name}.csv")
        change(table)
        table.to_csv(folder / f"{name}.csv", index=False)
        monkeypatch.setenv("LPSVDD_RESULTS", str(folder))

    return apply


def shift(column: str, starts: str, points: float):
    """Add points to the AUC of every contestant or method whose name starts so."""

    def change(table: pd.DataFrame) -> None:
        table.loc[table[column].str.startswith(starts), "auc"] += points

    return change


def fill(column: str, value):
    return lambda table: table.__setitem__(column, value)


def flat(table: pd.DataFrame) -> None:
    """Every method alike."""
    table["auc"] = 70.0 + table["trial"] % 3


def dense_above_1(table: pd.DataFrame) -> None:
    """Every point a support vector where p > 1."""
    columns = [name for name in table if name.startswith("support_at")]
    table.loc[table["p"] > 1.0, columns] = 1.0


OTHER_ARGUMENTS = {
    "strong_duality": {"costs": (1.0,)},
    "joint_form": {"factor": "corrected"},
    "joint_form_cost": {"factor": "corrected"},
    "convexity_argument": {"kernel": "tanh"},
    "multipliers_of_slack": {"p_low": 1.1},
    "costs_control_shares": {"costs": (1.0, 0.3, 0.1, 0.03, 0.01)},
    "weighting_keeps_linearity": {"exponent": 2.0},
    "rejection_against_acceptance": {"flip": True},
    "radius_branch": {"costs": (1.0,)},
    "radius_from_support_vectors": {"tolerance": 1e-16},
    "support_depends_on_p": {"exponents": (1.0,)},
    "large_exponent": {"p": 3.0},
    "unit_length_simplification": {"kernel": "linear"},
    "squared_in_theorem_5": {"kappa": 1.0},
    "rademacher_of_linear_class": {"constant": 1.0},
    "uniform_deviation": {"complexity": 0.0, "spread": 0.0},
    "contraction": {"factor": 0.1},
    "distance_bound_with_negatives": {"negative": (0.0, -0.9)},
    "lipschitz_constant": {"margin": 100.0},
    "bold_is_best": {"dataset": "D17", "bold": "lp-SVDD"},
    "printed_improvement": {"dataset": "D17", "points": 10, "over": "l1-SVDD"},
    "printed_second": {"setting": "pure", "method": "GP"},
    "printed_order": {"setting": "pure", "better": "l1-SVDD", "worse": "l2-SVDD"},
    "printed_not_second": {"setting": "negatives", "methods": ["KNFST"]},
    "printed_spread": {"dataset": "D20", "method": "GP"},
    "printed_ranks": {"setting": "pure", "tolerance": 0.0},
    "row_labels": {"setting": "pure"},
    "same_data_twice": {"first": "D1", "second": "D7"},
    "process_with_negatives": {"label": 1.0, "noise": 1e6},
    "target_class": {"stated": "setosa", "near": 1e6},
    "bound_at_one": {"n": 10.0},
    "sample_weights": {"tolerance": 0.0},
    "several_spheres": {"least": 1.1},
}
"""Arguments with which a check must come to another verdict than the ledger's."""

OTHER_TABLES = {
    "slack_norm_or_grid": [("common_range", shift("contestant", "lp, 40", 30.0))],
    "tuned_exponent": [("common_range", shift("contestant", "lp, 40", 30.0))],
    "other_norms_than_l1": [("common_range", shift("contestant", "p = 2,", 30.0))],
    "l2_not_always_best": [("common_range", shift("contestant", "p = 2,", -90.0))],
    "weights_over_the_same_range": [("common_range", shift("contestant", "lp, 40", 60.0))],
    "larger_validation_set": [("validation_size", fill("auc", 70.0))],
    "capacity_beyond_nu": [("relabelling", fill("left", 9.0))],
    "sparsity_at_matched_shares": [("matched_sparsity", dense_above_1)],
    "density_equals_l1": [("density_weights", fill("equal", 1.0))],
    "weight_of_negatives": [("negative_weight", fill("with_weight", 0))],
    "gain_from_negatives": [("negative_contest", shift("contestant", "lp with negatives", 60.0))],
    "general_solvers": [("cvxpy_grid", fill("gap", 0.0))],
    "bound_coverage": [("bound_coverage", fill("coverage_paper", 0.5))],
    "bound_sample_size": [("bound_samplesize", fill("n", 10**9))],
    "rerun_wins": [("pure", shift("method", "lp-SVDD", 60.0))],
    "rerun_place": [("pure", shift("method", "lp-SVDD", 60.0))],
    "rerun_order": [("pure", shift("method", "lp-SVDD", -90.0))],
    "rerun_against": [("pure", shift("method", "lp-SVDD", 60.0))],
    "rerun_improvement": [("pure", shift("method", "lp-SVDD", -60.0))],
    "rerun_friedman": [("pure", flat)],
    "rerun_not_second": [
        ("negatives", shift("method", "l1-SVDD-", 60.0)),
        ("negatives", shift("method", "lp-SVDD-", 90.0)),
    ],
    "who_uses_negatives": [("negatives", shift("method", "lp-SVDD-", 60.0))],
}
"""Changed tables with which a check must come to another verdict than the ledger's."""


def _claim(check: str):
    return next(claim for claim in LEDGER if claim.check == check)


@pytest.mark.parametrize("name", sorted(OTHER_ARGUMENTS))
def test_other_arguments_other_verdict(name):
    claim = _claim(name)
    arguments = {**claim.arguments, **OTHER_ARGUMENTS[name]}
    assert CHECKS[name](**arguments).verdict != claim.verdict


@pytest.mark.parametrize("name", sorted(OTHER_TABLES))
def test_other_tables_other_verdict(name, changed):
    claim = _claim(name)
    for table, change in OTHER_TABLES[name]:
        changed(table, change)
    assert CHECKS[name](**claim.arguments).verdict != claim.verdict


def _smaller_catalogue(monkeypatch):
    monkeypatch.setattr(consistency, "SIZES", {"D1": consistency.SIZES["D1"]})


def _figure_as_described(monkeypatch):
    shape = (figure.DRAWS, len(figure.FIGURE_EXPONENTS), len(figure.FIGURE_COSTS))
    step = np.arange(shape[1])[None, :, None]
    covered, inside = np.broadcast_to(step > 0, shape), np.broadcast_to(step / 10, shape)
    monkeypatch.setattr(figure, "figure_statistics", lambda: (covered * 1.0, inside))


def _correct_print(monkeypatch):
    corrected = printed.printed_matrix("negatives", corrected=True)
    monkeypatch.setattr(printed, "printed_matrix", lambda *a, **k: corrected)


def _losing_lp(monkeypatch):
    table = printed.printed_matrix("pure").assign(**{"lp-SVDD": 0.0})
    monkeypatch.setattr(printed, "printed_matrix", lambda *a, **k: table)


OTHER_INPUTS = {
    "dataset_counts": _smaller_catalogue,
    "distinct_tables": _smaller_catalogue,
    "misprinted_value": _correct_print,
    "printed_wins": _losing_lp,
    "printed_p_value": _losing_lp,
    "hole_at_p_1": _figure_as_described,
    "mean_covered_above_1": _figure_as_described,
    "share_inside_grows": _figure_as_described,
}
"""Inputs that are neither arguments nor tables of results."""


@pytest.mark.parametrize("name", sorted(OTHER_INPUTS))
def test_other_inputs_other_verdict(name, monkeypatch):
    claim = _claim(name)
    OTHER_INPUTS[name](monkeypatch)
    assert CHECKS[name](**claim.arguments).verdict != claim.verdict


def test_an_extension_counts_as_measured_once_it_has_a_table(changed, tmp_path):
    claim = _claim("not_built")
    changed("pure", lambda table: None)
    (tmp_path / "results" / "deep.csv").write_text("x\n")
    assert CHECKS["not_built"](**claim.arguments).verdict != claim.verdict


def test_readings_that_change_nothing_hold(changed):
    def same(table: pd.DataFrame) -> None:
        table["auc"] = table["trial"] + 50.0

    for name in ("radius_pure", "radius_negatives"):
        changed(name, same)
    assert CHECKS["reading_changes"](reading="nonnegative").verdict == "holds"


def test_every_check_has_an_input_that_breaks_it():
    broken = {*OTHER_ARGUMENTS, *OTHER_TABLES, *OTHER_INPUTS, "not_built", "reading_changes"}
    assert broken == set(load_checks())


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


def test_the_limits_of_the_verdicts_on_controls(monkeypatch):
    """Each verdict just above and just below the number at which it changes."""
    stated = float(studies.gain_from_negatives().facts["stated"].replace("−", "-"))

    def verdict(check, table, rows):
        for module in (studies, exponent):
            monkeypatch.setattr(module, "stored", {table: rows}.get)
        return check().verdict

    paper = {"lp, paper's grid": 10, "l1, paper's grid": 0, "l1, paper's grid and mean": 0}
    paper |= {"lp, cells feasible for l1": 0, "p = 1, 4 shares": 0, "kernel mean": 0}

    def left_over_the_same_range(points):
        # lp leads l1 by 10 points on the paper's grid; half of that has to be left
        rows = contest(paper | {exponent.LP: points, exponent.label(1.0): 0})
        return verdict(exponent.slack_norm_or_grid, "common_range", rows)

    limits = {5.1: "holds", 4.9: "holds partly", 0.5: "holds partly", 0.05: "not reproduced"}
    assert {points: left_over_the_same_range(points) for points in limits} == limits

    fixed = {exponent.label(p): 0.0 for p in (1.0, *EXPONENTS)}

    def tuned(over_all, over_best):
        best = {exponent.label(2.0): over_all - over_best}
        rows = contest({exponent.LP: over_all} | fixed | best)
        return verdict(exponent.tuned_exponent, "common_range", rows)

    assert tuned(1.0, 1.0) == "holds"
    assert tuned(1.0, 0.05) == "holds partly"
    assert tuned(0.05, 0.05) == "not reproduced"

    def validated(over_half, over_quarter):
        name = "lp, paper's grid, validation {}"
        leads = {
            name.format(1): 0.0,
            name.format(0.5): -over_half,
            name.format(0.25): -over_quarter,
        }
        return verdict(exponent.larger_validation_set, "validation_size", contest(leads))

    assert validated(1.0, 2.0) == "holds"
    assert validated(0.02, 2.0) == "not reproduced"  # equivalent

    others = {"kernel mean difference": 0, "two-class SVM": 0, "lp without negatives": 0}

    def gained(points):
        rows = contest(others | {"lp with negatives": points})
        return verdict(studies.gain_from_negatives, "negative_contest", rows)

    # the printed gain is known to a tenth here
    limits = {stated / 2 + 0.1: "holds", stated / 2 - 0.1: "holds partly", 0.05: "not reproduced"}
    assert {points: gained(points) for points in limits} == limits

    def with_weight(shares):
        rows = pd.DataFrame({"dataset": ["D1", "D2"], "grid": "paper", "with_weight": shares})
        return verdict(studies.weight_of_negatives, "negative_weight", rows.assign(cells=100))

    limits = {(51, 90): "holds", (50, 90): "holds partly", (0, 0): "not reproduced"}
    assert {shares: with_weight(shares) for shares in limits} == limits


def test_a_stated_improvement_must_lie_in_the_interval_over_splits(monkeypatch):
    """lp is 9 to 11 points above l1 and 4 to 6 above l2 on ten splits of D1."""
    splits = np.tile([-1.0, -0.5, 0.0, 0.5, 1.0], 2)
    matrix = {"l1-SVDD": 60 - splits, "l2-SVDD": 65 - splits, "lp-SVDD": np.full(10, 70.0)}
    rows = pd.DataFrame(matrix).rename_axis("trial").reset_index().assign(dataset="D1")
    rows = rows.melt(["dataset", "trial"], var_name="method", value_name="auc")
    monkeypatch.setattr(reproduction, "stored_table", lambda name: rows)

    def verdict(points, *over):
        return reproduction.rerun_improvement("D1", points, list(over)).verdict

    assert verdict(10.2, "l1-SVDD") == "holds"
    assert verdict(3.0, "l1-SVDD") == "holds"  # more than stated
    assert verdict(10.6, "l1-SVDD") == "not reproduced"
    assert verdict(10.0, "l1-SVDD", "l2-SVDD") == "holds partly"
    assert verdict(5.0, "l1-SVDD", "l2-SVDD") == "holds"


def test_every_set_the_average_or_neither(monkeypatch):
    """lp is above on all sets, on average only, or not even that."""
    printed = pd.DataFrame({"lp-SVDD": [1.0], "l1-SVDD": [0.0]})
    monkeypatch.setattr(reproduction, "printed_matrix", lambda setting: printed)

    def verdict(lead):
        rows = contest({"lp-SVDD": lead, "l1-SVDD": 0})
        monkeypatch.setattr(reproduction, "stored_table", lambda name: rows)
        return reproduction.rerun_wins("pure", "l1-SVDD").verdict

    limits = {3.0: "holds", 0.4: "holds partly", 0.05: "not reproduced"}
    assert {lead: verdict(lead) for lead in limits} == limits


def test_all_sets_but_one_are_not_all_sets(monkeypatch):
    rows = contest({"lp-SVDD": 3.0, "l1-SVDD": 0})
    monkeypatch.setattr(reproduction, "stored_table", lambda name: rows)
    assert reproduction.rerun_wins("pure", "l1-SVDD").verdict == "holds"
    rows.loc[(rows["dataset"] == "D4") & (rows["method"] == "lp-SVDD"), "auc"] = 59.0
    found = reproduction.rerun_wins("pure", "l1-SVDD")
    assert (found.verdict, found.facts["lost"], found.facts["wins"]) == ("holds partly", "D4", 9)


def test_a_place_is_judged_by_its_probability(monkeypatch):
    def verdict(chance):
        places = pd.DataFrame({1: {"lp-SVDD": chance}, 2: {"lp-SVDD": 1 - chance}})
        monkeypatch.setattr(reproduction, "_places", lambda setting: places)
        return reproduction.rerun_place("pure", "lp-SVDD", 1).verdict

    limits = {0.96: "holds", 0.94: "holds partly", 0.06: "holds partly", 0.04: "not reproduced"}
    assert {chance: verdict(chance) for chance in limits} == limits


def test_the_limits_of_the_verdicts_on_the_bound(monkeypatch):
    """Coverage of 95 % is asked for, and p = 1 has to be the best in most simulations."""

    def verdict(check, column, value):
        def changed(name):
            return stored(name).assign(**{column: value})

        monkeypatch.setattr(studies, "stored", changed)
        return check().verdict

    coverage = {0.95: "holds partly", 0.94: "not reproduced"}
    for value, wanted in coverage.items():
        assert verdict(studies.bound_coverage, "coverage_paper", value) == wanted
    for value, wanted in {0.51: "holds partly", 0.49: "holds"}.items():
        assert verdict(studies.bound_at_one, "best_paper", value) == wanted


@pytest.mark.parametrize("fails", ["p_value", "iman_davenport_p"])
def test_both_tests_of_equal_ranks_must_reject(monkeypatch, fails):
    sure = SimpleNamespace(p_value=1e-6, iman_davenport_p=1e-6)
    monkeypatch.setattr(reproduction, "friedman", lambda means: sure)
    assert reproduction.rerun_friedman("pure").verdict == "holds"
    setattr(sure, fails, 0.01)
    assert reproduction.rerun_friedman("pure").verdict == "not reproduced"


def test_an_order_counts_from_the_critical_difference_on(monkeypatch):
    """Three methods on ten sets: average ranks must differ by more than 1.05, and surely."""

    def verdict(values, lost=0):
        """The values of a, b and c on every set, but for some on which they are reversed."""
        places = [values] * (10 - lost) + [values[::-1]] * lost
        rows = pd.DataFrame(
            {"dataset": f"X{i}", "trial": 0, "method": name, "auc": value}
            for i, line in enumerate(places)
            for name, value in zip("abc", line, strict=True)
        )
        monkeypatch.setattr(reproduction, "stored_table", lambda name: rows)
        return reproduction.rerun_order("pure", "a", "c").verdict

    assert verdict((3, 2, 1)) == "holds"
    assert verdict((2, 3, 1)) == "holds partly"  # always, and one rank apart
    assert verdict((3, 2, 1), lost=5) == "not reproduced"


def test_joint_form_effect_is_half_the_cost():
    """Solve the printed joint dual by CVXPY: its multipliers are those of the costs c/2."""
    from lpsvdd.reference import solve_joint
    from lpsvdd.solver import solve

    K, y = mathematics.example(n=20, negatives=5)
    joint = certified(solve_joint, K, y, 2.0, 0.2, judged_at=0.1, factor="printed")
    np.testing.assert_allclose(joint.alpha, solve(K, y, p=2.0, c=0.1).alpha, atol=1e-5)
    assert np.abs(joint.alpha - solve(K, y, p=2.0, c=0.2).alpha).max() > 1e-3


def test_command_line_lists_checks_and_fails_on_an_unknown_id(monkeypatch):
    from replication.cli import build

    monkeypatch.chdir(ROOT)
    runner = CliRunner()
    listed = runner.invoke(build(), ["claims"])
    assert listed.exit_code == 0 and all(claim.id in listed.output for claim in LEDGER)
    checked = runner.invoke(build(), ["claims", "--check", "--only", "table-4-value"])
    assert checked.exit_code == 0 and "85.86" in checked.output
    assert runner.invoke(build(), ["claims", "--only", "nothing"]).exit_code == 1


def test_command_line_fails_when_a_verdict_no_longer_follows(tmp_path, monkeypatch):
    from replication.cli import build

    entries = yaml.safe_load((ROOT / "claims.yml").read_text(encoding="utf-8"))
    entry = next(item for item in entries if item["id"] == "table-2-bold")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "claims.yml").write_text(yaml.safe_dump([{**entry, "verdict": "holds"}]))
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(build(), ["claims", "--check"])
    assert result.exit_code == 1
    assert "LEDGER SAYS holds" in result.output
