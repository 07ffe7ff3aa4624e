"""Command line ``lpsvdd``: every module of this package adds its commands.

A module exposes either ``app`` (a ``typer.Typer``, mounted under the module's name) or
``register(app)``, which adds plain commands to the main application. Modules import what they run
inside their commands, so that ``lpsvdd --help`` answers at once.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Annotated

import typer

import lpsvdd


def assemble(package: ModuleType, *, name: str, help: str) -> typer.Typer:
    """The application whose commands are the modules of a package."""
    app = typer.Typer(
        name=name,
        help=help,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_show_locals=False,
    )

    @app.callback()
    def options(
        version: Annotated[
            bool,
            typer.Option("--version", is_eager=True, callback=_version, help="Show the version."),
        ] = False,
    ) -> None:
        pass

    for found in iter_modules(package.__path__):
        if found.name.startswith("_"):
            continue
        module = import_module(f"{package.__name__}.{found.name}")
        if hasattr(module, "register"):
            module.register(app)
        else:
            app.add_typer(module.app, name=found.name)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lpsvdd {lpsvdd.__version__}")
        raise typer.Exit


def build() -> typer.Typer:
    """Assemble the application."""
    return assemble(
        import_module(__name__),
        name="lpsvdd",
        help="Support vector data description with an lp slack norm.",
    )


def main() -> None:
    """Entry point of the ``lpsvdd`` command."""
    build()()
