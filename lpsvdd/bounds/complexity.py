r"""The pieces of the error bounds: margin loss, Rademacher complexity, constants, argument checks.

The margin loss of t = y (f(x) - R^2), the amount by which a point lies on the wrong side, is

    A(t) = 0 for t <= 0,   (t / v)^p for 0 <= t <= v,   1 for t >= v,

so that 1[t > v] <= A(t) <= (t_+ / v)^p. The linear class F = { x -> <w, phi(x)> : ||w|| <= B } has
the empirical Rademacher complexity

    R_n(F) = (2B/n) E_sigma || sum_i sigma_i phi(x_i) ||
          <= (2B/n) sqrt(tr K)                    (Jensen; E sigma' K sigma = tr K)
          <= 2 B B_kappa / sqrt(n)                (K_ii <= B_kappa^2)

and R_n(F) >= (2B/n) sqrt(tr K / 2) by Khintchine's inequality with its best constant (Latala and
Oleszkiewicz 1994), so the trace bound is never loose by more than sqrt(2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from lpsvdd._validation import check_exponent


def positive_number(value: float, name: str, *, or_zero: bool = False) -> float:
    """The value as a finite number > 0 (or >= 0)."""
    if not (math.isfinite(value) and (value > 0 or or_zero and value == 0)):
        sign = ">=" if or_zero else ">"
        raise ValueError(f"{name} must be a finite number {sign} 0, got {value!r}")
    return float(value)


def confidence(delta: float) -> float:
    """delta in the open interval (0, 1)."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie in the open interval (0, 1), got {delta!r}")
    return float(delta)


def margin_grid(margin: float | Sequence[float]) -> tuple[float, ...]:
    """One margin or a grid of different margins, each > 0."""
    values = tuple(
        positive_number(float(v), "margin") for v in np.atleast_1d(np.asarray(margin, float))
    )
    if not values:
        raise ValueError("margin must hold at least one value")
    if len(set(values)) < len(values):
        raise ValueError("margin must not hold the same value twice: each one costs confidence")
    return values


def matrix_diagonal(K: ArrayLike) -> np.ndarray:
    """k(x_i, x_i) from a kernel matrix or its diagonal: finite, non-negative, not all zero."""
    values = np.asarray(K, dtype=float)
    if values.ndim == 2 and values.shape[0] == values.shape[1]:
        values = np.diagonal(values)
    if values.ndim != 1:
        raise ValueError(f"K must be a square matrix or its diagonal, got shape {values.shape}")
    if values.size == 0:
        raise ValueError("K must hold at least one sample")
    if not np.all(np.isfinite(values)) or values.min() < 0 or values.max() <= 0:
        raise ValueError("the diagonal of K must be finite, non-negative and not all zero")
    return values


def safe_exp(value: float) -> float:
    """exp, with inf instead of an overflow error."""
    return math.exp(value) if value < 709.0 else math.inf


def margin_loss(t: ArrayLike, *, p: float, margin: float) -> np.ndarray:
    """A(t) = min(max(t / margin, 0), 1)^p, elementwise."""
    ratio = np.asarray(t, dtype=float) / positive_number(margin, "margin")
    return np.clip(ratio, 0.0, 1.0) ** check_exponent(p)


def trace_bound(K: ArrayLike, B: float) -> float:
    """(2B/n) sqrt(tr K)."""
    diag = matrix_diagonal(K)
    return 2 * positive_number(B, "B") * math.sqrt(diag.sum()) / diag.size


def rademacher(
    K: ArrayLike, B: float = 1.0, n_draws: int = 1000, random_state: int | None = 0
) -> float:
    """Monte-Carlo value of R_n(F) = (2B/n) E sqrt(sigma' K sigma), from random signs."""
    matrix = np.asarray(K, dtype=float)
    n = matrix_diagonal(K).size
    if matrix.ndim != 2:
        raise ValueError("rademacher needs the square kernel matrix, not its diagonal alone")
    if n_draws < 1:
        raise ValueError(f"n_draws must be at least 1, got {n_draws!r}")
    rng = np.random.default_rng(random_state)
    norms = np.empty(n_draws)
    for start in range(0, n_draws, 1024):  # memory stays at 1024 x n
        stop = min(start + 1024, n_draws)
        signs = 2.0 * rng.integers(0, 2, size=(stop - start, n)) - 1.0
        squares = np.einsum("ij,ij->i", signs @ matrix, signs)
        # Rounding can leave a tiny negative value when the signed sum is (nearly) zero.
        norms[start:stop] = np.sqrt(np.maximum(squares, 0.0))
    return float(2 * positive_number(B, "B") / n * norms.mean())


def offset_width(*, B: float, B_kappa: float, margin: float, negatives: bool) -> float:
    """Length W of the interval to which s = ||w||^2 - R^2 can be clipped without changing A.

    u(x) = k(x, x) - 2 <w, phi(x)> ranges over an interval of length W0; beyond it, A(y (u + s)) is
    constant in s. One label needs room for v on one side of that interval, two labels on both.
    """
    B, B_kappa = positive_number(B, "B"), positive_number(B_kappa, "B_kappa")
    width = 4 * B * B_kappa if B >= B_kappa else (B + B_kappa) ** 2
    return width + (2 if negatives else 1) * positive_number(margin, "margin")


def stratum(norm: float, B_kappa: float) -> tuple[int, float, float]:
    """(k, B_k, share of delta): the smallest k >= 0 with norm <= B_k = 2^k B_kappa.

    The shares 6 / (pi (k+1))^2 sum to one, so the bounds of all strata hold at once.
    """
    ratio = positive_number(norm, "norm", or_zero=True) / positive_number(B_kappa, "B_kappa")
    k = 0
    while 2.0**k < ratio:
        k += 1
    return k, 2.0**k * B_kappa, 6 / (math.pi * (k + 1)) ** 2
