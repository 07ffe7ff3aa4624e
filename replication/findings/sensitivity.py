"""When p matters: numbers of ``exponent_sensitivity_share.csv`` and its frozen forerunner.

The rules are in ``studies/plans/exponent_sensitivity.md``. The sign r is a rank correlation of the
scores of p = 1 and 2; p matters on a table where their AUCs differ by more than half a point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from replication.evidence import MARGIN
from replication.heavy_tails import one_a_cluster, share_range

THRESHOLDS = (0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995)
CANDIDATES = ("loo", "held", "artificial")  # from cheap to dear
NEAR_BEST = 0.02  # a cheaper candidate is taken whose area is so near the largest
LEAST_SAME, MOST_WRONG = 60, 0.01  # design: pairs in "same", share of them above half a point
LEAST_DIFFERS, LEAST_RIGHT = 20, 0.6
JUDGED_SAME, SAFE = 100, 0.03  # judged: rules 1 and 2
JUDGED_DIFFERS, WARNS, WARNS_LOW = 20, 0.5, 1.0 / 3.0
BANDS = ("same", "unclear", "differs")


class Design(NamedTuple):
    """What the design tables choose."""

    areas: dict[str, float]
    candidate: str
    high: float
    low: float
    pairs: int
    matters: int


def size(rows: pd.DataFrame) -> pd.Series:
    """Return the absolute difference of the two AUCs."""
    return (rows["auc_1"] - rows["auc_2"]).abs()


def design(rows: pd.DataFrame) -> Design:
    """Choose the candidate and both thresholds by the plan, from rows of the design tables.

    ``areas``: under the curve with which a low sign finds what matters.
    """
    matters = size(rows) > MARGIN
    areas = {
        name: float(roc_auc_score(matters, -rows[f"{name}_1_2"].fillna(-1.0)))
        for name in CANDIDATES
    }
    best = max(areas.values())
    candidate = next(name for name, one in areas.items() if one >= best - NEAR_BEST)
    r = rows[f"{candidate}_1_2"]
    highs = [
        h for h in THRESHOLDS
        if (r >= h).sum() >= LEAST_SAME and matters[r >= h].mean() <= MOST_WRONG
    ]  # fmt: skip
    high = min(highs, default=THRESHOLDS[-1])
    lows = [
        t for t in THRESHOLDS
        if t <= high and (r < t).sum() >= LEAST_DIFFERS and matters[r < t].mean() >= LEAST_RIGHT
    ]  # fmt: skip
    low = max(lows, default=THRESHOLDS[0])
    return Design(areas, candidate, high, low, len(rows), matters.sum())


def judged(rows: pd.DataFrame, chosen: Design, width: str, level: float = 0.95) -> pd.DataFrame:
    """Return tables, and the share above half a point with its interval, for each band.

    ``rows`` are of one draw; one table stands for a cluster.
    """
    at = rows[rows["width"] == width].set_index("dataset")
    at = at.loc[one_a_cluster(at["auc_1"]).index]
    r, off = at[f"{chosen.candidate}_1_2"], size(at)
    bands = np.select([r >= chosen.high, r < chosen.low], ["same", "differs"], "unclear")
    lines = {}
    for band in BANDS:
        inside = off[bands == band] > MARGIN
        share = share_range(int(inside.sum()), len(inside), level)
        lines[band] = {"tables": len(inside), **share._asdict()}
    return pd.DataFrame(lines).T.rename_axis("band")


def same_is_safe(table: pd.DataFrame) -> bool:
    """Say whether enough tables are "same", and the upper end of their share is small (rule 1)."""
    same = table.loc["same"]
    return bool(same["tables"] >= JUDGED_SAME and same["high"] <= SAFE)


def differs_warns(table: pd.DataFrame) -> bool | None:
    """Say whether most tables in "differs" are above half a point (rule 2); None if too few."""
    differs = table.loc["differs"]
    if differs["tables"] < JUDGED_DIFFERS:
        return None
    return bool(differs["value"] >= WARNS and differs["low"] >= WARNS_LOW)


def band_table(rows: pd.DataFrame, chosen: Design, family: int) -> pd.DataFrame:
    """Return tables, per cent above half a point and whether the rule is met, by width and band.

    The intervals at "scale", which is secondary, are widened for a family of that many statements.
    """
    parts = {}
    for width, name in {"rule": "default", "chosen": "chosen", "scale": '"scale"'}.items():
        level = 1 - 0.05 / family if width == "scale" else 0.95
        one = judged(rows, chosen, width, level=level)
        met = {"same": same_is_safe(one), "differs": differs_warns(one)}
        share = (100 * one[["value", "low", "high"]]).set_axis(
            ["above half a point, %", "from", "to"], axis=1
        )
        parts[name] = share.assign(
            tables=one["tables"], met=[met.get(band, "") for band in one.index]
        )
    return pd.concat(parts, names=["width"])
