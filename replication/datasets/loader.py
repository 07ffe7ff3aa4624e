"""From a record to (X, y): read, compare the checksum, label the target class +1."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from replication.datasets.generate import waveform
from replication.datasets.read import Table, array_sha256, file_sha256, read_csv, read_images
from replication.datasets.records import RECORDS, Record, find
from replication.datasets.user import checksum_file, user_file, user_folder, validate_table

if TYPE_CHECKING:
    import pandas as pd


class CorruptedTableError(ValueError):
    """A table's checksum is not the recorded one: truncated, altered or damaged in transit."""


class MissingDataError(FileNotFoundError):
    """A set that users must supply has not been supplied."""


@dataclass(frozen=True)
class Dataset:
    """One data set with its provenance.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Features, float64; missing values are NaN.
    y : ndarray of shape (n,)
        +1 for the target class, −1 for the rest.
    name, id, target, source : str
        Name, id in the paper's table, target class in use, where the data come from.
    labels : ndarray of str
        The original class of each row.
    feature_names : tuple of str
    record : Record
        The catalogue record: licence, alterations, checksum, size.
    """

    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    name: str
    id: str
    target: str
    source: str
    labels: np.ndarray = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    record: Record = field(repr=False)


def tables_folder() -> Path:
    """Return the folder of the tables that come with the replication."""
    with as_file(files("replication.datasets") / "tables") as folder:
        return Path(folder)


def _compare(record: Record, origin: str, found: str, expected: str) -> None:
    if found != expected:
        raise CorruptedTableError(
            f"{record.id} ({record.name}): {origin} is not the recorded table; "
            f"sha256 found {found}, expected {expected}"
        )


def _read_packaged(record: Record) -> Table:
    path = tables_folder() / str(record.table)
    if not path.is_file():
        raise CorruptedTableError(f"{record.id} ({record.name}): {path.name} is missing")
    _compare(record, path.name, file_sha256(path), str(record.sha256))
    return read_images(path) if path.suffix == ".npz" else read_csv(path)


def _read_generated(record: Record) -> Table:
    X, labels = waveform()
    _compare(record, "the generated array", array_sha256(X), str(record.sha256))
    return Table(X, labels, tuple(f"x{i}" for i in range(1, X.shape[1] + 1)))


def _read_user(record: Record) -> Table:
    path = user_file(record)
    if path is None:
        raise MissingDataError(
            f"{record.id} ({record.name}) may not be redistributed and was not found in "
            f"{user_folder()}. It comes from: {record.source} Once you have it as a CSV file with "
            "the class in the last column, register it with: python -m replication data add "
            f"{record.id} FILE"
        )
    note = checksum_file(path)
    if not note.is_file():
        raise CorruptedTableError(
            f"{record.id} ({record.name}): {path} was not registered; "
            f"run: python -m replication data add {record.id} {path}"
        )
    _compare(record, str(path), file_sha256(path), note.read_text(encoding="ascii").strip())
    table = read_csv(path)
    validate_table(table, record, str(path))
    return table


def _split_at_threshold(table: Table, rule: str) -> Table:
    """Replace a numeric last column by the two classes ``"NAME>T"`` and ``"NAME<=T"``."""
    name, threshold = rule.split(">")
    above = table.labels.astype(float) > float(threshold)
    labels = np.where(above, f"{name}>{threshold}", f"{name}<={threshold}")
    return Table(table.X, labels, table.feature_names)


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
    read = {"table": _read_packaged, "generated": _read_generated, "user": _read_user}
    table = read[record.kind](record)
    if record.threshold is not None:
        table = _split_at_threshold(table, record.threshold)
    chosen = record.target if target is None else str(target)
    positive = table.labels == chosen
    if not positive.any():
        raise ValueError(
            f"{record.id} ({record.name}) has no class {chosen!r}; "
            f"classes: {', '.join(sorted(set(table.labels.tolist())))}"
        )
    return Dataset(
        X=table.X,
        y=np.where(positive, 1, -1),
        name=record.name,
        id=record.id,
        target=chosen,
        source=record.source,
        labels=table.labels,
        feature_names=table.feature_names,
        record=record,
    )


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


def catalogue() -> pd.DataFrame:
    """Return the records as a DataFrame, one row per data set, indexed by id."""
    import pandas as pd

    return pd.DataFrame([asdict(record) for record in RECORDS]).set_index("id")
