"""``lpsvdd bound``: fit a model; print its risk of rejection and the terms of its error bounds."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lpsvdd.cli._errors import sentences
from lpsvdd.cli._rows import class_key

if TYPE_CHECKING:
    import numpy as np

    from lpsvdd.bounds import BoundTerms


def register(app: typer.Typer) -> None:
    """Add the command to the main application."""
    app.command("bound")(bound)


def bound(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Data set by id or name, or a CSV file with the class in the last column.",
        ),
    ],
    p: Annotated[float, typer.Option("--p", help="Exponent of the slack penalty, >= 1.")] = 2.0,
    cost: Annotated[float, typer.Option("--C", help="Slack cost of the targets.")] = 1.0,
    cost_neg: Annotated[
        float | None, typer.Option("--C-neg", help="Slack cost of the negatives; as --C if absent.")
    ] = None,
    margin: Annotated[
        list[float] | None,
        typer.Option(help="Margin; repeat it to let the bound choose, at the price of confidence."),
    ] = None,
    delta: Annotated[
        float, typer.Option(help="Probability with which the bound may fail, in (0, 1).")
    ] = 0.05,
    gamma: Annotated[
        float | None, typer.Option(help="Of the Gaussian kernel; half the mean distance if absent.")
    ] = None,
    negatives: Annotated[
        bool, typer.Option("--negatives", help="Train with the other class as labelled negatives.")
    ] = False,
    target: Annotated[
        str | None, typer.Option(help="Target class of a CSV file; 1 if absent.")
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Leave out imputing, standardising and unit norm.")
    ] = False,
) -> None:
    """Fit to DATA and print what can be promised of the ball.

    First the interval for the probability that a new target is rejected, from the number of
    samples that determine the ball. Then the error bounds term by term: the paper's, and the
    corrected one. A bound at or above 1 says nothing about a probability; the output then tells
    from which number of samples on the same terms would be below 1. Nothing here bounds the
    acceptance of outliers.
    """
    with sentences():
        name, X, y = _read(data, target)
        _report(
            name,
            X,
            y,
            p=p,
            cost=cost,
            cost_neg=cost_neg,
            margins=margin or [0.5],
            delta=delta,
            gamma=gamma,
            negatives=negatives,
            raw=raw,
        )


def _read(data: str, target: str | None) -> tuple[str, np.ndarray, np.ndarray]:
    """Name, features and labels +1 / -1 of a catalogue entry or of a file."""
    import numpy as np

    from lpsvdd import datasets
    from lpsvdd.datasets.read import read_csv

    path = Path(data)
    if not path.is_file():
        if target is not None:
            raise ValueError("--target is for CSV files; the catalogue knows its target classes")
        loaded = datasets.load(data)
        return f"{loaded.id} {loaded.name}", loaded.X, loaded.y
    table = read_csv(path)
    wanted = class_key("1" if target is None else target)
    y = np.where([class_key(label) == wanted for label in table.labels], 1, -1)
    if not (y > 0).any():
        known = ", ".join(sorted(set(table.labels))[:5])
        raise ValueError(f"no row of {path.name} has the target class; its classes: {known}")
    return path.name, table.X, y


def _report(name: str, X, y, *, p, cost, cost_neg, margins, delta, gamma, negatives, raw) -> None:
    from lpsvdd import LpSVDD
    from lpsvdd.bounds import (
        AssumptionWarning,
        bound_of,
        determining_points,
        rejection_risk_of,
        unmet_conditions,
    )
    from lpsvdd.preprocessing import preprocessor

    if not negatives:
        X, y = X[y > 0], y[y > 0]
    if not raw:
        X = preprocessor().fit(X, y).transform(X)
    model = LpSVDD(
        p=p, C=cost, C_neg=cost_neg, gamma="half-mean-distance" if gamma is None else gamma
    ).fit(X, y)
    forms = {
        form: bound_of(model, margin=margins, delta=delta, form=form)
        for form in ("paper", "corrected")
    }
    typer.echo(f"data        {name}: {int((y > 0).sum())} targets, {int((y < 0).sum())} negatives")
    typer.echo(
        f"model       p = {p:g}, C = {cost:g}, gamma = {model.gamma_:.4g}, "
        f"R^2 = {model.radius_sq_:.4g}"
    )
    typer.echo(f"confidence  {1 - delta:g}")
    points = determining_points(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)  # said among the notes below
        low, high = rejection_risk_of(model, delta)
    count = f"{points.low}" if points.low == points.high else f"{points.low} to {points.high}"
    typer.echo(
        f"rejection   {low:.3g} <= P[a target is rejected] <= {high:.3g}: "
        f"{count} of {points.n} targets determine the ball"
    )
    row = "{:<10} {:>7} {:>10} {:>11} {:>11} {:>11}"
    typer.echo(row.format("bound", "margin", "empirical", "complexity", "confidence", "total"))
    for form, terms in forms.items():
        numbers = (terms.empirical, terms.complexity, terms.confidence, terms.total)
        typer.echo(row.format(form, f"{terms.margin:g}", *(f"{value:.4g}" for value in numbers)))
    for form, terms in forms.items():
        typer.echo(_verdict(form, terms, radius_sq=model.radius_sq_, negatives=negatives))
    notes = unmet_conditions(model) + [note for terms in forms.values() for note in terms.notes]
    if not raw:
        notes.append("the scaling was learnt from the sample; the theorems ask for it before")
    for note in dict.fromkeys(notes):
        typer.echo(f"note: {note}")


def _verdict(form: str, terms: BoundTerms, *, radius_sq: float, negatives: bool) -> str:
    from lpsvdd.bounds import sample_size

    event = f"P[y (f - R^2) > {terms.margin:g}]"
    if not terms.vacuous:
        return f"{form}: {event} <= {terms.total:.4g}"
    n = sample_size(
        terms.p,
        terms.margin,
        terms.delta_used,
        form=form,
        B=terms.B,
        B_kappa=terms.B_kappa,
        radius_sq=radius_sq,
        negatives=negatives,
        empirical=terms.empirical,
    )
    if not math.isfinite(n):
        return f"{form}: exceeds 1 and says nothing, at any n, with this empirical term"
    size = f"{n}" if n < 10**9 else f"{float(n):.1e}"
    return f"{form}: exceeds 1 and says nothing at n = {terms.n}; below 1 from n = {size} on"
