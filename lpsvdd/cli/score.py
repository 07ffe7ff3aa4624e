"""``lpsvdd score``: a saved model's verdict on each row of a table of any length."""

from __future__ import annotations

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

PLOTTED = 5000  # rows that a picture shows: the first ones


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
    try:
        with open_table(data) as table, warnings_as_notes(notes):
            fitted, kept, remembered = _load(model, table)
            tally = _Tally(table, _matched(kept, roles, table), remembered)
            with open_text(output, force=force) as handle, progress("scoring", quiet=quiet) as bar:
                for rows, scores in tally.judged(fitted, explain, plot is not None):
                    write_scores(handle, table, rows, scores, header=tally.n == len(rows))
                    bar.set_description_str(f"scored {tally.n:,} rows")
    except (AttributeError, TypeError, IndexError) as error:
        # A file of allowed types may still hold nonsense; that shows in any of these.
        reason = f"{Path(model).name} holds no usable model ({error}): fit and save it again"
        raise ValueError(reason) from error
    written += [output] if output != "-" else []
    if plot is not None:
        from lpsvdd.cli._model import seen_by

        frame, scores = tally.shown()
        last, points = seen_by(fitted, frame)
        some = f" (the first of {tally.n:,})" if tally.n > len(frame) else ""
        draw(plot, last, points, scores, f"{table.name}: {len(frame):,} rows{some}", force)
        written.append(plot)
    if not quiet:
        show(tally.lines(), [*notes, *table.notes], written, err=output == "-")


def _load(path: str, table: Table) -> tuple[Any, Roles, set[int]]:
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
        return model, Roles(**known), set(notes.get("fitted", ()))
    if hasattr(model, "feature_names_in_"):  # saved from Python
        return model, Roles(tuple(map(str, model.feature_names_in_))), set()
    if len(table.header) != model.n_features_in_:
        raise ValueError(
            f"the model knows no column names and takes {model.n_features_in_} numbers; "
            f"{table.name} has {len(table.header)} columns"
        )
    return model, Roles(tuple(table.header)), set()


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


class _Tally:
    """Blocks of scores, and what the report and the picture need of all of them."""

    def __init__(self, table: Table, roles: Roles, remembered: set[int]):
        self.table, self.roles, self.n, self.fitted = table, roles, 0, 0
        self._remembered = np.array(sorted(remembered), dtype=np.uint64)
        self._numbers: list[np.ndarray] = []  # score, decision, label
        self._shown: list[tuple[Any, Any]] = []

    def judged(self, model: Any, explain: int, keep: bool) -> Any:
        """Rows with their scores, block by block; a row without a score has empty cells."""
        from lpsvdd.cli._model import judge, unseen

        skipped, strange = 0, dict[tuple[str, str], None]()
        for cells in self.table.blocks:
            rows = self.roles.rows(self.table, cells, self.n + 1, strict=False)
            holes = rows.holes.any(axis=1) & (not self.roles.fills)
            if self.roles.missing != Missing.drop and holes.any():
                refuse_holes(self.table.name, rows, "fill them in, or use --missing drop")
            some = rows.take(~holes)
            names = ["score", "decision", "prediction", *["reasons"] * bool(explain)]
            scores = judge(model, some.frame, explain) if len(some) else some.frame.iloc[:, :0]
            if keep and self.n < PLOTTED and len(some):
                self._shown.append((some.frame, scores))
            scores = scores.reindex(index=rows.frame.index, columns=names)
            scores["prediction"] = scores["prediction"].astype("Int64")
            y = np.ones(len(rows)) if rows.y is None else rows.y
            self._numbers.append(np.column_stack([scores[names[:2]].to_numpy(dtype=float), y]))
            self.n, skipped = self.n + len(rows), skipped + int(holes.sum())
            self.fitted += int(np.isin(hashes(some.frame), self._remembered).sum())
            strange |= dict.fromkeys(unseen(model, rows, self.roles))
            yield rows, scores
        if skipped:
            self.table.notes.append(f"{skipped} rows with a missing value have no score")
        for name in dict.fromkeys(name for name, _ in strange):
            values = listed([value for column, value in strange if column == name], 5)
            what = f"column {name!r} holds categories that the model has not met: {values}"
            self.table.notes.append(what)

    def shown(self) -> tuple[Any, Any]:
        """Rows for the picture, and their scores."""
        import pandas as pd

        frames, scores = zip(*self._shown, strict=True)
        return pd.concat(frames)[:PLOTTED], pd.concat(scores)[:PLOTTED]

    def lines(self) -> list[str]:
        """The report."""
        from lpsvdd.cli._model import auc

        every = np.concatenate(self._numbers)
        scores, decision, y = every[~np.isnan(every[:, 0])].T
        labels = every[:, 2] if self.roles.label is not None else None
        groups = {"rows": y > 0} if labels is None else {"targets": y > 0, "others": y < 0}
        inside = {name: decision[group] >= 0.0 for name, group in groups.items() if group.any()}
        shares = [
            f"{one.sum()} of {len(one)} {name} ({100 * one.mean():.1f} %)"
            for name, one in inside.items()
        ]
        seen = " (in-sample: the model was fitted to rows of this table)" if self.fitted else ""
        width = len(self.roles.features)
        lines = [size_line("scored", self.table.name, self.n, width, labels)]
        lines += [line("accepted", ", ".join(shares) + seen)] if shares else []
        if (y > 0).any() and (y < 0).any():
            value = auc(scores[y != 0], y[y != 0])
            lines.append(line("AUC", f"{value:.4f}{seen}"))
        return lines
