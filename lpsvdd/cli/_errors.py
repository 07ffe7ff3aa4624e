"""Errors of a command as one sentence, and a quiet end where a pipe or Ctrl-C ends it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

CLOSED_PIPE, INTERRUPTED = 141, 130
"""Exit codes by the convention of shells: 128 plus the number of the signal."""


@contextmanager
def sentences() -> Iterator[None]:
    """Expected errors become ``error: ...`` and exit code 1; a closed pipe says nothing.

    Ctrl-C leaves no half-written file: outputs take their name only when they are whole.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain once more on exit, when it
        # flushes what is left, unless that goes nowhere.
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise typer.Exit(CLOSED_PIPE) from None
    except KeyboardInterrupt:
        typer.echo("\nstopped; no file was changed", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except (OSError, ValueError, MemoryError, KeyError) as error:
        typer.echo(f"error: {sentence(error)}", err=True)
        raise typer.Exit(1) from None


def sentence(error: BaseException) -> str:
    """What an exception says, on one line."""
    if isinstance(error, KeyError) and error.args:
        text = str(error.args[0])
    elif isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        text = f"{where}{error.strerror[0].lower()}{error.strerror[1:]}"
    elif isinstance(error, MemoryError):
        text = f"the memory does not suffice ({error})" if str(error) else "no memory is left"
    else:
        text = str(error)
    return " ".join(text.split())


@contextmanager
def warnings_as_notes(notes: list[str], *, except_for: str = "") -> Iterator[None]:
    """Collect warnings as sentences, each once, leaving out those that start as told."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        text = sentence(warning.message)  # type: ignore[arg-type]
        if not (except_for and text.startswith(except_for)) and text not in notes:
            notes.append(text)
