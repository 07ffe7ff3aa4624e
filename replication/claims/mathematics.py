"""Checks of the derivation (Section 3 of the paper), on small random problems."""

from __future__ import annotations

import numpy as np

from lpsvdd.kernels import half_mean_distance, kernel_matrix, rbf_gamma, squared_distances
from lpsvdd.solver import solve
from replication.claims.ledger import Outcome, check
from replication.paper import COSTS, EXPONENTS

SAMPLE_EXPONENTS = (16 / 15, 4 / 3, 2.0, 5.0)
SAMPLE_COSTS = (0.02, 0.1, 1.0)


def example(n: int = 40, negatives: int = 0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian kernel of two-dimensional points; negatives come from a shifted cloud."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(n, 2)), rng.normal(size=(negatives, 2)) + 1.5])
    gamma = rbf_gamma(half_mean_distance(X))
    y = np.concatenate([np.ones(n), -np.ones(negatives)])
    return kernel_matrix(X, kernel="rbf", gamma=gamma, degree=3, coef0=1.0), y


@check
def strong_duality(negatives: int = 0, tolerance: float = 1e-8) -> Outcome:
    """Primal and dual values agree on a grid of exponents and costs."""
    K, y = example(negatives=negatives)
    gaps = [solve(K, y, p=p, c=c, tol=1e-10).gap for p in SAMPLE_EXPONENTS for c in SAMPLE_COSTS]
    verdict = "holds" if max(gaps) <= tolerance else "not reproduced"
    return Outcome(verdict, {"gap": f"{max(gaps):.0e}", "cases": len(gaps)})


@check
def joint_form() -> Outcome:
    """Ratio of the printed joint penalty to the separate one, over exponents: 2^(q-1), not 1."""
    alpha = np.random.default_rng(0).dirichlet(np.ones(12))
    y = np.ones(12)
    ratios = {}
    for p in SAMPLE_EXPONENTS:
        q = p / (p - 1)
        coefficient = p ** (-1 / (p - 1)) * (1 - 1 / p)
        separate = coefficient * np.sum(alpha**q)
        joint = 0.5 * coefficient * np.sum((alpha * (1 + y)) ** q)
        ratios[p] = joint / separate
    expected = {p: 2 ** (p / (p - 1) - 1) for p in SAMPLE_EXPONENTS}
    if not all(np.isclose(ratios[p], expected[p]) for p in SAMPLE_EXPONENTS):
        raise AssertionError("the ratio is not 2^(q-1)")
    equal = all(np.isclose(ratio, 1) for ratio in ratios.values())
    return Outcome("holds" if equal else "erratum", {"ratio_p2": ratios[2.0]})


@check
def joint_form_cost() -> Outcome:
    """The printed joint dual at cost c has the solution of the separate dual at cost c/2."""
    K, y = example(negatives=10)
    p, c = 2.0, 0.2
    q = p / (p - 1)
    # Joint dual with the printed factor: its penalty equals that of the costs c_joint below.
    c_joint = c / 2
    printed = 0.5 * (c * p) ** (-1 / (p - 1)) * 2**q
    separate = (c_joint * p) ** (-1 / (p - 1))
    same = np.isclose(printed, separate)
    distance = np.abs(solve(K, y, p=p, c=c).alpha - solve(K, y, p=p, c=c_joint).alpha).max()
    verdict = "erratum" if same and distance > 1e-4 else "holds"
    return Outcome(verdict, {"distance": f"{distance:.3f}"})


@check
def radius_branch() -> Outcome:
    """The dual with sum alpha = 1 has solutions with R^2 < 0: the branch R = 0 is not in it."""
    K, y = example(n=60)
    radius = solve(K, y, p=2.0, c=1e-3).radius_sq
    share = np.mean([solve(K, y, p=p, c=c).radius_sq < 0 for p in EXPONENTS for c in COSTS])
    verdict = "holds partly" if radius < 0 else "holds"
    return Outcome(verdict, {"radius": radius, "share": 100 * share})


@check
def radius_from_support_vectors(tolerance: float = 1e-5) -> Outcome:
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
    return Outcome(
        "holds" if spread <= tolerance else "not reproduced", {"spread": f"{spread:.0e}"}
    )


@check
def sparsity(threshold: float = 1e-6) -> Outcome:
    """Support vectors at p = 1 and above; a sparsifying term would lower their number."""
    K, y = example(n=100)
    counts = {
        p: int(np.sum(solve(K, y, p=p, c=0.05).alpha > threshold)) for p in (1.0, *SAMPLE_EXPONENTS)
    }
    fewer = [p for p in SAMPLE_EXPONENTS if counts[p] < counts[1.0]]
    verdict = (
        "holds"
        if len(fewer) == len(SAMPLE_EXPONENTS)
        else "holds partly"
        if fewer
        else "not reproduced"
    )
    return Outcome(verdict, {"at_1": counts[1.0], "at_2": counts[2.0], "at_5": counts[5.0]})


@check
def support_depends_on_p(threshold: float = 1e-6) -> Outcome:
    """The number of support vectors changes with p at a fixed cost."""
    K, y = example(n=100)
    counts = [
        int(np.sum(solve(K, y, p=p, c=0.05).alpha > threshold)) for p in (1.0, *SAMPLE_EXPONENTS)
    ]
    verdict = "holds" if len(set(counts)) > 1 else "not reproduced"
    return Outcome(verdict, {"least": min(counts), "most": max(counts)})


@check
def large_exponent(tolerance: float = 0.03) -> Outcome:
    """At a large p the centre is that of the hard ball and R^2 is one less, whatever the cost."""
    K, y = example(n=40)
    hard = solve(K, y, p=1.0, c=1.0)
    soft = [solve(K, y, p=400.0, c=c) for c in (0.1, 1.0)]
    centre = max(_centre_distance(K, s.alpha - hard.alpha) for s in soft)
    shift = max(abs(s.radius_sq - (hard.radius_sq - 1)) for s in soft)
    limit = centre <= tolerance and shift <= tolerance
    return Outcome("holds partly" if limit else "holds", {"centre": centre, "shift": shift})


def _centre_distance(K: np.ndarray, difference: np.ndarray) -> float:
    return float(np.sqrt(max(difference @ K @ difference, 0.0)))


@check
def unit_length_simplification() -> Outcome:
    """With k(x, x) = 1 the linear term of the dual equals one for every feasible alpha."""
    K, y = example(negatives=10)
    rng = np.random.default_rng(0)
    values = []
    for _ in range(50):
        alpha = rng.exponential(size=len(y))
        alpha[y > 0] *= (1 + alpha[y < 0].sum()) / alpha[y > 0].sum()
        values.append(float(alpha * y @ np.diag(K)))
    largest = max(abs(value - 1) for value in values)
    return Outcome("holds" if largest < 1e-12 else "erratum", {"largest": f"{largest:.0e}"})
