"""Command ``run``: experiments recomputed, or taken from results/, beside the printed values."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from replication.cli import sentences

if TYPE_CHECKING:
    import pandas as pd

    from replication.experiment import Study
    from replication.methods import Method
    from replication.own import OwnSet
    from replication.protocol import Options

HURTS = 2.0
"""AUC points from which on standardised rows are called better than rows of unit norm."""
Experiments = StrEnum("Experiments", ["pure", "negatives", "both"])
Several = list[str] | None


@dataclass(frozen=True)
class Asked:
    """What a run was asked for; ``names`` is None for all, ``words`` are for the record."""

    names: list[str] | None
    own: dict[str, OwnSet]
    options: Options
    trials: int | None
    save: Path | None
    from_scratch: bool
    compare: bool
    words: list[str]
    runner: dict[str, Any]


def run_experiments(
    dataset: Annotated[Several, Option(help="Id, name or CSV file of yours; repeatable.")] = None,
    everything: Annotated[bool, Option("--all", help="All data sets available here.")] = False,
    method: Annotated[
        Several, Option(help="A detector beside the paper's, package.module:Class; repeatable.")
    ] = None,
    grid: Annotated[Path | None, Option(help="YAML or JSON file, the grid of --method.")] = None,
    label: Annotated[
        str | None, Option(help="Column with the class in a CSV file; by default the last.")
    ] = None,
    target: Annotated[str | None, Option(help="The class to describe in a CSV file.")] = None,
    unit_norm: Annotated[bool, Option(help="Scale rows to unit norm, as the paper does.")] = True,
    setting: Annotated[
        Experiments, Option(help="Training without or with labelled outliers.")
    ] = Experiments.both,
    study: Annotated[
        Several, Option(help="A deciding experiment instead of the paper's two; repeatable.")
    ] = None,
    trials: Annotated[
        int | None, Option(min=1, help="Splits per data set; by default those stored.")
    ] = None,
    jobs: Annotated[int, Option(min=1, help="Worker processes, one a core at most.")] = 2,
    backend: Annotated[
        str, Option(help="joblib, dask, or a dask scheduler's address, tcp://host:8786.")
    ] = "joblib",
    folder: Annotated[
        Path | None, Option(help="Keep finished tasks here: a stopped run goes on from them.")
    ] = None,
    save: Annotated[Path | None, Option(help="Write tables and records to this folder.")] = None,
    source: Annotated[
        Path | None, Option("--from", help="Folder of the tables that `tables_` studies read.")
    ] = None,
    from_scratch: Annotated[
        bool, Option("--from-scratch", help="Compute even what results/ holds.")
    ] = False,
    compare: Annotated[
        bool,
        Option("--compare", help="Compare with results/; fail if under 99 % of rows agree."),
    ] = False,
) -> None:
    """Run the paper's experiments, or a study, and show them beside the printed values.

    Data sets that are named are computed. With --all, or beside a method of your own, what results/
    holds for the same options is taken over unless --from-scratch is given.

    \b
    Examples:
      python -m replication run --dataset D7 --setting pure
      python -m replication run --dataset my.csv --target normal --method my_module:MyDetector
    """
    from replication import datasets
    from replication.protocol import Options

    kept = "nothing was kept; with --folder NAME a stopped run goes on where it was"
    if folder is not None:
        kept = f"finished tasks are in {folder}: the same command goes on from there"
    with sentences(kept):
        if source is not None:
            from replication import table_sets

            table_sets.use_folder(source)
        dataset, method = dataset or [], method or []
        files = [Path(name) for name in dataset if name.lower().endswith(".csv")]
        if everything == bool(dataset):
            raise ValueError("name data sets with --dataset, or take all with --all")
        if study and (files or method or not unit_norm):
            raise ValueError("a study has its own methods, data sets and options")
        if (label or target) and not files:
            raise ValueError("--label and --target are for a CSV file of your own")
        if grid is not None and len(method) != 1:
            raise ValueError("--grid is the grid of one --method")
        settings = ["pure", "negatives"] if setting is Experiments.both else [setting.value]
        own: dict[str, OwnSet] = {}
        methods: dict[str, list[Method]] = {one: [] for one in settings}
        if files or method:  # most runs have none and import nothing for them
            from replication.own import find_methods, read_grid, read_set

            own = {path.stem: read_set(path, label, target) for path in files}
            methods = find_methods(method, settings, None if grid is None else read_grid(grid))
        named = [name for name in dataset if not name.lower().endswith(".csv")]
        # What is missing or damaged shows before anything is computed.
        names = [*(datasets.load(name).id for name in named), *own]
        words = ["--all"] if everything else []
        for option, values in {
            "--dataset": [f"{name}.csv" if name in own else name for name in names],
            "--method": method,
            "--grid": [grid.name] if grid else [],
            "--label": [label] if label else [],
            "--target": [target] if target else [],
        }.items():
            words += [word for value in values for word in (option, value)]
        asked = Asked(
            None if everything else names, own, Options(unit_norm=unit_norm), trials, save,
            from_scratch, compare, words + ([] if unit_norm else ["--no-unit-norm"]),
            {"n_jobs": jobs, "backend": backend, "folder": folder},
        )  # fmt: skip
        if study:
            good = [_study(name, asked) for name in study]
        else:
            good = [_paper(one, methods[one], asked) for one in settings]
    if not all(good):
        raise typer.Exit(code=1)


def _study(name: str, asked: Asked) -> bool:
    """Run one deciding experiment; save it or show it."""
    from replication.studies import find_study

    one = find_study(name)
    again = asked.from_scratch or asked.names is not None or asked.save is not None
    table = _made(one, [(one, again)], asked.names, ["--study", name], asked)
    if asked.save is None:
        typer.echo(table.to_string(index=False))
    return True


def _paper(setting: str, extra: list[Method], asked: Asked) -> bool:
    """Run one setting, show it, save it; False if a comparison was asked for and fails."""
    from replication import experiment as experiments
    from replication import results, tables
    from replication.paper import TRIALS

    def with_methods(methods: list[Method]) -> Study:
        one = experiments.paper_table(setting, methods, asked.options, asked.own)
        return replace(one, trials=TRIALS) if asked.own or extra else one

    paper = experiments.paper_methods(setting)
    names = experiments.available() if asked.names is None else asked.names
    # A record says which commit computed a table: what is saved whole is computed.
    stored = bool(extra) or (asked.names is None and asked.save is None)
    parts = [(with_methods(paper), asked.from_scratch or not stored)]
    parts += [(with_methods(extra), True)] if extra else []
    whole = with_methods([*paper, *extra])
    table = _made(whole, parts, names, ["--setting", setting], asked)
    if asked.own:  # before the table: it says how to read it
        typer.echo("\n".join(_unit_norm_hint(setting, table, asked)))
    typer.echo(tables.render(table, setting))
    used = table.groupby("dataset", sort=False)["seconds"].sum()
    typer.echo("\n".join(f"{n}: {value:.1f} s of processor time" for n, value in used.items()))
    if asked.names is None and (absent := set(experiments.all_datasets()) - set(names)):
        typer.echo(f"not run, to be supplied by the user: {', '.join(sorted(absent))}")
    if not asked.compare:
        return True
    ours = ~table["dataset"].isin(asked.own) & table["method"].isin([one.name for one in paper])
    found = experiments.agreement(results.read(setting), table[ours])
    typer.echo(
        f"{setting}: {found.within} of {found.rows} rows within {experiments.TOLERANCE} AUC points "
        f"of results/{setting}.csv ({100 * found.share:.2f} %)"
    )
    if not found.others.empty:
        typer.echo(found.others.to_string(index=False))
    return found.share >= experiments.REQUIRED_SHARE


def _made(
    one: Study,
    parts: list[tuple[Study, bool]],
    names: list[str] | None,
    which: list[str],
    asked: Asked,
) -> pd.DataFrame:
    """The table of a study from its parts, saved with its record where that was asked.

    A part is computed again or taken from results/; ``names`` are the data sets, None for all.
    """
    import pandas as pd

    from replication.experiment import compute, save_study
    from replication.results import refuse_other

    fewer = [] if asked.trials in (None, one.trials) else ["--trials", str(asked.trials)]
    one = replace(one, trials=asked.trials or one.trials)
    if asked.save is not None:
        path, covered = asked.save / f"{one.name}.csv", names or one.names_here()
        refuse_other(path, one.signature(), covered, one.trials)
    start = time.perf_counter()
    made = (
        compute(part, names=names, trials=one.trials, recompute=again, **asked.runner)
        for part, again in parts
    )
    table = pd.concat(made, ignore_index=True)
    seconds = round(time.perf_counter() - start, 1)
    if asked.save is not None:
        words = ["python", "-m", "replication", "run", *asked.words, *which, *fewer]
        command = shlex.join([*words, "--save", asked.save.name])
        save_study(one, table, asked.save, command=command, wall_seconds=seconds)
    typer.echo(f"{one.name}: {len(table)} rows in {seconds:.1f} s")
    return table


def _unit_norm_hint(setting: str, table: pd.DataFrame, asked: Asked) -> list[str]:
    """What the paper's unit norm does to a user's sets, seen by l2-SVDD on the same splits."""
    from replication import experiment as experiments

    method = next(m for m in experiments.paper_methods(setting) if m.name.startswith("l2-"))
    unit_norm = asked.options.unit_norm
    other = experiments.experiment(
        setting, methods=[method], own=asked.own,
        options=replace(asked.options, unit_norm=not unit_norm),
        names=list(asked.own), trials=table["trial"].nunique(), recompute=True, **asked.runner,
    )  # fmt: skip
    unit, plain = (
        rows[rows["method"] == method.name].groupby("dataset")["auc"].mean()
        for rows in ((table, other) if unit_norm else (other, table))
    )
    lines = []
    for name in asked.own:
        text = (
            f"{name}, {method.name}: {unit[name]:.1f} with rows of unit norm, as in the paper; "
            f"{plain[name]:.1f} with rows that are only standardised"
        )
        if plain[name] - unit[name] > HURTS and unit_norm:
            text += ". The unit norm hurts here: --no-unit-norm leaves it out"
        lines.append(text)
    return lines
