"""From the table of measurements to the few numbers that matter."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from replication import results
from replication.benchmark.contestants import COLD, CVXPY_CONTESTANTS, PATH, SVM, SVM_TIGHT

CELL_COLUMNS = ["setting", "n", "p", "c", "c_neg"]


def read(path: str | Path) -> pd.DataFrame:
    """The table with ``solved`` as True, False or missing (not run, or not a solve)."""
    table = results.read(Path(path))
    table["solved"] = (
        table["solved"].astype("string").str.lower().map({"true": True, "false": False})
    )
    table["solved"] = table["solved"].astype("boolean")
    table["c_neg"] = table["c_neg"].fillna(0.0)  # a value that joins compare as equal
    return table


def certified(table: pd.DataFrame) -> pd.DataFrame:
    """Cells solved (referee's gap within the threshold) of cells run, by setting, n, contestant."""
    rows = table[table["experiment"].isin(["grid", "path"])]
    grouped = rows.groupby(["setting", "n", "contestant"], sort=False)
    counts = grouped["solved"].agg(solved="sum", run="count")
    return counts.astype(int).reset_index()


def disagreements(table: pd.DataFrame) -> pd.DataFrame:
    """Cells a contestant calls optimal although the referee finds a larger gap, by contestant."""
    rows = table[table["experiment"].isin(["grid", "path", "p = 1"]) & table["solved"].notna()]
    rows = rows.assign(
        claimed=rows["status"] == "optimal",
        claimed_not_solved=(rows["status"] == "optimal") & ~rows["solved"].astype(bool),
        solved_not_claimed=(rows["status"] != "optimal") & rows["solved"].astype(bool),
    )
    names = ["claimed", "claimed_not_solved", "solved_not_claimed"]
    return rows.groupby("contestant", sort=False)[names].sum().reset_index()


def ratios(table: pd.DataFrame) -> pd.DataFrame:
    """Median over cells solved by both of (time of a CVXPY contestant) / (our time).

    Columns: ``cold`` against one solve, ``path`` against a cell of the path, ``solver_only``
    against one solve counting only the share of the time spent inside the CVXPY solver.
    """
    solved = table[table["solved"].fillna(False).astype(bool)]
    grid, path = solved[solved["experiment"] == "grid"], solved[solved["experiment"] == "path"]
    mine = grid[grid["contestant"] == COLD].set_index(CELL_COLUMNS)["seconds"]
    share = path.set_index(CELL_COLUMNS)["seconds"]
    result = []
    for name in CVXPY_CONTESTANTS:
        theirs = grid[grid["contestant"] == name].set_index(CELL_COLUMNS)
        both = theirs.assign(mine=mine, share=share).reset_index()
        for n, group in both.groupby("n"):
            inside = group["solver_seconds"] / group["wall_seconds"]
            result.append(
                {
                    "contestant": name,
                    "n": n,
                    "cells": int(group["mine"].notna().sum()),
                    "cold": (group["seconds"] / group["mine"]).median(),
                    "path": (group["seconds"] / group["share"]).median(),
                    "solver_only": (inside * group["seconds"] / group["mine"]).median(),
                }
            )
    columns = ["contestant", "n", "cells", "cold", "path", "solver_only"]
    return pd.DataFrame(result, columns=columns)


def costs(table: pd.DataFrame) -> pd.DataFrame:
    """Our times in milliseconds and in Cholesky factorisations, iterations, path against cold."""
    mine = table[(table["experiment"] == "grid") & (table["contestant"] == COLD)]
    turns = table[table["experiment"] == "turns"].set_index(["contestant", "setting", "n"])[
        "seconds"
    ]
    groups = mine.groupby(["setting", "n"], sort=False)
    result = groups.agg(
        median_ms=("seconds", lambda s: 1e3 * s.median()),
        cholesky_median=("cholesky_units", "median"),
        cholesky_worst=("cholesky_units", "max"),
        iterations_median=("n_iter", "median"),
        iterations_worst=("n_iter", "max"),
        worst_gap=("gap", "max"),
    )
    result["path_over_cold"] = turns.loc[PATH] / turns.loc[COLD]
    return result.reset_index()


def at_p_one(table: pd.DataFrame) -> pd.DataFrame:
    """p = 1: median time and largest gap by n and contestant."""
    rows = table[table["experiment"] == "p = 1"]
    grouped = rows.groupby(["n", "contestant"], sort=False)
    result = grouped.agg(
        cells=("solved", "count"),
        solved=("solved", "sum"),
        median_ms=("seconds", lambda s: 1e3 * s.median()),
        worst_gap=("gap", "max"),
    )
    return result.reset_index()


def memory(table: pd.DataFrame) -> pd.DataFrame:
    """Peak memory of a solve in n x n doubles, K included: the worst of the cells measured."""
    rows = table[table["experiment"] == "memory"].rename(columns={"status": "measured_as"})
    return rows.groupby(["n", "measured_as"], sort=False)["memory"].max().reset_index()


def report(table: pd.DataFrame) -> str:
    """Everything above as text."""
    counts = certified(table)
    counts["cells"] = counts["solved"].astype(str) + "/" + counts["run"].astype(str)
    wide = counts.pivot_table(
        index=["setting", "n"], columns="contestant", values="cells", aggfunc="first", sort=False
    )
    order = [name for name in (COLD, PATH, *CVXPY_CONTESTANTS) if name in wide.columns]
    environment = table.iloc[-1]
    sections = {
        "Cells solved / run": wide[order].reset_index(),
        "Median time ratio to ours, cells both solve": ratios(table),
        "Our cost": costs(table),
        f"p = 1, against {SVM} and {SVM_TIGHT}": at_p_one(table),
        "What contestants claim and what the referee finds": disagreements(table),
        "Peak memory": memory(table),
    }
    text = [
        f"{environment['cpu']}, {environment['threads']} thread, {environment['platform']}, "
        f"Python {environment['python']}\n{environment['versions']}"
    ]
    for title, content in sections.items():
        text.append(f"{title}\n{content.to_string(index=False, float_format=_number)}")
    return "\n\n".join(text)


def _number(value: float) -> str:
    return f"{value:.1e}" if 0.0 < abs(value) < 1e-2 else f"{value:.4g}"
