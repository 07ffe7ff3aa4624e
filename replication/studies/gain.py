r"""Where the gain comes from: support vectors, and the choice of p.

* ``support``: share of support vectors and R^2 at the certified optimum of each grid cell.
* ``choice_of_p``: lp with p and c tuned against each fixed p with c tuned, same splits.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from lpsvdd.solver import solve_path
from replication.paper import COSTS, EXPONENTS
from replication.protocol import Task
from replication.store import Row
from replication.studies.study import GRID, contestant_rows, is_feasible, paper_path, study
from replication.trial import judge, prepare

SUPPORT_LEVEL = 1e-6
"""A multiplier counts as zero below this share of the largest one."""


def summarise_support(rows: pd.DataFrame) -> pd.DataFrame:
    """Over the trials: mean share of support vectors, median R^2, share of cells with R^2 < 0."""
    rows = rows.astype({"support": float, "radius_sq": float})
    rows["negative_radius"] = np.where(rows["feasible"], rows["radius_sq"] < 0, np.nan)
    grouped = rows.groupby(["dataset", "p", "c"], sort=False)
    table = grouped.agg(
        trials=("feasible", "size"),
        feasible=("feasible", "sum"),
        support_mean=("support", "mean"),
        radius_sq_median=("radius_sq", "median"),
        negative_radius=("negative_radius", "mean"),
    ).reset_index()
    table["support_mean"] = table["support_mean"].round(4)
    table["radius_sq_median"] = table["radius_sq_median"].map(
        lambda value: value if np.isnan(value) else float(f"{value:.4g}")
    )
    return table


@study(
    "How do the number of support vectors and R^2 depend on p and c?",
    parameters=GRID | {"level": SUPPORT_LEVEL},
    finish=summarise_support,
)
def support(task: Task) -> list[Row]:
    """Support vectors and R^2 of every cell of the paper's grid, p = 1 included."""
    problem = prepare(task).kernels
    rows = []
    for found in solve_path(problem.K, ps=(1.0, *EXPONENTS), cs=COSTS):
        feasible = is_feasible(found)
        active = found.alpha > SUPPORT_LEVEL * found.alpha.max()
        rows.append(
            {
                "dataset": task.dataset,
                "p": found.p,
                "c": found.c,
                "feasible": feasible,
                "support": float(active.mean()) if feasible else None,
                "radius_sq": found.radius_sq if feasible else None,
            }
        )
    return rows


@study("Which p is chosen, how often, and what does choosing it cost?", parameters=GRID)
def choice_of_p(task: Task) -> list[Row]:
    """Tuned p against every fixed p, c tuned in all cases."""
    trial = prepare(task)
    cells = judge(trial, paper_path(trial.kernels))
    contestants = {"p tuned": cells}
    for p in EXPONENTS:
        contestants[f"p = {p:.4g}"] = [cell for cell in cells if cell.params["p"] == p]
    return contestant_rows(task, contestants)
