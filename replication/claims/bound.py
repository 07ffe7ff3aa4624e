"""Checks of the generalisation bound (Section 4 of the paper)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from lpsvdd.bounds import lipschitz, lipschitz_printed, margin_loss, rademacher, trace_bound
from lpsvdd.solver import solve
from replication.claims.ledger import Outcome, check
from replication.claims.mathematics import example


@check
def rademacher_of_linear_class(n_draws: int = 2000, constant: float = 2.0) -> Outcome:
    """Monte-Carlo complexity of the linear class against (2B/n) sqrt(tr K)."""
    K, _ = example(n=60)
    value = rademacher(K, 1.0, n_draws, random_state=0)
    bound = constant / 2.0 * trace_bound(K, 1.0)
    verdict = "holds" if value <= bound else "not reproduced"
    return Outcome(verdict, {"value": float(value), "bound": bound})


@check
def uniform_deviation(
    n: int = 40, delta: float = 0.05, complexity: float = 1.0, spread: float = 3.0
) -> Outcome:
    """Theorem 3 on the class 1[x <= t] of uniform points, where both sides are known.

    E g = t, so the largest deviation of a sample is max_i (x_(i) - (i-1)/n), and the complexity
    (2/n) E max_k S_k is that of a random walk of n steps. Without the absolute value in the
    definition the complexity is smaller, which makes the statement stronger.
    """
    rng = np.random.default_rng(0)
    walks = np.cumsum(2.0 * rng.integers(0, 2, size=(4000, n)) - 1.0, axis=1)
    of_class = 2.0 / n * float(np.maximum(walks.max(axis=1), 0.0).mean())
    largest = np.max(np.sort(rng.random((4000, n)), axis=1) - np.arange(n) / n, axis=1)
    bound = complexity * of_class + spread * math.sqrt(math.log(2.0 / delta) / (2.0 * n))
    share = float(np.mean(largest <= bound))
    facts = {"share": 100 * share, "bound": bound, "largest": float(largest.max()), "n": n}
    return Outcome("holds" if share >= 1.0 - delta else "not reproduced", facts)


@check
def contraction(factor: float = 2.0, n: int = 8, margin: float = 0.5) -> Outcome:
    """Theorem 4, R(A o F) <= 2 L R(F), over all 2^n signs, for a finite class of linear functions.

    A is the margin loss, L = p / margin its constant. ``plain`` is the ratio R(A o F) / (L R(F))
    without the absolute value in the definition of R, for which 1 is enough.
    """
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, 2))
    angles = np.linspace(0.0, 2.0 * np.pi, 40, endpoint=False)
    directions = np.stack([np.cos(angles), np.sin(angles)])
    linear = np.hstack([radius * points @ directions for radius in (0.05, 0.2, 0.5, 1.0)])
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
    with_sign, plain = [], []
    for p in (1.0, 4 / 3, 2.0, 5.0):
        lost = margin_loss(linear, p=p, margin=margin)
        slope = lipschitz(p=p, margin=margin)
        sums, sums_lost = signs @ linear, signs @ lost
        with_sign.append(
            np.abs(sums_lost).max(axis=1).mean() / (slope * np.abs(sums).max(axis=1).mean())
        )
        plain.append(sums_lost.max(axis=1).mean() / (slope * sums.max(axis=1).mean()))
    facts = {"ratio": float(max(with_sign)), "plain": float(max(plain)), "n": n, "signs": 2**n}
    return Outcome("holds" if max(with_sign) <= factor else "not reproduced", facts)


@check
def squared_in_theorem_5(kappa: float = 2.0) -> Outcome:
    """Two opposite points: f exceeds B^2 + 3 B_kappa, the bracket as Theorem 5 prints it."""
    # phi = ±kappa on a line, centre at one end (||w|| = kappa): f at the other end is 4 kappa^2.
    largest = (2 * kappa) ** 2
    as_printed = kappa**2 + 3 * kappa
    in_proof = kappa**2 + 3 * kappa**2
    verdict = "erratum" if as_printed < largest <= in_proof else "holds"
    return Outcome(verdict, {"largest": largest, "as_printed": as_printed, "in_proof": in_proof})


@check
def distance_bound_with_negatives(negative: Sequence[float] = (0.0, 0.8)) -> Outcome:
    """A model fitted with a negative for which f exceeds B^2 + 3 B_kappa^2.

    Points of the plane, linear kernel, norms at most B_kappa = 1: two positives side by side, a
    negative just below the middle of their segment. To leave it out the ball moves up, beyond the
    unit disc; at the point (0, -1) of that disc f is then larger than the bracket.
    """
    X = np.array([[-0.4, 0.9], [0.4, 0.9], negative])
    y = np.array([1.0, 1.0, -1.0])
    found = solve(X @ X.T, y, p=2.0, c=100.0)
    centre = (y * found.alpha) @ X
    f = float(np.sum((np.array([0.0, -1.0]) - centre) ** 2))
    bracket = float(centre @ centre) + 3.0
    facts = {"f": f, "bracket": bracket, "total": found.alpha[y > 0].sum()}
    return Outcome("holds partly" if f > bracket else "holds", facts)


@check
def lipschitz_constant(margin: float = 0.1) -> Outcome:
    """The printed constant is an upper bound; how far above the slope p/v of the clipped loss."""
    ratios = {
        p: lipschitz_printed(p=p, margin=margin, B=1.0, B_kappa=1.0, radius_sq=1.0)
        / lipschitz(p=p, margin=margin)
        for p in (1.0, 2.0, 5.0)
    }
    verdict = "holds" if min(ratios.values()) >= 1 - 1e-12 else "erratum"
    return Outcome(verdict, {"at_2": ratios[2.0], "at_5": ratios[5.0]})
