"""R^2 >= 0 as printed: the branch R^2 = 0, where it begins, its limits. Its gap."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from lpsvdd import solve
from lpsvdd.kernels import half_mean_distance, kernel_matrix, rbf_gamma
from replication.nonnegative import solve_nonnegative

EXPONENTS = (1.0, 32 / 31, 4 / 3, 2.0, 5.0, 20.0)


def gaussian(n: int = 25, negatives: int = 0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(n, 3)), rng.normal(size=(negatives, 3)) + 0.8])
    K = kernel_matrix(X, kernel="rbf", gamma=rbf_gamma(half_mean_distance(X)))
    return K, np.r_[np.ones(n), -np.ones(negatives)]


def distances(K: np.ndarray, beta: np.ndarray) -> np.ndarray:
    return np.diag(K) - 2 * K @ beta + beta @ K @ beta


def value(K, y, p, c, beta, radius_sq) -> float:
    """The primal objective, written out."""
    slack = np.maximum(y * (distances(K, beta) - radius_sq), 0.0)
    return radius_sq + float(np.sum(c * slack**p))


def dual_at_zero(K, p, alpha, d) -> float:
    """The dual value of the multipliers of slacks d, for the problem with R^2 >= 0."""
    scatter = alpha @ K.diagonal() - alpha @ K @ alpha / alpha.sum()
    return float(scatter - (1.0 - 1.0 / p) * alpha @ d)


@pytest.mark.parametrize("p", EXPONENTS)
def test_both_branches_occur_and_switch_where_the_free_radius_changes_sign(p):
    K, _ = gaussian()
    costs = np.geomspace(1e-3, 1.0, 13)
    kept = [solve_nonnegative(K, p=p, c=c) for c in costs]
    if p > 1:
        free = [max(solve(K, p=p, c=c).radius_sq, 0.0) for c in costs]
        assert [k.radius_sq for k in kept] == pytest.approx(free, abs=1e-6)
        assert [k.radius_sq == 0.0 for k in kept] == [r == 0.0 for r in free]
    statuses = {k.status for k in kept}
    assert "radius-zero" in statuses
    assert p == 20.0 or "optimal" in statuses  # at p = 20 c = 1 is not enough


@pytest.mark.parametrize("p", [4 / 3, 2.0, 5.0])
@pytest.mark.parametrize("c", [1e-3, 0.02, 0.3])
def test_with_negatives_no_ball_of_a_search_is_better(p, c):
    """The problem is not convex there: random balls with R^2 >= 0 around the solution and afar."""
    K, y = gaussian(20, negatives=8)
    found = solve_nonnegative(K, y, p=p, c=c)
    best = value(K, y, p, c, y * found.alpha, found.radius_sq)
    assert best == pytest.approx(found.primal, rel=1e-6)
    rng = np.random.default_rng(0)
    for step in (1.0, 0.1, 1e-2, 1e-3):
        for _ in range(60):
            beta = y * found.alpha + step * rng.normal(size=len(y)) / np.sqrt(len(y))
            radius_sq = max(found.radius_sq + step * rng.normal(), 0.0)
            assert value(K, y, p, c, beta, radius_sq) >= best - 1e-8
    if found.radius_sq == 0.0:
        alone = solve_nonnegative(K[:20, :20], p=p, c=c)
        assert found.alpha[:20] == pytest.approx(alone.alpha, abs=1e-7)
        assert np.all(found.alpha[20:] == 0.0)


def test_with_a_nonnegative_radius_the_returned_centre_is_the_certified_one():
    """P of the centre and the R2 that are returned, less D by hand, is the gap that is claimed."""
    rng = np.random.default_rng(5)
    branches = set()
    for _ in range(60):
        n = int(rng.integers(3, 30))
        p, c = float(rng.choice([1.2, 2.0, 5.0, 20.0])), 10.0 ** rng.uniform(-4, 0)
        K = kernel_matrix(rng.normal(size=(n, 2)), gamma=10.0 ** rng.uniform(-2, 1))
        found = solve_nonnegative(K, p=p, c=c)
        branches.add(found.status)
        d = np.maximum(distances(K, found.centre), 0.0)
        np.testing.assert_allclose(found.distances, d, atol=1e-12)
        assert found.primal == pytest.approx(value(K, 1.0, p, c, found.centre, found.radius_sq))
        if found.status == "radius-zero":
            alpha = c * p * d ** (p - 1.0)
            assert alpha.sum() <= 1.0 + 2e-9  # feasible: the dual bounds every ball with R2 >= 0
            np.testing.assert_allclose(found.alpha, alpha / alpha.sum(), atol=1e-9)
            assert found.gap <= 1e-9
            gap = (found.primal - dual_at_zero(K, p, alpha, d)) / found.primal
            assert found.gap == pytest.approx(gap, rel=1e-3, abs=1e-10)
    assert branches == {"optimal", "radius-zero"}


def test_the_gap_at_radius_zero_is_no_smaller_than_it_is():
    """Starved of iterations the gap is large enough to be seen: (P - D)/P, with its factor p."""
    K, p, c = kernel_matrix(np.random.default_rng(6).normal(size=(25, 3)), gamma=0.5), 20.0, 1e-4
    with pytest.warns(ConvergenceWarning, match="gap"):
        found = solve_nonnegative(K, p=p, c=c, max_iter=1)
    assert found.status == "not-converged" and found.gap > 1e-6
    d = found.distances
    primal = c * float((d**p).sum())
    dual = dual_at_zero(K, p, c * p * d ** (p - 1.0), d)
    assert found.gap == pytest.approx((primal - dual) / primal, rel=1e-6)
