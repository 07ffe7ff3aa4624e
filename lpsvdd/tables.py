"""Tables as pandas reads them, and what their columns are to a model.

Numbers are standardised and text becomes indicators; identifiers, free text, dates, row numbers and
constant columns are left out, each with a note.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

MAX_CATEGORIES = 50  # most distinct values of a text that is a category
UNIT = "[$€£¥%]"
DATE_LIKE = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}([ T]\d.*)?")
NUMBER_LIKE = re.compile(rf"[-+]?\s*{UNIT}?\s*[-+]?\d[\d.,' ]*{UNIT}?")


@dataclass
class ColumnRoles:
    """What each column of a table is to a model; a model file holds these as its notes."""

    numeric: list[str]
    categorical: list[str]
    ids: list[str]
    label: str | None = None
    target: str | None = None
    missing: str = "error"

    @property
    def features(self) -> list[str]:
        """Columns that the model sees."""
        return [*self.numeric, *self.categorical]

    @property
    def named(self) -> list[str]:
        """Columns that name a row or hold its label."""
        return [*self.ids, *([self.label] if self.label else [])]


def read_table(source: str, *, sep: str | None = None, decimal: str = ".") -> pd.DataFrame:
    """Return a table from a CSV, TSV, Excel or parquet file, or from standard input ("-")."""
    name, suffixes = Path(source).name, Path(source.lower()).suffixes
    sep = (sep or ("\t" if ".tsv" in suffixes else ",")).replace("\\t", "\t")
    file: Any = sys.stdin.buffer if source == "-" else source
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            if suffixes[-1:] == [".parquet"]:
                frame = pd.read_parquet(source, engine="pyarrow")
            elif suffixes[-1:] == [".xlsx"]:
                frame = pd.read_excel(source, na_values="?")
            else:
                frame = pd.read_csv(
                    file, sep=sep, decimal=decimal, index_col=False, na_values="?",
                    skipinitialspace=True, low_memory=False,
                )  # fmt: skip
    except UnicodeDecodeError:
        raise ValueError(f"{name} is not text in UTF-8: save the table as CSV in UTF-8") from None
    except (ValueError, pd.errors.ParserWarning) as error:
        reason = f"{name} cannot be read ({error}): it needs column names, and as many cells"
        raise ValueError(f"{reason} in each row, separated by {sep!r} or as --sep says") from None
    frame.columns = [str(column).strip() for column in frame.columns]
    if len(frame.columns) == 1 and (other := re.search(r"[;\t|,]", frame.columns[0])):
        raise ValueError(
            f"{name} has one column only: are cells separated by {other[0]!r}? (--sep)"
        )
    if not frame.columns.is_unique:
        raise ValueError(f"{name} has two columns with the same name: rename one")
    if frame.empty or all(re.fullmatch(r"[-+]?\d[-+\d.,e]*", name) for name in frame.columns):
        raise ValueError(f"{name} needs a first line of column names, then at least one row")
    return frame.set_axis(pd.RangeIndex(1, len(frame) + 1, name="row"))


def joined(values: Iterable[Any], most: int = 10) -> str:
    """Return the first of the values as a text, and how many more there are."""
    texts = [str(value) for value in values]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def check_columns(frame: pd.DataFrame, names: Iterable[str]) -> None:
    """Raise ValueError unless the table has all these columns."""
    if absent := [name for name in dict.fromkeys(names) if name not in frame]:
        raise ValueError(f"there is no column {joined(absent)}: the table has {joined(frame)}")


def find_roles(frame: pd.DataFrame, roles: ColumnRoles, decimal: str) -> list[str]:
    """Give each column that has no role yet its own, and return notes on what was found."""
    kinds: dict[str, list[str]] = {"number": [], "category": []}
    for name in frame.columns.difference(roles.named, sort=False):
        kinds.setdefault(_kind(frame[name], decimal), []).append(name)
    roles.numeric, roles.categorical = kinds.pop("number"), kinds.pop("category")
    notes = [f"left out as {kind}: {joined(names)}" for kind, names in kinds.items()]
    if texts := [name for name in roles.numeric if not is_numeric_dtype(frame[name])]:
        notes.append(f"text read as numbers: {joined(texts)}")
    if roles.categorical:
        notes.append(f"taken as categories: {joined(roles.categorical)}")
    if not roles.features:
        notes.append(f"a column with different values is needed (normal rows read: {len(frame)})")
        raise ValueError("; ".join(["the table has no column to learn from", *notes]))
    return notes


def _kind(cells: pd.Series, decimal: str) -> str:
    """Return "number", "category", or as what the column is left out."""
    present = cells.dropna()
    distinct = present.nunique()
    if distinct < 2:
        return "constant"
    if is_bool_dtype(cells):
        return "category"
    texts = [str(cell).strip() for cell in present]
    half = len(present) / 2
    if is_datetime64_any_dtype(cells) or sum(map(bool, map(DATE_LIKE.fullmatch, texts))) > half:
        return "dates"
    values = as_numbers(present, decimal)
    if max(sum(map(bool, map(NUMBER_LIKE.fullmatch, texts))), np.isfinite(values).sum()) < half:
        few = distinct <= min(MAX_CATEGORIES, len(cells) / 2)
        return "category" if few else "identifiers or free text"
    if len(cells) >= 10 and (np.diff(values) == 1).all():
        return "row numbers"
    return "number"  # model_rows names the cells that are none


def as_numbers(cells: pd.Series, decimal: str) -> np.ndarray:
    """Return cells as floats, NaN where a cell is no number; "$1,200" is 1200 and "12 %" is 12."""
    if is_numeric_dtype(cells):
        return cells.to_numpy(dtype=float, na_value=np.nan)
    comma, point = (",", r"\.") if decimal == "." else (r"\.", ",")
    text = cells.astype("string").str.strip()
    plain = text.str.replace(rf"^([-+]?)\s*{UNIT}\s*|\s*{UNIT}$", r"\1", regex=True)
    grouped = plain.str.fullmatch(rf"[-+]?[1-9]\d{{0,2}}({comma}\d{{3}})+({point}\d+)?")
    plain = plain.mask(grouped.fillna(False), plain.str.replace(comma, "", regex=True))
    if decimal == ",":
        plain = plain.str.replace(".", "?", regex=False).str.replace(",", ".", regex=False)
    values = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    units = text[~np.isnan(values)].str.extract(f"({UNIT})", expand=False).fillna("none").unique()
    if len(units) > 1:
        found = f"column {cells.name!r} mixes the units {joined(units)}"
        raise ValueError(f"{found}: write each cell in the same one, or leave it out with --drop")
    return values


def as_text(cell: Any) -> str:
    """Return a category or a class as text: "" if missing, and 1, 1.0 and True are the same."""
    try:
        return "" if pd.isna(cell) else f"{float(cell):.15g}"
    except (TypeError, ValueError):
        return str(cell).strip()


def model_rows(frame: pd.DataFrame, roles: ColumnRoles, decimal: str) -> pd.DataFrame:
    """Return the columns that the model sees: floats, and categories as text ("" if missing)."""
    columns: dict[str, np.ndarray] = {}
    unusable = []
    for name in roles.numeric:
        columns[name] = values = as_numbers(frame[name], decimal)
        bad = frame[name][np.isinf(values) | (np.isnan(values) & frame[name].notna())]
        if len(bad):
            unusable.append(f"{name!r} (row {bad.index[0]}: {str(bad.iloc[0])[:40]!r})")
    if unusable:
        raise ValueError(
            f"not all cells are finite numbers in {joined(unusable)}: repair them, give --decimal, "
            "or say what the columns are (fit with --id, --label or --drop)"
        )
    for name in roles.categorical:
        columns[name] = np.array([*map(as_text, frame[name])], object)
    return pd.DataFrame(columns, index=frame.index)


def incomplete_rows(frame: pd.DataFrame, roles: ColumnRoles) -> np.ndarray:
    """Return a mask of the rows that lack a value, or raise ValueError where that is an error."""
    holes = frame[roles.features].isna()
    if roles.missing == "error" and holes.to_numpy().any():
        counts = holes.sum()[holes.any()]
        where = [f"{name!r} ({k} rows, first {holes[name].idxmax()})" for name, k in counts.items()]
        remedy = "add --missing drop, or --missing median"
        raise ValueError(f"values are missing in {joined(where)}: {remedy}")
    return holes.any(axis=1).to_numpy() & (roles.missing != "median")


def target_labels(frame: pd.DataFrame, roles: ColumnRoles) -> np.ndarray:
    """Return 1 (normal), -1 (other) or NaN (no label) for each row; 1 without a label column."""
    if roles.label is None:
        return np.ones(len(frame))
    classes = np.array([as_text(cell) for cell in frame[roles.label]])
    if roles.target is None and not {*classes} <= {"1", "-1", ""}:
        raise ValueError(
            f"column {roles.label!r} holds {joined(sorted({*classes}), 5)} and not just 1 and -1: "
            "name the class of the normal rows with --target"
        )
    labels = np.where(classes == as_text(roles.target or "1"), 1.0, -1.0)
    return np.where(classes == "", np.nan, labels)


def column_transformer(roles: ColumnRoles, rows: pd.DataFrame) -> ColumnTransformer:
    """Return the unfitted preparation of the columns: numbers standardised, indicators of text.

    A category that is not in training has an indicator of its own, so that its row is as far from
    the training rows as two categories are from each other, never nearer.
    """
    numbers: Any = StandardScaler()
    if roles.missing == "median":
        numbers = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), numbers)
    codes = [np.arange(-1.0, rows[name].nunique()) for name in roles.categorical]
    categories = make_pipeline(
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        OneHotEncoder(categories=codes, sparse_output=False),
    )
    parts = [("numbers", numbers, roles.numeric), ("categories", categories, roles.categorical)]
    return ColumnTransformer([part for part in parts if part[2]], verbose_feature_names_out=False)
