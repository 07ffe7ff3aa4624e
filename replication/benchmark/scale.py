r"""From two hundred samples to a million: times as ratios to what users would take instead.

One run measures every row. Data: five Gaussian clusters in ten dimensions, or a "wide" table of
eight numbers and 160 indicators; gamma = 1/(d var) or the default width. "default" are the fits
that people run first, nu = 0.1 with C searched for; the others have C given. Time is processor time
of one thread, the least of a few fits where they are short, kernel values and features included;
each measurement has a process of its own, whose peak of memory is kept. ``ratio`` is the time over
that of the contestant named in ``against`` on the same rows, and ``goal`` what it was meant to be
at most. The gap is that of the exact kernel problem on all samples; contestants without a
certificate have none. ``solved`` is the gap that ``tol`` asks for: the same, but on landmarks that
of the problem restricted to them.
"""

from __future__ import annotations

import math
import os
import resource
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd

from replication.results import save_table

SEED = 20240918
DIMENSION = 10
CLUSTERS = 5
COMMAND = "python -m replication bench --profile scale"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SVM, DENSE, SGD = "OneClassSVM", "dense", "Nystroem + SGDOneClassSVM"
WORKING_SET, LANDMARKS, AUTO = "working-set", "landmarks", "auto"
GROWTH, DEFAULT = "growth", "default"


@dataclass(frozen=True)
class Case:
    """One measurement; ``against`` and ``goal`` where its time is to be compared."""

    name: str
    contestant: str
    n: int
    p: float | None = None
    c: float | None = None
    tol: float | None = None
    against: str | None = None
    goal: float | None = None
    width: str = "scale"
    data: str = "clusters"


def cases(scale: float = 1.0) -> Iterator[Case]:
    """All measurements; ``scale`` < 1 makes them smaller, for tests."""

    def size(n: int) -> int:
        return max(60, round(n * scale))

    for n, goal in ((200, 6.0), (1_000, 5.0), (2_000, 5.0), (5_000, 4.0), (10_000, 4.0)):
        yield from _default_fits(size(n), goal, "clusters")
    yield from _default_fits(size(4_000), 10.0, "wide")
    for n in (size(10_000), size(30_000)):
        yield Case("fit", SVM, n)
        yield Case("fit", WORKING_SET, n, 1.2, 100 / n, 1e-6, SVM, 1.0)
        yield Case("fit", WORKING_SET, n, 1.0, 10 / n, 1e-6, SVM, 3.0)
        yield Case("fit", WORKING_SET, n, 2.0, 100 / n, 1e-6, SVM, 4.0)
    n = size(10_000)
    yield Case("all support", WORKING_SET, n, 5.0, 0.01, 1e-4, DENSE, 0.1)
    yield Case("all support", DENSE, n, 5.0, 0.01, 1e-4)
    for n in (size(500), size(2_000)):
        yield Case("small", DENSE, n, 1.2, 100 / n, 1e-9)
        yield Case("small", AUTO, n, 1.2, 100 / n, 1e-9, DENSE, 1.0)
    n = size(300_000)
    yield Case("landmarks", SGD, n)
    yield Case("landmarks", LANDMARKS, n, 2.0, 100 / n, 1e-6, SGD, 6.0)
    yield Case("million", LANDMARKS, size(1_000_000), 2.0, 1e-4 / scale, 1e-6)
    for n in (size(10_000), size(20_000), size(50_000), size(100_000)):
        yield Case(GROWTH, WORKING_SET, n, 1.2, 100 / n, 1e-6)
        yield Case(GROWTH, SVM, n)


def _default_fits(n: int, goal: float, data: str) -> Iterator[Case]:
    """``LpSVDD(nu=0.1)`` beside ``OneClassSVM(nu=0.1)`` with the same gamma."""
    for width in ("scale", "quarter-mean-distance"):
        yield Case(DEFAULT, SVM, n, width=width, data=data)
        for p in (1.0, 1.5, 2.0):
            yield Case(DEFAULT, AUTO, n, p, None, 1e-9, SVM, goal, width, data)


def wide(n: int) -> np.ndarray:
    """Eight numbers and sixteen features of ten categories each, as indicators: 168 columns."""
    rng = np.random.default_rng(SEED)
    chosen = (rng.random((n, 16, 1)) > np.cumsum(rng.dirichlet(np.ones(10), 16), axis=1)).sum(2)
    indicators = (chosen[:, :, None] == np.arange(10)).reshape(n, -1)
    return np.column_stack([rng.normal(size=(n, 8)), indicators])


def clusters(n: int) -> np.ndarray:
    """The data of the module's docstring."""
    rng = np.random.default_rng(SEED)
    centres = 2.0 * rng.normal(size=(CLUSTERS, DIMENSION))
    return centres[rng.integers(CLUSTERS, size=n)] + rng.normal(size=(n, DIMENSION))


def measure(case: Case, landmarks: int = 300) -> dict[str, float]:
    """Seconds, gap, support vectors, share outside and peak of memory of one fit."""
    from lpsvdd.kernels import resolve_gamma

    X = wide(case.n) if case.data == "wide" else clusters(case.n)
    model = _contestant(case, resolve_gamma(case.width, X), landmarks)
    seconds = math.inf
    for _ in range(5 if case.n <= 2_000 else 1):
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X)
        seconds = min(seconds, time.process_time() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    some = X[: min(case.n, 10_000)]
    return {
        "seconds": seconds,
        "gap": (gap := float(getattr(model, "duality_gap_", math.nan))),
        "solved": float(getattr(model, "restricted_gap_", gap)),
        "support": float(len(model.support_)) if hasattr(model, "support_") else math.nan,
        "outside": float(np.mean(model.predict(some) < 0)),
        "peak_mb": peak,
    }


def _contestant(case: Case, gamma: float, landmarks: int):
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import SGDOneClassSVM
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import OneClassSVM

    from lpsvdd import LpSVDD

    if case.contestant == SVM:
        return OneClassSVM(nu=0.1, gamma=gamma)
    if case.contestant == SGD:
        features = Nystroem(gamma=gamma, n_components=landmarks, random_state=0)
        return make_pipeline(features, SGDOneClassSVM(nu=0.1, random_state=0))
    if case.name == DEFAULT:
        return LpSVDD(p=case.p, nu=0.1, gamma=gamma)
    options = {"landmarks": landmarks} if case.contestant == LANDMARKS else {}
    return LpSVDD(p=case.p, C=case.c, gamma=gamma, tol=case.tol, solver=case.contestant, **options)


def run(output: str | Path = "results/scale.csv", *, scale: float = 1.0) -> pd.DataFrame:
    """Measure every case, each in a process of its own, and write the table with its record."""
    for name in THREADS:
        os.environ[name] = "1"
    rows = []
    for case in cases(scale):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found = pool.submit(measure, case, max(10, round(300 * min(1.0, 10 * scale)))).result()
        rows.append({**vars(case), **found})
    table = with_ratios(pd.DataFrame(rows))
    save_table(table, Path(output), command=COMMAND, signature={"benchmark": "scale", "seed": SEED})
    return table


def with_ratios(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the time over that of ``against`` at the same n, and whether it is met."""
    same = ["name", "n", "width", "data"]
    seconds = table.set_index(["contestant", *same])["seconds"]
    seconds = seconds[~seconds.index.duplicated()]
    keys = zip(table["against"], *(table[name] for name in same), strict=True)
    other = [seconds.get(key, math.nan) if key[0] else math.nan for key in keys]
    table = table.assign(ratio=table["seconds"] / np.array(other, dtype=float))
    certified = ~(table["solved"] > table["tol"])
    met = (table["ratio"] <= table["goal"]) & certified
    return table.assign(met=met.where(table["goal"].notna()))


def slope(table: pd.DataFrame, contestant: str = WORKING_SET) -> float:
    """Log-log slope of time against n between the smallest and the largest size of the growth."""
    part = table[(table["name"] == GROWTH) & (table["contestant"] == contestant)]
    first, last = part.loc[part["n"].idxmin()], part.loc[part["n"].idxmax()]
    return math.log(last["seconds"] / first["seconds"]) / math.log(last["n"] / first["n"])


def summary(table: pd.DataFrame) -> str:
    """The table in a few lines, and the slopes."""
    lines = []
    for row in table.itertuples():
        text = f"{row.name}: {row.contestant}, n = {row.n:,}"
        text += f", p = {row.p:g}" if row.p == row.p else ""
        text += f", {row.width}, {row.data}" if row.name == DEFAULT else ""
        text += f": {row.seconds:.2f} s"
        text += f", gap {max(row.gap, 0.0):.1e}" if row.gap == row.gap else ""
        text += f", peak {row.peak_mb:,.0f} MB"
        if row.ratio == row.ratio:
            text += f"; {row.ratio:.2f} x {row.against} (goal {row.goal:g})"
        lines.append(text)
    for name in (WORKING_SET, SVM):
        lines.append(f"log-log slope of time, {name}: {slope(table, name):.2f}")
    return "\n".join(lines)


def facts(table: pd.DataFrame) -> dict[str, float]:
    """What the chapter on large data quotes of the stored table."""
    largest = table[table["name"] == GROWTH].pivot(index="n", columns="contestant").iloc[-1]
    million = table[table["name"] == "million"].iloc[0]
    first = table[(table["name"] == DEFAULT) & table["ratio"].notna()]
    narrow, wide_rows = (first[first["data"] == name]["ratio"] for name in ("clusters", "wide"))
    return {
        "default_low": narrow.min(),
        "default_median": narrow.median(),
        "default_high": narrow.max(),
        "default_wide": wide_rows.max(),
        "scale_n": int(largest.name),
        "scale_exact": largest["seconds", WORKING_SET],
        "scale_svm": largest["seconds", SVM],
        "scale_slope": slope(table),
        "scale_svm_slope": slope(table, SVM),
        "million_seconds": million["seconds"],
        "million_gb": million["peak_mb"] / 1024.0,
    }


def ratios(table: pd.DataFrame) -> pd.DataFrame:
    """The cases that have a goal, under the names of the page: the default fits first."""
    shown = {"contestant": "solver", "n": "rows", "data": "data", "width": "width", "p": "p",
             "ratio": "ratio", "goal": "goal", "against": "against"}  # fmt: skip
    return table[table["goal"].notna() & (table["name"] != "small")][list(shown)].rename(
        columns=shown
    )
