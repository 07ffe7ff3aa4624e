"""``python -m replication bench``: time the solver against general-purpose ones and report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replication.cli._errors import sentences


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def bench(
        profile: Annotated[
            str,
            typer.Option(
                help="quick (under a minute), full (tens of minutes), or scale: large problems."
            ),
        ] = "full",
        output: Annotated[
            Path | None,
            typer.Option(help="CSV table; by default in results/ (full) or _build/ (quick)."),
        ] = None,
        report: Annotated[
            bool, typer.Option("--report", help="Only summarise an existing table.")
        ] = False,
        resume: Annotated[
            bool, typer.Option("--resume", help="Keep the rows of the table, add what is missing.")
        ] = False,
        plots: Annotated[
            Path | None, typer.Option(help="Folder for the figures (SVG); none without it.")
        ] = None,
    ) -> None:
        """Measure lpsvdd, CVXPY (Clarabel, ECOS, SCS) and OneClassSVM; one row a measurement."""
        from replication import benchmark

        if profile == "scale":
            _scale(output or Path("results/scale.csv"), report)
            return
        if profile not in benchmark.PROFILES:
            known = ", ".join([*benchmark.PROFILES, "scale"])
            raise typer.BadParameter(f"{profile!r} is not one of {known}", param_hint="--profile")
        if output is None:
            folder = Path("results" if profile == "full" else "_build")
            output = folder / "benchmark.csv"
        with sentences():
            if not report:
                benchmark.run(profile, output, resume=resume)
            table = benchmark.read(output)
            typer.echo(benchmark.report(table))
        if plots is not None:
            from replication.benchmark.plots import save_all

            for path in save_all(table, plots):
                typer.echo(f"wrote {path}")


def _scale(output: Path, report: bool) -> None:
    """Large problems: every row of the table in one run (``benchmark.scale``)."""
    from replication.benchmark import scale
    from replication.results import read

    with sentences():
        typer.echo(scale.summary(read(output) if report else scale.run(output)))
