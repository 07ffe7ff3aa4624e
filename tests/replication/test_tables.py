"""Tables in the paper's layout from made-up rows."""

from __future__ import annotations

import pandas as pd
import pytest

from replication import printed
from replication.tables import comparison, mark_best, rank_table, render, summary, wide


def as_rows(setting: str) -> pd.DataFrame:
    """Rows whose means and standard deviations are the printed ones (misprint corrected)."""
    lines = []
    for cell in printed.printed_auc(setting, corrected=True).itertuples():
        for trial, sign in enumerate((-1.0, 0.0, 1.0)):  # sd of (-s, 0, s) with n - 1 is s
            value = cell.auc_mean + sign * cell.auc_sd
            flag = "inferred" if cell.dataset == "D4" else ""
            lines.append((cell.dataset, cell.method, trial, value, flag))
    return pd.DataFrame(lines, columns=["dataset", "method", "trial", "auc", "flag"])


@pytest.mark.parametrize("setting", ["pure", "negatives"])
def test_rows_equal_to_the_printed_ones_give_no_difference(setting: str) -> None:
    table = comparison(as_rows(setting), setting)
    assert table["difference"].abs().max() < 1e-9
    assert (table["auc_sd"] - table["printed_sd"]).abs().max() < 1e-9
    assert (table["best"] == table["printed_best"]).all()


def test_ties_within_rounding_are_all_marked() -> None:
    table = pd.DataFrame({"dataset": ["D1"] * 3, "auc_mean": [71.434, 71.431, 71.42]})
    assert mark_best(table).tolist() == [True, True, False]


def test_three_lines_per_data_set_and_the_flag() -> None:
    table = wide(as_rows("pure"), "pure")
    assert len(table) == 60
    assert table.iloc[9, 0] == "D4 †"
    assert table.iloc[0]["lp-SVDD"] == "81.23 ± 11.26*"
    assert table.iloc[2]["lp-SVDD"] in ("+0.00", "-0.00")


def test_a_row_without_auc_is_a_dash() -> None:
    rows = as_rows("pure")
    rows.loc[(rows["dataset"] == "D1") & (rows["method"] == "l1-SVDD"), "auc"] = float("nan")
    assert wide(rows, "pure").iloc[0]["l1-SVDD"] == "–"
    assert summary(rows).set_index(["dataset", "method"]).loc[("D1", "l1-SVDD"), "trials"] == 0


def test_rank_table_shows_the_correction() -> None:
    table = rank_table(as_rows("negatives"), "negatives")
    assert table.loc["DW-SVDD-", "from printed means"] == pytest.approx(4.45)
    assert table.loc["DW-SVDD-", "with 85.86"] == pytest.approx(4.20)
    assert table.loc["DW-SVDD-", "rerun"] == pytest.approx(4.20)


def test_one_data_set_gives_a_page_without_ranks() -> None:
    rows = as_rows("pure").query("dataset == 'D7'")
    page = render(rows, "pure")
    assert "D7" in page and "Friedman" not in page
