r"""Empirical Rademacher complexity of the linear class F = { x -> <w, phi(x)> : ||w|| <= B }.

The supremum over the ball is attained at w parallel to sum_i sigma_i phi(x_i), hence

    R_n(F) = (2B/n) E_sigma || sum_i sigma_i phi(x_i) ||
          <= (2B/n) sqrt(tr K)                    (Jensen; E sigma' K sigma = tr K)
          <= 2 B B_kappa / sqrt(n)                (K_ii <= B_kappa^2)

and R_n(F) >= (2B/n) sqrt(tr K / 2) by Khintchine's inequality in Hilbert space with its best
constant (Latala & Oleszkiewicz 1994), so the trace bound is never loose by more than sqrt(2).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from . import _checks as check

# Signs are drawn in blocks so that memory stays at block x n whatever n_draws is.
_BLOCK = 1024


class MonteCarlo(float):
    """A Monte-Carlo mean: a float that carries its standard error as `stderr`."""

    stderr: float

    def __new__(cls, value: float, stderr: float) -> MonteCarlo:
        number = super().__new__(cls, value)
        number.stderr = stderr
        return number

    def __repr__(self) -> str:
        return f"MonteCarlo({float(self)!r}, stderr={self.stderr!r})"

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]
        return float(self), self.stderr


def trace_bound(K: ArrayLike, B: float) -> float:
    """(2B/n) sqrt(tr K)."""
    diag = check.kernel_diagonal(K)
    return 2 * check.positive(B, "B") * math.sqrt(diag.sum()) / diag.size


def kappa_bound(n: int, B: float, B_kappa: float) -> float:
    """2 B B_kappa / sqrt(n)."""
    size = check.positive(n, "n")
    return 2 * check.positive(B, "B") * check.positive(B_kappa, "B_kappa") / math.sqrt(size)


def rademacher(
    K: ArrayLike, B: float = 1.0, n_draws: int = 1000, random_state: int | None = 0
) -> MonteCarlo:
    """Monte-Carlo value of R_n(F) = (2B/n) E sqrt(sigma' K sigma).

    Parameters
    ----------
    K : (n, n) kernel matrix, positive semi-definite.
    B : radius of the ball of w, > 0.
    n_draws : number of sign vectors, at least 2.
    random_state : seed of numpy's default generator.

    Returns
    -------
    A float with attribute `stderr`, its standard error over the draws.
    """
    diag = check.kernel_diagonal(K)
    scale = 2 * check.positive(B, "B") / diag.size
    if n_draws < 2:
        raise ValueError(f"n_draws must be at least 2, got {n_draws!r}")
    matrix = np.asarray(K, dtype=float)
    rng = np.random.default_rng(random_state)
    norms = np.empty(n_draws)
    for start in range(0, n_draws, _BLOCK):
        stop = min(start + _BLOCK, n_draws)
        signs = 2.0 * rng.integers(0, 2, size=(stop - start, diag.size)) - 1.0
        squares = np.einsum("ij,ij->i", signs @ matrix, signs)
        # Rounding can leave a tiny negative value when the signed sum is (nearly) zero.
        norms[start:stop] = np.sqrt(np.maximum(squares, 0.0))
    return MonteCarlo(scale * norms.mean(), scale * norms.std(ddof=1) / math.sqrt(n_draws))
