"""What general solvers return, and problems that nobody would pose.

Tables: ``cvxpy_grid``, ``fuzz``, and the benchmark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from lpsvdd.plots import PALETTE
from replication.benchmark.contestants import COLD, CVXPY_CONTESTANTS, PATH
from replication.figures import Draw, panels
from replication.findings import Finding, finding, graded
from replication.layout import in_order
from replication.results import read_record, results_folder
from replication.statistics import cluster_interval
from replication.studies.fuzz import HOSTILE
from replication.studies.general_solvers import selections
from replication.wording import signed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SOLVED_GAP = 1e-6
LOOKS = dict(
    zip(
        (COLD, PATH, *CVXPY_CONTESTANTS),
        zip(("blue", "sky", "vermillion", "orange", "green", "purple"), "oDsv^P", strict=True),
        strict=True,
    )
)
"""Colour and marker of a contestant of the benchmark."""
FUZZ_COLUMNS = {
    "kernel": "kernel",
    "negatives": "negatives",
    "solutions": "solutions",
    "optimal": "optimal",
    "radius_zero": "R² = 0",
    "not_converged": "not converged",
    "exceptions": "exceptions",
    "wrong": "wrong",
    "in_features": "centre in coordinates",
    "judged_exactly": "judged with 60 digits",
    "largest_gap": "largest gap",
}


def solved_share(table: pd.DataFrame, n: int, setting: str = "pure") -> dict[str, pd.DataFrame]:
    """Per cent of the cells that each contestant of the benchmark solves: exponents × costs."""
    rows = table[(table["experiment"] == "grid") & (table["setting"] == setting)]
    rows = rows[(rows["n"] == n) & rows["solved"].notna()].astype({"solved": float})
    return {
        name: 100 * part.pivot_table(index="p", columns="c", values="solved")
        for name, part in rows.groupby("contestant", sort=False)
    }


def draw_times(table: pd.DataFrame, setting: str = "pure") -> Draw:
    """Median seconds of the cells each contestant solves, against n, with one Cholesky beside it.

    Bars span the quartiles. Cells differ between contestants: each is shown on those it solves.
    """
    rows = table[(table["setting"] == setting) & table["experiment"].isin(["grid", "path"])]
    rows = rows[rows["solved"].fillna(False).astype(bool)]
    present = [name for name in LOOKS if (rows["contestant"] == name).any()]
    unit = table[(table["experiment"] == "unit") & (table["setting"] == setting)]

    def draw(narrow: bool) -> Figure:
        figure, (ax,) = panels(1, narrow=narrow, height=4.6 if narrow else 3.6)
        for k, name in enumerate(present):
            seconds = rows[rows["contestant"] == name].groupby("n")["seconds"]
            low, middle, high = (seconds.quantile(q) for q in (0.25, 0.5, 0.75))
            colour, marker = LOOKS[name]
            beside = middle.index * 1.02 ** (k - len(present) / 2)  # so that bars show
            ends = [middle - low, high - middle]
            look = {"color": PALETTE[colour], "marker": marker, "capsize": 2, "label": name}
            ax.errorbar(beside, middle, yerr=ends, **look)
        ax.plot(unit["n"], unit["seconds"], ":", color="black", label="one Cholesky factorisation")
        ticks = sorted(rows["n"].unique())
        ax.set(xscale="log", yscale="log", xlabel="n", ylabel="seconds per cell")
        ax.set_xticks(ticks, [str(n) for n in ticks])
        ax.minorticks_off()
        figure.legend(fontsize="small", loc=f"outside {'upper left' if narrow else 'center right'}")
        return figure

    return draw


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


@finding("fuzz")
def fuzz(counts: pd.DataFrame) -> Finding:
    """The counts of ``make fuzz``: random problems, judged by 60-digit arithmetic."""
    record = read_record(results_folder() / "fuzz.csv")
    total = counts.sum(numeric_only=True)
    kinds = counts.groupby(counts["kernel"].isin(HOSTILE))[["not_converged", "solutions"]].sum()
    stopped = 100.0 * kinds["not_converged"] / kinds["solutions"]
    facts = {
        "problems": int(record["signature"]["problems"]) if record else 0,
        "solutions": int(total["solutions"]),
        "exceptions": int(total["exceptions"]),
        "wrong": int(total["wrong"]),
        "stopped": int(total["not_converged"]),
        "stopped_share": 100.0 * total["not_converged"] / total["solutions"],
        "stopped_ordinary": stopped.get(False, 0.0),
        "stopped_hostile": stopped.get(True, 0.0),
        "silent": int(total["unwarned"]),
    }
    table = counts[list(FUZZ_COLUMNS)].rename(columns=FUZZ_COLUMNS).set_index("kernel")
    table["negatives"] = table["negatives"].map({True: "in all", False: "none"})
    return Finding("", facts, table)
