"""What the pages with results share: labels, intervals, tables, provenance, the grid parameters."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from replication import pages
from replication.experiment import paper_methods
from replication.pages import layout, paper_tables
from replication.printed import printed_matrix
from replication.results import table_checksum
from replication.statistics import Interval, paired_interval, worded
from replication.tables import comparison, method_label


@pytest.fixture
def rows():
    """Three data sets, two trials; lp is 1, 2, 3 points above l1 and equal to KPCA."""
    lines = []
    for number, name in enumerate(("D1", "D4", "D7"), start=1):
        for trial in range(2):
            for method, auc in (
                ("l1-SVDD", 60.0),
                ("lp-SVDD", 60.0 + number),
                ("KPCA", 60.0 + number),
            ):
                flag = "inferred-labels" if name == "D4" else ""
                lines.append((name, method, trial, auc + trial, flag))
    return pd.DataFrame(lines, columns=["dataset", "method", "trial", "auc", "flag"])


def test_labels_use_unicode_and_leave_other_names_alone():
    names = ["l1-SVDD", "lp-SVDD-", "KNFST-", "kernel mean", "linear"]
    assert [method_label(name) for name in names] == [
        "ℓ1-SVDD", "ℓp-SVDD⁻", "KNFST⁻", "kernel mean", "linear",
    ]  # fmt: skip


def test_contrasts_are_paired(rows):
    line = pages.contrasts(rows, [("lp-SVDD", "l1-SVDD"), ("lp-SVDD", "KPCA")])
    assert line.loc["ℓp-SVDD − ℓ1-SVDD", "mean difference"] == pytest.approx(2.0)
    assert line.loc["ℓp-SVDD − ℓ1-SVDD", ["sets won", "sets lost", "sets"]].tolist() == [3, 0, 3]
    assert line.loc["ℓp-SVDD − KPCA", ["low", "high"]].tolist() == [0.0, 0.0]
    found = paired_interval(rows[rows["dataset"] != "D1"], "lp-SVDD", "l1-SVDD")
    assert found.mean == pytest.approx(2.5) and found.n == 2
    single = paired_interval(rows[rows["dataset"] == "D7"], "lp-SVDD", "l1-SVDD")
    assert single.mean == pytest.approx(3.0) and np.isnan(single.low)


def test_numbers_in_words():
    assert worded(Interval(8.88, 5.19, 12.7, 20, 17, 3)) == "+8.9 (+5.2 to +12.7)"
    assert worded(Interval(3.0, np.nan, np.nan, 1, 1, 0)) == "+3.0 (one data set)"
    assert worded(Interval(-0.91, -1.77, -0.03, 20, 6, 14)) == "−0.91 (−1.77 to −0.03)"


def test_table_marks_ties_and_flags(rows):
    table = paper_tables.Setting(rows_of_the_family(rows), "pure")
    shown = paper_tables.full_tables(table)["here"]
    assert list(shown.columns) == ["ℓp", "ℓ1", "ℓ2", "KPCA"] and "Concordia16 (D4) †" in shown.index
    text = layout.table_html(shown, "a & b", formats="{:.1f}", best=True)
    assert text.count("<strong>61.5</strong>") == 2, "lp and KPCA tie on D1"
    assert "<caption>a &amp; b</caption>" in text and "<details" not in text
    folded = layout.table_html(shown, "all", fold=True)
    assert folded.startswith('<details class="table"><summary>all</summary>')
    assert pages.flag_notes(rows).startswith("† D4:")
    assert pages.flag_notes(rows[rows["dataset"] == "D1"]).startswith("No row")


def rows_of_the_family(rows):
    """The same rows with l2, one point below l1."""
    lower = rows[rows["method"] == "l1-SVDD"].assign(method="l2-SVDD")
    return pd.concat([rows, lower.assign(auc=lower["auc"] - 1.0)])


def test_numbers_of_a_table_have_true_minus_signs_and_words_are_told_apart():
    found = ["+0.1 (−0.1 to +0.3)", ""]
    table = pd.DataFrame({"x": [-1.25, np.nan], "says": ["higher", "p = 2"], "gain": found})
    text = layout.table_html(table, "t", formats={"x": "{:+.1f}"})
    assert "<td>−1.2</td>" in text and "<td>–</td>" in text
    assert '<td class="word">higher</td>' in text and '<td class="word">p = 2</td>' in text
    assert "<td>+0.1 (−0.1\u00a0to\u00a0+0.3)</td>" in text, "an interval breaks before its bracket"
    assert layout.minus("2 to -3, x-4, 1e-5") == "2 to −3, x-4, 1e-5"


def test_data_sets_are_named_beside_their_number():
    assert (
        layout.set_label("D1") == "Iris (D1)" and layout.set_label("D20") == "Fashion-MNIST (D20)"
    )
    assert layout.set_label("all") == "all sets"
    assert layout.colour_of("lp-SVDD-") != layout.colour_of("l1-SVDD") != layout.colour_of("GP")


def test_summary_by_method(rows):
    table = pages.by_method(comparison(rows, "pure"))
    printed = comparison(rows, "pure").query("method == 'lp-SVDD'")["printed_mean"]
    assert table.loc["ℓp-SVDD", "mean difference"] == pytest.approx(62.5 - printed.mean())


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
    assert pages.by_method(table).loc["GP", "within two standard errors"] == 2


def test_grids_of_the_notebook_replace_only_those_of_lp():
    published = ["32/31", "16/15", "8/7", "6/5", "4/3", "3/2", "2", "5/2", "5", "20"]
    assert pages.methods_with("pure", published, [0.001, 0.01, 0.1, 1.0]) == paper_methods("pure")
    assert pages.methods_with("pure", [], []) == paper_methods("pure")
    own = {m.name: m for m in pages.methods_with("negatives", [1, "3/2"], [0.1])}
    assert [cell["p"] for cell in own["lp-SVDD-"].grid] == [1.0, 1.5]
    assert all(cell["C_neg"] == 0.1 for cell in own["lp-SVDD-"].grid)
    assert own["l2-SVDD-"] == {m.name: m for m in paper_methods("negatives")}["l2-SVDD-"]


def test_runs_are_named_or_said_to_be_absent(tmp_path, monkeypatch):
    monkeypatch.setenv("LPSVDD_RESULTS", str(tmp_path))
    assert "no stored run" in pages.runs(["pure"]).loc["results/pure.csv", "run"]
    stored = {
        "git_commit": "0123456789abcdef", "date": "2026-01-02", "python": "3.11", "cores": 2,
        "processor": "a processor", "packages": {"numpy": "2", "scipy": "1"},
        "signature": {"computation": "7"},
    }  # fmt: skip
    (tmp_path / "pure.provenance.json").write_text(json.dumps(stored))
    table = pd.DataFrame(
        {"dataset": ["D1"], "method": "GP", "trial": 0, "auc": 50.0, "seconds": 1.0}
    )
    path = tmp_path / "pure.csv"
    table.assign(flag="", params="", status="").to_csv(path, index=False)
    stored["sha256"] = table_checksum(path)
    (tmp_path / "pure.provenance.json").write_text(json.dumps(stored))
    assert pages.computed_here("pure", table) == ""
    other = pd.concat([table, table.assign(auc=60.0)])
    assert pages.computed_here("pure", other).startswith("1 of 2 rows shown are stored")
    line = pages.runs(["pure"]).loc["results/pure.csv"]
    assert list(line) == ["2026-01-02", "012345678", "7", "3.11", "a processor, 2 cores"]


def test_a_run_with_uncommitted_changes_says_so() -> None:
    assert pages.commit_text("0123456789abcdef") == "`012345678`"
    assert pages.commit_text("0123456789abcdef+changes").endswith("with uncommitted changes")


def test_names_of_close_points_do_not_overlap():
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(3, 3))
    ax.set(xlim=(0, 100), ylim=(0, 100))
    names = ["D1", "D13", "D19", "D7", "D20"]
    pages.name_points(ax, names, [90, 91, 89, 90, 20], [70, 70.5, 69, 71, 20])
    fig.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert sorted(text.get_text() for text in ax.texts) == sorted(names)
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            assert not one.shrunk(0.9, 0.9).overlaps(other)


def test_the_figure_off_print_shows_here_minus_printed(rows):
    """D4 and D7: 61.5 and 62.5 here for lp; each dot lies at the AUC here minus the printed one."""
    extra = [rows[rows["method"] == "KPCA"].assign(method="l2-SVDD")]
    setting = paper_tables.Setting(pd.concat([rows, *extra]), "pure")
    ax = paper_tables.draw_off(setting, narrow=False).axes[0]
    printed = printed_matrix("pure").loc[["D1", "D4", "D7"], "lp-SVDD"]
    expected = pd.Series({"D1": 61.5, "D4": 62.5, "D7": 63.5}) - printed
    dots = ax.collections[-1].get_offsets()[:, 0]  # the methods from below, lp on top
    np.testing.assert_allclose(sorted(dots), sorted(expected), atol=1e-9)
    assert not np.allclose(sorted(dots), sorted(-expected))
