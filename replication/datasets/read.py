"""Readers and checksums: a table is numbers in all columns but the last, which holds the class."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Table:
    """Numbers, class labels (as strings) and column names of one table."""

    X: np.ndarray
    labels: np.ndarray
    feature_names: tuple[str, ...]


def file_sha256(path: Path) -> str:
    """Return SHA-256 of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def array_sha256(X: np.ndarray) -> str:
    """Return SHA-256 of an array's values as little-endian doubles, row by row."""
    return hashlib.sha256(np.ascontiguousarray(X, dtype="<f8").tobytes()).hexdigest()


def _numbers(cells: list[str]) -> list[float]:
    """Return cells as numbers; an empty cell is a missing value."""
    return [float(cell) if cell.strip() else float("nan") for cell in cells]


def read_rows(path: Path) -> list[list[str]]:
    """Return the cells of a CSV file, plain or gzip-compressed, without its empty lines."""
    with open(path, "rb") as handle:
        packed = handle.read(2) == b"\x1f\x8b"
    with gzip.open(path) if packed else open(path, "rb") as stream:
        raw = stream.read()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a text file in UTF-8") from error
    try:
        return [row for row in csv.reader(io.StringIO(text)) if row]
    except csv.Error as error:  # a cell over 131,072 characters: a quotation mark left open
        raise ValueError(f"{path} is no table: {error}") from error


def read_csv(path: Path) -> Table:
    """Read a CSV file, plain or gzip-compressed, with or without a header line."""
    rows = read_rows(path)
    if not rows or len(rows[0]) < 2:
        raise ValueError(f"{path} holds no table: expected features, then the class, by commas")
    width = len(rows[0])
    names, first = [f"x{i}" for i in range(1, width)], 1
    try:
        _numbers(rows[0][:-1])
    except ValueError:  # a header
        names, first = rows.pop(0)[:-1], 2
    X = np.empty((len(rows), width - 1))
    for i, row in enumerate(rows):
        if len(row) != width:
            raise ValueError(f"{path}, row {first + i}: {len(row)} cells, expected {width}")
        try:
            X[i] = _numbers(row[:-1])
        except ValueError as error:
            raise ValueError(f"{path}, row {first + i}: {error}") from error
    labels = np.array([row[-1].strip() for row in rows])
    return Table(X, labels, tuple(name.strip() for name in names))


def read_images(path: Path) -> Table:
    """Read images stored as bytes 0–255 with their labels (an ``.npz`` archive)."""
    with np.load(path, allow_pickle=False) as archive:
        X = archive["images"].astype(np.float64)
        labels = archive["labels"].astype(str)
    return Table(X, labels, tuple(f"pixel{i}" for i in range(1, X.shape[1] + 1)))
