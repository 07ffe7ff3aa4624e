"""Measure: which contestant runs on which cells, the referee, and the table.

The referee alone decides what an answer is worth. It makes the returned multipliers feasible
(non-negative, within the box at p = 1, rescaled to y'alpha = 1), computes the relative duality gap
with ``lpsvdd.solver`` and calls a cell solved where the gap is at most ``SOLVED_GAP``. An answer
without finite multipliers has no gap and is not solved. A cell left out of a sample has status
"not run", one of a solver that is absent "not installed"; it is neither solved nor failed.
"""

from __future__ import annotations

import csv
import platform
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from lpsvdd.solver import Gram, Problem
from replication.benchmark import contestants as who
from replication.benchmark.problems import (
    SEED,
    GridCell,
    all_cells,
    make_problem,
    p1_cells,
    sample_cells,
)
from replication.paper import SETTINGS
from replication.results import package_versions, processor, read_record, write_record
from replication.store import ResultsError

SOLVED_GAP = 1e-6
KEY = ("experiment", "contestant", "setting", "n", "p", "c", "c_neg")
MEASURED = (
    "seconds", "gap", "status", "solved", "n_iter", "cholesky_units",
    "wall_seconds", "solver_seconds", "repeats", "memory",
)  # fmt: skip
ENVIRONMENT = ("started", "cpu", "threads", "platform", "python", "versions")
COLUMNS = (*KEY, *MEASURED, *ENVIRONMENT)
PACKAGES = ("lpsvdd", "numpy", "scipy", "scikit-learn", "cvxpy", "clarabel", "ecos", "scs")


@dataclass(frozen=True)
class Profile:
    """Sizes, how many cells each CVXPY contestant is given at each size, and time limits.

    ``samples[contestant, setting]`` maps n to a number of cells; sizes that are not listed get the
    full grid. ``limits`` maps n to the wall-clock limit of one cell in seconds.
    """

    sizes: tuple[int, ...]
    samples: dict[tuple[str, str], dict[int, int]]
    limits: dict[int, float]
    p1_sizes: tuple[int, ...]
    memory_size: int
    memory_cells: tuple[GridCell, ...]

    def cells_for(self, contestant: str, setting: str, n: int) -> list[GridCell]:
        """The cells that this contestant is given; ours is always given all of them."""
        cells = all_cells(setting)
        size = self.samples.get((contestant, setting), {}).get(n, len(cells))
        return sample_cells(setting, size)


PURE, NEGATIVES = SETTINGS
PROFILES = {
    "quick": Profile(
        sizes=(16, 50),
        samples={
            (name, setting): {16: 10 * (setting == PURE), 50: 10}
            for name in who.CVXPY_CONTESTANTS
            for setting in SETTINGS
        },
        limits={16: 1.0, 50: 1.0, 300: 10.0},
        p1_sizes=(50,),
        memory_size=300,
        memory_cells=(GridCell(4 / 3, 0.1),),
    ),
    "full": Profile(
        sizes=(16, 50, 150, 350, 1000),
        samples={
            (who.CLARABEL, PURE): {1000: 10},
            (who.CLARABEL, NEGATIVES): {350: 40, 1000: 10},
            (who.CLARABEL_POWER, PURE): {1000: 10},
            (who.CLARABEL_POWER, NEGATIVES): {350: 40, 1000: 10},
            (who.ECOS, PURE): {350: 10, 1000: 2},
            (who.ECOS, NEGATIVES): {150: 40, 350: 10, 1000: 2},
            (who.SCS, PURE): {350: 10, 1000: 2},
            (who.SCS, NEGATIVES): {16: 40, 50: 40, 150: 20, 350: 10, 1000: 2},
        },
        limits={16: 3.0, 50: 3.0, 150: 5.0, 350: 20.0, 1000: 60.0, 2000: 300.0},
        p1_sizes=(16, 50, 150, 350, 1000),
        memory_size=2000,
        memory_cells=(GridCell(32 / 31, 1.0), GridCell(4 / 3, 0.1), GridCell(20.0, 1e-2)),
    ),
}


def run(
    profile: str | Profile = "quick",
    output: str | Path = "results/benchmark.csv",
    *,
    progress: bool = True,
) -> Path:
    """Measure everything in the profile; rows are written as they come.

    One run makes a whole table: rows of two runs would compare two states of a machine.
    """
    plan = PROFILES[profile] if isinstance(profile, str) else profile
    path = Path(output)
    name = profile if isinstance(profile, str) else "own"
    before = (read_record(path) or {}).get("signature", {}).get("benchmark", name)
    if before != name:
        raise ResultsError(
            f"{path.name} in the folder {path.parent.name} holds the profile {before!r}, which "
            f"{name!r} does not replace: write to another file with --output"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    measurements = list(_measurements(plan))
    environment = describe_environment()
    with (
        path.open("w", newline="") as file,
        who.Worker() as worker,
        tqdm(measurements, unit="measurement", mininterval=1.0, disable=not progress) as bar,
    ):
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        units: dict[tuple[int, str], float] = {}
        for one in bar:
            bar.set_postfix_str(f"n = {one.n}", refresh=False)
            for row in _measure(one, worker, units, plan.limits[one.n]):
                writer.writerow(row | environment)
            file.flush()
    write_record(
        path,
        command=f"python -m replication bench --profile {name}",
        signature={"benchmark": name, "seed": SEED, "solved_gap": SOLVED_GAP},
    )
    return path


@dataclass(frozen=True)
class Measurement:
    """One call of the worker: a cell, or all cells of a path; none where rows are not of cells."""

    experiment: str
    contestant: str
    setting: str
    n: int
    cells: tuple[GridCell, ...]
    run: bool = True


def _measurements(plan: Profile) -> Iterator[Measurement]:
    for n in plan.sizes:
        for setting in SETTINGS:
            cells = all_cells(setting)
            yield Measurement("path", who.PATH, setting, n, tuple(cells))
            yield Measurement("turns", who.PATH, setting, n, ())
            given = {
                name: set(plan.cells_for(name, setting, n))
                for name in (who.COLD, *who.CVXPY_CONTESTANTS)
            }
            # GridCell by cell, so that all contestants meet the same state of the machine.
            for cell in cells:
                for name, chosen in given.items():
                    yield Measurement("grid", name, setting, n, (cell,), cell in chosen)
    for n in plan.p1_sizes:
        for cell in p1_cells(n):
            for name in (who.COLD, who.SVM, who.SVM_TIGHT, who.CLARABEL):
                yield Measurement("p = 1", name, "pure", n, (cell,))
    for cell in plan.memory_cells:
        yield Measurement("memory", who.COLD, "pure", plan.memory_size, (cell,))


def _measure(
    one: Measurement, worker: who.Worker, units: dict[tuple[int, str], float], limit: float
) -> Iterator[dict[str, Any]]:
    """Rows of one measurement, preceded by the unit of cost where this (n, setting) is new."""
    if not one.run:
        yield _row(one, one.cells[0], who.Answer(None, float("nan"), "not run"), float("nan"))
        return
    if one.experiment == "memory":
        # A fresh process: the high-water mark of its memory has to be this solve's own.
        with who.Worker() as fresh:
            answers = fresh.call("measure_memory", one.n, one.setting, one.cells[0], limit=limit)
        for answer in [answers] if isinstance(answers, who.Answer) else answers:
            yield _row(one, one.cells[0], answer, float("nan"))
        return
    place = (one.n, one.setting)
    if place not in units:
        answer = worker.call("measure_cholesky", *place, limit=600.0)
        units[place] = answer.seconds
        unit = Measurement("unit", "scipy.linalg.cholesky", one.setting, one.n, ())
        yield _row(unit, None, answer, units[place])
    if one.experiment == "turns":
        cells = all_cells(one.setting)
        found = worker.call("measure_turns", *place, cells, limit=20.0 * limit * len(cells))
        for name in (who.COLD, who.PATH):
            answer = found if isinstance(found, who.Answer) else found[name]
            yield _row(replace(one, contestant=name), None, answer, units[place])
        return
    if one.experiment == "path":
        limit *= len(one.cells)
        answers = worker.call("measure_path", *place, one.cells, limit=limit)
        if isinstance(answers, who.Answer):  # stopped or crashed: no cell has an answer
            answers = [answers] * len(one.cells)
    else:
        # A solver that keeps its limit does so itself; twice that much, and its process ends.
        arguments = (one.contestant, *place, one.cells[0], limit)
        answers = [worker.call("measure", *arguments, limit=2.0 * limit + 1.0)]
    for cell, answer in zip(one.cells, answers, strict=True):
        yield _row(one, cell, answer, units[place])


def certified_gap(n: int, setting: str, cell: GridCell, alpha: np.ndarray | None) -> float:
    """Relative duality gap of the multipliers after making them feasible; inf if there are none."""
    if alpha is None or not np.all(np.isfinite(alpha)) or not np.any(alpha > 0.0):
        return float("inf")
    gram, y = _gram(n, setting)
    problem = Problem(gram, y, p=cell.p, c=cell.costs(y))
    return float(problem.evaluate(problem.feasible(alpha)).gap)


@cache
def _gram(n: int, setting: str) -> tuple[Gram, np.ndarray]:
    K, y = make_problem(n, setting)
    return Gram.check(K), y


def _row(
    one: Measurement, cell: GridCell | None, answer: who.Answer, unit: float
) -> dict[str, Any]:
    judged = cell is not None and answer.status not in ("not run", who.NOT_INSTALLED)
    gap = certified_gap(one.n, one.setting, cell, answer.alpha) if judged else float("nan")
    measured = {
        "seconds": answer.seconds,
        "gap": gap,
        "status": answer.status,
        "solved": bool(gap <= SOLVED_GAP) if judged else "",
        "n_iter": answer.n_iter,
        "cholesky_units": answer.seconds / unit,
        "wall_seconds": answer.wall_seconds,
        "solver_seconds": answer.solver_seconds,
        "repeats": answer.repeats,
        "memory": answer.memory,
    }
    values = ("", "", "") if cell is None else cell
    key = (
        one.experiment,
        one.contestant,
        one.setting,
        one.n,
        *("" if v is None else v for v in values),
    )
    return dict(zip(KEY, key, strict=True)) | {n: _plain(value) for n, value in measured.items()}


def _plain(value: Any) -> Any:
    """Missing numbers as empty fields, others with as many digits as mean anything."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}"
    return value


def describe_environment() -> dict[str, Any]:
    """What the numbers depend on; no names of hosts, users or folders."""
    found = package_versions(PACKAGES)
    return {
        "started": datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ"),
        "cpu": processor(),
        "threads": 1,
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": "; ".join(f"{name} {found.get(name, '-')}" for name in PACKAGES),
    }
