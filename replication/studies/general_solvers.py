"""What CVXPY returns on the paper's grid, and what validation would make of it.

For each cell (p, c) of the one-class grid the paper's dual is handed, unscaled, to Clarabel, ECOS
and SCS. ``cvxpy_grid`` keeps per cell the status, the time, the validation and test AUC of
whatever point came back (none if there is none) and those of the certified solution.
``selections`` then chooses on validation among (i) the certified solutions, (ii) the cells a
solver calls optimal, (iii) every cell in which it returned some point.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from lpsvdd.solver import certify, solve_path
from replication.methods import ScoredCell, centre_cell
from replication.paper import COSTS, EXPONENTS
from replication.protocol import Task, Trial, best_validation_cell, judge, outcome_row, prepare
from replication.runner import Row
from replication.studies.study import GRID, study

GENERAL_SOLVERS = ("CLARABEL", "ECOS", "SCS")
DATASETS = ("D1", "D2", "D7", "D11", "D12", "D17")
FIRST_TRIALS = 3


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
    K, rows = trial.kernels.K, []
    for own in solve_path(K, ps=EXPONENTS, cs=COSTS):
        answers: list[tuple] = [("own", own.status, None, own.gap, own.alpha)]
        for solver in GENERAL_SOLVERS:
            found = solve_dual(K, None, own.p, own.c, solver)
            gap = None
            if np.all(np.isfinite(found.alpha)):
                gap = certify(K, p=own.p, c=own.c, alpha=found.alpha).gap
            answers.append((solver, found.status, round(found.seconds, 4), gap, found.alpha))
        for solver, status, seconds, gap, alpha in answers:
            row: Row = {"dataset": task.dataset, "trial": task.trial, "p": own.p, "c": own.c}
            row |= {"solver": solver, "status": status, "seconds": seconds}
            rows.append(row | {"gap": None if gap is None else float(f"{gap:.1e}")}
                        | _aucs(trial, alpha))  # fmt: skip
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
