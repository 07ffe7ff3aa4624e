"""Where p could matter: conditions changed one at a time, validation rows, the choice of p.

Tables: ``conditions``, ``ties_and_tails``, ``validation_size``, ``choice_of_p``, ``support``.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from lpsvdd.plots import fraction
from replication.evidence import MARGIN, as_table, compare, comparison_of, weighed
from replication.findings import Finding, finding, graded
from replication.findings.same_range import LP
from replication.paper import EXPONENTS
from replication.statistics import cluster_interval, mean_matrix
from replication.studies.ranges import label
from replication.wording import number, worded

NAMES = {
    "as is": "as in the tables",
    "validation 0.5": "half of the validation rows",
    "validation 0.25": "a quarter of the validation rows",
    "n = 40": "40 training rows",
    "n = 20": "20 training rows",
    "n = 10": "10 training rows",
    "contamination 0.05": "5 % unmarked outliers",
    "contamination 0.1": "10 % unmarked outliers",
    "contamination 0.2": "20 % unmarked outliers",
    "no unit norm": "rows not of unit length",
    "tails 1": "the same, heavy tails",
    "tails 2": "the same, heavier tails",
}
"""The conditions of the study in the order and words of the chapter."""


def by_condition(rows: pd.DataFrame, other: str) -> pd.DataFrame:
    """lp minus another contestant under every condition; one without a name keeps its own."""
    known = list(dict.fromkeys(rows["condition"]))
    order = [c for c in NAMES if c in known] + [c for c in known if c not in NAMES]
    return as_table(
        {NAMES.get(c, c): comparison_of(rows[rows["condition"] == c], LP, other) for c in order}
    )


def both_runs(rows: pd.DataFrame, neutral: pd.DataFrame) -> pd.DataFrame:
    """Rows of ``ties_and_tails``, and of ``conditions`` those that were not run anew."""
    kept = rows["condition"].str.startswith(("n = ", "contamination "))
    return pd.concat([neutral, rows[kept]], ignore_index=True)


@finding("conditions", "ties_and_tails")
def conditions(first: pd.DataFrame, neutral: pd.DataFrame) -> Finding:
    """Under which conditions lp is above l1; see the plan for what ties do in which."""
    rows = both_runs(first, neutral)
    table = by_condition(rows, label(1.0))
    seen = table["detectable"]
    quarter = rows[rows["condition"] == "validation 0.25"]

    def by_ties(column: str) -> str:
        return weighed(comparison_of(quarter.assign(auc=quarter[column]), LP, label(1.0)))

    kurtosis = rows.groupby("condition")["kurtosis"].mean()
    tied = quarter.groupby("method")["tied"].mean()
    facts = {
        "quarter_l1": by_ties("auc"),
        "quarter_first": by_ties("auc_first"),
        "quarter_last": by_ties("auc_last"),
        "quarter_four": weighed(comparison_of(quarter, LP, "p = 1, 4 shares")),
        "quarter_l2": weighed(comparison_of(quarter, LP, label(2.0))),
        "tied_lp": float(tied[LP]),
        "tied_l1": float(tied[label(1.0)]),
        "kurtosis": float(kurtosis["as is"]),
        "kurtosis_tails": float(kurtosis["tails 2"]),
        "count": len(table),
        "helps": list(table.index[table["says"].str.startswith("higher")]),
        "hurts": list(table.index[table["says"].str.startswith("lower")]),
        "same": int(table["says"].str.contains("equivalent").sum()),
        "see": f"{number(seen.min(), '.1f')} to {number(seen.max(), '.1f')}",
        "splits": int(neutral.groupby("dataset")["trial"].nunique().min()),
        "splits_first": int(first.groupby("dataset")["trial"].nunique().min()),
    }
    return Finding("", facts, table)


@finding("validation_size")
def validation_size(rows: pd.DataFrame) -> Finding:
    """Full, half and quarter of the validation rows for choosing p and c."""
    name = "lp, paper's grid, validation {}"
    half, quarter = (comparison_of(rows, name.format(1), name.format(s)) for s in (0.5, 0.25))
    facts = {"half": weighed(half), "quarter": weighed(quarter)}
    facts["splits"] = int(rows.groupby("dataset")["trial"].nunique().min())
    partly = quarter.low > 0 and not (half.equivalent or half.high < 0)
    return Finding(graded(half.low > 0, partly), facts)


TUNED, TWO = "p tuned", "p = 2"


@finding("choice_of_p")
def choice_of_p(rows: pd.DataFrame) -> Finding:
    """How often each exponent is chosen, and what fixing it costs against tuning."""
    fixed = [name for name in dict.fromkeys(rows["method"]) if name != TUNED]
    exponents = [min(EXPONENTS, key=lambda p, n=name: abs(p - float(n[4:]))) for name in fixed]
    chosen = rows[rows["method"] == TUNED]["params"].map(lambda text: json.loads(text)["p"])
    table = as_table(compare(rows, {name: (name, TUNED) for name in fixed}))
    table["chosen"] = [100 * np.isclose(chosen, p).mean() for p in exponents]
    table.index = pd.Index([f"p = {fraction(p)}" for p in exponents], name="exponent")
    means = mean_matrix(rows)
    best = int(table["mean"].argmax())
    facts = {
        "two": worded(comparison_of(rows, TUNED, TWO)),
        "best_fixed": table.index[best],
        "best_fixed_diff": worded(comparison_of(rows, fixed[best], TUNED)),
        "hindsight": worded(cluster_interval(means[fixed].max(axis=1) - means[TUNED])),
    }
    return Finding("", facts, table)


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
        "hangs": int((shift > MARGIN).sum()),
        "methods": len(shift),
        "splits": int(rows["trial"].nunique()),
    }
    return Finding("", facts, means)
