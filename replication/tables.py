"""Tables in the paper's layout, beside the printed values.

Means and standard deviations (with n - 1) are per cent over the trials. The best method of a data
set is marked, together with every method whose mean is the same after rounding to two decimals.
"""

from __future__ import annotations

import pandas as pd

from replication.printed import printed_auc, printed_matrix, printed_ranks
from replication.statistics import friedman, mean_matrix, ranks


def method_label(name: str) -> str:
    """Unicode name of a method: l1-SVDD -> ℓ1-SVDD, KNFST- -> KNFST⁻."""
    text = name[:-1] + "⁻" if name.endswith("-") else name
    return "ℓ" + text[1:] if text[:1] == "l" and text[1:2] in "12p" else text


def mark_best(table: pd.DataFrame, column: str = "auc_mean") -> pd.Series:
    """Mark the highest mean of every data set and whatever equals it to two decimals."""
    rounded = table[column].round(2)
    return rounded == rounded.groupby(table["dataset"]).transform("max")


def comparison(rows: pd.DataFrame, setting: str) -> pd.DataFrame:
    """List means and sd by data set and method: here, printed (the misprint corrected), apart."""
    grouped = rows.groupby(["dataset", "method"], sort=False)["auc"]
    table = grouped.agg(auc_mean="mean", auc_sd="std", trials="count").reset_index()
    names = {"auc_mean": "printed_mean", "auc_sd": "printed_sd"}
    printed = printed_auc(setting, corrected=True).rename(columns=names)
    table = table.merge(printed, on=["dataset", "method"], how="left", sort=False)
    return table.assign(difference=table["auc_mean"] - table["printed_mean"])


def flags(rows: pd.DataFrame) -> dict[str, str]:
    """Data sets with a flag, and the flag."""
    flagged = rows[rows["flag"].fillna("") != ""] if "flag" in rows else rows[:0]
    return dict(zip(flagged["dataset"], flagged.get("flag", []), strict=True))


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


def cells(table: pd.DataFrame, kind: str, form: str, best: str) -> pd.Series:
    """Write the means ("auc" or "printed") of a comparison with their sd, as "81.2 ± 11.3"."""
    mean, sd = table[f"{kind}_mean"], table[f"{kind}_sd"]
    text = mean.map(form.format).where(~mark_best(table, f"{kind}_mean"), mean.map(best.format))
    return (text + sd.map(f" ± {form}".format).where(sd.notna(), "")).where(mean.notna(), "–")


def wide(rows: pd.DataFrame, setting: str) -> pd.DataFrame:
    """Return three lines per data set (here, printed, difference) and one column per method."""
    table = comparison(rows, setting)
    table["here"] = cells(table, "auc", "{:.2f}", "{:.2f}*")
    table["printed"] = cells(table, "printed", "{:.2f}", "{:.2f}*")
    table["difference"] = table["difference"].map("{:+.2f}".format).replace("+nan", "–")
    kinds = ["here", "printed", "difference"]
    lines = table.melt(["dataset", "method"], kinds, "").set_index(["dataset", "", "method"])
    order = pd.MultiIndex.from_product([table["dataset"].unique(), kinds], names=["dataset", ""])
    return lines["value"].unstack("method", fill_value="–", sort=False).loc[order]


def render(rows: pd.DataFrame, setting: str) -> str:
    """Whole page for one setting: the table, its flags and the ranks."""
    page = [f"AUC, setting {setting}", "", wide(rows, setting).to_string(), ""]
    page += ["AUC in percent, mean ± sd over trials; *: best of the line, ties included."]
    page += [f"† {dataset}: {flag}" for dataset, flag in flags(rows).items()]
    many = rows["dataset"].nunique() >= 2 and rows["method"].nunique() >= 3
    if many and len(complete := mean_matrix(rows).dropna()) >= 2:
        test = friedman(complete)
        text = rank_table(rows, setting).to_string(float_format="{:.2f}".format, na_rep="–")
        page += [
            f"\nAverage ranks over {test.n_datasets} data sets (1 = best)\n\n{text}\n",
            f"Friedman chi2 = {test.statistic:.1f}, p = {test.p_value:.2g}; "
            f"Iman–Davenport F = {test.iman_davenport:.1f}, p = {test.iman_davenport_p:.2g}.",
        ]
    return "\n".join(page) + "\n"
