r"""What CVXPY returns on the paper's grid, what validation would make of it, how long it takes.

For each cell (p, c) of the one-class grid the paper's dual is handed, unscaled, to Clarabel, ECOS
and SCS. ``cvxpy_grid`` keeps per cell the status, the time, the validation and test AUC of
whatever point came back (none if there is none) and those of the certified solution.
``selections`` then chooses on validation among (i) the certified solutions, (ii) the cells a
solver calls optimal, (iii) every cell in which it returned some point.

``cvxpy_time`` solves, on the first split of each data set, a few cells of the paper's grid with
Clarabel through CVXPY and with the package's solver, in processor time on one thread.
``estimate`` multiplies CVXPY's times by the number of cells that the main tables solve with
p = 1, p = 2 and other p, over all trials, and sets them beside the seconds recorded in the
tables. Cells that failed count with the time they took to fail.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import pandas as pd

from lpsvdd.solver import certify, solve, solve_path
from replication.experiment import paper_methods
from replication.methods import ScoredCell, centre_cell
from replication.paper import COSTS, EXPONENTS, SETTINGS
from replication.protocol import Task, Trial, best_validation_cell, judge, outcome_row, prepare
from replication.runner import Row
from replication.studies.study import GRID, splits, study

GENERAL_SOLVERS = ("CLARABEL", "ECOS", "SCS")
DATASETS = ("D1", "D2", "D7", "D11", "D12", "D17")
FIRST_TRIALS = 3
TIMED_CELLS = ((1.0, 1.0), (6 / 5, 0.1), (2.0, 0.1), (5.0, 0.1))
"""Cells (p, c) of the timed sample; each is feasible on every data set."""
LARGE = 1000
"""With more training rows than this only p = 2 is timed and stands for the others."""


def _aucs(trial: Trial, alpha: np.ndarray) -> Row:
    finite = bool(np.all(np.isfinite(alpha)))
    cell = centre_cell(trial.kernels, alpha) if finite else ScoredCell({}, None)
    found = outcome_row(judge(trial, [cell])[0])
    return {"auc_val": found["auc_val"], "auc": found["auc"]}


@study(
    "What do CVXPY's solvers return on the paper's grid?",
    names=DATASETS,
    trials=FIRST_TRIALS,
    parameters=GRID | {"solvers": GENERAL_SOLVERS},
)
def cvxpy_grid(task: Task) -> list[Row]:
    """Return one row per cell and solver, and one per cell for the certified solution ("own")."""
    from lpsvdd.reference import solve_dual

    trial = prepare(task)
    K = trial.kernels.K
    rows = []
    for own in solve_path(K, ps=EXPONENTS, cs=COSTS):
        head = {"dataset": task.dataset, "trial": task.trial, "p": own.p, "c": own.c}
        answer = {"solver": "own", "status": own.status, "seconds": None}
        rows.append(head | answer | {"gap": float(f"{own.gap:.1e}")} | _aucs(trial, own.alpha))
        for solver in GENERAL_SOLVERS:
            found = solve_dual(K, None, own.p, own.c, solver)
            gap = None
            if np.all(np.isfinite(found.alpha)):
                gap = float(f"{certify(K, p=own.p, c=own.c, alpha=found.alpha).gap:.1e}")
            answer = {"solver": solver, "status": found.status, "seconds": round(found.seconds, 4)}
            rows.append(head | answer | {"gap": gap} | _aucs(trial, found.alpha))
    return rows


def selections(rows: pd.DataFrame) -> pd.DataFrame:
    """Select on validation from each solver's answers, with and without the doubtful ones."""
    table = []
    for (dataset, trial, solver), part in rows.groupby(["dataset", "trial", "solver"], sort=False):
        rules = {"optimal": part["status"] == "optimal", "any point": part["auc"].notna()}
        for rule, kept in rules.items():
            usable = part[kept & part["auc"].notna()]
            chosen = best_validation_cell(usable["auc_val"].tolist())
            line = {"dataset": dataset, "trial": trial, "solver": solver, "kept": rule}
            line["cells"] = len(usable)
            if chosen is not None:
                line |= usable.iloc[chosen][["p", "c", "status", "auc_val", "auc"]].to_dict()
            table.append(line)
    return pd.DataFrame(table)


@study(
    "How long does one cell take through CVXPY, and here?",
    tasks=partial(splits, settings=SETTINGS),
    trials=1,
    parameters={"sample": TIMED_CELLS, "large": LARGE},
)
def cvxpy_time(task: Task) -> list[Row]:
    """Time one solve per sampled cell, by both solvers."""
    from lpsvdd.reference import solve_dual

    problem = prepare(task).kernels
    n = len(problem.y)
    solve_dual(problem.K[:3, :3], None, 2.0, 1.0, "CLARABEL")  # the first call imports CVXPY
    rows = []
    for p, c in TIMED_CELLS if n <= LARGE else TIMED_CELLS[2:3]:
        start = time.process_time()
        found = solve_dual(problem.K, problem.y, p, c, "CLARABEL")
        middle = time.process_time()
        own = solve(problem.K, problem.y, p=p, c=c)
        end = time.process_time()
        rows.append({
            "dataset": task.dataset, "setting": task.setting, "n_train": n, "p": p, "c": c,
            "cvxpy_seconds": round(middle - start, 4), "cvxpy_status": found.status,
            "own_seconds": round(end - middle, 5), "own_gap": float(f"{own.gap:.1e}"),
        })  # fmt: skip
    return rows


def cells_by_p(setting: str) -> dict[str, int]:
    """Count the cells of one task that the SVDD family solves with p = 1, p = 2 and other p."""
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
    """Return seconds of all trials per data set and setting: recorded, and estimated for CVXPY."""
    lines = []
    for (setting, dataset), part in sample.groupby(["setting", "dataset"], sort=False):
        seconds = part.set_index("p")["cvxpy_seconds"]
        two = seconds[2.0]
        other = seconds[[p for p in seconds.index if p not in (1.0, 2.0)]].mean()
        by_p = {"1": seconds.get(1.0, two), "2": two, "other": two if pd.isna(other) else other}
        counts = cells_by_p(setting)
        rows = tables[setting].query("dataset == @dataset")
        splits = rows["trial"].nunique()
        family = rows[rows["method"].str.contains("SVDD")]
        lines.append({
            "setting": setting, "dataset": dataset, "n_train": int(part["n_train"].iloc[0]),
            "seconds": round(float(rows["seconds"].sum()), 2),
            "svdd_seconds": round(float(family["seconds"].sum()), 2),
            "cvxpy_seconds": round(splits * sum(by_p[k] * counts[k] for k in counts), 1),
        })  # fmt: skip
    table = pd.DataFrame(lines)
    table["ratio"] = (table["cvxpy_seconds"] / table["svdd_seconds"]).round(1)
    return table
