"""Checks against the deciding experiments and the simulations of the bound in ``results/``."""

from __future__ import annotations

import math

import pandas as pd

from lpsvdd.bounds import lipschitz_printed
from replication.claims.ledger import UNDECIDABLE, Outcome, check, stored
from replication.printed import printed_matrix
from replication.results import stored_table
from replication.statistics import paired_interval, signed, worded


@check
def weight_of_negatives() -> Outcome:
    """Share of the paper's grid cells in which negatives carry weight, averaged over data sets.

    Holds when it is most cells of every data set, partly when it is any cell at all.
    """
    rows = stored("negative_weight").query("grid == 'paper'")
    share = (rows["with_weight"] / rows["cells"]).groupby(rows["dataset"]).mean() * 100
    facts = {
        "share": share.mean(),
        "lowest": share.min(),
        "highest": share.max(),
        "none": int((share == 0).sum()),
        "total": len(share),
    }
    partly = "holds partly" if (share > 0).any() else "not reproduced"
    return Outcome("holds" if (share > 50).all() else partly, facts)


@check
def target_class(dataset: str, stated: str, near: float = 5.0) -> Outcome:
    """Mean distance over the nine methods between the printed row and the rerun, by target class.

    Holds when the class named is the nearest and within ``near`` points; when another class is
    nearer, or none is near, the published numbers do not settle which class was used.
    """
    rows = stored("targets").query("dataset == @dataset")
    row = printed_matrix("pure").loc[dataset]
    means = rows.groupby(["variant", "method"], sort=False)["auc"].mean().unstack("method")
    apart = (means[row.index] - row).abs().mean(axis=1)
    facts = {
        "each": ", ".join(f"{name} {value:.1f}" for name, value in apart.items()),
        "nearest": apart.idxmin(),
    }
    settled = apart.idxmin() == stated and apart[stated] <= near
    return Outcome("holds" if settled else UNDECIDABLE, facts)


@check
def general_solvers(tolerance: float = 1e-6) -> Outcome:
    """How many cells of the paper's grid CVXPY's solvers solve to a certified gap."""
    rows = stored("cvxpy_grid").query("solver != 'own'")
    solved = (rows["gap"] <= tolerance).groupby(rows["solver"]).agg(["sum", "size"])
    each = (f"{name} {line['sum']} of {line['size']}" for name, line in solved.iterrows())
    facts = {
        "each": ", ".join(each),
        "sets": rows["dataset"].nunique(),
        "splits": rows["trial"].nunique(),
    }
    partly = "holds partly" if solved["sum"].any() else "not reproduced"
    return Outcome("holds" if (solved["sum"] == solved["size"]).all() else partly, facts)


@check
def gain_from_negatives() -> Outcome:
    """What labelled negatives add to lp on the same splits and kernels, here and in print.

    Between the two main tables the kernel width changes as well; that difference is a fact only.
    Holds when the average gain is at least half the printed one, partly when only its interval
    lies above zero.
    """
    rows = stored("negative_contest")
    base = "lp without negatives"
    found = paired_interval(rows, "lp with negatives", base)
    columns = ["dataset", "method", "trial", "auc"]
    tables = pd.concat([stored_table(setting)[columns] for setting in ("pure", "negatives")])
    stated = (
        printed_matrix("negatives", corrected=True)["lp-SVDD-"] - printed_matrix("pure")["lp-SVDD"]
    ).mean()
    facts = {
        "found": worded(found),
        "tables": worded(paired_interval(tables, "lp-SVDD-", "lp-SVDD")),
        "stated": signed(stated),
        "up": found.wins,
        "down": found.losses,
        "total": found.n,
        "means": worded(paired_interval(rows, "kernel mean difference", base)),
        "machine": worded(paired_interval(rows, "two-class SVM", base)),
    }
    partly = "holds partly" if found.low > 0 else "not reproduced"
    return Outcome("holds" if found.low > 0 and found.mean >= stated / 2 else partly, facts)


@check
def bound_coverage(delta: float = 0.05) -> Outcome:
    """How often the printed bound held in the simulation; the proof is another matter."""
    rows = stored("bound_coverage")
    lowest = rows["coverage_paper"].min()
    facts = {
        "lowest": 100 * lowest,
        "runs": f"{int(rows['repetitions'].sum()):,}",
        "vacuous": 100 * (rows["nonvacuous_paper"] == 0).mean(),
    }
    return Outcome("holds partly" if lowest >= 1 - delta else "not reproduced", facts)


@check
def bound_sample_size() -> Outcome:
    """For how many of the paper's exponents the printed bound can be below 1 at the paper's n.

    The best case: no slack, the best of five margins. The largest one-class training set is a
    third of the targets of the largest data set.
    """
    from lpsvdd.datasets import RECORDS

    largest = max(round(record.positives / 3) for record in RECORDS)
    rows = stored("bound_samplesize")
    rows = rows[(rows["form"] == "paper") & (rows["setting"] == "pure") & (rows["target"] == 1)]
    needed = rows[rows["margin"] != "grid"].groupby("p")["n"].min()
    needed = needed[needed.index > 1]
    below = int((needed <= largest).sum())
    facts = {"below": below, "total": len(needed), "largest": largest, "least": int(needed.min())}
    partly = "holds partly" if below else "not reproduced"
    return Outcome("holds" if below == len(needed) else partly, facts)


@check
def bound_at_one(slack: float = 0.5, n: float = 1e8) -> Outcome:
    """Whether p = 1 can fail to minimise the printed bound, and whether it did when simulated.

    Example: all slacks equal, margin 1, B = B_kappa = 1, R^2 = 0. For large n the complexity
    2 L · 2 B B_kappa / sqrt(n) vanishes and slack^p is left, which falls with p.
    """

    def total(p: float) -> float:
        constant = lipschitz_printed(p=p, margin=1.0, B=1.0, B_kappa=1.0, radius_sq=0.0)
        return slack**p + 4 * constant / math.sqrt(n)

    rows = stored("bound_terms").query("p == 1")
    facts = {"share": 100 * rows["best_paper"].min(), "one": total(1.0), "two": total(2.0)}
    if facts["two"] >= facts["one"]:
        return Outcome("not reproduced", facts)
    return Outcome("holds partly" if facts["share"] > 50 else "holds", facts)
