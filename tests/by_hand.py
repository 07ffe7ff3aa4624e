"""Primal and dual of a fitted ball, written out from the derivation; no line of the solver."""

import numpy as np


def clusters(n: int, d: int = 4, seed: int = 0) -> np.ndarray:
    """Rows of three clusters, for tests of several solvers."""
    rng = np.random.default_rng(seed)
    centres = 2.0 * rng.normal(size=(3, d))
    return centres[rng.integers(3, size=n)] + rng.normal(size=(n, d))


def objective(model, d, y, cost) -> float:
    """R2 + sum c z^p of a fitted ball, in the units of the kernel."""
    slack = np.maximum(y * (d - model.radius_sq_), 0.0)
    return model.radius_sq_ + float(cost @ slack**model.p)


def dual_by_hand(alpha, y, K, p, cost) -> float:
    """The dual value of the problem with the exact kernel; minus infinity if infeasible."""
    if (alpha < 0.0).any() or abs(y @ alpha - 1.0) > 1e-9 * alpha.sum():
        return -np.inf
    beta = y * alpha
    value = float(beta @ K.diagonal() - beta @ K @ beta)
    if p == 1.0:
        return value if (alpha <= cost * (1.0 + 1e-9)).all() else -np.inf
    slack = (alpha / (cost * p)) ** (1.0 / (p - 1.0))
    return value - (1.0 - 1.0 / p) * float(alpha @ slack)


def unit(K, p, cost) -> float:
    """The unit of length of ``lpsvdd.solver.problem``, squared."""
    spread = K.diagonal().mean() - K.mean()
    return spread if p == 1.0 else max(spread, (p * cost.sum()) ** (-1.0 / (p - 1.0)))
