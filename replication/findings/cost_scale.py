"""The constant of the cost rule: chosen on design tables and shapes, judged on the other tables.

The rule is in ``studies/plans/cost_scale.md``.
"""

from __future__ import annotations

import pandas as pd

from replication.findings.tables import of_part
from replication.studies.cost_scale import SHAPES

CODED = 0.1  # f where no candidate is admissible
RATE, SHAPE_RATE = (9.0, 11.0), (2.5, 7.5)  # admissible per cent where 10 and 5 are wanted
TIED = 0.1  # AUC points


def cost_candidates(rows: pd.DataFrame) -> pd.DataFrame:
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
