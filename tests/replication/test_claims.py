"""The claims of the paper: every verdict follows from its numbers, and can fail."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from replication import claims, printed
from replication.claims import LEDGER, LedgerError, read_ledger
from replication.findings import bound, boundaries, mathematics, read
from replication.findings import printed as own_tables

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = {entry.id: entry for entry in read_ledger()}
COUNTED = [e.id for e in ENTRIES.values() if e.number]


@pytest.mark.parametrize("section", ["argument", "others", "against_itself", "errata"])
def test_every_verdict_follows_from_the_stored_tables_and_is_said(section):
    assert claims.failures(claims.of_section(section)) == []
    for entry in claims.of_section(section):
        text = claims.says(entry)
        assert not re.search(r"[{}\[]['\"]|\bnan\b|\(none\)", text), f"{entry.id}: {text}"
        assert not re.search(r"(?<![\w–])-\d|e-\d", text), f"a hyphen for a minus: {text}"


def test_ten_claims_carry_the_argument_and_each_has_a_figure_or_section():
    assert len(claims.of_section("argument")) == 10
    assert all(entry.number and entry.see for entry in claims.of_section("argument"))
    assert sum(claims.counts().values()) == 10 + len(claims.of_section("others"))
    for entry in ENTRIES.values():
        page, _, label = entry.see.partition("#")
        if page:
            source = ROOT / ("" if page.startswith("notebooks/") else "book") / page
            text = source.read_text(encoding="utf-8")
            found = f'"name": "{label}"' in text or f"({label})=" in text
            assert found, f"{entry.id}: {entry.see}"


def test_page_shows_every_claim_and_the_bar_its_counts():
    page = claims.page()
    for entry in ENTRIES.values():
        assert entry.section == "errata" or entry.claim.replace("|", "\\|") in page, entry.id
    assert page.count(":::{div} claim verdict-") == 10
    assert claims.bar() in page and "12 holds" in claims.bar()
    assert "| where | printed | correct | why |" in claims.errata_page()
    assert len(claims.errata()) == claims.errata_page().count("\n") - 1


# -- what is refused ------------------------------------------------------------------------------


def changed_ledger(tmp_path, **changes) -> Path:
    """A ledger of one claim, with some of its fields replaced."""
    entry = yaml.safe_load(LEDGER.read_text(encoding="utf-8"))["argument"][0] | changes
    path = tmp_path / "claims.yml"
    path.write_text(yaml.safe_dump({"argument": [entry], "others": {}}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"verdict": "maybe"}, "is none of"),
        ({"surprise": 1}, "surprise"),
        ({"rule": ""}, "a number needs a rule"),
        ({"rule": "", "number": "", "see": ""}, "give number and rule"),
    ],
)
def test_ledger_malformed_is_refused(tmp_path, changes, message):
    with pytest.raises(LedgerError, match=message):
        read_ledger(changed_ledger(tmp_path, **changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"number": "same_range.nothing(pure)"}, "there is no finding"),
        ({"number": "same_range.lead"}, "is not of the form"),
        ({"rule": "lead.low > nothing"}, "cannot be evaluated"),
        ({"says": "{nothing}"}, "cannot be filled"),
    ],
)
def test_entry_that_names_what_does_not_exist_is_refused(tmp_path, changes, message):
    (entry,) = read_ledger(changed_ledger(tmp_path, **changes))
    with pytest.raises(LedgerError, match=message):
        claims.follows(entry)
        claims.says(entry)


def test_frozen_table_altered_breaks_its_claim(tmp_path, monkeypatch):
    frozen = [entry for entry in ENTRIES.values() if entry.frozen]
    listed = (ROOT / "results" / "frozen" / "README.md").read_text(encoding="utf-8")
    assert frozen and all(f"| `{entry.frozen}.csv` |" in listed for entry in frozen)
    shutil.copytree(ROOT / "results" / "frozen", tmp_path / "frozen")
    monkeypatch.setenv("LPSVDD_RESULTS", str(tmp_path))
    assert claims.failures(frozen) == []
    for entry in frozen:
        with (tmp_path / "frozen" / f"{entry.frozen}.csv").open("a") as table:
            table.write("\n")
    assert len(claims.failures(frozen)) == len(frozen)


def test_command_line_fails_on_a_verdict_that_no_longer_follows(monkeypatch, tmp_path):
    from replication.cli import build

    run = CliRunner().invoke
    listed = run(build(), ["claims"])
    assert listed.exit_code == 0 and all(name in listed.output for name in ENTRIES)
    assert run(build(), ["claims", "--only", "nothing"]).exit_code == 1
    good = run(build(), ["claims", "--check", "--only", "table-4-value"])
    assert good.exit_code == 0 and "85.86" in good.output
    wrong = read_ledger(changed_ledger(tmp_path, verdict="holds", rule="lead.low > 100"))
    monkeypatch.setattr(claims, "read_ledger", lambda: wrong)
    bad = run(build(), ["claims", "--check"])
    assert bad.exit_code == 1 and "no longer follows" in bad.output


# -- every verdict can fail -----------------------------------------------------------------------


def moved(**points: float):
    """Add points to the AUC of the methods whose name starts so ("_" is any character)."""

    def change(table: pd.DataFrame) -> None:
        for start, value in points.items():
            table.loc[table["method"].str.match(start.replace("_", ".")), "auc"] += value

    return change


def filled(**values):
    """Set whole columns."""
    return lambda table: table.__setitem__(list(values), list(values.values()))


def flat(table: pd.DataFrame) -> None:
    """Every method alike."""
    table["auc"] = 70.0 + table["trial"] % 3


def sparse(table: pd.DataFrame) -> None:
    """One point in a hundred is a support vector of lp."""
    table.loc[table["method"] == "lp-SVDD", "support"] = 0.01


def as_printed(dataset: str, variant: str):
    """The rerun with this target class is the printed row."""

    def change(table: pd.DataFrame) -> None:
        chosen = (table["dataset"] == dataset) & (table["variant"] == variant)
        row = printed.printed_matrix("pure").loc[dataset]
        table.loc[chosen, "auc"] = table.loc[chosen, "method"].map(row)

    return change


LEADS, LOSES = {"pure": moved(lp=60)}, {"pure": moved(lp=-60)}
LEADS_WITH = {"negatives": moved(lp=60)}
ROWS = {  # tables, changed, with which the verdict does not follow
    **dict.fromkeys(("slack-norm", "tuned-p"), {"common_range": moved(lp__40=30)}),
    "sparsity": {"decisions": sparse},
    "decision-rule": {"decisions": filled(empty=False)},
    **dict.fromkeys(("pure-l1", "pure-first", "pure-l2", "pure-weights", "pure-others"), LEADS),
    **dict.fromkeys(("pure-d17", "pure-d14", "pure-d1"), LOSES),
    **dict.fromkeys(
        ("negatives-first", "negatives-l1", "negatives-l2", "negatives-weights"), LEADS_WITH
    ),
    "negatives-use": {"negative_contest": moved(lp_with_negatives=60)},
    "bound-valid": {"bound_coverage": filled(coverage_paper=0.5)},
    "l1-not-best": {"common_range": moved(p___2_=30)},
    "l2-not-best": {"common_range": moved(p___2_=-90)},
    "capacity": {"relabelling": filled(left=9.0)},
    "pure-second": {"pure": moved(lp=90, GL=60)},
    "pure-friedman": {"pure": flat},
    "pure-l1-rank": {"pure": moved(lp=-90)},
    "pure-l2-rank": {"pure": moved(l2=-90)},
    "pure-weights-range": {"common_range": moved(lp__40=60)},
    "negatives-second": {"negatives": moved(lp=90, KNFST=60)},
    "negatives-others": {"negatives": moved(lp=90, l1=60)},
    "negatives-friedman": {"negatives": flat},
    "negatives-who": {"labelled_outliers_tables": moved(l1=-60)},
    "negatives-weight": {"frozen/negative_weight": filled(with_weight=0)},
    "radius-rule": {"radius_pure": flat, "radius_negatives": flat},
    "joint-form-tables": {"radius_pure": moved(l2_SVDD__half=20)},
    "general-solvers": {"cvxpy_grid": filled(gap=0.0)},
    "target-d1": {"frozen/targets": as_printed("D1", "virginica")},
    "target-d18": {"frozen/targets": as_printed("D18", "benign")},
}
OTHER_SETTING = {"pure": "negatives", "negatives": "pure"}
NUMBERS = {  # other arguments
    **{
        name: f"printed.recomputed(setting={OTHER_SETTING[own]})"
        for own, names in {
            "pure": ("table-2-all", "table-2-d17", "table-3-second", "table-3-l2"),
            "negatives": ("table-4-all", "table-4-weights", "table-5-second"),
        }.items()
        for name in names
    },
    "bound-informative": "bound.bound_sample_size(largest=50)",
    "negatives-only-knfst": "outliers.process_with_outliers(label=1.0, noise=1.0e+6)",
    "unit-length": "mathematics.unit_length_simplification(kernel=linear)",
    "max-penalty": "mathematics.large_exponent(p=3.0)",
    "distance-bound": "bound.proof_with_outlier(y=-0.9)",
    "lipschitz": "bound.lipschitz_constant(margin=100.0)",
    "bound-p-1": "bound.bound_at_one(bound_terms, n=10.0)",
    "table-1-twins": "printed.same_data_twice(first=D1, second=D7)",
    "weighting-linear": "mathematics.weighted_linearity(exponent=2.0)",
    "joint-form": "mathematics.joint_form(p=20.0)",
    "theorem-5-power": "bound.squared_in_theorem_5(kappa=1.0)",
    "bound-event": "bound.event_of_theorem_2(margin=0.0)",
    "bound-norm": "bound.proof_with_outlier(y=-0.9)",
    "table-2-bold": "printed.bold_is_best(dataset=D17, bold=lp-SVDD)",
    "table-2-spread": "printed.printed_spread(pure, dataset=D20, method=GP)",
    "table-4-labels": "printed.repeated_labels(setting=pure)",
}


def other_cost(change):
    """The solver with another cost than it is given."""
    return lambda K, y=None, *, c, **options: SOLVE(K, y, c=change(c), **options)


def as_described(*_):
    """Shares of the figure as the paper describes them: a larger p covers more."""
    shape = (boundaries.DRAWS, len(boundaries.FIGURE_EXPONENTS), len(boundaries.FIGURE_COSTS))
    step = np.broadcast_to(np.arange(shape[1])[None, :, None], shape)
    return step / 10, (step > 0) * 1.0


def without_lp(*arguments, **options):
    table = MATRIX(*arguments, **options)
    return table.assign(**{next(name for name in table if name.startswith("lp")): 0.0})


SOLVE, MATRIX, LOSS = mathematics.solve, printed.printed_matrix, bound.margin_loss
FIGURE = [(boundaries, "figure_shares", as_described)]
ONE_SET = [(own_tables, "SIZES", {"D1": own_tables.SIZES["D1"]})]
OTHER_P = [(printed, "FRIEDMAN_P", {"pure": 0.01, "negatives": 0.01})]
NO_LEAD = [(printed, "printed_matrix", without_lp)]
PATCHES = {  # other mathematics, data or print
    "dual": [(mathematics, "solve_nonnegative", SOLVE)],
    "dual-negatives": [(mathematics, "solve_nonnegative", SOLVE)],
    "sparsity-depends": [(mathematics, "SAMPLE_EXPONENTS", ())],
    "rejection-acceptance": [(mathematics, "EXPONENTS", mathematics.EXPONENTS[:3])],
    "slack-multipliers": [(mathematics, "solve", other_cost(lambda c: 10 * c))],
    "costs-shares": [(mathematics, "solve", other_cost(lambda c: 0.01 / c))],
    "radius-branch": [(mathematics, "COSTS", (1.0,))],
    "radius-support": [(mathematics, "solve", other_cost(lambda c: 10 * c))],
    "convexity-argument": [(mathematics, "example_problem", lambda: (-np.eye(3), None))],
    "bound-loss": [(bound, "margin_loss", lambda t, **options: LOSS(t + 0.1, **options))],
    **dict.fromkeys(("figure-hole", "figure-mean", "figure-share"), FIGURE),
    **dict.fromkeys(("table-1", "table-1-distinct"), ONE_SET),
    **dict.fromkeys(("table-3-ranks", "table-5-ranks"), NO_LEAD),
    **dict.fromkeys(("table-3-p", "table-5-p"), OTHER_P),
    "table-4-value": [(printed, "printed_matrix", lambda s, **_: MATRIX(s, corrected=True))],
}


@pytest.mark.parametrize("name", sorted(ROWS))
def test_verdict_on_altered_tables_does_not_follow(name):
    tables = {}
    for table, change in ROWS[name].items():
        tables[table] = read(table).copy()
        change(tables[table])
    assert claims.failures([ENTRIES[name]], tables)


@pytest.mark.parametrize("name", sorted({*NUMBERS, *PATCHES}))
def test_verdict_on_other_mathematics_data_or_print_does_not_follow(name, monkeypatch):
    for module, attribute, value in PATCHES.get(name, []):
        monkeypatch.setattr(module, attribute, value)
    number = NUMBERS.get(name, ENTRIES[name].number)
    values = claims.call_finding(number, {})
    monkeypatch.setattr(claims, "numbers", lambda entry, rows=None: values)
    assert not claims.follows(ENTRIES[name])


def test_every_number_of_the_ledger_has_an_input_that_breaks_its_verdict():
    assert {*ROWS, *NUMBERS, *PATCHES} == set(COUNTED)
