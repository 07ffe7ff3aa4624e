"""Reference methods that choose as the paper's do, and columns that are constant in training.

Tables: ``references`` beside ``pure``, ``constant_columns``; the rule is in
``studies/plans/same_rule.md``.
"""

from __future__ import annotations

import pandas as pd

from replication.evidence import Difference, as_table, compare, weighed
from replication.findings import Finding, finding
from replication.printed import printed_matrix
from replication.statistics import mean_matrix
from replication.studies.references import PREPARATIONS
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
        "splits": int(rows.groupby("dataset")["trial"].nunique().min()),
        "with_zero": weighed(found[ZERO]),
        "without": weighed(found[COMPONENTS]),
        "first_with": method_label(with_zero.index[0]),
        "first_without": method_label(without.index[0]),
        "rank_without": float(without["lp-SVDD"]),
        "place_with": int((with_zero < with_zero["lp-SVDD"]).sum()) + 1,
        "place_without": int((without < without["lp-SVDD"]).sum()) + 1,
        "nn": weighed(found["nearest neighbours"]),
        "parzen": weighed(found["Parzen"]),
        "svm": weighed(found["OneClassSVM"]),
        "mean": weighed(found["kernel mean"]),
    }
    return Finding("", facts, as_table(found))


@finding("constant_columns")
def constant_columns(rows: pd.DataFrame, dataset: str = "D3") -> Finding:
    """What dividing constant columns by rounding noise does, and where it brings a set to print."""
    tables = {n: mean_matrix(rows[rows["preparation"] == n]) for n in PREPARATIONS}
    plain, noise = tables.values()
    facts = {
        "dataset": dataset,
        "before": float(plain.loc[dataset, "lp-SVDD"]),
        "after": float(noise.loc[dataset, "lp-SVDD"]),
        "printed": float(printed_matrix("pure").loc[dataset, "lp-SVDD"]),
        "sets": len(plain),
    }
    table = pd.concat(tables, axis=1).rename(columns=method_label, level=1)
    return Finding("", facts, table)
