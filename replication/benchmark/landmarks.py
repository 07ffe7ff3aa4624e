"""How long the ball on landmarks takes, beside SGDOneClassSVM on Nystroem features.

Every measurement runs in a process of its own, on one thread: seconds of processor time, features
included, and the peak of its memory. Synthetic cases are five Gaussian clusters in ten dimensions;
real ones are anomaly sets (``replication.adbench``), fitted on all rows without their labels and
judged by the area under the ROC curve of those labels.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

import numpy as np

REAL = ("cover", "skin", "ALOI", "campaign")


@dataclass(frozen=True)
class Case:
    """One fit: a contestant on one data set."""

    data: str  # "clusters" or a real set
    n: int  # rows; 0: all there are
    m: int
    p: float
    contestant: str  # "landmarks" or "sgd-nystroem"


def cases(*, large: bool = True) -> list[Case]:
    """The table of the benchmark."""
    sizes = [(300_000, 300), (1_000_000, 300)] if large else [(20_000, 100)]
    found: list[Case] = []
    found += [Case("clusters", n, m, p, "landmarks") for n, m in sizes for p in (1.0, 1.2, 2.0)]
    found += [Case("clusters", n, m, 2.0, "sgd-nystroem") for n, m in sizes]
    for name in REAL if large else ():
        found += [Case(name, 0, 300, 2.0, who) for who in ("landmarks", "sgd-nystroem")]
        found.append(Case(name, 0, 300, 1.2, "landmarks"))
    return found


def measure(case: Case, timeout: float = 1800.0) -> dict:
    """The row of a case, measured in a process of its own."""
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-m", __name__, json.dumps(asdict(case))],
        env=os.environ | one, capture_output=True, text=True, timeout=timeout, check=True,
    )  # fmt: skip
    return json.loads(run.stdout.splitlines()[-1])


def run_case(case: Case) -> dict:
    """The row of a case, in this process."""
    X, y = _data(case)
    n = len(X)
    gamma = 1.0 / (X.shape[1] * float(X.var()))
    row: dict = asdict(case) | {"n": n, "features": X.shape[1]}
    started = time.process_time()
    if case.contestant == "landmarks":
        from lpsvdd import LpSVDD

        cost = {"nu": 0.1} if case.p == 1.0 else {"C": 100.0 / n}
        model = LpSVDD(p=case.p, gamma=gamma, solver="landmarks", landmarks=case.m, tol=1e-6,
                       **cost).fit(X)  # fmt: skip
        row |= {
            "seconds": time.process_time() - started,
            "gap": model.duality_gap_,
            "gap_kind": model.gap_kind_,
            "restricted_gap": model.restricted_gap_,
            "outside": float(np.mean(model.slack_ > 0.0)),
        }
    else:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import SGDOneClassSVM
        from sklearn.pipeline import make_pipeline

        model = make_pipeline(
            Nystroem(gamma=gamma, n_components=case.m, random_state=0),
            SGDOneClassSVM(nu=0.1, random_state=0),
        ).fit(X)
        row["seconds"] = time.process_time() - started
    row["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    if y is not None:
        from sklearn.metrics import roc_auc_score

        parts = [model.score_samples(part) for part in np.array_split(X, n // 50_000 + 1)]
        row["auc"] = float(roc_auc_score(~y, np.concatenate(parts)))
    return row


def _data(case: Case) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows, scaled to unit variance, and labels (True: anomaly) of a real set."""
    if case.data == "clusters":
        random = np.random.default_rng(0)
        centres = 3.0 * random.normal(size=(5, 10))
        return centres[random.integers(5, size=case.n)] + random.normal(size=(case.n, 10)), None
    from replication.adbench import load

    X, y = load(case.data)
    scale = X.std(axis=0)
    X = (X - X.mean(axis=0))[:, scale > 0.0] / scale[scale > 0.0]
    return X, y


if __name__ == "__main__":
    print(json.dumps(run_case(Case(**json.loads(sys.argv[1])))))
