"""How long the SVDD family's part of the main tables takes, here and through CVXPY.

``cvxpy_time`` solves, on the first split of each data set, a few cells of the paper's grid with
Clarabel through CVXPY and with the package's solver, in processor time on one thread.
``estimate`` multiplies CVXPY's times by the number of cells that the main tables solve with
p = 1, p = 2 and other p, over all trials, and sets them beside the seconds recorded in the
tables. Cells that failed count with the time they took to fail.
"""

from __future__ import annotations

import time

import pandas as pd

from lpsvdd.solver import solve
from replication.experiment import TRIALS, paper_methods
from replication.protocol import Task
from replication.store import Row
from replication.trial import prepare

SAMPLE = ((1.0, 1.0), (6 / 5, 0.1), (2.0, 0.1), (5.0, 0.1))
"""Cells (p, c) of the timed sample; each is feasible on every data set."""
LARGE = 1000
"""With more training rows than this only p = 2 is timed and stands for the others."""


def cvxpy_time(task: Task) -> list[Row]:
    """Seconds of one solve per sampled cell, by both solvers."""
    from lpsvdd.reference import solve_dual

    problem = prepare(task).kernel_task
    n = len(problem.y)
    solve_dual(problem.K[:3, :3], None, 2.0, 1.0, "CLARABEL")  # the first call imports CVXPY
    rows = []
    for p, c in SAMPLE if n <= LARGE else SAMPLE[2:3]:
        start = time.process_time()
        found = solve_dual(problem.K, problem.y, p, c, "CLARABEL")
        middle = time.process_time()
        own = solve(problem.K, problem.y, p=p, c=c)
        end = time.process_time()
        rows.append(
            {
                "dataset": task.dataset,
                "setting": task.setting,
                "n_train": n,
                "p": p,
                "c": c,
                "cvxpy_seconds": round(middle - start, 4),
                "cvxpy_status": found.status,
                "own_seconds": round(end - middle, 5),
                "own_gap": float(f"{own.gap:.1e}"),
            }
        )
    return rows


def cells_by_p(setting: str) -> dict[str, int]:
    """How many cells of one task the SVDD family solves with p = 1, p = 2, and other p."""
    counts = {"1": 0, "2": 0, "other": 0}
    for method in paper_methods(setting):
        name = method.name.rstrip("-")
        if name == "lp-SVDD":
            twos = sum(params["p"] == 2.0 for params in method.grid)
            counts["2"] += twos
            counts["other"] += len(method.grid) - twos
        elif name == "l2-SVDD":
            counts["2"] += len(method.grid)
        elif name.endswith("SVDD"):
            counts["1"] += len(method.grid)
    return counts


def estimate(sample: pd.DataFrame, tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Seconds per data set and setting for all trials: recorded here, estimated for CVXPY."""
    lines = []
    for (setting, dataset), part in sample.groupby(["setting", "dataset"], sort=False):
        seconds = part.set_index("p")["cvxpy_seconds"]
        two = seconds[2.0]
        other = seconds[[p for p in seconds.index if p not in (1.0, 2.0)]].mean()
        by_p = {"1": seconds.get(1.0, two), "2": two, "other": two if pd.isna(other) else other}
        counts = cells_by_p(setting)
        rows = tables[setting].query("dataset == @dataset")
        family = rows[rows["method"].str.contains("SVDD")]
        lines.append(
            {
                "setting": setting,
                "dataset": dataset,
                "n_train": int(part["n_train"].iloc[0]),
                "seconds": round(float(rows["seconds"].sum()), 2),
                "svdd_seconds": round(float(family["seconds"].sum()), 2),
                "cvxpy_seconds": round(TRIALS * sum(by_p[k] * counts[k] for k in counts), 1),
            }
        )
    table = pd.DataFrame(lines)
    table["ratio"] = (table["cvxpy_seconds"] / table["svdd_seconds"]).round(1)
    return table
