"""Argument checks shared by the bound functions; each message names the argument and its value."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def exponent(p: float) -> float:
    """p as a finite number with p >= 1."""
    if not (math.isfinite(p) and p >= 1):
        raise ValueError(f"p must be a finite number >= 1, got {p!r}")
    return float(p)


def positive(value: float, name: str) -> float:
    """value as a finite number > 0."""
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a finite number > 0, got {value!r}")
    return float(value)


def nonnegative(value: float, name: str) -> float:
    """value as a finite number >= 0."""
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be a finite number >= 0, got {value!r}")
    return float(value)


def confidence(delta: float) -> float:
    """delta in the open interval (0, 1)."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie in the open interval (0, 1), got {delta!r}")
    return float(delta)


def margins(margin: float | Sequence[float]) -> tuple[float, ...]:
    """One margin or a grid of different margins, each > 0."""
    values = tuple(positive(float(v), "margin") for v in np.atleast_1d(np.asarray(margin, float)))
    if not values:
        raise ValueError("margin must hold at least one value")
    if len(set(values)) < len(values):
        raise ValueError("margin must not hold the same value twice: each one costs confidence")
    return values


def kernel_diagonal(K: ArrayLike) -> np.ndarray:
    """Diagonal of a square kernel matrix with finite, non-negative diagonal."""
    matrix = np.asarray(K, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"K must be a square matrix, got shape {matrix.shape}")
    return diagonal(np.diagonal(matrix))


def diagonal(diag: ArrayLike) -> np.ndarray:
    """k(x_i, x_i) as a non-empty vector of finite, non-negative numbers, not all zero."""
    values = np.asarray(diag, dtype=float)
    if values.size == 0:
        raise ValueError("K must hold at least one sample")
    if not np.all(np.isfinite(values)) or values.min() < 0 or values.max() <= 0:
        raise ValueError("the diagonal of K must be finite, non-negative and not all zero")
    return values


def kernel_bound(B_kappa: float | None, diag: np.ndarray) -> float:
    """B_kappa with k(x, x) <= B_kappa^2; from the sample's diagonal when left out."""
    largest = math.sqrt(float(diag.max()))
    if B_kappa is None:
        return largest
    value = positive(B_kappa, "B_kappa")
    # The rounding allowance is for callers who write sqrt(k(x, x)) themselves.
    if value < largest * (1 - 1e-9):
        raise ValueError(f"B_kappa = {value!r} is below sqrt(max diag K) = {largest!r}")
    return value


def slacks(slack: ArrayLike, n: int) -> np.ndarray:
    """n finite, non-negative slacks."""
    values = np.asarray(slack, dtype=float)
    if values.shape != (n,):
        raise ValueError(f"slack must have shape ({n},) to match K, got {values.shape}")
    if not np.all(np.isfinite(values)) or values.min() < 0:
        raise ValueError("slack must be finite and non-negative")
    return values
