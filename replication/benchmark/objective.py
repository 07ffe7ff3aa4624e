r"""What is solved, and the referee: the paper's grid of cells (p, c1[, c2]) on synthetic data.

Data follow the paper's protocol: Gaussian positives (and, in the setting with negatives, as many
Gaussian negatives around another mean), standardised with mean and deviation of the positives, each
vector scaled to unit length; k(x, z) = exp(-||x - z||^2/(2 s^2)), s = half the mean distance.

The referee alone decides what an answer is worth. It makes the returned multipliers feasible
(non-negative, within the box at p = 1, rescaled to y'alpha = 1) and computes the relative duality
gap with ``lpsvdd.solver``. A cell is solved where the gap is at most ``SOLVED``.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from lpsvdd.kernels import half_mean_distance, kernel_matrix, rbf_gamma
from lpsvdd.solver import Problem
from replication.paper import COSTS, EXPONENTS, SETTINGS

PROBLEM_SEED = 20240917
FEATURES = 10
SOLVED = 1e-6


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


def sample_cells(setting: str, size: int) -> list[GridCell]:
    """A fixed sample of at most ``size`` cells, spread over the exponents and over the costs."""
    cells, ps = all_cells(setting), len(EXPONENTS)
    order = np.random.default_rng(PROBLEM_SEED).permutation(len(cells) // ps)
    picked = ((7 * k % ps, order[(7 * k + k // ps) % len(order)]) for k in range(size))
    chosen = {int(i * len(order) + j) for i, j in picked}
    return [cells[k] for k in sorted(chosen)] if size < len(cells) else cells


@cache
def make_problem(n: int, setting: str) -> tuple[np.ndarray, np.ndarray]:
    """Kernel matrix and labels of the synthetic problem: n positives, or n/2 of each label."""
    if setting not in SETTINGS:
        raise ValueError(f"setting must be one of {SETTINGS}, got {setting!r}")
    n_neg = n // 2 if setting == "negatives" else 0
    rng = np.random.default_rng([PROBLEM_SEED, n, n_neg])
    X = rng.normal(size=(n, FEATURES))
    y = np.r_[np.ones(n - n_neg), -np.ones(n_neg)]
    X[y < 0.0] += 1.0
    X = (X - X[y > 0.0].mean(axis=0)) / X[y > 0.0].std(axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return kernel_matrix(X, gamma=rbf_gamma(half_mean_distance(X))), y


def referee_gap(n: int, setting: str, cell: GridCell, alpha: np.ndarray | None) -> float:
    """Relative duality gap of the multipliers after making them feasible; inf if there are none."""
    if alpha is None or not np.all(np.isfinite(alpha)) or not np.any(alpha > 0.0):
        return float("inf")
    K, y = make_problem(n, setting)
    problem = Problem(K, y, p=cell.p, c=cell.costs(y))
    return float(problem.evaluate(problem.feasible(alpha)).gap)
