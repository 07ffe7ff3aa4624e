r"""Newton's method in passes over the rows, for p >= 2: nothing of a row is kept.

The restricted objective (``_landmarks``), in scaled units,

    F(w, b) = b + ||w||^2 + sum_i c_i (s_i)_+^p,      s_i = y_i (k_i - 2 w'z_i - b),

is twice differentiable for p >= 2. With alpha_i = c_i p s_i^(p-1), beta = y alpha and
h_i = c_i p (p - 1) s_i^(p-2) on the rows outside,

    gradient = (2w - 2 Z'beta,  1 - sum beta),      Hessian = sum_i h_i [2z_i; 1][2z_i; 1]' + 2I_w:

sums over blocks of rows. Each block returns its part of them and its distances; the sum decides
the step, and the next pass tells whether it was too long. This is the way where the rows that
matter do not fit in memory, or where dask has them on several machines.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from lpsvdd.solver._blocks import ArrayBlocks, DaskBlocks
from lpsvdd.solver._problem import Problem

MOST_PASSES = 100
LAST = 1e-4  # of the tolerance: a gap at which nothing is left to polish
ENOUGH = 1e-4  # of the decrease that the slope promises (Armijo)


class Sums(NamedTuple):
    """What one pass finds at (w, b), in scaled units."""

    distances: np.ndarray
    value: float
    first: np.ndarray  # Z'alpha and sum alpha over the positives, then over the negatives
    second: np.ndarray  # sum_i h_i [z_i; 1][z_i; 1]'


def pass_over(
    blocks: ArrayBlocks | DaskBlocks, chart, problem: Problem, w: np.ndarray, radius: float
) -> Sums:
    """One pass at the centre w (in units of the kernel) and R2 (scaled)."""
    vectors = (problem.y, problem.log_rate)
    args = (chart, w, radius, problem.p, problem.inv_scale)
    parts = blocks.map(_sums_of, vectors, *args, width=chart.rank)
    distances, penalty, first, second = zip(*parts, strict=True)
    centre = w * math.sqrt(problem.inv_scale)
    b = radius - float(centre @ centre)
    value = b + float(centre @ centre) + float(np.sum(penalty))
    return Sums(np.concatenate(distances), value, sum(first), sum(second))


def _sums_of(X, y, log_rate, chart, w, radius, p, inv_scale) -> tuple:
    """The parts of a block."""
    d = chart.distances(X, w) * inv_scale
    signed = y * (d - radius)
    out = np.flatnonzero(signed > 0.0)
    rank = chart.rank
    if not len(out):
        return d, 0.0, np.zeros((2, rank + 1)), np.zeros((rank + 1, rank + 1))
    slack = signed[out]
    Z = np.empty((len(out), rank + 1))
    Z[:, :rank] = chart.coordinates(X[out])[0]
    Z[:, :rank] *= math.sqrt(inv_scale)
    Z[:, rank] = 1.0
    alpha = np.exp(log_rate[out] + (p - 1.0) * np.log(slack))
    by_label = np.stack([np.where(y[out] > 0.0, alpha, 0.0), np.where(y[out] < 0.0, alpha, 0.0)])
    weighted = Z * np.sqrt((p - 1.0) * alpha / slack)[:, None]
    return d, float(alpha @ slack) / p, by_label @ Z, weighted.T @ weighted


@np.errstate(all="ignore")
def newton_by_passes(
    blocks: ArrayBlocks | DaskBlocks,
    chart,
    problem: Problem,
    w: np.ndarray,
    radius: float,
    tol: float,
    max_iter: int,
    report,
) -> tuple[np.ndarray, float, np.ndarray, np.ndarray, float, int]:
    """(w, R2, distances, alpha, P - D, passes) from a start, until the relative gap is ``tol``.

    R2, distances and P - D are scaled.
    """
    unit = math.sqrt(problem.inv_scale)
    at, was_enough = pass_over(blocks, chart, problem, w, radius), False
    for passes in range(1, min(max_iter, MOST_PASSES) + 1):
        alpha, excess = _certificate(problem, at, w * unit, radius)
        gap = excess / (1.0 + abs(at.value))
        report(f"pass {passes}: P = {at.value / problem.inv_scale:.9g}, gap {gap:.1e}")
        if gap <= tol and (gap <= LAST * tol or was_enough):
            break
        was_enough = gap <= tol  # one more: the gap is quadratic in the error of the centre
        direction, slope = _direction(at, w * unit)
        length = 1.0
        while True:
            trial = w + length * direction[:-1] / unit
            b = radius - float(w @ w) * problem.inv_scale + length * direction[-1]
            new_radius = b + float(trial @ trial) * problem.inv_scale
            new = pass_over(blocks, chart, problem, trial, new_radius)
            if new.value <= at.value + ENOUGH * length * slope or length < 1e-6:
                break
            length *= 0.5
        if not new.value < at.value:
            break
        w, radius, at = trial, new_radius, new
    return w, radius, at.distances, alpha, excess, passes


def _direction(at: Sums, centre: np.ndarray) -> tuple[np.ndarray, float]:
    """Newton's step in (w, b), scaled, and the slope of F along it."""
    rank = len(centre)
    twice = np.append(np.full(rank, 2.0), 1.0)
    gradient = np.append(2.0 * centre, 1.0) - twice * (at.first[0] - at.first[1])
    hessian = at.second * np.outer(twice, twice)
    hessian.flat[: rank * (rank + 1) : rank + 2] += 2.0
    hessian.flat[-1] += 1e-14 * (1.0 + hessian.flat[-1])  # no row outside: b is free
    step = -cho_solve(cho_factor(hessian, lower=True), gradient)
    return step, float(step @ gradient)


def _certificate(problem: Problem, at: Sums, centre: np.ndarray, radius: float):
    """alpha from the slacks, made feasible, and P - D of the restricted problem."""
    signed = problem.y * (at.distances - radius)
    alpha = problem.multipliers(signed)
    positive, negative = at.first
    if not positive[-1] > 0.0:
        return alpha, math.inf
    factor = (1.0 + negative[-1]) / positive[-1]  # as in ``Problem.feasible``
    alpha = alpha * np.where(problem.positive, factor, 1.0)
    apart = centre - (factor * positive - negative)[:-1]
    return alpha, float(apart @ apart) + problem.excess(alpha, signed, at.value - radius)
