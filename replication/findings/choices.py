"""What the paper leaves open: preparation, two readings of the formulas, rows that do not fit.

Tables: ``preparation``, ``radius_pure``, ``radius_negatives``, ``frozen/targets``. H2 and H4 are
hypotheses of a first look at ten splits.
"""

from __future__ import annotations

import pandas as pd

from replication.evidence import Difference, comparison_of
from replication.findings import Numbers
from replication.paper import METHOD_NAMES
from replication.printed import printed_matrix
from replication.statistics import cluster_interval, mean_matrix
from replication.tables import method_label
from replication.wording import interval

FAMILY = ["l1-SVDD", "l2-SVDD", "lp-SVDD"]


def variant_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC under every variant of the protocol, and its distance from print."""
    lines = {}
    for variant, part in rows.groupby("variant", sort=False):
        means = mean_matrix(part)
        apart = (means[FAMILY] - printed_matrix("pure")[FAMILY]).dropna().abs()
        names = ("GP", "KPCA", "KNFST", *FAMILY, "kernel mean")
        line = {method_label(name): means[name].mean() for name in names}
        line["ℓp − ℓ1"] = interval(cluster_interval(means["lp-SVDD"] - means["l1-SVDD"]))
        line["from print"] = apart.drop("D18", errors="ignore").to_numpy().mean()
        lines[variant.replace(" x ", " × ")] = line
    return pd.DataFrame(lines.values(), index=pd.Index(lines, name="variant"))


def preparation_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Compare the mean AUC of every method with rows of unit length and without (H2)."""
    by_variant = rows.groupby("variant")
    default, bare = (mean_matrix(by_variant.get_group(v)) for v in ("default", "no unit norm"))
    change = bare - default
    lines = {
        method_label(name): {
            "with unit norm": default[name].mean(), "without": bare[name].mean(),
            "change": cluster_interval(change[name].dropna()),
            "sets up": int((change[name] > 0).sum()), "sets down": int((change[name] < 0).sum()),
        }
        for name in default
    }  # fmt: skip
    return pd.DataFrame(lines).T.rename_axis("method")


READINGS = {"nonnegative": "R² ≥ 0 instead of free", "half cost": "half of every cost"}


def reading_differences(
    reading: str, pure: pd.DataFrame, negatives: pd.DataFrame
) -> dict[str, Difference]:
    """Compare a reading with free, for every column of both tables; ⁻: with labelled outliers."""
    found = {}
    for rows, mark in ((pure, ""), (negatives, "⁻")):
        for method in rows["method"].unique():
            if method.endswith(reading):
                name = method.removesuffix(f", {reading}")
                found[method_label(name) + mark] = comparison_of(rows, method, f"{name}, free")
    return found


def reading(pure: pd.DataFrame, negatives: pd.DataFrame, kind: str = "nonnegative") -> Numbers:
    """Measure how far the columns of the two tables move with another reading of the formulas.

    A column moves when the interval of its mean change excludes zero and is not inside the margin.
    """
    found = reading_differences(kind, pure, negatives)
    largest = max(found, key=lambda name: abs(found[name].mean))
    lead = {way: comparison_of(pure, *(f"{name}-SVDD, {way}" for name in ("lp", "l1")))
            for way in ("free", kind) if f"l1-SVDD, {way}" in set(pure["method"])}  # fmt: skip
    return {
        "moved": [name for name, d in found.items() if d.exists and not d.equivalent],
        "total": len(found), "largest": largest, "change": found[largest],
        "own": found["ℓp-SVDD"], "lead_free": lead["free"], "lead": lead.get(kind),
    }  # fmt: skip


def target_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC of the nine methods for each target class, with the printed row after the last."""
    lines = []
    for dataset, part in rows.groupby("dataset", sort=False):
        row = printed_matrix("pure").loc[dataset]
        for variant, own in part.groupby("variant", sort=False):
            means = own.groupby("method")["auc"].mean()[list(METHOD_NAMES["pure"])]
            line = {"data set": dataset, "variant": variant} | dict(means)
            line["from print"] = (means - row).abs().mean()
            line["spread"] = own.groupby("method")["auc"].std().mean()
            lines.append(line)
        lines.append({"data set": dataset, "variant": "printed"} | dict(row))
    return pd.DataFrame(lines).rename(columns=method_label).set_index(["data set", "variant"])


def target_class(rows: pd.DataFrame, dataset: str) -> Numbers:
    """Measure the mean distance between the printed row and the rerun, by target class."""
    apart = target_table(rows).loc[dataset]["from print"].drop("printed")
    return {"apart": apart.to_dict(), "nearest": apart.idxmin()}
