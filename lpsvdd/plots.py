"""Figures that several notebooks share, in one style with colours safe for colour-blind readers.

Matplotlib is imported when a function runs, so that importing the package stays fast.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import numpy as np

from lpsvdd._validation import import_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lpsvdd.explain import Explanation

PALETTE = {
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "black": "#000000",
}
"""Okabe and Ito's colours."""

INSIDE, OUTSIDE = PALETTE["blue"], PALETTE["vermillion"]


def style() -> AbstractContextManager[None]:
    """Apply the project's matplotlib style to the figures of one block."""
    matplotlib_style = import_extra("matplotlib.style", "plots")
    with as_file(files("lpsvdd") / "lpsvdd.mplstyle") as path:
        return matplotlib_style.context(path)


def use_style() -> None:
    """Apply the project's matplotlib style; in a notebook also ask for vector figures."""
    plt = import_extra("matplotlib.pyplot", "plots")
    with as_file(files("lpsvdd") / "lpsvdd.mplstyle") as path:
        plt.style.use(path)
    try:
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:
        return
    set_matplotlib_formats("svg")


def fraction(value: float) -> str:
    """Write a grid value as the paper does: 32/31, 8/7, 5/2, 20."""
    from fractions import Fraction

    exact = Fraction(value).limit_denominator(64)
    return str(exact) if abs(float(exact) - value) < 1e-9 else f"{value:g}"


def contribution_bars(
    explanation: Explanation, row: int = 0, *, most: int = 10, ax: Axes | None = None
) -> Axes:
    """Draw why one row has its score: a bar for each column, longest first, and what is typical.

    The grey bands hold the middle 80 % of the training targets. What does not fit is one bar.
    """
    ax = ax or import_extra("matplotlib.pyplot", "plots").subplots(layout="constrained")[1]
    values = explanation.contributions[row]
    order = np.argsort(values, kind="stable")
    shown, rest = order[:most], order[most:]
    if len(rest) == 1:
        shown, rest = order, order[:0]
    for place, j in enumerate(shown):
        low, _, high = explanation.typical[:, j]
        ax.barh(place, high - low, left=low, height=0.8, color="#999999", alpha=0.45, linewidth=0)
        outside = values[j] < low
        ax.barh(place, values[j], height=0.4, color=OUTSIDE if outside else INSIDE, linewidth=0)
    names = [f"{explanation.columns[j]} = {_short(explanation.values[row, j])}" for j in shown]
    if len(rest):
        ax.barh(len(shown), values[rest].sum(), height=0.4, color=INSIDE, linewidth=0)
        names.append(f"{len(rest)} others")
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.axvline(0.0, color="#777777", linewidth=0.8)
    ax.set(xlabel=f"contribution to the score, {explanation.scores[row]:.3g} in all")
    ax.grid(False, axis="y")
    return ax


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (int, float, np.number)) else str(value)
