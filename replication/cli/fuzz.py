"""``python -m replication fuzz``: thousands of small problems against an independent judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replication.cli._errors import sentences


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def fuzz(
        problems: Annotated[int, typer.Option(help="How many; 10,000 take minutes.")] = 10_000,
        seed: Annotated[
            int | None, typer.Option(help="Other problems than the stored counts are of.")
        ] = None,
        save: Annotated[
            Path | None, typer.Option(help="Write the counts and their record into this folder.")
        ] = None,
    ) -> None:
        """Solve small problems of every kind, judge the answers, count; fails if one is wrong."""
        from replication.studies import fuzz as study

        if save is not None and seed is not None:
            raise typer.BadParameter("the stored counts are those of the usual seed")
        rows = study.run(range(problems), seed=study.SEED if seed is None else seed, progress=True)
        table = study.summary(rows)
        typer.echo(table.to_string(index=False))
        if save is not None:
            with sentences():
                study.save(table, save / "fuzz.csv", problems)
        bad = rows[rows["wrong"] | (rows["error"] != "")]
        silent = int(table["unwarned"].sum())
        shares, most = study.not_converged(rows), study.NOT_CONVERGED_AT_MOST
        said = ", ".join(f"{share:.2%} of the {kind}" for kind, share in shares.items())
        typer.echo(f"not converged: {said} problems' solutions ({len(rows):,} in all)")
        if len(bad) or silent or any(shares[kind] > most[kind] for kind in most):
            typer.echo(bad[["number", "road", "p", "reason", "error"]].to_string(index=False))
            raise typer.Exit(1)
