"""Tables of OddBench and OvRBench: recognised by checksums, kept outside the project.

Both collections are in github.com/psorus/Outformer (``benchmarks/``): normal training rows, and
test rows with y = 1 for anomalies. No licence is stated, so no table is part of this project. Half
of the 1,354 tables were used here, each cut beforehand to 1,500 training rows, 1,000 normal test
rows and 1,000 anomalies; the other half is kept aside for a check from outside. A folder of such
files (``oddbench__NAME.npz`` with the arrays train, test, y) is named by ``LPSVDD_TABLES`` or with
``python -m replication run --from``. ``table_sets.csv`` is their catalogue, made by rules that look
at no score: ``studies/plans/tables.md`` has them in words and says where their code was.

A table counts for as much as its cluster lets it: tables of one repository, of one family of names,
or with rows in common are one cluster.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

VARIABLE = "LPSVDD_TABLES"
CATALOGUE = Path(__file__).with_suffix(".csv")


class TableDataError(OSError):
    """A folder of tables or a table in it cannot be used; the message says what to do."""


@cache
def records() -> pd.DataFrame:
    """The catalogue by name; ``part`` is "design", "judged" or why the table is left out."""
    return pd.read_csv(CATALOGUE).set_index("name", drop=False)


def names(part: str) -> tuple[str, ...]:
    """Tables of a part, in an order that says nothing of them: that of their hashed names."""
    found = records()
    return tuple(sorted(found.index[found["part"] == part], key=_digest))


@cache
def clusters() -> dict[str, str]:
    """The cluster of every table."""
    return dict(records()["cluster"])


def tables_folder(given: Path | None = None) -> Path:
    """The folder of tables: the one given, else that of the variable."""
    chosen = given or os.environ.get(VARIABLE)
    if not chosen or not Path(chosen).is_dir():
        raise TableDataError(
            "the tables are not part of this project: take them from github.com/psorus/Outformer "
            f"and name their folder with --from or the variable {VARIABLE}"
        )
    return Path(chosen)


def use_folder(source: Path) -> None:
    """Let this process and its workers read a folder of tables."""
    if not any(source.glob("o*bench__*.npz")):
        raise TableDataError(
            f"{source} holds no table (oddbench__NAME.npz or ovrbench__NAME.npz): name the folder "
            "of the tables with --from"
        )
    os.environ[VARIABLE] = str(source)


def load_table(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows, test rows and which test rows are anomalies, after the checksum."""
    path = tables_folder() / f"{name}.npz"
    if not path.is_file():
        raise TableDataError(f"the folder lacks {path.name}")
    try:
        arrays = _arrays(path)
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile):
        raise TableDataError(f"{path.name} does not hold the arrays train, test and y") from None
    wanted = records()["sha256"][name]
    if _content(arrays) != wanted:
        raise TableDataError(
            f"{path.name} is not the table that the results were computed from (the SHA-256 of its "
            f"arrays differs from {wanted[:12]}...)"
        )
    train, test, y = arrays
    return train.astype(float), test.astype(float), y == 1


def _arrays(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    with np.load(path, allow_pickle=False) as held:
        return tuple(
            np.ascontiguousarray(held[key], dtype=kind)
            for key, kind in (("train", "<f4"), ("test", "<f4"), ("y", "i1"))
        )  # type: ignore[return-value]


def _content(arrays: tuple[np.ndarray, ...]) -> str:
    """Checksum of the numbers, however the file is packed."""
    return hashlib.sha256(b"".join(one.tobytes() for one in arrays)).hexdigest()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
