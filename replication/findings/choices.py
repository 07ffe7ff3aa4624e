"""What the paper leaves open: preparation, two readings of the formulas, rows that do not fit.

Tables: ``preparation``, ``radius_pure``, ``radius_negatives``, ``targets``. H2 and H4 are
hypotheses of a first look at ten splits.
"""

from __future__ import annotations

import pandas as pd

from replication.evidence import Difference, as_table, comparison_of, weighed
from replication.findings import UNDECIDABLE, Finding, finding, graded
from replication.paper import METHOD_NAMES
from replication.printed import printed_matrix
from replication.statistics import cluster_interval, mean_matrix
from replication.tables import method_label
from replication.wording import bracketed, worded

FAMILY = ["l1-SVDD", "l2-SVDD", "lp-SVDD"]
CORE = list(METHOD_NAMES["pure"])

# -- preparation --------------------------------------------------------------------------------


def unit_norm(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Mean AUC (data sets × methods) with rows of unit length, and without."""
    by_variant = rows.groupby("variant")
    return tuple(mean_matrix(by_variant.get_group(v)) for v in ("default", "no unit norm"))


def variant_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC under every variant of the protocol, and its distance from print."""
    lines = {}
    for variant, part in rows.groupby("variant", sort=False):
        means = mean_matrix(part)
        apart = (means[FAMILY] - printed_matrix("pure")[FAMILY]).dropna().abs()
        names = ("GP", "KPCA", "KNFST", *FAMILY, "kernel mean")
        line = {method_label(name): means[name].mean() for name in names}
        line["ℓp − ℓ1"] = worded(cluster_interval(means["lp-SVDD"] - means["l1-SVDD"]))
        line["from print"] = apart.drop("D18", errors="ignore").to_numpy().mean()
        lines[variant.replace(" x ", " × ")] = line
    return pd.DataFrame(lines.values(), index=pd.Index(lines, name="variant"))


@finding("preparation")
def preparation(rows: pd.DataFrame) -> Finding:
    """H2: scaling every row to unit length removes most of the signal."""
    default, bare = unit_norm(rows)
    change = bare - default
    table = pd.DataFrame({
        method_label(name): {
            "with unit norm": default[name].mean(), "without": bare[name].mean(),
            "change": worded(cluster_interval(change[name].dropna())),
            "sets up": int((change[name] > 0).sum()), "sets down": int((change[name] < 0).sum()),
        }
        for name in default
    }).T.rename_axis("method")  # fmt: skip
    facts = {"l1": table.loc["ℓ1-SVDD", "change"]}
    return Finding("", facts, table)


# -- two other readings of the formulas ---------------------------------------------------------

READINGS = {"nonnegative": "R² ≥ 0 instead of free", "half cost": "half of every cost"}


def reading_differences(
    reading: str, pure: pd.DataFrame, negatives: pd.DataFrame
) -> dict[str, Difference]:
    """Reading minus free for every column of both tables; ⁻: with labelled outliers."""
    found = {}
    for rows, mark in ((pure, ""), (negatives, "⁻")):
        for method in rows["method"].unique():
            if method.endswith(reading):
                name = method.removesuffix(f", {reading}")
                found[method_label(name) + mark] = comparison_of(rows, method, f"{name}, free")
    return found


@finding("radius_pure", "radius_negatives")
def reading(pure: pd.DataFrame, negatives: pd.DataFrame, reading: str = "nonnegative") -> Finding:
    """Do the two tables depend on the reading? Holds when no method's column moves.

    A column moves when the interval of its mean change excludes zero and is not inside the margin;
    partly when some move and lp's do not.
    """
    found = reading_differences(reading, pure, negatives)
    moved = [name for name, d in found.items() if d.exists and not d.equivalent]
    largest = max(found, key=lambda name: abs(found[name].mean))
    facts = {
        "count": len(moved),
        "total": len(found),
        "moved": moved,
        "largest": f"{largest} by {bracketed(found[largest])}",
        "own": bracketed(found["ℓp-SVDD"]),
        "lead_free": weighed(comparison_of(pure, "lp-SVDD, free", "l1-SVDD, free")),
    }
    if reading == "nonnegative":
        pair = (f"{name}-SVDD, nonnegative" for name in ("lp", "l1"))
        facts["lead"] = weighed(comparison_of(pure, *pair))
    lp = any(name.startswith("ℓp-SVDD") for name in moved)
    return Finding(graded(not moved, not lp), facts, as_table(found))


# -- printed rows that do not fit ---------------------------------------------------------------


def target_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC of the nine methods for each target class, with the printed row after the last."""
    lines = []
    for dataset, part in rows.groupby("dataset", sort=False):
        row = printed_matrix("pure").loc[dataset]
        for variant, own in part.groupby("variant", sort=False):
            means = own.groupby("method")["auc"].mean()[CORE]
            line = {"data set": dataset, "variant": variant} | dict(means)
            line["from print"] = (means - row).abs().mean()
            line["spread"] = own.groupby("method")["auc"].std().mean()
            lines.append(line)
        lines.append({"data set": dataset, "variant": "printed"} | dict(row))
    return pd.DataFrame(lines).rename(columns=method_label).set_index(["data set", "variant"])


@finding("targets")
def target_class(
    rows: pd.DataFrame, dataset: str = "D1", stated: str = "virginica", near: float = 5.0
) -> Finding:
    """Mean distance over the nine methods between the printed row and the rerun, by target class.

    Holds when the class named is the nearest and within ``near`` points; when another class is
    nearer, or none is near, the published numbers do not settle which class was used.
    """
    apart = target_table(rows).loc[dataset]["from print"].drop("printed")
    facts = {
        "each": ", ".join(f"{name} {value:.1f}" for name, value in apart.items()),
        "nearest": apart.idxmin(),
    }
    settled = apart.idxmin() == stated and apart[stated] <= near
    return Finding("holds" if settled else UNDECIDABLE, facts)
