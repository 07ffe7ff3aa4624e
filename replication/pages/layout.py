"""One look for the tables and dot plots of all pages.

Tables: numbers to the right with true minus signs, the names of data sets beside their numbers,
folded where a figure carries the argument. Figures: one colour a method, open marks for printed
values and filled ones for the rerun.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from lpsvdd.datasets import catalogue
from lpsvdd.plots import PALETTE
from replication.evidence import MARGIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GREY = "#6a6a6a"
COLOURS = {
    "lp": PALETTE["vermillion"],
    "l1": PALETTE["blue"],
    "l2": PALETTE["sky"],
    "kernel mean": PALETTE["black"],
}
SHORT = {"FMNIST": "Fashion-MNIST", "led7digit": "LED 7 digit", "Delft pump": "Delft pump"}


def colour_of(method: str) -> str:
    """The colour of a method in the whole book; grey for those the text seldom speaks of."""
    return next((c for start, c in COLOURS.items() if method.startswith(start)), GREY)


def set_label(dataset: str) -> str:
    """A data set by name and number: Iris (D1); anything else as it is."""
    titles = catalogue()["title"]
    if dataset not in titles.index:
        return {"all": "all sets"}.get(dataset, dataset)
    short = re.sub(r"\s*\(.*", "", titles[dataset])
    name = SHORT.get(short, short[:1].upper() + short[1:])
    return f"{name} ({dataset})"


def minus(text: str) -> str:
    """True minus signs for hyphens before a digit."""
    return re.sub(r"(?<![\w.])-(?=[\d.])", "−", text)


def _cell(value: Any, form: str | None) -> str:
    if isinstance(value, str):  # an interval breaks before its bracket, not inside
        return re.sub(r"(?<=\d) to (?=[+−\d])", "\u00a0to\u00a0", value)
    if value is None or pd.isna(value):
        return "–"
    return minus((form or "{}").format(value))


def table_html(
    table: pd.DataFrame,
    label: str,
    *,
    formats: Mapping[str, str] | str | None = None,
    best: bool = False,
    fold: bool = False,
) -> str:
    """A table with its index as first column; ``best`` marks the largest number of each line.

    ``formats``: one for all columns or one by column. ``fold``: shut behind its label, else the
    label is the caption. Cells that are text may hold markup.
    """
    names = [escape(str(name or "")) for name in table.index.names]
    words = {column for column in table if any(map(_is_word, table[column]))}
    head = "".join(f'<th scope="col">{name}</th>' for name in names) + "".join(
        f'<th scope="col"{_kind(name in words)}>{_breaking(name)}</th>' for name in table.columns
    )
    lines = []
    for key, row in zip(table.index, table.itertuples(index=False), strict=True):
        keys = key if isinstance(key, tuple) else (key,)
        cells = []
        top = max((round(v, 2) for v in row if _is_number(v)), default=None) if best else None
        for column, value in zip(table.columns, row, strict=True):
            form = formats if isinstance(formats, str) else (formats or {}).get(column)
            text = _cell(value, form)
            if best and _is_number(value) and round(value, 2) == top:
                text = f"<strong>{text}</strong>"
            cells.append(f"<td{_kind(column in words)}>{text}</td>")
        heads = "".join(f'<th scope="row">{escape(str(k))}</th>' for k in keys)
        lines.append(f"<tr>{heads}{''.join(cells)}</tr>")
    caption = "" if fold else f"<caption>{escape(label)}</caption>"
    body = (
        f'<table class="numbers">{caption}<thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
    if not fold:
        return body
    return f'<details class="table"><summary>{escape(label)}</summary>{body}</details>'


def _breaking(name: object) -> str:
    """A heading that may break after a plus sign: CVXPY+Clarabel."""
    return str(name).replace("+", "+<wbr>")


def _kind(word: bool) -> str:
    return ' class="word"' if word else ""


def _is_word(value: Any) -> bool:
    """Text without a digit: its column is one of words, to the left."""
    return (
        isinstance(value, str)
        and bool(re.search(r"[^\W\d]", value))
        and not re.search(r"\d", value)
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not pd.isna(value)


def show_table(table: pd.DataFrame, label: str, **options: Any) -> None:
    """Show a table of :func:`table_html` in a notebook."""
    from IPython.display import HTML, display

    display(HTML(table_html(table, label, **options)))


def intervals(
    ax: Axes,
    table: pd.DataFrame,
    *,
    labels: Sequence[str],
    colours: Iterable[str] | str = PALETTE["vermillion"],
    printed: Sequence[float] | None = None,
    margin: bool = False,
) -> Axes:
    """Means with intervals (columns mean, low, high), first line on top; open marks: printed."""
    place = np.arange(len(table))[::-1]
    colours = [colours] * len(table) if isinstance(colours, str) else list(colours)
    if margin:
        ax.axvspan(-MARGIN, MARGIN, color="#dddddd", lw=0, zorder=0)
    ax.axvline(0, color="#666666", lw=0.8, zorder=1)
    ax.hlines(place, table["low"], table["high"], color=colours, lw=1.6, zorder=2)
    ax.scatter(table["mean"], place, s=26, facecolors=colours, edgecolors=colours, zorder=3)
    if printed is not None:
        ax.scatter(printed, place, s=24, marker="D", facecolors="none", edgecolors=GREY, zorder=2)
    ax.set_yticks(place, labels)
    ax.set_ylim(-0.8, len(table) - 0.2)
    ax.grid(axis="y", visible=False)
    return ax


def dumbbells(
    ax: Axes,
    printed: pd.Series,
    here: pd.Series,
    *,
    labels: Sequence[str],
    colours: Sequence[str],
) -> Axes:
    """Printed (open) and measured (filled) values joined by a line, the first on top."""
    place = np.arange(len(here))[::-1]
    ax.hlines(place, printed, here, color="#bbbbbb", lw=1.4, zorder=1)
    ax.scatter(printed, place, s=30, facecolors="none", edgecolors=colours, zorder=2)
    ax.scatter(here, place, s=30, color=colours, zorder=3)
    ax.set_yticks(place, labels)
    ax.set_ylim(-0.7, len(here) - 0.3)
    ax.grid(axis="y", visible=False)
    return ax


def key(ax: Axes, marker: str = "D") -> None:
    """What filled and open marks are, above the figure where no mark can be taken for data."""
    here = ax.scatter([], [], s=26, color="#333333", label="here")
    printed = ax.scatter(
        [], [], s=24, marker=marker, facecolors="none", edgecolors=GREY, label="printed"
    )
    ax.figure.legend(handles=[here, printed], loc="outside upper right", ncols=2)
