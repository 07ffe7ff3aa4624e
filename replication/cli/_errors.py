"""Errors of a command as one sentence, and a quiet end where a pipe or Ctrl-C ends it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def sentences() -> Iterator[list[str]]:
    """Expected errors become ``error: ...`` and exit code 1; a closed pipe says nothing.

    The block gets a list for the files it has written, which Ctrl-C and errors name.
    """
    written: list[str] = []
    try:
        yield written
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain once more on exit, when it
        # flushes what is left, unless that goes nowhere.
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise typer.Exit(141) from None  # as shells do: 128 plus the signal
    except KeyboardInterrupt:
        done = f"already written: {', '.join(written)}" if written else "no file was changed"
        typer.echo(f"\nstopped; {done}", err=True)
        raise typer.Exit(130) from None
    except (OSError, ValueError, MemoryError, KeyError) as error:
        done = f" (already written: {', '.join(written)})" if written else ""
        typer.echo(f"error: {sentence(error)}{done}", err=True)
        raise typer.Exit(1) from None


def sentence(error: BaseException) -> str:
    """What an exception says, on one line."""
    text = str(error)
    if isinstance(error, KeyError) and error.args:
        text = str(error.args[0])
    elif isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        text = f"{where}{error.strerror[0].lower()}{error.strerror[1:]}"
    elif isinstance(error, MemoryError):
        text = f"the memory does not suffice ({error})"
    return " ".join(text.split())


@contextmanager
def warnings_as_notes(notes: list[str]) -> Iterator[None]:
    """Collect warnings as sentences, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    texts = [sentence(warning.message) for warning in caught]  # type: ignore[arg-type]
    # What a radius below zero means is said in the report.
    notes += [text for text in dict.fromkeys(texts) if not text.startswith("radius_sq_")]
