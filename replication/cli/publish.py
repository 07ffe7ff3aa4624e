"""Commands ``notebook``, ``article``, ``archive`` and ``codecheck``: what people read and keep."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Annotated, Any

import typer

from replication.cli import sentences


def parameter_pairs(names: list[str], values: list[str]) -> dict[str, Any]:
    """Match names given with ``-p`` and the values after them; ``name=value`` has its own."""
    waiting, pairs = iter(values), {}
    for name in names:
        key, separator, value = name.partition("=")
        if not separator and (value := next(waiting, "")) == "":
            raise typer.BadParameter(f"-p {key} has no value")
        try:
            pairs[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):  # a word
            pairs[key] = value
    if unused := list(waiting):
        raise typer.BadParameter(f"unexpected: {' '.join(unused)} (one notebook at a time)")
    return pairs


def notebook(
    # The values of -p land here too: typer has no repeatable option with two values.
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]", help="Name of the chapter, such as boundaries."),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            "-p",
            metavar="NAME VALUE",
            help='Override one parameter: -p p_grid "[1, 2, 5]". Can be repeated.',
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Execute every notebook.")] = False,
    profile: Annotated[str, typer.Option(help="published or quick.")] = "published",
    force: Annotated[bool, typer.Option("--force", help="Execute unchanged ones too.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Only list the parameters.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Notebooks at a time with --all.")] = 2,
) -> None:
    """Execute one notebook, or all of them, into book/notebooks/."""
    from replication import notebooks

    words = words or []
    if every == bool(words):
        raise typer.BadParameter("give one notebook, or --all")
    if every and parameter:
        raise typer.BadParameter("-p needs one notebook, not --all")
    with sentences("executed notebooks are kept: the same command goes on from there"):
        if every:
            for line in notebooks.execute_all(jobs=jobs, profile=profile, force=force):
                typer.echo(line)
            return
        source = notebooks.find_notebook(words[0])
        if show:
            for key, value in notebooks.published_values(source).items():
                typer.echo(f"{key} = {value!r}")
            return
        given = parameter_pairs(parameter or [], words[1:])
        typer.echo(notebooks.execute(source, profile=profile, parameters=given, force=force))


def article(
    folder: Annotated[Path, typer.Option(help="Where to make it.")] = Path("_build/article"),
) -> None:
    """Make the article as PDF, its numbers and figures from the stored results."""
    from replication.article import write_pdf

    with sentences():
        typer.echo(f"The article: {write_pdf(folder)}")


def archive(
    folder: Annotated[Path, typer.Option(help="Where to write the deposit.")] = Path("_build"),
) -> None:
    """Make the deposit of this commit: source, results, article, and the book if it is built."""
    from replication.archive import make_deposit

    with sentences():
        path = make_deposit(folder)
        typer.echo(f"The deposit: {path} ({path.stat().st_size / 1e6:.1f} MB)")


def codecheck(
    folder: Annotated[Path, typer.Option(help="Where to put the certificate.")] = Path(
        "_build/codecheck"
    ),
) -> None:
    """Run the commands of codecheck.yml, which compare results, and write a certificate."""
    from replication.codecheck import write_certificate

    with sentences():
        path, good = write_certificate(folder, typer.echo)
        typer.echo(f"The certificate: {path}")
    raise typer.Exit(int(not good))
