"""What the open choices of the protocol are worth (H2), and which target class fits (H4).

* ``preparation``: the paper's methods and the kernel mean with one choice changed at a time.
* ``targets``: the pure experiment on D1 and D18 with each class as target, D18 with both ways of
  filling its missing values, and D12, D19 (the same table and target, so only the splits differ).

exp(-d^2/s^2) is the kernel exp(-d^2/(2 s'^2)) with s' = s/sqrt(2); it is one more width factor.
"""

from __future__ import annotations

from functools import cache

from replication.experiment import method_grids, paper_methods
from replication.methods import METHODS, Method
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
REWEIGHTED = ("P-SVDD", "DW-SVDD", "GL-SVDD")

TARGET_CLASSES: dict[str, tuple[str, Options]] = {
    "virginica": ("D1", Options(target="virginica")),
    "versicolor": ("D1", Options(target="versicolor")),
    "setosa": ("D1", Options(target="setosa")),
    "benign": ("D18", Options(target="benign")),
    "benign, missing = -1": ("D18", Options(target="benign", imputation="constant")),
    "malignant": ("D18", Options(target="malignant")),
    "malignant, missing = -1": ("D18", Options(target="malignant", imputation="constant")),
    "D12 as catalogued": ("D12", DEFAULTS),
    "D19 as catalogued": ("D19", DEFAULTS),
}


_METHODS = method_grids(paper_methods("pure"))


@cache
def _methods(reweighted: bool) -> tuple[Method, ...]:
    chosen = [m for m in paper_methods("pure") if reweighted or m.name not in REWEIGHTED]
    return (*chosen, METHODS["pure", "kernel mean"])


def preparation_tasks(names: list[str], trials: int) -> list[VariantTask]:
    """Return every variant on every split."""
    return [
        VariantTask(Task(name, "pure", trial), variant, options)
        for variant, options in VARIANTS.items()
        for name in names
        for trial in range(trials)
    ]


def target_tasks(names: list[str], trials: int) -> list[VariantTask]:
    """Return every target of the named data sets on every split."""
    return [
        VariantTask(Task(name, "pure", trial), variant, options)
        for variant, (name, options) in TARGET_CLASSES.items()
        if name in names
        for trial in range(trials)
    ]


def _rows(item: VariantTask, methods: tuple[Method, ...]) -> list[Row]:
    trial = prepare(item.task, item.options)
    return [
        {"variant": item.variant, "dataset": item.task.dataset, "method": method.name}
        | {"trial": item.task.trial}
        | {"auc": outcome_row(chosen(judge(trial, method.run(trial.kernels))))["auc"]}
        for method in methods
    ]


@study(
    "What are unit norm, kernel width, kernel formula and split sizes worth?",
    tasks=preparation_tasks,
    parameters={"methods": _METHODS, "variants": list(VARIANTS)},
)
def preparation(item: VariantTask) -> list[Row]:
    """Return the test AUC of each method under one variant of the protocol."""
    return _rows(item, _methods(item.variant in ALL_METHODS))


@study(
    "Which target class fits the printed rows of D1, D18, D12 and D19?",
    tasks=target_tasks,
    names=("D1", "D18", "D12", "D19"),
    parameters={"methods": _METHODS, "targets": list(TARGET_CLASSES)},
)
def targets(item: VariantTask) -> list[Row]:
    """Return the test AUC of each method of the paper for one target class."""
    return _rows(item, _methods(True))
