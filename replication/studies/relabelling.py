r"""p as a change of nu: for each (p, c) the l1 model that ranks the test points most alike.

The l1 models are those of nu = 1/60, 2/60, ..., 1 and the hard ball. Likeness is Spearman's
correlation of the scores of the test rows; labels play no part in the match. ``left`` is the test
AUC of (p, c) minus that of its match: what p brings that no nu does.

As a control l1 models with nu between those values are matched too: what two members of one family
differ by when they are as near as the list allows.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from lpsvdd.solver import solve_path
from replication.methods import centre_cell
from replication.paper import COSTS, EXPONENTS
from replication.protocol import Options, Trial, drop_fine_digits, judge, prepare
from replication.runner import Row
from replication.studies.study import FRESH, VariantTask, paper_path, study, variants

NU_STEPS = 60
CONTROL = (4.5, 15.5, 30.5, 45.5)
WIDTH_FACTORS = (0.5, 1.0, 2.0)
RELABELLING = {
    "p": EXPONENTS,
    "c": COSTS,
    "steps": NU_STEPS,
    "control": CONTROL,
    "widths": WIDTH_FACTORS,
}


def _normal_ranks(trial: Trial, cells) -> tuple[np.ndarray, np.ndarray]:
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


@study(
    "Is there an l1 model that ranks as (p, c) does?",
    tasks=partial(
        variants, of={f"width {w:g}": Options(width_factor=w) for w in WIDTH_FACTORS}, first=FRESH
    ),
    trials=6,
    parameters=RELABELLING,
    finish=summarise_cells,
)
def relabelling(variant: VariantTask) -> list[Row]:
    """Return rows (p, c): the best rank correlation over nu, that nu, and the AUC left over."""
    trial = prepare(variant.task, variant.options)
    kernels = trial.kernels
    n = len(kernels.y)

    def l1(nus):
        cs = [1.0 / (n * max(nu, 1.0 / n)) for nu in nus]
        return [
            centre_cell(kernels, found.alpha, p=1.0, c=found.c)
            for found in solve_path(kernels.K, ps=[1.0], cs=cs)
        ]

    nus = np.array([0, *range(1, NU_STEPS + 1)]) / NU_STEPS
    between = np.array(CONTROL) / NU_STEPS
    cells = [*paper_path(kernels), *l1(between)]
    keys = [(c.params["p"], c.params["c"]) for c in cells[: len(cells) - len(between)]]
    keys += [(1.0, nu) for nu in between]
    family, family_auc = _normal_ranks(trial, l1(nus))
    own, own_auc = _normal_ranks(trial, cells)
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
