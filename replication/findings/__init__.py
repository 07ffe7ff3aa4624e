"""What the stored tables say: functions from rows of a table to plain numbers.

    rows = read("common_range")
    lead(rows)["left"]              # Difference(mean=-0.10, low=-0.45, ...)
    f"{lead(rows)['left']}"         # −0.10 [−0.45, +0.26]

A finding returns a dict of numbers, names and differences, or a table; words are made where they
are read. Functions called ``draw_...`` return a drawing for :func:`replication.figures.show`.
``claims.yml`` names the finding behind each claim of the paper.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from replication import results

Numbers = dict[str, Any]
"""What a finding returns, by name."""


def read(name: str) -> pd.DataFrame:
    """Read a stored table, its contestants under the name ``method`` too."""
    rows = results.read(name)
    return rows.assign(method=rows["contestant"]) if "contestant" in rows else rows
