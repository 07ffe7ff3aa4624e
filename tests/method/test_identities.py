"""Identities between the methods: each links two independent pieces of code."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import spearmanr

from lpsvdd.kernels import kernel_matrix
from lpsvdd.solver import solve
from replication.baselines import GaussianProcessOCC, KernelMean

RNG = np.random.default_rng(11)
X = RNG.normal(size=(24, 3))
Z = np.vstack([RNG.normal(size=(40, 3)), RNG.normal(size=(20, 3)) + 3.0])
GAMMA = 0.5
K = kernel_matrix(X, gamma=GAMMA)
KZ = kernel_matrix(Z, X, gamma=GAMMA)
N = len(X)


def scores(beta, gram=K, cross=KZ):
    """-||phi(z) - sum_i beta_i phi(x_i)||^2."""
    return 2.0 * cross @ beta - 1.0 - beta @ gram @ beta


@pytest.mark.parametrize("p", [32 / 31, 4 / 3, 2.0, 5.0])
def test_lp_with_vanishing_cost_is_the_kernel_mean(p):
    # Slack tau = (n p c)^(-1/(p-1)) makes the multipliers sum to one; against it distances vanish.
    tau = 1e6
    found = scores(solve(K, p=p, c=tau ** (1.0 - p) / (N * p)).alpha)
    mean = KernelMean(gamma=GAMMA).fit(X).score_samples(Z)
    np.testing.assert_allclose(found, mean, atol=1e-5)


@pytest.mark.parametrize("c", [0.02, 0.1])
def test_l2_with_full_support_ranks_as_gp_mean(c):
    solution = solve(K, p=2.0, c=c, tol=1e-11)
    assert solution.alpha.min() > 1e-6
    u = np.linalg.solve(K + np.eye(N) / (4.0 * c), np.ones(N))
    np.testing.assert_allclose(solution.alpha, u / u.sum(), atol=2e-5)
    gp = GaussianProcessOCC(noise=1.0 / (4.0 * c), gamma=GAMMA).fit(X).score_samples(Z)
    assert spearmanr(scores(solution.alpha), gp).statistic > 0.999


def test_large_p_is_the_hard_ball_with_radius_less_one():
    # sum zeta^p with p -> infinity becomes the constraint zeta <= 1; on 3K there is room for it.
    ball = solve(3.0 * K, p=1.0, c=1.0, tol=1e-11)
    shifts = []
    for p in (50.0, 100.0, 200.0):
        limit = solve(3.0 * K, p=p, c=1.0)
        np.testing.assert_allclose(scores(limit.alpha), scores(ball.alpha), atol=1.0 / p)
        shifts.append(limit.radius_sq - ball.radius_sq)
    assert shifts[0] > shifts[1] > shifts[2] > -1.0
    assert shifts[2] == pytest.approx(-1.0, abs=0.05)


@pytest.mark.parametrize("p", [4 / 3, 2.0, 3.0])
def test_radius_changes_sign_at_the_critical_cost(p):
    def objective(beta):
        d = 1.0 - 2.0 * K @ beta + beta @ K @ beta
        slope = p * d ** (p - 1.0)
        return (d**p).sum(), 2.0 * (slope.sum() * (K @ beta) - K @ slope)

    options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9}
    beta = minimize(objective, np.full(N, 1.0 / N), jac=True, method="L-BFGS-B", options=options).x
    d = 1.0 - 2.0 * K @ beta + beta @ K @ beta
    critical = 1.0 / (p * (d ** (p - 1.0)).sum())
    below, at, above = (solve(K, p=p, c=f * critical).radius_sq for f in (0.999, 1.0, 1.001))
    assert below < 0.0 < above and at == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("p", [8 / 7, 2.0])
def test_negatives_outside_leave_the_model_as_it_is(p):
    gram = kernel_matrix(np.vstack([X, X[:6] + 4.0]), gamma=GAMMA)
    alone = solve(K, p=p, c=0.1, tol=1e-11)
    distances = -scores(alone.alpha, cross=gram[N:, :N])
    assert alone.radius_sq < distances.min()
    joint = solve(gram, np.repeat([1.0, -1.0], [N, 6]), p=p, c=0.1, tol=1e-11)
    np.testing.assert_allclose(joint.alpha[N:], 0.0, atol=1e-9)
    np.testing.assert_allclose(joint.alpha[:N], alone.alpha, atol=1e-5)
    assert joint.radius_sq == pytest.approx(alone.radius_sq, abs=1e-6)
