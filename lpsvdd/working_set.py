r"""Grids with labelled negatives, solved on the negatives that matter.

At the optimum a negative x_l has a multiplier only if it lies strictly inside the ball,
d_l = ||phi(x_l) - a||^2 < R2; on the paper's grid few do. So the problem is solved on all
positives and a working set W of negatives, and the solution, with zeros for the negatives left
out, is tested on all of them:

    d_l >= R2 for every l not in W    =>    it is optimal for the whole problem,

because a constraint left out then holds with slack zero: the primal value does not change, the
dual value does not depend on zero multipliers, and the duality gap is that of the small problem.
Otherwise the negatives found inside join W and the affected exponents are solved again. W only
grows, so this ends; one W serves the whole grid.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from lpsvdd import solver
from lpsvdd.base import check_labels
from lpsvdd.solver import Solution

LARGE_SHARE = 0.5
"""Once more than this share of the negatives is in the working set, all of them are."""


def solve_path(
    K,
    y=None,
    *,
    ps: Iterable[float],
    cs: Iterable[float],
    c_neg: Iterable[float] | None = None,
    sample_weight=None,
    tol: float = 1e-9,
    max_iter: int = 200,
) -> list[Solution]:
    """`lpsvdd.solve_path` by working sets: the same arguments, order and certificates."""
    ps, cs = list(ps), list(cs)
    costs_negative = None if c_neg is None else list(c_neg)
    K = np.asarray(K, dtype=float)
    n = len(K)
    labels = check_labels(y, n)
    limits = {"tol": tol, "max_iter": max_iter}
    if costs_negative is None or not (labels < 0).any():
        return solver.solve_path(
            K, y, ps=ps, cs=cs, c_neg=costs_negative, sample_weight=sample_weight, **limits
        )
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    kept = labels > 0
    solutions: list[Solution] = []
    for p in ps:
        while True:
            rows = np.flatnonzero(kept)
            found = solver.solve_path(
                K[np.ix_(rows, rows)],
                labels[rows],
                ps=[p],
                cs=cs,
                c_neg=costs_negative if (labels[rows] < 0).any() else None,
                sample_weight=weight[rows],
                **limits,
            )
            inside = _inside(K, labels, rows, found) & ~kept
            if not inside.any():
                break
            kept |= inside
            if kept[labels < 0].mean() > LARGE_SHARE:
                kept[:] = True
        solutions += _pad(found, rows, n, cs, costs_negative)
    return solutions


def _inside(K: np.ndarray, y: np.ndarray, rows: np.ndarray, found: list[Solution]) -> np.ndarray:
    """Which points lie inside the ball of at least one of the solutions."""
    beta = np.column_stack([y[rows] * solution.alpha for solution in found])
    k_beta = K[:, rows] @ beta
    norms = np.einsum("ij,ij->j", beta, k_beta[rows])
    distances = K.diagonal()[:, None] - 2.0 * k_beta + norms
    return (distances < [solution.radius_sq for solution in found]).any(axis=1)


def _pad(
    found: list[Solution], rows: np.ndarray, n: int, cs: list[float], c_neg: list[float]
) -> list[Solution]:
    """Solutions of the whole problem: zeros where a negative was left out."""
    if len(found) == len(cs):  # no negative matters: one solution for every cost of negatives
        found = [solution for solution in found for _ in c_neg]
    padded = []
    for solution, (_, cost) in zip(found, itertools.product(cs, c_neg), strict=True):
        alpha, slack = np.zeros(n), np.zeros(n)
        alpha[rows], slack[rows] = solution.alpha, solution.slack
        padded.append(replace(solution, alpha=alpha, slack=slack, c_neg=cost))
    return padded
