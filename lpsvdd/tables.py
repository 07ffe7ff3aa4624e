"""Tables as pandas reads them, every cell as text: files and standard input.

A table has a header and rows, counted from 1 below it. Separator, decimal sign and encoding are
found from the first megabyte; a file is read in blocks and may be larger than the memory. Cells
that a short row lacks are empty.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

BLOCK = 4096  # rows held at a time
HEAD = 1_000_000  # bytes looked at first


@dataclass
class Table:
    """A table, opened: blocks of text cells, how they were written, what to tell about them.

    ``label`` names the column of labels +1 and -1 where the table itself knows it.
    """

    name: str
    header: list[str]
    blocks: Iterator[pd.DataFrame] = field(repr=False)
    sep: str = ","
    decimal: str = "."
    label: str | None = None
    notes: list[str] = field(default_factory=list)


@contextmanager
def open_table(source: str) -> Iterator[Table]:
    """The table of a file or of standard input ("-")."""
    if source != "-" and not Path(source).exists():
        raise ValueError(f"there is no file {source}: name a CSV file, or - for standard input")
    with ExitStack() as stack:
        name = "standard input" if source == "-" else Path(source).name
        raw = sys.stdin.buffer if source == "-" else stack.enter_context(open(source, "rb"))
        try:
            head, stream = _looked_at(raw)
            if head[:2] == b"\x1f\x8b":
                head, stream = _looked_at(gzip.GzipFile(fileobj=stream))
            yield _text(head, stream, name)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{name} is a damaged gzip file: {error}") from None


class _Joined(io.RawIOBase):
    """Bytes already read, then the rest of a stream."""

    def __init__(self, head: bytes, rest: Any):
        self._head, self._rest = io.BytesIO(head), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head.read(len(buffer)) or self._rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _looked_at(stream: Any) -> tuple[bytes, io.BufferedReader]:
    """The first bytes of a stream, and the whole stream all the same."""
    head = b""
    while len(head) < HEAD and (more := stream.read(HEAD - len(head))):
        head += more
    return head, io.BufferedReader(_Joined(head, stream))


def _text(head: bytes, stream: Any, name: str) -> Table:
    import pandas as pd

    encoding, text, notes = _decoded(head, name)
    lines = text.splitlines(keepends=True)[:200]
    excel = re.match(r'"?sep=(.)"?\s*$', lines[0]) if lines else None
    sample = lines[1:] if excel else lines
    sep = excel[1] if excel else _separator(sample)
    rows = _split(sample, sep)
    if len(rows) < 2 and not (rows and len(head) == HEAD):
        raise ValueError(f"{name} holds no table: expected a header line, then rows")
    header = [cell.strip() or f"column {i}" for i, cell in enumerate(rows[0], 1)]
    if all(re.fullmatch(r"[-+]?[\d.,]+(e[-+]?\d+)?", cell, re.IGNORECASE) for cell in header):
        raise ValueError(f"{name}: the first line must hold column names, not numbers")
    if twice := [column for column, count in Counter(header).items() if count > 1]:
        at = ", ".join(str(i) for i, column in enumerate(header, 1) if column == twice[0])
        raise ValueError(f"{name}: columns {at} have the same name, {twice[0]!r}; rename them")
    reader = pd.read_csv(
        io.TextIOWrapper(stream, encoding=encoding, newline=""),
        sep=r"\s+" if sep == " " else sep,
        dtype=object,
        names=header,
        header=0,
        skiprows=1 if excel else 0,
        index_col=False,
        keep_default_na=False,
        skipinitialspace=True,
        chunksize=BLOCK,
    )
    decimal = "." if sep == "," else _decimal(cell for row in rows[1:] for cell in row)
    return Table(name, header, _parsed(reader, name), sep, decimal, notes=notes)


def _decoded(head: bytes, name: str) -> tuple[str, str, list[str]]:
    """Encoding, the text of the first bytes, and a note where the encoding was guessed."""
    archive = "an archive that is not read here; unpack it first, or use gzip"
    binary = {
        b"PK\x03\x04": "a zip archive or an Excel workbook; unpack it, or save the sheet as CSV",
        b"\xd0\xcf\x11\xe0": "an Excel file; save the sheet as CSV",
        b"PAR1": "a parquet file; save the table as CSV",
        b"BZh": archive,
        b"\xfd7zXZ": archive,
        b"\x28\xb5\x2f\xfd": archive,
    }
    for magic, kind in binary.items():
        if head.startswith(magic):
            raise ValueError(f"{name} is {kind}")
    encoding, notes = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", []
    if len(head) == HEAD and encoding != "utf-16":
        head = head[: head.rfind(b"\n") + 1] or head  # not in the middle of a letter
    try:
        text = head.decode(encoding)
    except UnicodeDecodeError:
        encoding, text = "cp1252", head.decode("cp1252", errors="replace")
        notes = [f"{name} is not written in UTF-8; it was read as Windows-1252"]
    if "\0" in text:
        raise ValueError(f"{name} is no text file; save the table as CSV in UTF-8")
    return encoding, text, notes


def _parsed(reader: Any, name: str) -> Iterator[pd.DataFrame]:
    from pandas.errors import ParserError, ParserWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)
            yield from reader
    except UnicodeDecodeError:
        raise ValueError(f"{name} is a text in two encodings; save it in UTF-8") from None
    except (ParserError, ParserWarning) as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        remedy = "a cell that holds the separator needs quotation marks"
        if "EOF inside string" in reason:
            remedy = "a quotation mark is never closed"
        raise ValueError(f"{name}: {reason}; {remedy}") from None


def _split(lines: list[str], sep: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(lines, delimiter=sep, skipinitialspace=True) if row]
    except csv.Error:  # a cell of enormous size: a quotation mark is never closed
        return []


def _separator(lines: list[str]) -> str:
    """The sign under which most rows have as many cells as the header; a blank if no other."""
    one_column = "\x1f"  # a separator that no table holds
    best, sep = (0.0, 1), one_column
    for sign in ",;\t| ":
        rows = _split(lines, sign)
        width = len(rows[0]) if rows else 0
        agree = sum(len(row) == width for row in rows[1:]) / max(1, len(rows) - 1)
        if width > 1 and (agree, width) > best and (sign != " " or agree > 0.9 > best[0]):
            best, sep = (agree, width), sign
        elif width > 1 and sep == one_column and sign != " ":
            sep = sign
    return sep


def _decimal(cells: Iterator[str]) -> str:
    """A comma where numbers are written with commas and none with a point."""
    signs = {
        sign[1]
        for cell in cells
        if (sign := re.fullmatch(r"\s*[+-]?\d*([.,])\d+(?:[eE][+-]?\d+)?\s*", cell))
    }
    return "," if signs == {","} else "."
