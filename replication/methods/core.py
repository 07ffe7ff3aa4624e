"""What a method of the comparison is: a name, an estimator, a grid, and a path over grids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from replication.protocol import RESOLUTION

Params = dict[str, Any]


@dataclass(frozen=True)
class SplitKernels:
    """One training kernel and the kernel rows to score; inputs are preprocessed already.

    ``K`` (n, n), ``y`` (n,) of +1 and -1, ``K_eval`` (m, n), ``diag`` (n,), ``diag_eval`` (m,), and
    the training inputs ``X`` (n, d), or None where only kernels exist: then distances come from K.
    ``X_eval`` (m, d) and ``seed`` serve methods that know nothing of kernels.
    """

    K: np.ndarray
    y: np.ndarray
    K_eval: np.ndarray
    diag: np.ndarray
    diag_eval: np.ndarray
    X: np.ndarray | None = None
    X_eval: np.ndarray | None = None
    seed: int = 0


@dataclass(frozen=True)
class ScoredCell:
    """One cell of a grid, solved.

    ``scores`` (m,): higher = more normal; None where the cell has no solution. ``gap``: relative
    duality gap of iterative methods, NaN for closed forms. ``status``: "optimal" (certified),
    "not-converged" (scores are there, the gap says how far off), "closed form", "as fitted" (a
    method that has no certificate), or "infeasible".
    ``resolution``: the relative difference below which two scores mean the same.
    """

    params: Params
    scores: np.ndarray | None
    gap: float = float("nan")
    status: str = "closed form"
    resolution: float = RESOLUTION


@dataclass(frozen=True)
class Method:
    """A named method in one setting ("pure": positives only; "negatives": y holds both labels).

    ``make(params)`` is the scikit-learn estimator of a cell; further keyword arguments (kernel,
    gamma, ...) go to its constructor. ``path(kernels, grid)`` solves a whole grid on one kernel and
    gives one `ScoredCell` per entry, in order. ``origin`` is the class of a user's own method.
    """

    name: str
    setting: Literal["pure", "negatives"]
    make: Callable[..., Any]
    grid: Sequence[Params]
    path: Callable[[SplitKernels, Sequence[Params]], list[ScoredCell]]
    origin: str = ""

    def run(self, kernels: SplitKernels) -> list[ScoredCell]:
        """Solve the grid."""
        return self.path(kernels, self.grid)
