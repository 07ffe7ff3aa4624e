"""The twenty data sets of the paper's Table 1: one record each, loaded by id or by name.

A data set is a matrix X (n × d, float64, missing values NaN) with labels y ∈ {+1, −1}, +1 for the
target class. Eighteen sets come with the replication: seventeen from its tables, the waveforms (D8)
from a generator. D4 and D5 may not be redistributed and are read from a user data folder,
``$LPSVDD_DATA`` or the platform's.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from lpsvdd._atomic import whole_file

TABLES_FOLDER = Path(__file__).parent / "tables"


class CorruptedTableError(ValueError):
    """A table's checksum is not the recorded one: truncated, altered or damaged in transit."""


class MissingDataError(FileNotFoundError):
    """A set that users must supply has not been supplied."""


# -- the catalogue ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """What is known about one data set: an entry of ``records.toml``.

    ``n``, ``positives`` and ``dim`` are the size of what ``load`` returns. ``kind`` tells packaged
    tables, generated sets and those to be supplied by the user; ``sha256`` is the checksum of the
    file or of the generated array. ``threshold`` is ``"NAME>T"`` where the classes come from
    cutting a numeric last column; ``missing`` counts cells kept as NaN. ``altered`` says what was
    changed on the way into the table; imputation is never done here.
    """

    id: str
    name: str
    title: str
    target: str
    n: int
    positives: int
    dim: int
    source: str
    licence: str
    altered: str = "nothing"
    note: str = ""
    kind: Literal["table", "generated", "user"] = "table"
    table: str = ""
    sha256: str = ""
    threshold: str | None = None
    missing: int = 0
    aliases: tuple[str, ...] = ()


RECORDS = tuple(
    Record(id=key, **facts | {"aliases": tuple(facts.get("aliases", ()))})
    for key, facts in tomllib.loads(
        Path(__file__).with_name("records.toml").read_text(encoding="utf-8")
    ).items()
)


def find(name: str) -> Record:
    """Return the record of an id (``"D7"``), name or alias; case does not matter."""

    def plain(text: str) -> str:
        return str(text).strip().lower().replace("_", "-")

    for record in RECORDS:
        if plain(name) in map(plain, (record.id, record.name, *record.aliases)):
            return record
    known = ", ".join(f"{record.id} {record.name}" for record in RECORDS)
    raise KeyError(f"unknown data set {name!r}; known: {known}")


def catalogue() -> pd.DataFrame:
    """Return the records as a DataFrame, one row per data set, indexed by id."""
    return pd.DataFrame([asdict(record) for record in RECORDS]).set_index("id")


# -- reading ---------------------------------------------------------------------------------------


class Content(NamedTuple):
    """Numbers, class labels (as strings) and column names of one table."""

    X: np.ndarray
    labels: np.ndarray
    feature_names: tuple[str, ...]


def read_csv(content: bytes, origin: str) -> Content:
    """Read a CSV file, plain or gzip-compressed, with or without a header; the class comes last."""
    form = "expected numbers, then the class, separated by commas"
    try:
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        cells = pd.read_csv(
            BytesIO(content), header=None, dtype=str, keep_default_na=False, encoding="utf-8-sig"
        )
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{origin} is no table ({error}): {form}") from error
    labels = cells.iloc[:, -1].fillna("").str.strip()
    if cells.shape[1] < 2 or labels.eq("").any():
        raise ValueError(f"{origin} has rows that are too short: {form}")
    numbers = cells.iloc[:, :-1].apply(lambda column: column.str.strip().replace("", "nan"))
    names = [f"x{i}" for i in range(1, cells.shape[1])]
    try:
        numbers.iloc[0].astype(float)
    except ValueError:  # a header
        names = list(numbers.iloc[0])
        labels, numbers = labels.iloc[1:], numbers.iloc[1:]
    try:
        X = np.ascontiguousarray(numbers.to_numpy(), dtype=float)
    except ValueError as error:
        raise ValueError(f"{origin}: {error}") from error
    return Content(X, labels.to_numpy(dtype=str), tuple(names))


def read_images(content: bytes) -> Content:
    """Read images stored as bytes 0–255 with their labels (an ``.npz`` archive)."""
    with np.load(BytesIO(content), allow_pickle=False) as archive:
        X, labels = archive["images"].astype(float), archive["labels"].astype(str)
    return Content(X, labels, tuple(f"pixel{i}" for i in range(1, X.shape[1] + 1)))


def waveform(seed: int = 8, per_class: int = 300) -> Content:
    """Draw Breiman's waveforms: ``per_class`` samples of each class, class after class.

    With triangles h_c(i) = max(6 − |i − c|, 0), i = 1, …, 21, a sample of the class with centres
    (a, b) is u h_a + (1 − u) h_b + ε, u uniform, ε standard normal. Six decimals are kept: a
    last-digit difference between two platforms then leaves the checksum as it is.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    triangle = {c: np.maximum(6.0 - np.abs(np.arange(1, 22) - c), 0.0) for c in (7, 11, 15)}
    blocks = []
    for a, b in ((7, 15), (7, 11), (11, 15)):
        u = rng.random((per_class, 1))
        noise = rng.standard_normal((per_class, 21))
        blocks.append(u * triangle[a] + (1.0 - u) * triangle[b] + noise)
    names = tuple(f"x{i}" for i in range(1, 22))
    return Content(np.round(np.vstack(blocks), 6), np.repeat(["0", "1", "2"], per_class), names)


def _read(record: Record) -> Content:
    """Read the table of a record and compare its checksum, or its size where users supply it."""
    if record.kind == "user":
        path = user_file(record)
        if not path.is_file():
            raise MissingDataError(
                f"{record.id} ({record.name}) may not be redistributed and was not found in "
                f"{path.parent}. It comes from: {record.source} Once you have it as a CSV file "
                "with the class in the last column, register it with: python -m replication data "
                f"add {record.id} FILE"
            )
        table = read_csv(path.read_bytes(), str(path))
        check_size(table, record, str(path))
        return table
    if record.kind == "generated":
        table, origin = waveform(), "the generated array"
        content = np.ascontiguousarray(table.X, dtype="<f8").tobytes()
    else:
        path = TABLES_FOLDER / record.table
        if not path.is_file():
            raise CorruptedTableError(f"{record.id} ({record.name}): {path.name} is missing")
        table, origin, content = None, path.name, path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != record.sha256:
        raise CorruptedTableError(
            f"{record.id} ({record.name}): {origin} is not the recorded table; "
            f"sha256 found {found}, expected {record.sha256}"
        )
    if table is None:
        table = read_images(content) if origin.endswith(".npz") else read_csv(content, origin)
    return table


@dataclass(frozen=True)
class Dataset:
    """One data set.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Features, float64; missing values are NaN.
    y : ndarray of shape (n,)
        +1 for the target class, −1 for the rest.
    name, id, target, source : str
        Name, id in the paper's table, target class in use, where the data come from.
    feature_names : tuple of str
    """

    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    name: str
    id: str
    target: str
    source: str
    feature_names: tuple[str, ...] = field(repr=False)


def load(name: str, *, target: str | None = None) -> Dataset:
    """Load a data set of the paper by id (``"D7"``) or name (``"wine"``); case does not matter.

    Parameters
    ----------
    name : str
    target : str, optional
        Class to describe instead of the paper's, e.g. ``load("iris", target="setosa")``.

    Raises
    ------
    KeyError, CorruptedTableError, MissingDataError
        Unknown name; a table with another checksum; D4 or D5 when no file was registered.

    Examples
    --------
    >>> from replication.datasets import load
    >>> wine = load("wine")
    >>> wine.X.shape, int((wine.y == 1).sum())
    ((178, 13), 71)
    """
    record = find(name)
    X, labels, feature_names = _read(record)
    if record.threshold is not None:
        column, value = record.threshold.split(">")
        above = labels.astype(float) > float(value)
        labels = np.where(above, record.threshold, f"{column}<={value}")
    chosen = record.target if target is None else str(target)
    y = np.where(labels == chosen, 1, -1)
    if not (y == 1).any():
        raise ValueError(
            f"{record.id} ({record.name}) has no class {chosen!r}; "
            f"classes: {', '.join(sorted(set(labels.tolist())))}"
        )
    return Dataset(X, y, record.name, record.id, chosen, record.source, feature_names)


def verify(records: Iterable[Record] = RECORDS) -> dict[str, str]:
    """Check every set against its record: ``"verified"``, ``"to be supplied"`` or what is wrong."""
    status = {}
    for record in records:
        try:
            data = load(record.id)
            shape = (*data.X.shape, int((data.y == 1).sum()))
            good = shape == (record.n, record.dim, record.positives)
            status[record.id] = "verified" if good else f"wrong size: {shape}"
        except MissingDataError:
            status[record.id] = "to be supplied"
        except ValueError as error:
            status[record.id] = str(error)
    return status


# -- sets that may not be redistributed ------------------------------------------------------------


def user_file(record: Record) -> Path:
    """Return where the user's copy of a set lies, or would lie."""
    folder = os.environ.get("LPSVDD_DATA")
    if not folder:
        from platformdirs import user_data_dir

        folder = user_data_dir("lpsvdd")
    return Path(folder).expanduser() / f"{record.name}.csv"


def check_size(table: Content, record: Record, origin: str) -> None:
    """Raise ValueError unless the table has the record's size, dimension and target count."""
    n, dim = table.X.shape
    facts = [
        (n, record.n, "samples"),
        (dim, record.dim, "features"),
        (int((table.labels == record.target).sum()), record.positives,
         f"samples of class {record.target!r}"),
        (int((~np.isfinite(table.X)).sum()), record.missing, "missing or infinite values"),
    ]  # fmt: skip
    wrong = [f"{found} {what}, expected {due}" for found, due, what in facts if found != due]
    if wrong:
        raise ValueError(f"{origin} is not {record.id} ({record.name}): " + "; ".join(wrong))


def add(name: str, file: str | Path) -> Path:
    """Check a file against the record of a set that users supply, then copy it into their folder.

    The file is CSV, plain or gzip-compressed: features, then the class in the last column; a header
    line is optional. The answer is the copy that :func:`load` reads from now on.
    """
    record = find(name)
    if record.kind != "user":
        raise ValueError(f"{record.id} ({record.name}) comes with the replication: nothing to add")
    file = Path(file).expanduser()
    if not file.is_file():
        raise FileNotFoundError(f"no such file: {file}")
    content = file.read_bytes()
    check_size(read_csv(content, str(file)), record, str(file))
    target = user_file(record)
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(target) as handle:
        handle.write(content)
    return target
