"""What a command writes: checked before anything is computed, whole or not at all.

``-`` is standard output. A file that exists is kept unless ``--force`` is given, and an input is
never an output.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from lpsvdd._atomic import whole_file

if TYPE_CHECKING:
    import pandas as pd

    from lpsvdd.cli._roles import Rows
    from lpsvdd.tables import Table


def check_outputs(outputs: dict[str, str | None], inputs: list[str], *, force: bool) -> None:
    """Raise ValueError unless every output, by its option, may be written."""
    read = [status for source in inputs if (status := _status(source, 0)) is not None]
    seen: dict[str, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        status = _status(path, 1)
        if status is not None and any(os.path.samestat(status, other) for other in read):
            raise ValueError(f"{option} {path} is an input of this command; choose another name")
        if path == "-" and option == "--output":
            continue
        place = Path(path).absolute()
        if path == "-":
            raise ValueError("only --output can be -, standard output")
        if not place.parent.is_dir():
            raise ValueError(f"there is no folder {place.parent} to write {place.name} into")
        if place.is_dir():
            raise ValueError(f"{option} {path} is a folder; give the name of a file")
        if place.is_file() and not force:
            raise ValueError(f"{option} {path} exists; add --force to replace it")
        if option == "--plot" and place.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise ValueError(f"--plot {path}: the name must end in .png, .svg or .pdf")
        if (other := seen.setdefault(os.path.realpath(place), option)) != option:
            raise ValueError(f"{other} and {option} name the same file, {path}")


def _status(path: str, descriptor: int) -> os.stat_result | None:
    """Of a regular file, or of the one that standard input or output is redirected to."""
    try:
        status = os.fstat(descriptor) if path == "-" else os.stat(path)
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


@contextmanager
def open_text(path: str, *, force: bool) -> Iterator[IO[str]]:
    """A text file to write to: standard output for "-", compressed where the name ends in .gz."""
    if path == "-":
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


def write_scores(
    handle: IO[str], table: Table, rows: Rows, scores: pd.DataFrame, *, header: bool
) -> None:
    """Ids, row number, scores and label, laid out as the table that was read."""
    scores = scores.reset_index()
    if rows.y is not None:
        known = scores["row"].where(rows.y != 0).astype("Int64")
        scores.insert(4, "label", known.mask(rows.y > 0, 1).mask(rows.y < 0, -1))
    if clash := sorted({*rows.ids} & {*scores}):
        raise ValueError(f"the id column {clash[0]!r} has the name of a column of the scores")
    cells = rows.ids.reset_index(drop=True).join(scores)
    sep, decimal = (table.sep, table.decimal) if table.sep in ",;\t|" else (",", ".")
    for name in {*rows.ids, "reasons"} & {*cells}:
        cells[name] = cells[name].map(_harmless)
    cells = cells.rename(columns=_harmless)
    cells.to_csv(handle, sep=sep, decimal=decimal, index=False, header=header, lineterminator="\n")


def _harmless(cell: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets a quotation mark in front."""
    if not isinstance(cell, str) or cell[:1] not in ("=", "+", "-", "@", "\t", "\r"):
        return cell
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return f"'{cell}"
    return cell


def draw(path: str, model: Any, points: Any, scores: pd.DataFrame, title: str, force: bool) -> None:
    """Scores with the threshold, and the points in two components, as a picture."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ValueError("--plot needs matplotlib: install lpsvdd with its extra plots") from None
    from lpsvdd.plots import score_histogram, style, two_components

    with style():
        figure = Figure(figsize=(9.6, 4.0), layout="constrained")
        left, right = figure.subplots(1, 2)
        # decision = score - threshold, for every row
        threshold = float(np.median(scores["score"] - scores["decision"])) if len(scores) else None
        score_histogram(scores["score"].to_numpy(), threshold, ax=left)
        inside = scores["decision"].to_numpy() >= 0.0
        two_components(points, inside, basis=getattr(model, "X_fit_", None), ax=right)
        figure.suptitle(title, x=0.01, ha="left")
        with whole_file(path, overwrite=force) as handle:
            kind = Path(path).suffix.lstrip(".").lower()
            figure.savefig(handle, format=kind, dpi=150, facecolor="white", transparent=False)
