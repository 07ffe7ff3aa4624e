"""Checks of the derivation (Section 3 of the paper), on small random problems."""

from __future__ import annotations

import numpy as np

from lpsvdd.kernels import half_mean_distance, kernel_matrix, rbf_gamma, squared_distances
from lpsvdd.solver import Gram, solve, solve_path
from replication.findings import Numbers
from replication.nonnegative import solve_nonnegative
from replication.paper import COSTS, EXPONENTS
from replication.protocol import Task, prepare

SAMPLE_EXPONENTS = (16 / 15, 4 / 3, 2.0, 5.0)


def example_problem(
    n: int = 40, negatives: int = 0, seed: int = 0, kernel: str = "rbf"
) -> tuple[np.ndarray, np.ndarray]:
    """Kernel matrix of two-dimensional points; negatives come from a shifted cloud."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(n, 2)), rng.normal(size=(negatives, 2)) + 1.5])
    gamma = rbf_gamma(half_mean_distance(X))
    y = np.concatenate([np.ones(n), -np.ones(negatives)])
    return kernel_matrix(X, kernel=kernel, gamma=gamma, degree=3, coef0=1.0), y


def _centre_distance(K: np.ndarray, difference: np.ndarray) -> float:
    return float(np.sqrt(max(difference @ K @ difference, 0.0)))


def strong_duality(negatives: int = 0) -> Numbers:
    """Compare the printed dual with the primal with R^2 free and with R^2 >= 0 as printed.

    ``gap``: largest relative gap of the free one; ``apart``: cases with another printed one.
    """
    K, y = example_problem(negatives=negatives)
    cells = [{"p": p, "c": c, "tol": 1e-10} for p in SAMPLE_EXPONENTS for c in COSTS]
    free = [solve(K, y, **cell) for cell in cells]
    kept = np.array([solve_nonnegative(K, y, **cell).primal for cell in cells])
    dual = np.array([found.dual for found in free])
    apart = int((kept - dual > 1e-6 * (1 + np.abs(dual))).sum())
    return {"gap": max(found.gap for found in free), "cases": len(cells), "apart": apart}


def joint_form(p: float = 2.0, c: float = 0.2) -> Numbers:
    """Compare the printed joint form (17), (18) with the separate problems at p.

    ``ratio``: the printed penalty over the separate one, 2^(q-1), for every exponent tried;
    ``corrected``: the same with 2^(-q) for the printed factor 1/2. From (c' p)^(-1/(p-1)) =
    f 2^q (c p)^(-1/(p-1)) the joint dual stands for the cost c' = c (f 2^q)^(1-p), c/2 for f = 1/2;
    ``distance``: how far the multipliers are apart in a small example.
    """
    K, y = example_problem(negatives=10)
    alpha = np.random.default_rng(0).dirichlet(np.ones(12))

    def ratio(p: float, factor: float) -> float:
        q = p / (p - 1)
        return factor * float(np.sum((2 * alpha) ** q) / np.sum(alpha**q))

    q = p / (p - 1)
    share = (0.5 * 2**q) ** (1 - p)
    apart = solve(K, y, p=p, c=c).alpha - solve(K, y, p=p, c=share * c).alpha
    return {
        "ratio": ratio(p, 0.5),
        "corrected": max(abs(ratio(p, 2 ** (-p / (p - 1))) - 1) for p in SAMPLE_EXPONENTS),
        "share": share,
        "distance": float(np.abs(apart).max()),
    }


def convexity_argument() -> Numbers:
    """Find the lowest eigenvalue of a kernel matrix, and of a symmetric matrix that is no kernel.

    The dual is concave because K is positive semidefinite, not because its term is quadratic.
    """
    X = np.random.default_rng(0).normal(size=(40, 2))
    lowest, other = (
        float(np.linalg.eigvalsh(M)[0]) for M in (example_problem()[0], np.tanh(X @ X.T - 1))
    )
    return {"concave": lowest >= -1e-8, "other": other}


def multipliers_of_slack() -> Numbers:
    """Check that the multiplier gamma_i = c p z_i^(p-1) - alpha_i of z_i >= 0 vanishes for p > 1.

    ``largest`` compares z_i with (alpha_i / (c p))^(1/(p-1)), to which gamma_i = 0 amounts;
    ``left`` counts the gamma_i = c - alpha_i > 0 at p = 1.
    """
    K, y = example_problem()
    largest = 0.0
    for p in SAMPLE_EXPONENTS:
        found = solve(K, y, p=p, c=0.1, tol=1e-12)
        implied = (found.alpha / (0.1 * p)) ** (1 / (p - 1))
        largest = max(largest, float(np.abs(found.slack - implied).max()))
    left = int(np.sum(0.1 - solve(K, y, p=1.0, c=0.1).alpha > 1e-6))
    return {"largest": largest, "left": left, "n": len(y)}


def costs_control_shares() -> Numbers:
    """Count the steps up in a cost that raise a share, or change none: c1 the targets outside, c2
    the labelled outliers inside.

    ``low`` and ``high``: share of targets outside at c1 = 0.1, over the exponents.
    """
    K, y = example_problem(negatives=15)
    changes, shares = [], []
    for p in SAMPLE_EXPONENTS:
        for vary in (1, -1):
            series = []
            for c in (0.01, 0.03, 0.1, 0.3, 1.0):
                found = solve(K, y, p=p, c=np.where(y == vary, c, 0.1))
                series.append(float((found.slack[y == vary] > 1e-7).mean()))
            changes.append(np.diff(series))
            if vary == 1:
                shares.append(100 * series[2])
    change = np.concatenate(changes)
    wrong, idle = int((change > 1e-9).sum()), int((np.abs(change) <= 1e-9).sum())
    found = {"steps": len(change), "wrong": wrong, "idle": idle}
    return found | {"low": min(shares), "high": max(shares)}


def weighted_linearity(exponent: float = 1.0) -> Numbers:
    """Measure how far a weighted sum of powers of slacks is from linear in them."""
    weights, one, two = np.random.default_rng(0).uniform(size=(3, 20))
    parts = ((1, 2 * one + 3 * two), (-2, one), (-3, two))
    return {"excess": abs(float(sum(k * weights @ slack**exponent for k, slack in parts)))}


SURFACE_TOLERANCE = 1e-8  # beyond it a row is outside: one that copies a training row is not


def rejection_against_acceptance(names: tuple[str, ...] = ("D7", "D12", "D14")) -> Numbers:
    """Count the steps up in p, at a fixed cost, in which rejection and acceptance trade.

    Rates on the test rows of one split per data set, threshold R^2; ``cells`` are the steps in
    which both rates of targets rejected and outliers accepted move, ``trades`` those in opposite
    directions. A test row of D12 copies a training row on the surface: it counts as inside for
    every ``SURFACE_TOLERANCE`` from 1e-10 to 1e-5.
    """
    steps, ends = [], []
    for name in names:
        trial = prepare(Task(name, "pure", 0))
        kernels, m = trial.kernels, len(trial.y_validation)
        for c in COSTS:
            rates = []
            for found in solve_path(kernels.K, ps=EXPONENTS, cs=[c]):
                norm_sq = found.alpha @ kernels.K @ found.alpha
                d = squared_distances(kernels.K_eval, found.alpha, kernels.diag_eval, norm_sq)[m:]
                outside = d > found.radius_sq + SURFACE_TOLERANCE
                targets = trial.y_test == 1
                rates.append((outside[targets].mean(), (~outside[~targets]).mean()))
            steps.append(np.prod(np.diff(np.array(rates), axis=0), axis=1))
            ends.append(rates[-1][0])
    change = np.concatenate(steps)
    counts = {"trades": int((change < 0).sum()), "cells": int((change != 0).sum())}
    return counts | {"reject_high": 100 * np.mean(ends)}


def radius_branch() -> Numbers:
    """Find the share of the grid in which the dual with sum alpha = 1 has R^2 < 0."""
    K, y = example_problem(n=60)
    share = np.mean([solve(K, y, p=p, c=c).radius_sq < 0 for p in EXPONENTS for c in COSTS])
    return {"radius": solve(K, y, p=2.0, c=COSTS[0]).radius_sq, "share": 100 * share}


def radius_from_support_vectors() -> Numbers:
    """Measure the spread of R^2 = d_j - y_j zeta_j over the support vectors of small problems."""
    spread = 0.0
    for negatives in (0, 10):
        K, y = example_problem(negatives=negatives)
        for p in SAMPLE_EXPONENTS:
            found = solve(K, y, p=p, c=0.1, tol=1e-12)
            zeta = (found.alpha / (0.1 * p)) ** (1 / (p - 1))
            beta = y * found.alpha
            d = squared_distances(K, beta, K.diagonal(), beta @ K @ beta)
            spread = max(spread, float(np.ptp((d - y * zeta)[found.alpha > 1e-4])))
    return {"spread": spread}


def support_depends_on_p() -> Numbers:
    """Count the support vectors of 100 points at one cost over exponents."""
    K, y = example_problem(n=100)
    counts = [int((solve(K, y, p=p, c=0.05).alpha > 1e-6).sum()) for p in (1.0, *SAMPLE_EXPONENTS)]
    return {"least": min(counts), "most": max(counts)}


def large_exponent(p: float = 400.0) -> Numbers:
    """Compare centre and R^2 at a large p with those of the hard ball, R^2 less one."""
    K, y = example_problem()
    hard = solve(K, y, p=1.0, c=1.0)
    soft = [solve(K, y, p=p, c=c) for c in (0.1, 1.0)]
    return {
        "centre": max(_centre_distance(K, s.alpha - hard.alpha) for s in soft),
        "shift": max(abs(s.radius_sq - (hard.radius_sq - 1)) for s in soft),
    }


def unit_length_simplification(kernel: str = "rbf") -> Numbers:
    """Measure how far the centres of the dual with and without its linear term are apart."""
    K, y = example_problem(negatives=10, kernel=kernel)
    spread, size = float(np.trace(K)) / len(y), float(K.diagonal().max())
    dropped = Gram(K=K, diag=np.zeros(len(y)), spread=spread, size=size)
    apart = [solve(K, y, p=p, c=0.1).alpha - solve(dropped, y, p=p, c=0.1).alpha
             for p in SAMPLE_EXPONENTS]  # fmt: skip
    return {"largest": max(_centre_distance(K, y * one) for one in apart)}
