"""The contestants: each a small function (K, y, cells, limit) -> answers, one for each cell.

A contestant reports its multipliers, its own idea of its status and its time; what the multipliers
are worth is for the referee to say. Times are processor times on one thread: on a busy machine they
do not count the waiting, of which a long solve would get more than a short one. SCS and Clarabel
keep a time limit; no other contestant has come near its own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from joblib.externals.loky import ProcessPoolExecutor

from replication.benchmark.objective import GridCell, all_cells, make_problem

NAN = float("nan")
REPEATS, BUDGET = 5, 0.1  # short measurements are repeated for so many seconds; the median is kept


@dataclass(frozen=True)
class Answer:
    """What a contestant returns for one cell; times are medians of ``repeats`` runs."""

    alpha: np.ndarray | None = None
    seconds: float = NAN
    status: str = "reference"
    wall_seconds: float = NAN
    n_iter: float = NAN
    solver_seconds: float = NAN
    repeats: int = 1
    memory: float = NAN


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What some work returns, and its processor time and wall clock."""
    wall, processor = time.perf_counter(), time.process_time()
    found = work()
    seconds = time.process_time() - processor
    return found, {"seconds": seconds, "wall_seconds": time.perf_counter() - wall}


def cold(K: np.ndarray, y: np.ndarray, cells: Sequence[GridCell], limit: float) -> list[Answer]:
    """``lpsvdd.solve`` from a cold start, checks of the input included."""
    from lpsvdd.solver import solve

    (cell,) = cells
    s, times = timed(lambda: solve(K, y, p=cell.p, c=cell.costs(y)))
    return [Answer(s.alpha, status=s.status, n_iter=s.n_iter, **times)]


def along(K: np.ndarray, y: np.ndarray, cells: Sequence[GridCell], limit: float) -> list[Answer]:
    """``lpsvdd.solve_path`` over a full grid; each cell gets the same share of the time."""
    from lpsvdd.solver import solve_path

    ps, cs, c_neg = (list(dict.fromkeys(values)) for values in zip(*cells, strict=True))
    c_neg = None if None in c_neg else c_neg
    solutions, times = timed(lambda: solve_path(K, y, ps=ps, cs=cs, c_neg=c_neg))
    share = {name: value / len(cells) for name, value in times.items()}
    return [Answer(s.alpha, status=s.status, n_iter=s.n_iter, **share) for s in solutions]


def cvxpy(
    solver: str, cones: str, K: np.ndarray, y: np.ndarray, cells: Sequence[GridCell], limit: float
) -> list[Answer]:
    """The dual as printed, in CVXPY (Diamond and Boyd 2016), compilation included."""
    from lpsvdd.reference import solve_dual

    if find_spec(solver.lower()) is None:  # ECOS has no wheel for Python 3.13
        return [Answer(status="not installed")]
    # ECOS has no time limit of its own; its process is stopped instead.
    own = {"CLARABEL": {"time_limit": limit}, "SCS": {"time_limit_secs": limit}}.get(solver, {})
    (cell,) = cells
    got = solve_dual(K, y, cell.p, cell.costs(y), solver, cones=cones, **own)
    alpha = got.alpha if np.all(np.isfinite(got.alpha)) else None
    n_iter = got.n_iter if got.n_iter >= 0 else NAN
    return [Answer(alpha, got.cpu_seconds, got.status, got.seconds, n_iter, got.solver_seconds)]


def one_class_svm(
    tol: float, K: np.ndarray, y: np.ndarray, cells: Sequence[GridCell], limit: float
) -> list[Answer]:
    """scikit-learn's OneClassSVM (LIBSVM), the same problem at p = 1 with nu = 1/(n c)."""
    from sklearn.svm import OneClassSVM

    (cell,) = cells
    model = OneClassSVM(kernel="precomputed", nu=1.0 / (len(K) * cell.c), tol=tol)
    _, times = timed(lambda: model.fit(K))
    alpha = np.zeros(len(K))
    alpha[model.support_] = cell.c * model.dual_coef_[0]
    return [Answer(alpha, status="optimal", n_iter=float(np.max(model.n_iter_)), **times)]


def cholesky(K: np.ndarray, y: np.ndarray, cells: Any, limit: float) -> list[Answer]:
    """One factorisation of K + I, the unit of cost at this n."""
    from scipy.linalg import cholesky as factorise

    return [Answer(**timed(lambda: factorise(K + np.eye(len(K)), lower=True))[1])]


COLD, PATH, CHOLESKY = "lpsvdd", "lpsvdd path", "scipy.linalg.cholesky"
CLARABEL, CLARABEL_POWER = "CVXPY+Clarabel", "CVXPY+Clarabel (power cones)"
ECOS, SCS = "CVXPY+ECOS", "CVXPY+SCS"
LIBSVM, LIBSVM_TIGHT = "OneClassSVM", "OneClassSVM (tol 1e-9)"
CVXPY_CONTESTANTS = (CLARABEL, CLARABEL_POWER, ECOS, SCS)
SOLVE: dict[str, Callable[..., list[Answer]]] = {
    COLD: cold,
    PATH: along,
    CLARABEL: partial(cvxpy, "CLARABEL", "soc"),
    CLARABEL_POWER: partial(cvxpy, "CLARABEL", "power"),
    ECOS: partial(cvxpy, "ECOS", "soc"),
    SCS: partial(cvxpy, "SCS", "soc"),
    LIBSVM: partial(one_class_svm, 1e-3),
    LIBSVM_TIGHT: partial(one_class_svm, 1e-9),
    CHOLESKY: cholesky,
}


def answer_cells(
    name: str, n: int, setting: str, cells: Sequence[GridCell], limit: float
) -> list[Answer]:
    """Run one contestant, several times if that is quick."""
    _warm(name)
    K, y = make_problem(n, setting)
    runs: list[list[Answer]] = []
    while len(runs) < REPEATS and sum(a.seconds for run in runs for a in run) < BUDGET:
        runs.append(SOLVE[name](K, y, cells, limit))
    return [
        replace(
            answers[-1], repeats=len(runs),
            seconds=median(a.seconds for a in answers),
            wall_seconds=median(a.wall_seconds for a in answers),
        )
        for answers in zip(*runs, strict=True)
    ]  # fmt: skip


@cache
def _warm(name: str) -> None:
    """Solve a tiny problem first: imports and first calls are not part of anybody's time."""
    cells = all_cells("pure") if name == PATH else [GridCell(1.0, 1.0)]
    SOLVE[name](*make_problem(4, "pure"), cells, 60.0)


def peak_memory(n: int, setting: str, cells: Sequence[GridCell]) -> list[Answer]:
    """Growth of a new process's resident set by one solve, in n x n doubles, K included."""
    import resource

    cold(*make_problem(50, setting), cells, NAN)  # load every library before the first reading
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    (solution,) = cold(*make_problem(n, setting), cells, NAN)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    grown = peak - pages * os.sysconf("SC_PAGE_SIZE")
    return [replace(solution, status="pages", memory=grown / (8.0 * n * n))]


def alone(function: Callable[..., Any], *words: Any) -> Any:
    """The value of a function called in a new process, on one thread: its peak of memory is new."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with ProcessPoolExecutor(1, env=one_thread) as pool:
        return pool.submit(function, *words).result()
