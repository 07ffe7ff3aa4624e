"""The bounds: values computed by hand, inequalities that the proofs use, limits, fitted models."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpsvdd import LpSVDD, bounds, solve
from lpsvdd.bounds import error_bound, sample_size
from lpsvdd.bounds.theorems import confidence_term
from lpsvdd.kernels import kernel_matrix

HAND = {"p": 2.0, "slack": [0.0, 0.5, 1.0, 0.0], "K": np.eye(4), "margin": 1.0, "delta": 0.05}
HAND |= {"radius_sq": 0.5}
CONFIDENCE_N4 = 3 * math.sqrt(math.log(40) / 8)
X = np.random.default_rng(5).normal(size=(60, 2))


def test_printed_and_corrected_bound_by_hand():
    # (0.25 + 1)/4;  4 * 2 * 1 * 1 / sqrt(4) * (1 + 3 + 0.5)
    terms = error_bound(**HAND, B=1.0, form="paper")
    found = terms.empirical, terms.complexity, terms.confidence
    assert found == pytest.approx((0.3125, 18.0, CONFIDENCE_N4), rel=1e-9)
    assert terms.total == pytest.approx(18.3125 + CONFIDENCE_N4, rel=1e-9) and terms.vacuous
    # (2/1) * [ (4*1/4) * sqrt(4)  +  (4 + 1) / sqrt(4) ] = 2 * (2 + 2.5)
    terms = error_bound(**HAND, form="corrected")
    found = terms.B, terms.B_kappa, terms.empirical, terms.linear, terms.offset
    assert found == pytest.approx((1.0, 1.0, 0.3125, 4.0, 5.0), rel=1e-9)
    assert terms.total == pytest.approx(9.3125 + CONFIDENCE_N4, rel=1e-9)
    assert terms.enough == sample_size(2, 1.0, 0.05, empirical=0.3125)


def test_corrected_bound_with_negatives_takes_the_stratum_of_the_norm():
    # norm 3: B = 4 (k = 2), delta share 6/(9 pi^2); width 4*4*1 + 2v = 18.
    terms = error_bound(**HAND, negatives=True, norm=3.0)
    delta = 0.05 * 6 / (9 * math.pi**2)
    confidence = 3 * math.sqrt(math.log(2 / delta) / 8)
    found = terms.B, terms.linear, terms.offset, terms.delta_used, terms.confidence
    assert found == pytest.approx((4.0, 16.0, 18.0, delta, confidence), rel=1e-9)


def test_strata_cover_every_norm_and_their_shares_sum_to_one():
    assert bounds.stratum(0.0, 1.0)[:2] == bounds.stratum(1.0, 1.0)[:2] == (0, 1.0)
    assert bounds.stratum(np.nextafter(2.0, 3.0), 1.0)[:2] == (2, 4.0)
    for norm in (0.3, 1.5, 7.0, 64.0, 1000.0):
        k, B, _ = bounds.stratum(norm, 2.0)
        assert norm <= B and (k == 0 or norm > B / 2)
    shares = [bounds.stratum(2.0**k, 1.0)[2] for k in range(200)]
    # The remaining shares are below the integral of 6/(pi x)^2 from 200 on.
    assert 1 - 6 / (math.pi**2 * 200) <= sum(shares) <= 1


def test_complexity_of_orthogonal_and_of_equal_points_is_exact():
    for value in (
        bounds.rademacher(np.eye(9), 2.0, n_draws=50),
        bounds.trace_bound(np.eye(9), 2.0),
    ):
        assert value == pytest.approx(2 * 2 / 3, rel=1e-9)
    # Nine copies of one point: E|sum of 9 signs| = 9 * C(8, 4) / 2^8.
    exact = 2 * 2 / 9 * 9 * math.comb(8, 4) / 2**8
    copies = bounds.rademacher(np.ones((9, 9)), 2.0, n_draws=20_000, random_state=3)
    assert copies == pytest.approx(exact, rel=0.02)


def test_bound_of_large_p_and_small_margin_does_not_overflow():
    case = {**HAND, "p": 20.0, "margin": 1e-3, "B": 1.0}
    printed = error_bound(**case, form="paper")
    expected = math.log(4 * 20 / 2) + 20 * math.log(1e3) + 19 * math.log(4.5)
    assert printed.log_complexity == pytest.approx(expected, rel=1e-9)
    assert printed.complexity == pytest.approx(math.exp(expected), rel=1e-9)
    assert printed.empirical == pytest.approx((0.5**20 + 1) * 1e60 / 4, rel=1e-9)
    corrected = error_bound(**case, form="corrected")
    assert corrected.empirical == 0.5 and corrected.complexity < 1e6
    assert 10**140 < sample_size(20, 1e-3, 0.05, form="paper") < 10**150
    extreme = error_bound(**{**case, "p": 400.0}, form="paper")
    assert extreme.total == math.inf and math.isfinite(extreme.log_complexity)
    assert sample_size(400, 1e-3, 0.05, form="paper") == math.inf


@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0, 5.0])
@pytest.mark.parametrize("form", ["paper", "corrected"])
def test_sample_size_is_the_first_n_below_the_target(p, form):
    n = sample_size(p, 1.0, 0.05, 0.9, form=form, empirical=0.2)
    factor = 4 * p * 4 ** (p - 1) if form == "paper" else 9 * p
    confidence = 3 * math.sqrt(math.log(40) / 2)
    assert 0.2 + (factor + confidence) / math.sqrt(n) < 0.9
    assert 0.2 + (factor + confidence) / math.sqrt(n - 1) >= 0.9


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), B=st.floats(0.05, 5), margin=st.floats(0.01, 2))
def test_clipping_the_offset_leaves_the_loss_unchanged(seed, B, margin):
    """The step of the proof that bounds the free R^2: checked on random centres and offsets."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(50, 3))
    features *= rng.random((50, 1)) / np.linalg.norm(features, axis=1, keepdims=True)
    w = rng.normal(size=3)
    w *= B / np.linalg.norm(w)
    u = np.einsum("ij,ij->i", features, features) - 2 * features @ w
    short = min(B, 1.0)
    low, high = short**2 - 2 * B * short, 1 + 2 * B
    assert low - 1e-9 <= u.min() and u.max() <= high + 1e-9
    for negatives in (False, True):
        labels = rng.choice([-1.0, 1.0], size=50) if negatives else np.ones(50)
        s_low, s_high = -high - (margin if negatives else 0), margin - low
        width = bounds.offset_width(B=B, B_kappa=1.0, margin=margin, negatives=negatives)
        assert s_high - s_low == pytest.approx(width, rel=1e-9)
        for s in rng.normal(scale=10 * (1 + B) ** 2, size=20):
            free, clipped = (
                bounds.margin_loss(labels * (u + offset), p=1.7, margin=margin)
                for offset in (s, np.clip(s, s_low, s_high))
            )
            np.testing.assert_allclose(free, clipped, atol=1e-9)


def test_printed_distance_constant_fails_with_negatives():
    """The centre leaves the ball of radius B_kappa = 1, and f exceeds B^2 + 3 B_kappa^2.

    Hard separation asks (0.6 - w)^2 + 0.64 <= (0.5 - w)^2 for the centre (w, 0), so w >= 3.75, and
    the smallest R^2 is at w = 3.75. Then 0.6 + 0.1 alpha_3 = 3.75.
    """
    rows = np.array([[0.6, 0.8], [0.6, -0.8], [0.5, 0.0]])
    model = LpSVDD(p=1.0, C=50.0, kernel="linear").fit(rows, [1, 1, -1])
    np.testing.assert_allclose(model.alpha_, [16.25, 16.25, 31.5], rtol=1e-5)
    assert model.radius_sq_ == pytest.approx(3.15**2 + 0.64, rel=1e-6)
    f = -float(model.score_samples([[-1.0, 0.0]])[0])
    assert f == pytest.approx(4.75**2, rel=1e-6)
    assert 3.75**2 + 3 < f <= (3.75 + 1.0) ** 2 * (1 + 1e-6)


def test_printed_bound_with_a_negative_radius_and_its_sign_is_wrong():
    """Every new point is on the wrong side by more than the margin; the bound is below one."""
    n, p, delta, margin = 30, 150.0, 0.05, 5.03
    slack = 1.0 - 1.0 / n + 4.0
    ball = solve(np.eye(n), p=p, c=1.0 / (p * n * slack ** (p - 1.0)))
    assert ball.radius_sq == pytest.approx(-4.0)
    fresh = 1.0 + ball.alpha @ ball.alpha  # squared distance of a point orthogonal to all others
    assert fresh - ball.radius_sq > margin
    reach = max(1.0 + 3.0 + ball.radius_sq, 0.0)  # the solver's R2 is -4 up to rounding
    complexity = 4.0 * p / (margin**p * math.sqrt(n)) * reach ** (p - 1.0)
    assert np.mean((ball.slack / margin) ** p) + complexity + confidence_term(n, delta) < 0.9
    given = {"slack": ball.slack, "K": np.eye(n), "radius_sq": ball.radius_sq, "form": "paper"}
    assert error_bound(p=p, margin=margin, delta=delta, **given).vacuous


@pytest.mark.parametrize("form", ["paper", "corrected"])
def test_bound_of_a_model_is_the_bound_of_its_parts(form):
    model = LpSVDD(p=2.0, C=0.2, gamma=0.5).fit(X)
    K = kernel_matrix(X, gamma=0.5)
    norm = math.sqrt(model.alpha_ @ K @ model.alpha_)
    got = bounds.bound_of(model, margin=0.5, delta=0.1, form=form)
    parts = {"p": 2.0, "slack": model.slack_, "K": K, "margin": 0.5, "delta": 0.1, "form": form}
    want = error_bound(**parts, radius_sq=model.radius_sq_, norm=norm)
    assert got.total == pytest.approx(want.total, rel=1e-6)
    assert got.B == pytest.approx(1.0 if form == "corrected" else norm, rel=1e-7)
    assert any("fitted centre" in note for note in got.notes) == (form != "corrected")
    precomputed = LpSVDD(p=2.0, C=0.2, kernel="precomputed").fit(K)
    again = bounds.bound_of(precomputed, margin=0.5, delta=0.1, form=form)
    assert again.total == pytest.approx(got.total)


def test_bound_of_a_model_with_outliers_charges_them_and_takes_their_stratum():
    y = np.where(np.arange(60) % 4, 1, -1)
    model = LpSVDD(p=2.0, C=0.2, gamma=0.5).fit(X, y)
    got = bounds.bound_of(model, margin=0.5)
    parts = {"p": 2.0, "slack": model.slack_, "K": np.ones(60), "margin": 0.5, "delta": 0.05}
    given = parts | {"radius_sq": model.radius_sq_, "norm": math.sqrt(model.norm_sq_)}
    assert got.total == pytest.approx(error_bound(**given, negatives=True).total, rel=1e-6)
    assert got.total > error_bound(**given).total + 1e-3


def test_bound_of_a_model_uses_the_threshold_in_force_and_names_broken_assumptions():
    model = LpSVDD(p=2.0, C=0.2, contamination=0.2).fit(X)
    terms = bounds.bound_of(model, margin=0.01)
    loss = bounds.margin_loss(-model.decision_function(X), p=2.0, margin=0.01)
    assert terms.empirical == pytest.approx(loss.mean(), rel=1e-9)
    assert 0 < terms.empirical <= 0.2
    assert any("gamma" in note for note in terms.notes)
    assert bounds.bound_of(LpSVDD(C=0.2, gamma=0.7).fit(X), margin=0.01).notes == ()


def test_bound_of_the_plain_error_charges_points_short_of_the_margin():
    model = LpSVDD(p=1.0, C=0.1, gamma=0.5).fit(X)
    excess = -model.decision_function(X)
    error = bounds.bound_of(model, margin=0.2, event="error")
    violation = bounds.bound_of(model, margin=0.2)
    assert error.empirical == pytest.approx(np.clip(excess / 0.2 + 1, 0, 1).mean(), rel=1e-9)
    assert error.empirical > violation.empirical and error.complexity == violation.complexity
    for event in ("error", "violation"):  # a grid of two margins shares delta
        grid = bounds.bound_of(model, margin=[0.1, 0.2], event=event)
        assert grid.delta == 0.05 and grid.delta_used == pytest.approx(0.025)
