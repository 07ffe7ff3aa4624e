"""What labelled outliers do: their weight, what they gain, and who else would use them (H3).

Tables: ``frozen/negative_weight``, ``negative_contest``, and the two main tables.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from replication.evidence import compare, compare_over_sets, comparison_of
from replication.findings import Numbers
from replication.findings.labels_tables import WITHOUT_LABELS
from replication.findings.weights_tables import by_table
from replication.layout import in_order
from replication.paper import SIZES
from replication.printed import printed_matrix
from replication.protocol import FLAGGED, Task, auc, prepare
from replication.statistics import cluster_interval, mean_matrix

WITHOUT = "lp without negatives"
PRINTED = "printed ℓp⁻"
WAYS = {
    "lp with negatives": "ℓp with outliers",
    "sum alpha = 1": "variant with Σα = 1",
    "kernel mean difference": "difference of kernel means",
    "two-class SVM": "two-class SVM",
}
"""Ways of using outliers that are compared with print."""
WIDE_WAY = "lp with negatives, wide costs"
ALL_WAYS = WAYS | {WIDE_WAY: "ℓp with outliers, wide costs"}
DISTRIBUTED = tuple(name for name in SIZES if name not in FLAGGED)
"""Data sets that everybody has: all but D4 and D5."""


def weight(rows: pd.DataFrame) -> Numbers:
    """Measure in how many cells of the grids labelled outliers carry weight, in per cent."""
    shares = 100 * rows["with_weight"] / rows["cells"]
    table = rows.assign(share=shares).pivot_table(index="dataset", columns="grid", values="share")
    share = table.loc[in_order(table.index), "paper"]
    never = list(share.index[share == 0])
    return {"share": share.mean(), "highest": share.max(), "never": never, "total": len(share)}


def labels_on_tables(rows: pd.DataFrame) -> Numbers:
    """Compare l1, l2 and lp with labelled outliers with lp without them, on other tables."""
    gain = {
        n: compare_over_sets(by_table(rows, f"{n}-", WITHOUT_LABELS)) for n in ("l1", "l2", "lp")
    }
    return {"gain": gain, "tables": rows["dataset"].nunique()}


def outlier_gain(
    contest: pd.DataFrame, pure: pd.DataFrame, negatives: pd.DataFrame, others: pd.DataFrame
) -> Numbers:
    """Compare ways of using labelled outliers with lp without them, same splits and kernels.

    ``found``: lp on the paper's grid, ``wide``: with costs up to 1000. ``tables``: lp between the
    two main tables, where the kernel width changes as well; ``printed``: the same in print.
    ``elsewhere``: lp on ``count`` other tables.
    """
    on_tables = labels_on_tables(others)
    gains = compare(contest, {m: (m, WITHOUT) for m in ALL_WAYS if m != "sum alpha = 1"})
    rows = pd.concat([pure, negatives])
    stated = printed_matrix("negatives", corrected=True)["lp-SVDD-"]
    return {
        "found": gains["lp with negatives"],
        "wide": gains[WIDE_WAY],
        "machine": gains["two-class SVM"],
        "elsewhere": on_tables["gain"]["lp"],
        "count": on_tables["tables"],
        "tables": comparison_of(rows, "lp-SVDD-", "lp-SVDD"),
        "printed": float((stated - printed_matrix("pure")["lp-SVDD"]).mean()),
    }


def beside_print(contest: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC of four ways of using outliers and the printed column of lp with negatives."""
    means = mean_matrix(contest)
    column = printed_matrix("negatives", corrected=True)["lp-SVDD-"]
    table = means[list(WAYS)].rename(columns=WAYS).assign(**{PRINTED: column})
    return table.loc[in_order(means.index)]


def outlier_print(contest: pd.DataFrame) -> pd.DataFrame:
    """Tabulate how far four ways of using outliers are from the printed column of lp."""
    shown = beside_print(contest)
    distance = shown.sub(shown[PRINTED], axis=0).abs()
    own = WAYS["lp with negatives"]
    lines = {
        name: {
            "distance": format(cluster_interval(distance[name]), "-.1f"),
            "here − print": format(cluster_interval(shown[name] - shown[PRINTED])),
            "nearer": f"{(distance[name] < distance[own]).sum()} of {len(shown)}",
            "correlation": f"{shown[name].corr(shown[PRINTED]):.2f}",
        }
        for name in WAYS.values()
    }
    return pd.DataFrame(lines).T.rename_axis("way")


def process_with_outliers(label: float = -1.0, noise: float = 0.1) -> Numbers:
    """Compare a Gaussian process regressed on +1 and ``label`` with one regressed on +1 alone.

    Test AUC on the first split of every set that is distributed.
    """
    gains = {}
    for name in DISTRIBUTED:
        trial = prepare(Task(name, "negatives", 0))
        kernels, m = trial.kernels, len(trial.y_validation)
        positive = kernels.y > 0
        both = np.linalg.solve(
            kernels.K + noise * np.eye(len(positive)), np.where(positive, 1.0, label)
        )
        block = kernels.K[np.ix_(positive, positive)]
        alone = np.linalg.solve(block + noise * np.eye(len(block)), np.ones(len(block)))
        scores = kernels.K_eval @ both, kernels.K_eval[:, positive] @ alone
        one, two = (auc(values[m:], trial.y_test) for values in scores)
        gains[name] = one - two
    return {"gain": cluster_interval(pd.Series(gains)), "sets": len(gains)}
