"""The error bound as printed: what its confidence term pays for, and a negative radius."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lpsvdd.bounds import error_bound
from lpsvdd.bounds.theorems import confidence_term
from lpsvdd.solver import solve


def most_pieces(delta: float) -> float:
    """M(delta) of the book: into so many pieces the offset may be cut."""
    return delta * math.exp(2.0 * (3.0 * math.sqrt(math.log(2.0 / delta) / 2.0) - 0.5) ** 2)


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("p", [1.0, 1.2, 2.0, 20.0])
def test_confidence_term_pays_for_the_offset_up_to_the_limit(delta, p):
    """Proposition "The confidence term absorbs the offset", term by term, for k(x, x) = 1."""
    most, n = most_pieces(delta), 1_000

    def spare(pieces: float) -> float:
        paid = 0.5 + math.sqrt(math.log(pieces / delta) / 2.0)
        return math.sqrt(n) * confidence_term(n, delta) - paid

    assert spare(most * (1.0 - 1e-9)) > 0.0 > spare(most * (1.0 + 1e-9))
    for rho in (1.0, 2.0, 30.0):
        assert math.ceil(2.0 * p * (rho + 1.0)) <= most
        printed = error_bound(
            p=p, slack=np.zeros(n), K=np.ones(n), margin=4.0 / rho, delta=delta, radius_sq=0.0,
            B=1.0, form="paper",
        )  # fmt: skip
        assert p * rho <= math.sqrt(n) * printed.complexity * (1.0 + 1e-9)


def test_printed_bound_with_a_negative_radius_and_its_sign_is_wrong():
    """Every new point is on the wrong side by more than the margin; the bound is below one."""
    n, p, delta = 30, 150.0, 0.05
    slack = 1.0 - 1.0 / n + 4.0
    ball = solve(np.eye(n), p=p, c=1.0 / (p * n * slack ** (p - 1.0)))
    assert ball.radius_sq == pytest.approx(-4.0)
    fresh = 1.0 + ball.alpha @ ball.alpha  # squared distance of a point orthogonal to all others
    margin = 5.03
    assert fresh - ball.radius_sq > margin
    reach = max(1.0 + 3.0 + ball.radius_sq, 0.0)  # the solver's R2 is -4 up to rounding
    printed = (
        np.mean((ball.slack / margin) ** p)
        + 4.0 * p / (margin**p * math.sqrt(n)) * reach ** (p - 1.0)
        + confidence_term(n, delta)
    )
    assert printed < 0.9
    assert error_bound(
        p=p, slack=ball.slack, K=np.eye(n), margin=margin, delta=delta, radius_sq=ball.radius_sq,
        form="paper",
    ).vacuous  # fmt: skip
