"""Thousands of small problems, most of them unreasonable: does the solver ever lie?

Each problem is drawn from a seed and its number: 1 to 40 points (duplicates among them in a
third), a kernel (Gaussian, linear, polynomial, of rank one, identity), labelled negatives in half,
p from 1 and 1 + 1e-8 to 100, costs over 16 decades, one per sample in a fifth. Four in ten are
hostile to floats: tight clusters far apart, points far from the origin, few places that hold points
of both labels, Gaussian kernels so wide that all their values are nearly one; p - 1 down to 1e-6,
and up to 120 points.

A problem is solved by ``solve`` from its matrix, a hostile one from its points too (``Rows``, or
``Coordinates`` for the linear kernel: what the estimators give to the solver). What calls itself
optimal is judged by ``fuzz_judge``. Asked for: no exception, nothing wrong, a warning with each
that is not converged, and few of those among ordinary problems: plain kinds with p <= 20 and costs
from 1e-3 to 1e3. Doubles often cannot hold the answers of the others; a warning is right there.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from lpsvdd import solve
from lpsvdd.kernels import kernel_matrix
from lpsvdd.solver.points import Coordinates, Rows, unit_of_length
from replication.results import ResultsError, read_record, save_table
from replication.runner import with_progress
from replication.studies.fuzz_judge import JudgedCase, judge_answer

MOST_POINTS = 40
MANY_POINTS = 120  # of a hostile problem: above 60 the solver begins with some of them
FUZZ_EXPONENTS = (
    1.0, 1.0 + 1e-8, 1.0 + 1e-4, 1.01, 32 / 31, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0,
)  # fmt: skip
PLAIN = ("rbf", "linear", "poly", "rank one", "identity")
HOSTILE = ("tight clusters", "far from the origin", "both labels", "wide Gaussian")
DECADES = (-8.0, 8.0)  # of the costs
FUZZ_SEED = 20_260_726
PROBLEMS = 10_000
ORDINARY_P, ORDINARY_COSTS = 20.0, (1e-3, 1e3)
NOT_CONVERGED_AT_MOST = {"ordinary": 0.03}  # share of the solutions
COUNTED = (
    "kernel", "negatives", "ordinary", "solutions", "optimal", "radius_zero", "not_converged",
    "unwarned", "exceptions", "wrong", "judged_exactly", "largest_gap",
)  # fmt: skip


@dataclass(frozen=True)
class FuzzProblem:
    """One problem: what ``JudgedCase`` needs, and the cost as it was drawn (a number or one each).

    ``kernel`` is one of PLAIN or the kind of a hostile problem; ``options`` are those of
    ``kernel_matrix`` where the problem is also solved from its points.
    """

    number: int
    kernel: str
    case: JudgedCase
    c: float | np.ndarray
    options: dict[str, Any] | None = None


def problem(number: int, seed: int = FUZZ_SEED) -> FuzzProblem:
    """Draw the problem of this number; those that end in 6 to 9 are hostile."""
    rng = np.random.default_rng([seed, number])
    return _hostile(number, rng) if number % 10 >= 6 else _plain(number, rng)


def _plain(number: int, rng: np.random.Generator) -> FuzzProblem:
    kernel = PLAIN[rng.integers(len(PLAIN))]
    n, d = int(rng.integers(1, MOST_POINTS + 1)), int(rng.integers(1, 6))
    X, y = rng.normal(size=(n, d)), np.ones(n)
    if rng.random() < 0.3:
        X = np.round(2.0 * X)  # many distances are then equal
    if rng.random() < 0.3:
        X = X[rng.integers(0, n, size=n)]
    if rng.random() < 0.5:
        negative = rng.random(n) < rng.uniform(0.1, 0.9)
        negative[0] &= n > 1
        if negative.all():
            negative[-1] = False
        y[negative] = -1.0
        X[negative] += rng.choice([0.0, 0.0, 1.0, 3.0])
    power, shift = 0, 0.0
    if kernel == "rbf":
        squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        K = np.exp(np.maximum(-(10.0 ** rng.uniform(-2, 1)) * squared, -700.0))
    elif kernel == "identity":
        K = 10.0 ** rng.uniform(-2, 2) * np.eye(n)
    else:
        power = 1
        if kernel == "linear":
            X = X * 10.0 ** rng.uniform(-1, 1) + rng.choice([0.0, 0.0, 10.0])
        elif kernel == "rank one":
            X = X[:, :1] * rng.choice([1.0, 3.0])
        else:
            power, shift = int(rng.integers(2, 5)), float(rng.choice([0.0, 1.0]))
            X = X * 10.0 ** rng.uniform(-1, 0.3)
        K = (X @ X.T + shift) ** power
    is_listed = rng.random() < 0.7
    p = float(rng.choice(FUZZ_EXPONENTS)) if is_listed else 1.0 + 99.0 * 10 ** rng.uniform(-5, 0)
    c, cost = _costs(n, DECADES, rng)
    return FuzzProblem(number, kernel, JudgedCase(K, X, y, p, cost, power, shift), c)


def _costs(n: int, decades: tuple[float, float], rng) -> tuple[float | np.ndarray, np.ndarray]:
    """Draw a cost, in a fifth of the problems one for each point; also as an array."""
    c: float | np.ndarray = float(10.0 ** rng.uniform(*decades))
    if rng.random() < 0.2:
        c = 10.0 ** rng.uniform(*decades, size=n)
    return c, np.broadcast_to(c, n).astype(float)


def _hostile(number: int, rng: np.random.Generator) -> FuzzProblem:
    kind = HOSTILE[rng.integers(len(HOSTILE))]
    many = rng.random() < 0.05
    n = int(rng.integers(61, MANY_POINTS + 1) if many else rng.integers(2, MOST_POINTS + 1))
    d = int(rng.integers(1, 6))
    X, y = rng.normal(size=(n, d)), np.ones(n)
    if kind == "tight clusters":
        centres = rng.normal(size=(int(rng.integers(2, 5)), d))
        X = centres[rng.integers(len(centres), size=n)] + 10.0 ** rng.uniform(-12, -2) * X
    elif kind == "both labels":
        X = X[rng.integers(0, int(rng.integers(1, 2 + n // 3)), size=n)]
    if rng.random() < 0.3:
        X = X[rng.integers(0, n, size=n)]
    X *= 10.0 ** (rng.uniform(-9, 3) if rng.random() < 0.3 else rng.uniform(-1, 1))
    if kind == "far from the origin":
        X += np.abs(X).max() * 10.0 ** rng.uniform(0, 7)
    if kind == "both labels" or rng.random() < 0.6:
        y[rng.random(n) < rng.uniform(0.1, 0.9)] = -1.0
        y[rng.integers(n)] = 1.0
    options, power, shift = _hostile_kernel(kind, X, rng)
    is_listed = rng.random() < 0.4
    p = float(rng.choice(FUZZ_EXPONENTS)) if is_listed else 1.0 + 10.0 ** rng.uniform(-6, 2)
    c, cost = _costs(n, DECADES if rng.random() < 0.5 else (-3.0, 3.0), rng)
    case = JudgedCase(kernel_matrix(X, **options), X, y, p, cost, power, shift)
    return FuzzProblem(number, kind, case, c, options)


def _hostile_kernel(kind: str, X: np.ndarray, rng) -> tuple[dict[str, Any], int, float]:
    """Draw options of ``kernel_matrix``, and ``power`` and ``shift`` of ``JudgedCase``."""
    squared = float(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())
    unit = 1.0 / squared if squared > 0.0 else 1.0
    wide = kind == "wide Gaussian"
    kernel = "rbf" if wide else rng.choice(["linear", "linear", "poly", "rbf"])
    if kernel == "rbf":
        decades = (-10, -4) if wide else (-2, 1)
        return {"kernel": "rbf", "gamma": unit * 10.0 ** rng.uniform(*decades)}, 0, 0.0
    if kernel == "linear":
        return {"kernel": "linear"}, 1, 0.0
    power, shift = int(rng.integers(2, 4)), float(rng.choice([0.0, 1.0]))
    return {"kernel": "poly", "gamma": 1.0, "degree": power, "coef0": shift}, power, shift


def _from_points(one: FuzzProblem) -> tuple[JudgedCase, Any]:
    """Return the points as the estimators give them to the solver, and what is judged of them."""
    case, options = one.case, one.options
    assert options is not None
    if options["kernel"] == "linear":
        mean = case.X.mean(axis=0)
        Z = case.X - mean
        diag = np.einsum("ij,ij->i", Z, Z)
        size = float(diag.max())
        spread = unit_of_length(float(diag.mean()), size)
        return replace(case, K=Z @ Z.T, origin=mean), Coordinates(Z, diag, spread, size)
    return replace(case, gamma=options.get("gamma", 0.0) if case.power == 0 else 0.0), Rows(
        case.X, **options
    )


def outcomes(one: FuzzProblem) -> list[dict[str, Any]]:
    """Solve a problem: one row, two where it is solved from its points too."""
    given = {"matrix": (one.case, one.case.K)}
    if one.options is not None:
        given["points"] = _from_points(one)
    return [_outcome(one, road, case, points) for road, (case, points) in given.items()]


def _outcome(one: FuzzProblem, road: str, case: JudgedCase, points: Any) -> dict[str, Any]:
    verdict, status, error = None, "", ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = solve(points, case.y, p=case.p, c=one.c)
        except Exception as raised:  # what is counted here
            error = repr(raised)
        else:
            status = found.status
            verdict = judge_answer(case, found) if found.converged else None
    is_wrong = verdict is not None and not verdict.is_right
    return {
        "number": one.number, "kernel": one.kernel, "road": road, "p": case.p,
        "negatives": bool((case.y < 0).any()), "status": status, "error": error,
        "wrong": is_wrong, "reason": verdict.reason if verdict and is_wrong else "",
        "gap": verdict.gap if verdict else float("nan"),
        "exact": verdict is not None and verdict.is_exact,
        "warned": any(issubclass(w.category, ConvergenceWarning) for w in caught),
        "ordinary": _is_ordinary(one),
    }  # fmt: skip


def _is_ordinary(one: FuzzProblem) -> bool:
    low, high = ORDINARY_COSTS
    within = low <= one.case.cost.min() and one.case.cost.max() <= high
    return one.kernel not in HOSTILE and one.case.p <= ORDINARY_P and bool(within)


def run_fuzz(numbers: range, *, seed: int = FUZZ_SEED, progress: bool = False) -> pd.DataFrame:
    """Return the outcomes of problems, one row a solution."""
    shown = with_progress(numbers, len(numbers), progress)
    return pd.DataFrame([row for i in shown for row in outcomes(problem(i, seed))])


def not_converged(rows: pd.DataFrame) -> dict[str, float]:
    """Return their share among the solutions of ordinary problems."""
    stopped = rows.loc[rows["ordinary"], "status"] == "not-converged"
    return {"ordinary": float(stopped.mean()) if len(stopped) else 0.0}


def count_outcomes(rows: pd.DataFrame) -> pd.DataFrame:
    """Count by kernel, or kind if hostile, negatives and whether it is ordinary (COUNTED)."""
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
    groups = rows.groupby(["kernel", "negatives", "ordinary"], sort=False)
    counts = groups[[name for name in COUNTED[3:-1]]].sum()
    counts["largest_gap"] = [f"{gap:.0e}" for gap in groups["largest_gap"].max()]
    table = counts.reset_index()
    order = {name: i for i, name in enumerate(PLAIN + HOSTILE)}
    table = table.sort_values(
        ["kernel", "negatives", "ordinary"], key=lambda s: s.map(order) if s.name == "kernel" else s
    )
    return table[list(COUNTED)].reset_index(drop=True)


def save_counts(table: pd.DataFrame, path: Path, problems: int) -> None:
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
            "seed": FUZZ_SEED,
            "exponents": list(FUZZ_EXPONENTS),
            "decades": list(DECADES),
            "points": [MOST_POINTS, MANY_POINTS],
            "hostile": list(HOSTILE),
            "ordinary": {"p": ORDINARY_P, "costs": list(ORDINARY_COSTS)},
        },  # fmt: skip
    )
