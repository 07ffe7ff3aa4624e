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
        monkeypatch.setattr(studies, "stored", {table: rows}.get)
        return check().verdict

    def left_on_the_nu_grid(points):
        # lp leads l1 by 10 points on the paper's grid; half of that has to be left
        leads = {"lp, paper's grid": 10, "l1, paper's grid": 0, "l1, nu grid": 10 - points}
        rows = contest(leads | {"kernel mean": 0})
        return verdict(studies.slack_norm_or_grid, "fair_grid", rows)

    limits = {5.1: "holds", 4.9: "holds partly", 0.5: "holds partly", 0.05: "not reproduced"}
    assert {points: left_on_the_nu_grid(points) for points in limits} == limits

    def tuned(points):
        rows = contest({"p tuned": points, "p = 2": 0})
        return verdict(studies.tuned_exponent, "choice_of_p", rows)

    limits = {0.5: "holds", 0.05: "holds partly", -0.05: "not reproduced"}
    assert {points: tuned(points) for points in limits} == limits

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


def test_an_order_counts_from_the_critical_difference_on(monkeypatch):
    """Three methods on ten sets: average ranks must differ by more than 1.05."""

    def verdict(lost):
        """a is first and c last, but for some sets on which they change places."""
        places = [{"a": 3, "b": 2, "c": 1}] * (10 - lost) + [{"a": 1, "b": 2, "c": 3}] * lost
        rows = pd.DataFrame(
            {"dataset": f"D{i}", "trial": 0, "method": name, "auc": value}
            for i, values in enumerate(places)
            for name, value in values.items()
        )
        monkeypatch.setattr(reproduction, "stored_table", lambda name: rows)
        return reproduction.rerun_order("pure", "a", "c").verdict

    limits = {2: "holds", 3: "holds partly", 5: "not reproduced"}  # 1.2, 0.8 and 0 ranks apart
    assert {lost: verdict(lost) for lost in limits} == limits


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
