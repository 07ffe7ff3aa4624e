"""Users' own tables: named columns of numbers and, where wanted, one column of labels.

A label is +1 (target) or -1, written so or given by a target class: +1 where the label column holds
its name. Rows are counted from 1 below the header line, in messages as in tables of scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lpsvdd.datasets.read import read_rows

if TYPE_CHECKING:
    import pandas as pd

MISSING = {"", "?", "na", "n/a", "nan", "null"}
SIGNS = {"1": 1, "+1": 1, "1.0": 1, "+1.0": 1, "-1": -1, "-1.0": -1}


@dataclass(frozen=True)
class LabelledTable:
    """Numbers (missing: NaN) under column names, with labels +1 / -1 where there are any."""

    name: str
    X: np.ndarray = field(repr=False)
    columns: tuple[str, ...]
    y: np.ndarray | None = field(default=None, repr=False)

    def alike(self, path: Path, label: str | None, target: str | None) -> LabelledTable:
        """Another file in the columns of this table, found by name; labels may be absent there."""
        if not path.is_file():
            raise ValueError(f"there is no file {path}")
        columns = _read_columns(path)
        if label not in columns:
            label = target = None
        for name in self.columns:
            if name not in columns:
                raise ValueError(f"{path.name} has no column {name!r}, which {self.name} has")
        kept = {name: columns[name] for name in (*self.columns, label) if name is not None}
        return _from_columns(kept, path.name, label, target)

    def frame(self) -> pd.DataFrame:
        """The numbers with their column names, which a fitted pipeline remembers."""
        import pandas as pd

        return pd.DataFrame(self.X, columns=list(self.columns))

    def refuse_missing(self, hint: str) -> None:
        """Raise ValueError if a value is missing."""
        missing = np.isnan(self.X)
        if missing.any():
            i, j = np.argwhere(missing)[0]
            raise ValueError(
                f"{self.name} has missing values ({missing.sum()}, the first in row {i + 1}, "
                f"column {self.columns[j]!r}); {hint}"
            )


def read_labelled(path: Path, label: str | None = None, target: str | None = None) -> LabelledTable:
    """Read a CSV file with a header line; without ``label`` it has features only."""
    if target is not None and label is None:
        raise ValueError("a target class needs the column that holds the classes: --label")
    columns = _read_columns(path)
    if label is not None and label not in columns:
        raise ValueError(f"{path.name} has no column {label!r}; it has {', '.join(columns)}")
    table = _from_columns(columns, path.name, label, target)
    if table.y is not None and not (table.y > 0).any():
        known = ", ".join(list(dict.fromkeys(columns[str(label)]))[:5])
        raise ValueError(
            f"{path.name}: no row is a target, {target or '+1'}; column {label!r} holds {known}"
        )
    return table


def _read_columns(path: Path) -> dict[str, list[str]]:
    """The cells under each name."""
    header, *lines = [[cell.strip() for cell in row] for row in read_rows(path)] or [[]]
    if not lines:
        raise ValueError(f"{path.name} holds no table: expected a header line, then rows")
    if len(set(header)) < len(header):
        raise ValueError(f"{path.name}: two columns have the same name")
    if all(_is_number(cell) for cell in header):
        raise ValueError(f"{path.name}: the first line must hold column names, not numbers")
    for i, line in enumerate(lines, 1):
        if len(line) != len(header):
            raise ValueError(f"{path.name}, row {i}: {len(line)} cells under {len(header)} names")
    return dict(zip(header, map(list, zip(*lines, strict=True)), strict=True))


def _from_columns(
    columns: dict[str, list[str]], table: str, label: str | None, target: str | None
) -> LabelledTable:
    features = {name: cells for name, cells in columns.items() if name != label}
    if not features:
        raise ValueError(f"{table} has no column besides the labels")
    X = np.array([_numbers(cells, table, name) for name, cells in features.items()]).T
    y = None if label is None else _labels(columns[label], table, label, target)
    return LabelledTable(table, np.ascontiguousarray(X), tuple(features), y)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _numbers(cells: list[str], table: str, column: str) -> list[float]:
    values = []
    for i, cell in enumerate(cells, 1):
        if cell.lower() in MISSING:
            values.append(math.nan)
        elif _is_number(cell) and math.isfinite(float(cell)):
            values.append(float(cell))
        else:
            raise ValueError(
                f"{table}: column {column!r} holds {cell!r} in row {i}, not a finite number; "
                "remove the column, or name it with --label if it holds the labels"
            )
    return values


def _labels(cells: list[str], table: str, column: str, target: str | None) -> np.ndarray:
    if target is not None:
        return np.where(np.array(cells) == target, 1, -1)
    if not SIGNS.keys() >= set(cells):
        known = ", ".join(list(dict.fromkeys(cells))[:5])
        raise ValueError(
            f"{table}: column {column!r} holds {known}, not just +1 and -1; "
            "name the class to describe with --target"
        )
    return np.array([SIGNS[cell] for cell in cells])
