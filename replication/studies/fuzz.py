"""Thousands of small problems, most of them unreasonable: does the solver ever lie?

Each problem is drawn from a seed and its number: 1 to 40 points (duplicates among them in a
third), a kernel (Gaussian, linear, polynomial, of rank one, identity), labelled negatives in half,
p from 1 and 1 + 1e-8 to 100, costs over 16 decades, one per sample in a fifth. It is solved by
``solve``; every fourth is also the corner of a grid for ``solve_path``. What calls itself optimal
is judged by ``fuzz_judge``. Asked for: no exception, nothing wrong, at most one in a hundred not
converged, and a warning with each of those.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from tqdm import tqdm

from lpsvdd import solve, solve_path
from lpsvdd.solver import Solution
from replication.results import read_record, save_table
from replication.store import ResultsError
from replication.studies.fuzz_judge import Case, Verdict, judge

MOST_POINTS = 40
EXPONENTS = (
    1.0, 1.0 + 1e-8, 1.0 + 1e-4, 1.01, 32 / 31, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0,
)  # fmt: skip
KERNELS = ("rbf", "linear", "poly", "rank one", "identity")
DECADES = (-8.0, 8.0)  # of the costs
SEED = 20_260_726
PROBLEMS = 10_000
NOT_CONVERGED_AT_MOST = 0.01
COLUMNS = (
    "kernel", "negatives", "solutions", "optimal", "radius_zero", "not_converged", "unwarned",
    "exceptions", "wrong", "in_features", "judged_exactly", "largest_gap",
)  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """One problem: what ``Case`` needs, and the cost as it was drawn (a number or one each)."""

    number: int
    kernel: str
    case: Case
    c: float | np.ndarray


def problem(number: int, seed: int = SEED) -> Problem:
    """The problem of this number."""
    rng = np.random.default_rng([seed, number])
    kernel = KERNELS[rng.integers(len(KERNELS))]
    n, d = int(rng.integers(1, MOST_POINTS + 1)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.3:
        X = np.round(2.0 * X)  # many distances are then equal
    if rng.random() < 0.3:
        X = X[rng.integers(0, n, size=n)]
    y = np.ones(n)
    if rng.random() < 0.5:
        negative = rng.random(n) < rng.uniform(0.1, 0.9)
        negative[0] &= n > 1
        if negative.all():
            negative[-1] = False
        y[negative] = -1.0
        X[negative] += rng.choice([0.0, 0.0, 1.0, 3.0])
    X, K, power, shift = _points_and_kernel(kernel, X, rng)
    p = (
        float(rng.choice(EXPONENTS))
        if rng.random() < 0.7
        else 1.0 + 99.0 * 10 ** rng.uniform(-5, 0)
    )
    c: float | np.ndarray = float(10.0 ** rng.uniform(*DECADES))
    if rng.random() < 0.2:
        c = 10.0 ** rng.uniform(*DECADES, size=n)
    cost = np.broadcast_to(c, n).astype(float)
    return Problem(number, kernel, Case(K, X, y, p, cost, power, shift), c)


def _points_and_kernel(
    kernel: str, X: np.ndarray, rng
) -> tuple[np.ndarray, np.ndarray, int, float]:
    power, shift = 1, 0.0
    if kernel == "rbf":
        squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        exponent = -(10.0 ** rng.uniform(-2, 1)) * squared
        return X, np.exp(np.maximum(exponent, -700.0)), 0, 0.0
    if kernel == "identity":
        return X, 10.0 ** rng.uniform(-2, 2) * np.eye(len(X)), 0, 0.0
    if kernel == "linear":
        X = X * 10.0 ** rng.uniform(-1, 1) + rng.choice([0.0, 0.0, 10.0])
    elif kernel == "rank one":
        X = X[:, :1] * rng.choice([1.0, 3.0])
    else:
        power, shift = int(rng.integers(2, 5)), float(rng.choice([0.0, 1.0]))
        X = X * 10.0 ** rng.uniform(-1, 0.3)
    return X, (X @ X.T + shift) ** power, power, shift


def outcomes(one: Problem) -> list[dict[str, Any]]:
    """What became of the problem: one row, and one a cell where it was the corner of a grid."""
    case = one.case
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = [_outcome(one, case, "single", lambda: solve(case.K, case.y, p=case.p, c=one.c))]
        rows[0]["warned"] = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    if one.number % 4 == 0 and np.ndim(one.c) == 0:
        rows += _path_outcomes(one)
    return rows


def _path_outcomes(one: Problem) -> list[dict[str, Any]]:
    case, c = one.case, float(one.c)
    c_neg = [c, 0.1 * c] if (case.y < 0).any() else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            path = solve_path(case.K, case.y, ps=[case.p, 2.0], cs=[c, 10.0 * c], c_neg=c_neg)
        except Exception as error:  # what is counted here
            return [_row(one, "path", error=repr(error))]
    rows = []
    for found in path:
        minus = found.c if found.c_neg is None else found.c_neg
        cost = np.where(case.y > 0, found.c, minus)
        cell = Case(case.K, case.X, case.y, found.p, cost, case.power, case.shift)
        rows.append(_outcome(one, cell, "path", lambda found=found: found))
    silent = sum(issubclass(w.category, ConvergenceWarning) for w in caught)
    for row in rows:
        if row["status"] == "not-converged":
            row["warned"], silent = silent > 0, silent - 1
    return rows


def _outcome(one: Problem, case: Case, road: str, solution) -> dict[str, Any]:
    try:
        found: Solution = solution()
    except Exception as error:  # what is counted here
        return _row(one, road, error=repr(error))
    verdict = Verdict(True, found.gap, False)
    if found.status != "not-converged":
        verdict = judge(case, found)
    in_features = not np.array_equal(found.centre, case.y * found.alpha)
    return _row(one, road, found.status, verdict, in_features)


def _row(one: Problem, road: str, status="", verdict=None, in_features=False, error="") -> dict:
    return {
        "number": one.number, "kernel": one.kernel, "road": road, "p": one.case.p,
        "negatives": bool((one.case.y < 0).any()), "status": status, "error": error,
        "wrong": verdict is not None and not verdict.is_right,
        "reason": "" if verdict is None else verdict.reason,
        "gap": float("nan") if verdict is None else verdict.gap,
        "exact": verdict is not None and verdict.is_exact,
        "in_features": in_features, "warned": False,
    }  # fmt: skip


def run(numbers: Iterable[int], *, seed: int = SEED, progress: bool = False) -> pd.DataFrame:
    """The outcomes of problems, one row a solution."""
    return pd.DataFrame(
        [row for i in tqdm(numbers, disable=not progress) for row in outcomes(problem(i, seed))]
    )


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Counts by kernel and presence of negatives (COLUMNS)."""
    rows = rows.assign(
        solutions=1,
        optimal=rows["status"] == "optimal",
        radius_zero=rows["status"] == "radius-zero",
        not_converged=rows["status"] == "not-converged",
        unwarned=(rows["status"] == "not-converged") & ~rows["warned"],
        exceptions=rows["error"] != "",
        judged_exactly=rows["exact"],
        largest_gap=rows["gap"].where(rows["status"] == "optimal"),
    )
    groups = rows.groupby(["kernel", "negatives"], sort=False)
    counts = groups[[name for name in COLUMNS[2:-1]]].sum()
    counts["largest_gap"] = [f"{gap:.0e}" for gap in groups["largest_gap"].max()]
    table = counts.reset_index()
    order = {name: i for i, name in enumerate(KERNELS)}
    table = table.sort_values(
        ["kernel", "negatives"], key=lambda s: s.map(order) if s.name == "kernel" else s
    )
    return table[list(COLUMNS)].reset_index(drop=True)


def save(table: pd.DataFrame, path: Path, problems: int) -> None:
    """Write the counts and their record; fewer problems do not replace the counts of more."""
    before = (read_record(path) or {}).get("signature", {}).get("problems", 0)
    if problems < before:
        raise ResultsError(
            f"{path.name} in the folder {path.parent.name} counts {before:,} problems, which "
            f"{problems:,} do not replace. Save to another folder."
        )
    some = "" if problems == PROBLEMS else f"--problems {problems} "
    save_table(
        table,
        path,
        command=f"python -m replication fuzz {some}--save {path.parent.name}",
        signature={
            "study": "fuzz",
            "problems": problems,
            "seed": SEED,
            "exponents": list(EXPONENTS),
            "decades": list(DECADES),
            "points": MOST_POINTS,
        },  # fmt: skip
    )
