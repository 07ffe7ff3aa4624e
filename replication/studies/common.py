"""What the deciding experiments share: the paper's grid, and cells from multipliers.

A contestant is a list of scored cells; the referee of the main tables represents it by the cell
with the highest validation AUC.

The paper's grid is p in EXPONENTS, c in COSTS; the grid of ``ranges`` is the one on which every p
has the same range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lpsvdd.solver import Solution, solve_path
from replication.methods import ScoredCell, SplitKernels
from replication.methods.paths import centre_cell
from replication.paper import COSTS, EXPONENTS
from replication.protocol import DEFAULTS, Options, Task
from replication.store import Row
from replication.trial import JudgedCell, chosen, outcome


@dataclass(frozen=True)
class VariantTask:
    """A task under a named variant of the protocol."""

    task: Task
    variant: str
    options: Options = DEFAULTS

    @property
    def key(self) -> str:
        """Name of the file that holds the result; "width x 1/4" must not name a folder."""
        return f"{self.task.key}-{self.variant.replace('/', '-')}"


def is_feasible(solution: Solution) -> bool:
    """Whether the dual has a solution: for p = 1 the costs must sum to 1 (up to rounding)."""
    return solution.p > 1.0 or solution.c * len(solution.alpha) >= 1.0 - 1e-9


def paper_path(kernels: SplitKernels, ps: Sequence[float] = EXPONENTS) -> list[ScoredCell]:
    """Cells of the paper's one-class grid; without scores where the l1 dual is infeasible."""
    return [
        centre_cell(kernels, kernels.y * found.alpha, p=found.p, c=found.c)
        if is_feasible(found)
        else ScoredCell({"p": found.p, "c": found.c}, None)
        for found in solve_path(kernels.K, kernels.y, ps=ps, cs=COSTS)
    ]


def mean_cell(kernels: SplitKernels) -> ScoredCell:
    """The kernel mean of the positives."""
    positive = kernels.y > 0
    return centre_cell(kernels, positive / positive.sum())


def contestant_rows(task: Task, contestants: Mapping[str, Sequence[JudgedCell]]) -> list[Row]:
    """One row per contestant: the cell that validation chooses from its judged ones."""
    return [
        {"dataset": task.dataset, "trial": task.trial, "contestant": name} | outcome(chosen(cells))
        for name, cells in contestants.items()
    ]
