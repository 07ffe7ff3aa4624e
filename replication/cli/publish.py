"""Commands ``notebook``, ``article``, ``archive`` and ``codecheck``: what people read and keep."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from replication.cli import sentences


def python_value(word: str) -> Any:
    """Read a literal of Python; anything else is a word."""
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError):
        return word


def notebook(
    # The values of -p land here too: typer has no repeatable option with two values.
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]", help="A chapter, such as boundaries.")
    ] = None,
    parameter: Annotated[
        list[str] | None,
        Option("-p", metavar="NAME VALUE", help='Override one parameter: -p p_grid "[1, 2, 5]".'),
    ] = None,
    every: Annotated[bool, Option("--all", help="Execute every notebook.")] = False,
    profile: Annotated[str, Option(help="published or quick.")] = "published",
    force: Annotated[bool, Option("--force", help="Execute unchanged ones too.")] = False,
    jobs: Annotated[int, Option(min=1, help="Notebooks at a time with --all.")] = 2,
) -> None:
    """Execute one notebook, or all of them, into book/notebooks/."""
    from replication import notebooks

    (name, *values), names = words or [""], parameter or []
    if every == bool(name) or len(values) != len(names):
        raise typer.BadParameter("give one notebook, each -p with a name and a value, or --all")
    options = {"profile": profile, "force": force}
    with sentences("executed notebooks are kept: the same command goes on from there"):
        if every:
            for line in notebooks.execute_all(jobs=jobs, **options):
                typer.echo(line)
        else:
            given = dict(zip(names, map(python_value, values), strict=True))
            typer.echo(notebooks.execute(name, parameters=given, **options))


def article(
    folder: Annotated[Path, Option(help="Where to make it.")] = Path("_build/article"),
) -> None:
    """Make the article as PDF, its numbers and figures from the stored results."""
    from replication.article import write_pdf

    with sentences():
        typer.echo(f"The article: {write_pdf(folder)}")


def archive(
    folder: Annotated[Path, Option(help="Where to write the deposit.")] = Path("_build"),
) -> None:
    """Make the deposit of this commit: source, results, article, and the book if it is built."""
    from replication.archive import make_deposit

    with sentences():
        path = make_deposit(folder)
        typer.echo(f"The deposit: {path} ({path.stat().st_size / 1e6:.1f} MB)")


def codecheck(
    folder: Annotated[Path, Option(help="Where to put the certificate.")] = Path("_build"),
) -> None:
    """Run the commands of codecheck.yml, which compare results, and write a certificate."""
    from replication.codecheck import write_certificate

    with sentences():
        path, good = write_certificate(folder)
        typer.echo(f"The certificate: {path}")
    raise typer.Exit(int(not good))
