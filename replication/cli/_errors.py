"""Errors of a command as one sentence, as ``lpsvdd`` has them, and how to go on after a stop."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from lpsvdd.cli import _errors as of_the_method


@contextmanager
def sentences(folder: Path | None = None) -> Iterator[None]:
    """Expected errors in one sentence and exit code 1, warnings in one line each.

    Ctrl-C says how to go on: finished tasks are in the folder, if the run has one.
    """
    from replication.runner import RunFailed

    def show(message: Warning | str, *details: Any, **more: Any) -> None:
        typer.echo(f"warning: {message}", err=True)

    with of_the_method.sentences(), warnings.catch_warnings():
        warnings.showwarning = show
        try:
            yield
        except RunFailed as error:  # one line a task: too much for a sentence
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            hint = f"finished tasks are in {folder}: the same command goes on from there"
            if folder is None:
                hint = "nothing was kept; with --folder NAME a stopped run goes on where it was"
            typer.echo(f"\nstopped; {hint}", err=True)
            raise typer.Exit(130) from None
