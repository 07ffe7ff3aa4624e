"""Commands ``bench``, ``claims``, ``fuzz`` and ``notebook``: what is not an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replication.cli import sentences


def bench(
    profile: Annotated[
        str,
        typer.Option(
            help="quick (under a minute), full (tens of minutes), or scale: large problems."
        ),
    ] = "full",
    output: Annotated[
        Path | None,
        typer.Option(help="CSV table; by default in results/ (quick: in _build/)."),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Only summarise an existing table.")
    ] = False,
) -> None:
    """Measure lpsvdd, CVXPY (Clarabel, ECOS, SCS) and OneClassSVM; one row a measurement."""
    from replication import benchmark
    from replication.benchmark import scale
    from replication.results import read

    if profile not in (*benchmark.PROFILES, "scale"):
        known = ", ".join([*benchmark.PROFILES, "scale"])
        raise typer.BadParameter(f"{profile!r} is not one of {known}", param_hint="--profile")
    name = "scale.csv" if profile == "scale" else "benchmark.csv"
    output = output or Path("_build" if profile == "quick" else "results") / name
    with sentences():
        if profile == "scale":
            typer.echo(scale.summary(read(output) if report else scale.run(output)))
            return
        if not report:
            benchmark.run(profile, output)
        typer.echo(benchmark.report(benchmark.read(output)))


def claims(
    check: Annotated[
        bool, typer.Option("--check", help="Recompute each verdict; fail if one differs.")
    ] = False,
    only: Annotated[str | None, typer.Option(help="Look at one claim, by its id.")] = None,
) -> None:
    """List the paper's claims with their verdicts."""
    from replication.claims import judge, read_ledger, says
    from replication.notebooks import project_root

    with sentences():
        ledger = read_ledger(project_root() / "replication" / "claims.yml")
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
        raise typer.Exit(int(changed > 0))


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
    ordinary = max(int(rows["ordinary"].sum()), 1)
    limits = {kind: max(limit, 1.5 / ordinary) for kind, limit in most.items()}  # one may, in a few
    if len(bad) or silent or any(shares[kind] > limits[kind] for kind in limits):
        typer.echo(bad[["number", "road", "p", "reason", "error"]].to_string(index=False))
        raise typer.Exit(1)


def pair(names: list[str], values: list[str]) -> dict[str, str]:
    """Names given with ``-p`` and the values after them; ``-p name=value`` carries its own."""
    waiting = iter(values)
    pairs = {}
    for name in names:
        key, separator, value = name.partition("=")
        if not separator and (value := next(waiting, "")) == "":
            raise typer.BadParameter(f"-p {key} has no value")
        pairs[key] = value
    if unused := list(waiting):
        raise typer.BadParameter(f"unexpected: {' '.join(unused)} (one notebook at a time)")
    return pairs


def notebook(
    # The values of -p land here too: typer has no repeatable option with two values.
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]", help="Name of the chapter, such as boundaries."),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            "-p",
            metavar="NAME VALUE",
            help='Override one parameter: -p p_grid "[1, 2, 5]". Can be repeated.',
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Execute every notebook.")] = False,
    profile: Annotated[str, typer.Option(help="published or quick.")] = "published",
    force: Annotated[bool, typer.Option("--force", help="Execute unchanged ones too.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Only list the parameters.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Notebooks at a time with --all.")] = 2,
) -> None:
    """Execute one notebook, or all of them, into book/notebooks/."""
    from replication import notebooks

    words = words or []
    if every == bool(words):
        raise typer.BadParameter("give one notebook, or --all")
    if every and parameter:
        raise typer.BadParameter("-p needs one notebook, not --all")
    with sentences("executed notebooks are kept: the same command goes on from there"):
        root = notebooks.project_root()
        if every:
            notebooks.execute_all(
                root=root, profile=profile, force=force, jobs=jobs, report=typer.echo
            )
            return
        source = notebooks.find(words[0], root)
        if show:
            for key, value in notebooks.defaults(source).items():
                typer.echo(f"{key} = {value!r}")
            return
        given = pair(parameter or [], words[1:])
        notebooks.execute(
            source,
            root=root,
            profile=profile,
            parameters={key: notebooks.parse_value(text) for key, text in given.items()},
            force=force,
            report=typer.echo,
        )


COMMANDS = (bench, claims, fuzz, notebook)
