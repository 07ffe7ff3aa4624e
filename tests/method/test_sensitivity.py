"""The sign that needs no labels: how alike two exponents rank held-out rows."""

from __future__ import annotations

import numpy as np
import pytest

import lpsvdd
from lpsvdd import sensitivity
from lpsvdd.kernels import kernel_matrix
from lpsvdd.solver import Gram


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(80, 3))


@pytest.mark.parametrize("p", [1.05, 1.2, 2.0, 20.0])
def test_ball_with_share_of_wide_kernel_leaves_that_share_outside(rows, p):
    points = Gram.check(kernel_matrix(rows, gamma=0.1))
    film = points.spread * (1e-5 if p < 1.2 else 1e-9)
    for nu in (0.25, 0.6):
        ball = sensitivity.ball_with_share(points, p, nu)
        outside = (ball.distances > ball.radius_sq + film).sum()
        assert ball.converged and abs(outside - nu * 80) <= 1


def test_ball_with_share_of_narrow_kernel_is_nearly_hard_with_more_outside(rows):
    points = Gram.check(kernel_matrix(rows, gamma=50.0))
    found = sensitivity.ball_with_share(points, 2.0, 0.05)
    assert (found.distances > found.radius_sq).mean() > 0.5
    hard = lpsvdd.solve(points, p=2.0, c=1e6)
    assert (found.alpha > 0).mean() > 0.5
    assert np.abs(found.centre - hard.centre).max() < 1e-3


def test_exponents_that_are_equal_rank_alike_and_order_is_nothing(rows):
    assert lpsvdd.exponent_sensitivity(rows, (2.0, 2.0)).correlation == pytest.approx(1.0)
    one, other = (lpsvdd.exponent_sensitivity(rows, ps) for ps in ((1.0, 2.0), (2.0, 1.0)))
    assert one.correlation == pytest.approx(other.correlation) and one.band == other.band
    scaled = lpsvdd.exponent_sensitivity(7.0 * rows, (1.0, 2.0))
    assert scaled.correlation == pytest.approx(one.correlation, abs=1e-3)


def test_correlation_of_wide_kernel_is_below_that_of_many_columns(rows):
    many = np.random.default_rng(1).normal(size=(100, 30))
    assert lpsvdd.exponent_sensitivity(many).band == "same"
    assert lpsvdd.exponent_sensitivity(many[:99]).band is None  # fewer than any judged table
    wide = lpsvdd.exponent_sensitivity(rows, gamma="scale")
    assert wide.correlation < lpsvdd.exponent_sensitivity(many).correlation


def test_band_has_its_limits_and_only_for_judged_exponents(rows):
    limits = {0.999: "same", 0.9989: "unclear", 0.95: "unclear", 0.9499: "differs"}
    assert {r: sensitivity._band(r) for r in limits} == limits
    assert sensitivity._band(1.0, wide=True) == "unclear"
    more = np.vstack([rows, rows + 0.1])
    assert lpsvdd.exponent_sensitivity(more).band is not None
    assert lpsvdd.exponent_sensitivity(more, (1.0, 5.0)).band is None
    assert lpsvdd.exponent_sensitivity(more, nu=0.2).band is None


def test_wide_kernel_is_never_called_same():
    many = np.random.default_rng(1).normal(size=(100, 200))
    gamma = lpsvdd.kernels.resolve_gamma("scale", many)
    for wide in ("scale", gamma, 0.5 * gamma):
        found = lpsvdd.exponent_sensitivity(many, gamma=wide)
        assert found.correlation >= sensitivity.SAME_FROM and found.band == "unclear"


def test_rows_beyond_the_most_are_drawn_at_random(rows, monkeypatch):
    monkeypatch.setattr(sensitivity, "MAX_ROWS", 60)
    found = [
        lpsvdd.exponent_sensitivity(rows, nu=0.4, gamma="scale", random_state=k).correlation
        for k in (3, 3, 4)
    ]
    assert found[0] == found[1] != found[2]


def test_rank_correlation_of_constant_scores_is_one_or_missing():
    flat, slope = np.zeros(4), np.arange(4.0)
    assert sensitivity.rank_correlation(flat, flat) == 1.0
    assert np.isnan(sensitivity.rank_correlation(flat, slope))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ps": (1.0,)}, "two exponents"),
        ({"ps": 2.0}, "two exponents"),
        ({"ps": (0.5, 2.0)}, "p must be"),
        ({"nu": 0.0}, "nu must be"),
        ({"ps": (1.0, 1000.0)}, "p=1000 is too large"),
    ],
)
def test_wrong_parameter_is_refused_with_what_is_allowed(rows, given, said):
    with pytest.raises(ValueError, match=said):
        lpsvdd.exponent_sensitivity(rows, **given)


def test_few_or_missing_rows_are_refused(rows):
    with pytest.raises(ValueError, match="minimum of 10"):
        lpsvdd.exponent_sensitivity(rows[:9])
    with pytest.raises(ValueError, match="NaN"):
        lpsvdd.exponent_sensitivity(np.where(rows > 2.0, np.nan, rows))
