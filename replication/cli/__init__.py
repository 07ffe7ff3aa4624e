"""Command line ``python -m replication``: the experiments, the ledger, the benchmark, the book."""

from __future__ import annotations

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
    build()()
