"""Commands ``run``, which recomputes experiments, and ``tables``, which shows them as printed."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from replication.cli import sentences

if TYPE_CHECKING:
    import pandas as pd

    from replication.methods import Method
    from replication.own import OwnSet
    from replication.protocol import Options

HURTS = 2.0
"""AUC points from which on standardised rows are called better than rows of unit norm."""
Setting = StrEnum("Setting", ["pure", "negatives", "both"])
Backend = StrEnum("Backend", ["joblib", "dask"])
Several = list[str] | None


def _settings(setting: Setting) -> list[str]:
    return ["pure", "negatives"] if setting is Setting.both else [setting.value]


@dataclass(frozen=True)
class Asked:
    """What a run was asked for; ``words`` are its options as a record repeats them."""

    names: list[str]
    own: dict[str, OwnSet]
    methods: dict[str, list[Method]]
    options: Options
    trials: int | None
    folder: Path | None
    save: Path | None
    everything: bool
    from_scratch: bool
    quiet: bool
    words: list[str]
    runner: dict[str, Any]

    def place(self, name: str) -> Path | None:
        """Where finished tasks of one table are kept."""
        return None if self.folder is None else self.folder / name

    def command(self, *which: str, default: int) -> str:
        """The command that makes a table of this run again, without paths of this machine."""
        trials = ["--trials", str(self.trials)] if self.trials not in (None, default) else []
        place = [] if self.save is None else ["--save", self.save.name]
        return shlex.join(
            ["python", "-m", "replication", "run", *self.words, *which, *trials, *place]
        )


def run(
    dataset: Annotated[Several, Option(help="Id, name or CSV file of yours; repeatable.")] = None,
    everything: Annotated[bool, Option("--all", help="All data sets available here.")] = False,
    method: Annotated[
        Several, Option(help="A detector beside the paper's, package.module:Class; repeatable.")
    ] = None,
    grid: Annotated[Path | None, Option(help="YAML or JSON file, the grid of --method.")] = None,
    label: Annotated[
        str | None, Option(help="Column with the class in a CSV file; if not given, the last.")
    ] = None,
    target: Annotated[str | None, Option(help="The class to describe in a CSV file.")] = None,
    unit_norm: Annotated[bool, Option(help="Scale rows to unit norm, as the paper does.")] = True,
    setting: Annotated[Setting, Option(help="Which experiment.")] = Setting.both,
    study: Annotated[
        Several, Option(help="A deciding experiment instead of the paper's two; repeatable.")
    ] = None,
    trials: Annotated[
        int | None, Option(min=1, help="Random splits per data set; if not given, those stored.")
    ] = None,
    jobs: Annotated[int, Option(min=1, help="Worker processes.")] = 2,
    backend: Annotated[Backend, Option(help="Where to compute.")] = Backend.joblib,
    scheduler: Annotated[
        str | None, Option(help="Address of a dask scheduler, e.g. tcp://host:8786.")
    ] = None,
    folder: Annotated[
        Path | None, Option(help="Keep finished tasks here: a stopped run goes on from them.")
    ] = None,
    save: Annotated[Path | None, Option(help="Write tables and provenance to this folder.")] = None,
    source: Annotated[
        Path | None,
        Option("--from", help="Folder of the tables that `tables_` studies read."),
    ] = None,
    from_scratch: Annotated[bool, Option(help="Compute even what results/ holds.")] = False,
    compare: Annotated[
        bool, Option(help="Compare with results/; fail if under 99 % of rows agree.")
    ] = False,
    quiet: Annotated[bool, Option(help="No progress bar, no tables.")] = False,
) -> None:
    """Run the paper's experiments and show them beside the printed values.

    Named data sets are computed afresh; with --all, what results/ holds for the same options is
    taken over unless --from-scratch is given, and so are the paper's methods beside one of your
    own. Examples:
    python -m replication run --dataset D7 --setting pure,
    python -m replication run --dataset my.csv --target normal --method my_module:MyDetector.
    """
    from replication import datasets
    from replication import experiment as experiments
    from replication.protocol import Options
    from replication.runner import make_backend

    kept = "nothing was kept; with --folder NAME a stopped run goes on where it was"
    if folder is not None:
        kept = f"finished tasks are in {folder}: the same command goes on from there"
    with sentences(kept):
        if source is not None:
            from replication import table_sets

            table_sets.use(source)
        if everything == bool(dataset):
            raise ValueError("name data sets with --dataset, or take all with --all")
        files = [Path(name) for name in dataset or [] if name.lower().endswith(".csv")]
        if study and (files or method or not unit_norm):
            raise ValueError("a study has its own methods, data sets and options")
        if (label or target) and not files:
            raise ValueError("--label and --target are for a CSV file of your own")
        if grid is not None and len(method or []) != 1:
            raise ValueError("--grid is the grid of one --method")
        settings = _settings(setting)
        own, methods = _brought(files, label, target, method or [], grid, settings)
        if everything:
            names, words = experiments.available(), ["--all"]
        else:
            known = [name for name in dataset or [] if not name.lower().endswith(".csv")]
            names = [*(datasets.find(name).id for name in known), *own]
            texts = (f"{name}.csv" if name in own else name for name in names)
            words = [word for text in texts for word in ("--dataset", text)]
        for name in set(names) - set(own):
            datasets.load(name)  # what is missing or damaged shows before anything is computed
        words += [word for text in method or [] for word in ("--method", text)]
        for option, value in {"--grid": grid, "--label": label, "--target": target}.items():
            words += [] if value is None else [option, Path(value).name]
        asked = Asked(
            names, own, methods, Options(unit_norm=unit_norm), trials, folder, save, everything,
            from_scratch, quiet, words + ([] if unit_norm else ["--no-unit-norm"]),
            {"backend": make_backend(backend.value, jobs, scheduler), "progress": not quiet},
        )  # fmt: skip
        for one in study or []:
            _study(one, asked)
        good = [] if study else [_paper(one, asked, compare) for one in settings]
        absent = [name for name in experiments.all_datasets() if everything and name not in names]
        if absent and not study:
            typer.echo(f"not run, to be supplied by the user: {', '.join(absent)}")
    if not all(good):
        raise typer.Exit(code=1)


def _brought(
    files: list[Path],
    label: str | None,
    target: str | None,
    methods: list[str],
    grid: Path | None,
    settings: list[str],
) -> tuple[dict[str, OwnSet], dict[str, list[Method]]]:
    """Data sets and methods of the user's own; most runs have none and import nothing for them."""
    if not (files or methods):
        return {}, {setting: [] for setting in settings}
    from replication.own import find_methods, read_grid, read_set

    own = {one.name: one for one in (read_set(path, label, target) for path in files)}
    if len(own) < len(files):
        raise ValueError("two CSV files have the same name")
    return own, find_methods(methods, settings, None if grid is None else read_grid(grid))


def _paper(setting: str, asked: Asked, compare: bool) -> bool:
    """Run one setting, show it, save it; False if a comparison was asked for and fails."""
    import pandas as pd

    from replication import experiment as experiments
    from replication import results, tables
    from replication.paper import TRIALS

    start = time.perf_counter()
    extra = asked.methods[setting]
    default = TRIALS if asked.own or extra else experiments.SPLITS[setting]
    count = default if asked.trials is None else asked.trials
    methods = experiments.paper_methods(setting)
    signature = experiments.signature(setting, asked.options, [*methods, *extra])
    if asked.save is not None:
        path = asked.save / f"{setting}.csv"
        results.refuse_smaller(path, names=asked.names, trials=count, signature=signature)
    common = {"names": asked.names, "trials": count, "options": asked.options, "own": asked.own}
    common |= asked.runner
    # A record says which commit computed a table: what is saved whole is computed.
    stored = not asked.from_scratch and (bool(extra) or (asked.everything and asked.save is None))
    table = rerun = experiments.experiment(
        setting, folder=asked.place(setting), recompute=not stored, **common
    )
    if extra:
        folder = asked.place(f"{setting}-own")
        mine = experiments.experiment(
            setting, methods=extra, folder=folder, recompute=True, **common
        )
        table = pd.concat([table, mine], ignore_index=True)
    seconds = time.perf_counter() - start
    if asked.save is not None:
        command = asked.command("--setting", setting, default=default)
        files = {name: one.sha256 for name, one in asked.own.items()}
        further = {"wall_seconds": round(seconds, 1)} | ({"files": files} if files else {})
        results.save_table(table, path, command=command, signature=signature, **further)
    if asked.own:  # before the table: it says how to read it
        typer.echo("\n".join(_unit_norm_hint(setting, table, count, asked)))
    if not asked.quiet:
        typer.echo(tables.render(table, setting))
        used = table.groupby("dataset", sort=False)["seconds"].sum()
        typer.echo("\n".join(f"{n}: {value:.1f} s of processor time" for n, value in used.items()))
    typer.echo(f"{setting}: {len(table)} rows in {seconds:.1f} s")
    if not compare:
        return True
    again = experiments.compare(results.read(setting), rerun[~rerun["dataset"].isin(asked.own)])
    typer.echo(
        f"{setting}: {again.within} of {again.rows} rows within {experiments.TOLERANCE} AUC points "
        f"of results/{setting}.csv ({100 * again.share:.2f} %)"
    )
    if not again.others.empty:
        typer.echo(again.others.to_string(index=False))
    return again.share >= experiments.REQUIRED_SHARE


def _unit_norm_hint(setting: str, table: pd.DataFrame, trials: int, asked: Asked) -> list[str]:
    """What the paper's unit norm does to a user's sets, seen by l2-SVDD on the same splits."""
    from replication import experiment as experiments
    from replication.protocol import Options

    method = next(m for m in experiments.paper_methods(setting) if m.name.startswith("l2-"))
    unit_norm = asked.options.unit_norm
    other = experiments.experiment(
        setting, names=list(asked.own), trials=trials, methods=[method], own=asked.own,
        options=Options(unit_norm=not unit_norm), recompute=True, **asked.runner,
    )  # fmt: skip
    both = [
        rows[rows["method"] == method.name].groupby("dataset")["auc"].mean()
        for rows in ((table, other) if unit_norm else (other, table))
    ]
    lines = []
    for name in asked.own:
        unit, plain = (means[name] for means in both)
        text = f"{name}, {method.name}: {unit:.1f} with rows of unit norm, as in the paper; "
        text += f"{plain:.1f} with rows that are only standardised"
        if plain - unit > HURTS and unit_norm:
            text += ". The unit norm hurts here: --no-unit-norm leaves it out"
        lines.append(text)
    return lines


def _study(name: str, asked: Asked) -> None:
    """Run one deciding experiment; save it or show it."""
    from replication.results import refuse_smaller
    from replication.studies import find_study, names_here, run_study, save_study

    start = time.perf_counter()
    one = find_study(name)
    names = None if asked.everything else asked.names
    count = one.trials if asked.trials is None else asked.trials
    if asked.save is not None:
        covered = names_here(one) if names is None else names
        path = asked.save / f"{name}.csv"
        refuse_smaller(path, names=covered, trials=count, signature=one.signature())
    table = run_study(
        name, names=names, trials=count, folder=asked.place(name),
        recompute=asked.from_scratch or not asked.everything or asked.save is not None,
        **asked.runner,
    )  # fmt: skip
    seconds = round(time.perf_counter() - start, 1)
    if asked.save is not None:
        command = asked.command("--study", name, default=one.trials)
        save_study(name, table, asked.save, trials=count, command=command, wall_seconds=seconds)
    elif not asked.quiet:
        typer.echo(table.to_string(index=False))
    typer.echo(f"{name}: {len(table)} rows in {seconds:.1f} s")


def tables(
    setting: Annotated[Setting, Option(help="Which experiment.")] = Setting.both,
    results: Annotated[Path | None, Option(help="Folder of pure.csv and negatives.csv.")] = None,
    dataset: Annotated[Several, Option(help="Only this data set; may be repeated.")] = None,
) -> None:
    """Show the committed results in the paper's layout, beside the printed values."""
    from replication import datasets
    from replication import tables as layout
    from replication.results import read

    with sentences():
        for one in _settings(setting):
            rows = read(one if results is None else results / f"{one}.csv")
            if dataset:
                rows = rows[rows["dataset"].isin([datasets.find(name).id for name in dataset])]
            typer.echo(layout.render(rows, one))


COMMANDS = (run, tables)
