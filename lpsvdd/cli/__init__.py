"""Command line ``lpsvdd``: one module per command group, each a short list of commands.

A command module exposes either ``app`` (a ``typer.Typer``, mounted under the module's name) or
``register(app)``, which adds plain commands to the main application.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import typer

COMMANDS = ("data", "fit", "run", "bound", "bench", "claims", "notebook")


def build() -> typer.Typer:
    """Assemble the application from the command modules that are present."""
    app = typer.Typer(
        name="lpsvdd",
        help="Support vector data description with an lp slack norm.",
        no_args_is_help=True,
        pretty_exceptions_show_locals=False,
    )
    for name in COMMANDS:
        if find_spec(f"{__name__}.{name}") is None:
            continue
        module = import_module(f"{__name__}.{name}")
        if hasattr(module, "register"):
            module.register(app)
        else:
            app.add_typer(module.app, name=name)
    return app


def main() -> None:
    """Entry point of the ``lpsvdd`` command."""
    build()()
