"""``lpsvdd tune``: choose width, share and exponent for a table without labelled outliers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lpsvdd.cli._cells import parse_decimal, parse_sep
from lpsvdd.cli._errors import sentences, warnings_as_notes
from lpsvdd.cli._options import (
    FILES,
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
from lpsvdd.cli._outputs import STREAM, check_outputs, open_text
from lpsvdd.cli._report import accepted_lines, line, model_lines, show, size_line
from lpsvdd.cli._rows import Missing, is_table, names
from lpsvdd.cli.fit import read, train

if TYPE_CHECKING:
    from lpsvdd import LpSVDDCV

SEARCH = "The search"


def register(app: typer.Typer) -> None:
    """Add the command to the main application."""
    app.command("tune")(tune)


def tune(
    data: Annotated[
        str,
        typer.Argument(metavar="DATA", help="CSV file, - for standard input, or a data set."),
    ],
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with +1 and -1, or with classes (--target); only targets are used.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="Class to describe.", rich_help_panel=TABLE),
    ] = None,
    columns: Columns = None,
    drop: Drop = None,
    categorical: Categorical = None,
    missing: Holes = Missing.error,
    sep: Separator = None,
    decimal: Decimal = None,
    sample: SampleSize = None,
    standardise: Standardise = True,
    p: Annotated[
        list[float] | None,
        typer.Option("--p", help="Exponent, 2 if absent; may be repeated.", rich_help_panel=SEARCH),
    ] = None,
    nu: Annotated[
        list[float] | None,
        typer.Option(
            help="Share of targets outside, automatic if absent; may be repeated.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    gamma: Annotated[
        list[float] | None,
        typer.Option(
            help="Width of the Gaussian kernel, automatic if absent; may be repeated.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    criterion: Annotated[
        str, typer.Option(metavar="NAME", help="What is best.", rich_help_panel=SEARCH)
    ] = "artificial-outliers",
    folds: Annotated[int, typer.Option(min=2, help="Folds.", rich_help_panel=SEARCH)] = 3,
    seed: Annotated[
        int, typer.Option(help="Of folds and artificial outliers.", rich_help_panel=SEARCH)
    ] = 0,
    jobs: Annotated[
        int, typer.Option(min=1, help="Fits at the same time.", rich_help_panel=SEARCH)
    ] = 1,
    results: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write every candidate here (CSV).", rich_help_panel=FILES
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Save the best model here.", rich_help_panel=FILES),
    ] = None,
    force: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Choose the parameters of an lp-SVDD by cross-validation without labels.

    Rows labelled -1 take no part; they serve the AUC of the report only.

    Example: lpsvdd tune iris.csv --label species --target setosa --model iris.lpsvdd
    """
    from lpsvdd import LpSVDDCV
    from lpsvdd.cli._model import judge_rows, make_model

    with sentences():
        check_outputs(
            {"--results": results, "--model": model},
            [data] if is_table(data) else [],
            force=force,
        )
        if STREAM in (results, model):
            raise ValueError("--results and --model need the name of a file")
        table = read(
            data,
            sep=parse_sep(sep),
            decimal=parse_decimal(decimal),
            sample=sample,
            quiet=quiet,
            columns=names(columns),
            drop=names(drop),
            categorical=names(categorical),
            ids=(),
            label=label,
            target=target,
            missing=missing.value,
        )
        rows, notes = table.rows, table.notes
        search = LpSVDDCV(
            p=p or 2.0,
            gammas=gamma or "auto",
            nus=nu or "auto",
            criterion=criterion,
            cv=folds,
            random_state=seed,
            n_jobs=jobs,
            verbose=_terminal(quiet),
        )
        pipeline = make_model(table.roles, search, standardise=standardise, unit_norm=False)
        with warnings_as_notes(notes, except_for="radius_sq_"):
            train(pipeline, rows, negatives=False)
        written = []
        if results is not None:
            with open_text(results, force=force) as handle:
                _candidates(search).to_csv(handle, index=False, lineterminator="\n")
            written.append(results)
        if model is not None:
            from lpsvdd import save

            save(pipeline, model, notes=table.roles.notes())
            written.append(model)
        scored = judge_rows(pipeline, rows, skip_missing=False)
        lines = [
            line("data", size_line(rows.table, len(rows), len(table.roles.features), rows.y)),
            line("judged by", f"{criterion}, {search.n_splits_} folds, {_count(search)}"),
            *_best(search),
            *model_lines(search.best_estimator_),
            *accepted_lines(scored, rows.y, " (fitted rows included)"),
            *(f"note: {note}" for note in notes),
            *(f"wrote {path}" for path in written),
        ]
        show(lines, quiet=quiet, on_stderr=False)


def _terminal(quiet: bool) -> int:
    """1 where a progress bar would be seen."""
    import sys

    return int(not quiet and sys.stderr.isatty())


def _candidates(search: LpSVDDCV) -> Any:
    """One line a candidate, the best first."""
    import pandas as pd

    table = pd.DataFrame(search.cv_results_).drop(columns="params")
    table = table.rename(columns={f"param_{name}": name for name in ("p", "nu", "gamma")})
    return table.sort_values("rank_test_score", kind="stable")


def _count(search: LpSVDDCV) -> str:
    return f"{len(search.cv_results_['params'])} candidates"


def _best(search: LpSVDDCV) -> list[str]:
    """The three best candidates with mean and standard deviation over the folds."""
    found = []
    for place, row in enumerate(_candidates(search).head(3).itertuples()):
        text = f"p = {row.p:g}, nu = {row.nu:g}, gamma = {row.gamma:.4g}"
        score = f"{row.mean_test_score:.4f} (sd {row.std_test_score:.4f})"
        found.append(line("chosen" if place == 0 else "next", f"{text}: {score}"))
    return found
