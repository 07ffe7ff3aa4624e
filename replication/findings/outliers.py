"""What labelled outliers do: their weight, what they gain, and who else would use them (H3).

Tables: ``negative_weight``, ``negative_contest``, and the two main tables.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from replication.evidence import as_table, compare, comparison_of, weighed
from replication.findings import Finding, finding, graded
from replication.layout import in_order
from replication.paper import SIZES
from replication.printed import printed_matrix
from replication.protocol import FLAGGED, Task, auc
from replication.statistics import cluster_interval, mean_matrix
from replication.tables import method_label
from replication.trial import prepare
from replication.wording import signed, worded

WITHOUT = "lp without negatives"
PRINTED = "printed ℓp⁻"
WAYS = {
    "lp with negatives": "ℓp with outliers",
    "sum alpha = 1": "variant with Σα = 1",
    "kernel mean difference": "difference of kernel means",
    "two-class SVM": "two-class SVM",
}
"""Ways of using outliers that are compared with print."""
WIDE = "lp with negatives, wide costs"
ALL_WAYS = WAYS | {WIDE: "ℓp with outliers, wide costs"}
COLUMNS = ["dataset", "method", "trial", "auc"]
DISTRIBUTED = tuple(name for name in SIZES if name not in FLAGGED)
"""Data sets that everybody has: all but D4 and D5."""


@finding("negative_weight")
def weight(rows: pd.DataFrame) -> Finding:
    """Share of the paper's grid cells in which negatives carry weight, averaged over data sets.

    Holds when it is most cells of every data set, partly when it is any cell at all.
    """
    shares = rows.assign(share=100 * rows["with_weight"] / rows["cells"]).pivot_table(
        index="dataset", columns="grid", values="share"
    )
    table = shares.loc[in_order(shares.index)].rename(
        columns={"paper": "paper's grid", "wide": "wide costs"}
    )
    share = table["paper's grid"]
    facts = {
        "share": share.mean(),
        "lowest": share.min(),
        "highest": share.max(),
        "none": int((share == 0).sum()),
        "never": list(share.index[share == 0]),
        "total": len(share),
    }
    if "wide costs" in table:
        facts["wide"] = table["wide costs"].mean()
    verdict = graded((share > 50).all(), (share > 0).any())
    return Finding(verdict, facts, table.rename_axis(columns=None))


@finding("negative_contest", "pure", "negatives")
def outlier_gain(contest: pd.DataFrame, pure: pd.DataFrame, negatives: pd.DataFrame) -> Finding:
    """What labelled negatives add to lp on the same splits and kernels, here and in print.

    Between the two main tables the kernel width changes as well; that difference is a fact only.
    Holds when the average gain on the paper's grid is at least half the printed one, with an
    interval above zero; partly when only the interval lies above zero, on that grid or with wide
    costs ("can benefit" does not name a grid).
    """
    known = set(contest["method"])
    gains = compare(contest, {w: (m, WITHOUT) for m, w in ALL_WAYS.items() if m in known})
    found = gains[WAYS["lp with negatives"]]
    tables = pd.concat([pure[COLUMNS], negatives[COLUMNS]])
    stated = (
        printed_matrix("negatives", corrected=True)["lp-SVDD-"] - printed_matrix("pure")["lp-SVDD"]
    ).mean()
    facts = {
        "found": worded(found),
        "tables": worded(comparison_of(tables, "lp-SVDD-", "lp-SVDD")),
        "stated": signed(stated),
        "means": worded(gains[WAYS["kernel mean difference"]]),
        "machine": worded(gains[WAYS["two-class SVM"]]),
    }
    if "sum alpha = 1" in known:
        facts["variant"] = worded(gains[WAYS["sum alpha = 1"]])
    above = found.low > 0
    if WIDE in known:
        wide = gains[ALL_WAYS[WIDE]]
        facts["wide"] = worded(wide)
        above = above or wide.low > 0
    verdict = graded(found.low > 0 and found.mean >= stated / 2, above)
    return Finding(verdict, facts, as_table(gains))


def beside_print(contest: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC of four ways of using outliers and the printed column of lp with negatives."""
    means = mean_matrix(contest)
    column = printed_matrix("negatives", corrected=True)["lp-SVDD-"]
    table = means[list(WAYS)].rename(columns=WAYS).assign(**{PRINTED: column})
    return table.loc[in_order(means.index)]


@finding("negative_contest")
def outlier_print(contest: pd.DataFrame) -> Finding:
    """How far four ways of using outliers are from the printed column of lp with outliers."""
    shown = beside_print(contest)
    distance = shown.sub(shown[PRINTED], axis=0).abs()
    own = WAYS["lp with negatives"]
    lines = {}
    for name in WAYS.values():
        apart = cluster_interval(distance[name])
        lines[name] = {
            "distance": f"{apart.mean:.1f} ({apart.low:.1f} to {apart.high:.1f})",
            "here − print": worded(cluster_interval(shown[name] - shown[PRINTED])),
            "nearer": f"{(distance[name] < distance[own]).sum()} of {len(shown)}",
            "correlation": f"{shown[name].corr(shown[PRINTED]):.2f}",
        }
    facts = {
        "apart": distance[own].mean(),
        "apart_svm": distance[WAYS["two-class SVM"]].mean(),
    }
    return Finding("", facts, pd.DataFrame(lines).T.rename_axis("way"))


@finding("pure", "negatives")
def who_uses_outliers(pure: pd.DataFrame, negatives: pd.DataFrame) -> Finding:
    """What labelled negatives change for l1, l2 and lp between the two tables.

    The same splits; the kernel width changes as well. Holds when lp gains and gains more than both
    others, with intervals above zero; partly when it gains.
    """
    rows = pd.concat([pure[COLUMNS], negatives[COLUMNS]])
    rows = rows[rows["trial"] <= negatives["trial"].max()]
    names = ("l1-SVDD", "l2-SVDD", "lp-SVDD")
    found = {name: comparison_of(rows, f"{name}-", name) for name in names}
    facts = {"each": "; ".join(f"{method_label(n)} {weighed(d)}" for n, d in found.items())}
    lp = found["lp-SVDD"]
    most = all(lp.mean > found[name].mean for name in names[:2])
    return Finding(graded(lp.low > 0 and most, lp.low > 0), facts)


@finding()
def process_with_outliers(
    names: tuple[str, ...] = DISTRIBUTED, noise: float = 0.1, label: float = -1.0
) -> Finding:
    """A Gaussian process regressed on +1 and ``label`` against one regressed on the +1 alone.

    Test AUC on the first split of every set that is distributed. The claim that a GP cannot use
    negatives directly is not reproduced when the 95 % interval of the gain lies above zero.
    """
    gains = {}
    for name in names:
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
    gain = cluster_interval(pd.Series(gains))
    facts = {"gain": worded(gain), "sets": len(names)}
    return Finding("not reproduced" if gain.low > 0 else "holds", facts)
