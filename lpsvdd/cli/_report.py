"""Lines of the reports, and what is shown while a model is fitted."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import typer


def line(name: str, text: str) -> str:
    """One line, in two columns."""
    return f"{name:<16} {text}"


def show(lines: Iterable[str], notes: Iterable[str], written: list[str], *, err: bool) -> None:
    """Print a report: on standard error when standard output carries the scores."""
    notes = [f"note: {note}" for note in dict.fromkeys(notes)]
    for text in (*lines, *notes, *(f"wrote {path}" for path in written)):
        typer.echo(text, err=err)


def progress(what: str, *, quiet: bool) -> AbstractContextManager[Any]:
    """Show on a terminal what takes its time; the bar it gives may be described anew."""
    from tqdm import tqdm

    silent = quiet or not sys.stderr.isatty()
    return tqdm(desc=what, bar_format="{desc} ...", leave=False, disable=silent)


def size_line(name: str, table: str, n: int, width: int, y: np.ndarray | None) -> str:
    """How many rows, columns and labels a table has."""
    text = f"{table}: {n} rows, {width} columns"
    if y is not None:
        text += f"; {(y > 0).sum()} targets (+1), {(y < 0).sum()} others (-1)"
        text += f", {(y == 0).sum()} without a label" if (y == 0).any() else ""
    return line(name, text)


def model_lines(svdd: Any) -> list[str]:
    """What was fitted and its certificate."""
    n, positives = len(svdd.y_fit_), int((svdd.y_fit_ > 0).sum())
    share = "" if svdd.nu_ is None else f"nu = {svdd.nu_:g}, "
    width = "" if svdd.kernel == "linear" else f", gamma = {svdd.gamma_:.4g}"
    word = "NOT CONVERGED" if svdd.status_ == "not-converged" else "optimal"
    gap = f"{svdd.duality_gap_:.1e}, {word}"
    if svdd.solver_ == "landmarks":
        gap = (
            f"{svdd.restricted_gap_:.1e} on {len(svdd.X_fit_)} landmarks, {word}; "
            f"{svdd.duality_gap_:.1e} ({svdd.gap_kind_}) of the problem without landmarks"
        )
    return [
        line("fitted to", f"{positives} targets, {n - positives} labelled negatives"),
        line("model", f"p = {svdd.p:g}, {share}C = {svdd.C_:.4g}, {svdd.kernel} kernel{width}"),
        line("R^2", f"{svdd.radius_sq_:.4g}"),
        line("support vectors", f"{len(svdd.support_)} of {n}"),
        line("duality gap", gap),
    ]


def threshold_line(svdd: Any, calibrated: int, rate: float) -> str:
    """By which rule rows are rejected."""
    ball = svdd.offset_ == -getattr(svdd, "surface_sq_", svdd.radius_sq_)
    rule = "surface of the ball" if ball else f"to reject about {rate:g} of new targets"
    if calibrated:
        rule = f"set on {calibrated} targets held out, to reject about {rate:g} of new ones"
    elif svdd.contamination is not None:
        rule = f"rejects {svdd.contamination:g} of the fitted targets"
    elif ball and svdd.radius_sq_ <= 0.0:
        rule = "R^2 <= 0: no point is inside the ball; raise --C, lower --nu, or use --holdout 0.3"
    return line("threshold", rule)
