"""Draw the figure of the README: descriptions of one sample for p = 1, 2 and 5.

    python book/readme_figure.py        writes book/description.png

The sample is made as in the paper's illustration: 100 points of a normal distribution with mean 2
and standard deviation 3 in each direction. The thick line leaves a tenth of them outside.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np

from lpsvdd import LpSVDD
from lpsvdd.plots import INSIDE, OUTSIDE, use_style

TARGET = Path(__file__).with_name("description.png")
C, CONTAMINATION = 0.03, 0.1


def main() -> None:
    use_style()
    X = np.random.Generator(np.random.PCG64(0)).normal(2.0, 3.0, size=(100, 2))
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.15 * (high - low).max()
    gx, gy = np.meshgrid(*(np.linspace(low[k] - pad, high[k] + pad, 160) for k in range(2)))
    grid = np.column_stack([gx.ravel(), gy.ravel()])
    figure, axes = plt.subplots(1, 3, figsize=(8.4, 3.0), sharex=True, sharey=True)
    for ax, p in zip(axes, (1, 2, 5), strict=True):
        model = LpSVDD(p=p, C=C, gamma="half-mean-distance", contamination=CONTAMINATION).fit(X)
        decision = model.decision_function(grid).reshape(gx.shape)
        ax.contourf(gx, gy, decision, levels=8, cmap="Blues", alpha=0.5)
        ax.contour(gx, gy, decision, levels=[0.0], colors=[INSIDE], linewidths=2.2)
        outside = model.predict(X) == -1
        ax.scatter(*X[~outside].T, s=7, color="black", zorder=3)
        ax.scatter(*X[outside].T, s=14, color=OUTSIDE, marker="^", zorder=3)
        ax.set_title(f"p = {p}")
        ax.set_aspect("equal")
        ax.grid(False)
    figure.tight_layout()
    TARGET.parent.mkdir(exist_ok=True)
    figure.savefig(TARGET, dpi=120, transparent=False, facecolor="white")


if __name__ == "__main__":
    main()
