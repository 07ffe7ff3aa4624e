"""Tables beside the printed values, from made-up rows: for the terminal and for the pages."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pandas as pd
import pytest

from replication import layout, printed
from replication.tables import comparison, mark_best, rank_table, render, wide


def as_rows(setting: str, off: float = 0.0) -> pd.DataFrame:
    """Rows whose means are ``off`` above the printed ones, with the printed deviations."""
    lines = []
    for cell in printed.printed_auc(setting, corrected=True).itertuples():
        for trial, sign in enumerate((-1.0, 0.0, 1.0)):  # sd of (-s, 0, s) with n - 1 is s
            value = cell.auc_mean + off + sign * cell.auc_sd
            flag = "inferred-labels" if cell.dataset == "D4" else ""
            lines.append((cell.dataset, cell.method, trial, value, flag))
    return pd.DataFrame(lines, columns=["dataset", "method", "trial", "auc", "flag"])


@pytest.mark.parametrize("setting", ["pure", "negatives"])
def test_comparison_of_the_printed_rows_finds_no_difference(setting):
    table = comparison(as_rows(setting), setting)
    assert table["difference"].abs().max() < 1e-9
    assert (table["auc_sd"] - table["printed_sd"]).abs().max() < 1e-9


def test_best_mean_and_ties_within_rounding_are_all_marked():
    table = pd.DataFrame({"dataset": ["D1"] * 3, "auc_mean": [71.434, 71.431, 71.42]})
    assert mark_best(table).tolist() == [True, True, False]


def test_page_of_the_terminal_has_three_lines_per_set_flags_and_ranks():
    rows = as_rows("pure", off=0.25)
    table = wide(rows, "pure")
    assert list(table.loc["D1", "lp-SVDD"]) == ["81.48* ± 11.26", "81.23* ± 11.26", "+0.25"]
    assert len(table) == 60
    page = render(rows, "pure")
    assert "† D4: inferred-labels" in page and "Friedman" in page
    rows.loc[(rows["dataset"] == "D1") & (rows["method"] == "l1-SVDD"), "auc"] = np.nan
    assert wide(rows, "pure").loc[("D1", "here"), "l1-SVDD"] == "–"
    assert "Friedman" not in render(rows.query("dataset == 'D7'"), "pure")


def test_rank_table_shows_the_correction_of_the_misprint():
    table = rank_table(as_rows("negatives"), "negatives")
    found = table.loc["DW-SVDD-", ["from printed means", "with 85.86", "rerun"]]
    assert list(found) == pytest.approx([4.45, 4.20, 4.20])


def test_side_by_side_cell_has_both_values_and_the_colour_of_their_difference():
    rows = as_rows("pure")
    rows["auc"] += rows["method"].map({"GP": 10.0, "KPCA": -10.0}).fillna(0.0)
    shown = layout.side_by_side(rows[rows["dataset"].isin(["D10", "D4"])], "pure")
    assert list(shown.index) == ["Concordia16 (D4) †", "Housing (D10)", "mean"]
    here, stated = (printed.printed_matrix("pure").loc["D4", "GP"] + off for off in (10, 0))
    cell = shown.data.loc["Concordia16 (D4) †", "GP"]
    assert cell.index(f"{here:.1f}") < cell.index(f"{stated:.1f}") and "<strong>" in cell
    html = shown.to_html()
    assert "rgba(0, 114, 178, 0.25)" in html and "rgba(213, 94, 0, 0.25)" in html


def test_table_of_a_page_has_true_minus_signs_dashes_and_a_caption():
    table = pd.DataFrame({"x": [-1.25, np.nan], "gain": ["+0.1 [−0.1, +0.3]", "−0"]})
    text = layout.table_html(table.rename_axis("p"), "means", formats={"x": "{:+.1f}"})
    assert "<caption>means</caption>" in text and ">p</th>" in text
    assert ">−1.2</td>" in text and ">–</td>" in text
    assert ">+0.1 [−0.1,\u00a0+0.3]</td>" in text, "an interval breaks before its bracket"
    folded = layout.table_html(table, "all", fold=True)
    assert folded.startswith('<details class="table"><summary>all</summary>')


def test_runs_behind_a_page_are_named_or_said_to_be_absent(tmp_path, monkeypatch):
    monkeypatch.setenv("LPSVDD_RESULTS", str(tmp_path))
    assert "no stored run" in layout.run_table(["pure"]).loc["results/pure.csv", "run"]
    rows = as_rows("pure").query("dataset == 'D4'").assign(seconds=1.0, params="", status="")
    assert layout.flag_notes(rows).startswith("† D4: the labels")
    rows.to_csv(tmp_path / "pure.csv", index=False)
    record = {
        "git_commit": "0123456789abcdef+changes", "date": "2026-01-02", "python": "3.11",
        "cores": 2, "processor": "a processor", "signature": {"computation": "7"},
        "sha256": hashlib.sha256((tmp_path / "pure.csv").read_bytes()).hexdigest(),
    }  # fmt: skip
    (tmp_path / "pure.provenance.json").write_text(json.dumps(record))
    line = ["2026-01-02", "012345678 with changes", "7", "3.11", "a processor, 2 cores"]
    assert list(layout.run_table(["pure"]).loc["results/pure.csv"]) == line
    assert "012345678 with changes" in layout.stored_runs()
    assert layout.computed_here("pure", rows) == ""
    more = pd.concat([rows, rows.iloc[:1].assign(auc=60.0)])
    assert layout.computed_here("pure", more).startswith(f"{len(rows)} of {len(more)} rows")
