"""The claims ledger: well-formed, recomputable, and able to fail."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from replication import findings, printed
from replication.claims import (
    FROZEN,
    THEMES,
    LedgerError,
    evidence_titles,
    judge,
    markdown_cards,
    of_substance,
    read_ledger,
    says,
    typeset,
)  # fmt: skip
from replication.findings import (
    VERDICTS,
    all_findings,
    bound,
    boundaries,
    read,
    rerun_claims,
)
from replication.findings import printed as consistency
from replication.store import ResultsError

ROOT = Path(__file__).resolve().parents[2]
PLAIN_LEFT = re.compile(r"[\^_√Σ½²₁₂κγζαηΔ]")  # must not be left outside a formula
LEDGER = read_ledger(ROOT / "replication" / "claims.yml")
FINDINGS = all_findings()


RECOMPUTED = [claim for claim in LEDGER if claim.finding]
MODULES = {c.finding: FINDINGS[c.finding].__module__.split(".")[-1] for c in RECOMPUTED}


@pytest.mark.parametrize("module", sorted(set(MODULES.values())))
def test_verdicts_follow_from_their_findings(module):
    """Module by module: what several claims rest on is computed once."""
    for claim in RECOMPUTED:
        if MODULES[claim.finding] == module:
            found = judge(claim)
            assert found.verdict == claim.verdict, claim.id
            text = says(claim, found)
            assert "{" not in text and "nan" not in text.lower().split(), claim.id
            assert not re.search(r"\(none\)|\b1 (sets|splits|columns)\b|\b0 of\b", text), text


def test_the_ledger_is_complete_and_grouped():
    assert len(LEDGER) >= 72
    assert {claim.theme for claim in LEDGER} == set(THEMES)
    assert {claim.verdict for claim in LEDGER} <= set(VERDICTS)
    assert sum(claim.weight == 3 for claim in of_substance(LEDGER)) == 10
    assert all(claim.weight == 1 for claim in LEDGER if claim not in of_substance(LEDGER))


def test_frozen_claim_with_altered_table_is_refused(tmp_path, monkeypatch):
    claim = next(claim for claim in LEDGER if not claim.finding)
    assert judge(claim).verdict == claim.verdict
    shutil.copytree(ROOT / "results" / "frozen", tmp_path / "frozen")
    monkeypatch.setenv("LPSVDD_RESULTS", str(tmp_path))
    table = tmp_path / "frozen" / f"{claim.evidence.partition('#')[2]}.csv"
    table.write_text(table.read_text() + "\n")
    with pytest.raises(ResultsError, match="is not the file"):
        judge(claim)


def test_frozen_claim_names_a_table_of_the_frozen_list():
    listed = (ROOT / "results" / "frozen" / "README.md").read_text(encoding="utf-8")
    frozen = [claim for claim in LEDGER if not claim.finding]
    assert frozen
    for claim in frozen:
        assert f"| `{claim.evidence.removeprefix(FROZEN)}.csv` |" in listed, claim.id
        assert "{{" not in claim.says, claim.id


def test_evidence_points_at_a_figure_or_section_of_the_page_it_names():
    for claim in RECOMPUTED:
        page, _, label = claim.evidence.partition("#")
        source = ROOT / page if page.startswith("notebooks/") else ROOT / "book" / page
        text = source.read_text(encoding="utf-8")
        assert f'"name": "{label}"' in text or f"({label})=" in text, (
            f"{claim.id}: {claim.evidence}"
        )
        title = evidence_titles(ROOT)[label]
        assert title and "{" not in title, f"{claim.id}: nothing says what {label} shows"


def test_every_claim_has_a_box_and_a_mismatch_is_shown():
    chosen = [claim for claim in LEDGER if claim.id in {"table-1-twins", "slack-norm"}]
    text = markdown_cards(chosen, ROOT)
    assert text.count(":::{div} claim verdict-") == len(chosen) == 2
    assert text.index("**The ten that matter**") < text.index("**The data and the printed rows**")
    assert "weight 3*" in text and "weight 1*" in text
    assert "ledger:" not in text
    # what compares print with print is a line of a table at the end, and is not counted
    lines = [claim for claim in LEDGER if claim.id in {"table-2-bold", "table-4-labels"}]
    table = markdown_cards([*lines, *chosen], ROOT)
    assert table.count(":::{div} claim verdict-") == 2 and table.count("| erratum |") == 2
    assert table.index("**Print against print**") > table.index("**The data")
    assert of_substance([*lines, *chosen]) == chosen
    assert "ledger: holds" in markdown_cards([replace(lines[0], verdict="holds")], ROOT)
    wrong = [replace(chosen[0], verdict="holds")]
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
        for text in (claim.claim, re.sub(r"{{[^}]*}}", "", claim.says)):
            rest = re.sub(r"\$[^$]*\$", "", typeset(text))
            assert not PLAIN_LEFT.search(rest), f"{claim.id}: {rest}"


def test_malformed_ledgers_are_refused(tmp_path):
    entry = yaml.safe_load((ROOT / "replication" / "claims.yml").read_text(encoding="utf-8"))[0]
    path = tmp_path / "claims.yml"
    for entries, message in (
        ([entry | {"verdict": "maybe"}], "is none of"),
        ([entry | {"theme": "Sport"}], "is none of"),
        ([entry | {"finding": "no_such_finding"}], "no finding"),
        ([entry | {"surprise": 1}], "surprise"),
        ([entry, entry], "share an id"),
    ):
        path.write_text(yaml.safe_dump(entries), encoding="utf-8")
        with pytest.raises(LedgerError, match=message):
            read_ledger(path)


@pytest.fixture
def changed(monkeypatch):
    """Changes stored tables, one after another; findings read the changed ones."""
    tables: dict[str, pd.DataFrame] = {}

    def apply(name: str, change) -> None:
        table = (tables[name] if name in tables else read(name)).copy()
        change(table)
        tables[name] = table

    def changed_or_stored(name: str) -> pd.DataFrame:
        return tables[name] if name in tables else read(name)

    for module in (findings, rerun_claims, consistency):
        monkeypatch.setattr(module, "read", changed_or_stored)
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


def sparse_lp(table: pd.DataFrame) -> None:
    """One point in a hundred is a support vector of lp."""
    table.loc[table["method"] == "lp-SVDD", "support"] = 0.01


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
    "event_of_theorem_2": {"margin": 0.0},
    "loss_of_low_confidence": {"offset": 0.1},
    "norm_of_centre": {"outlier": (0.0, -0.9)},
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
    "process_with_outliers": {"label": 1.0, "noise": 1e6},
    "target_class": {"stated": "setosa", "near": 1e6},
    "bound_at_one": {"n": 10.0},
}
"""Arguments with which a finding must come to another verdict than the ledger's."""

OTHER_TABLES = {
    "lead": [("common_range", shift("method", "lp, 40", 30.0))],
    "tuned": [("common_range", shift("method", "lp, 40", 30.0))],
    "other_norms": [("common_range", shift("method", "p = 2,", 30.0))],
    "l2_beaten": [("common_range", shift("method", "p = 2,", -90.0))],
    "weights_in_range": [("common_range", shift("method", "lp, 40", 60.0))],
    "relabelling": [("relabelling", fill("left", 9.0))],
    "sparsity": [("decisions", sparse_lp)],
    "decisions": [("decisions", fill("empty", False))],
    "weight": [("negative_weight", fill("with_weight", 0))],
    "outlier_gain": [("negative_contest", shift("method", "lp with negatives", 60.0))],
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
    "who_uses_outliers": [("negatives", shift("method", "lp-SVDD-", 60.0))],
}
"""Changed tables with which a finding must come to another verdict than the ledger's."""


def _claim(name: str):
    return next(claim for claim in LEDGER if claim.finding == name)


PARTS_OF_LEMMAS = {
    "rademacher_of_linear_class": {"constant": 1.0},
    "uniform_deviation": {"complexity": 0.0, "spread": 0.0},
    "contraction": {"factor": 0.1},
}


@pytest.mark.parametrize("name", sorted(PARTS_OF_LEMMAS))
def test_every_part_of_the_lemmas_can_fail(name):
    part = getattr(bound, name)
    assert part().verdict == "holds"
    assert part(**PARTS_OF_LEMMAS[name]).verdict == "not reproduced"


@pytest.mark.parametrize("name", sorted(OTHER_ARGUMENTS))
def test_other_arguments_other_verdict(name):
    claim = _claim(name)
    arguments = {**claim.arguments, **OTHER_ARGUMENTS[name]}
    assert FINDINGS[name](**arguments).verdict != claim.verdict


@pytest.mark.parametrize("name", sorted(OTHER_TABLES))
def test_other_tables_other_verdict(name, changed):
    claim = _claim(name)
    for table, change in OTHER_TABLES[name]:
        changed(table, change)
    assert FINDINGS[name](**claim.arguments).verdict != claim.verdict


def _smaller_catalogue(monkeypatch):
    monkeypatch.setattr(consistency, "SIZES", {"D1": consistency.SIZES["D1"]})


def _figure_as_described(monkeypatch):
    shape = (boundaries.DRAWS, len(boundaries.FIGURE_EXPONENTS), len(boundaries.FIGURE_COSTS))
    step = np.arange(shape[1])[None, :, None]
    covered, inside = np.broadcast_to(step > 0, shape), np.broadcast_to(step / 10, shape)
    monkeypatch.setattr(boundaries, "figure_shares", lambda: (inside, covered * 1.0))


def _correct_print(monkeypatch):
    corrected = printed.printed_matrix("negatives", corrected=True)
    monkeypatch.setattr(printed, "printed_matrix", lambda *a, **k: corrected)


def _losing_lp(monkeypatch):
    table = printed.printed_matrix("pure").assign(**{"lp-SVDD": 0.0})
    monkeypatch.setattr(printed, "printed_matrix", lambda *a, **k: table)


def _lemmas_that_fail(monkeypatch):
    monkeypatch.setattr(bound, "rademacher", lambda *a, **k: 1e9)


OTHER_INPUTS = {
    "textbook_lemmas": _lemmas_that_fail,
    "dataset_counts": _smaller_catalogue,
    "distinct_tables": _smaller_catalogue,
    "misprinted_value": _correct_print,
    "printed_wins": _losing_lp,
    "printed_p_value": _losing_lp,
    "hole_at_1": _figure_as_described,
    "mean_covered": _figure_as_described,
    "share_inside": _figure_as_described,
}
"""Inputs that are neither arguments nor tables of results."""


@pytest.mark.parametrize("name", sorted(OTHER_INPUTS))
def test_other_inputs_other_verdict(name, monkeypatch):
    claim = _claim(name)
    OTHER_INPUTS[name](monkeypatch)
    assert FINDINGS[name](**claim.arguments).verdict != claim.verdict


def test_readings_that_change_nothing_hold(changed):
    def same(table: pd.DataFrame) -> None:
        table["auc"] = table["trial"] + 50.0

    for name in ("radius_pure", "radius_negatives"):
        changed(name, same)
    assert FINDINGS["reading"](reading="nonnegative").verdict == "holds"


def test_every_finding_behind_a_claim_has_an_input_that_breaks_it():
    broken = {*OTHER_ARGUMENTS, *OTHER_TABLES, *OTHER_INPUTS, "reading"}
    assert broken == {claim.finding for claim in RECOMPUTED}


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

    entries = yaml.safe_load((ROOT / "replication" / "claims.yml").read_text(encoding="utf-8"))
    entry = next(item for item in entries if item["id"] == "table-2-bold")
    (tmp_path / "notebooks").mkdir()
    ledger = tmp_path / "replication" / "claims.yml"
    ledger.parent.mkdir()
    ledger.write_text(yaml.safe_dump([{**entry, "verdict": "holds"}]))
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(build(), ["claims", "--check"])
    assert result.exit_code == 1
    assert "LEDGER SAYS holds" in result.output
