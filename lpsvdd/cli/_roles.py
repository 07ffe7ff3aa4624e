"""What each column is: numbers, categories, ids to pass through, labels; and rows made of them.

Numbers are finite; True and False are 1 and 0. Text with few values is a category. Ids, free text,
dates, row numbers and empty columns are left out, with a word. A label is +1 (target) or -1,
written so or given by a target class; classes match as numbers: the class 1 is also written 1.0.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from lpsvdd.tables import Table

EMPTY = {"", "?", "na", "n/a", "nan", "null", "none"}


#: What is done about a missing value.
Missing = StrEnum("Missing", ["error", "mean", "median", "drop"])


def names(text: str | None) -> tuple[str, ...]:
    """Column names from one option: separated by commas, quoted where a name holds one."""
    cells = next(csv.reader([text or ""], skipinitialspace=True), [])
    return tuple(name.strip() for name in cells if name.strip())


@dataclass(frozen=True)
class Rows:
    """Rows as a model takes them; y is 0 where a label is missing."""

    frame: pd.DataFrame
    y: np.ndarray | None
    ids: pd.DataFrame

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def holes(self) -> Any:
        """Mask of the missing values; an empty category is one."""
        holes = self.frame.isna().to_numpy(copy=True)
        text = np.array([kind != np.float64 for kind in self.frame.dtypes], dtype=bool)
        holes[:, text] |= (self.frame.loc[:, text] == "").to_numpy(dtype=bool)
        return holes

    def take(self, mask: np.ndarray) -> Rows:
        """Some of the rows."""
        return Rows(self.frame[mask], None if self.y is None else self.y[mask], self.ids[mask])


@dataclass(frozen=True)
class Roles:
    """The meaning of the columns, from the options or a model file; features are found later."""

    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    label: str | None = None
    target: str | None = None
    missing: str | None = None
    drop: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """Columns that the model sees."""
        return (*self.numeric, *self.categorical)

    @property
    def fills(self) -> bool:
        """Whether the model fills in missing values."""
        return self.missing in (Missing.mean, Missing.median)

    def check(self, table: Table) -> Roles:
        """These options for a table, whose columns they must name."""
        if table.label is not None and (self.label or self.target):
            raise ValueError("--label and --target are for files; data sets know their target")
        asked = (*self.ids, *self.drop, *self.categorical, *((self.label,) if self.label else ()))
        if absent := [name for name in asked if name not in table.header]:
            raise ValueError(
                f"{table.name} has no column {listed(map(repr, absent))}; "
                f"it has {listed(table.header)}"
            )
        return replace(self, label=self.label or table.label)

    def infer(self, table: Table, cells: pd.DataFrame) -> Roles:
        """With the features found among the other columns of the cells; the table gets notes."""
        kinds: dict[str, list[str]] = {}
        for name in table.header:
            if name in self.categorical:
                kinds.setdefault("category", []).append(name)
            elif name not in {*self.ids, *self.drop, self.label}:
                kind = _kind(name, cells[name].to_numpy(), table.decimal)
                kinds.setdefault(kind, []).append(name)
        if bad := kinds.pop("unusable", []):
            cell = (_first_bad(name, cells[name].to_numpy(), table.decimal) for name in bad)
            raise ValueError(
                f"{table.name}: not all numbers: {listed(cell)}; repair the cells, or say what the "
                "columns are (--categorical, --id, --label) or leave them out (--drop)"
            )
        numeric, categorical = (tuple(kinds.pop(kind, ())) for kind in ("number", "category"))
        table.notes += [f"left out as {kind}: {listed(left)}" for kind, left in kinds.items()]
        if guessed := [name for name in categorical if name not in self.categorical]:
            table.notes.append(f"taken as categories: {listed(guessed)}")
        if not numeric and not categorical:
            raise ValueError("; ".join([f"{table.name} has no column to describe", *table.notes]))
        return replace(self, numeric=numeric, categorical=categorical)

    def rows(self, table: Table, cells: pd.DataFrame, first: int, *, strict: bool) -> Rows:
        """Cells as rows, the first of which has this number; ``strict``: each needs a label."""
        import pandas as pd

        columns: dict[str, Any] = {}
        unusable = []
        for name in self.numeric:
            columns[name], bad = numbers(cells[name].to_numpy(), table.decimal)
            if bad.any():
                unusable += [_first_bad(name, cells[name].to_numpy(), table.decimal, first)]
        if unusable:
            raise ValueError(f"{table.name}: not a finite number: {listed(unusable)}")
        for name in self.categorical:
            columns[name] = np.array([cell.strip() for cell in cells[name]], dtype=object)
        index = pd.RangeIndex(first, first + len(cells), name="row")
        y = None if self.label is None else self._labels(table, cells[self.label], first, strict)
        ids = cells[list(self.ids)].set_axis(index)
        return Rows(pd.DataFrame(columns, index=index), y, ids)

    def _labels(self, table: Table, cells: pd.Series, first: int, strict: bool) -> np.ndarray:
        keys = [class_key(cell) for cell in cells]
        classes = listed(dict.fromkeys(cells), 5)
        if strict and None in keys:
            row = first + keys.index(None)
            raise ValueError(f"{table.name} has no label in row {row}, column {self.label!r}")
        if self.target is None and not set(keys) <= {1.0, -1.0, None}:
            raise ValueError(
                f"{table.name}: column {self.label!r} holds {classes}, not just +1 and -1; "
                "name the class to describe with --target"
            )
        wanted = class_key(self.target or "1")
        if strict and wanted not in keys:
            raise ValueError(f"{table.name}: no row is a target, {self.target}; it has {classes}")
        return np.array([0 if key is None else 1 if key == wanted else -1 for key in keys])


def whole_rows(table: Table, options: Roles) -> tuple[Roles, Rows]:
    """Roles and rows of a table to fit to; missing values are refused, dropped or kept."""
    import pandas as pd

    if options.target is not None and options.label is None and table.label is None:
        raise ValueError("a target class needs the column that holds the classes: --label")
    options = options.check(table)
    cells = pd.concat(table.blocks, ignore_index=True)
    roles = options.infer(table, cells)
    rows = roles.rows(table, cells, 1, strict=True)
    if roles.missing == Missing.drop and (holes := rows.holes.any(axis=1)).any():
        table.notes.append(f"{holes.sum()} rows with a missing value were left out")
        rows = rows.take(~holes)
        if not len(rows):
            raise ValueError(f"{table.name}: every row lacks a value; use --missing median")
    if not roles.fills:
        refuse_holes(table.name, rows, "fill them in, or use --missing (mean, median, drop)")
    return roles, rows


def refuse_holes(table: str, rows: Rows, remedy: str) -> None:
    """Raise ValueError that names every column with a missing value."""
    where = [
        f"{name!r} (row {rows.frame.index[column.argmax()]}"
        + (f" and {column.sum() - 1} more)" if column.sum() > 1 else ")")
        for name, column in zip(rows.frame.columns, rows.holes.T, strict=True)
        if column.any()
    ]
    if where:
        raise ValueError(f"{table} lacks values in {listed(where)}; {remedy}")


def listed(values: Iterable[str], most: int = 12) -> str:
    """The first of them, and how many more there are."""
    values = list(values)
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(values[:most]) + more


def numbers(cells: Iterable[str], decimal: str) -> tuple[np.ndarray, np.ndarray]:
    """Values, NaN where a cell is empty; and a mask of the cells that are no finite numbers."""
    values = np.array([_number(cell.strip().lower(), decimal) for cell in cells], dtype=float)
    bad = np.isinf(values)
    return np.where(bad, np.nan, values), bad


def _number(cell: str, decimal: str) -> float:
    """Infinite for what is none."""
    if cell in EMPTY:
        return math.nan
    if cell in ("true", "false"):
        return float(cell == "true")
    try:  # Python reads 1_000, no other program does
        return math.inf if "_" in cell else float(cell.replace(decimal, "."))
    except ValueError:
        return math.inf


def _kind(name: str, cells: np.ndarray, decimal: str) -> str:
    """ "number", "category", "unusable", or why the column is left out."""
    values, bad = numbers(cells, decimal)
    if not bad.any():
        present = values[~np.isnan(values)]
        if not len(present):
            return "empty"
        if len(present) < 10 or len(np.unique(present)) < len(cells):
            return "number"
        if (np.diff(present) == 1.0).all():
            return "row numbers"
        like_id = re.fullmatch(r"(.*[\W_])?(id|uuid|index|key|nr|no)", name, re.IGNORECASE)
        return "ids" if like_id and (present % 1 == 0).all() else "number"
    text = [cell.strip() for cell in cells if cell.strip().lower() not in EMPTY]
    date = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?|\d{1,2}:\d\d(:\d\d)?")
    if all(date.fullmatch(cell) for cell in text):
        return "dates or times"
    number = re.compile(r"[-+]?[$€£]?\s*\d[\d.,_' ]*\s*[%$€£]?|[-+]?inf(inity)?", re.IGNORECASE)
    nearly = sum(number.fullmatch(cell) is not None for cell in text)
    if 2 * max(nearly, len(text) - int(bad.sum())) >= len(text):
        return "unusable"
    return "category" if len(set(text)) <= min(50, len(cells) / 2) else "ids or free text"


def _first_bad(name: str, cells: np.ndarray, decimal: str, first: int = 1) -> str:
    at = int(numbers(cells, decimal)[1].argmax())
    cell = cells[at] if len(cells[at]) <= 40 else f"{cells[at][:40]}..."
    return f"{name!r} (row {first + at}: {cell!r})"


def class_key(cell: str) -> float | str | None:
    """A class to compare by: a number where the cell is one; None where it is empty."""
    cell = cell.strip()
    if cell.lower() in EMPTY:
        return None
    try:
        value = float(cell)
    except ValueError:
        return cell
    return value if math.isfinite(value) else cell
