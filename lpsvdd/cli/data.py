"""``lpsvdd data``: list, show, check and add data sets."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from lpsvdd.cli._errors import sentences

app = typer.Typer(help="The paper's data sets D1–D20.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Id or name, e.g. D7 or wine.")]


@app.command("list")
def list_() -> None:
    """List the data sets with target class and size."""
    from lpsvdd.datasets import RECORDS

    row = "{:<4} {:<15} {:<10} {:>5} {:>9} {:>4}  {}"
    typer.echo(row.format("id", "name", "target", "n", "positives", "dim", "where"))
    where = {"table": "in the package", "generated": "generated", "user": "to be supplied by you"}
    for r in RECORDS:
        typer.echo(row.format(r.id, r.name, r.target, r.n, r.positives, r.dim, where[r.kind]))


@app.command()
def show(name: Name) -> None:
    """Show everything the catalogue knows about one data set."""
    from lpsvdd.datasets import find

    with sentences():
        record = find(name)
    for key, value in asdict(record).items():
        value = ", ".join(value) if isinstance(value, tuple) else value
        if value not in (None, ""):
            typer.echo(f"{key:<10} {value}")


@app.command()
def check() -> None:
    """Compare every data set with its checksum and counts; exit status 1 if one differs."""
    from lpsvdd.datasets import find, verify

    status = verify()
    for key, verdict in status.items():
        typer.echo(f"{key:<4} {find(key).name:<15} {verdict}")
    verified = sum(verdict == "verified" for verdict in status.values())
    absent = sum(verdict == "to be supplied" for verdict in status.values())
    failed = len(status) - verified - absent
    summary = f"{verified} verified, {absent} to be supplied"
    typer.echo(summary if not failed else f"{summary}, {failed} failed")
    if failed:
        raise typer.Exit(1)


@app.command()
def add(
    name: Name,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="CSV, plain or gzipped, the class in the last column."),
    ],
) -> None:
    """Check a file of D4 or D5 against the catalogue and register it for load()."""
    from lpsvdd import datasets

    with sentences():
        path = datasets.add(name, file)
    typer.echo(f"{datasets.find(name).id} registered: {path}")
