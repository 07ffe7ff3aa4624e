"""Figures that several notebooks share, in one style with colours safe for colour-blind readers.

Every function draws on an ``Axes`` and returns it; none calls ``plt.show``. Matplotlib is imported
when a function runs, so that importing the package stays fast.
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


def _new_axes() -> Axes:
    return import_extra("matplotlib.pyplot", "plots").subplots(layout="constrained")[1]


def score_histogram(
    scores: np.ndarray, threshold: float | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw how many rows have which score, inside and outside the threshold."""
    ax = ax or _new_axes()
    scores = np.asarray(scores, dtype=float)
    edges = np.histogram_bin_edges(scores, bins=min(60, max(10, int(2 * len(scores) ** (1 / 3)))))
    groups: list[tuple[np.ndarray, str, str | None]] = [(scores, INSIDE, None)]
    if threshold is not None and np.isfinite(threshold):
        # One edge at the threshold: no bar is half inside.
        edges = np.unique([*edges, threshold])
        groups = [
            (scores[scores >= threshold], INSIDE, "accepted"),
            (scores[scores < threshold], OUTSIDE, "rejected"),
        ]
        ax.axvline(threshold, color="#777777", linewidth=1.2, linestyle="--")
    for values, colour, name in groups:
        label = None if name is None else f"{name}: {len(values):,}"
        ax.hist(values, bins=edges.tolist(), color=colour, label=label, linewidth=0)
    if threshold is not None:
        ax.legend(loc="upper left")
    ax.set(xlabel="score (high is normal)", ylabel="rows")
    ax.grid(False, axis="x")
    return ax


def two_components(
    points: np.ndarray,
    inside: np.ndarray,
    *,
    basis: np.ndarray | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows in the plane of the first two principal components of ``basis`` (or of themselves).

    Most of what a kernel method sees is not in this plane: a rejected row may lie amid others.
    """
    ax = ax or _new_axes()
    basis = points if basis is None else basis
    centre = basis.mean(axis=0)
    spread = np.linalg.svd(basis - centre, full_matrices=False)
    share = spread.S**2 / max(float(np.sum(spread.S**2)), np.finfo(float).tiny)
    axes = (points - centre) @ spread.Vh[:2].T
    if axes.shape[1] < 2:
        axes = np.column_stack([axes[:, 0], np.zeros(len(axes))])
    inside = np.asarray(inside, dtype=bool)
    for chosen, colour, marker, order in ((inside, INSIDE, "o", 2), (~inside, OUTSIDE, "D", 3)):
        look: dict[str, Any] = {"s": 12, "color": colour, "marker": marker, "zorder": order}
        ax.scatter(axes[chosen, 0], axes[chosen, 1], alpha=0.7, linewidths=0, **look)
    shares = [f"{100 * part:.0f} % of the variance" for part in share[:2]]
    names = [f"component {k} ({text})" for k, text in enumerate(shares, 1)]
    ax.set(xlabel=names[0], ylabel=names[1] if len(names) > 1 else "")
    return ax


def contribution_bars(
    explanation: Explanation, row: int = 0, *, most: int = 10, ax: Axes | None = None
) -> Axes:
    """Draw why one row has its score: a bar for each column, longest first, and what is typical.

    The grey bands hold the middle 80 % of the training targets. What does not fit is one bar.
    """
    ax = ax or _new_axes()
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
    return _columns_down(ax, names, f", {explanation.scores[row]:.3g} in all")


def contribution_summary(
    explanation: Explanation, *, most: int = 10, ax: Axes | None = None
) -> Axes:
    """Draw the contributions of many rows: a line for each column, a dot for each row.

    Columns come in the order of how much they take from the scores altogether.
    """
    ax = ax or _new_axes()
    contributions = explanation.contributions
    shown = np.argsort(contributions.sum(axis=0), kind="stable")[:most]
    rng = np.random.default_rng(0)
    for place, j in enumerate(shown):
        height = place + rng.uniform(-0.28, 0.28, size=len(contributions))
        look: dict[str, Any] = {"s": 9, "alpha": 0.8, "linewidths": 0, "zorder": 3}
        ax.scatter(contributions[:, j], height, **_coloured(explanation.values[:, j]), **look)
    return _columns_down(ax, [explanation.columns[j] for j in shown])


def _columns_down(ax: Axes, names: list[str], more: str = "") -> Axes:
    """Draw a line for each column, the first on top, around a contribution of 0."""
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.axvline(0.0, color="#777777", linewidth=0.8)
    ax.set(xlabel=f"contribution to the score{more}")
    ax.grid(False, axis="y")
    return ax


def _coloured(values: np.ndarray) -> dict[str, Any]:
    """Return colours by rank for numbers, and one colour for anything else."""
    try:
        numbers = values.astype(float)
    except (TypeError, ValueError):
        return {"color": "#777777"}
    ranks = np.searchsorted(np.sort(numbers), numbers) / max(1, len(numbers) - 1)
    return {"c": ranks, "cmap": "cividis", "vmin": 0.0, "vmax": 1.35}  # its end is faint on white


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (int, float, np.number)) else str(value)
