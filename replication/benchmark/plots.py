"""Figures of the benchmark table: time against n, and solved cells over the (p, c) grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lpsvdd.plots import PALETTE, fraction, use_style
from replication.benchmark.contestants import COLD, CVXPY_CONTESTANTS, PATH
from replication.paper import COSTS, EXPONENTS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COLOURS = dict(
    zip(
        (COLD, PATH, *CVXPY_CONTESTANTS),
        ("blue", "sky", "vermillion", "orange", "green", "purple"),
        strict=True,
    )
)
MARKERS = dict(zip(COLOURS, "oDsv^P", strict=True))


WIDE, NARROW = 7.2, 3.6
"""Inches, as in ``replication.figures``, which lies above this layer."""


def time_against_n(table: pd.DataFrame, setting: str = "pure", narrow: bool = False) -> Figure:
    """Median seconds of the cells each contestant solves, against n, with one Cholesky beside it.

    Bars span the quartiles. Cells differ between contestants: each is shown on those it solves.
    """
    import matplotlib.pyplot as plt

    use_style()
    size = (NARROW, 4.6) if narrow else (WIDE, 3.6)
    figure, ax = plt.subplots(figsize=size, layout="constrained")
    rows = table[(table["setting"] == setting) & table["experiment"].isin(["grid", "path"])]
    rows = rows[rows["solved"].fillna(False).astype(bool)]
    present = [name for name in COLOURS if (rows["contestant"] == name).any()]
    for k, name in enumerate(present):
        seconds = rows[rows["contestant"] == name].groupby("n")["seconds"]
        low, middle, high = (seconds.quantile(q) for q in (0.25, 0.5, 0.75))
        ax.errorbar(
            middle.index * 1.02 ** (k - len(present) / 2),  # side by side, so that bars show
            middle,
            yerr=[middle - low, high - middle],
            color=PALETTE[COLOURS[name]],
            marker=MARKERS[name],
            label=name,
            capsize=2,
        )
    unit = table[(table["experiment"] == "unit") & (table["setting"] == setting)]
    ax.plot(unit["n"], unit["seconds"], ":", color="black", label="one Cholesky factorisation")
    ticks = sorted(rows["n"].unique())
    ax.set(xscale="log", yscale="log", xlabel="n", ylabel="seconds per cell")
    ax.set_xticks(ticks, [str(n) for n in ticks])
    ax.minorticks_off()
    place = {"loc": "outside upper left"} if narrow else {"loc": "outside center right"}
    figure.legend(fontsize="small", **place)
    return figure


def solved_map(table: pd.DataFrame, n: int, setting: str = "pure", narrow: bool = False) -> Figure:
    """For each contestant the share of solved cells at every (p, c); empty cells were not run.

    Without negatives a cell is solved or not; with them the share is over the costs of negatives.
    """
    import matplotlib.pyplot as plt

    use_style()
    rows = table[
        (table["setting"] == setting) & (table["n"] == n) & (table["experiment"] == "grid")
    ]
    names = [name for name in COLOURS if (rows["contestant"] == name).any()]
    if not names:
        raise ValueError(f"the table has no cells with setting {setting!r} and n = {n}")
    columns = 2 if narrow else len(names)
    rows_of_panels = -(-len(names) // columns)
    size = (NARROW, 3.2 * rows_of_panels) if narrow else (WIDE, 3.6)
    shape = (rows_of_panels, columns)
    figure, axes = plt.subplots(
        *shape, figsize=size, sharey=True, layout="constrained", squeeze=False
    )
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    for ax, name in zip(axes.flat, names, strict=False):
        own = rows[rows["contestant"] == name]
        share = np.ma.masked_all((len(EXPONENTS), len(COSTS)))
        for i, p in enumerate(EXPONENTS):
            for j, c in enumerate(COSTS):
                run = own[np.isclose(own["p"], p) & np.isclose(own["c"], c)]["solved"].dropna()
                if not run.empty:
                    share[i, j] = run.astype(float).mean()
                    mark = "✓" if run.iloc[0] else "×"
                    text = f"{int(run.sum())}/{len(run)}" if len(run) > 1 else mark
                    ink = "#010101" if share[i, j] > 0.5 else "#fefefe"
                    ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=8)
        ax.imshow(share, vmin=0.0, vmax=1.0, aspect="auto")
        solved, run = int(own["solved"].sum()), int(own["solved"].count())
        ax.set_title(f"{name.replace(' ', chr(10), 1)}\n{solved} of {run}", fontsize=8)
        ax.set_xticks(range(len(COSTS)), [f"{c:g}" for c in COSTS], fontsize=8, rotation=45)
        ax.set_yticks(range(len(EXPONENTS)), [fraction(p) for p in EXPONENTS])
        ax.set_xlabel("c")
        ax.grid(False)
    for ax in axes[:, 0]:
        ax.set_ylabel("p")
    return figure
