"""``lpsvdd score``: a saved model's verdict on each row of a table of any length."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from lpsvdd.cli._cells import CellReader, parse_decimal, parse_sep
from lpsvdd.cli._errors import sentences, warnings_as_notes
from lpsvdd.cli._outputs import STREAM, ScoreWriter, check_outputs, open_text
from lpsvdd.cli._picture import check_picture, draw
from lpsvdd.cli._report import accepted_lines, line, show, size_line, tracked
from lpsvdd.cli._rows import Missing, Roles, Rows, Sample, names, read_blocks, refuse_missing

PLOTTED = 5000
"""Rows that a picture shows at most."""


class Holes(StrEnum):
    """What is done about a row with a missing value, where the model fills none in."""

    error = "error"
    skip = "skip"


def register(app: typer.Typer) -> None:
    """Add the command to the main application."""
    app.command("score")(score)


def score(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="File written by lpsvdd fit --model, or by save.")
    ],
    data: Annotated[
        str,
        typer.Argument(metavar="DATA", help="CSV file, plain or gzipped; - for standard input."),
    ],
    output: Annotated[
        str, typer.Option(metavar="FILE", help="Where the scores go; - is standard output.")
    ] = STREAM,
    identify: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="A,B", help="Columns to pass through; those of fit if absent."
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Labels, for the AUC; those of fit if absent."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="Class of the targets; that of fit if absent."),
    ] = None,
    missing: Annotated[
        Holes | None,
        typer.Option(
            help="A row with a missing value is an error, or is skipped: its line has no score. "
            "Models fitted with --missing mean or median fill it in."
        ),
    ] = None,
    sep: Annotated[
        str | None, typer.Option(metavar="SIGN", help="Separator, if not as detected.")
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(metavar="SIGN", help="Decimal sign, if not as detected.")
    ] = None,
    explain: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Name the N columns that take most from each row's score."
        ),
    ] = 0,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Picture of scores, threshold and two components (png, svg, pdf)."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No report, no progress.")] = False,
) -> None:
    """Score the rows of a table with a saved model: columns are found by name.

    High scores mean normal; prediction is 1 inside the threshold and -1 outside.
    The table is read in blocks and may be larger than the memory.

    Example: lpsvdd score iris.lpsvdd new.csv --output scores.csv
    """
    from lpsvdd.cli._model import check_detector
    from lpsvdd.persistence import load_model, read_notes

    with sentences(), _usable(model):
        notes: list[str] = []
        check_picture(plot)
        check_outputs({"--output": output, "--plot": plot}, [model, data], force=force)
        if plot == STREAM:
            raise ValueError("only --output can be -, standard output")
        with warnings_as_notes(notes):
            fitted = load_model(model)
        check_detector(fitted, model)
        with CellReader(data, sep=parse_sep(sep), decimal=parse_decimal(decimal)) as reader:
            roles = Roles.from_notes(read_notes(model)) or _roles(fitted, reader)
            ids = names(identify)
            roles = replace(
                roles,
                ids=ids or roles.ids,
                label=label or roles.label,
                target=target or roles.target,
            )
            for name in (*ids, *((label,) if label else ())):
                if name not in reader.header:
                    raise ValueError(
                        f"{reader.name} has no column {name!r}; it has {', '.join(reader.header)}"
                    )
            roles, more = roles.match(reader.header, reader.name)
            notes += more
            skip = missing == Holes.skip or (missing is None and roles.missing == Missing.drop)
            blocks = tracked(reader, read_blocks(reader, roles, strict_labels=False), quiet=quiet)
            tally = _Tally(reader.name, len(roles.features), keep=plot is not None)
            with open_text(output, force=force) as handle:
                columns = ["label"] if roles.label is not None else []
                columns += ["reasons"] if explain else []
                writer = ScoreWriter(handle, reader.layout, roles.ids, columns)
                for rows, scored in _score(fitted, blocks, roles, skip, explain, notes):
                    writer.write(rows, scored)
                    tally.add(rows, scored)
        written = [output] if output != STREAM else []
        if plot is not None:
            drawn = tally.sample.rows()
            draw(plot, fitted, drawn, tally.scores_of(drawn), seen=tally.n, force=force)
            written.append(plot)
        lines = [
            *tally.lines(),
            *(f"note: {note}" for note in notes),
            *(f"wrote {path}" for path in written),
        ]
        show(lines, quiet=quiet, on_stderr=output == STREAM)


@contextmanager
def _usable(model: str) -> Iterator[None]:
    """A file of allowed types may still hold nonsense; that shows in any of these."""
    try:
        yield
    except (AttributeError, TypeError, IndexError) as error:
        raise ValueError(
            f"{Path(model).name} holds no usable model ({error}): fit and save it again"
        ) from error


def _roles(fitted: Any, reader: CellReader) -> Roles:
    """Of a model that was saved from Python: its feature names, or the columns in their order."""
    if hasattr(fitted, "feature_names_in_"):
        return Roles(tuple(map(str, fitted.feature_names_in_)))
    n = int(fitted.n_features_in_)
    if len(reader.header) != n:
        raise ValueError(
            f"the model knows no column names and takes {n} numbers; {reader.name} has "
            f"{len(reader.header)} columns"
        )
    return Roles(tuple(reader.header))


def _score(
    fitted: Any, blocks: Iterator[Rows], roles: Roles, skip: bool, explain: int, notes: list[str]
) -> Iterator[tuple[Rows, dict[str, np.ndarray]]]:
    """Rows with what the model says of them, block by block; notes grow at the end."""
    from lpsvdd.cli._model import judge_rows, unseen_categories

    fills = roles.missing in (Missing.mean, Missing.median)
    skipped = 0
    unseen: dict[str, set[str]] = {name: set() for name in roles.categorical}
    for rows in blocks:
        if not fills and not skip:
            refuse_missing(rows, "fill it in, or leave such rows without a score: --missing skip")
        scored = judge_rows(fitted, rows, skip_missing=skip and not fills, explain=explain)
        skipped += 0 if fills else int(rows.missing.sum())
        for name, values in unseen_categories(fitted, rows, roles).items():
            unseen[name] |= values
        if rows.y is not None:
            known = rows.y.astype(object)
            known[rows.y == 0] = None
            scored["label"] = known
        yield rows, scored
    if skipped:
        notes.append(f"{skipped} rows with a missing value have no score")
    for name, values in unseen.items():
        if values:
            shown = ", ".join(sorted(values)[:5])
            notes.append(f"column {name!r} holds categories that the model has not met: {shown}")


class _Tally:
    """What the report needs of all rows: counts, and scores where labels ask for an AUC."""

    def __init__(self, table: str, width: int, *, keep: bool):
        self.table, self.width, self.n = table, width, 0
        self.sample = Sample(PLOTTED)
        self._keep = keep
        self._scored: dict[str, list[np.ndarray]] = {"score": [], "prediction": []}
        self._decision: list[np.ndarray] = []
        self._y: list[np.ndarray] = []

    def add(self, rows: Rows, scored: dict[str, np.ndarray]) -> None:
        """Count a block."""
        self.n += len(rows)
        self._scored["score"].append(np.asarray(scored["score"], dtype=float))
        self._scored["prediction"].append(scored["prediction"])
        if rows.y is not None:
            self._y.append(rows.y)
        if self._keep:
            self.sample.add(rows)
            self._decision.append(np.asarray(scored["decision"], dtype=float))

    def scores_of(self, rows: Rows) -> dict[str, np.ndarray]:
        """Scores and decisions of rows drawn for the picture."""
        at = rows.numbers - 1
        return {
            "score": np.concatenate(self._scored["score"])[at],
            "decision": np.concatenate(self._decision)[at],
        }

    def lines(self) -> list[str]:
        """The report."""
        scored = {name: np.concatenate(parts) for name, parts in self._scored.items()}
        y = np.concatenate(self._y) if self._y else None
        return [
            line("scored", size_line(self.table, self.n, self.width, y)),
            *accepted_lines(scored, y),
        ]
