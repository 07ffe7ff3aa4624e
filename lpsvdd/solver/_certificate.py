r"""The one place that calls a solution optimal.

Whoever computed alpha, by whichever road, it is optimal for a tolerance if

    alpha >= 0,   |y'alpha - 1| <= EQUALITY sum_i alpha_i,   alpha <= c (p = 1),
    -ROUNDING <= gap <= tol,   everything finite,

with the gap recomputed from this very alpha. A gap below -ROUNDING is no small gap: by weak duality
it means that alpha is infeasible or that the arithmetic broke down.
"""

from __future__ import annotations

import numpy as np

EQUALITY = 1e-12  # y'alpha = 1 is asked for relative to sum alpha, the size of what is added up
ROUNDING = 1e-11  # what rounding may take from a gap of zero
OPTIMAL, RADIUS_ZERO, NOT_CONVERGED = "optimal", "radius-zero", "not-converged"


def is_optimal(alpha, gap, y, tol: float, box=None):
    """Whether each alpha (last axis: samples) with its gap meets the definition above."""
    total = alpha.sum(axis=-1)
    feasible = (alpha.min(axis=-1) >= 0.0) & (np.abs(alpha @ y - 1.0) <= EQUALITY * total)
    if box is not None:
        feasible &= (alpha <= box * (1.0 + EQUALITY)).all(axis=-1)
    return feasible & np.isfinite(total) & (gap >= -ROUNDING) & (gap <= tol)
