"""The sign that needs no labels: how alike two exponents rank held-out rows."""

import numpy as np
import pytest

import lpsvdd
from lpsvdd import exponent_sensitivity, sensitivity
from lpsvdd.kernels import kernel_matrix
from lpsvdd.solver import Gram

ROWS = np.random.default_rng(0).normal(size=(80, 3))


@pytest.mark.parametrize("p", [1.05, 1.2, 2.0, 20.0])
def test_ball_with_share_of_wide_kernel_leaves_that_share_outside(p):
    points = Gram.check(kernel_matrix(ROWS, gamma=0.1))
    film = points.spread * (1e-5 if p < 1.2 else 1e-9)
    for nu in (0.25, 0.6):
        ball = sensitivity.ball_with_share(points, p, nu)
        outside = (ball.distances > ball.radius_sq + film).sum()
        assert ball.converged and abs(outside - nu * 80) <= 1


def test_ball_with_share_of_narrow_kernel_is_nearly_hard():
    points = Gram.check(kernel_matrix(ROWS, gamma=50.0))
    found = sensitivity.ball_with_share(points, 2.0, 0.05)
    assert (found.distances > found.radius_sq).mean() > 0.5
    hard = lpsvdd.solve(points, p=2.0, c=1e6)
    assert (found.alpha > 0).mean() > 0.5
    assert np.abs(found.centre - hard.centre).max() < 1e-3


def test_exponents_that_are_equal_rank_alike_and_order_and_unit_are_nothing():
    assert exponent_sensitivity(ROWS, (2.0, 2.0)).correlation == pytest.approx(1.0)
    one, other = (exponent_sensitivity(ROWS, ps) for ps in ((1.0, 2.0), (2.0, 1.0)))
    assert one.correlation == pytest.approx(other.correlation) and one.band == other.band
    scaled = exponent_sensitivity(7.0 * ROWS, (1.0, 2.0))
    assert scaled.correlation == pytest.approx(one.correlation, abs=1e-3)


def test_band_is_given_for_judged_numbers_of_rows_and_exponents_only():
    many = np.random.default_rng(1).normal(size=(100, 30))
    found = exponent_sensitivity(many)
    assert found.band == "same"
    assert exponent_sensitivity(many[:99]).band is None
    assert exponent_sensitivity(many, (1.0, 5.0)).band is None
    assert exponent_sensitivity(ROWS, gamma="scale").correlation < found.correlation
    limits = {0.999: "same", 0.9989: "unclear", 0.95: "unclear", 0.9499: "differs"}
    assert {r: sensitivity._band(r) for r in limits} == limits
    assert sensitivity._band(1.0, wide=True) == "unclear"
    more = np.vstack([ROWS, ROWS + 0.1])
    assert exponent_sensitivity(more).band is not None
    assert exponent_sensitivity(more, nu=0.2).band is None


def test_wide_kernel_is_never_called_same():
    many = np.random.default_rng(1).normal(size=(100, 200))
    gamma = lpsvdd.kernels.resolve_gamma("scale", many)
    for wide in ("scale", gamma, 0.5 * gamma):
        found = exponent_sensitivity(many, gamma=wide)
        assert found.correlation >= sensitivity.SAME_FROM and found.band == "unclear"


def test_rows_beyond_the_most_are_drawn_at_random(monkeypatch):
    monkeypatch.setattr(sensitivity, "MAX_ROWS", 60)
    one, same, other = (
        exponent_sensitivity(ROWS, nu=0.4, gamma="scale", random_state=k).correlation
        for k in (3, 3, 4)
    )
    assert one == same != other


def test_rank_correlation_of_constant_scores_is_one_or_missing():
    flat, slope = np.zeros(4), np.arange(4.0)
    assert sensitivity.rank_correlation(flat, flat) == 1.0
    assert np.isnan(sensitivity.rank_correlation(flat, slope))
