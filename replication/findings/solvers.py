"""What general solvers return, how long the tables take, and problems that nobody would pose.

Tables: ``cvxpy_grid``, ``cvxpy_time``, ``fuzz``, and the two main tables.
"""

from __future__ import annotations

import pandas as pd

from replication.findings import Finding, finding, graded
from replication.layout import in_order, set_label
from replication.results import read_record, results_folder
from replication.statistics import cluster_interval
from replication.studies.general_solvers import estimate, selections
from replication.wording import signed

SOLVED_GAP = 1e-6
FUZZ_COLUMNS = {
    "kernel": "kernel",
    "negatives": "negatives",
    "ordinary": "ordinary",
    "solutions": "solutions",
    "optimal": "optimal",
    "radius_zero": "R² = 0",
    "not_converged": "not converged",
    "exceptions": "exceptions",
    "wrong": "wrong",
    "judged_exactly": "judged with 60 digits",
    "largest_gap": "largest gap",
}


def certified_share(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Per cent of the splits on which a solver's point is certified: exponents × costs."""
    rows = rows[rows["solver"] != "own"].assign(certified=rows["gap"] <= SOLVED_GAP)
    return {
        solver: 100 * part.pivot_table(index="p", columns="c", values="certified", aggfunc="mean")
        for solver, part in rows.groupby("solver")
    }


def after_selection(rows: pd.DataFrame) -> pd.DataFrame:
    """Test AUC after validation has chosen among a solver's cells, minus the certified grid's."""
    chosen = selections(rows)
    own = chosen["solver"] == "own"
    splits = ["dataset", "trial"]
    reference = chosen[own & (chosen["kept"] == "any point")].set_index(splits)["auc"]
    lines = {}
    for key, part in chosen[~own].groupby(["solver", "kept"], sort=False):
        difference = (part.set_index(splits)["auc"] - reference).dropna()
        found = cluster_interval(difference.groupby("dataset").mean())
        lines[key] = {
            "data sets": found.n, "mean difference": found.mean, "low": found.low,
            "high": found.high, "largest fall": difference.min(),
            "largest rise": difference.max(), "same": int((difference == 0).sum()),
        }  # fmt: skip
    return pd.DataFrame(lines).T.rename_axis(["solver", "cells kept"])


@finding("cvxpy_grid")
def general_solvers(rows: pd.DataFrame, tolerance: float = SOLVED_GAP) -> Finding:
    """How many cells of the paper's grid CVXPY's solvers solve to a certified gap."""
    others = rows[rows["solver"] != "own"]
    good, optimal = others["gap"] <= tolerance, others["status"] == "optimal"
    inaccurate = others["status"] == "optimal_inaccurate"
    solved = good.groupby(others["solver"]).agg(["sum", "size"])
    kinds = {"optimal": optimal, "inaccurate": inaccurate, "failed": ~optimal & ~inaccurate}
    kinds |= {"certified": good, "optimal, not certified": optimal & ~good}
    table = pd.DataFrame({
        name: 100 * kind.groupby(others["solver"]).mean() for name, kind in kinds.items()
    })  # fmt: skip
    table.insert(0, "cells", solved["size"])
    wrong, after = table["optimal, not certified"], after_selection(rows)
    facts = {
        "each": ", ".join(f"{n} {line['sum']} of {line['size']}" for n, line in solved.iterrows()),
        "sets": others["dataset"].nunique(),
        "names": in_order(others["dataset"].unique()),
        "splits": others["trial"].nunique(),
        "all_splits": len(rows[["dataset", "trial"]].drop_duplicates()),
        "low": table["certified"].min(),
        "high": table["certified"].max(),
        "wrong": wrong.max(),
        "wrong_name": wrong.idxmax(),
        "change_low": signed(after["mean difference"].min()),
        "change_high": signed(after["mean difference"].max()),
        "same_low": int(after["same"].min()),
        "same_high": int(after["same"].max()),
    }
    verdict = graded((solved["sum"] == solved["size"]).all(), solved["sum"].any())
    return Finding(verdict, facts, table)


@finding("cvxpy_time", "pure", "negatives")
def times(timed: pd.DataFrame, pure: pd.DataFrame, negatives: pd.DataFrame) -> Finding:
    """Seconds of both tables, here and estimated for CVXPY from a few timed cells per data set."""
    cost = estimate(timed, {"pure": pure, "negatives": negatives})
    here, there = (cost.groupby("setting")[f"{who}_seconds"].sum() for who in ("svdd", "cvxpy"))
    blocks = []
    for setting, part in cost.groupby("setting", sort=False):
        part, mark = part.set_index("dataset"), "" if setting == "pure" else "⁻"
        blocks.append(pd.DataFrame({
            f"n{mark}": part["n_train"].map("{:d}".format),
            f"here{mark}, s": part["svdd_seconds"].map("{:.1f}".format),
            f"CVXPY{mark}, s": part["cvxpy_seconds"].map("{:,.0f}".format),
            f"ratio{mark}": part["ratio"].map("{:,.0f}".format),
        }))  # fmt: skip
    table = pd.concat(blocks, axis=1)
    table = table.loc[in_order(table.index)].rename(index=set_label).rename_axis("data set")
    splits = [str(rows["trial"].nunique()) for rows in (pure, negatives)]
    facts = {
        "splits": " and ".join(dict.fromkeys(splits)),
        "pure": here["pure"],
        "negatives": here["negatives"] / 60,
        "cvxpy_pure": there["pure"] / 60,
        "cvxpy_negatives": there["negatives"] / 3600,
    }
    return Finding("", facts, table)


@finding("fuzz")
def fuzz(counts: pd.DataFrame) -> Finding:
    """The counts of ``make fuzz``: random problems, judged by 60-digit arithmetic."""
    record = read_record(results_folder() / "fuzz.csv")
    total = counts.sum(numeric_only=True)
    kinds = counts.groupby("ordinary")[["not_converged", "solutions"]].sum()
    stopped = 100.0 * kinds["not_converged"] / kinds["solutions"]
    facts = {
        "problems": int(record["signature"]["problems"]) if record else 0,
        "solutions": int(total["solutions"]),
        "exceptions": int(total["exceptions"]),
        "wrong": int(total["wrong"]),
        "stopped": int(total["not_converged"]),
        "stopped_share": 100.0 * total["not_converged"] / total["solutions"],
        "ordinary": int(kinds["solutions"].get(True, 0)),
        "stopped_ordinary": stopped.get(True, 0.0),
        "stopped_hostile": stopped.get(False, 0.0),
        "silent": int(total["unwarned"]),
    }
    table = counts[list(FUZZ_COLUMNS)].rename(columns=FUZZ_COLUMNS).set_index("kernel")
    table["negatives"] = table["negatives"].map({True: "in all", False: "none"})
    table["ordinary"] = table["ordinary"].map({True: "yes", False: "no"})
    return Finding("", facts, table)
