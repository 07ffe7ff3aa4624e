"""What a command writes: checked before anything is computed, whole or not at all.

``-`` is standard output. A file that exists is kept unless ``--force`` is given, and an input is
never an output.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lpsvdd._atomic import whole_file
from lpsvdd.cli._cells import Layout

if TYPE_CHECKING:
    import numpy as np

    from lpsvdd.cli._rows import Rows

STREAM = "-"
COLUMNS = ("row", "score", "decision", "prediction")


def check_outputs(outputs: dict[str, str | None], inputs: list[str], *, force: bool) -> None:
    """Raise ValueError unless every output, by its option, may be written.

    ``inputs`` are files that are read, or "-".
    """
    given = {option: path for option, path in outputs.items() if path is not None}
    read = [status for source in inputs if (status := _status(source, 0)) is not None]
    seen: dict[str, str] = {}
    for option, path in given.items():
        status = _status(path, 1)
        if status is not None and any(os.path.samestat(status, other) for other in read):
            raise ValueError(f"{option} {path} is an input of this command; choose another name")
        if path == STREAM:
            continue
        place = Path(path).absolute()
        if not place.parent.is_dir():
            raise ValueError(f"there is no folder {place.parent} to write {place.name} into")
        if place.is_dir():
            raise ValueError(f"{option} {path} is a folder; give the name of a file")
        if place.is_file() and not force:
            raise ValueError(f"{option} {path} exists; add --force to replace it")
        other = seen.setdefault(os.path.realpath(place), option)
        if other != option:
            raise ValueError(f"{other} and {option} name the same file, {path}")
    if len([path for path in given.values() if path == STREAM]) > 1:
        raise ValueError(f"only one of {', '.join(given)} can be -, standard output")


def _status(path: str, descriptor: int) -> os.stat_result | None:
    """Of a regular file, or of the one that standard input or output is redirected to."""
    try:
        status = os.fstat(descriptor) if path == STREAM else os.stat(path)
    except OSError:
        return None
    import stat

    return status if stat.S_ISREG(status.st_mode) else None


@contextmanager
def open_text(path: str, *, force: bool) -> Iterator[IO[str]]:
    """A text file to write to: standard output for "-", compressed where the name ends in .gz."""
    if path == STREAM:
        yield sys.stdout
        sys.stdout.flush()
        return
    with whole_file(path, overwrite=force) as raw:
        # mtime 0: the same scores give the same bytes
        packed = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.endswith(".gz") else None
        with packed or nullcontext():
            text = io.TextIOWrapper(packed or raw, encoding="utf-8", newline="")
            yield text
            text.flush()
            text.detach()


class ScoreWriter:
    """Scores as a table, block by block, laid out as the table that was read.

    A row that could not be scored keeps its line, with empty cells.
    """

    def __init__(self, handle: IO[str], layout: Layout, ids: tuple[str, ...], more: Iterable[str]):
        self._names = (*COLUMNS, *more)
        clash = sorted({*ids} & {*self._names})
        if clash:
            raise ValueError(f"the id column {clash[0]!r} has the name of a column of the scores")
        self._writer = csv.writer(handle, delimiter=layout.sep, lineterminator="\n")
        self._layout, self._ids = layout, ids
        self._writer.writerow([*ids, *self._names])

    def write(self, rows: Rows, scored: dict[str, np.ndarray]) -> None:
        """Write the rows of one block; ``scored`` has a value per row under each name."""
        columns: list[Any] = [rows.ids[name] for name in self._ids]
        columns += [map(self._cell, scored[name].tolist()) for name in self._names]
        self._writer.writerows(zip(*columns, strict=True))

    def _cell(self, value: Any) -> Any:
        if value is None or value != value:
            return ""
        if isinstance(value, float):
            return repr(value).replace(".", self._layout.decimal)
        return value
