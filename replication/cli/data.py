"""``python -m replication data``: list, check and add the paper's data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replication.cli import sentences

app = typer.Typer(help="List, check and add the paper's data sets D1–D20.", no_args_is_help=True)


@app.command("list")
def list_data() -> None:
    """List the data sets with target class and size."""
    from replication.datasets import RECORDS

    row = "{:<4} {:<15} {:<10} {:>5} {:>9} {:>4}  {}"
    typer.echo(row.format("id", "name", "target", "n", "positives", "dim", "where"))
    where = {"table": "in the checkout", "generated": "generated", "user": "to be supplied by you"}
    for r in RECORDS:
        typer.echo(row.format(r.id, r.name, r.target, r.n, r.positives, r.dim, where[r.kind]))


@app.command("check")
def check_data() -> None:
    """Compare every data set with its checksum and counts; exit status 1 if one differs."""
    from replication.datasets import find, verify

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


@app.command("add")
def add_data(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Id or name, e.g. D5 or delft-pump.")],
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="CSV, plain or gzipped, the class in the last column."),
    ],
) -> None:
    """Compare a file of D4 or D5 with the catalogue and register it for load()."""
    from replication import datasets

    with sentences():
        path = datasets.add(name, file)
    typer.echo(f"{datasets.find(name).id} registered: {path}")
