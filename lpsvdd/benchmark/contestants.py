"""Who competes, and the separate process in which every contestant runs.

A contestant turns (K, y, cell) into an ``Answer``. It reports its multipliers, its own idea of its
status and its time; what the multipliers are worth is for the referee to say. Contestants run in a
process of their own, so that one that hangs can be stopped and one that crashes takes nothing
with it, with one BLAS thread each.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from lpsvdd.benchmark.grid import Cell, make_problem

STATM = Path("/proc/self/statm")
REPEATS = 5
REPEAT_BUDGET = 0.1  # seconds: short measurements are repeated, the median is kept


@dataclass(frozen=True)
class Answer:
    """What a contestant returns for one cell; ``seconds`` is the median of ``repeats`` runs."""

    alpha: np.ndarray | None
    seconds: float
    status: str
    n_iter: float = float("nan")
    solver_seconds: float = float("nan")
    repeats: int = 1
    memory: float = float("nan")


def ours(K: np.ndarray, y: np.ndarray, cell: Cell, limit: float = np.inf) -> Answer:
    """``lpsvdd.solve`` from a cold start, checks of the input included."""
    from lpsvdd.solver import solve

    started = time.perf_counter()
    solution = solve(K, y, p=cell.p, c=cell.costs(y))
    seconds = time.perf_counter() - started
    return Answer(solution.alpha, seconds, solution.status, solution.n_iter)


def ours_path(K: np.ndarray, y: np.ndarray, cells: Sequence[Cell]) -> list[Answer]:
    """``lpsvdd.solve_path`` over a full grid; each cell gets the same share of the time."""
    from lpsvdd.solver import solve_path

    ps, cs = list(dict.fromkeys(c.p for c in cells)), list(dict.fromkeys(c.c for c in cells))
    c_neg = None if cells[0].c_neg is None else list(dict.fromkeys(c.c_neg for c in cells))
    started = time.perf_counter()
    solutions = solve_path(K, y, ps=ps, cs=cs, c_neg=c_neg)
    share = (time.perf_counter() - started) / len(cells)
    return [Answer(s.alpha, share, s.status, s.n_iter) for s in solutions]


def cvxpy(
    solver: str, cones: str, K: np.ndarray, y: np.ndarray, cell: Cell, limit: float
) -> Answer:
    """The dual as printed, in CVXPY (Diamond and Boyd 2016), compilation included."""
    from lpsvdd.reference import solve_dual

    # ECOS has no time limit of its own; its process is stopped instead.
    limits = {"CLARABEL": {"time_limit": limit}, "SCS": {"time_limit_secs": limit}}
    got = solve_dual(K, y, cell.p, cell.costs(y), solver, cones=cones, **limits.get(solver, {}))
    n_iter = got.n_iter if got.n_iter >= 0 else float("nan")
    alpha = got.alpha if np.all(np.isfinite(got.alpha)) else None
    return Answer(alpha, got.seconds, got.status, n_iter, got.solver_seconds)


def one_class_svm(tol: float, K: np.ndarray, y: np.ndarray, cell: Cell, limit: float) -> Answer:
    """scikit-learn's OneClassSVM (LIBSVM), the same problem at p = 1 with nu = 1/(n c)."""
    from sklearn.svm import OneClassSVM

    started = time.perf_counter()
    model = OneClassSVM(kernel="precomputed", nu=1.0 / (len(K) * cell.c), tol=tol).fit(K)
    seconds = time.perf_counter() - started
    alpha = np.zeros(len(K))
    alpha[model.support_] = cell.c * model.dual_coef_[0]
    return Answer(alpha, seconds, "optimal", float(np.max(model.n_iter_)))


OURS, PATH = "lpsvdd", "lpsvdd path"
CLARABEL, CLARABEL_POWER = "CVXPY+Clarabel", "CVXPY+Clarabel (power cones)"
ECOS, SCS = "CVXPY+ECOS", "CVXPY+SCS"
SVM, SVM_TIGHT = "OneClassSVM", "OneClassSVM (tol 1e-9)"
CVXPY_CONTESTANTS = (CLARABEL, CLARABEL_POWER, ECOS, SCS)

CONTESTANTS: dict[str, Callable[[np.ndarray, np.ndarray, Cell, float], Answer]] = {
    OURS: ours,
    CLARABEL: partial(cvxpy, "CLARABEL", "soc"),
    CLARABEL_POWER: partial(cvxpy, "CLARABEL", "power"),
    ECOS: partial(cvxpy, "ECOS", "soc"),
    SCS: partial(cvxpy, "SCS", "soc"),
    SVM: partial(one_class_svm, 1e-3),
    SVM_TIGHT: partial(one_class_svm, 1e-9),
}


def measure(contestant: str, n: int, setting: str, cell: Cell, limit: float) -> Answer:
    """Run one contestant on one cell, several times if that is quick."""
    K, y = _problem(n, setting)
    call = CONTESTANTS[contestant]
    answers: list[Answer] = []
    while len(answers) < REPEATS and sum(a.seconds for a in answers) < REPEAT_BUDGET:
        answers.append(call(K, y, cell, limit))
    seconds = statistics.median(a.seconds for a in answers)
    return replace(answers[-1], seconds=seconds, repeats=len(answers))


def measure_path(n: int, setting: str, cells: Sequence[Cell]) -> list[Answer]:
    """Run the path over a full grid, several times if that is quick."""
    K, y = _problem(n, setting)
    runs: list[list[Answer]] = []
    while len(runs) < REPEATS and sum(r[0].seconds * len(r) for r in runs) < REPEAT_BUDGET:
        runs.append(ours_path(K, y, cells))
    seconds = statistics.median(r[0].seconds for r in runs)
    return [replace(a, seconds=seconds, repeats=len(runs)) for a in runs[-1]]


def measure_cholesky(n: int, setting: str) -> Answer:
    """One factorisation of K + I by ``scipy.linalg.cholesky``: the unit of cost at this n."""
    from scipy.linalg import cholesky

    K, _ = _problem(n, setting)
    A = K + np.eye(n)
    times: list[float] = []
    while len(times) < 5 or (sum(times) < 2.0 * REPEAT_BUDGET and len(times) < 200):
        started = time.perf_counter()
        cholesky(A, lower=True)
        times.append(time.perf_counter() - started)
    return Answer(None, statistics.median(times), "reference", repeats=len(times))


def measure_memory(n: int, setting: str, cell: Cell) -> list[Answer]:
    """Peak memory of one solve in n x n doubles, K itself included: allocations, then pages.

    Allocations are those NumPy reports to tracemalloc; pages are the growth of the resident set,
    which also sees LAPACK's own work space. The path allocates nothing larger than one solve does.
    """
    import resource
    import tracemalloc

    unit = 8.0 * n * n
    ours(*_problem(50, setting), cell)  # load every library before the first reading
    K, y = _problem(n, setting)
    solution = ours(K, y, cell)
    readings = {}
    if STATM.exists():  # Linux
        # The high-water mark of the process includes making K, which needs less than solving does.
        base = int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") - K.nbytes
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        readings["pages"] = (peak - base) / unit
    tracemalloc.start()
    ours(K, y, cell)
    readings["allocations"] = (tracemalloc.get_traced_memory()[1] + K.nbytes) / unit
    tracemalloc.stop()
    return [replace(solution, status=name, memory=value) for name, value in readings.items()]


@cache
def _problem(n: int, setting: str) -> tuple[np.ndarray, np.ndarray]:
    return make_problem(n, setting)


class Worker:
    """A process that runs the ``measure`` functions one call at a time, each with a time limit."""

    def __init__(self) -> None:
        self._process: Any = None
        self._pipe: Any = None
        self._warm: set[str] = set()

    def call(self, function: str, *args: Any, limit: float) -> Any:
        """The result, or an ``Answer`` with status "time limit" or "crashed" in its place."""
        self._start()
        if function == "measure":
            self._warm_up(args[0])
        started = time.perf_counter()
        try:
            self._pipe.send((function, args))
            if self._pipe.poll(limit):
                result = self._pipe.recv()
                if isinstance(result, Exception):
                    raise result
                return result
            status = "time limit"
        except (EOFError, BrokenPipeError, ConnectionResetError):
            status = "crashed"
        self.close()
        return Answer(None, time.perf_counter() - started, status)

    def _start(self) -> None:
        if self._process is not None:
            return
        context = multiprocessing.get_context("spawn")
        self._pipe, far_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(far_end,), daemon=True)
        self._process.start()
        far_end.close()

    def _warm_up(self, contestant: str) -> None:
        """One tiny problem first: imports and first calls are not part of anybody's time."""
        if contestant in CONTESTANTS and contestant not in self._warm:
            self._warm.add(contestant)
            self._pipe.send(("measure", (contestant, 4, "one-class", Cell(1.0, 1.0), 60.0)))
            self._pipe.recv()

    def close(self) -> None:
        """Stop the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None
            self._warm.clear()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _serve(pipe: Any) -> None:
    """Answer calls until the other end is gone."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    functions = {f.__name__: f for f in (measure, measure_path, measure_cholesky, measure_memory)}
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # C solvers print; the statuses are what counts
    with threadpool_limits(1), warnings.catch_warnings():
        # A solver that stops early says so in its status, and the referee sees the gap.
        warnings.simplefilter("ignore", category=ConvergenceWarning)
        while True:
            try:
                name, args = pipe.recv()
            except EOFError:
                return
            try:
                pipe.send(functions[name](*args))
            except Exception as error:  # handed to the caller, who raises it
                pipe.send(error)
