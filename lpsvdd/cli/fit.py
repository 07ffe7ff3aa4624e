"""``lpsvdd fit``: describe a table, report what was found, score the same or another table."""

from __future__ import annotations

import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.pipeline import Pipeline

    from lpsvdd.datasets.labelled import LabelledTable


class Kernel(StrEnum):
    """Kernels with a name; others need Python."""

    rbf = "rbf"
    linear = "linear"
    poly = "poly"


class Impute(StrEnum):
    """What stands in for a missing value."""

    mean = "mean"
    median = "median"


def register(app: typer.Typer) -> None:
    """Add the command to the main application."""
    app.command("fit")(fit)


def fit(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA", help="CSV file with a header line, or a data set such as D7 or wine."
        ),
    ],
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with +1 and -1, or with classes (--target)."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Class to describe; the others are -1.")
    ] = None,
    negatives: Annotated[
        bool, typer.Option("--negatives", help="Train with the rows labelled -1 as well.")
    ] = False,
    p: Annotated[float, typer.Option("--p", help="Exponent of the slack, >= 1.")] = 2.0,
    cost: Annotated[
        float | None, typer.Option("--C", help="Cost of the targets' slack; 1 if absent.")
    ] = None,
    cost_neg: Annotated[
        float | None, typer.Option("--C-neg", help="Cost of the negatives' slack; --C if absent.")
    ] = None,
    nu: Annotated[
        float | None,
        typer.Option(help="For --p 1, instead of --C: largest share of targets outside."),
    ] = None,
    kernel: Annotated[Kernel, typer.Option(help="Kernel; poly has degree 3.")] = Kernel.rbf,
    gamma: Annotated[
        str, typer.Option(help="A number, half-mean-distance, scale or auto.")
    ] = "half-mean-distance",
    contamination: Annotated[
        float | None,
        typer.Option(help="Share of the targets to reject; without it the ball decides."),
    ] = None,
    standardise: Annotated[
        bool, typer.Option(help="Mean 0 and standard deviation 1 of each column over the targets.")
    ] = True,
    unit_norm: Annotated[
        bool, typer.Option("--unit-norm", help="Then scale each row to length 1.")
    ] = False,
    impute: Annotated[
        Impute | None, typer.Option(help="Fill missing values with this of the targets.")
    ] = None,
    score: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV file to score, with the same columns.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write scores here, of --score or of DATA.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the fitted pipeline here (joblib).")
    ] = None,
) -> None:
    """Fit an lp-SVDD to a table and report radius, certificate and accepted rows.

    Without --label every row is a target. High scores mean normal.
    Rows labelled -1 serve the AUC only, unless --negatives is given.

    Example: lpsvdd fit iris.csv --label species --target setosa --output scores.csv
    """
    settings: dict[str, Any] = {
        "p": p,
        "C": 1.0 if cost is None else cost,
        "C_neg": cost_neg,
        "nu": nu,
        "kernel": kernel.value,
        "gamma": _gamma(gamma),
        "contamination": contamination,
    }
    steps = {
        "impute": None if impute is None else impute.value,
        "standardise": standardise,
        "unit_norm": unit_norm,
    }
    try:
        if cost is not None and nu is not None:
            raise ValueError("give --C or --nu, not both")
        for path in (output, model):
            if path is not None and not path.absolute().parent.is_dir():
                raise ValueError(f"there is no folder {path.parent} to write {path.name} into")
        rows, new = _read(data, label, target), None
        if score is not None:
            new = rows.alike(score, label, target)
        if impute is None:
            for table in (rows, new):
                if table is not None:
                    table.refuse_missing("fill them in, or use --impute mean")
        fitted, notes = _fit(rows, negatives, settings, steps)
        for line in _report(rows, fitted):
            typer.echo(line)
        if new is not None:
            typer.echo(f"\nscored           {_count(new)}")
            for line in _accepted(new, fitted):
                typer.echo(line)
        for note in notes:
            typer.echo(f"note: {note}")
        if output is not None:
            _scores(rows if new is None else new, fitted).to_csv(output, index=False)
            typer.echo(f"wrote {output}")
        if model is not None:
            import joblib

            joblib.dump(fitted, model)
            typer.echo(f"wrote {model}")
    except (OSError, ValueError, MemoryError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None


def _gamma(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text  # the name of a rule; the estimator knows which there are


def _read(data: str, label: str | None, target: str | None) -> LabelledTable:
    """A file, or else an entry of the catalogue."""
    from lpsvdd import datasets
    from lpsvdd.datasets.labelled import LabelledTable, read_labelled

    path = Path(data)
    if path.is_file():
        return read_labelled(path, label, target)
    try:
        datasets.find(data)
    except KeyError:
        raise ValueError(
            f"there is no file {data} and no data set of that name; "
            "the data sets are shown by: lpsvdd data list"
        ) from None
    if label is not None or target is not None:
        raise ValueError("--label and --target are for CSV files; data sets know their target")
    found = datasets.load(data)
    return LabelledTable(f"{found.id} {found.name}", found.X, found.feature_names, found.y)


def _fit(
    rows: LabelledTable, negatives: bool, settings: dict, steps: dict
) -> tuple[Pipeline, list[str]]:
    """The fitted pipeline, and what the estimator warned about."""
    from sklearn.pipeline import make_pipeline

    from lpsvdd import LpSVDD
    from lpsvdd.preprocessing import preprocessor

    X, y = rows.frame(), rows.y
    if negatives and (y is None or not (y < 0).any()):
        raise ValueError("--negatives needs rows labelled -1; name their column with --label")
    if settings["C_neg"] is not None and not negatives:
        raise ValueError("--C-neg is the cost of labelled negatives; use it with --negatives")
    if not negatives and y is not None:
        X, y = X[y > 0], None
    pipeline = make_pipeline(preprocessor(**steps), LpSVDD(**settings))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pipeline.fit(X, y)
    # The report says itself what a negative R^2 means.
    notes = [str(w.message) for w in caught if not str(w.message).startswith("radius_sq_")]
    return pipeline, list(dict.fromkeys(notes))


def _count(rows: LabelledTable) -> str:
    text = f"{rows.name}: {len(rows.X)} rows, {rows.X.shape[1]} columns"
    if rows.y is None:
        return text
    return f"{text}; {(rows.y > 0).sum()} targets (+1), {(rows.y < 0).sum()} others (-1)"


def _report(rows: LabelledTable, fitted: Pipeline) -> list[str]:
    svdd = fitted[-1]
    n, positives = len(svdd.y_fit_), int((svdd.y_fit_ > 0).sum())
    cost = f"C = {svdd.C:g}" if svdd.nu is None else f"nu = {svdd.nu:g}"
    width = "" if svdd.kernel == "linear" else f", gamma = {svdd.gamma_:.4g}"
    certified = svdd.duality_gap_ <= svdd.tol
    lines = [
        f"data             {_count(rows)}",
        f"fitted to        {positives} targets, {n - positives} labelled negatives",
        f"model            p = {svdd.p:g}, {cost}, {svdd.kernel} kernel{width}",
        f"R^2              {svdd.radius_sq_:.4g}",
        f"support vectors  {len(svdd.support_)} of {n}",
        f"duality gap      {svdd.duality_gap_:.1e}, "
        + (f"optimal (<= {svdd.tol:g})" if certified else f"NOT CONVERGED (> {svdd.tol:g})"),
        f"iterations       {svdd.n_iter_}",
    ]
    if svdd.radius_sq_ <= 0.0:
        remedy = "raise --C (or lower --nu) or set --contamination"
        threshold = f"every row is rejected; {remedy}"
        if svdd.contamination is not None:
            threshold = "the threshold is the quantile of --contamination instead"
        lines.insert(4, f"                 R^2 <= 0: no point is inside the ball; {threshold}")
    return lines + _accepted(rows, fitted, " (fitted rows included)")


def _accepted(rows: LabelledTable, fitted: Pipeline, remark: str = "") -> list[str]:
    """Share accepted, and the AUC where both labels occur."""
    from sklearn.metrics import roc_auc_score

    inside = fitted.predict(rows.frame()) > 0
    groups = {"rows": inside}
    if rows.y is not None:
        groups = {"targets": inside[rows.y > 0], "others": inside[rows.y < 0]}
    shares = [
        f"{group.sum()} of {len(group)} {name} ({100 * group.mean():.1f} %)"
        for name, group in groups.items()
        if len(group)
    ]
    lines = [f"accepted         {', '.join(shares)}"]
    if rows.y is not None and abs(rows.y.sum()) < len(rows.y):
        auc = roc_auc_score(rows.y, fitted.score_samples(rows.frame()))
        lines.append(f"AUC              {auc:.4f}{remark}")
    return lines


def _scores(rows: LabelledTable, fitted: Pipeline) -> pd.DataFrame:
    """One line a row: score (high is normal), distance to the threshold, verdict, label."""
    import pandas as pd

    table = pd.DataFrame(
        {
            "row": range(1, len(rows.X) + 1),
            "score": fitted.score_samples(rows.frame()),
            "decision": fitted.decision_function(rows.frame()),
            "prediction": fitted.predict(rows.frame()),
        }
    )
    return table if rows.y is None else table.assign(label=rows.y)
