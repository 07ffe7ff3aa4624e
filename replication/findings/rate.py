"""The surface that ``nu`` sets: what share of new targets does it reject?

Table: ``kept_rate``; the rule is in ``studies/plans/kept_rate.md``.
"""

from __future__ import annotations

import pandas as pd

from replication.findings import Numbers
from replication.statistics import cluster_interval


def kept_rate_summary(rows: pd.DataFrame) -> Numbers:
    """Measure the per cent of new targets rejected, by wanted rate; means over sets.

    ``at``: mean and interval of the leave-one-out surface, ``least`` and ``most`` its ends over the
    sets, ``ball``: mean of the ball's own surface.
    """
    table = rows.groupby(["surface", "nu", "dataset"])["rejected"].mean()
    found: Numbers = {
        "sets": rows["dataset"].nunique(),
        "splits": int(rows.groupby("dataset")["trial"].nunique().min()),
    }
    for nu in sorted(rows["nu"].unique()):
        values, wanted = table["leave-one-out", nu], f"{100 * nu:.0f}"
        found |= {
            f"at_{wanted}": cluster_interval(values),
            f"least_{wanted}": values.min(),
            f"most_{wanted}": values.max(),
            f"ball_{wanted}": table["ball", nu].mean(),
        }
    return found
