"""Reference methods that choose as the paper's do.

Tables: ``references`` beside ``pure``; the rule is in ``studies/plans/same_rule.md``.
"""

from __future__ import annotations

import pandas as pd

from replication.evidence import Difference, as_table, compare
from replication.findings import Finding, finding
from replication.statistics import mean_matrix
from replication.tables import method_label

WORDS = {"higher": "leads", "lower": "trails"}
ZERO, COMPONENTS = "KPCA", "KPCA, one component or more"


def said(found: Difference) -> str:
    """The word of the plan: leads, trails, is equivalent, or is not decided."""
    for state, word in WORDS.items():
        if found.state.startswith(state):
            return word
    return "is equivalent" if found.equivalent else "is not decided"


def beside_pure(references: pd.DataFrame, pure: pd.DataFrame) -> pd.DataFrame:
    """Rows of the references, and those of the paper's methods on the same splits."""
    columns = ["dataset", "method", "trial", "auc"]
    keys = references[["dataset", "trial"]].drop_duplicates()
    own = pure[pure["method"] != ZERO][columns].merge(keys, on=["dataset", "trial"])
    return pd.concat([own, references[columns]], ignore_index=True)


@finding("references", "pure")
def references(rows: pd.DataFrame, pure: pd.DataFrame) -> Finding:
    """lp-SVDD against references that choose on validation, and what KPCA's zero is worth."""
    both = beside_pure(rows, pure)
    names = list(dict.fromkeys(rows["method"]))
    found = compare(both, {method_label(name): ("lp-SVDD", name) for name in names})
    ranks = {}
    for left_out in (ZERO, COMPONENTS):
        kept = mean_matrix(both).drop(columns=[n for n in names if n not in {ZERO, COMPONENTS}])
        order = kept.drop(columns=left_out).rank(axis=1, ascending=False).mean().sort_values()
        ranks[left_out] = order
    with_zero, without = ranks[COMPONENTS], ranks[ZERO]
    facts = {
        "first_without": method_label(without.index[0]),
        "place_with": int((with_zero < with_zero["lp-SVDD"]).sum()) + 1,
        "place_without": int((without < without["lp-SVDD"]).sum()) + 1,
    }
    return Finding("", facts, as_table(found))
