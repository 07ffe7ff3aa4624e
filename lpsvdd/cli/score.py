"""``lpsvdd score``: a saved model's verdict on each row of a table of any length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from lpsvdd.cli._errors import warnings_as_notes
from lpsvdd.cli._options import Data, Force, Quiet
from lpsvdd.cli._outputs import check_outputs, draw, open_text, write_scores
from lpsvdd.cli._report import line, progress, show, size_line
from lpsvdd.cli._roles import Missing, Roles, listed, refuse_holes
from lpsvdd.cli.fit import hashes
from lpsvdd.tables import Table, open_table


def score(
    model: Annotated[str, typer.Argument(help="File written by fit, tune or lpsvdd.save.")],
    data: Data,
    roles: Roles,
    written: list[str],
    output: Annotated[str, typer.Option(help="File for the scores; - is standard output.")] = "-",
    explain: Annotated[
        int, typer.Option(min=0, help="How many columns to name that take most from a score.")
    ] = 0,
    plot: Annotated[
        str | None, typer.Option(help="File for a picture of the scores (png, svg, pdf).")
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Score the rows of a table with a saved model: columns are found by name.

    High scores mean normal; prediction is 1 inside the threshold and -1 outside. The model knows
    what fit was told of the columns; options given here replace it. With --missing drop a row
    that lacks a value has no score. The table is read in blocks, of any length.

    Example: lpsvdd score iris.lpsvdd new.csv --output scores.csv
    """
    check_outputs({"--output": output, "--plot": plot}, [model, data], force=force)
    notes: list[str] = []
    every: list[np.ndarray] = []  # score, decision, label, whether a row of the fit: a block each
    shown: list[tuple[Any, Any]] = []
    try:
        with open_table(data) as table, warnings_as_notes(notes):
            fitted, kept, remembered = _load(model, table)
            known = _matched(kept, roles, table)
            with open_text(output, force=force) as handle, progress("scoring", quiet=quiet) as bar:
                for rows, some, scores in _judged(fitted, table, known, explain):
                    write_scores(handle, table, rows, scores, header=not every)
                    if plot is not None and sum(len(frame) for frame, _ in shown) < 5000:
                        shown.append((some.frame, scores.loc[some.frame.index]))
                    y = np.ones(len(rows)) if rows.y is None else rows.y
                    again = np.isin(hashes(rows.frame), remembered)
                    every.append(np.column_stack([scores[["score", "decision"]], y, again]))
                    bar.set_description_str(f"scored {rows.frame.index[-1]:,} rows")
    except (AttributeError, TypeError, IndexError) as error:
        # A file of allowed types may still hold nonsense; that shows in any of these.
        reason = f"{Path(model).name} holds no usable model ({error}): fit and save it again"
        raise ValueError(reason) from error
    written += [output] if output != "-" else []
    numbers = np.concatenate(every).astype(float)
    if plot is not None:
        import pandas as pd

        from lpsvdd.cli._model import seen_by

        frame, scores = (pd.concat(part)[:5000] for part in zip(*shown, strict=True))
        last, points = seen_by(fitted, frame)
        part = f" (the first of {len(numbers):,})" if len(numbers) > len(frame) else ""
        draw(plot, last, points, scores, f"{table.name}: {len(frame):,} rows{part}", force)
        written.append(plot)
    if not quiet:
        lines = _report(table.name, known, numbers)
        show(lines, [*notes, *table.notes], written, err=output == "-")


def _load(path: str, table: Table) -> tuple[Any, Roles, np.ndarray]:
    """The model, what it knows of columns, and hashes of rows that it was fitted to."""
    from sklearn.base import is_outlier_detector

    from lpsvdd.persistence import load_model, read_notes

    model, notes = load_model(path), read_notes(path)
    if not is_outlier_detector(model):
        raise ValueError(
            f"{path} holds a {type(model).__name__}; score needs a detector such as LpSVDD, or a "
            "pipeline that ends in one"
        )
    if "numeric" in notes:
        known: dict[str, Any] = {one.name: notes.get(one.name) for one in fields(Roles)}
        for name in ("numeric", "categorical", "ids", "drop"):
            known[name] = tuple(map(str, known[name] or ()))
        return model, Roles(**known), np.array(notes.get("fitted", ()), dtype=np.uint64)
    if hasattr(model, "feature_names_in_"):  # saved from Python
        return model, Roles(tuple(map(str, model.feature_names_in_))), np.array([])
    if len(table.header) != model.n_features_in_:
        raise ValueError(
            f"the model knows no column names and takes {model.n_features_in_} numbers; "
            f"{table.name} has {len(table.header)} columns"
        )
    return model, Roles(tuple(table.header)), np.array([])


def _matched(kept: Roles, given: Roles, table: Table) -> Roles:
    """What the model knows of the columns, with what the options say of this table."""
    given = given.check(table)
    if other := [name for name in given.drop if name in kept.features]:
        raise ValueError(f"the model needs {listed(other)}: fit it again, with --drop")
    if other := [name for name in given.categorical if name not in kept.categorical]:
        raise ValueError(f"the model takes no categories in {listed(other)}: fit it again")
    if given.fills and not kept.fills:
        raise ValueError(f"the model fills nothing in: fit it with --missing {given.missing}")
    ids = given.ids or tuple(name for name in kept.ids if name in table.header)
    label = given.label or (kept.label if kept.label in table.header else None)
    used = {*kept.features, *ids, *given.drop, *kept.drop, label}
    extra = [name for name in table.header if name not in used]
    if absent := [name for name in kept.features if name not in table.header]:
        more = f"; it has {listed(extra)} instead" if extra else ""
        raise ValueError(
            f"{table.name} lacks {len(absent)} of the model's {len(kept.features)} columns: "
            f"{listed(absent)}{more}"
        )
    if extra:
        table.notes.append(f"not used of {table.name}: {listed(extra)}")
    missing = kept.missing if kept.fills else given.missing or kept.missing
    target = given.target or (None if table.label else kept.target)
    return replace(kept, ids=ids, label=label, target=target, missing=missing)


def _judged(model: Any, table: Table, roles: Roles, explain: int) -> Iterator[tuple]:
    """Rows, those that lack no value, and the scores of all (empty cells for the others)."""
    from lpsvdd.cli._model import judge, unseen

    skipped, strange, first = 0, dict[tuple[str, str], None](), 1
    names = ["score", "decision", "prediction", *["reasons"] * bool(explain)]
    for cells in table.blocks:
        rows = roles.rows(table, cells, first, strict=False)
        first += len(rows)
        holes = rows.holes.any(axis=1) & (not roles.fills)
        if roles.missing != Missing.drop and holes.any():
            refuse_holes(table.name, rows, "fill them in, or use --missing drop")
        some = rows.take(~holes)
        scores = judge(model, some.frame, explain) if len(some) else some.frame.iloc[:, :0]
        scores = scores.reindex(index=rows.frame.index, columns=names)
        scores["prediction"] = scores["prediction"].astype("Int64")
        skipped += int(holes.sum())
        strange |= dict.fromkeys(unseen(model, rows, roles))
        yield rows, some, scores
    if skipped:
        table.notes.append(f"{skipped} rows with a missing value have no score")
    for name in dict.fromkeys(name for name, _ in strange):
        values = listed([value for column, value in strange if column == name], 5)
        what = f"column {name!r} holds categories that the model has not met: {values}"
        table.notes.append(what)


def _report(name: str, roles: Roles, every: np.ndarray) -> list[str]:
    from lpsvdd.cli._model import auc

    scores, decision, y, again = every[~np.isnan(every[:, 0])].T
    labels = every[:, 2] if roles.label is not None else None
    groups = {"rows": y > 0} if labels is None else {"targets": y > 0, "others": y < 0}
    inside = {group: decision[mask] >= 0.0 for group, mask in groups.items() if mask.any()}
    shares = [
        f"{one.sum()} of {len(one)} {group} ({100 * one.mean():.1f} %)"
        for group, one in inside.items()
    ]
    seen = " (in-sample: the model was fitted to rows of this table)" if again.any() else ""
    lines = [size_line("scored", name, len(every), len(roles.features), labels)]
    lines += [line("accepted", ", ".join(shares) + seen)] if shares else []
    if (y > 0).any() and (y < 0).any():
        lines.append(line("AUC", f"{auc(scores[y != 0], y[y != 0]):.4f}{seen}"))
    return lines
