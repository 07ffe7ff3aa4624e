"""Commands ``bench``, ``claims`` and ``fuzz``: what is measured and judged."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from replication.cli import sentences

Profile = StrEnum("Profile", ["quick", "full", "scale"])


def bench(
    profile: Annotated[
        Profile, typer.Option(help="Under a minute, tens of minutes, or large problems.")
    ] = Profile.full,
    save: Annotated[
        Path | None, typer.Option(help="Folder of the table; by default results/ (quick: _build/).")
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Only summarise an existing table.")
    ] = False,
) -> None:
    """Measure lpsvdd, CVXPY (Clarabel, ECOS, SCS) and OneClassSVM; one row a measurement."""
    from replication.benchmark.report import report_of
    from replication.benchmark.scale import run_scale
    from replication.benchmark.small import run_small

    folder = save or Path("_build" if profile is Profile.quick else "results")
    path = folder / ("scale.csv" if profile is Profile.scale else "benchmark.csv")
    with sentences():
        if not report and profile is Profile.scale:
            run_scale(path)
        elif not report:
            run_small(profile.value, path)
        typer.echo(report_of(path))


def claims(
    check: Annotated[
        bool, typer.Option("--check", help="Recompute each verdict; fail if one differs.")
    ] = False,
    only: Annotated[str | None, typer.Option(help="Look at one claim, by its id.")] = None,
) -> None:
    """List the paper's claims with their verdicts."""
    from replication import claims as ledger

    with sentences():
        chosen = [entry for entry in ledger.read_ledger() if only in (None, entry.id)]
        if not chosen:
            raise ValueError(f"there is no claim {only!r}")
        for one in chosen:
            verdict = one.verdict or one.agrees or "erratum"
            found = ledger.says(one) if check else f"{one.claim} ({one.where})"
            typer.echo(f"{verdict:<23} {one.id:<21} {found}")
        wrong = ledger.failures(chosen) if check else []
        if check:
            lines = "\n".join(wrong)
            typer.echo(f"{len(chosen)} entries, {len(wrong)} no longer follow\n{lines}".rstrip())
        raise typer.Exit(int(bool(wrong)))


def count_fuzz(
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
    drawn = study.FUZZ_SEED if seed is None else seed
    rows = study.run_fuzz(range(problems), seed=drawn, progress=True)
    table = study.count_outcomes(rows)
    typer.echo(table.to_string(index=False))
    if save is not None:
        with sentences():
            study.save_counts(table, save / "fuzz.csv", problems)
    bad = rows[rows["wrong"] | (rows["error"] != "")]
    silent = int(table["unwarned"].sum())
    shares, most = study.not_converged(rows), study.NOT_CONVERGED_AT_MOST
    said = ", ".join(f"{share:.2%} of the {kind}" for kind, share in shares.items())
    typer.echo(f"not converged: {said} problems' solutions ({len(rows):,} in all)")
    ordinary = max(int(rows["ordinary"].sum()), 1)
    limits = {kind: max(limit, 1.5 / ordinary) for kind, limit in most.items()}  # one may, in a few
    if len(bad) or silent or any(shares[kind] > limits[kind] for kind in limits):
        typer.echo(bad[["number", "road", "p", "reason", "error"]].to_string(index=False))
        raise typer.Exit(1)
