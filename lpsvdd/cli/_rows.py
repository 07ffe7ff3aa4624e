"""What each column is, and blocks of cells as rows that a model can take.

A column holds numbers, categories, ids to pass through, or the labels. A label is +1 (target) or
-1, written so or given by a target class: +1 where the label column holds its name. Numbers match
as numbers: the class 1 is also written 1.0.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lpsvdd.cli._cells import MISSING, CellReader, Layout, unnamed

if TYPE_CHECKING:
    import pandas as pd


class Missing(StrEnum):
    """What is done about a missing value."""

    error = "error"
    mean = "mean"
    median = "median"
    drop = "drop"


def names(text: str | None) -> tuple[str, ...]:
    """Column names from one option: separated by commas, quoted where a name holds one."""
    if text is None:
        return ()
    found = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    return tuple(name for name in found if name)


@dataclass(frozen=True)
class Roles:
    """The meaning of the columns, in the order of the table; kept in the model file."""

    numeric: tuple[str, ...]
    categorical: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    label: str | None = None
    target: str | None = None
    missing: str = Missing.error.value

    @property
    def features(self) -> tuple[str, ...]:
        """Columns that the model sees."""
        return (*self.numeric, *self.categorical)

    @classmethod
    def choose(
        cls,
        header: list[str],
        *,
        table: str,
        columns: tuple[str, ...] = (),
        drop: tuple[str, ...] = (),
        categorical: tuple[str, ...] = (),
        ids: tuple[str, ...] = (),
        label: str | None = None,
        target: str | None = None,
        missing: str = Missing.error.value,
    ) -> Roles:
        """Roles from the options of ``fit``: features are the chosen columns, or all others."""
        if columns and drop:
            raise ValueError(
                "give --columns (the ones to use) or --drop (the ones not to), not both"
            )
        if target is not None and label is None:
            raise ValueError("a target class needs the column that holds the classes: --label")
        asked = (*columns, *drop, *categorical, *ids, *((label,) if label else ()))
        _require(asked, header, table)
        others = {*ids, *drop, label}
        features = [name for name in header if name not in others]
        if columns:
            features = [name for name in features if name in {*columns, *categorical}]
        if not features:
            raise ValueError(f"{table} has no column left to describe")
        for position, name in enumerate(header, 1):
            if name in features and name == unnamed(position) and name not in columns:
                raise ValueError(
                    f"{table}: column {position} has no name (row numbers, perhaps); pass it "
                    f"through with --id {name!r} or leave it out with --drop {name!r}"
                )
        numeric = tuple(name for name in features if name not in categorical)
        kept = tuple(name for name in features if name in categorical)
        return cls(numeric, kept, ids, label, target, missing)

    def notes(self) -> dict[str, Any]:
        """For the model file."""
        return asdict(self)

    @classmethod
    def from_notes(cls, notes: dict[str, Any]) -> Roles | None:
        """The roles kept in a model file; None for a model that was saved from Python."""
        if "numeric" not in notes:
            return None
        numeric, categorical, ids = (
            tuple(map(str, notes[key])) for key in ("numeric", "categorical", "ids")
        )
        return cls(numeric, categorical, ids, notes["label"], notes["target"], notes["missing"])

    def match(self, header: list[str], table: str) -> tuple[Roles, list[str]]:
        """These roles for another table, and what to tell: columns are found by name.

        Ids and labels may be absent there; a feature may not. Columns that nothing uses are named.
        """
        absent = [name for name in self.features if name not in header]
        used = {*self.features, *self.ids, self.label}
        extra = [name for name in header if name not in used]
        if absent:
            more = f"; it has {_listed(extra)} instead" if extra else ""
            raise ValueError(
                f"{table} lacks {len(absent)} of the model's {len(self.features)} columns: "
                f"{_listed(absent)}{more}"
            )
        notes = [f"not used of {table}: {_listed(extra)}"] if extra else []
        there = replace(
            self,
            ids=tuple(name for name in self.ids if name in header),
            label=self.label if self.label in header else None,
        )
        return there, notes


@dataclass(frozen=True)
class Rows:
    """Rows as a model takes them, with their numbers, ids and labels (0: not labelled)."""

    table: str
    frame: pd.DataFrame = field(repr=False)
    numbers: np.ndarray = field(repr=False)
    y: np.ndarray | None = field(default=None, repr=False)
    ids: dict[str, list[str]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, chosen: np.ndarray) -> Rows:
        """Some of the rows, by index or mask."""
        index = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        return Rows(
            self.table,
            self.frame.iloc[index].reset_index(drop=True),
            self.numbers[index],
            None if self.y is None else self.y[index],
            {name: [cells[i] for i in index] for name, cells in self.ids.items()},
        )

    @property
    def missing(self) -> np.ndarray:
        """Mask of the rows with a missing value."""
        return self.frame.isna().to_numpy().any(axis=1)

    @staticmethod
    def joined(parts: list[Rows]) -> Rows:
        """Blocks as one table."""
        import pandas as pd

        first = parts[0]
        return Rows(
            first.table,
            pd.concat([part.frame for part in parts], ignore_index=True),
            np.concatenate([part.numbers for part in parts]),
            None if first.y is None else np.concatenate([part.y for part in parts]),
            {name: [cell for part in parts for cell in part.ids[name]] for name in first.ids},
        )


def read_blocks(reader: CellReader, roles: Roles, *, strict_labels: bool = True) -> Iterator[Rows]:
    """Rows of an opened table, block by block.

    ``strict_labels``: every row needs a label (to fit); otherwise a missing one is 0 (to score).
    """
    import pandas as pd

    for first, cells in reader.blocks():
        where = (reader.name, first)
        columns: dict[str, Any] = {
            name: _numbers(cells[name], reader.layout, name, where) for name in roles.numeric
        }
        columns |= {name: _categories(cells[name]) for name in roles.categorical}
        y = None
        if roles.label is not None:
            y = _labels(cells[roles.label], roles, where, strict_labels)
        n = len(cells[reader.header[0]])
        yield Rows(
            reader.name,
            pd.DataFrame(columns),
            np.arange(first, first + n),
            y,
            {name: cells[name] for name in roles.ids},
        )


class Sample:
    """At most n of the rows that are added, drawn at random without replacement, in their order.

    Each row gets a random number and the n smallest are kept: one pass, no more than 2n in memory.
    """

    def __init__(self, n: int, seed: int = 0):
        self.n, self.seen = n, 0
        self._rng = np.random.default_rng(seed)
        self._parts: list[Rows] = []
        self._keys: list[np.ndarray] = []

    def add(self, rows: Rows) -> None:
        """Offer a block."""
        self._parts.append(rows)
        self._keys.append(self._rng.random(len(rows)))
        self.seen += len(rows)
        if sum(map(len, self._keys)) > 2 * self.n:
            self._trim()

    def rows(self) -> Rows:
        """The rows drawn so far."""
        self._trim()
        return self._parts[0]

    def _trim(self) -> None:
        keys = np.concatenate(self._keys)
        kept = np.sort(np.argsort(keys)[: self.n])
        self._parts, self._keys = [Rows.joined(self._parts).take(kept)], [keys[kept]]


def refuse_missing(rows: Rows, hint: str) -> None:
    """Raise ValueError if a value is missing."""
    holes = rows.frame.isna().to_numpy()
    if holes.any():
        i, j = np.argwhere(holes)[0]
        raise ValueError(
            f"{rows.table} has no value in row {rows.numbers[i]}, column "
            f"{rows.frame.columns[j]!r}; {hint}"
        )


def catalogue_rows(name: str) -> Rows:
    """A data set of the catalogue as rows; ValueError if there is none of that name."""
    import pandas as pd

    from lpsvdd import datasets

    try:
        datasets.find(name)
    except KeyError:
        raise ValueError(
            f"there is no file {name} and no data set of that name; "
            "the data sets are shown by: lpsvdd data list"
        ) from None
    found = datasets.load(name)
    frame = pd.DataFrame(found.X, columns=list(found.feature_names))
    return Rows(f"{found.id} {found.name}", frame, np.arange(1, len(frame) + 1), found.y)


def is_table(source: str) -> bool:
    """Whether the argument names a file or standard input rather than a data set."""
    return source == "-" or Path(source).exists()


def _require(asked: tuple[str, ...], header: list[str], table: str) -> None:
    for name in asked:
        if name not in header:
            raise ValueError(f"{table} has no column {name!r}; it has {_listed(header)}")


def _listed(values: list[str], most: int = 12) -> str:
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(values[:most]) + more


def _numbers(cells: list[str], layout: Layout, column: str, where: tuple[str, int]) -> np.ndarray:
    try:
        return np.array(layout.numbers(cells))
    except ValueError:
        pass
    table, first = where
    for row, cell in enumerate(cells, first):
        try:
            layout.number(cell)
        except ValueError:
            shown = cell if len(cell) <= 40 else f"{cell[:40]}..."
            raise ValueError(
                f"{table}: column {column!r} holds {shown!r} in row {row}, not a finite number; "
                f"say what the column is (--categorical, --id, --label) or leave it out (--drop)"
                + ("; for decimal commas: --decimal ," if "," in cell else "")
            ) from None
    raise AssertionError("unreachable: some cell is not a number")


def _categories(cells: list[str]) -> pd.Series:
    """Text as it is; an empty cell is missing."""
    import pandas as pd

    return pd.Series([cell or None for cell in cells], dtype=object)


def _labels(cells: list[str], roles: Roles, where: tuple[str, int], strict: bool) -> np.ndarray:
    table, first = where
    if strict:
        for row, cell in enumerate(cells, first):
            if cell.lower() in MISSING:
                raise ValueError(f"{table} has no label in row {row}, column {roles.label!r}")
    wanted = class_key("1" if roles.target is None else roles.target)
    keys = [class_key(cell) for cell in cells]
    if roles.target is None and not set(keys) <= {1.0, -1.0, None}:
        known = _listed(list(dict.fromkeys(cells)), 5)
        raise ValueError(
            f"{table}: column {roles.label!r} holds {known}, not just +1 and -1; "
            "name the class to describe with --target"
        )
    return np.array([0 if key is None else 1 if key == wanted else -1 for key in keys])


def class_key(cell: str) -> float | str | None:
    """A class to compare by: a number where the cell is one; None where it is empty."""
    if cell.lower() in MISSING:
        return None
    try:
        value = float(cell)
    except ValueError:
        return cell
    return value if math.isfinite(value) else cell
