"""Weights, range or exponent: what makes the weighted methods better, on other tables.

The rules are in ``studies/plans/weights_range_tables.md``; rows are those of
``weights_range_tables.csv``. Differences are in AUC points, one value a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from replication.evidence import compare_over_sets
from replication.findings import Numbers
from replication.heavy_tails import holm, p_equivalent, p_exists, p_positive

THREE_WEIGHTINGS = ("position", "density", "global-local")
FAMILY_LEVEL = 0.05
Values = Mapping[str, pd.Series]


class Reason(NamedTuple):
    """Which rules hold, their p-values after Holm, and the reason that they give."""

    weights_matter: bool
    range_matters: bool
    only_range: bool
    p_values: dict[str, float]

    @property
    def found(self) -> str:
        """Return the reason by the table of the plan."""
        if self.only_range:
            without = "the range, with a difference of the weights that does not matter"
            return without if self.weights_matter else "the range"
        if self.weights_matter:
            return "both" if self.range_matters else "the weights"
        return "undecided"


def by_table(rows: pd.DataFrame, first: str, second: str) -> pd.Series:
    """Return by how much one contestant is above another, on the tables where both have a cell."""
    aucs = rows.pivot_table(index="dataset", columns="contestant", values="auc", sort=False)
    for name in (first, second):
        if name not in aucs:
            raise ValueError(f"contestant {name!r} is not in the table")
    return (aucs[first] - aucs[second]).dropna()


def weighted_at(weighting: str, span: str = "wide", p: float = 1.0, kind: str = "") -> str:
    """Return the name of a contestant."""
    return f"{weighting}{kind}, {span}, p = {p:g}"


def meaning(rows: pd.DataFrame, p: float = 1.0, span: str = "wide") -> dict[str, pd.Series]:
    """Return by how much each weighting is above the same weights on permuted rows."""
    return {
        w: by_table(rows, weighted_at(w, span, p), weighted_at(w, span, p, " permuted"))
        for w in THREE_WEIGHTINGS
    }


def left_over(rows: pd.DataFrame) -> dict[str, pd.Series]:
    """Return by how much each weighting is above no weights, both over the wide range."""
    return {w: by_table(rows, weighted_at(w), weighted_at("none")) for w in THREE_WEIGHTINGS}


def range_gain(rows: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the gain of the wide range over the narrow one at p = 1, without and with weights."""
    return {
        w: by_table(rows, weighted_at(w), weighted_at(w, "narrow"))
        for w in ("none", *THREE_WEIGHTINGS)
    }


def lp_minus_weighted(rows: pd.DataFrame) -> dict[str, pd.Series]:
    """Return by how much lp with forty cells is above each weighting at p = 1, wide."""
    return {w: by_table(rows, "lp, 40 cells", weighted_at(w)) for w in THREE_WEIGHTINGS}


# -- verdicts --------------------------------------------------------------------------------------


def two_of(p_values: list[float]) -> float:
    """Return the p-value of "at least two of three": twice the second smallest (Bonferroni)."""
    return min(1.0, 2.0 * sorted(p_values)[1])


def reason(rows: pd.DataFrame) -> Reason:
    """Judge the three primary statements, one family, at p = 1."""
    means, lefts, gains = meaning(rows), left_over(rows), range_gain(rows)
    ranged = max(
        p_positive(gains["none"]), two_of([p_positive(gains[w]) for w in THREE_WEIGHTINGS])
    )
    within = [max(p_equivalent(means[w]), p_equivalent(lefts[w])) for w in THREE_WEIGHTINGS]
    corrected = holm({
        "weights matter": two_of([p_positive(means[w]) for w in THREE_WEIGHTINGS]),
        "range matters": ranged,
        "only the range": max(ranged, two_of(within)),
    })  # fmt: skip
    return Reason(*(p <= FAMILY_LEVEL for p in corrected.values()), corrected)


def claim_on_tables(rows: pd.DataFrame) -> Numbers:
    """Judge "lp improves on linear re-weighting as such" by its leads ``over`` each weighting."""
    over = {w: compare_over_sets(values) for w, values in lp_minus_weighted(rows).items()}
    above = sum(one.low > 0.0 for one in over.values())
    below = any(one.high < 0.0 for one in over.values())
    partly = "weaker than printed" if above and not below else "not reproduced"
    return {"over": over, "verdict": "holds" if above == len(over) else partly}


def weights_secondary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the secondary differences, their p-values after Holm, whether each holds."""
    positive = {
        f"{w}: p = {p:g} minus p = 1": by_table(rows, weighted_at(w, p=p), weighted_at(w))
        for w in THREE_WEIGHTINGS for p in (2.0, 5.0)
    } | {
        f"{w}: meaning at p = {p:g}": meaning(rows, p)[w]
        for w in THREE_WEIGHTINGS for p in (2.0, 5.0)
    }  # fmt: skip
    gains = range_gain(rows)
    either = {
        f"{w}: interaction with the range": (gains[w] - gains["none"]).dropna()
        for w in THREE_WEIGHTINGS
    }
    return judged_family(positive, either)


def judged_family(positive: Values, either: Values) -> pd.DataFrame:
    """Judge a family of statements: some need a positive difference, others any difference."""
    p_values = {name: p_positive(values) for name, values in positive.items()}
    p_values |= {name: p_exists(values) for name, values in either.items()}
    corrected = holm(p_values)
    return pd.DataFrame({
        name: {
            "difference": compare_over_sets(values),
            "p": p_values[name],
            "corrected": corrected[name],
            "holds": corrected[name] <= FAMILY_LEVEL,
        }
        for name, values in {**positive, **either}.items()
    }).T  # fmt: skip


def predicted(wanted: Mapping[str, tuple[float, float]], found: Values) -> pd.DataFrame:
    """Compare means with the ranges that a plan predicted."""
    means = {name: float(found[name].mean()) for name in wanted}
    return pd.DataFrame({
        name: {"low": low, "high": high, "found": means[name], "met": low <= means[name] <= high}
        for name, (low, high) in wanted.items()
    }).T  # fmt: skip


def weights_predictions(rows: pd.DataFrame) -> pd.DataFrame:
    """Compare the means with the ranges that the plan predicted at p = 1."""
    found, wanted = {"range, without weights": range_gain(rows)["none"]}, {}
    wanted["range, without weights"] = 1.0, 6.0
    for name, low, high, values in (
        ("meaning", -0.3, 0.8, meaning(rows)),
        ("left", -1.0, 1.0, left_over(rows)),
        ("lp minus weighted", -0.7, 0.7, lp_minus_weighted(rows)),
    ):
        found |= {f"{name}, {w}": values[w] for w in THREE_WEIGHTINGS}
        wanted |= {f"{name}, {w}": (low, high) for w in THREE_WEIGHTINGS}
    return predicted(wanted, found)
