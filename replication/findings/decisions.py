"""What the chosen models decide, and how sparse they are (Sections 3.6 and 3.1).

Tables: ``decisions``, ``frozen/matched_sparsity``; rules in ``studies/plans``.
"""

from __future__ import annotations

import pandas as pd

from replication.findings import Numbers
from replication.statistics import cluster_interval, mean_matrix
from replication.tables import method_label


def rates_by_method(rows: pd.DataFrame) -> pd.DataFrame:
    """Average in per cent over data sets the means over splits; one line a method."""
    columns = {
        "empty": "empty balls", "reject": "targets rejected", "accept": "outliers accepted",
        "reject_calibrated": "rejected, leave-one-out",
        "accept_calibrated": "accepted, leave-one-out",
        "outside": "training rows outside", "support": "support vectors",
    }  # fmt: skip
    values = rows.assign(**{name: rows[name].astype(float) for name in columns})
    means = values.groupby(["method", "dataset"], sort=False)[list(columns)].mean()
    table = 100 * means.groupby("method", sort=False).mean()
    return table.rename(index=method_label, columns=columns).rename_axis("model")


def decision_summary(rows: pd.DataFrame) -> Numbers:
    """Measure per cent of empty balls and of targets rejected by the chosen models."""
    table = rates_by_method(rows)
    own, one = table.loc[method_label("lp-SVDD")], table.loc[method_label("l1-SVDD")]
    return {
        "empty": own["empty balls"],
        "reject": own["targets rejected"],
        "reject_calibrated": own["rejected, leave-one-out"],
        "reject_l1": one["targets rejected"],
    }


def sparsity(rows: pd.DataFrame, matched: pd.DataFrame) -> Numbers:
    """Compare the share of support vectors of the chosen lp, l1 and l2 models, in per cent.

    ``least_2``: the smallest share outside that a cost can reach at p = 2, mean over sets.
    """
    by_set = 100 * mean_matrix(rows, "support")
    return {name: by_set[f"{name}-SVDD"].mean() for name in ("lp", "l1", "l2")} | {
        "more": cluster_interval((by_set["lp-SVDD"] - by_set["l1-SVDD"]).dropna()),
        "least_2": 100 * matched.loc[matched["p"] == 2.0, "least_outside"].mean(),
    }
