r"""p as a change of nu: for each (p, c) the l1 model that ranks the test points most alike.

The l1 models are those of nu = 1/60, 2/60, ..., 1 and the hard ball. Likeness is Spearman's
correlation of the scores of the test rows; labels play no part in the match. ``left`` is the test
AUC of (p, c) minus that of its match: what p brings that no nu does.

As a control l1 models with nu between those values are matched too: what two members of one family
differ by when they are as near as the list allows.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from lpsvdd.solver import solve_path
from replication.experiment import splits
from replication.methods import ScoredCell, centre_cell
from replication.paper import COSTS, EXPONENTS
from replication.protocol import Options, Trial, drop_fine_digits, judge, prepare
from replication.runner import Row
from replication.studies.study import FRESH, VariantTask, paper_path, study

NU_STEPS = 60
CONTROL = (4.5, 15.5, 30.5, 45.5)
WIDTH_FACTORS = (0.5, 1.0, 2.0)


def _normal_ranks(trial: Trial, cells: list[ScoredCell]) -> tuple[np.ndarray, np.ndarray]:
    """Return centred unit rank vectors of the test rows, one row per cell, and test AUCs."""
    m = len(trial.y_validation)
    ranks = np.array([rankdata(drop_fine_digits(c.scores, c.resolution)[m:]) for c in cells])
    ranks -= ranks.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(ranks, axis=1, keepdims=True)
    return ranks / np.where(norms > 0, norms, 1.0), np.array([c.auc for c in judge(trial, cells)])


def summarise_cells(rows: pd.DataFrame) -> pd.DataFrame:
    """Summarise the splits: median and least correlation, median nu, mean and absolute AUC left."""
    rows = rows.assign(size=rows["left"].abs())
    grouped = rows.groupby(["dataset", "width", "p", "c"], sort=False)
    table = grouped.agg(
        splits=("trial", "size"),
        correlation=("correlation", "median"),
        least_correlation=("correlation", "min"),
        nu=("nu", "median"),
        left=("left", "mean"),
        size=("size", "mean"),
    )
    return table.round(4).reset_index()


def _tasks(names: list[str], trials: int) -> list[VariantTask]:
    return [
        VariantTask(task, f"width {factor:g}", Options(width_factor=factor))
        for task in splits(names, trials, first=FRESH)
        for factor in WIDTH_FACTORS
    ]


@study(
    "Is there an l1 model that ranks as (p, c) does?",
    tasks=_tasks, trials=6, finish=summarise_cells,
    parameters={
        "p": EXPONENTS, "c": COSTS, "steps": NU_STEPS, "control": CONTROL, "widths": WIDTH_FACTORS,
    },
)  # fmt: skip
def relabelling(variant: VariantTask) -> list[Row]:
    """Return rows (p, c): the best rank correlation over nu, that nu, and the AUC left over."""
    trial = prepare(variant.task, variant.options)
    kernels, n = trial.kernels, len(trial.kernels.y)

    def l1(nus: np.ndarray) -> list[ScoredCell]:
        cs = [1.0 / (n * max(nu, 1.0 / n)) for nu in nus]
        found = solve_path(kernels.K, ps=[1.0], cs=cs)
        return [centre_cell(kernels, ball.alpha, p=1.0, c=ball.c) for ball in found]

    nus, between = np.arange(NU_STEPS + 1) / NU_STEPS, np.array(CONTROL) / NU_STEPS
    paper = paper_path(kernels)
    keys = [(c.params["p"], c.params["c"]) for c in paper] + [(1.0, nu) for nu in between]
    family, family_auc = _normal_ranks(trial, l1(nus))
    own, own_auc = _normal_ranks(trial, [*paper, *l1(between)])
    likeness = own @ family.T
    best = likeness.argmax(axis=1)
    head = {"dataset": variant.task.dataset, "trial": variant.task.trial}
    head |= {"width": variant.options.width_factor}
    return [
        head | {
            "p": round(p, 4), "c": round(float(c), 4),
            "correlation": round(float(likeness[i, best[i]]), 5),
            "nu": round(float(nus[best[i]]), 4),
            "left": round(float(own_auc[i] - family_auc[best[i]]), 4),
        }
        for i, (p, c) in enumerate(keys)
    ]  # fmt: skip
