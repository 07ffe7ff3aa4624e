"""A folder of ADBench files: twenty-two public anomaly sets, recognised by their checksums.

ADBench (github.com/Minqi824/ADBench, adbench/datasets/Classical) keeps each set as ``NN_name.npz``
with X (rows, features) and y (1 = anomaly). The terms of some sources are unclear, so the files are
not part of this project: clone that repository and name the clone or its folder of files, with
``python -m replication run --from`` or by the variable ``LPSVDD_ADBENCH``. Only results computed
from them are kept here.
"""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np

VARIABLE = "LPSVDD_ADBENCH"
INSIDE = Path("adbench/datasets/Classical")  # of a clone
RELATED = (("cardio", "Cardiotocography"), ("satellite", "satimage-2", "landsat"))
"""Sets made from the same table: they count as one cluster."""
DESIGN_SIZE = 11
Record = TypeVar("Record")


class AnomalyDataError(OSError):
    """The folder or a file in it cannot be used; the message says what to do."""


@dataclass(frozen=True)
class AnomalySet:
    """One file of the collection: its size, and the checksum of the version that was used."""

    number: int
    name: str
    rows: int
    features: int
    anomalies: int
    sha256: str

    @property
    def file(self) -> str:
        """Name of the file in the collection."""
        return f"{self.number}_{self.name}.npz"

    @property
    def cluster(self) -> str:
        """Name of the group of related sets, its own name if it is alone."""
        return next((group[0] for group in RELATED if self.name in group), self.name)


def read_records(kind: type[Record], module: str) -> tuple[Record, ...]:
    """The records in the table beside a module: one of that kind a line."""
    with open(Path(module).with_suffix(".csv"), encoding="utf-8", newline="") as handle:
        lines = csv.DictReader(handle)
        counts = ("number", "rows", "features", "anomalies")
        return tuple(kind(**line | {key: int(line[key]) for key in counts}) for line in lines)


SETS = read_records(AnomalySet, __file__)


def find(name: str) -> AnomalySet:
    """The record of a set; KeyError for an unknown name."""
    for one in SETS:
        if one.name == name:
            return one
    known = ", ".join(one.name for one in SETS)
    raise KeyError(f"unknown anomaly set {name!r}: expected one of {known}")


@lru_cache(maxsize=1)
def design_half() -> frozenset[str]:
    """Names of the sets that selection rules were designed on (the rule is in the study's plan)."""

    def digest(unit: str) -> str:
        return hashlib.sha256(unit.encode()).hexdigest()

    chosen: set[str] = set()
    for unit in sorted({one.cluster for one in SETS}, key=digest):
        if len(chosen) >= DESIGN_SIZE:
            break
        chosen |= {one.name for one in SETS if one.cluster == unit}
    return frozenset(chosen)


def place(named: str | Path | None = None) -> Path:
    """The folder of files: the one named, else that of the variable ``LPSVDD_ADBENCH``."""
    chosen = named or os.environ.get(VARIABLE)
    if not chosen:
        raise AnomalyDataError(
            "the anomaly sets are not part of this project: clone github.com/Minqi824/ADBench and "
            f"name the clone or its folder {INSIDE} with --from or the variable {VARIABLE}"
        )
    path = Path(chosen).expanduser()
    if not path.is_dir():
        raise AnomalyDataError(f"there is no folder {path}; it should hold files NN_name.npz")
    return path / INSIDE if (path / INSIDE).is_dir() else path


def present(named: str | Path | None = None) -> list[str]:
    """Names of the sets whose file is in the folder; an empty list where no folder is named."""
    if not (named or os.environ.get(VARIABLE)):
        return []
    here = place(named)
    return [one.name for one in SETS if (here / one.file).is_file()]


def require(names: Iterable[str]) -> None:
    """What is not in the folder shows before anything is computed."""
    here = present(place())
    missing = [name for name in names if name not in here]
    if missing:
        raise AnomalyDataError(f"the folder lacks {', '.join(missing)}")


def load(name: str, named: str | Path | None = None) -> tuple[np.ndarray, np.ndarray]:
    """X as floats and y (True = anomaly) of one set, after its checksum."""
    one = find(name)
    path = place(named) / one.file
    if not path.is_file():
        raise AnomalyDataError(f"{one.file} is not in the folder {path.parent}")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != one.sha256:
        raise AnomalyDataError(
            f"{one.file} is not the file that the results were computed from (its SHA-256 differs "
            f"from {one.sha256[:12]}...): take it from the collection again"
        )
    with np.load(path, allow_pickle=False) as arrays:
        X, y = arrays["X"].astype(float), arrays["y"] == 1
    if X.shape != (one.rows, one.features) or int(y.sum()) != one.anomalies:
        raise AnomalyDataError(f"{one.file} does not have the size that its record states")
    return X, y
