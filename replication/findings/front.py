"""The two figures of page one: the ball between its two ends, and why the lead of lp vanishes.

The ball is solved here; the other figure is drawn from the table ``tilt``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lpsvdd import solve
from replication.figures import GREY, Draw, colour_of, exponent_colour, ink, panels
from replication.findings import Finding, finding
from replication.findings.tilt import way

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXAMPLE = "D17"
"""The set of the paper's largest printed gain of lp over l1."""
COSTS = {"is nearly free": 1e-4, "has its price": 0.03, "is out of the question": 1e8}
"""What sticking out costs in the three panels of the ball, at p = 2."""


def cloud(n: int = 30) -> np.ndarray:
    """Points of the plane: most in one place, some towards one side, so that the ends differ."""
    rng = np.random.default_rng(3)
    side = rng.normal(size=(n // 6, 2)) * 0.4 + [3.2, 1.2]
    return np.vstack([rng.normal(size=(n - len(side), 2)) * 0.55, side])


def balls(points: np.ndarray) -> dict[str, tuple[np.ndarray, float]]:
    """Centre and squared radius at each price of sticking out, with the linear kernel."""
    found = {}
    for name, cost in COSTS.items():
        ball = solve(points @ points.T, p=2.0, c=cost)
        found[name] = ball.alpha @ points, float(ball.radius_sq)
    return found


@finding()
def ball() -> Finding:
    """The ball in the plane: its centre is the mean, in between, and that of the hard ball."""
    points = cloud()
    found = balls(points)

    def draw(narrow: bool) -> Figure:
        figure, axes = panels(3, narrow=narrow, height=2.6, sharex=True, sharey=True)
        ends = ("kernel mean", "in between", "hard ball")
        for ax, end, (name, (a, r2)) in zip(axes, ends, found.items(), strict=True):
            _draw_ball(ax, points, a, r2)
            ax.set_title(f"{end}:\nsticking out {name}", fontsize=10)
            ax.set(aspect="equal", xticks=[], yticks=[], xlim=(-2.3, 4.7), ylim=(-2.8, 3.4))
            ax.set_axis_off()
        a, r2 = found["has its price"]
        far = points[np.argmax(((points - a) ** 2).sum(axis=1))]
        look = {"textcoords": "offset points", "fontsize": 9}
        axes[1].annotate("slack", far, (-8, 8), ha="center", color=ink(colour_of("lp")), **look)
        axes[1].annotate("centre", a, (7, -12), **look)
        return figure

    return Finding("", {"points": len(points)}, draw=draw)


def _draw_ball(ax: Axes, points: np.ndarray, a: np.ndarray, r2: float) -> None:
    """Points, ball, centre; a line from the ball to every point outside it: its slack."""
    steps = points - a
    lengths = np.linalg.norm(steps, axis=1)
    radius = np.sqrt(max(r2, 0.0))
    out = lengths**2 > r2 + 1e-6
    feet = a + steps * (radius / lengths)[:, None]
    for foot, point in zip(feet[out], points[out], strict=True):
        ax.plot(*np.transpose([foot, point]), color=colour_of("lp"), lw=1.0, zorder=1)
    if radius > 0:
        turn = np.linspace(0, 2 * np.pi, 200)
        ring = a + radius * np.column_stack([np.cos(turn), np.sin(turn)])
        ax.plot(*ring.T, color="#000000", lw=1.6, zorder=2)
    ax.scatter(*points[~out].T, s=16, color=GREY, zorder=3)
    ax.scatter(*points[out].T, s=16, color=colour_of("lp"), zorder=3)
    ax.plot(*a, "+", color="#000000", ms=11, mew=2.2, zorder=4)
    ax.grid(False)


@finding("tilt")
def places(rows: pd.DataFrame, example: str = EXAMPLE) -> Finding:
    """Where the cells of the paper's grid lie between the kernel mean and the hard ball."""
    rows = rows.assign(way=way(rows))
    paper = rows[rows["kind"] == "paper"]
    one = paper["p"] == 1.0
    path = rows[rows["kind"] == "matched"]
    ends = rows[rows["kind"] == "end"]
    hard = ends[ends["c"] == 1.0].groupby("dataset")["auc"].mean()
    mean = ends[ends["c"] < 1.0].groupby("dataset")["auc"].mean()
    facts = {
        "sets": int(hard.size),
        "better_mean": int((mean > hard).sum()),
        "l1_at_hard": 100 * float((paper[one]["way"] > 0.95).mean()),
        "lp_first_half": 100 * float((paper[~one]["way"] < 0.5).mean()),
    }
    return Finding("", facts, draw=_draw_places(paper, path, ends, example))


def _curve(path: pd.DataFrame, ends: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Mean AUC along the way, its ends included; every set counts once."""
    by_set = path.groupby(["share", "dataset"])["auc"].mean().groupby("share").mean()
    first, last = (
        ends[ends["c"] < 1.0].groupby("dataset")["auc"].mean().mean(),
        ends[ends["c"] == 1.0].groupby("dataset")["auc"].mean().mean(),
    )
    return np.r_[0.0, np.sqrt(by_set.index), 1.0], np.r_[first, by_set, last]


def _draw_places(paper: pd.DataFrame, path: pd.DataFrame, ends: pd.DataFrame, example: str) -> Draw:
    only = {
        name: frame[frame["dataset"] == example] for name, frame in (("path", path), ("ends", ends))
    }
    cells = paper[paper["dataset"] == example].groupby(["p", "c"])[["way", "auc"]].mean()
    families = (
        ("lp", "ℓp, p > 1", cells.index.get_level_values("p") > 1.0, "o"),
        ("l1", "ℓ1", cells.index.get_level_values("p") == 1.0, "D"),
    )

    def draw(narrow: bool) -> Figure:
        figure, (left, right) = panels(2, narrow=narrow, height=3.3, sharex=True)
        middle = only["path"][only["path"]["p"] == 2.0]
        left.plot(*_curve(middle, only["ends"]), color=exponent_colour(2.0), lw=1.4, zorder=1)
        for family, name, chosen, marker in families:
            look = {"s": 34, "marker": marker, "facecolors": "none", "linewidths": 1.3}
            part = cells[chosen]
            left.scatter(
                part["way"], part["auc"], edgecolors=colour_of(family), label=name, zorder=3, **look
            )
        for p, rows in path.groupby("p"):
            look = {"color": exponent_colour(p), "lw": 2.2 if p == 2.0 else 1.2}
            right.plot(*_curve(rows, ends), label=f"p = {p:g}", **look)
        low, high = right.get_ylim()
        step = (high - low) * 0.1
        rng = np.random.default_rng(0)
        for place, (family, name, p) in enumerate(
            (("lp", "ℓp", paper["p"] > 1.0), ("l1", "ℓ1", paper["p"] == 1.0))
        ):
            part = paper[p].groupby(["dataset", "p", "c"])["way"].mean()
            height = low - (place + 0.6) * step * 2.4
            jitter = height + step * rng.uniform(-0.5, 0.5, len(part))
            right.scatter(part, jitter, s=7, color=colour_of(family), alpha=0.6, linewidths=0)
            right.annotate(
                f"cells of {name}",
                (0.5, height + 0.5 * step),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=9,
                color=ink(colour_of(family)),
            )
        for ax, title in (
            (left, "one set: Cleveland (D17)" if example == "D17" else example),
            (right, "all sets: mean AUC, every cell"),
        ):
            ax.set(title=title, ylabel="AUC, %", xlabel="place of the model")
            ax.set_xticks([0, 1], ["kernel mean", "hard ball"])
            ax.set_xlim(-0.08, 1.08)
        right.set_yticks(np.arange(np.ceil(low / 5) * 5, high, 5))
        left.legend(loc="lower left")
        right.legend(loc="upper right", fontsize=8)
        return figure

    return draw
