"""``lpsvdd fit``: describe a table, say what to expect of new rows, keep the model."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from lpsvdd.cli._errors import warnings_as_notes
from lpsvdd.cli._options import Data, Force, Keep, Negatives, Quiet, estimator_of
from lpsvdd.cli._outputs import check_outputs, open_text, write_scores
from lpsvdd.cli._report import line, model_lines, progress, show, size_line, threshold_line
from lpsvdd.cli._roles import Roles, Rows, whole_rows
from lpsvdd.tables import Table, open_table

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


def fit(
    ctx: typer.Context,
    data: Data,
    roles: Roles,
    written: list[str],
    negatives: Negatives = False,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose the kernel width by cross-validation.")
    ] = False,
    holdout: Annotated[
        float, typer.Option(help="Share of the targets to set the threshold on, such as 0.3.")
    ] = 0.0,
    model: Keep = None,
    output: Annotated[
        str | None, typer.Option(help="File for the scores of the rows; - is standard output.")
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Fit an lp-SVDD to a table; report its certificate and what it does to new rows.

    Without --label every row is a target. Rows labelled -1 serve the AUC only, unless --negatives
    is given. High scores mean normal.

    Every parameter of LpSVDD is an option too (with --tune, of LpSVDDCV): --p, --nu, --C, --C-neg,
    --kernel, --gamma, --contamination, --solver, --landmarks, --tol and so on.

    Example: lpsvdd fit iris.csv --label species --target setosa --model iris.lpsvdd
    """
    from lpsvdd.cli._model import judge

    check_outputs({"--model": model, "--output": output}, [data], force=force)
    fitted = describe(ctx, data, roles, tune, negatives=negatives, holdout=holdout, quiet=quiet)
    if model is not None:
        fitted.save(model, force=force)
        written.append(model)
    if output is not None:
        scores = judge(fitted.pipeline, fitted.rows.frame)
        with open_text(output, force=force) as handle:
            write_scores(handle, fitted.table, fitted.rows, scores, header=True)
        written += [output] if output != "-" else []
    if not quiet:
        show(fitted.lines, fitted.table.notes, written, err=output == "-")


@dataclass
class Fitted:
    """A fitted pipeline with its rows and the lines of its report."""

    table: Table
    roles: Roles
    rows: Rows
    pipeline: Pipeline
    lines: list[str]

    def save(self, path: str, *, force: bool) -> None:
        """Keep the pipeline with the meaning of the columns and some of the rows' hashes."""
        from lpsvdd import save

        some = self.rows.frame.iloc[:: -(-len(self.rows) // 200)]  # to know the table again
        notes = vars(self.roles) | {"fitted": hashes(some).tolist()}
        save(self.pipeline, path, notes=notes, overwrite=force)


def hashes(frame: Any) -> np.ndarray:
    """A number for each row, the same for equal rows."""
    import pandas as pd

    return pd.util.hash_pandas_object(frame, index=False).to_numpy()


def describe(
    ctx: typer.Context,
    data: str,
    options: Roles,
    search: bool,
    *,
    negatives: bool = False,
    holdout: float = 0.0,
    quiet: bool,
) -> Fitted:
    """Read the table, fit the model, and see what it does to rows held out."""

    from lpsvdd import LpSVDD, LpSVDDCV
    from lpsvdd.cli._model import auc, calibrate, fit_to, held_aside, held_out, judge, make_model

    defaults = {"random_state": 0, "verbose": int(not quiet and sys.stderr.isatty())}
    kind = LpSVDDCV if search else LpSVDD
    detector = estimator_of(ctx, kind, **(defaults if search else {}))
    with open_table(data) as table, progress(f"reading {data}", quiet=quiet):
        roles, rows = whole_rows(table, options)
    y = np.ones(len(rows), dtype=int) if rows.y is None else rows.y
    aside = held_aside(y, holdout, negatives)
    pipeline = make_model(roles, detector)
    with warnings_as_notes(table.notes), progress("fitting", quiet=quiet or search):
        svdd = fit_to(pipeline, rows.take(~aside), negatives=negatives)
    rate = svdd.contamination or svdd.nu_ or 0.1
    if holdout:
        calibrate(pipeline, rows.frame[aside & (y > 0)], rate)
    lines = [
        size_line("data", table.name, len(rows), len(roles.features), rows.y),
        *model_lines(svdd),
        threshold_line(svdd, int((aside & (y > 0)).sum()), rate),
    ]
    if not holdout and not quiet:
        with warnings.catch_warnings(), progress("judging rows held out", quiet=quiet):
            warnings.simplefilter("ignore")
            lines += held_out(pipeline, rows.frame, y, negatives=negatives, rate=rate)
    new = aside | ((y < 0) & (not negatives))
    if holdout and (y[new] < 0).any():
        value = auc(judge(pipeline, rows.frame[new])["score"], y[new])
        lines.append(line("AUC", f"{value:.4f} (held out)"))
    return Fitted(table, roles, rows, pipeline, lines)
