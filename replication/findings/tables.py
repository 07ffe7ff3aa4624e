"""Hundreds of other tables: what p does there.

Tables: ``tables_exponents``, ``tables_contest``; rules in ``studies/plans/tables.md``. Design
tables choose, judged tables decide.
"""

from __future__ import annotations

import pandas as pd

from replication import table_sets
from replication.evidence import Difference, compare_over_sets
from replication.findings import Numbers
from replication.statistics import cluster_interval

OTHERS = ("1", "1.2", "5", "20", "mean")


def of_part(rows: pd.DataFrame, part: str = "judged") -> pd.DataFrame:
    """Return the rows of the design or of the judged tables."""
    return rows[rows["dataset"].map(table_sets.records()["part"]) == part]


def exponents_at(rows: pd.DataFrame, width: str, share: float) -> pd.DataFrame:
    """Return one line a table: every exponent at a width and a share."""
    return rows[(rows["width"] == width) & (rows["share"] == share)].set_index("dataset")


def beside_two(at: pd.DataFrame) -> pd.DataFrame:
    """Return the AUC of every other exponent and of the kernel mean minus that of p = 2."""
    return pd.DataFrame({p: at[f"auc_{p}"] - at["auc_2"] for p in OTHERS})


def over_two(rows: pd.DataFrame, width: str, share: float) -> dict[str, Difference]:
    """Compare the AUC of every other exponent and of the kernel mean with that of p = 2."""
    off = beside_two(exponents_at(rows, width, share))
    return {str(p): compare_over_sets(values) for p, values in off.items()}


def tables_p(rows: pd.DataFrame) -> Numbers:
    """Compare exponents at the same width and share, and find what labels would gain by choosing.

    ``over``: each p minus p = 2 at the chosen width and a tenth of the rows outside; ``scale`` and
    ``scale_many``: at the wider kernel, with a tenth and three tenths outside; ``gain`` and
    ``gain_many``: what labels gain with these shares, by width.
    """
    judged = of_part(rows)
    gain, gain_many = (
        {w: cluster_interval(exponents_at(judged, w, share)["gain"]) for w in ("scale", "chosen")}
        for share in (0.1, 0.3)
    )
    return {
        "tables": judged["dataset"].nunique(),
        "designed": of_part(rows, "design")["dataset"].nunique(),
        "rows": int(rows["rows"].max()),
        "over": over_two(judged, "chosen", 0.1),
        "scale": over_two(judged, "scale", 0.1),
        "scale_many": over_two(judged, "scale", 0.3),
        "gain": gain,
        "gain_many": gain_many,
    }


def tables_width(rows: pd.DataFrame) -> Numbers:
    """Compare LpSVDDCV with every other detector on the judged tables."""
    auc = of_part(rows).pivot(index="dataset", columns="method", values="auc")
    others = [name for name in auc if name != "LpSVDDCV" and not name.startswith("width ")]
    return {"over": {name: compare_over_sets(auc["LpSVDDCV"] - auc[name]) for name in others}}
