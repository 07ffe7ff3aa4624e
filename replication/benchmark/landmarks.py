"""The ball on landmarks beside SGDOneClassSVM on Nystroem features, on real anomaly sets.

``python -m replication.benchmark.landmarks`` needs files of ``replication.anomaly_sets``. A set is
fitted on all its rows without their labels and judged by the area under the ROC curve of those
labels. Every measurement runs in a process of its own, on one thread: seconds of processor time,
features included, and the peak of its memory. Synthetic sizes are in ``scale``.
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
    """One fit: a contestant on one set."""

    data: str
    m: int
    p: float
    contestant: str  # "landmarks" or "sgd-nystroem"


def cases() -> list[Case]:
    """All measurements."""
    each = ((2.0, "sgd-nystroem"), (2.0, "landmarks"), (1.2, "landmarks"))
    return [Case(name, 300, p, who) for name in REAL for p, who in each]


def measure(case: Case, timeout: float = 1800.0) -> dict:
    """The row of a case, measured in a process of its own."""
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-m", "replication.benchmark.landmarks", json.dumps(asdict(case))],
        env=os.environ | one, capture_output=True, text=True, timeout=timeout, check=True,
    )  # fmt: skip
    return json.loads(run.stdout.splitlines()[-1])


def run_case(case: Case) -> dict:
    """The row of a case, in this process."""
    X, y = _data(case.data)
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
    from sklearn.metrics import roc_auc_score

    parts = [model.score_samples(part) for part in np.array_split(X, n // 50_000 + 1)]
    row["auc"] = float(roc_auc_score(~y, np.concatenate(parts)))
    return row


def _data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows, scaled to unit variance, and labels (True: anomaly)."""
    from replication.anomaly_sets import load

    X, y = load(name)
    scale = X.std(axis=0)
    return (X - X.mean(axis=0))[:, scale > 0.0] / scale[scale > 0.0], y


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(run_case(Case(**json.loads(sys.argv[1])))))
    else:
        for one in cases():
            print(measure(one), flush=True)
