"""Measure small problems: which contestant is given which cells, and the table of all answers.

A cell left out of a sample has status "not run", one of a solver that is absent "not installed"; it
is neither solved nor failed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from replication.benchmark import solvers as who
from replication.benchmark.objective import (
    PROBLEM_SEED,
    SOLVED,
    GridCell,
    all_cells,
    p1_cells,
    referee_gap,
    sample_cells,
)
from replication.paper import SETTINGS
from replication.results import package_versions, refuse_other, save_table
from replication.runner import Row, run_tasks

BENCHMARK_COLUMNS = (
    "experiment", "contestant", "setting", "n", "p", "c", "c_neg",
    "seconds", "gap", "status", "solved", "n_iter", "cholesky_units",
    "wall_seconds", "solver_seconds", "repeats", "memory",
)  # fmt: skip
MEASURED_PACKAGES = (
    "lpsvdd", "numpy", "scipy", "scikit-learn", "cvxpy", "clarabel", "ecos", "scs",
)  # fmt: skip


class SmallSize(NamedTuple):
    """Samples, seconds of wall clock for a cell, and cells that a CVXPY contestant is given."""

    n: int
    limit: float
    cells: int


SMALL_PROFILES = {
    "quick": (SmallSize(16, 1.0, 10), SmallSize(50, 1.0, 10)),
    "full": (
        SmallSize(16, 3.0, 40), SmallSize(50, 3.0, 40), SmallSize(150, 5.0, 40),
        SmallSize(350, 20.0, 10), SmallSize(1000, 60.0, 2),
    ),
}  # fmt: skip
MEMORY_CELLS = (GridCell(32 / 31, 1.0), GridCell(4 / 3, 0.1), GridCell(20.0, 1e-2))


@dataclass(frozen=True)
class Measurement:
    """One call of a contestant: a cell, all cells of a path, or none for the unit of cost.

    ``limit`` is that of the call in seconds; it is 0 where the cell is left out of a sample.
    """

    experiment: str
    contestant: str
    setting: str
    n: int
    limit: float
    cells: tuple[GridCell, ...] = ()

    @property
    def key(self) -> str:
        """What names it uniquely."""
        cell = self.cells if len(self.cells) == 1 else ()
        return " ".join(map(str, (self.experiment, self.contestant, self.setting, self.n, *cell)))


def measurements(sizes: Sequence[SmallSize]) -> Iterator[Measurement]:
    """All calls of a profile; ours is always given all cells."""
    for n, limit, most in sizes:
        for setting in SETTINGS:
            cells = all_cells(setting)
            yield Measurement("unit", who.CHOLESKY, setting, n, 600.0)
            yield Measurement("path", who.PATH, setting, n, limit * len(cells), tuple(cells))
            for name in (who.COLD, *who.CVXPY_CONTESTANTS):
                given = cells if name == who.COLD else sample_cells(setting, most)
                for cell in cells:
                    yield Measurement("grid", name, setting, n, limit * (cell in given), (cell,))
        for cell in p1_cells(n):
            for name in (who.COLD, who.LIBSVM, who.LIBSVM_TIGHT, who.CLARABEL):
                yield Measurement("p = 1", name, "pure", n, limit, (cell,))
    for cell in MEMORY_CELLS if sys.platform == "linux" else ():  # read from /proc
        yield Measurement("memory", who.COLD, "pure", sizes[-1].n, limit, (cell,))


def measured_rows(one: Measurement) -> list[Row]:
    """The answers of one call, each with what the referee finds."""
    problem = (one.n, one.setting)
    found = [who.Answer(status="not run")]
    if one.experiment == "memory":
        found = who.alone(who.peak_memory, *problem, one.cells)
    elif one.limit:
        found = who.answer_cells(one.contestant, *problem, one.cells, one.limit)
    rows: list[Row] = []
    for cell, answer in zip(one.cells or [None], found, strict=True):
        row = vars(one) | vars(answer) | ({} if cell is None else cell._asdict())
        alpha = row.pop("alpha")
        if cell is not None and answer.status not in ("not run", "not installed"):
            gap = referee_gap(*problem, cell, alpha)
            row |= {"gap": gap, "solved": bool(gap <= SOLVED)}
        rows.append({name: row[name] for name in BENCHMARK_COLUMNS if name in row})
    return rows


def run_small(profile: str, path: Path, **runner: Any) -> pd.DataFrame:
    """Measure everything in the profile and write the table with its record.

    One run makes a whole table: rows of two runs would compare two states of a machine.
    """
    signature = {"benchmark": profile, "seed": PROBLEM_SEED, "solved_gap": SOLVED}
    refuse_other(path, signature)
    tasks = list(measurements(SMALL_PROFILES[profile]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a solver that stops early says so in its status
        rows = run_tasks(measured_rows, tasks, signature=signature, **runner)
    table = pd.DataFrame(rows, columns=list(BENCHMARK_COLUMNS))
    unit = table[table["experiment"] == "unit"].set_index(["n", "setting"])["seconds"]
    of_row = unit.reindex(pd.MultiIndex.from_frame(table[["n", "setting"]])).to_numpy()
    table["cholesky_units"] = (table["seconds"] / of_row).where(table["experiment"] != "memory")
    numbers = list(table.select_dtypes("float"))
    table[numbers] = table[numbers].map(lambda value: float(f"{value:.6g}"))
    command = f"python -m replication bench --profile {profile}"
    packages = package_versions(MEASURED_PACKAGES)
    save_table(table, path, command=command, signature=signature, packages=packages)
    return table
