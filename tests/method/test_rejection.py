"""The risk of rejection: the formula against exact arithmetic, the lemmas against the solver."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import ncx2

from lpsvdd import LpSVDD
from lpsvdd.bounds import (
    AssumptionWarning,
    Determining,
    cost_for_rate,
    determining_points,
    rejection_risk,
    rejection_risk_of,
)

SHARES = {
    "both": (Fraction(1, 2), Fraction(1, 6)),
    "upper": (Fraction(1), Fraction(0)),
    "lower": (Fraction(0), Fraction(1, 3)),
}


def polynomial(k: int, n: int, beta: Fraction, t: Fraction, sides: str) -> Fraction:
    """Left minus right side of the equation of the theorem, exactly."""
    before, after = SHARES[sides]
    return (
        comb(n, k) * t ** (n - k)
        - beta * before / n * sum(comb(i, k) * t ** (i - k) for i in range(k, n))
        - beta * after / n * sum(comb(i, k) * t ** (i - k) for i in range(n + 1, 4 * n + 1))
    )


# -- the formula ---------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [Fraction(1, 20), Fraction(1, 10**6), Fraction(49, 50)])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 16])
def test_both_ends_are_the_roots_of_the_polynomial(n, beta):
    for sides, k in itertools.product(SHARES, range(n + 1)):
        low, high = rejection_risk(k, n, float(beta), sides=sides)
        step = Fraction(1, 10**12)
        if sides == "lower" or k == n:
            assert high == 1.0
        else:
            t = 1 - Fraction(high)
            assert polynomial(k, n, beta, t + step, sides) > 0
            assert polynomial(k, n, beta, t - step, sides) < 0
        if sides == "upper":
            assert low == 0.0
        elif low == 0.0:  # no root below t = 1
            assert polynomial(k, n, beta, Fraction(1), sides) >= 0
        else:
            v = Fraction(low)
            assert polynomial(k, n, beta, 1 - v * (1 + 10**3 * step), sides) > 0
            assert polynomial(k, n, beta, 1 - v * (1 - 10**3 * step), sides) < 0


@pytest.mark.parametrize("n", [20_000, pytest.param(10**6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("share", [0, 4, 0.1, -1, 1.0])
def test_many_points_against_the_sums_themselves(share, n):
    """The sums term by term, in logarithms: no incomplete beta function, no binomial tail."""
    k = share % n if isinstance(share, int) else round(share * n)
    beta = 0.05
    before, after = np.arange(k, n), np.arange(n + 1, 4 * n + 1)

    def log_terms(i, log_t):
        return gammaln(i + 1) - gammaln(k + 1) - gammaln(i - k + 1) + (i - k) * log_t

    def sign(v):
        log_t = np.log1p(-v)
        parts = [np.log(beta / (6 * n)) + logsumexp(log_terms(after, log_t))]
        if len(before):
            parts.append(np.log(beta / (2 * n)) + logsumexp(log_terms(before, log_t)))
        return np.sign(log_terms(np.array([n]), log_t)[0] - logsumexp(parts))

    low, high = rejection_risk(k, n, beta)
    if low > 0.0:
        width = 1e-5 * min(low, 1 - low)
        assert sign(low + width) > 0 > sign(low - width)
    else:
        assert sign(1e-12) > 0
    if k < n:
        width = max(1e-3 * min(high, 1 - high), 1e-15)
        assert sign(high - width) > 0 > sign(high + width)
    else:
        assert high == 1.0


@pytest.mark.parametrize("sides", SHARES)
@pytest.mark.parametrize("beta", [1e-9, 0.05, 0.999])
def test_the_ends_grow_with_k_and_enclose_the_share(beta, sides):
    for n in (1, 2, 11, 100):
        ends = [rejection_risk(k, n, beta, sides=sides) for k in range(n + 1)]
        assert all(0.0 <= low <= k / n <= high <= 1.0 for k, (low, high) in enumerate(ends))
        for (low, high), (next_low, next_high) in itertools.pairwise(ends):
            assert next_low >= low and next_high >= high
    large = [rejection_risk(k, 10**6, beta, sides=sides) for k in (0, 1, 9, 10**3, 10**6)]
    assert large == sorted(large) and [h for _, h in large] == sorted(h for _, h in large)


def test_one_side_is_sharper_and_a_smaller_beta_wider():
    low, high = rejection_risk(20, 100)
    assert rejection_risk(20, 100, sides="upper")[1] < high
    assert rejection_risk(20, 100, sides="lower")[0] > low
    wide = rejection_risk(20, 100, 1e-6)
    assert wide[0] < low and wide[1] > high
    assert rejection_risk(np.int64(20), np.int32(100)) == (low, high)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 10), "k must be an integer >= 0"),
        ((2.5, 10), "k must be an integer"),
        ((0, 0), "n must be an integer >= 1"),
        ((11, 10), "k must not exceed n"),
        ((1, 10, 0.0), "beta must lie"),
        ((1, 10, 1.0), "beta must lie"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        rejection_risk(*arguments)


def test_unknown_side():
    with pytest.raises(ValueError, match="sides must be one of both, upper, lower"):
        rejection_risk(1, 10, sides="left")


# -- what determines the ball: the lemmas of the proof -------------------------------------------


def points(n=60, seed=0, atoms=False):
    rng = np.random.default_rng(seed)
    if atoms:
        return rng.integers(0, 4, size=(n, 2)).astype(float)
    return rng.normal(size=(n, 2))


def ball(model, probes):
    """The centre, seen through the distances of some probes, and R^2."""
    return np.append(model.score_samples(probes), model.radius_sq_)


@pytest.mark.parametrize("atoms", [False, True])
@pytest.mark.parametrize(("p", "C"), [(4 / 3, 0.3), (2.0, 0.5), (3.0, 5.0)])
def test_the_points_outside_alone_give_the_same_ball(p, C, atoms):
    X, probes = points(atoms=atoms), points(20, seed=5)
    model = LpSVDD(p=p, C=C, gamma=0.3).fit(X)
    outside = model.predict(X) < 0
    assert 0 < outside.sum() < len(X)
    alone = LpSVDD(p=p, C=C, gamma=0.3).fit(X[outside])
    assert np.allclose(ball(alone, probes), ball(model, probes), atol=1e-7)
    assert (alone.predict(X[outside]) < 0).all()
    assert determining_points(model) == Determining(outside.sum(), outside.sum(), len(X))


def test_at_p_1_the_points_outside_and_on_the_surface_give_the_same_ball():
    X, probes = points(), points(20, seed=5)
    model = LpSVDD(p=1.0, C=0.07, gamma=0.3).fit(X)
    h = -model.score_samples(X) - model.radius_sq_
    outside, needed = h > 1e-9, h > -1e-9
    assert 0 < outside.sum() < needed.sum() < len(X)
    alone = LpSVDD(p=1.0, C=0.07, gamma=0.3).fit(X[needed])
    assert np.allclose(ball(alone, probes), ball(model, probes), atol=1e-7)
    found = determining_points(model)
    assert found == Determining(needed.sum(), needed.sum(), len(X))
    without = LpSVDD(p=1.0, C=1.0, gamma=0.3).fit(X[outside])
    assert not np.allclose(ball(without, probes), ball(model, probes), atol=1e-3)


@pytest.mark.parametrize("p", [4 / 3, 2.0])
def test_a_new_point_changes_the_ball_exactly_if_it_is_rejected(p):
    X, probes = points(), points(20, seed=5)
    model = LpSVDD(p=p, C=0.4, gamma=0.3).fit(X)
    verdicts = model.predict(probes)
    assert set(verdicts) == {-1, 1}
    for x, verdict in zip(probes, verdicts, strict=True):
        more = LpSVDD(p=p, C=0.4, gamma=0.3).fit(np.vstack([X, x]))
        same = np.allclose(ball(more, probes), ball(model, probes), atol=1e-7)
        assert same == (verdict > 0)
        assert (more.predict([x])[0] > 0) == (verdict > 0)


@pytest.mark.parametrize(("p", "C"), [(1.0, 0.15), (1.5, 0.2), (2.0, 0.5)])
def test_leave_one_out_needs_no_refits(p, C):
    """Its error is k/n exactly for p > 1, and between the two counts at p = 1."""
    X = points(40, seed=2)
    options = {"p": p, "C": C, "gamma": 0.3}
    model = LpSVDD(**options).fit(X)
    rejected = sum(
        LpSVDD(**options).fit(np.delete(X, i, axis=0)).predict(X[[i]])[0] < 0 for i in range(len(X))
    )
    outside = int((model.predict(X) < 0).sum())
    if p > 1.0:
        assert rejected == outside == determining_points(model).low
    else:
        assert outside <= rejected <= determining_points(model).high
        assert determining_points(model).high < len(X)


# -- what is counted in a fitted model -----------------------------------------------------------


def test_the_method_is_the_formula_with_the_number_outside():
    X = points(100)
    model = LpSVDD(p=2.0, C=0.5, gamma=0.3).fit(X)
    k = int((model.predict(X) < 0).sum())
    assert model.rejection_risk(0.1) == rejection_risk(k, 100, 0.1)
    assert model.rejection_risk() == rejection_risk_of(model, 0.05)
    precomputed = LpSVDD(p=2.0, C=0.5, kernel="precomputed").fit(_gaussian(X))
    assert precomputed.rejection_risk(0.1) == model.rejection_risk(0.1)


def _gaussian(X):
    return np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(-1))


@pytest.mark.parametrize("p", [1.0, 32 / 31, 1.2])
def test_numerical_dust_is_not_counted(p):
    """Near p = 1 true slacks are as small as 1e-30 and interior points keep tiny multipliers."""
    X = points(150)
    model = LpSVDD(p=p, C=0.1, gamma=0.3).fit(X)
    found = determining_points(model)
    precomputed = LpSVDD(p=p, C=0.1, kernel="precomputed").fit(_gaussian(X))
    assert found.low == found.high == determining_points(precomputed).low
    kept = model.alpha_ > 1e-3 * model.alpha_.max()
    assert found.low == kept.sum() < 40


def test_a_radius_below_zero_rejects_everything():
    X = points(30)
    with pytest.warns(UserWarning, match="radius_sq_"):
        model = LpSVDD(p=20.0, C=0.1, gamma=0.3).fit(X)
    low, high = model.rejection_risk()
    assert determining_points(model).low == 30 and high == 1.0 and low > 0.6


def test_every_radius_of_an_interval_is_optimal():
    """p = 1 with 1/C an integer: two of 30 points outside, the next one inside may count."""
    model = LpSVDD(p=1.0, C=0.5, kernel="linear").fit(points(30)[:, :1])
    found = determining_points(model)
    assert found == Determining(2, 3, 30)
    assert model.rejection_risk(0.1) == (
        rejection_risk(2, 30, 0.05, sides="lower")[0],
        rejection_risk(3, 30, 0.05, sides="upper")[1],
    )


def test_two_counts_share_beta_and_enclose_the_interval_of_each():
    low, high = Determining(20, 24, 100).risk(0.1)
    assert low == rejection_risk(20, 100, 0.05, sides="lower")[0] > 0.0
    assert high == rejection_risk(24, 100, 0.05, sides="upper")[1]
    for k in range(20, 25):
        one_low, one_high = Determining(k, k, 100).risk(0.1)
        assert low < one_low and one_high < high
    assert Determining(20, 24, 100).risk(0.1, sides="upper") == rejection_risk(
        24, 100, 0.1, sides="upper"
    )


def test_equal_points_at_p_1_leave_the_lower_end_to_the_points_outside():
    """A coin: all points lie on the surface, and nothing is ever rejected."""
    X = np.repeat([[-1.0], [1.0]], 20, axis=0)
    model = LpSVDD(p=1.0, C=1.0, kernel="linear").fit(X)
    assert (model.predict(X) > 0).all()
    assert determining_points(model) == Determining(0, 40, 40)
    assert model.rejection_risk()[0] == 0.0
    assert rejection_risk(40, 40)[0] > 0.5  # what the count without ties would claim


def test_only_positive_points_are_counted_with_labelled_outliers():
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(size=(50, 2)), rng.uniform(-4, 4, size=(20, 2))])
    y = np.repeat([1, -1], [50, 20])
    model = LpSVDD(p=2.0, C=0.5, gamma=0.3).fit(X, y)
    k = int((model.predict(X[:50]) < 0).sum())
    assert determining_points(model) == Determining(k, k, 50)


def test_points_without_weight_and_points_used_before_are_not_counted():
    X = points(60)
    model = LpSVDD(p=2.0, C=0.5, gamma=0.3).fit(X, sample_weight=np.repeat([1.0, 0.0], [40, 20]))
    part = LpSVDD(p=2.0, C=0.5, gamma=0.3).fit(X[:40])
    with pytest.warns(AssumptionWarning, match="sample weights"):
        assert model.rejection_risk() == part.rejection_risk()
    rest = np.arange(40) >= 10
    k = int((part.predict(X[10:40]) < 0).sum())
    assert determining_points(part, counted=rest) == Determining(k, k, 30)
    assert rejection_risk_of(part, counted=rest) == rejection_risk(k, 30)
    for wrong in (rest[1:], rest.astype(int)):
        with pytest.raises(ValueError, match="counted must be 40 booleans"):
            determining_points(part, counted=wrong)
    with pytest.raises(ValueError, match="no positive training point is left"):
        determining_points(part, counted=np.zeros(40, dtype=bool))


def test_a_moved_threshold_is_refused():
    X = points()
    moved = LpSVDD(p=2.0, C=0.5, gamma=0.3, contamination=0.1).fit(X)
    with pytest.raises(ValueError, match="moved the threshold"):
        moved.rejection_risk()
    again = LpSVDD(p=2.0, C=0.5, gamma=0.3).fit(X)
    again.rethreshold(points(20, seed=9), quantile=0.1)
    with pytest.raises(ValueError, match="moved the threshold"):
        again.rejection_risk()


def test_a_learnt_width_is_named_and_a_given_one_is_not():
    X = points()
    with pytest.warns(AssumptionWarning, match="gamma='quarter-mean-distance'"):
        LpSVDD(C=0.5).fit(X).rejection_risk()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LpSVDD(C=0.5, gamma=0.3).fit(X).rejection_risk()
        LpSVDD(C=0.5, gamma="auto").fit(X).rejection_risk()
        LpSVDD(C=0.05, kernel="linear").fit(X).rejection_risk()


# -- the promise ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "C"), [(1.0, 0.1), (2.0, 0.05)])
def test_the_interval_covers_the_exact_risk(p, C):
    """N(0, I) and a linear kernel: the risk of a ball is a tail of a noncentral chi-square."""
    rng = np.random.default_rng(8)
    covered = []
    for _ in range(100):
        X = rng.normal(size=(30, 3))
        model = LpSVDD(p=p, C=C, kernel="linear").fit(X)
        centre = model.dual_coef_ @ X[model.support_]
        risk = ncx2.sf(model.radius_sq_, 3, centre @ centre)
        low, high = model.rejection_risk()
        covered.append(low <= risk <= high)
        assert high - low < 0.7
    assert np.mean(covered) >= 0.95


def test_the_chosen_cost_is_the_last_that_passes_with_its_share_of_beta():
    X = points(150)
    costs = [0.03, 10.0, 0.3, 1.0]
    model = LpSVDD(p=1.5, gamma=0.3)
    choice = cost_for_rate(model, X, 0.25, costs=costs)
    assert choice.high <= 0.25 and choice.cost == choice.model.C
    assert choice.high == rejection_risk_of(choice.model, 0.05 / 4, sides="upper")[1]
    tried = sorted(costs, reverse=True)
    following = tried[tried.index(choice.cost) + 1]
    smaller = LpSVDD(p=1.5, gamma=0.3, C=following).fit(X)
    assert rejection_risk_of(smaller, 0.05 / 4, sides="upper")[1] > 0.25
    assert not hasattr(model, "alpha_")
    assert cost_for_rate(model, X, 0.25, costs=costs * 2).high == choice.high
    with pytest.raises(ValueError, match="no cost guarantees a rejection rate of 0.01"):
        cost_for_rate(model, X, 0.01)
    with pytest.raises(ValueError, match="rate must lie"):
        cost_for_rate(model, X, 1.5)
