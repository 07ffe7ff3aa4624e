"""``lpsvdd bound``: fit a model; print its risk of rejection and the terms of its error bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from lpsvdd.cli._errors import warnings_as_notes
from lpsvdd.cli._options import Data, Negatives, estimator_of
from lpsvdd.cli._report import line, show, size_line
from lpsvdd.cli._roles import Roles, whole_rows
from lpsvdd.tables import open_table

if TYPE_CHECKING:
    from lpsvdd.bounds import BoundTerms


def bound(
    ctx: typer.Context,
    data: Data,
    roles: Roles,
    written: list[str],
    negatives: Negatives = False,
    raw: Annotated[bool, typer.Option("--raw", help="Do not standardise the numbers.")] = False,
    margin: Annotated[
        list[float] | None,
        typer.Option(help="Margin, 0.5 if absent; repeat it to let the bound choose."),
    ] = None,
    delta: Annotated[
        float, typer.Option(help="Probability with which the bound may fail, in (0, 1).")
    ] = 0.05,
) -> None:
    """Fit to DATA and print what can be promised of the ball.

    First the interval for the probability that a new target is rejected, then the error bounds
    term by term: the paper's, and the corrected one. A bound at or above 1 says nothing; the
    output then tells from which number of rows on it would. Nothing here bounds the acceptance
    of outliers. Every parameter of LpSVDD is an option too: --p, --C (1 if absent), --gamma ...

    Example: lpsvdd bound iris.csv --label species --target setosa --C 0.1 --gamma 0.5 --raw
    """
    from lpsvdd import LpSVDD
    from lpsvdd.bounds import bound_of
    from lpsvdd.cli._model import fit_to, make_model

    detector = estimator_of(ctx, LpSVDD, gamma="half-mean-distance")
    if detector.C is None and detector.nu is None:
        detector.C = 1.0
    with open_table(data) as table:
        roles, rows = whole_rows(table, roles)
    notes = table.notes
    with warnings_as_notes(notes):
        svdd = fit_to(make_model(roles, detector, raw=raw), rows, negatives=negatives)
        terms = {
            form: bound_of(svdd, margin=margin or [0.5], delta=delta, form=form)
            for form in ("paper", "corrected")
        }
        low, high = svdd.rejection_risk(delta)
    if not raw:
        notes.append("the scaling was learnt from the sample; the theorems ask for it before")
    cost = f"p = {svdd.p:g}, C = {svdd.C_:.4g}, {svdd.kernel} kernel"
    row = "{:<10} {:>7} {:>10} {:>11} {:>11} {:>11}"
    lines = [
        size_line("data", table.name, len(rows), len(roles.features), rows.y),
        line("model", f"{cost}, R^2 = {svdd.radius_sq_:.4g}"),
        line("confidence", f"{1 - delta:g}"),
        line("rejection", f"{low:.3g} <= P[a new target is rejected] <= {high:.3g}"),
        row.format("bound", "margin", "empirical", "complexity", "confidence", "total"),
    ]
    for form, one in terms.items():
        values = (one.margin, one.empirical, one.complexity, one.confidence, one.total)
        lines.append(row.format(form, *(f"{value:.4g}" for value in values)))
        notes += one.notes
    lines += [_verdict(form, one) for form, one in terms.items()]
    show(lines, notes, written, err=False)


def _verdict(form: str, terms: BoundTerms) -> str:
    if not terms.vacuous:
        return f"{form}: P[y (f - R^2) > {terms.margin:g}] <= {terms.total:.4g}"
    n = terms.enough
    if not math.isfinite(n):
        return f"{form}: exceeds 1 and says nothing, at any n, with this empirical term"
    size = f"{n}" if n < 10**9 else f"{float(n):.1e}"
    return f"{form}: exceeds 1 and says nothing at n = {terms.n}; below 1 from n = {size} on"
