"""Checks of the generalisation bound (Section 4 of the paper)."""

from __future__ import annotations

import numpy as np

from lpsvdd.bounds import lipschitz, lipschitz_printed, rademacher, trace_bound
from lpsvdd.solver import solve
from replication.claims.ledger import Outcome, check
from replication.claims.mathematics import example


@check
def rademacher_of_linear_class(n_draws: int = 2000) -> Outcome:
    """Monte-Carlo complexity of the linear class against (2B/n) sqrt(tr K)."""
    K, _ = example(n=60)
    value = rademacher(K, 1.0, n_draws, random_state=0)
    bound = trace_bound(K, 1.0)
    verdict = "holds" if value <= bound else "not reproduced"
    return Outcome(verdict, {"value": float(value), "bound": bound})


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
def distance_bound_with_negatives() -> Outcome:
    """A model fitted with a negative for which f exceeds B^2 + 3 B_kappa^2.

    Points of the plane, linear kernel, norms at most B_kappa = 1: two positives side by side, a
    negative just below the middle of their segment. To leave it out the ball moves up, beyond the
    unit disc; at the point (0, -1) of that disc f is then larger than the bracket.
    """
    X = np.array([[-0.4, 0.9], [0.4, 0.9], [0.0, 0.8]])
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
