"""Command line ``python -m replication``: the experiments, the ledger, the benchmark, the book."""

from __future__ import annotations

import io
import sys
from importlib import import_module

import typer

from lpsvdd.cli import assemble


def build() -> typer.Typer:
    """Assemble the application."""
    return assemble(
        import_module(__name__),
        name="python -m replication",
        help="The replication of the paper: experiments, claims, benchmark, notebooks.",
    )


def main() -> None:
    """Entry point of ``python -m replication``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a console of Windows has no letter for all
            stream.reconfigure(errors="replace")
    build()()
