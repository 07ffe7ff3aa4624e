"""22 public anomaly sets, recognised by checksums and kept outside the project.

ADBench (github.com/Minqi824/ADBench, adbench/datasets/Classical) keeps each set as ``NN_name.npz``
with X and y (1 = anomaly). The terms of some sources are unclear, so clone it and name the clone or
its folder of files by the variable ``LPSVDD_ADBENCH``, or with the option ``--from`` of a run.
The records are in ``anomaly_sets.csv``; sets made from one table are a cluster.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

VARIABLE = "LPSVDD_ADBENCH"
INSIDE = Path("adbench/datasets/Classical")  # of a clone


class AnomalyDataError(OSError):
    """A collection or a file in it cannot be used; the message says what to do."""


@cache
def records() -> pd.DataFrame:
    """File, cluster, size and checksum of every set, by name."""
    return pd.read_csv(Path(__file__).with_suffix(".csv")).set_index("name", drop=False)


@cache
def clusters() -> dict[str, str]:
    """The cluster of every set."""
    return dict(records()["cluster"])


def use(source: Path) -> None:
    """Let this process and its workers read a clone of ADBench."""
    os.environ[VARIABLE] = str(folder(source))


def folder(given: Path | None = None) -> Path:
    """The folder of files: the one given, else that of the variable."""
    chosen = given or os.environ.get(VARIABLE)
    if not chosen or not Path(chosen).is_dir():
        raise AnomalyDataError(
            "the anomaly sets are not part of this project: clone github.com/Minqi824/ADBench and "
            f"name the clone or its folder {INSIDE} with --from or the variable {VARIABLE}"
        )
    path = Path(chosen)
    return path / INSIDE if (path / INSIDE).is_dir() else path


def require(names: Iterable[str]) -> None:
    """Raise AnomalyDataError where a file of these sets is not there."""
    missing = [name for name in names if not (folder() / records()["file"][name]).is_file()]
    if missing:
        raise AnomalyDataError(f"the folder lacks {', '.join(missing)}")


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """X as floats and y (True = anomaly) of one set, after the checksum of its file."""
    require([name])
    path, wanted = folder() / records()["file"][name], records()["sha256"][name]
    if hashlib.sha256(path.read_bytes()).hexdigest() != wanted:
        raise AnomalyDataError(
            f"{path.name} is not the file that the results were computed from (its SHA-256 differs "
            f"from {wanted[:12]}...): take it from the collection again"
        )
    with np.load(path, allow_pickle=False) as arrays:
        return arrays["X"].astype(float), arrays["y"] == 1
