"""``python -m replication claims``: print the claims ledger, or recompute every verdict."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the main application."""

    @app.command("claims")
    def claims(
        check: Annotated[
            bool, typer.Option("--check", help="Recompute each verdict; fail if one differs.")
        ] = False,
        only: Annotated[str | None, typer.Option(help="Look at one claim, by its id.")] = None,
    ) -> None:
        """List the paper's claims with their verdicts."""
        from replication.claims import LedgerError, judge, read_ledger, says
        from replication.notebooks import NotebookError, project_root

        try:
            ledger = read_ledger(project_root() / "claims.yml")
        except (LedgerError, NotebookError) as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(1) from None
        chosen = [claim for claim in ledger if only in (None, claim.id)]
        if not chosen:
            typer.echo(f"There is no claim {only!r}.", err=True)
            raise typer.Exit(1)
        changed = 0
        for claim in chosen:
            if not check:
                typer.echo(f"{claim.verdict:<15} {claim.id:<28} {claim.claim} ({claim.location})")
                continue
            found = judge(claim)
            same = found.verdict == claim.verdict
            changed += not same
            note = "" if same else f"  LEDGER SAYS {claim.verdict}"
            typer.echo(f"{found.verdict:<15} {claim.id:<28} {says(claim, found)}{note}")
        if check:
            typer.echo(f"{len(chosen)} claims, {changed} verdicts no longer follow")
            raise typer.Exit(int(changed > 0))
