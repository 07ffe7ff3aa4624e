"""Draw the figure of the README: descriptions of one sample for p = 1, 2 and 5.

    python scripts/readme_figure.py        writes docs/description.svg

The sample is the paper's illustration: 100 points of a normal distribution with mean 2 and standard
deviation 3 in each direction.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt
import numpy as np

from lpsvdd import LpSVDD
from lpsvdd.plots import INSIDE, evaluation_grid, use_style

TARGET = Path(__file__).resolve().parent.parent / "docs" / "description.svg"
C = 0.05


def main() -> None:
    use_style()
    X = np.random.Generator(np.random.PCG64(0)).normal(2.0, 3.0, size=(100, 2))
    gx, gy, grid = evaluation_grid(X, size=90)
    figure, axes = plt.subplots(1, 3, figsize=(8.4, 3.0), sharex=True, sharey=True)
    for ax, p in zip(axes, (1, 2, 5), strict=True):
        model = LpSVDD(p=p, C=C).fit(X)
        decision = model.decision_function(grid).reshape(gx.shape)
        ax.contourf(gx, gy, decision, levels=8, cmap="Blues", alpha=0.55)
        ax.contour(gx, gy, decision, levels=[0.0], colors=[INSIDE], linewidths=2.0)
        ax.scatter(*X.T, s=6, color="black", zorder=3)
        outside = int((model.predict(X) == -1).sum())
        ax.set_title(f"p = {p}: {outside} of {len(X)} outside")
        ax.set_aspect("equal")
        ax.grid(False)
    figure.tight_layout()
    TARGET.parent.mkdir(exist_ok=True)
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    main()
