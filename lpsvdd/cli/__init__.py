"""Command line ``lpsvdd``: every module of this package without an underscore is a command.

A module exposes ``register(app)``, or ``app`` to be mounted under its name, or the command as a
function of its own name that reads a table. Commands import what they run inside, so that
``lpsvdd --help`` answers at once.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Annotated

import typer

import lpsvdd
from lpsvdd.cli._options import add_command


def assemble(package: ModuleType, *, name: str, help: str) -> typer.Typer:
    """The application whose commands are the modules of a package."""
    app = typer.Typer(
        name=name,
        help=help,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # importing rich takes longer than all the rest
    )

    @app.callback()
    def options(
        version: Annotated[
            bool,
            typer.Option("--version", is_eager=True, callback=_version, help="Show the version."),
        ] = False,
    ) -> None:
        pass

    for listed in iter_modules(package.__path__):
        if not listed.name.startswith("_"):
            module = import_module(f"{package.__name__}.{listed.name}")
            if hasattr(module, "register"):
                module.register(app)
            elif hasattr(module, "app"):
                app.add_typer(module.app, name=listed.name)
            else:
                add_command(app, getattr(module, listed.name))
    return app


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lpsvdd {lpsvdd.__version__}")
        raise typer.Exit


def build() -> typer.Typer:
    """Assemble the application."""
    purpose = "Support vector data description with an lp slack norm."
    return assemble(import_module(__name__), name="lpsvdd", help=purpose)


def main() -> None:
    """Entry point of the ``lpsvdd`` command."""
    build()()
