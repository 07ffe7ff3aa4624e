"""Figures that read well at every width, in one look: a method has one colour, filled is here.

``show(draw)`` draws twice, ``draw(narrow=False)`` and ``draw(narrow=True)``, and shows one SVG that
carries the narrow one in a comment. While the book is built, ``book/_ext/pages.py`` takes it
out again, adds dark ones (:func:`dark`) and lets the browser choose. ``panels`` lays
panels side by side or, narrow, in a column.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from colorsys import hls_to_rgb, rgb_to_hls
from fractions import Fraction
from io import BytesIO
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from lpsvdd.plots import PALETTE, fraction
from replication.evidence import MARGIN
from replication.wording import minus

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Draw = Callable[..., "Figure"]
"""A drawing: ``draw(narrow=True)`` is for a phone."""
WIDE, NARROW = 7.2, 3.6
"""Inches: the book's column, and a phone's at the size of letters that can be read."""
MARK = "narrow-variant:"
GREY, BAND, ZERO = "#6a6a6a", "#dddddd", "#666666"
OPEN = {"facecolors": "none", "edgecolors": GREY}
METHOD_COLOURS = {
    "lp": PALETTE["vermillion"],
    "l1": PALETTE["blue"],
    "l2": PALETTE["green"],
    "kernel mean": PALETTE["black"],
}
"""By method. Orange (vermillion) is reserved: tuned ℓp, and what sticks out of a ball."""
EXPONENT_COLOURS = {
    1.0: PALETTE["blue"],
    32 / 31: "#8c564b",
    1.2: PALETTE["sky"],
    1.5: "#7a7a1f",
    2.0: PALETTE["green"],
    5.0: PALETTE["purple"],
    20.0: "#5e3c99",
}
"""By exponent; one in between has the colour of the nearest."""
ON_CELL = ("#010101", "#fefefe")
"""Letters on a coloured cell: the same in both themes."""


def exponent_colour(p: float) -> str:
    """Return the colour of an exponent in the whole book: p = 1 and 2 as ℓ1 and ℓ2."""
    return min(EXPONENT_COLOURS.items(), key=lambda pair: abs(np.log(pair[0] / p)))[1]


def colour_of(method: str) -> str:
    """Return the colour of a method in the whole book; grey for those the text seldom names."""
    plain = method.replace("ℓ", "l")
    return next((c for start, c in METHOD_COLOURS.items() if plain.startswith(start)), GREY)


# -- drawings at two widths, light and dark ---------------------------------------------------


def panels(
    count: int, *, narrow: bool, height: float = 3.0, **options: Any
) -> tuple[Figure, np.ndarray]:
    """Make a figure of panels, each ``height`` inches high: a row, or narrow a column."""
    import matplotlib.pyplot as plt

    shape = (count, 1) if narrow else (1, count)
    size = (NARROW, height * count) if narrow else (WIDE, height)
    figure, axes = plt.subplots(*shape, figsize=size, layout="constrained", **options)
    return figure, np.atleast_1d(axes)


def svg(figure: Figure) -> str:
    """Write a figure as SVG text and close it."""
    import matplotlib.pyplot as plt

    buffer = BytesIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    plt.close(figure)
    return buffer.getvalue().decode()


def both_widths(draw: Draw) -> str:
    """Return the wide drawing as SVG with the narrow one in a comment at its end."""
    narrow = b64encode(svg(draw(narrow=True)).encode()).decode()
    return f"{svg(draw(narrow=False)).rstrip()}\n<!--{MARK}{narrow}-->\n"


def split_drawing(text: str) -> tuple[str, str | None]:
    """Return the wide drawing and the narrow one of what :func:`both_widths` made."""
    wide, found, rest = text.partition(f"<!--{MARK}")
    return wide, b64decode(rest.partition("-->")[0]).decode() if found else None


def show(draw: Draw) -> None:
    """Show a figure in a notebook, at both widths."""
    from IPython.display import display

    # As raw data: IPython's SVG class would keep the root element alone and drop the comment.
    display({"image/svg+xml": both_widths(draw)}, raw=True)


def dark(drawing: str) -> str:
    """Return the drawing for a dark page: greys turned round, hues kept and light enough."""

    def turned(match: re.Match[str]) -> str:
        if match[0] in ON_CELL:
            return match[0]
        red, green, blue = (int(match[0][k : k + 2], 16) / 255 for k in (1, 3, 5))
        hue, light, saturation = rgb_to_hls(red, green, blue)
        is_grey = max(red, green, blue) - min(red, green, blue) < 0.05
        light = 0.87 - 0.77 * light if is_grey else max(light, 0.63)
        channels = hls_to_rgb(hue, light, saturation)
        return "#" + "".join(f"{round(255 * value):02x}" for value in channels)

    drawing = re.sub(r"(?<=[:\s\"])#[0-9a-f]{6}\b", turned, drawing)
    # Letters are black by leaving out their colour: the root sets another.
    return re.sub(r"<svg\b", '<svg fill="#dedede"', drawing, count=1)


# -- figures of several chapters --------------------------------------------------------------


def interval_figure(
    tables: pd.DataFrame | dict[str, pd.DataFrame],
    xlabel: str,
    *,
    height: float = 0.0,
    margin: bool = False,
    band: tuple[float, float] | None = None,
    zero: bool = True,
    marker: str = "D",
    colour: Callable[[str], str] = lambda name: PALETTE["vermillion"],
) -> Draw:
    """Draw means with intervals (columns mean, low, high), first line on top; one table or several.

    A column "printed" becomes open marks with their key; ``margin`` shades what does not matter,
    ``band`` a band without significant differences.
    """
    shade = (-MARGIN, MARGIN) if margin else band
    parts = {"": tables} if isinstance(tables, pd.DataFrame) else tables
    lines = max(map(len, parts.values()))

    def draw(narrow: bool) -> Figure:
        tall = height or (0.33 if narrow else 0.28) * lines + 1.0
        figure, axes = panels(len(parts), narrow=narrow, height=tall, sharex=True)
        for ax, (title, table) in zip(axes, parts.items(), strict=True):
            names = [str(name) for name in table.index]
            colours = list(map(colour, names))
            place = _lines(ax, [fill(name, 24) if narrow else name for name in names])
            if shade is not None:
                ax.axvspan(*shade, color=BAND, lw=0, zorder=0)
            if band is not None:
                ax.set_ylim(bottom=-1.3)
                words = {"ha": "right", "va": "bottom", "fontsize": 9}
                ax.text(band[1], -1.25, "no significant difference ", **words)
            if zero:
                ax.axvline(0, color=ZERO, lw=0.8, zorder=1)
            ax.hlines(place, table["low"], table["high"], color=colours, lw=1.6, zorder=2)
            ax.scatter(table["mean"], place, s=26, color=colours, zorder=3)
            if "printed" in table:
                ax.scatter(table["printed"], place, s=24, zorder=2, marker=marker, **OPEN)
            ax.set(title=title, xlabel=xlabel)
            is_same = ax is not axes[0] and names == list(map(str, parts[next(iter(parts))].index))
            if is_same and not narrow:
                ax.tick_params(labelleft=False)
        if any("printed" in table for table in parts.values()):
            here = axes[0].scatter([], [], s=26, color="#333333", label="here")
            printed = axes[0].scatter([], [], s=24, label="printed", marker=marker, **OPEN)
            figure.legend(handles=[here, printed], loc="outside upper right", ncols=2)
        return figure

    return draw


def heat_figure(tables: dict[str, pd.DataFrame], height: float = 3.6, **looks: Any) -> Draw:
    """Draw tables of exponents (rows) and costs as heat maps; missing cells are empty.

    A look (``fmt``, ``vmin``, ``cmap`` ...) is one for all maps or a list with one for each.
    """

    def draw(narrow: bool) -> Figure:
        figure, axes = panels(len(tables), narrow=narrow, height=height)
        for number, (ax, (title, table)) in enumerate(zip(axes, tables.items(), strict=True)):
            look = {k: v[number] if isinstance(v, list) else v for k, v in looks.items()}
            fmt = look.pop("fmt")
            values = table.to_numpy(dtype=float)
            shown = ax.imshow(np.ma.masked_invalid(values), aspect="auto", **look)
            for (row, column), value in np.ndenumerate(values):
                if np.isfinite(value):
                    is_deep = np.dot(shown.cmap(shown.norm(value))[:3], (0.3, 0.59, 0.11)) < 0.5
                    place = {"ha": "center", "va": "center", "fontsize": "small"}
                    text = minus(fmt.format(value))
                    ax.text(column, row, text, color=ON_CELL[int(is_deep)], **place)
            ax.set_xticks(range(table.shape[1]), [f"{c:g}" for c in table])
            ax.set_yticks(range(len(table)), [fraction(exact(p)) for p in table.index])
            ax.set(title=title, xlabel="c", ylabel="p")
            ax.grid(False)
            ax.spines[:].set_visible(False)
            ax.label_outer()
        return figure

    return draw


def exact(p: float) -> float:
    """Return an exponent that was stored rounded: 1.0323 is 32/31."""
    nearest = float(Fraction(p).limit_denominator(31))
    return nearest if abs(nearest - p) < 1e-4 else p


def dumbbell_figure(
    table: pd.DataFrame, xlabel: str, band: tuple[float, float] | None = None
) -> Draw:
    """Draw the columns ``printed`` (open) and ``here`` (filled), joined, first on top.

    Methods in the band do not differ significantly from the first.
    """
    both = table[["printed", "here"]]
    ends = table.assign(mean=table["here"], low=both.min(axis=1), high=both.max(axis=1))
    look = {"height": 0.3 * len(table) + 1.2, "marker": "o", "colour": colour_of}
    return interval_figure(ends, xlabel, band=band, zero=False, **look)


def dots_figure(off: pd.DataFrame, xlabel: str, far: float = np.inf) -> Draw:
    """Draw one row of dots per column with its mean; dots beyond ``far`` are named."""
    words: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": 8}

    def draw(narrow: bool) -> Figure:
        room = (0.14 if narrow else 0.06) * (off.max().max() - off.min().min())
        figure, (ax,) = panels(1, narrow=narrow, height=0.4 * off.shape[1] + 0.9)
        ax.axvline(0, color=ZERO, lw=0.8)
        for place, name in zip(_lines(ax, off.columns), off, strict=True):
            values = off[name].dropna()
            dots = np.full(len(values), place)
            ax.scatter(values, dots, s=18, color=colour_of(name), alpha=0.6)
            ax.plot([values.mean()] * 2, [place - 0.3, place + 0.3], color="black", lw=2)
            named: list[float] = []  # the farthest first, and others where there is room
            for label, value in values.sort_values(key=np.abs, ascending=False).items():
                if abs(value) > far and all(abs(value - other) > room for other in named):
                    ax.annotate(label, (value, place), (0, 4), **words)
                    named.append(value)
        ax.set_xlabel(xlabel)
        return figure

    return draw


def _lines(ax: Axes, names: Iterable[str]) -> np.ndarray:
    """Name the lines of a figure from top to bottom and return their places."""
    place = np.arange(len(names := list(names)))[::-1]
    ax.set_yticks(place, names)
    ax.set_ylim(-0.8, len(names) - 0.2)
    ax.grid(axis="y", visible=False)
    return place
