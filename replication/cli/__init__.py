"""Command line ``python -m replication``: experiments, data, claims, benchmark, book."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from replication.cli import _errors


def build() -> typer.Typer:
    """Assemble the application."""
    from replication.cli import checks, data, publish, run

    app = typer.Typer(
        name="python -m replication",
        help="The replication of the paper: experiments, claims, benchmark, notebooks.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # importing rich takes longer than all the rest
    )
    for command in (*run.COMMANDS, *checks.COMMANDS, *publish.COMMANDS):
        app.command()(command)
    app.add_typer(data.app, name="data")
    return app


def main() -> None:
    """Entry point of ``python -m replication``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a console of Windows has no letter for all
            stream.reconfigure(errors="replace")
    build()()


@contextmanager
def sentences(kept: str = "nothing was kept") -> Iterator[None]:
    """Expected errors in one sentence and exit code 1, warnings in one line each.

    ``kept`` is what Ctrl-C says: how to go on.
    """
    from replication.runner import RunFailed

    def show(message: Warning | str, *details: Any, **more: Any) -> None:
        typer.echo(f"warning: {message}", err=True)

    with _errors.sentences(), warnings.catch_warnings():
        warnings.showwarning = show
        try:
            yield
        except RunFailed as error:  # one line a task, or a traceback: too much for a sentence
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            typer.echo(f"\nstopped; {kept}", err=True)
            raise typer.Exit(130) from None  # 128 + SIGINT, as shells have it
