"""Tables in the paper's layout, beside the printed values.

One line per data set, one column per method, cells "mean ± sd" in percent over the trials
(sd with n - 1). The best method of a line is marked, together with every method whose mean is
the same after rounding to two decimals. ``comparison`` is the long form with the differences;
``render`` makes text of it.
"""

from __future__ import annotations

import pandas as pd

from replication.printed import printed_auc, printed_matrix, printed_ranks
from replication.statistics import friedman, mean_matrix, ranks

DECIMALS = 2


def method_label(name: str) -> str:
    """Unicode name of a method: l1-SVDD -> ℓ1-SVDD, KNFST- -> KNFST⁻."""
    text = name[:-1] + "⁻" if name.endswith("-") else name
    return "ℓ" + text[1:] if text[:1] == "l" and text[1:2] in "12p" else text


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and sd over trials per (dataset, method), with the best of each line marked."""
    grouped = rows.groupby(["dataset", "method"], sort=False)["auc"]
    table = grouped.agg(auc_mean="mean", auc_sd="std", trials="count").reset_index()
    table["best"] = mark_best(table)
    return table


def mark_best(table: pd.DataFrame) -> pd.Series:
    """Mark the highest mean of every data set and whatever equals it to two decimals."""
    rounded = table["auc_mean"].round(DECIMALS)
    return rounded == rounded.groupby(table["dataset"]).transform("max")


def comparison(rows: pd.DataFrame, setting: str) -> pd.DataFrame:
    """Long table: here, printed (the misprint corrected) and the difference here - printed."""
    printed = printed_auc(setting, corrected=True)
    printed["printed_best"] = mark_best(printed)
    printed = printed.rename(columns={"auc_mean": "printed_mean", "auc_sd": "printed_sd"})
    table = summary(rows).merge(printed, on=["dataset", "method"], how="left", sort=False)
    table["difference"] = table["auc_mean"] - table["printed_mean"]
    return table


def flags(rows: pd.DataFrame) -> dict[str, str]:
    """Data sets with a flag, and the flag."""
    if "flag" not in rows:
        return {}
    flagged = rows[["dataset", "flag"]].dropna().drop_duplicates()
    return {dataset: flag for dataset, flag in flagged.itertuples(index=False) if flag}


def _cell(mean: float, sd: float, best: bool) -> str:
    if pd.isna(mean):
        return "–"
    text = f"{mean:.{DECIMALS}f}" + ("" if pd.isna(sd) else f" ± {sd:.{DECIMALS}f}")
    return f"{text}*" if best else text


def wide(rows: pd.DataFrame, setting: str) -> pd.DataFrame:
    """Three lines per data set: here, printed, difference; one column per method."""
    table, flagged = comparison(rows, setting), flags(rows)
    best = table["printed_best"].eq(True)
    table["here"] = list(map(_cell, table["auc_mean"], table["auc_sd"], table["best"]))
    table["printed"] = list(map(_cell, table["printed_mean"], table["printed_sd"], best))
    table["difference"] = [
        "–" if pd.isna(off) else f"{off:+.{DECIMALS}f}" for off in table["difference"]
    ]
    lines = []
    for dataset, part in table.groupby("dataset", sort=False):
        cells = part.set_index("method")
        for kind in ("here", "printed", "difference"):
            name = f"{dataset} †" if dataset in flagged else dataset
            lines.append({"data set": name if kind == "here" else "", "": kind, **cells[kind]})
    return pd.DataFrame(lines).fillna("–")


def rank_table(rows: pd.DataFrame, setting: str) -> pd.DataFrame:
    """Average ranks as printed, from the printed means, with the misprint corrected, and rerun."""
    columns = {
        "printed": printed_ranks(setting),
        "from printed means": ranks(printed_matrix(setting)).mean(),
    }
    if setting == "negatives":
        columns["with 85.86"] = ranks(printed_matrix(setting, corrected=True)).mean()
    columns["rerun"] = ranks(mean_matrix(rows).dropna()).mean()
    return pd.DataFrame(columns).loc[list(dict.fromkeys(rows["method"]))]


def _aligned(table: pd.DataFrame) -> str:
    """A table of texts with aligned columns."""
    return table.to_markdown(index=False, tablefmt="simple", disable_numparse=True)


def render(rows: pd.DataFrame, setting: str) -> str:
    """Whole page for one setting: the table, its flags and the ranks."""
    notes = ["AUC in percent, mean ± sd over trials; *: best of the line, ties included."]
    notes += [f"† {dataset}: {flag}" for dataset, flag in flags(rows).items()]
    page = [f"AUC, setting {setting}", "", _aligned(wide(rows, setting)), "", *notes]
    complete = rows.groupby("dataset")["method"].nunique().eq(rows["method"].nunique()).sum()
    if complete >= 2 and rows["method"].nunique() >= 3:
        page += ["", *_ranks(rows, setting)]
    return "\n".join(page) + "\n"


def _ranks(rows: pd.DataFrame, setting: str) -> list[str]:
    test = friedman(mean_matrix(rows).dropna())
    table = rank_table(rows, setting).map(lambda v: "–" if pd.isna(v) else f"{v:.2f}")
    table = table.rename_axis("method").reset_index()
    return [
        f"Average ranks over {test.n_datasets} data sets (1 = best)",
        "",
        _aligned(table),
        "",
        f"Friedman chi2 = {test.statistic:.1f}, p = {test.p_value:.2g}; "
        f"Iman–Davenport F = {test.iman_davenport:.1f}, p = {test.iman_davenport_p:.2g}.",
    ]
