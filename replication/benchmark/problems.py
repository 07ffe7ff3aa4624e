r"""What is measured: the paper's grid of cells (p, c1[, c2]) on synthetic data of given size.

Data follow the paper's protocol: Gaussian positives (and, in the setting with negatives, as many
Gaussian negatives around another mean), standardised with mean and deviation of the positives, each
vector scaled to unit length; k(x, z) = exp(-||x - z||^2/(2 s^2)), s = half the mean distance.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from lpsvdd.kernels import half_mean_distance, kernel_matrix, rbf_gamma
from replication.paper import COSTS, EXPONENTS, SETTINGS

SEED = 20240917
DIMENSION = 10


class GridCell(NamedTuple):
    """One point of the grid; ``c_neg`` is None without negatives."""

    p: float
    c: float
    c_neg: float | None = None

    def costs(self, y: np.ndarray) -> np.ndarray:
        """The cost of each sample."""
        return np.where(y > 0.0, self.c, self.c if self.c_neg is None else self.c_neg)


def all_cells(setting: str) -> list[GridCell]:
    """The paper's 40 cells without negatives, 160 with them, in the order of ``solve_path``."""
    if setting == "pure":
        return [GridCell(p, c) for p, c in product(EXPONENTS, COSTS)]
    return [GridCell(*cell) for cell in product(EXPONENTS, COSTS, COSTS)]


def p1_cells(n: int) -> list[GridCell]:
    """Cells of the comparison at p = 1, all with sum of costs > 1 so that nu = 1/(nc) < 1."""
    return [GridCell(1.0, c) for c in sorted({1.25 / n, 2.0 / n, 5.0 / n, *COSTS}) if n * c > 1.2]


def sample_cells(setting: str, size: int, seed: int = SEED) -> list[GridCell]:
    """A fixed sample of ``size`` cells, spread evenly over the exponents and over the costs."""
    cells = all_cells(setting)
    per_p = len(cells) // len(EXPONENTS)
    if size >= len(cells):
        return cells
    # Row i of the deck is an order of the cost combinations; taking whole columns in turn gives
    # every exponent its share, and the shifts keep a combination from coming up in all of them.
    order = np.random.default_rng(seed).permutation(per_p)
    chosen = set()
    for k in range(size):
        turn, place = divmod(k, len(EXPONENTS))
        i = round(place * (len(EXPONENTS) - 1) / max(min(size, len(EXPONENTS)) - 1, 1))
        chosen.add(i * per_p + int(order[(i + turn) % per_p]))
    return [cells[k] for k in sorted(chosen)]


def make_problem(n: int, setting: str, seed: int = SEED) -> tuple[np.ndarray, np.ndarray]:
    """Kernel matrix and labels of the synthetic problem: n positives, or n/2 of each label."""
    if setting not in SETTINGS:
        raise ValueError(f"setting must be one of {SETTINGS}, got {setting!r}")
    n_neg = n // 2 if setting == "negatives" else 0
    rng = np.random.default_rng([seed, n, n_neg])
    X = rng.normal(size=(n, DIMENSION))
    y = np.r_[np.ones(n - n_neg), -np.ones(n_neg)]
    X[y < 0.0] += 1.0
    X = (X - X[y > 0.0].mean(axis=0)) / X[y > 0.0].std(axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return kernel_matrix(X, gamma=rbf_gamma(half_mean_distance(X))), y
