r"""The paper's joint form of the dual, Eqs. (17)-(19), stated in CVXPY.

Its power terms are f (1 - 1/p) (c_1 p)^(-1/(p-1)) ||alpha∘(1 + y)||_q^q and the same with c_2 and
1 - y, q = p/(p - 1). The paper prints f = 1/2; as (1 + y_i)^q = 2^q on a positive, f = 2^(-q) is
what gives back the separate form of :func:`lpsvdd.reference.solve_dual`. With f = 1/2 the terms are
2^(q-1) times those of Eq. (15), and since (c/2)^(-1/(p-1)) = 2^(q-1) c^(-1/(p-1)) this is the dual
for costs c/2.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from lpsvdd.reference import ReferenceSolution, solve_dual


def solve_joint(
    K: np.ndarray,
    y: np.ndarray,
    p: float,
    c: float | np.ndarray,
    solver: str = "CLARABEL",
    *,
    factor: Literal["printed", "corrected"] = "printed",
    **options: Any,
) -> ReferenceSolution:
    """Return the joint form for p > 1, with f = 1/2 ("printed") or f = 2^(-q) ("corrected").

    ``solver`` and ``options`` as in :func:`lpsvdd.reference.solve_dual`.
    """
    if factor not in ("printed", "corrected"):
        raise ValueError(f"factor must be 'printed' or 'corrected', got {factor!r}")
    if p <= 1.0:
        raise ValueError("p must be greater than 1 in the joint form: q is infinite at p = 1")
    q = p / (p - 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        f = 0.5 if factor == "printed" else 2.0**-q
        # For y = +1 only the term with 1 + y = 2 is there, for y = -1 only 1 - y = 2.
        power = f * (1.0 - 1.0 / p) * np.power(np.multiply(c, p), -1.0 / (p - 1.0))
        power = power * np.power(1.0 + np.abs(y), q)
    return solve_dual(K, y, p, c, solver, power=power, **options)
