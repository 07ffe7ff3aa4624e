"""Tables with the printed values in the cells of the rerun."""

from __future__ import annotations

import pandas as pd
import pytest
from replication.side_by_side import side_by_side

from replication.printed import printed_matrix


@pytest.fixture
def shifted():
    """Two trials: ten points above the printed mean for GP, ten below it for KPCA."""
    table = printed_matrix("pure").loc[["D10", "D2"], ["GP", "KPCA"]]
    off = {"GP": 10.0, "KPCA": -10.0}
    lines = [
        {
            "dataset": name,
            "method": method,
            "trial": trial,
            "flag": "inferred-labels" if name == "D2" else "",
        }
        | {"auc": table.loc[name, method] + off[method] + (-1) ** trial}
        for name in table.index
        for method in table
        for trial in range(2)
    ]
    return pd.DataFrame(lines)


def test_side_by_side_cell_has_both_values_and_the_colour_of_their_difference(shifted):
    table = side_by_side(shifted, "pure")
    assert list(table.index) == ["Hepatitis (D2) †", "Housing (D10)", "mean"]
    cell = table.data.loc["Hepatitis (D2) †", "GP"]
    assert "68.8" in cell and "± 1.4" in cell and cell.index("68.8") < cell.index("58.8 ± 4.4")
    assert (
        cell.startswith("<strong>") and "<strong>66.5" in table.data.loc["Hepatitis (D2) †", "KPCA"]
    )
    html = table.to_html()
    assert "rgba(0, 114, 178, 0.25)" in html and "rgba(213, 94, 0, 0.25)" in html


def test_side_by_side_shows_the_misprinted_value_corrected():
    rows = pd.DataFrame(
        {"dataset": "D19", "method": "DW-SVDD-", "trial": [0, 1], "auc": [80.0, 82.0], "flag": ""}
    )
    assert "85.9" in side_by_side(rows, "negatives").data.iloc[0, 0]
