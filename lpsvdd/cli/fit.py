"""``lpsvdd fit``: describe a table, report what was found, keep the model and the scores."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from lpsvdd.cli._cells import CellReader, Layout, parse_decimal, parse_sep
from lpsvdd.cli._errors import sentences, warnings_as_notes
from lpsvdd.cli._options import (
    FILES,
    MODEL,
    TABLE,
    Categorical,
    Columns,
    Decimal,
    Drop,
    Holes,
    Overwrite,
    Quiet,
    SampleSize,
    Separator,
    Standardise,
)
from lpsvdd.cli._outputs import STREAM, ScoreWriter, check_outputs, open_text
from lpsvdd.cli._picture import check_picture, draw
from lpsvdd.cli._report import accepted_lines, line, model_lines, show, size_line, tracked
from lpsvdd.cli._rows import (
    Missing,
    Roles,
    Rows,
    Sample,
    catalogue_rows,
    is_table,
    names,
    read_blocks,
    refuse_missing,
)

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


class Kernel(StrEnum):
    """Kernels with a name; others need Python."""

    rbf = "rbf"
    linear = "linear"
    poly = "poly"


def register(app: typer.Typer) -> None:
    """Add the command to the main application."""
    app.command("fit")(fit)


def fit(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="CSV file with a header line, plain or gzipped; - for standard input; or a data "
            "set such as D7 or wine.",
        ),
    ],
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with +1 and -1, or with classes (--target).",
            rich_help_panel=TABLE,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS", help="Class to describe; the others are -1.", rich_help_panel=TABLE
        ),
    ] = None,
    columns: Columns = None,
    drop: Drop = None,
    identify: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="A,B",
            help="Columns that name a row: passed through to the scores, not used.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    categorical: Categorical = None,
    missing: Holes = Missing.error,
    sep: Separator = None,
    decimal: Decimal = None,
    sample: SampleSize = None,
    negatives: Annotated[
        bool,
        typer.Option(
            "--negatives", help="Train with the rows labelled -1 as well.", rich_help_panel=MODEL
        ),
    ] = False,
    p: Annotated[
        float, typer.Option("--p", help="Exponent of the slack, >= 1.", rich_help_panel=MODEL)
    ] = 2.0,
    cost: Annotated[
        float | None,
        typer.Option("--C", help="Cost of the targets' slack.", rich_help_panel=MODEL),
    ] = None,
    cost_neg: Annotated[
        float | None,
        typer.Option(
            "--C-neg", help="Cost of the negatives' slack; --C if absent.", rich_help_panel=MODEL
        ),
    ] = None,
    nu: Annotated[
        float | None,
        typer.Option(
            help="Share of new targets to reject, instead of --C; 0.1 if neither is given.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    kernel: Annotated[
        Kernel, typer.Option(help="Kernel; poly has degree 3.", rich_help_panel=MODEL)
    ] = Kernel.rbf,
    gamma: Annotated[
        str,
        typer.Option(
            help="A number, quarter-mean-distance, half-mean-distance, scale or auto.",
            rich_help_panel=MODEL,
        ),
    ] = "quarter-mean-distance",
    tune: Annotated[
        bool,
        typer.Option(
            "--tune",
            help="Choose the width of the Gaussian kernel by cross-validation without labels.",
            rich_help_panel=MODEL,
        ),
    ] = False,
    contamination: Annotated[
        float | None,
        typer.Option(
            help="Share of the fitted targets to reject; without it --nu or the ball decides.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    standardise: Standardise = True,
    unit_norm: Annotated[
        bool,
        typer.Option("--unit-norm", help="Then scale each row to length 1.", rich_help_panel=MODEL),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Keep the fitted pipeline, for lpsvdd score.",
            rich_help_panel=FILES,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Scores of the rows; - for standard output.", rich_help_panel=FILES
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Picture of scores, threshold and two components (png, svg, pdf).",
            rich_help_panel=FILES,
        ),
    ] = None,
    force: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Fit an lp-SVDD to a table and report radius, certificate and accepted rows.

    Without --label every row is a target. High scores mean normal.
    Rows labelled -1 serve the AUC only, unless --negatives is given.

    Example: lpsvdd fit iris.csv --label species --target setosa --model iris.lpsvdd
    """
    from lpsvdd import LpSVDD
    from lpsvdd.cli._model import judge_rows, make_model

    with sentences():
        if cost is not None and nu is not None:
            raise ValueError("give --C or --nu, not both")
        if cost_neg is not None and not negatives:
            raise ValueError("--C-neg is the cost of labelled negatives; use it with --negatives")
        outputs = {"--model": model, "--output": output, "--plot": plot}
        check_picture(plot)
        check_outputs(outputs, [data] if is_table(data) else [], force=force)
        if model == STREAM or plot == STREAM:
            raise ValueError("only --output can be -, standard output")
        table = read(
            data,
            sep=parse_sep(sep),
            decimal=parse_decimal(decimal),
            sample=sample,
            quiet=quiet,
            columns=names(columns),
            drop=names(drop),
            categorical=names(categorical),
            ids=names(identify),
            label=label,
            target=target,
            missing=missing.value,
        )
        rows, roles, notes = table.rows, table.roles, table.notes
        detector = LpSVDD(
            p=p,
            C=cost,
            C_neg=cost_neg,
            nu=nu,
            kernel=kernel.value,
            gamma=_gamma(gamma),
            contamination=contamination,
        )
        if tune:
            detector = _search(detector, negatives, cost is not None)
        pipeline = make_model(roles, detector, standardise=standardise, unit_norm=unit_norm)
        # The report says itself what a negative R^2 means.
        with warnings_as_notes(notes, except_for="radius_sq_"):
            train(pipeline, rows, negatives)
        scored = judge_rows(pipeline, rows, skip_missing=False)
        written = []
        if output is not None:
            with open_text(output, force=force) as handle:
                more = () if rows.y is None else ("label",)
                writer = ScoreWriter(handle, table.layout, roles.ids, more)
                writer.write(rows, scored if rows.y is None else {**scored, "label": rows.y})
            written += [output] if output != STREAM else []
        if model is not None:
            from lpsvdd import save

            save(pipeline, model, notes=roles.notes())
            written.append(model)
        if plot is not None:
            draw(plot, pipeline, rows, scored, seen=len(rows), force=force)
            written.append(plot)
        lines = [
            line("data", size_line(rows.table, len(rows), len(roles.features), rows.y)),
            *model_lines(getattr(pipeline[-1], "best_estimator_", pipeline[-1])),
            *accepted_lines(scored, rows.y, " (fitted rows included)"),
            *(f"note: {note}" for note in notes),
            *(f"wrote {path}" for path in written),
        ]
        show(lines, quiet=quiet, on_stderr=output == STREAM)


@dataclass(frozen=True)
class Table:
    rows: Rows
    roles: Roles
    layout: Layout
    notes: list[str]


def read(
    data: str,
    *,
    sep: str | None,
    decimal: str | None,
    sample: int | None,
    quiet: bool,
    **choice: Any,
) -> Table:
    """All rows of a file, or of an entry of the catalogue, by the chosen columns."""
    if is_table(data):
        with CellReader(data, sep=sep, decimal=decimal) as reader:
            roles, layout = Roles.choose(reader.header, table=reader.name, **choice), reader.layout
            rows, notes = _gather(tracked(reader, read_blocks(reader, roles), quiet=quiet), sample)
    else:
        rows = catalogue_rows(data)
        if choice["label"] is not None or choice["target"] is not None:
            raise ValueError("--label and --target are for CSV files; data sets know their target")
        if choice["ids"] or choice["categorical"]:
            raise ValueError("--id and --categorical are for CSV files")
        roles = Roles.choose(list(rows.frame.columns), table=rows.table, **choice)
        layout, notes = Layout(), []
        rows = Rows(rows.table, rows.frame[list(roles.features)], rows.numbers, rows.y)
    if roles.missing == Missing.error:
        refuse_missing(rows, "fill it in, or say what to do with --missing (mean, median, drop)")
    if roles.missing == Missing.drop and rows.missing.any():
        notes.append(f"{rows.missing.sum()} rows with a missing value were left out")
        rows = rows.take(~rows.missing)
    if rows.y is not None and not (rows.y > 0).any():
        raise ValueError(f"{rows.table}: no row is a target, {roles.target or '+1'}")
    return Table(rows, roles, layout, notes)


def _gather(blocks: Any, sample: int | None) -> tuple[Rows, list[str]]:
    if sample is None:
        return Rows.joined(list(blocks)), []
    drawn = Sample(sample)
    for block in blocks:
        drawn.add(block)
    rows = drawn.rows()
    note = f"{len(rows):,} of {drawn.seen:,} rows were drawn at random"
    return rows, [note] if drawn.seen > sample else []


def train(pipeline: Pipeline, rows: Rows, negatives: bool) -> None:
    """Fit to the targets, or to all rows with their labels."""
    X, y = rows.frame, rows.y
    if negatives and (y is None or not (y < 0).any()):
        raise ValueError("--negatives needs rows labelled -1; name their column with --label")
    if not negatives and y is not None:
        X, y = X[y > 0], None
    pipeline.fit(X, None if y is None else np.asarray(y))


def _search(detector: Any, negatives: bool, costs: bool) -> Any:
    """The search over widths in place of a detector with a given one."""
    from lpsvdd import LpSVDDCV

    fixed = {
        "--gamma": not isinstance(detector.gamma, str),
        "--C": costs,
        "--kernel": detector.kernel != "rbf",
        "--negatives": negatives,
    }
    for option, given in fixed.items():
        if given:
            raise ValueError(
                f"--tune chooses a Gaussian kernel for --p and --nu; leave out {option}"
            )
    shares = "auto" if detector.nu is None else [detector.nu]
    return LpSVDDCV(p=detector.p, nus=shares, contamination=detector.contamination, random_state=0)


def _gamma(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text  # the name of a rule; the estimator knows which there are
