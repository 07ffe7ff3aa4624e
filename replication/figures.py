"""Figures that read well at every width, in one look: a method has one colour, filled is here.

``show(draw)`` draws twice, ``draw(narrow=False)`` and ``draw(narrow=True)``, and shows one SVG that
carries the narrow one in a comment. While the book is built, ``book/_ext/pages.py`` takes it
out again, adds dark ones (:func:`dark`) and lets the browser choose. ``panels`` lays
panels side by side or, narrow, in a column.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from lpsvdd.plots import PALETTE, fraction
from replication.evidence import MARGIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Draw = Callable[..., "Figure"]
"""A drawing: ``draw(narrow=True)`` is for a phone."""
WIDE, NARROW = 7.2, 3.6
"""Inches: the book's column, and a phone's at the size of letters that can be read."""
MARK = "narrow-variant:"
GREY = "#6a6a6a"
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


def panels(
    count: int, *, narrow: bool, height: float = 3.0, **options: Any
) -> tuple[Figure, np.ndarray]:
    """A figure of ``count`` panels, each ``height`` inches high: a row, or narrow a column."""
    import matplotlib.pyplot as plt

    shape = (count, 1) if narrow else (1, count)
    size = (NARROW, height * count) if narrow else (WIDE, height)
    figure, axes = plt.subplots(*shape, figsize=size, layout="constrained", **options)
    return figure, np.atleast_1d(axes)


def heat_map(
    values: np.ndarray,
    *,
    ps: Sequence[float],
    cs: Sequence[float],
    ax: Axes,
    fmt: str = "{:.1f}",
    **image: Any,
) -> Axes:
    """Draw a table of values over exponents (rows) and costs (columns); missing cells are empty."""
    values = np.ma.masked_invalid(np.asarray(values, dtype=float))
    if values.shape != (len(ps), len(cs)):
        raise ValueError(f"values has shape {values.shape}, expected {(len(ps), len(cs))}")
    shown = ax.imshow(values, aspect="auto", **image)
    for (row, column), value in np.ndenumerate(values.filled(np.nan)):
        if np.isfinite(value):
            red, green, blue, _ = shown.cmap(shown.norm(value))
            deep = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": "small"}
            look["color"] = "#fefefe" if deep else "#010101"
            ax.text(column, row, fmt.format(value).replace("-", "\N{MINUS SIGN}"), **look)
    ax.set_xticks(range(len(cs)), [f"{c:g}" for c in cs])
    ax.set_yticks(range(len(ps)), [fraction(p) for p in ps])
    ax.set(xlabel="c", ylabel="p")
    ax.grid(False)
    ax.spines[:].set_visible(False)
    return ax


def svg(figure: Figure) -> bytes:
    """A figure as SVG text; it is closed."""
    import matplotlib.pyplot as plt

    buffer = BytesIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    plt.close(figure)
    return buffer.getvalue()


def both_widths(draw: Draw) -> str:
    """The wide drawing as SVG with the narrow one in a comment at its end."""
    wide = svg(draw(narrow=False)).decode()
    narrow = b64encode(svg(draw(narrow=True))).decode()
    return f"{wide.rstrip()}\n<!--{MARK}{narrow}-->\n"


def split_drawing(text: str) -> tuple[str, str | None]:
    """Return the wide drawing and the narrow one of what :func:`both_widths` made."""
    found = re.search(rf"\n?<!--{MARK}([A-Za-z0-9+/=]*)-->", text)
    if found is None:
        return text, None
    return text.replace(found[0], ""), b64decode(found[1]).decode()


def show(draw: Draw) -> None:
    """Show a figure in a notebook, at both widths."""
    from IPython.display import display

    # As raw data: IPython's SVG class would keep the root element alone and drop the comment.
    display({"image/svg+xml": both_widths(draw)}, raw=True)


KEPT = {"#010101": "black", "#fefefe": "white"}
"""Letters on a coloured cell: the same in both themes."""


def dark(drawing: str) -> str:
    """The drawing for a dark page: greys turned round, hues kept and made light enough to read."""

    def turned(match: re.Match[str]) -> str:
        if match[0] in KEPT:
            return match[0]
        channels = np.array([int(match[0][k : k + 2], 16) for k in (1, 3, 5)], dtype=float)
        if np.ptp(channels) < 12:
            channels = 222 - channels * (222 - 26) / 255
        while contrast(channels, PAPER) < LEAST and np.ptp(channels) >= 12:
            channels += 0.08 * (255 - channels)
        return "#" + "".join(f"{round(value):02x}" for value in channels)

    drawing = re.sub(r"(?<=[:\s\"])#[0-9a-f]{6}\b", turned, drawing)
    # Letters are black by leaving out their colour: the root sets another.
    return re.sub(r"<svg\b", '<svg fill="#dedede"', drawing, count=1)


PAPER = np.array([18.0, 18.0, 18.0])
"""The dark page, and the least contrast of a coloured line on it."""
LEAST = 4.5


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    """Contrast of two colours (0 to 255) by the rule of WCAG 2."""

    def luminance(colour: np.ndarray) -> float:
        part = colour / 255
        part = np.where(part <= 0.03928, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
        return float(part @ [0.2126, 0.7152, 0.0722])

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


# -- one look ---------------------------------------------------------------------------------


def exponent_colour(p: float) -> str:
    """The colour of an exponent in the whole book: p = 1 and 2 as ℓ1 and ℓ2, never ℓp's orange."""
    return min(EXPONENT_COLOURS.items(), key=lambda pair: abs(np.log(pair[0] / p)))[1]


def colour_of(method: str) -> str:
    """The colour of a method in the whole book; grey for those the text seldom speaks of."""
    plain = method.replace("ℓ", "l")
    return next((c for start, c in METHOD_COLOURS.items() if plain.startswith(start)), GREY)


def intervals(
    ax: Axes,
    table: pd.DataFrame,
    *,
    labels: Sequence[str] | None = None,
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
    ax.set_yticks(place, list(table.index) if labels is None else labels)
    ax.set_ylim(-0.8, len(table) - 0.2)
    ax.grid(axis="y", visible=False)
    return ax


def interval_figure(
    tables: pd.DataFrame | dict[str, pd.DataFrame],
    xlabel: str,
    *,
    height: float = 0.0,
    short: Callable[[str], str] = str,
    colour: Callable[[str], str] | None = None,
    **options: Any,
) -> Draw:
    """A drawing of one table of intervals, or of several by title, side by side.

    ``short`` makes a name of the index fit a phone; ``colour`` is that of a line by its name; a
    column "printed" becomes open marks with their key. The other options are those of
    :func:`intervals`.
    """
    parts = {"": tables} if isinstance(tables, pd.DataFrame) else tables
    lines = max(map(len, parts.values()))

    def draw(narrow: bool) -> Figure:
        tall = height or (0.33 if narrow else 0.28) * lines + 1.0
        figure, axes = panels(len(parts), narrow=narrow, height=tall, sharex=True)
        for number, (ax, (title, table)) in enumerate(zip(axes, parts.items(), strict=True)):
            names = [str(name) for name in table.index]
            look = {"colours": [colour(name) for name in names]} if colour else {}
            labels = [short(name) for name in names] if narrow else names
            if "printed" in table:
                look["printed"] = table["printed"]
            intervals(ax, table, labels=labels, **look, **options)
            ax.set(title=title, xlabel=xlabel)
            if (
                number
                and not narrow
                and names == [str(n) for n in next(iter(parts.values())).index]
            ):
                ax.tick_params(labelleft=False)
        if any("printed" in table for table in parts.values()):
            key(axes[0])
        return figure

    return draw


def exact(p: float) -> float:
    """An exponent that was stored rounded: 1.0323 is 32/31."""
    nearest = float(Fraction(p).limit_denominator(31))
    return nearest if abs(nearest - p) < 1e-4 else p


def heat_figure(tables: dict[str, pd.DataFrame], height: float = 3.6, **looks: Any) -> Draw:
    """A drawing of tables exponent × cost as heat maps by title.

    A look (``fmt``, ``vmin``, ``cmap`` ...) is one for all maps or a list with one for each.
    """

    def draw(narrow: bool) -> Figure:
        figure, axes = panels(len(tables), narrow=narrow, height=height)
        for place, (ax, (title, table)) in enumerate(zip(axes, tables.items(), strict=True)):
            look = {k: v[place] if isinstance(v, list) else v for k, v in looks.items()}
            ps = [exact(p) for p in table.index]
            heat_map(table.to_numpy(), ps=ps, cs=table.columns, ax=ax, **look)
            ax.set_title(title)
            ax.label_outer()
        return figure

    return draw


def dumbbell_figure(
    table: pd.DataFrame, xlabel: str, band: tuple[float, float] | None = None
) -> Draw:
    """A drawing of the columns ``printed`` (open) and ``here`` (filled), joined, first on top.

    Methods in the band are not told apart.
    """
    colours = [colour_of(name) for name in table.index]
    place = np.arange(len(table))[::-1]

    def draw(narrow: bool) -> Figure:
        figure, (ax,) = panels(1, narrow=narrow, height=0.3 * len(table) + 1.2)
        ax.hlines(place, table["printed"], table["here"], color="#bbbbbb", lw=1.4, zorder=1)
        ax.scatter(table["printed"], place, s=30, facecolors="none", edgecolors=colours, zorder=2)
        ax.scatter(table["here"], place, s=30, color=colours, zorder=3)
        ax.set_yticks(place, list(table.index))
        ax.set_ylim(-0.7, len(table) - 0.3)
        ax.grid(axis="y", visible=False)
        if band is not None:
            ax.axvspan(*band, color="#dddddd", lw=0, zorder=0)
            ax.annotate(
                "not told from the first", (band[1], -1.3), xytext=(-4, 2),
                textcoords="offset points", ha="right", va="bottom", fontsize=9,
            )  # fmt: skip
            ax.set_ylim(-1.3, len(table) - 0.3)
        key(ax, "o")
        ax.set_xlabel(xlabel)
        return figure

    return draw


def dots_figure(off: pd.DataFrame, xlabel: str, far: float | None = None) -> Draw:
    """A drawing of one row of dots per column with its mean; dots beyond ``far`` are named."""
    place = np.arange(off.shape[1])[::-1]

    def draw(narrow: bool) -> Figure:
        figure, (ax,) = panels(1, narrow=narrow, height=0.4 * off.shape[1] + 0.9)
        ax.axvline(0, color="#666666", lw=0.8)
        for height, name in zip(place, off, strict=True):
            dots = np.full(len(off), height)
            ax.scatter(off[name], dots, s=18, color=colour_of(name), alpha=0.6)
            ax.plot([off[name].mean()] * 2, [height - 0.3, height + 0.3], color="black", lw=2)
        ax.set_yticks(place, off.columns)
        ax.set_ylim(-0.6, off.shape[1] - 0.3)
        ax.grid(axis="y", visible=False)
        ax.set_xlabel(xlabel)
        if far is not None:
            dots = off.melt(ignore_index=False)["value"]
            places = np.repeat(place, len(off))
            known = dots.notna().to_numpy()
            names = dots.index.where(dots.abs() > far, "")
            name_points(ax, names[known], dots[known], places[known])
        return figure

    return draw


def key(ax: Axes, marker: str = "D") -> None:
    """What filled and open marks are, above the figure where no mark can be taken for data."""
    here = ax.scatter([], [], s=26, color="#333333", label="here")
    printed = ax.scatter(
        [], [], s=24, marker=marker, facecolors="none", edgecolors=GREY, label="printed"
    )
    ax.figure.legend(handles=[here, printed], loc="outside upper right", ncols=2)


def name_points(ax: Axes, names: Iterable[str], x: Iterable[float], y: Iterable[float]) -> Axes:
    """Name points of a scatter plot so that the labels keep clear of each other and of all points.

    Points with an empty name get none, but labels keep clear of them. Call it after the limits of
    the axes are set: what overlaps depends on them.
    """
    from adjustText import adjust_text

    x, y = list(x), list(y)
    texts = [
        ax.text(u, v, name, fontsize=8) for name, u, v in zip(names, x, y, strict=True) if name
    ]
    ax.figure.canvas.draw()
    adjust_text(texts, x, y, ax=ax)
    return ax
