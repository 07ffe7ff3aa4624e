"""The surface that ``nu`` sets: what share of new targets does it reject?

Table: ``frozen/kept_rate``; the rule is in ``studies/plans/kept_rate.md``.
"""

from __future__ import annotations

import pandas as pd

from replication.findings import Numbers
from replication.statistics import cluster_interval


def kept_rate_summary(rows: pd.DataFrame) -> Numbers:
    """Measure the per cent of new targets rejected, by wanted rate; means over sets.

    ``at``: mean and interval of the leave-one-out surface; where a tenth is wanted ``least`` and
    ``most`` are its ends over the sets, and ``ball`` is the mean of the ball's own surface.
    """
    table = rows.groupby(["surface", "nu", "dataset"])["rejected"].mean()
    own, tenth = table["leave-one-out"], table["leave-one-out", 0.1]
    return {f"at_{100 * nu:.0f}": cluster_interval(own[nu]) for nu in (0.05, 0.1, 0.2)} | {
        "sets": rows["dataset"].nunique(),
        "least_10": tenth.min(), "most_10": tenth.max(), "ball_10": table["ball", 0.1].mean(),
    }  # fmt: skip
