"""Text tables as cells, block by block: files, standard input, gzip, separators, decimal commas.

A table has a header line and rows of as many cells as there are names. Rows are counted from 1
below the header, in messages as in tables of scores. Nothing is kept but the current block, so a
file may be larger than the memory.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import math
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BLOCK = 4096
"""Rows held at a time."""

SAMPLE, LONGEST = 200, 10_000_000  # lines looked at to detect the layout; characters of a line
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "blank"}
MISSING = {"", "?", "na", "n/a", "nan", "null", "none"}

_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Layout:
    """How cells are separated and numbers written; read from the file or given."""

    sep: str = ","
    decimal: str = "."

    def number(self, cell: str) -> float:
        """A finite number; NaN for a missing value; ValueError for anything else."""
        if cell.lower() in MISSING:
            return math.nan
        if "_" in cell:  # Python reads 1_000 as a number, no other program does
            raise ValueError(cell)
        value = float(cell.replace(",", ".") if self.decimal == "," else cell)
        if not math.isfinite(value):
            raise ValueError(cell)
        return value

    def numbers(self, cells: list[str]) -> list[float]:
        """A column of them; ValueError if one is none."""
        return [self.number(cell) for cell in cells]


def parse_sep(text: str | None) -> str | None:
    """A separator as people type it: the character, its name, or ``\\t``."""
    if text is None:
        return None
    named = {name: sep for sep, name in SEPARATORS.items()} | {"\\t": "\t", "space": " "}
    sep = named.get(text, text)
    if len(sep) != 1 or sep in "\n\r\"'." or sep.isalnum():
        known = ", ".join(SEPARATORS.values())
        raise ValueError(f"--sep takes one character or one of {known}; got {text!r}")
    return sep


def parse_decimal(text: str | None) -> str | None:
    """The decimal sign: a point or a comma."""
    named = {"point": ".", "comma": ",", ".": ".", ",": ",", None: None}
    if text not in named:
        raise ValueError(f"--decimal takes . or , (point or comma), got {text!r}")
    return named[text]


class CellReader:
    """A table of text, opened: name, layout, header; then its rows in blocks, once.

    Parameters
    ----------
    source : path, or "-" for standard input
    sep, decimal : as in :class:`Layout`; None: found from the first lines
    """

    def __init__(self, source: str, *, sep: str | None = None, decimal: str | None = None):
        self.name = "standard input" if source == "-" else Path(source).name
        self.size = None if source == "-" else Path(source).stat().st_size
        raw: Any = sys.stdin.buffer if source == "-" else open(source, "rb")
        self._raw = raw
        buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)
        packed = buffered.peek(2)[:2] == b"\x1f\x8b"
        stream = gzip.GzipFile(fileobj=buffered) if packed else buffered
        self._text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        sample = list(itertools.islice(self._lines(), SAMPLE))
        if any(line.count("\0") for line in sample):
            raise ValueError(f"{self.name} is not a text file in UTF-8")
        self.layout = Layout(*_detect(sample, sep, decimal))
        self._rows = self._cells(itertools.chain(sample, self._lines()))
        self.header = next(self._rows, [])
        self._check_header()

    def __enter__(self) -> CellReader:
        return self

    def __exit__(self, *_: object) -> None:
        if self._raw is not sys.stdin.buffer:
            self._raw.close()

    @property
    def position(self) -> int:
        """Bytes read so far, of a file."""
        return self._raw.tell() if self.size is not None else 0

    def blocks(self, rows: int = BLOCK) -> Iterator[tuple[int, dict[str, list[str]]]]:
        """Number of the first row, and the cells under each name, block by block."""
        first = 1
        while block := list(itertools.islice(self._rows, rows)):
            for number, row in enumerate(block, first):
                if len(row) != len(self.header):
                    raise ValueError(self._ragged(number, row))
            yield first, dict(zip(self.header, map(list, zip(*block, strict=True)), strict=True))
            first += len(block)
        if first == 1:
            raise ValueError(f"{self.name} holds no table: expected a header line, then rows")

    def _lines(self) -> Iterator[str]:
        try:
            while line := self._text.readline(LONGEST):
                if len(line) == LONGEST:
                    raise ValueError(f"{self.name} is no table: a line has {LONGEST:,} characters")
                yield line
        except UnicodeDecodeError:
            raise ValueError(
                f"{self.name} is not a text file in UTF-8; convert it first, for example with "
                "iconv -f latin1 -t utf-8"
            ) from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{self.name} is a damaged gzip file: {error}") from None

    def _cells(self, lines: Iterator[str]) -> Iterator[list[str]]:
        number = 0
        reader = csv.reader(lines, delimiter=self.layout.sep, skipinitialspace=True)
        try:
            for row in reader:
                if row:
                    yield [cell.strip() for cell in row]
                    number += 1
        except csv.Error as error:
            if "field larger" in str(error):
                limit = f"{csv.field_size_limit():,}"
                raise ValueError(
                    f"{self.name}, row {number}: a cell has more than {limit} characters; "
                    "perhaps a quotation mark is never closed"
                ) from None
            raise ValueError(f"{self.name}, row {number}: {error}") from None

    def _check_header(self) -> None:
        if not self.header:
            raise ValueError(f"{self.name} holds no table: expected a header line, then rows")
        if all(_is_number(cell, self.layout) for cell in self.header):
            raise ValueError(f"{self.name}: the first line must hold column names, not numbers")
        named = [cell or unnamed(i) for i, cell in enumerate(self.header, 1)]
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise ValueError(f"{self.name}: two columns have the same name, {twice[0]!r}")
        self.header = named

    def _ragged(self, number: int, row: list[str]) -> str:
        sep = SEPARATORS.get(self.layout.sep, repr(self.layout.sep))
        return (
            f"{self.name}, row {number}: {len(row)} cells under {len(self.header)} names "
            f"(separator: {sep}); if that is not how the file is written, use --sep and --decimal"
        )


def unnamed(position: int) -> str:
    """What a column without a name is called here."""
    return f"column {position}"


def _is_number(cell: str, layout: Layout) -> bool:
    try:
        return not math.isnan(layout.number(cell))
    except ValueError:
        return False


def _detect(sample: list[str], sep: str | None, decimal: str | None) -> tuple[str, str]:
    """The separator under which most lines have as many cells as the first; then the decimal."""
    if sep is None:
        found = {one: _agreement(sample, one) for one in SEPARATORS if one != " "}
        sep = max(found, key=lambda one: found[one])
    if decimal is None:
        cells = [cell.strip() for row in _split(sample, sep)[1:] for cell in row]
        commas = sum(_COMMA_NUMBER.fullmatch(cell) is not None for cell in cells)
        points = sum(_POINT_NUMBER.fullmatch(cell) is not None for cell in cells)
        decimal = "," if sep != "," and commas > 0 and points == 0 else "."
    if sep == decimal:
        raise ValueError("--sep and --decimal cannot both be the comma")
    return sep, decimal


def _split(sample: list[str], sep: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(sample, delimiter=sep, skipinitialspace=True) if row]
    except csv.Error:
        return []


def _agreement(sample: list[str], sep: str) -> tuple[float, int]:
    """Share of the rows as wide as the header, and that width; (0, 1) where nothing is split."""
    rows = _split(sample, sep)
    if not rows or len(rows[0]) < 2:
        return 0.0, 1
    body = rows[1:] or rows
    return sum(len(row) == len(rows[0]) for row in body) / len(body), len(rows[0])
