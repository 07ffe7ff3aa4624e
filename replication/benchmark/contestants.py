"""Who competes, and the separate process in which every contestant runs.

A contestant turns (K, y, cell) into an ``Answer``. It reports its multipliers, its own idea of its
status and its time; what the multipliers are worth is for the referee to say. Contestants run in a
process of their own, so that one that hangs can be stopped and one that crashes takes nothing
with it, with one BLAS thread each. Times are processor times of that process: with one thread they
equal the wall clock on an idle machine, and on a busy one they do not count the waiting, of which a
long solve would get more than a short one.
"""

from __future__ import annotations

import os
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import BrokenProcessPool

from replication.benchmark.problems import GridCell, all_cells, make_problem

STATM = Path("/proc/self/statm")
NOT_INSTALLED = "not installed"
REPEATS = 5
TURNS = 5  # of cold solves and the path, over the whole grid
REPEAT_BUDGET = 0.1  # seconds: short measurements are repeated, the median is kept


@dataclass(frozen=True)
class Answer:
    """What a contestant returns for one cell; times are medians of ``repeats`` runs."""

    alpha: np.ndarray | None
    seconds: float
    status: str
    wall_seconds: float = float("nan")
    n_iter: float = float("nan")
    solver_seconds: float = float("nan")
    repeats: int = 1
    memory: float = float("nan")


class Timer:
    """Processor time and wall clock since its creation."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """(processor seconds, wall-clock seconds)."""
        return time.process_time() - self._cpu, time.perf_counter() - self._wall


def cold_solve(K: np.ndarray, y: np.ndarray, cell: GridCell, limit: float = np.inf) -> Answer:
    """``lpsvdd.solve`` from a cold start, checks of the input included."""
    from lpsvdd.solver import solve

    timer = Timer()
    solution = solve(K, y, p=cell.p, c=cell.costs(y))
    seconds, wall = timer.read()
    return Answer(solution.alpha, seconds, solution.status, wall, solution.n_iter)


def path_solve(K: np.ndarray, y: np.ndarray, cells: Sequence[GridCell]) -> list[Answer]:
    """``lpsvdd.solve_path`` over a full grid; each cell gets the same share of the time."""
    from lpsvdd.solver import solve_path

    ps, cs = list(dict.fromkeys(c.p for c in cells)), list(dict.fromkeys(c.c for c in cells))
    c_neg = None if cells[0].c_neg is None else list(dict.fromkeys(c.c_neg for c in cells))
    timer = Timer()
    solutions = solve_path(K, y, ps=ps, cs=cs, c_neg=c_neg)
    share, wall = (t / len(cells) for t in timer.read())
    return [Answer(s.alpha, share, s.status, wall, s.n_iter) for s in solutions]


def cvxpy(
    solver: str, cones: str, K: np.ndarray, y: np.ndarray, cell: GridCell, limit: float
) -> Answer:
    """The dual as printed, in CVXPY (Diamond and Boyd 2016), compilation included."""
    from lpsvdd.reference import solve_dual

    if find_spec(solver.lower()) is None:  # ECOS has no wheel for Python 3.13
        return Answer(None, float("nan"), NOT_INSTALLED)
    # ECOS has no time limit of its own; its process is stopped instead.
    limits = {"CLARABEL": {"time_limit": limit}, "SCS": {"time_limit_secs": limit}}
    got = solve_dual(K, y, cell.p, cell.costs(y), solver, cones=cones, **limits.get(solver, {}))
    n_iter = got.n_iter if got.n_iter >= 0 else float("nan")
    alpha = got.alpha if np.all(np.isfinite(got.alpha)) else None
    return Answer(alpha, got.cpu_seconds, got.status, got.seconds, n_iter, got.solver_seconds)


def one_class_svm(tol: float, K: np.ndarray, y: np.ndarray, cell: GridCell, limit: float) -> Answer:
    """scikit-learn's OneClassSVM (LIBSVM), the same problem at p = 1 with nu = 1/(n c)."""
    from sklearn.svm import OneClassSVM

    timer = Timer()
    model = OneClassSVM(kernel="precomputed", nu=1.0 / (len(K) * cell.c), tol=tol).fit(K)
    seconds, wall = timer.read()
    alpha = np.zeros(len(K))
    alpha[model.support_] = cell.c * model.dual_coef_[0]
    return Answer(alpha, seconds, "optimal", wall, float(np.max(model.n_iter_)))


COLD, PATH = "lpsvdd", "lpsvdd path"
CLARABEL, CLARABEL_POWER = "CVXPY+Clarabel", "CVXPY+Clarabel (power cones)"
ECOS, SCS = "CVXPY+ECOS", "CVXPY+SCS"
SVM, SVM_TIGHT = "OneClassSVM", "OneClassSVM (tol 1e-9)"
CVXPY_CONTESTANTS = (CLARABEL, CLARABEL_POWER, ECOS, SCS)

CONTESTANTS: dict[str, Callable[[np.ndarray, np.ndarray, GridCell, float], Answer]] = {
    COLD: cold_solve,
    CLARABEL: partial(cvxpy, "CLARABEL", "soc"),
    CLARABEL_POWER: partial(cvxpy, "CLARABEL", "power"),
    ECOS: partial(cvxpy, "ECOS", "soc"),
    SCS: partial(cvxpy, "SCS", "soc"),
    SVM: partial(one_class_svm, 1e-3),
    SVM_TIGHT: partial(one_class_svm, 1e-9),
}


def measure(contestant: str, n: int, setting: str, cell: GridCell, limit: float) -> Answer:
    """Run one contestant on one cell, several times if that is quick."""
    K, y = _problem(n, setting)
    call = CONTESTANTS[contestant]
    answers: list[Answer] = []
    while len(answers) < REPEATS and sum(a.seconds for a in answers) < REPEAT_BUDGET:
        answers.append(call(K, y, cell, limit))
    return _median(answers)


def measure_path(n: int, setting: str, cells: Sequence[GridCell]) -> list[Answer]:
    """Run the path over a full grid, several times if that is quick."""
    K, y = _problem(n, setting)
    runs: list[list[Answer]] = []
    while len(runs) < REPEATS and sum(r[0].seconds * len(r) for r in runs) < REPEAT_BUDGET:
        runs.append(path_solve(K, y, cells))
    return [_median(answers) for answers in zip(*runs, strict=True)]


def measure_turns(n: int, setting: str, cells: Sequence[GridCell]) -> dict[str, Answer]:
    """The whole grid by cold solves and by the path, in turns: both meet the same machine."""
    K, y = _problem(n, setting)
    runs: dict[str, list[Answer]] = {COLD: [], PATH: []}
    while len(runs[PATH]) < TURNS:
        runs[COLD].append(_reference(lambda: [cold_solve(K, y, cell) for cell in cells]))
        runs[PATH].append(_reference(lambda: path_solve(K, y, cells)))
    return {name: _median(answers) for name, answers in runs.items()}


def _reference(work: Callable[[], object]) -> Answer:
    """The time of some work, without an answer to judge."""
    timer = Timer()
    work()
    seconds, wall = timer.read()
    return Answer(None, seconds, "reference", wall)


def _median(answers: Sequence[Answer]) -> Answer:
    """The last answer, with the median times of all."""
    return replace(
        answers[-1],
        seconds=statistics.median(a.seconds for a in answers),
        wall_seconds=statistics.median(a.wall_seconds for a in answers),
        repeats=len(answers),
    )


def measure_cholesky(n: int, setting: str) -> Answer:
    """One factorisation of K + I by ``scipy.linalg.cholesky``: the unit of cost at this n."""
    from scipy.linalg import cholesky

    K, _ = _problem(n, setting)
    A = K + np.eye(n)
    runs: list[Answer] = []
    while len(runs) < 5 or (sum(r.seconds for r in runs) < 0.2 and len(runs) < 200):
        runs.append(_reference(lambda: cholesky(A, lower=True)))
    return _median(runs)


def measure_memory(n: int, setting: str, cell: GridCell) -> list[Answer]:
    """Peak memory of one solve in n x n doubles, K itself included: allocations, then pages.

    Allocations are those NumPy reports to tracemalloc; pages are the growth of the resident set,
    which also sees LAPACK's own work space.
    """
    import resource
    import tracemalloc

    unit = 8.0 * n * n
    cold_solve(*_problem(50, setting), cell)  # load every library before the first reading
    before = int(STATM.read_text().split()[1]) if STATM.exists() else None
    K, y = _problem(n, setting)
    solution = cold_solve(K, y, cell)
    readings = {}
    if before is not None:  # Linux; the peak of the process, so the making of K counts as well
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        readings["pages"] = (peak - before * os.sysconf("SC_PAGE_SIZE")) / unit
    tracemalloc.start()
    cold_solve(K, y, cell)
    readings["allocations"] = (tracemalloc.get_traced_memory()[1] + K.nbytes) / unit
    tracemalloc.stop()
    return [replace(solution, status=name, memory=value) for name, value in readings.items()]


@cache
def _problem(n: int, setting: str) -> tuple[np.ndarray, np.ndarray]:
    return make_problem(n, setting)


class Worker:
    """A process that runs the ``measure`` functions one call at a time, each with a time limit."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._warm: set[str] = set()

    def call(self, function: str, *args: Any, limit: float) -> Any:
        """The result, or an ``Answer`` with status "time limit" or "crashed" in its place."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, initializer=_prepare)
            self._pool.submit(path_solve, *_problem(4, "pure"), all_cells("pure")).result()
        if function == "measure" and args[0] in CONTESTANTS and args[0] not in self._warm:
            # One tiny problem first: imports and first calls are not part of anybody's time.
            self._warm.add(args[0])
            self._pool.submit(measure, args[0], 4, "pure", GridCell(1.0, 1.0), 60.0).result()
        started = time.perf_counter()
        try:
            return self._pool.submit(globals()[function], *args).result(timeout=limit)
        except TimeoutError:
            status = "time limit"
        except BrokenProcessPool:
            status = "crashed"
        self.close()
        return Answer(None, float("nan"), status, time.perf_counter() - started)

    def close(self) -> None:
        """Stop the process, whatever it is doing."""
        if self._pool is not None:
            self._pool.shutdown(kill_workers=True)
            self._pool = None
            self._warm.clear()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _prepare() -> None:
    """One thread and a quiet process: a solver that stops early says so in its status."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # C solvers print; the statuses are what counts
    threadpool_limits(1)
    warnings.simplefilter("ignore", category=ConvergenceWarning)
