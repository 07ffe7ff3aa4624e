"""Lines of the reports of ``fit`` and ``score``, and where they go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

if TYPE_CHECKING:
    from lpsvdd.cli._cells import CellReader
    from lpsvdd.cli._rows import Rows


def line(name: str, text: str) -> str:
    """One line, in two columns."""
    return f"{name:<16} {text}".rstrip()


def show(lines: Iterable[str], *, quiet: bool, on_stderr: bool) -> None:
    """Print a report: on standard error when standard output carries the scores."""
    if not quiet:
        for text in lines:
            typer.echo(text, err=on_stderr)


def tracked(reader: CellReader, blocks: Iterator[Rows], *, quiet: bool) -> Iterator[Rows]:
    """The blocks, with a progress bar where standard error is a terminal."""
    from tqdm import tqdm

    bar = tqdm(
        total=reader.size,
        unit="B",
        unit_scale=True,
        leave=False,
        delay=1.0,  # what takes a second needs no bar
        desc=reader.name,
        disable=True if quiet else None,  # None: only on a terminal
    )
    with bar:
        for rows in blocks:
            yield rows
            bar.update(max(0, reader.position - bar.n) if reader.size else 0)
            bar.set_postfix_str(f"row {rows.numbers[-1]:,}", refresh=False)


def size_line(table: str, n: int, width: int, y: np.ndarray | None) -> str:
    """How many rows, columns and labels a table has."""
    text = f"{table}: {n} rows, {width} columns"
    if y is None:
        return text
    text += f"; {(y > 0).sum()} targets (+1), {(y < 0).sum()} others (-1)"
    return text + (f", {(y == 0).sum()} without a label" if (y == 0).any() else "")


def accepted_lines(scored: dict[str, np.ndarray], y: np.ndarray | None, remark="") -> list[str]:
    """Share accepted, and the AUC where both labels occur; rows without a score do not count."""
    known = np.array([value is not None and value == value for value in scored["score"].tolist()])
    inside = scored["prediction"][known].astype(int) > 0
    groups = {"rows": inside}
    if y is not None:
        y = y[known]
        groups = {"targets": inside[y > 0], "others": inside[y < 0]}
    shares = [
        f"{group.sum()} of {len(group)} {name} ({100 * group.mean():.1f} %)"
        for name, group in groups.items()
        if len(group)
    ]
    lines = [line("accepted", ", ".join(shares))] if shares else []
    if y is not None and (y > 0).any() and (y < 0).any():
        from sklearn.metrics import roc_auc_score

        auc = roc_auc_score(y[y != 0], scored["score"][known].astype(float)[y != 0])
        lines.append(line("AUC", f"{auc:.4f}{remark}"))
    return lines


def model_lines(svdd: Any) -> list[str]:
    """What was fitted, its certificate, and what a radius below zero means."""
    n, positives = len(svdd.y_fit_), int((svdd.y_fit_ > 0).sum())
    share = "" if svdd.nu_ is None else f"nu = {svdd.nu_:g}, "
    cost = f"{share}C = {svdd.C_:.4g}"
    width = "" if svdd.kernel == "linear" else f", gamma = {svdd.gamma_:.4g}"
    certified = svdd.duality_gap_ <= svdd.tol
    lines = [
        line("fitted to", f"{positives} targets, {n - positives} labelled negatives"),
        line("model", f"p = {svdd.p:g}, {cost}, {svdd.kernel} kernel{width}"),
        line("R^2", f"{svdd.radius_sq_:.4g}"),
        line("support vectors", f"{len(svdd.support_)} of {n}"),
        line(
            "duality gap",
            f"{svdd.duality_gap_:.1e}, "
            + (f"optimal (<= {svdd.tol:g})" if certified else f"NOT CONVERGED (> {svdd.tol:g})"),
        ),
        line("iterations", f"{svdd.n_iter_}"),
    ]
    if svdd.surface_sq_ <= 0.0:
        remedy = "raise --C (or lower --nu) or set --contamination"
        threshold = f"every row is rejected; {remedy}"
        if svdd.contamination is not None:
            threshold = "the threshold is the quantile of --contamination instead"
        elif svdd.surface_ != "ball":
            threshold = f"the threshold is the {svdd.surface_} surface instead"
        lines.insert(3, line("", f"R^2 <= 0: no point is inside the ball; {threshold}"))
    return lines
