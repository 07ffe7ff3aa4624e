"""When p matters: numbers of ``exponent_sensitivity.csv`` and ``exponent_sensitivity_share.csv``.

The rules are in ``studies/plans/exponent_sensitivity.md``. The sign r is a rank correlation of the
scores of two exponents; p matters on a table where their AUCs differ by more than half a point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from replication.evidence import MARGIN
from replication.heavy_tails import one_a_cluster, share_range

THRESHOLDS = (0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995)
CANDIDATES = {"loo": "leave-one-out", "held": "held-out", "artificial": "held-out and artificial"}
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


def difference(rows: pd.DataFrame, pair: str = "1_2") -> pd.Series:
    """Return the AUC of the second exponent minus that of the first, for 1-2 with reversed sign."""
    first, second = pair.split("_")
    off = rows[f"auc_{second}"] - rows[f"auc_{first}"]
    return -off if pair == "1_2" else off


def area(sign: pd.Series, matters: pd.Series) -> float:
    """Return the area under the curve with which a low sign finds what matters."""
    r, hit = rankdata(-sign.fillna(-1.0)), matters.to_numpy()
    hits, rest = hit.sum(), (~hit).sum()
    return float((r[hit].sum() - hits * (hits + 1) / 2) / (hits * rest))


def design(rows: pd.DataFrame) -> Design:
    """Choose the candidate and both thresholds by the plan, from rows of the design tables."""
    matters = difference(rows).abs() > MARGIN
    areas = {name: area(rows[f"{name}_1_2"], matters) for name in CANDIDATES}
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
    return Design(
        areas, candidate, high, max(lows, default=THRESHOLDS[0]), len(rows), matters.sum()
    )


def bands_of(sign: pd.Series, chosen: Design) -> pd.Series:
    """Return the band of each table."""
    words = np.select([sign >= chosen.high, sign < chosen.low], ["same", "differs"], "unclear")
    return pd.Series(words, index=sign.index)


def judged(
    rows: pd.DataFrame, chosen: Design, width: str, pair: str = "1_2", *,
    sign: str | None = None, level: float = 0.95,
) -> pd.DataFrame:  # fmt: skip
    """Return tables, and the share above half a point with its interval, for each band.

    ``rows`` are of one draw; one table stands for a cluster.
    """
    at = rows[rows["width"] == width].set_index("dataset")
    at = at.loc[one_a_cluster(at["auc_1"]).index]
    matters = difference(at, pair).abs() > MARGIN
    bands = bands_of(at[f"{sign or chosen.candidate}_{pair}"], chosen)
    lines = {}
    for band in BANDS:
        inside = matters[bands == band]
        share = share_range(int(inside.sum()), len(inside), level)
        size = difference(at, pair).abs()[bands == band].mean()
        lines[band] = {"tables": len(inside), **share._asdict(), "mean size": size}
    return pd.DataFrame(lines).T.rename_axis("band")


def same_is_safe(table: pd.DataFrame) -> bool:
    """Rule 1: enough tables in "same", and the upper end of their share is small."""
    same = table.loc["same"]
    return bool(same["tables"] >= JUDGED_SAME and same["high"] <= SAFE)


def differs_warns(table: pd.DataFrame) -> bool | None:
    """Rule 2: most tables in "differs" are above half a point. None: too few tables to decide."""
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
