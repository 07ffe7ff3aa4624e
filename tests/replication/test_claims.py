"""The claims ledger: well-formed, recomputable, and able to fail."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from outside import certified
from typer.testing import CliRunner

from replication.claims import (
    CHECKS,
    VERDICTS,
    LedgerError,
    bound,
    consistency,
    judge,
    markdown_table,
    mathematics,
    read_ledger,
    reproduction,
    studies,
)
from replication.claims.ledger import finding, load_checks

ROOT = Path(__file__).resolve().parents[2]
LEDGER = read_ledger(ROOT / "claims.yml")


@pytest.mark.parametrize("claim", LEDGER, ids=lambda claim: claim.id)
def test_verdict_follows_from_its_check(claim):
    outcome = judge(claim)
    assert outcome.verdict == claim.verdict
    text = finding(claim, outcome)
    assert "{" not in text and "nan" not in text.lower().split()


def test_every_check_is_used_and_every_verdict_kind_is_known():
    load_checks()
    assert {claim.check for claim in LEDGER} == set(CHECKS)
    assert {claim.verdict for claim in LEDGER} <= set(VERDICTS)


def test_evidence_points_at_a_source_of_the_book():
    for claim in LEDGER:
        page = claim.evidence.split("#")[0]
        source = ROOT / page if page.startswith("notebooks/") else ROOT / "book" / page
        assert source.is_file(), f"{claim.id}: {page}"


def test_table_has_one_line_per_claim_and_shows_a_mismatch():
    chosen = [claim for claim in LEDGER if claim.id in {"table-2-bold", "table-4-labels"}]
    lines = markdown_table(chosen).splitlines()
    assert len(lines) == 2 + len(chosen)
    assert "ledger:" not in markdown_table(chosen)
    wrong = [type(chosen[0])(**{**vars(chosen[0]), "verdict": "holds"})]
    assert "ledger: holds" in markdown_table(wrong)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "maybe"}, "is none of"),
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


def test_checks_can_come_to_the_other_verdict(monkeypatch):
    """With corrected inputs the errata vanish, so the checks do look at their inputs."""
    assert consistency.bold_is_best("D17", "lp-SVDD").verdict == "holds"
    assert consistency.row_labels(["D4", "D5"], "D4", "D5").verdict == "holds"
    assert consistency.printed_improvement("D17", 10, "l1-SVDD").verdict == "erratum"
    assert bound.squared_in_theorem_5(kappa=1.0).verdict == "holds"
    assert mathematics.strong_duality(tolerance=0.0).verdict == "not reproduced"
    monkeypatch.setattr(mathematics, "SAMPLE_COSTS", (0.1,))
    assert mathematics.strong_duality().facts["cases"] == len(mathematics.SAMPLE_EXPONENTS)


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


def test_checks_of_the_rerun_follow_the_table(changed):
    """An lp-SVDD that is always right wins everywhere; one that is always wrong nowhere."""

    def perfect(table: pd.DataFrame, value: float = 101.0) -> None:
        table.loc[table["method"].str.startswith("lp-SVDD"), "auc"] = value

    changed("pure", perfect)
    assert reproduction.rerun_wins("pure", "l1-SVDD").verdict == "holds"
    assert reproduction.rerun_place("pure", "lp-SVDD", 1).verdict == "holds"
    assert reproduction.rerun_against("pure", ["GP", "KPCA"]).verdict == "holds"
    assert reproduction.rerun_improvement("D1", 13, ["l1-SVDD", "l2-SVDD"]).verdict == "holds"
    changed("pure", lambda table: perfect(table, -1.0))
    assert reproduction.rerun_wins("pure", "l2-SVDD").verdict == "not reproduced"
    assert reproduction.rerun_order("pure", "lp-SVDD", "l1-SVDD").verdict == "not reproduced"


def test_checks_of_the_controls_follow_their_tables(changed):
    def better(contestant: str, points: float):
        def change(table: pd.DataFrame) -> None:
            table.loc[table["contestant"] == contestant, "auc"] += points

        return change

    changed("fair_grid", better("l1, nu grid", -30.0))
    assert studies.slack_norm_or_grid().verdict == "holds"
    changed("fair_grid", better("l1, nu grid", 60.0))
    assert studies.slack_norm_or_grid().verdict == "not reproduced"
    changed("choice_of_p", better("p tuned", -50.0))
    assert studies.tuned_exponent().verdict == "not reproduced"
    changed("choice_of_p", better("p tuned", 100.0))
    assert studies.larger_validation_set().verdict == "not reproduced"
    changed("negative_weight", lambda table: table.__setitem__("with_weight", table["cells"]))
    assert studies.weight_of_negatives().verdict == "holds"
    assert studies.target_class("D1", "virginica", near=1e6).verdict == "undecidable"
    assert studies.target_class("D1", "setosa", near=1e6).verdict == "holds"
    changed("negative_contest", better("lp with negatives", -2.0))
    assert studies.gain_from_negatives().verdict == "not reproduced"
    changed("negative_contest", better("lp with negatives", 60.0))
    assert studies.gain_from_negatives().verdict == "holds"
    changed("cvxpy_grid", lambda table: table.__setitem__("gap", 0.0))
    assert studies.general_solvers().verdict == "holds"
    changed("cvxpy_grid", lambda table: table.__setitem__("gap", 1.0))
    assert studies.general_solvers().verdict == "not reproduced"
    changed("bound_coverage", lambda table: table.__setitem__("coverage_paper", 0.5))
    assert studies.bound_coverage().verdict == "not reproduced"
    changed("bound_samplesize", lambda table: table.__setitem__("n", 10**9))
    assert studies.bound_sample_size().verdict == "not reproduced"
    assert studies.bound_at_one(n=10.0).verdict == "not reproduced"


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
