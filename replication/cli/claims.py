"""``python -m replication claims``: print the claims ledger, or recompute every verdict."""

from __future__ import annotations

from typing import Annotated

import typer

from replication.cli._errors import sentences


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
        from replication.claims import LedgerError
        from replication.notebooks import NotebookError

        with sentences():
            try:
                changed = _show(check, only)
            except (LedgerError, NotebookError) as error:
                raise ValueError(str(error)) from error
            raise typer.Exit(int(changed > 0))


def _show(check: bool, only: str | None) -> int:
    """Print the claims that were asked for; how many verdicts differ from the ledger."""
    from replication.claims import judge, read_ledger, says
    from replication.notebooks import project_root

    ledger = read_ledger(project_root() / "claims.yml")
    chosen = [claim for claim in ledger if only in (None, claim.id)]
    if not chosen:
        raise ValueError(f"there is no claim {only!r}")
    changed = 0
    for claim in chosen:
        if not check:
            typer.echo(f"{claim.verdict:<15} {claim.id:<28} {claim.claim} ({claim.location})")
            continue
        outcome = judge(claim)
        same = outcome.verdict == claim.verdict
        changed += not same
        note = "" if same else f"  LEDGER SAYS {claim.verdict}"
        typer.echo(f"{outcome.verdict:<15} {claim.id:<28} {says(claim, outcome)}{note}")
    if check:
        typer.echo(f"{len(chosen)} claims, {changed} verdicts no longer follow")
    return changed
