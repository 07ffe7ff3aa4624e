"""Hundreds of other tables: what p does there.

Tables: ``tables_exponents``, ``tables_contest``; rules in ``studies/plans/tables.md``. Design
tables choose, judged tables decide.
"""

from __future__ import annotations

import pandas as pd

from replication import table_sets
from replication.evidence import Difference, compare_over_sets
from replication.findings import Numbers
from replication.statistics import Interval, cluster_interval

OTHERS = ("1", "1.2", "5", "20", "mean")
CHOSEN, SHARE = "chosen", 0.1
RULE = "quarter-mean-distance"


def of_part(rows: pd.DataFrame, part: str = "judged") -> pd.DataFrame:
    """Rows of the design or of the judged tables; of a made-up table, all."""
    known = table_sets.records()["part"]
    return rows[[known.get(name, part) == part for name in rows["dataset"]]]


def exponents_at(rows: pd.DataFrame, width: str = CHOSEN, share: float = SHARE) -> pd.DataFrame:
    """One line a table: every exponent at a width and a share."""
    return rows[(rows["width"] == width) & (rows["share"] == share)].set_index("dataset")


def beside_two(table: pd.DataFrame) -> pd.DataFrame:
    """AUC of every other exponent and of the kernel mean minus that of p = 2."""
    return pd.DataFrame({p: table[f"auc_{p}"] - table["auc_2"] for p in OTHERS})


def tables_p(rows: pd.DataFrame) -> Numbers:
    """Compare exponents at the same width and share, and find what labels would gain by choosing.

    ``over``: each p minus p = 2 at the chosen width and a tenth of the rows outside; ``scale`` and
    ``scale_many``: at the wider kernel, with a tenth and three tenths outside; ``gain`` and
    ``gain_many``: what labels gain with these shares, by width.
    """
    judged = of_part(rows)

    def over(width: str, share: float) -> dict[str, Difference]:
        return {
            p: compare_over_sets(d)
            for p, d in beside_two(exponents_at(judged, width, share)).items()
        }

    def gain(share: float) -> dict[str, Interval]:
        widths = {"rule": RULE, "scale": "scale", "chosen": CHOSEN}
        return {
            n: cluster_interval(exponents_at(judged, w, share)["gain"]) for n, w in widths.items()
        }

    return {
        "tables": judged["dataset"].nunique(),
        "designed": of_part(rows, "design")["dataset"].nunique(),
        "rows": int(rows["rows"].max()),
        "over": over(CHOSEN, SHARE),
        "scale": over("scale", SHARE),
        "scale_many": over("scale", 0.3),
        "gain": gain(SHARE),
        "gain_many": gain(0.3),
    }


def tables_width(rows: pd.DataFrame) -> Numbers:
    """Compare LpSVDDCV with every other detector on the judged tables."""
    auc = of_part(rows).pivot(index="dataset", columns="method", values="auc")
    others = [name for name in auc if name != "LpSVDDCV" and not name.startswith("width ")]
    return {"over": {name: compare_over_sets(auc["LpSVDDCV"] - auc[name]) for name in others}}
