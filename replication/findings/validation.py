"""How many validation rows there are, which of tied cells wins, and support vectors of the grid.

Tables: ``validation_size``, ``tied_tables``, ``support``.
"""

from __future__ import annotations

import pandas as pd

from replication.evidence import comparison_of, weighed
from replication.findings import Finding, finding, graded


@finding("validation_size")
def validation_size(rows: pd.DataFrame) -> Finding:
    """Full, half and quarter of the validation rows for choosing p and c."""
    name = "lp, paper's grid, validation {}"
    half, quarter = (comparison_of(rows, name.format(1), name.format(s)) for s in (0.5, 0.25))
    facts = {"half": weighed(half), "quarter": weighed(quarter)}
    facts["splits"] = int(rows.groupby("dataset")["trial"].nunique().min())
    partly = quarter.low > 0 and not (half.equivalent or half.high < 0)
    return Finding(graded(half.low > 0, partly), facts)


def percent_by_cell(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean of a share in per cent: exponents × costs."""
    return 100 * rows.pivot_table(index="p", columns="c", values=column, aggfunc="mean")


@finding("support")
def support(rows: pd.DataFrame) -> Finding:
    """Support vectors and the sign of the squared radius on the paper's grid."""
    at = percent_by_cell(rows, "support_mean")[1.0]
    negative = (rows["negative_radius"].fillna(0) * rows["feasible"]).sum()
    facts = {f"at_{p:g}": float(at[p]) for p in (1.0, 2.0, 20.0)}
    facts["negative"] = 100 * float(negative / rows["feasible"].sum())
    return Finding("", facts)


@finding("tied_tables")
def ties(rows: pd.DataFrame) -> Finding:
    """What hangs on the order of tied cells in the two tables; rule in ``plans/tied_tables.md``.

    ``largest``: of all methods, the change of the mean AUC from the first tied cell to all of them.
    """
    means = rows.groupby(["setting", "method", "dataset"])[["auc", "auc_first", "auc_last"]].mean()
    means = means.groupby(["setting", "method"]).mean()
    shift = (means["auc"] - means["auc_first"]).abs()
    own = rows[rows["method"].isin(["lp-SVDD", "lp-SVDD-"])]
    facts = {
        "largest": float(shift.max()),
        "largest_last": float((means["auc_last"] - means["auc_first"]).abs().max()),
        "share": 100 * float((own["tied"] > 1).mean()),
        "methods": len(shift),
        "splits": int(rows["trial"].nunique()),
    }
    return Finding("", facts)
