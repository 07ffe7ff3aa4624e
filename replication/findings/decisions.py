"""What the chosen models decide, and how sparse they are (Sections 3.6 and 3.1).

Tables: ``decisions``, ``matched_sparsity``, ``support``; rules in ``studies/plans``.
"""

from __future__ import annotations

import pandas as pd

from replication.findings import Finding, finding, graded
from replication.statistics import cluster_interval, trial_matrix
from replication.studies.ranges import TARGETS
from replication.tables import method_label
from replication.wording import worded

EMPTY_FEW, EMPTY_MANY = 5.0, 50.0
"""Per cent of empty balls: below the first the rule holds, from the second on it does not."""
OWN, ONE = "lp-SVDD", "l1-SVDD"


def rates_by_method(rows: pd.DataFrame) -> pd.DataFrame:
    """Per cent, mean over data sets of means over splits; one line a method, as they appear."""
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


@finding("decisions")
def decisions(rows: pd.DataFrame) -> Finding:
    """False rejection and acceptance of the chosen models, and how many balls are empty.

    Holds when fewer than 5 % of the chosen lp models are empty and they reject fewer than half of
    the targets; not reproduced when half of them or more are empty.
    """
    table = rates_by_method(rows)
    own = table.loc[method_label(OWN)]
    empty = 100 * rows.loc[rows["method"] == OWN, "empty"].astype(float).mean()
    facts = {
        "empty": empty,
        "reject": own["targets rejected"],
        "accept": own["outliers accepted"],
        "reject_calibrated": own["rejected, leave-one-out"],
        "accept_calibrated": own["accepted, leave-one-out"],
        "splits": int(rows.groupby("dataset")["trial"].nunique().min()),
        "sets": rows["dataset"].nunique(),
    }
    shown = {
        "{}_l1": "ℓ1-SVDD",
        "default_{}": "LpSVDD(nu=0.1)",
        "machine_{}": "OneClassSVM(nu=0.1)",
    }
    for key, model in shown.items():
        facts[key.format("reject")] = table.loc[model, "targets rejected"]
        facts[key.format("accept")] = table.loc[model, "outliers accepted"]
    clean = empty < EMPTY_FEW and own["targets rejected"] < 50.0
    return Finding(graded(clean, empty < EMPTY_MANY), facts, table)


@finding("decisions", "matched_sparsity")
def sparsity(rows: pd.DataFrame, matched: pd.DataFrame) -> Finding:
    """Has the lp model that is chosen fewer support vectors than the l1 model?

    Holds when the 95 % interval of the difference over clusters lies below zero, is not reproduced
    when it lies above, and holds partly otherwise. At equal shares outside, and at what shares can
    be reached, is stated beside it.
    """
    shares = trial_matrix(rows[rows["method"].isin([OWN, ONE, "l2-SVDD"])], "support")
    by_set = 100 * shares.groupby("dataset", sort=False).mean()
    more = cluster_interval((by_set[OWN] - by_set[ONE]).dropna())
    least = 100 * matched.groupby("p")["least_outside"].mean()
    columns = [f"support_at_{target:g}" for target in TARGETS]
    table = 100 * matched.groupby("p")[columns].mean().set_axis([100 * t for t in TARGETS], axis=1)
    facts = {
        "lp": float(by_set[OWN].mean()),
        "l1": float(by_set[ONE].mean()),
        "l2": float(by_set["l2-SVDD"].mean()),
        "more": worded(more),
        "least_2": float(least.loc[2.0]),
    }
    return Finding(graded(more.high < 0, not more.low > 0), facts, table)
