"""Command line ``python -m replication``: experiments, data, claims, benchmark, book."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer


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
    app.command("run", context_settings={"max_content_width": 100})(run.run_experiments)
    for command in (
        checks.bench, checks.claims,
        publish.notebook, publish.article, publish.archive, publish.codecheck,
    ):  # fmt: skip
        app.command()(command)
    app.command("fuzz")(checks.count_fuzz)
    app.add_typer(data.app, name="data")
    return app


def command_line() -> None:
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

    try:
        with warnings.catch_warnings():
            warnings.showwarning = show
            yield
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain once more on exit, when it
        # flushes what is left, unless that goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(141) from None  # as shells do: 128 plus the signal
    except KeyboardInterrupt:
        typer.echo(f"\nstopped; {kept}", err=True)
        raise typer.Exit(130) from None
    except (OSError, ValueError, MemoryError, KeyError) as error:
        text = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
        if isinstance(error, OSError) and error.strerror:
            text = f"{error.filename or ''}: {error.strerror.lower()}".removeprefix(": ")
        elif isinstance(error, MemoryError):
            text = f"not enough memory ({error})"
        typer.echo(f"error: {' '.join(text.split())}", err=True)
        raise typer.Exit(1) from None
    except RunFailed as error:  # one line a task, and a traceback
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
