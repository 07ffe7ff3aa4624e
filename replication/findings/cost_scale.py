"""The constant of the cost rule: chosen on design tables and shapes, judged on the other tables.

The rule is in ``studies/plans/cost_scale.md``.
"""

from __future__ import annotations

import pandas as pd

from replication.evidence import MARGIN, compare_over_sets
from replication.findings import Finding, finding
from replication.findings.tables import of_part
from replication.statistics import cluster_interval
from replication.studies.cost_scale import SHAPES
from replication.wording import worded

CODED = 0.1  # f where no candidate is admissible
RATE, SHAPE_RATE = (9.0, 11.0), (2.5, 7.5)  # admissible per cent where 10 and 5 are wanted
TIED = 0.1  # AUC points


def candidates(rows: pd.DataFrame) -> pd.DataFrame:
    """One line a constant: AUC and rates over the design tables, lowest and highest of a shape."""
    is_shape = rows["dataset"].isin(SHAPES)
    design = of_part(rows[~is_shape], "design").groupby("f")
    shapes = rows[is_shape].groupby(["f", "dataset"])["rejected_5"].mean().groupby("f")
    return pd.DataFrame({
        "AUC": design["auc"].mean(), "rejected, 10 wanted": design["rejected_10"].mean(),
        "rejected, 5 wanted": design["rejected_5"].mean(),
        "shapes, 5 wanted: lowest": shapes.min(), "shapes, 5 wanted: highest": shapes.max(),
    })  # fmt: skip


def chosen_constant(table: pd.DataFrame) -> float:
    """The constant that the plan's rule takes."""
    good = table[
        table["rejected, 10 wanted"].between(*RATE)
        & (table["shapes, 5 wanted: lowest"] >= SHAPE_RATE[0])
        & (table["shapes, 5 wanted: highest"] <= SHAPE_RATE[1])
    ]
    if good.empty:
        return CODED
    best = good[good["AUC"] >= good["AUC"].max() - TIED]
    return float((best["rejected, 10 wanted"] - 10.0).abs().idxmin())


@finding("cost_scale", "frozen/tables_searched")
def cost_rule(rows: pd.DataFrame, before: pd.DataFrame) -> Finding:
    """The constant f, and what its default gains over the one that searched for its cost."""
    table = candidates(rows)
    f = chosen_constant(table)
    judged = of_part(rows[~rows["dataset"].isin(SHAPES)])
    one = judged[judged["f"] == f].set_index("dataset")
    gain = compare_over_sets(one["auc"] - before.set_index("dataset")["auc"].reindex(one.index))
    rates = {level: cluster_interval(one[f"rejected_{level}"]) for level in (5, 10)}
    facts = {
        "f": f,
        "tables": len(one),
        "auc": float(one["auc"].mean()),
        "gain": worded(gain),
        "says": gain.state,
        "no_worse": bool(gain.low_90 > -MARGIN),
        "rate_kept": bool(RATE[0] <= rates[10].mean <= RATE[1]),
        "shape_low": float(table.loc[f, "shapes, 5 wanted: lowest"]),
        "shape_high": float(table.loc[f, "shapes, 5 wanted: highest"]),
    }
    for level, found in rates.items():
        facts[f"rate_{level}"] = f"{found.mean:.1f} % ({found.low:.1f} to {found.high:.1f})"
    return Finding("", facts, table)
