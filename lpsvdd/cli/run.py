"""``lpsvdd run`` recomputes experiments, ``lpsvdd tables`` shows them in the paper's layout."""

from __future__ import annotations

import tempfile
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Setting(StrEnum):
    """The paper's two settings, or both."""

    pure = "pure"
    negatives = "negatives"
    both = "both"


class Backend(StrEnum):
    """Local processes or a dask cluster."""

    joblib = "joblib"
    dask = "dask"


class Form(StrEnum):
    """How a table is written."""

    text = "text"
    markdown = "markdown"
    csv = "csv"


def _settings(setting: Setting) -> list[str]:
    return ["pure", "negatives"] if setting is Setting.both else [setting.value]


def _stop(message: str) -> typer.Exit:
    typer.echo(f"error: {message}", err=True)
    return typer.Exit(code=1)


def run(
    dataset: Annotated[
        list[str] | None, typer.Option(help="Data set, by id or name; may be repeated.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All data sets that are available here.")
    ] = False,
    setting: Annotated[Setting, typer.Option(help="Which experiment.")] = Setting.both,
    trials: Annotated[int, typer.Option(min=1, help="Random splits per data set.")] = 10,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 2,
    backend: Annotated[Backend, typer.Option(help="Where to compute.")] = Backend.joblib,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a dask scheduler, e.g. tcp://host:8786.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="Keep finished tasks here: an interrupted run goes on from them."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Write the tables, with their provenance, into this folder."),
    ] = None,
    from_scratch: Annotated[
        bool, typer.Option(help="Compute everything, even what results/ holds.")
    ] = False,
    compare: Annotated[
        bool, typer.Option(help="Compare with results/; fail if under 99 % of rows agree.")
    ] = False,
    quiet: Annotated[bool, typer.Option(help="No progress bar, no tables.")] = False,
) -> None:
    """Run the paper's experiments and show them beside the printed values.

    Named data sets are always computed afresh; with --all what results/ already holds for the same
    options is taken over unless --from-scratch is given. Example: lpsvdd run --dataset D7
    --setting pure.
    """
    from lpsvdd import datasets
    from lpsvdd.experiments import paper
    from lpsvdd.experiments.backends import WorkerLost, make_backend
    from lpsvdd.experiments.runner import RunFailed
    from lpsvdd.experiments.store import ResultsError

    if everything == bool(dataset):
        raise _stop("name data sets with --dataset, or take all with --all")
    try:
        names = paper.available() if everything else [datasets.find(n).id for n in dataset or []]
        for name in names:
            datasets.load(name)
        where = make_backend(backend.value, jobs, scheduler)
        good = True
        for one in _settings(setting):
            start = time.perf_counter()
            with tempfile.TemporaryDirectory() as scratch:
                table = paper.experiment(
                    one,
                    names=names,
                    trials=trials,
                    backend=where,
                    folder=folder / one if folder else Path(scratch) / one,
                    recompute=from_scratch or not everything,
                    progress=not quiet,
                )
            seconds = time.perf_counter() - start
            if save is not None:
                paper.save(table, one, save, wall_seconds=round(seconds, 1), jobs=jobs)
            good &= _report(table, one, seconds, compare=compare, quiet=quiet)
    except (ResultsError, RunFailed, WorkerLost, ValueError, OSError) as error:
        raise _stop(str(error)) from error
    except KeyError as error:
        raise _stop(str(error.args[0])) from error
    if everything and (absent := set(paper.all_datasets()) - set(names)):
        typer.echo(f"not run, to be supplied by the user: {', '.join(sorted(absent))}")
    if not good:
        raise typer.Exit(code=1)


def _report(table, setting: str, seconds: float, *, compare: bool, quiet: bool) -> bool:
    """Print a table and, if asked, its agreement with the committed one; False if that fails."""
    from lpsvdd.experiments import paper, tables

    if not quiet:
        typer.echo(tables.render(table, setting))
        for line in paper.time_per_dataset(table):
            typer.echo(line)
    typer.echo(f"{setting}: {len(table)} rows in {seconds:.1f} s")
    if not compare:
        return True
    agreement = paper.compare(paper.committed(setting), table)
    typer.echo(
        f"{setting}: {agreement.within} of {agreement.rows} rows within {paper.TOLERANCE} AUC "
        f"points of results/{setting}.csv ({100 * agreement.share:.2f} %)"
    )
    if not agreement.others.empty:
        typer.echo(agreement.others.to_string(index=False))
    return agreement.share >= paper.REQUIRED_SHARE


def tables(
    setting: Annotated[Setting, typer.Option(help="Which experiment.")] = Setting.both,
    form: Annotated[Form, typer.Option("--format", help="Layout.")] = Form.text,
    results: Annotated[
        Path | None, typer.Option(help="Folder with pure.csv and negatives.csv.")
    ] = None,
    dataset: Annotated[
        list[str] | None, typer.Option(help="Only this data set; may be repeated.")
    ] = None,
) -> None:
    """Show the committed results in the paper's layout, beside the printed values."""
    from lpsvdd import datasets
    from lpsvdd.experiments import paper
    from lpsvdd.experiments import tables as layout

    try:
        for one in _settings(setting):
            rows = paper.committed(one, results)
            if dataset:
                ids = [datasets.find(name).id for name in dataset]
                rows = rows[rows["dataset"].isin(ids)]
            typer.echo(layout.render(rows, one, form.value))
    except (ValueError, OSError) as error:
        raise _stop(str(error)) from error
    except KeyError as error:
        raise _stop(str(error.args[0])) from error


def register(app: typer.Typer) -> None:
    """Add the two commands to the main application."""
    app.command()(run)
    app.command()(tables)
