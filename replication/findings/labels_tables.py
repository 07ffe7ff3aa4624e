"""Labelled outliers on other tables: what they gain, and who makes the best use of them.

The rules are in ``studies/plans/labelled_outliers_tables.md``; rows are those of
``labelled_outliers_tables.csv``. Differences are in AUC points, one value a table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from replication.evidence import MARGIN, compare_over_sets
from replication.findings.weights_tables import FAMILY_LEVEL, by_table, judged_family, predicted
from replication.heavy_tails import holm, p_equivalent, p_exists, p_positive

WITH_LABELS, WITHOUT_LABELS = "lp-", "lp without labels"
RIVALS = ("difference of means", "two-class machine", "trees", "network")


class LabelVerdicts(NamedTuple):
    """What the three primary rules say, and their p-values after Holm.

    ``labels`` is "help notably", "help", "do not matter", "hurt" or "not decided"; ``p_helps`` and
    ``p_does_not_matter`` may both be true; ``worth`` is "worth recommending", "better: NAME" or
    "not decided".
    """

    labels: str
    p_helps: bool
    p_does_not_matter: bool
    worth: str
    p_values: dict[str, float]


def primary_differences(rows: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the differences that the primary statements are about."""
    return (
        {"labels": by_table(rows, WITH_LABELS, WITHOUT_LABELS)}
        | {f"p over {one}": by_table(rows, WITH_LABELS, one) for one in ("l1-", "l2-")}
        | {f"p, all over {one}": by_table(rows, "lp-, all", one) for one in ("l1-", "l2-")}
        | {f"over {rival}": by_table(rows, WITH_LABELS, rival) for rival in RIVALS}
    )


def label_verdicts(rows: pd.DataFrame) -> LabelVerdicts:
    """Judge the three primary statements.

    A statement with several outcomes enters the family with the smallest of their p-values; "below
    one of the rivals" counts four times the smallest, as any of four may be that one.
    """
    off = primary_differences(rows)
    labels = {"exists": p_exists(off["labels"]), "same": p_equivalent(off["labels"])}
    helps = max(p_positive(off[f"p over {one}"]) for one in ("l1-", "l2-"))
    same = max(p_equivalent(off[f"p, all over {one}"]) for one in ("l1-", "l2-"))
    below = {rival: p_positive(-off[f"over {rival}"]) for rival in RIVALS}
    worth = max(
        min(p_positive(off[f"over {rival}"]), p_equivalent(off[f"over {rival}"]))
        for rival in RIVALS
    )
    behind = min(1.0, len(RIVALS) * min(below.values()))
    smallest = {
        "labels": min(labels.values()), "p": min(helps, same), "worth": min(worth, behind),
    }  # fmt: skip
    corrected = holm(smallest)
    factor = {name: corrected[name] / smallest[name] for name in smallest if smallest[name] > 0.0}

    def holds(statement: str, p_value: float) -> bool:
        return p_value * factor.get(statement, 1.0) <= FAMILY_LEVEL

    found = compare_over_sets(off["labels"])
    said = "not decided"
    if holds("labels", labels["exists"]):
        said = "hurt" if found.mean < 0.0 else "help notably" if found.low > MARGIN else "help"
    elif holds("labels", labels["same"]):
        said = "do not matter"
    ahead = [
        rival for rival in RIVALS if holds("worth", min(1.0, len(RIVALS) * below[rival]))
    ]  # fmt: skip
    best = f"better: {', '.join(ahead)}" if ahead else "not decided"
    return LabelVerdicts(
        said, holds("p", helps), holds("p", same),
        "worth recommending" if holds("worth", worth) else best, corrected,
    )  # fmt: skip


def label_secondary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the secondary differences, their p-values after Holm, whether each exists."""
    users = ("l1-", "l2-", *RIVALS)
    either = {f"{one} over no labels": by_table(rows, one, WITHOUT_LABELS) for one in users}
    either |= {
        f"p over {one} at the chosen width": by_table(
            rows, "lp-, chosen width", f"{one}, chosen width"
        )
        for one in ("l1-", "l2-")
    }
    return judged_family({}, either)


def by_number_of_labels(rows: pd.DataFrame) -> pd.Series:
    """Average the gain from labels over thirds of the tables by number of labels (exploratory)."""
    labels = rows.groupby("dataset", sort=False)["labels"].first()
    off = by_table(rows, WITH_LABELS, WITHOUT_LABELS)
    third = np.minimum(labels[off.index].rank(method="first") * 3 // (len(off) + 1), 2)
    return off.groupby(third).mean()


def chosen_values(rows: pd.DataFrame, contestant: str, key: str) -> pd.Series:
    """Count how often the halves choose each value of p, nu or r, as shares (exploratory)."""
    own = rows[rows["contestant"] == contestant]
    cells = pd.concat([own["first"], own["second"]])
    return cells.str.extract(rf"\b{key}=(\S+)")[0].value_counts(normalize=True)


def label_predictions(rows: pd.DataFrame) -> pd.DataFrame:
    """Compare the means with the ranges that the plan predicted."""
    wanted = {
        "labels": (2.0, 10.0), "p, all over l2-": (-0.2, 0.5), "p over l1-": (-0.5, 1.0),
        "over trees": (-np.inf, -3.0), "over two-class machine": (-np.inf, -1.0),
        "over difference of means": (-2.0, 2.0),
    }  # fmt: skip
    return predicted(wanted, primary_differences(rows))
