"""The paper's printed values, as printed, errors included.

``auc.csv`` holds the two tables of AUC means and standard deviations in percent, ``ranks.csv`` the
two tables of average ranks, ``sizes.csv`` Table 1. Two corrections are known and applied only on
request: the row printed as a second "D4" with negatives is D5 (already labelled so here), and
0.8586 for DW-SVDD- on D19 reads 85.86.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from replication.paper import METHOD_NAMES

FRIEDMAN_P = {"pure": 5.65e-10, "negatives": 8.97e-14}
"""p-values of the Friedman tests as printed in the captions of the rank tables."""

MISPRINT = ("negatives", "D19", "DW-SVDD-", 0.8586, 85.86)
"""Setting, data set, method, printed value, corrected value."""


def _read(name: str, setting: str) -> pd.DataFrame:
    """The rows of a printed table that belong to a setting."""
    table = pd.read_csv(Path(__file__).with_name(name))
    table = table[table["setting"] == setting].drop(columns="setting").reset_index(drop=True)
    if table.empty:
        raise ValueError(f"setting={setting!r}: expected 'pure' or 'negatives'")
    return table


def printed_auc(setting: str, *, corrected: bool = False) -> pd.DataFrame:
    """Printed table in long form: dataset, method, auc_mean, auc_sd."""
    table = _read("auc.csv", setting)
    where, dataset, method, wrong, right = MISPRINT
    if corrected and setting == where:
        cell = (table["dataset"] == dataset) & (table["method"] == method)
        if table.loc[cell, "auc_mean"].tolist() != [wrong]:
            raise ValueError("the misprint is not where it was expected")
        table.loc[cell, "auc_mean"] = right
    return table


def printed_matrix(setting: str, *, corrected: bool = False) -> pd.DataFrame:
    """Printed means as a matrix: one row per data set, one column per method."""
    table = printed_auc(setting, corrected=corrected)
    matrix = table.pivot(index="dataset", columns="method", values="auc_mean")
    return matrix.loc[list(dict.fromkeys(table["dataset"])), list(METHOD_NAMES[setting])]


def row_labels(setting: str) -> list[str]:
    """Labels of the rows of a table of AUCs as they are printed, from top to bottom."""
    return _read("rows.csv", setting)["label"].tolist()


def printed_ranks(setting: str) -> pd.Series:
    """Average ranks as printed."""
    table = _read("ranks.csv", setting)
    return table.set_index("method")["reported_rank"].rename("printed_rank")
