r"""What the deciding experiments share: grids, and cells from multipliers.

A contestant is a list of scored cells; the referee of the main tables represents it by the cell
with the highest validation AUC.

Grids. The paper's grid is p in EXPONENTS, c in COSTS. On the *nu grid* the cost is

    c = 1 / (p n nu),    nu in NUS,

which for p = 1 is the usual SVDD parametrisation C = 1/(n nu) with nu in (0, 1]. For p > 1 values
of nu above 1 exist as well (``LARGE_NUS``); they lead on towards the kernel mean, which p = 1
reaches at nu = 1. For large p even the last of them stops short of it: the grid of ``ranges`` is
the one on which every p has the same range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lpsvdd.solver import Solution, solve_path
from replication.methods import ScoredCell, SplitKernels
from replication.methods.grids import NUS
from replication.methods.paths import centre_cell
from replication.paper import COSTS, EXPONENTS
from replication.protocol import DEFAULTS, Options, Task
from replication.store import Row
from replication.trial import JudgedCell, chosen, outcome

LARGE_NUS = (10.0, 100.0, 1000.0)


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


def nu_path(kernels: SplitKernels, ps: Sequence[float] = EXPONENTS) -> list[ScoredCell]:
    """Cells of the nu grid; at p = 1 and nu = 1 the centre is the kernel mean."""
    cells = []
    for p in ps:
        nus = NUS if p == 1.0 else NUS + LARGE_NUS
        cs = [1.0 / (p * len(kernels.y) * nu) for nu in nus]
        solutions = solve_path(kernels.K, kernels.y, ps=[p], cs=cs)
        cells += [
            centre_cell(kernels, kernels.y * found.alpha, p=p, nu=nu)
            for nu, found in zip(nus, solutions, strict=True)
        ]
    return cells


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
