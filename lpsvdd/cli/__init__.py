"""Command line ``lpsvdd``: fit, score, tune and bound, a module each.

Commands import what they run inside, so that ``lpsvdd --help`` answers at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

import lpsvdd
from lpsvdd.cli._options import add_command


def build() -> typer.Typer:
    """Assemble the application."""
    app = typer.Typer(
        name="lpsvdd",
        help="Support vector data description with an lp slack norm.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # importing rich takes longer than all the rest
    )
    app.callback()(_options)
    for name in ("bound", "fit", "score", "tune"):
        add_command(app, getattr(import_module(f"lpsvdd.cli.{name}"), name))
    return app


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lpsvdd {lpsvdd.__version__}")
        raise typer.Exit


Version = typer.Option("--version", is_eager=True, callback=_version, help="Show the version.")


def _options(version: Annotated[bool, Version] = False) -> None:
    pass


def main() -> None:
    """Entry point of the ``lpsvdd`` command."""
    build()()
