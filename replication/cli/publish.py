"""Commands ``article``, ``archive`` and ``codecheck``: what people cite, keep and check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replication.cli import sentences


def article(
    folder: Annotated[Path, typer.Option(help="Where to make it.")] = Path("_build/article"),
) -> None:
    """Make the article as PDF, its numbers and figures from the stored results."""
    from replication.article import build
    from replication.findings import keep_findings

    keep_findings()
    with sentences():
        typer.echo(f"The article: {build(folder)}")


def archive(
    folder: Annotated[Path, typer.Option(help="Where to write the deposit.")] = Path("_build"),
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Only write CITATION.cff and its like anew.")
    ] = False,
) -> None:
    """Make the deposit of this commit: source, results, article, book if built, metadata."""
    from replication import archive as deposit
    from replication import metadata
    from replication.findings import keep_findings

    keep_findings()
    with sentences():
        if refresh:
            typer.echo(f"written: {', '.join(metadata.refresh()) or 'nothing had changed'}")
            return
        path = deposit.make(folder)
        size = path.stat().st_size / 1e6
        typer.echo(f"The deposit: {path} ({size:.1f} MB), its source {deposit.check(path)}")


def codecheck(
    folder: Annotated[Path, typer.Option(help="Where to put the certificate.")] = Path(
        "_build/codecheck"
    ),
) -> None:
    """Make what codecheck.yml names again, compare with what is stored, write a certificate."""
    from replication import codecheck as checking

    with sentences():
        outcomes = checking.run(typer.echo)
        typer.echo(f"The certificate: {checking.write(outcomes, folder)}")
    raise typer.Exit(int(not all(one.good for one in outcomes)))


COMMANDS = (article, archive, codecheck)
