"""What the open choices of the protocol are worth (H2): one is changed at a time.

exp(-d^2/s^2) is the kernel exp(-d^2/(2 s'^2)) with s' = s/sqrt(2); it is one more width factor.
"""

from __future__ import annotations

from replication.experiment import method_grids, paper_methods
from replication.methods import METHODS, WEIGHTINGS
from replication.protocol import DEFAULTS, Options, Task, chosen, judge, outcome_row, prepare
from replication.runner import Row
from replication.studies.study import VariantTask, study

VARIANTS: dict[str, Options] = {
    "default": DEFAULTS,
    "no unit norm": Options(unit_norm=False),
    "no unit norm, width x 1/4": Options(unit_norm=False, width_factor=0.25),
    "no unit norm, width x 1/2": Options(unit_norm=False, width_factor=0.5),
    "no unit norm, width x 2": Options(unit_norm=False, width_factor=2.0),
    "width x 1/4": Options(width_factor=0.25),
    "width x 1/2": Options(width_factor=0.5),
    "width x 2": Options(width_factor=2.0),
    "formula s2": Options(formula="s2"),
    "train 1/2": Options(train="1/2", validation="1/4"),
    "train 3/5": Options(train="3/5", validation="1/5"),
    "train 1/5": Options(train="1/5", validation="2/5"),
}
ALL_METHODS = ("default", "no unit norm")
"""Variants run with all methods of the paper; the others leave out the reweighted SVDDs."""


def preparation_tasks(names: list[str], trials: int) -> list[VariantTask]:
    """Return every variant on every split."""
    return [
        VariantTask(Task(name, "pure", trial), variant, options)
        for variant, options in VARIANTS.items()
        for name in names
        for trial in range(trials)
    ]


@study(
    "What are unit norm, kernel width, kernel formula and split sizes worth?",
    tasks=preparation_tasks,
    parameters={"methods": method_grids(paper_methods("pure")), "variants": list(VARIANTS)},
)
def preparation(item: VariantTask) -> list[Row]:
    """Return the test AUC of each method under one variant of the protocol."""
    trial = prepare(item.task, item.options)
    left_out = () if item.variant in ALL_METHODS else tuple(WEIGHTINGS)
    methods = [one for one in paper_methods("pure") if one.name not in left_out]
    where = {"variant": item.variant, "dataset": item.task.dataset}
    return [
        where
        | {"method": method.name, "trial": item.task.trial}
        | {"auc": outcome_row(chosen(judge(trial, method.run(trial.kernels))))["auc"]}
        for method in (*methods, METHODS["pure", "kernel mean"])
    ]
