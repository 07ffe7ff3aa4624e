"""Every deciding experiment by name: its question, its job, its size. A new study is added here."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from replication.experiment import all_datasets, make_tasks, paper_methods, signature
from replication.methods.grids import NUS
from replication.paper import COSTS, EXPONENTS, SETTINGS, TRIALS
from replication.protocol import COMPUTATION_VERSION, DEFAULTS, Task
from replication.runner import HasKey
from replication.store import Row
from replication.studies import (
    beyond,
    bound_simulation,
    conditions,
    gain,
    general_solvers,
    hypotheses,
    negatives,
    preparation,
    radius_rule,
    ranges,
    rejection,
    rejection_compare,
    relabelling,
)
from replication.studies.common import LARGE_NUS, VariantTask


def _tasks(names: list[str], trials: int, *, setting: str) -> list[Task]:
    return make_tasks(setting, names, trials)


def _first_splits(names: list[str], trials: int) -> list[Task]:
    return [task for s in SETTINGS for task in make_tasks(s, names, trials)]


def _fresh(names: list[str], trials: int, *, first: int, settings=("pure",)) -> list[Task]:
    """Splits that no earlier table used: ``first`` and those after it."""
    return [t for s in settings for t in make_tasks(s, names, range(first, first + trials))]


def _fresh_variants(names: list[str], trials: int, *, first: int, expand) -> list[VariantTask]:
    return expand(names, range(first, first + trials))


def _unchanged(rows: pd.DataFrame) -> pd.DataFrame:
    return rows


@dataclass(frozen=True)
class Study:
    """One question, the job that answers it on one task, and the size of the experiment.

    ``parameters`` holds, beside the job's code, what decides the numbers; ``finish`` turns the
    rows of all tasks into the table that is kept.
    """

    name: str
    question: str
    job: Callable[[Any], list[Row]]
    tasks: Callable[[list[str], int], Sequence[HasKey]] = partial(_tasks, setting="pure")
    names: tuple[str, ...] = tuple(all_datasets())
    trials: int = TRIALS
    parameters: dict[str, Any] = field(default_factory=dict)
    finish: Callable[[pd.DataFrame], pd.DataFrame] = _unchanged

    def signature(self) -> dict[str, Any]:
        """Whatever decides the numbers, whichever data sets are run."""
        return {
            "computation": COMPUTATION_VERSION,
            "study": self.name,
            "trials": self.trials,
            "parameters": self.parameters,
        }


class WholeTable(NamedTuple):
    """The only task of a study that is computed in one piece."""

    key: str = "all"


def _whole(names: list[str], trials: int) -> list[WholeTable]:
    return [WholeTable()]


def _as_rows(task: WholeTable, make: Callable[[], pd.DataFrame]) -> list[Row]:
    return json.loads(make().to_json(orient="records", double_precision=15))


def _simulation(name: str, question: str, make: Callable, **parameters: Any) -> Study:
    """A study that needs no data set: its table comes from one function without arguments."""
    return Study(
        name,
        question,
        partial(_as_rows, make=make),
        tasks=_whole,
        names=(),
        trials=1,
        parameters=parameters,
    )


_GRID = {"p": EXPONENTS, "c": COSTS}
_PURE = signature("pure", DEFAULTS, paper_methods("pure"))["methods"]

STUDIES = {
    one.name: one
    for one in (
        Study(
            "fair_grid",
            "Does lp beat l1 and l2 when all range from the hard ball to the kernel mean?",
            gain.fair_grid,
            parameters=_GRID | {"nu": NUS, "nu_large": LARGE_NUS},
        ),
        Study(
            "support",
            "How do the number of support vectors and R^2 depend on p and c?",
            gain.support,
            parameters=_GRID | {"level": gain.SUPPORT_LEVEL},
            finish=gain.summarise_support,
        ),
        Study(
            "choice_of_p",
            "Which p is chosen, how often, and what does choosing it cost?",
            gain.choice_of_p,
            parameters=_GRID,
        ),
        Study(
            "preparation",
            "What are unit norm, kernel width, kernel formula and split sizes worth?",
            preparation.preparation,
            tasks=preparation.preparation_tasks,
            parameters={"methods": _PURE, "variants": list(preparation.VARIANTS)},
        ),
        Study(
            "targets",
            "Which target class fits the printed rows of D1, D18, D12 and D19?",
            preparation.targets,
            tasks=preparation.target_tasks,
            names=("D1", "D18", "D12", "D19"),
            parameters={"methods": _PURE, "targets": list(preparation.TARGETS)},
        ),
        Study(
            "negative_weight",
            "In how many grid cells do labelled negatives carry any weight?",
            negatives.negative_weight,
            tasks=partial(_tasks, setting="negatives"),
            parameters=_GRID | {"wide_p": negatives.WIDE_EXPONENTS, "wide_c": negatives.WIDE_COSTS},
        ),
        Study(
            "negative_contest",
            "What do negatives add, in this model and in others?",
            negatives.negative_contest,
            tasks=partial(_tasks, setting="negatives"),
            parameters=_GRID | {"wide_p": negatives.WIDE_EXPONENTS, "wide_c": negatives.WIDE_COSTS},
        ),
        Study(
            "cvxpy_grid",
            "What do CVXPY's solvers return on the paper's grid?",
            general_solvers.cvxpy_grid,
            names=general_solvers.DATASETS,
            trials=general_solvers.FIRST_TRIALS,
            parameters=_GRID | {"solvers": general_solvers.SOLVERS},
        ),
        Study(
            "cvxpy_time",
            "How long does one cell take through CVXPY, and here?",
            general_solvers.cvxpy_time,
            tasks=_first_splits,
            trials=1,
            parameters={"sample": general_solvers.TIMED_CELLS, "large": general_solvers.LARGE},
        ),
        Study(
            "common_range",
            "Does lp beat each fixed p and the weighted methods over the same range?",
            ranges.common_range,
            tasks=partial(_fresh, first=10),
            trials=20,
            parameters=ranges.PARAMETERS,
        ),
        Study(
            "matched_sparsity",
            "How many support vectors has each p at the same share outside?",
            ranges.matched_sparsity,
            trials=3,
            parameters=ranges.PARAMETERS,
        ),
        Study(
            "relabelling",
            "Is there an l1 model that ranks as (p, c) does?",
            relabelling.relabelling,
            tasks=partial(_fresh_variants, first=10, expand=relabelling.relabelling_tasks),
            trials=6,
            parameters=relabelling.PARAMETERS,
            finish=relabelling.summarise,
        ),
        Study(
            "conditions",
            "Under which conditions does p matter?",
            conditions.conditions,
            tasks=partial(_fresh_variants, first=10, expand=conditions.condition_tasks),
            trials=8,
            parameters=conditions.PARAMETERS,
        ),
        Study(
            "validation_size",
            "Does a larger validation set help?",
            conditions.validation_size,
            tasks=partial(_fresh, first=100),
            trials=20,
            parameters=conditions.PARAMETERS,
        ),
        Study(
            "radius_pure",
            "What does R^2 >= 0, or half of every cost, change without negatives?",
            radius_rule.radius_rule,
            tasks=partial(_fresh, first=10),
            trials=15,
            parameters=radius_rule.PARAMETERS,
        ),
        Study(
            "radius_negatives",
            "What does R^2 >= 0, or half of every cost, change with negatives?",
            radius_rule.radius_rule,
            tasks=partial(_fresh, first=10, settings=("negatives",)),
            trials=5,
            parameters=radius_rule.PARAMETERS,
        ),
        Study(
            "density_weights",
            "Which density weight makes DW-SVDD equal to l1-SVDD?",
            hypotheses.density_weights,
            names=tuple(name for name in all_datasets() if name not in ("D4", "D20")),
            parameters=hypotheses.PARAMETERS,
            finish=hypotheses.summarise_densities,
        ),
        Study(
            "fixed_cost",
            "Does l2 with a fixed cost fit the printed column?",
            hypotheses.fixed_cost,
            tasks=partial(_fresh, first=10, settings=("pure", "negatives")),
            trials=8,
            parameters=hypotheses.PARAMETERS,
        ),
        Study(
            "waveform",
            "Which class and draw of the waveforms fit the printed row of D8?",
            hypotheses.waveforms,
            tasks=hypotheses.waveform_tasks,
            names=("D8",),
            trials=2,
            parameters=hypotheses.PARAMETERS,
        ),
        Study(
            "bound_coverage",
            "In which share of the repetitions does each error bound hold?",
            partial(bound_simulation.repetition, ps=bound_simulation.COVERAGE_EXPONENTS),
            tasks=partial(bound_simulation.samples, ns=bound_simulation.COVERAGE_SIZES),
            names=SETTINGS,
            trials=bound_simulation.REPETITIONS,
            parameters=bound_simulation.parameters("COVERAGE_SIZES", "COVERAGE_EXPONENTS"),
            finish=bound_simulation.coverage,
        ),
        Study(
            "bound_terms",
            "How large is each term of the bounds, and which p minimises them?",
            partial(
                bound_simulation.repetition,
                ps=bound_simulation.TERMS_EXPONENTS,
                n_draws=bound_simulation.N_DRAWS,
            ),
            tasks=partial(bound_simulation.samples, ns=(bound_simulation.TERMS_SIZE,)),
            names=SETTINGS,
            trials=bound_simulation.REPETITIONS,
            parameters=bound_simulation.parameters("TERMS_SIZE", "TERMS_EXPONENTS", "N_DRAWS"),
            finish=bound_simulation.terms,
        ),
        Study(
            "weighted_exponents",
            "Do sample weights help at any p, with clean training data and with outliers in them?",
            beyond.weighted_exponents,
            tasks=beyond.weight_tasks,
            names=("D2", "D3", "D7", "D8", "D11", "D17"),
            trials=5,
            parameters=beyond.WEIGHT_PARAMETERS,
        ),
        Study(
            "openset_digits",
            "Do spheres tell known from unknown digits better than other classifiers?",
            beyond.openset_digits,
            tasks=beyond.roles,
            names=(),
            trials=8,
            parameters=beyond.DIGIT_PARAMETERS,
        ),
        _simulation(
            "bound_samplesize",
            "From which n on is each error bound below 1?",
            bound_simulation.sizes,
            **bound_simulation.parameters("SIZE_MARGINS", "SIZE_TARGETS"),
        ),
        _simulation(
            "rejection_coverage",
            "Does the interval for the risk of rejection cover as proved?",
            rejection.coverage,
            master_seed=rejection.MASTER_SEED,
        ),
        _simulation(
            "rejection_conditions",
            "What happens to the interval where a condition of the theorem is not met?",
            rejection.conditions,
            master_seed=rejection.MASTER_SEED,
        ),
        _simulation(
            "rejection_compare",
            "What is the interval worth beside other statements about a ball?",
            rejection_compare.compare,
            master_seed=rejection.MASTER_SEED,
        ),
        _simulation(
            "rejection_curves",
            "How do risk, interval and bounds depend on p and c?",
            rejection_compare.curves,
            master_seed=rejection.MASTER_SEED,
        ),
        Study(
            "rejection_datasets",
            "Does the interval for the risk of rejection agree with held-out targets?",
            rejection_compare.datasets_job,
            trials=20,
            parameters=rejection_compare.parameters(),
        ),
    )
}
