r"""From two hundred samples to a million: times as ratios to what users would take instead.

One run measures every row. Data: five Gaussian clusters in ten dimensions, or a "wide" table of
eight numbers and 160 indicators; gamma = 1/(d var) or the default width. "default" are the fits
that people run first, nu = 0.1 with C chosen by the rule; the others have C given. Time is
processor time of one thread, the least of a few fits where they are short, kernel values and
features included; each measurement has a process of its own, whose peak of memory is kept.
``ratio`` is the time over that of the contestant named in ``against`` on the same rows, ``goal``
what it was meant to be at most. The gap is that of the exact kernel problem on all samples;
``solved`` is the gap that ``tol`` asks for: the same, but on landmarks that of the problem
restricted to them.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from replication.benchmark.objective import FEATURES
from replication.benchmark.solvers import LIBSVM, alone
from replication.results import save_table
from replication.runner import Row, run_tasks

SCALE_SEED = 20240918
LINEAR = "Nystroem + SGDOneClassSVM"
WORKING_SET, LANDMARKS, WHOLE, AUTO = "working-set", "landmarks", "dense", "auto"
GROWTH, DEFAULT_FIT = "growth", "default"


@dataclass(frozen=True)
class ScaleCase:
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

    @property
    def key(self) -> str:
        """What names it uniquely."""
        return " ".join(map(str, vars(self).values()))


def scale_cases(scale: float = 1.0) -> Iterator[ScaleCase]:
    """All measurements; ``scale`` < 1 makes them smaller, for tests."""

    def size(n: int) -> int:
        return n if scale == 1.0 else 60 + round(n * scale)

    clouds = ((200, 6.0), (1_000, 5.0), (2_000, 5.0), (5_000, 4.0), (10_000, 4.0))
    for n, goal, data in [*((*one, "clusters") for one in clouds), (4_000, 10.0, "wide")]:
        for width in ("scale", "quarter-mean-distance"):  # beside OneClassSVM with the same gamma
            yield ScaleCase(DEFAULT_FIT, LIBSVM, size(n), width=width, data=data)
            for p in (1.0, 1.5, 2.0):
                yield ScaleCase(
                    DEFAULT_FIT, AUTO, size(n), p, None, 1e-9, LIBSVM, goal, width, data
                )
    for n in (size(10_000), size(30_000)):
        yield ScaleCase("fit", LIBSVM, n)
        yield ScaleCase("fit", WORKING_SET, n, 1.2, 100 / n, 1e-6, LIBSVM, 1.0)
        yield ScaleCase("fit", WORKING_SET, n, 1.0, 10 / n, 1e-6, LIBSVM, 3.0)
        yield ScaleCase("fit", WORKING_SET, n, 2.0, 100 / n, 1e-6, LIBSVM, 4.0)
    n = size(10_000)
    yield ScaleCase("all support", WORKING_SET, n, 5.0, 0.01, 1e-4, WHOLE, 0.1)
    yield ScaleCase("all support", WHOLE, n, 5.0, 0.01, 1e-4)
    for n in (size(500), size(2_000)):
        yield ScaleCase("small", WHOLE, n, 1.2, 100 / n, 1e-9)
        yield ScaleCase("small", AUTO, n, 1.2, 100 / n, 1e-9, WHOLE, 1.0)
    n = size(300_000)
    yield ScaleCase("landmarks", LINEAR, n)
    yield ScaleCase("landmarks", LANDMARKS, n, 2.0, 100 / n, 1e-6, LINEAR, 6.0)
    yield ScaleCase("million", LANDMARKS, size(1_000_000), 2.0, 1e-4 / scale, 1e-6)
    for n in (size(10_000), size(20_000), size(50_000), size(100_000)):
        yield ScaleCase(GROWTH, WORKING_SET, n, 1.2, 100 / n, 1e-6)
        yield ScaleCase(GROWTH, LIBSVM, n)


def scale_data(n: int, kind: str) -> np.ndarray:
    """The data of the module's docstring; "wide": 16 features of ten categories as indicators."""
    rng = np.random.default_rng(SCALE_SEED)
    if kind == "clusters":
        centres = 2.0 * rng.normal(size=(5, FEATURES))
        return centres[rng.integers(5, size=n)] + rng.normal(size=(n, FEATURES))
    chosen = (rng.random((n, 16, 1)) > np.cumsum(rng.dirichlet(np.ones(10), 16), axis=1)).sum(2)
    indicators = (chosen[:, :, None] == np.arange(10)).reshape(n, -1)
    return np.column_stack([rng.normal(size=(n, 8)), indicators])


def scale_model(case: ScaleCase, gamma: float, landmarks: int) -> Any:
    """The detector of a case."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import SGDOneClassSVM
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import OneClassSVM

    from lpsvdd import LpSVDD

    if case.contestant == LIBSVM:
        return OneClassSVM(nu=0.1, gamma=gamma)
    if case.contestant == LINEAR:
        features = Nystroem(gamma=gamma, n_components=landmarks, random_state=0)
        return make_pipeline(features, SGDOneClassSVM(nu=0.1, random_state=0))
    if case.name == DEFAULT_FIT:
        return LpSVDD(p=case.p, nu=0.1, gamma=gamma)
    options = {"landmarks": landmarks} if case.contestant == LANDMARKS else {}
    return LpSVDD(p=case.p, C=case.c, gamma=gamma, tol=case.tol, solver=case.contestant, **options)


def time_fit(case: ScaleCase, landmarks: int = 300) -> dict[str, float]:
    """Seconds, gap, support vectors, share outside and peak of memory of one fit."""
    import resource

    from lpsvdd.kernels import resolve_gamma

    X = scale_data(case.n, case.data)
    model = scale_model(case, resolve_gamma(case.width, X), landmarks)
    seconds = math.inf
    for _ in range(5 if case.n <= 2_000 else 1):
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X)
        seconds = min(seconds, time.process_time() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    return {
        "seconds": seconds,
        "gap": (gap := float(getattr(model, "duality_gap_", math.nan))),
        "solved": float(getattr(model, "restricted_gap_", gap)),
        "support": float(len(model.support_)) if hasattr(model, "support_") else math.nan,
        "outside": float(np.mean(model.predict(X[:10_000]) < 0)),
        "peak_mb": peak,
    }


def run_scale(path: Path, *, scale: float = 1.0, **runner: Any) -> pd.DataFrame:
    """Measure every case, each in a process of its own, and write the table with its record."""
    landmarks = max(10, round(300 * min(1.0, 10 * scale)))
    signature = {"benchmark": "scale", "seed": SCALE_SEED}

    def measured(case: ScaleCase) -> list[Row]:
        return [vars(case) | alone(time_fit, case, landmarks)]

    made_of = signature | {"scale": scale}
    rows = run_tasks(measured, list(scale_cases(scale)), signature=made_of, **runner)
    table = with_ratios(pd.DataFrame(rows))
    command = "python -m replication bench --profile scale"
    save_table(table, path, command=command, signature=signature)
    return table


def with_ratios(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the time over that of ``against`` at the same n, and whether it is met."""
    same = ["name", "n", "width", "data"]
    seconds = table.set_index(["contestant", *same])["seconds"]
    seconds = seconds[~seconds.index.duplicated()]
    other = seconds.reindex(pd.MultiIndex.from_frame(table[["against", *same]])).to_numpy()
    table = table.assign(ratio=table["seconds"] / other)
    met = (table["ratio"] <= table["goal"]) & ~(table["solved"] > table["tol"])
    return table.assign(met=met.where(table["goal"].notna()))


def slope(table: pd.DataFrame, contestant: str = WORKING_SET) -> float:
    """Log-log slope of time against n between the smallest and the largest size of the growth."""
    part = table[(table["name"] == GROWTH) & (table["contestant"] == contestant)]
    first, last = part.loc[part["n"].idxmin()], part.loc[part["n"].idxmax()]
    return math.log(last["seconds"] / first["seconds"]) / math.log(last["n"] / first["n"])


def ratios(table: pd.DataFrame) -> pd.DataFrame:
    """The cases that have a goal, under the names of the page: the default fits first."""
    shown = ["contestant", "n", "data", "width", "p", "ratio", "goal", "against"]
    found = table[table["goal"].notna() & (table["name"] != "small")][shown]
    return found.rename(columns={"contestant": "solver", "n": "rows"})
