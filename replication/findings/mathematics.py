"""Checks of the derivation (Section 3 of the paper), on small random problems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lpsvdd.kernels import half_mean_distance, kernel_matrix, rbf_gamma, squared_distances
from lpsvdd.solver import Gram, solve, solve_path
from replication.findings import Finding, finding, graded
from replication.nonnegative import solve_nonnegative
from replication.paper import COSTS, EXPONENTS
from replication.protocol import Task
from replication.trial import prepare

SAMPLE_EXPONENTS = (16 / 15, 4 / 3, 2.0, 5.0)


def example(
    n: int = 40, negatives: int = 0, seed: int = 0, kernel: str = "rbf"
) -> tuple[np.ndarray, np.ndarray]:
    """Kernel matrix of two-dimensional points; negatives come from a shifted cloud."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(n, 2)), rng.normal(size=(negatives, 2)) + 1.5])
    gamma = rbf_gamma(half_mean_distance(X))
    y = np.concatenate([np.ones(n), -np.ones(negatives)])
    return kernel_matrix(X, kernel=kernel, gamma=gamma, degree=3, coef0=1.0), y


@finding()
def strong_duality(
    negatives: int = 0, costs: Sequence[float] = COSTS, tolerance: float = 1e-8
) -> Finding:
    """The printed dual against the primal with R^2 free and with R^2 >= 0 as printed.

    Holds when both primals have the dual's value throughout, partly when only the free one does.
    """
    K, y = example(negatives=negatives)
    cells = [(p, c) for p in SAMPLE_EXPONENTS for c in costs]
    free = [solve(K, y, p=p, c=c, tol=1e-10) for p, c in cells]
    kept = [solve_nonnegative(K, y, p=p, c=c, tol=1e-10) for p, c in cells]
    apart = [k.primal - f.dual > 1e-6 * (1 + abs(f.dual)) for k, f in zip(kept, free, strict=True)]
    largest = max(f.gap for f in free)
    extreme = int(np.argmax([k.primal - f.dual for k, f in zip(kept, free, strict=True)]))
    facts = {
        "gap": largest,
        "cases": len(cells),
        "apart": int(np.sum(apart)),
        "p": cells[extreme][0],
        "c": cells[extreme][1],
        "dual": free[extreme].dual,
        "printed": kept[extreme].primal,
    }
    solved = largest <= tolerance
    return Finding(graded(solved and not any(apart), solved), facts)


@finding()
def joint_form(factor: str = "printed") -> Finding:
    """Ratio of the joint penalty to the separate one, over exponents: 2^(q-1) as printed, not 1."""
    alpha = np.random.default_rng(0).dirichlet(np.ones(12))
    y = np.ones(12)
    ratios = {}
    for p in SAMPLE_EXPONENTS:
        q = p / (p - 1)
        coefficient = p ** (-1 / (p - 1)) * (1 - 1 / p)
        separate = coefficient * np.sum(alpha**q)
        share = 0.5 if factor == "printed" else 2**-q
        ratios[p] = share * coefficient * np.sum((alpha * (1 + y)) ** q) / separate
    equal = all(np.isclose(ratio, 1) for ratio in ratios.values())
    return Finding("holds" if equal else "erratum", {"ratio_p2": ratios[2.0]})


@finding()
def joint_form_cost(factor: str = "printed", p: float = 2.0, c: float = 0.2) -> Finding:
    """Which cost the joint dual stands for: the penalty f (c p)^(-1/(p-1)) 2^q as that of a cost.

    (c' p)^(-1/(p-1)) = f 2^q (c p)^(-1/(p-1)) gives c' = c (f 2^q)^(1-p): c/2 for f = 1/2.
    """
    K, y = example(negatives=10)
    q = p / (p - 1)
    f = 0.5 if factor == "printed" else 2**-q
    effective = c * (f * 2**q) ** (1 - p)
    distance = np.abs(solve(K, y, p=p, c=c).alpha - solve(K, y, p=p, c=effective).alpha).max()
    facts = {"distance": distance, "share": effective / c}
    return Finding("erratum" if distance > 1e-4 else "holds", facts)


@finding()
def convexity_argument(kernel: str = "rbf") -> Finding:
    """The dual is concave because K is positive semidefinite, not because a term is quadratic.

    Holds partly when the conclusion is right (K has no negative eigenvalue) and the reason is not:
    a quadratic form of a symmetric matrix that is no kernel has directions of both signs.
    """
    K, _ = example(kernel="rbf") if kernel == "rbf" else (_no_kernel(), None)
    other = np.linalg.eigvalsh(_no_kernel())
    lowest = float(np.linalg.eigvalsh(K)[0])
    facts = {"lowest": max(lowest, 0.0), "other": float(other[0])}
    concave = lowest >= -1e-8
    return Finding(graded(concave and not other[0] < 0 < other[-1], concave), facts)


def _no_kernel(n: int = 40) -> np.ndarray:
    """tanh of inner products: symmetric, used as a kernel in practice, not semidefinite."""
    X = np.random.default_rng(0).normal(size=(n, 2))
    return np.tanh(X @ X.T - 1.0)


@finding()
def multipliers_of_slack(p_low: float = 1.0, tolerance: float = 1e-6) -> Finding:
    """The multiplier gamma_i = c p z_i^(p-1) - alpha_i of z_i >= 0 vanishes for p > 1.

    Judged by the slack: z_i against (alpha_i / (c p))^(1/(p-1)), to which gamma_i = 0 amounts. At
    p = 1 gamma_i = c - alpha_i does not vanish for points inside. Holds partly when that is so and
    the claim includes p = 1.
    """
    K, y = example()
    largest = 0.0
    for p in SAMPLE_EXPONENTS:
        found = solve(K, y, p=p, c=0.1, tol=1e-12)
        implied = (found.alpha / (0.1 * p)) ** (1 / (p - 1))
        largest = max(largest, float(np.abs(found.slack - implied).max()))
    one = solve(K, y, p=1.0, c=0.1)
    left = int(np.sum(0.1 - one.alpha > tolerance))
    facts = {"largest": largest, "left": left, "n": len(y)}
    vanish = largest <= 10 * tolerance
    return Finding(graded(vanish and not (p_low <= 1.0 and left), vanish), facts)


@finding()
def costs_control_shares(costs: Sequence[float] = (0.01, 0.03, 0.1, 0.3, 1.0)) -> Finding:
    """c1 lowers the share of positives outside, c2 that of negatives inside, step by step.

    Holds when every step goes the way claimed, partly when none goes the other way but the shares
    depend on p as much as on c, or when some steps of c2 change nothing.
    """
    K, y = example(negatives=15)
    wrong = idle = steps = 0
    shares = []
    for p in SAMPLE_EXPONENTS:
        for vary in (1, -1):
            series = []
            for c in costs:
                cost = np.where(y == vary, c, 0.1)
                found = solve(K, y, p=p, c=cost)
                series.append(float((found.slack[y == vary] > 1e-7).mean()))
            change = np.diff(series)
            wrong += int((change > 1e-9).sum())
            idle += int((np.abs(change) <= 1e-9).sum())
            steps += len(change)
            if vary == 1:
                shares.append(series[costs.index(0.1) if 0.1 in costs else 0])
    facts = {"steps": steps, "wrong": wrong, "idle": idle}
    facts |= {"low": 100 * min(shares), "high": 100 * max(shares)}
    return Finding(graded(wrong == idle == 0, wrong <= steps / 10), facts)


@finding()
def weighting_keeps_linearity(exponent: float = 1.0) -> Finding:
    """A weighted sum of slacks is linear in them; the paper prints that weighting changes that."""
    rng = np.random.default_rng(0)
    weights, one, two = rng.uniform(size=(3, 20))

    def penalty(slack: np.ndarray) -> float:
        return float(weights @ slack**exponent)

    excess = penalty(2 * one + 3 * two) - 2 * penalty(one) - 3 * penalty(two)
    verdict = "erratum" if abs(excess) < 1e-12 * penalty(one) * 100 else "holds"
    return Finding(verdict, {"excess": abs(excess)})


ON_SURFACE = 1e-8  # beyond it a row counts as outside: one that copies a training row does not


@finding()
def rejection_against_acceptance(
    names: Sequence[str] = ("D7", "D12", "D14"), flip: bool = False
) -> Finding:
    """As p grows at a fixed cost, are more targets rejected and fewer outliers accepted?

    Rates on the test rows of one split per data set, threshold R^2. Holds when the two rates move
    in opposite directions at every step in which both move; partly when at most of them. ``flip``
    counts the outliers rejected instead, which must move the same way.

    Few steps move both rates, so one row decides between "holds" and "partly": a test row of D12
    copies a training row on the surface. It counts as inside for every ``ON_SURFACE`` from 1e-10 to
    1e-5 (13 of 14 steps); below, rounding says on which side it lies, and 13 of 13 steps are left.
    """
    trades = cells = 0
    ends = []
    for name in names:
        trial = prepare(Task(name, "pure", 0))
        kernels, m = trial.kernels, len(trial.y_validation)
        for c in COSTS:
            rates = []
            for found in solve_path(kernels.K, ps=EXPONENTS, cs=[c]):
                norm_sq = found.alpha @ kernels.K @ found.alpha
                d = squared_distances(kernels.K_eval, found.alpha, kernels.diag_eval, norm_sq)[m:]
                outside = d > found.radius_sq + ON_SURFACE
                accepted = outside if flip else ~outside
                rates.append(
                    (outside[trial.y_test == 1].mean(), accepted[trial.y_test == -1].mean())
                )
            steps = np.prod(np.diff(np.array(rates), axis=0), axis=1)
            trades += int((steps < 0).sum())
            cells += int((steps != 0).sum())  # steps in which both rates move
            ends.append((*rates[0], *rates[-1]))
    first = np.mean(ends, axis=0) * 100
    names = ("reject_low", "accept_low", "reject_high", "accept_high")
    facts = {"trades": trades, "cells": cells, **dict(zip(names, first, strict=True))}
    return Finding(graded(trades == cells, trades / cells > 0.75), facts)


@finding()
def radius_branch(costs: Sequence[float] = COSTS) -> Finding:
    """The dual with sum alpha = 1 has solutions with R^2 < 0: the branch R = 0 is not in it."""
    K, y = example(n=60)
    radius = solve(K, y, p=2.0, c=costs[0]).radius_sq
    share = np.mean([solve(K, y, p=p, c=c).radius_sq < 0 for p in EXPONENTS for c in costs])
    verdict = "holds partly" if radius < 0 else "holds"
    return Finding(verdict, {"radius": radius, "share": 100 * share})


@finding()
def radius_from_support_vectors(tolerance: float = 1e-5) -> Finding:
    """R^2 = d_j - y_j zeta_j is one number over all support vectors, with and without negatives."""
    spread = 0.0
    for negatives in (0, 10):
        K, y = example(negatives=negatives)
        for p in SAMPLE_EXPONENTS:
            found = solve(K, y, p=p, c=0.1, tol=1e-12)
            support = found.alpha > 1e-4
            zeta = (found.alpha / (0.1 * p)) ** (1 / (p - 1))
            beta = y * found.alpha
            d = squared_distances(K, beta, K.diagonal(), beta @ K @ beta)
            radii = (d - y * zeta)[support]
            spread = max(spread, float(np.ptp(radii)))
    return Finding(graded(spread <= tolerance, False), {"spread": spread})


@finding()
def support_depends_on_p(
    exponents: Sequence[float] = (1.0, *SAMPLE_EXPONENTS), threshold: float = 1e-6
) -> Finding:
    """The number of support vectors changes with p at a fixed cost."""
    K, y = example(n=100)
    counts = [int(np.sum(solve(K, y, p=p, c=0.05).alpha > threshold)) for p in exponents]
    facts = {"least": min(counts), "most": max(counts)}
    return Finding(graded(len(set(counts)) > 1, False), facts)


@finding()
def large_exponent(p: float = 400.0, tolerance: float = 0.03) -> Finding:
    """At a large p the centre is that of the hard ball and R^2 is one less, whatever the cost."""
    K, y = example(n=40)
    hard = solve(K, y, p=1.0, c=1.0)
    soft = [solve(K, y, p=p, c=c) for c in (0.1, 1.0)]
    centre = max(_centre_distance(K, s.alpha - hard.alpha) for s in soft)
    shift = max(abs(s.radius_sq - (hard.radius_sq - 1)) for s in soft)
    limit = centre <= tolerance and shift <= tolerance
    return Finding("holds partly" if limit else "holds", {"centre": centre, "shift": shift})


def _centre_distance(K: np.ndarray, difference: np.ndarray) -> float:
    return float(np.sqrt(max(difference @ K @ difference, 0.0)))


@finding()
def unit_length_simplification(kernel: str = "rbf", tolerance: float = 1e-4) -> Finding:
    """The dual solved with and without its linear term: the same multipliers for k(x, x) = 1?

    Largest distance between the two centres; a kernel of other lengths shows that it can differ.
    """
    K, y = example(negatives=10, kernel=kernel)
    apart = []
    for p in SAMPLE_EXPONENTS:
        full = solve(K, y, p=p, c=0.1)
        spread, size = float(np.trace(K)) / len(y), float(K.diagonal().max())
        gram = Gram(K=K, diag=np.zeros(len(y)), spread=spread, size=size)
        dropped = solve(gram, y, p=p, c=0.1)
        apart.append(_centre_distance(K, y * (full.alpha - dropped.alpha)))
    return Finding(graded(max(apart) < tolerance, False), {"largest": max(apart)})
