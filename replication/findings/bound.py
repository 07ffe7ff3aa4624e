"""The generalisation bound (Section 4 of the paper): its steps, its size, and what it chooses.

Tables: ``bound_coverage``, ``bound_terms``.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from lpsvdd.bounds import margin_loss, sample_size
from lpsvdd.kernels import kernel_matrix
from lpsvdd.solver import solve
from replication.datasets import RECORDS
from replication.findings import Numbers
from replication.paper import EXPONENTS

LARGEST_TRAINING_SET = max(round(record.positives / 3) for record in RECORDS)
"""The largest one-class training set of the experiments: a third of a set's targets."""


SIZE_MARGINS = (0.05, 0.1, 0.2, 0.5, 1.0)

# -- slips of the statement and its proof -------------------------------------------------------


def event_of_theorem_2(margin: float = 0.1, n_new: int = 20_000) -> Numbers:
    """Measure P[y(f - R2) > margin] and P[y(f - R2) > 0], misclassification, in per cent."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(60, 2)), rng.normal(size=(n_new, 2))
    K = kernel_matrix(X, kernel="rbf", gamma=0.25)
    found = solve(K, p=2.0, c=0.1)
    to_new = kernel_matrix(new, X, kernel="rbf", gamma=0.25) @ found.alpha
    h = 1.0 - 2.0 * to_new + found.alpha @ K @ found.alpha - found.radius_sq
    wrong, counted = 100 * float(np.mean(h > 0.0)), 100 * float(np.mean(h > margin))
    return {"wrong": wrong, "counted": counted, "margin": margin}


def loss_of_low_confidence(margin: float = 0.1) -> Numbers:
    """Find the largest margin loss of points that are on the right side by less than the margin."""
    right = np.linspace(-margin, 0.0, 11)
    losses = [margin_loss(right, p=p, margin=margin).max() for p in (1.0, 2.0, 5.0)]
    return {"largest": float(max(losses))}


def proof_with_outlier(x: float = 0.0, y: float = 0.8) -> Numbers:
    """Compare the centre with what the proof says of it, for two targets and an outlier (x, y).

    Points of the plane, linear kernel, norms at most B_kappa = 1. To leave the outlier out the ball
    moves up, beyond the unit disc; at the point (0, -1) of that disc ``f`` is then larger than the
    ``bracket`` B^2 + 3 B_kappa^2. ``total``: sum of the targets' multipliers. ``apart``: how far
    alpha'K alpha is from the square of the centre, with the outlier and without.
    """
    X, sign = np.array([[-0.4, 0.9], [0.4, 0.9], [x, y]]), np.array([1.0, 1.0, -1.0])
    apart = []
    for count in (2, 3):
        K = X[:count] @ X[:count].T
        alpha = solve(K, sign[:count], p=2.0, c=100.0).alpha
        signed = sign[:count] * alpha
        apart.append(abs(float(alpha @ K @ alpha - signed @ K @ signed)))
    centre = signed @ X
    return {
        "f": float(np.sum((np.array([0.0, -1.0]) - centre) ** 2)),
        "bracket": float(centre @ centre) + 3.0, "total": float(alpha[:2].sum()),
        "apart_without": apart[0], "apart": apart[1],
    }  # fmt: skip


def squared_in_theorem_5(kappa: float = 2.0) -> Numbers:
    """Compare f of two opposite points with the bracket as printed and as proved.

    phi = ±kappa on a line, centre at one end (||w|| = kappa): f at the other end is 4 kappa^2.
    """
    square = kappa**2
    return {"largest": 4 * square, "as_printed": square + 3 * kappa, "in_proof": 4 * square}


def printed_slope(p: float, *, margin: float, radius_sq: float) -> float:
    """The paper's Lipschitz constant (p/v^p) (B^2 + 3 B_kappa^2 + R^2)^(p-1) at B = B_kappa = 1.

    It bounds the slope of the unclipped power at t = |f| + R^2.
    """
    return p / margin**p * (4.0 + radius_sq) ** (p - 1.0)


def lipschitz_constant(margin: float = 0.1) -> Numbers:
    """Divide the printed Lipschitz constant by the slope p/v of the clipped loss."""
    slopes = {p: printed_slope(p, margin=margin, radius_sq=1.0) for p in (1.0, 2.0, 5.0)}
    return {f"at_{p:g}": slope / (p / margin) for p, slope in slopes.items()}


# -- its size, and what it chooses --------------------------------------------------------------


def bound_coverage(rows: pd.DataFrame, delta: float = 0.05, p: float = 20.0) -> Numbers:
    """Count how often the printed bound held in the simulation, and where it says nothing.

    ``largest_n``, rounded down to a digit: it is proved as long as 2 (sqrt(n) + 2 p) + 1 is at most
    delta exp(2 (3 sqrt(ln(2/delta) / 2) - 1/2)^2), although the printed proof has a gap.
    """
    spare = delta * math.exp(2 * (3 * math.sqrt(0.5 * math.log(2 / delta)) - 0.5) ** 2)
    largest = ((spare - 1) / 2 - 2 * p) ** 2
    power = 10.0 ** math.floor(math.log10(largest))
    return {
        "largest_n": math.floor(largest / power) * power,
        "lowest": 100 * rows["coverage_paper"].min(),
        "runs": int(rows["repetitions"].sum()),
        "vacuous": 100 * (rows["nonvacuous_paper"] == 0).mean(),
    }


def bound_sample_size(largest: int = LARGEST_TRAINING_SET) -> Numbers:
    """Count the paper's exponents whose printed bound can be below 1 at the paper's n.

    The best case: no slack, R^2 = 0, the best of five margins.
    """
    needed = [
        min(sample_size(p, margin, 0.05, form="paper", norm=1.0) for margin in SIZE_MARGINS)
        for p in EXPONENTS
    ]
    below = sum(n <= largest for n in needed)
    return {"below": below, "total": len(needed), "largest": largest}


def bound_at_one(rows: pd.DataFrame, slack: float = 0.5, n: float = 1e8) -> Numbers:
    """Compute the printed bound at p = 1 and 2 in an example, and how often p = 1 was best.

    Example: all slacks equal, margin 1, B = B_kappa = 1, R^2 = 0. For large n the complexity
    2 L · 2 B B_kappa / sqrt(n) vanishes and slack^p is left, which falls with p.
    """
    one, two = (slack**p + 4 * printed_slope(p, margin=1.0, radius_sq=0.0) / math.sqrt(n)
                for p in (1.0, 2.0))  # fmt: skip
    return {"share": 100 * rows.loc[rows["p"] == 1, "best_paper"].min(), "one": one, "two": two}
