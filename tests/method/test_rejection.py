"""The risk of rejection: the formula, the lemmas, and no silent miss."""

import itertools
import warnings
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.stats import ncx2
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from lpsvdd import LpSVDD, LpSVDDCV, load_model, save
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


@pytest.mark.parametrize("beta", [Fraction(1, 20), Fraction(1, 10**6)])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_both_ends_are_the_roots_of_the_polynomial(n, beta):
    step = Fraction(1, 10**9)
    for sides, k in itertools.product(SHARES, range(n + 1)):
        low, high = rejection_risk(k, n, float(beta), sides=sides)
        if sides == "lower" or k == n:
            assert high == 1.0
        else:
            t = 1 - Fraction(high)
            assert polynomial(k, n, beta, t - step, sides) < 0
            assert polynomial(k, n, beta, t + step, sides) > 0
        if sides == "upper":
            assert low == 0.0
        elif low == 0.0:  # no root below t = 1
            assert polynomial(k, n, beta, Fraction(1), sides) >= 0
        else:
            v = Fraction(low)
            assert polynomial(k, n, beta, 1 - v * (1 + step), sides) > 0
            assert polynomial(k, n, beta, 1 - v * (1 - step), sides) < 0


@pytest.mark.parametrize("sides", SHARES)
@pytest.mark.parametrize("beta", [1e-9, 0.05, 0.999])
def test_the_ends_grow_with_k_and_enclose_the_share(beta, sides):
    counts = {n: range(n + 1) for n in (1, 2, 11, 60)} | {10**6: (0, 1, 9, 10**3, 10**6)}
    for n, ks in counts.items():
        lows, highs = zip(*(rejection_risk(k, n, beta, sides=sides) for k in ks), strict=True)
        assert list(lows) == sorted(lows) and list(highs) == sorted(highs)
        ends = zip(ks, lows, highs, strict=True)
        assert all(0.0 <= low <= k / n <= high <= 1.0 for k, low, high in ends)
    low, high = rejection_risk(20, 100, beta)
    wide = rejection_risk(20, 100, beta / 2)
    assert wide[0] < low and wide[1] > high  # a smaller beta is wider, one side alone sharper
    one = rejection_risk(np.int64(20), np.int32(100), beta, sides=sides)
    assert sides == "both" or (one[0] > low if sides == "lower" else one[1] < high)


def test_two_counts_share_beta_and_enclose_the_interval_of_each():
    low, high = Determining(20, 24, 100).risk(0.1)
    assert low == rejection_risk(20, 100, 0.05, sides="lower")[0] > 0.0
    assert high == rejection_risk(24, 100, 0.05, sides="upper")[1]
    for k in range(20, 25):
        one_low, one_high = Determining(k, k, 100).risk(0.1)
        assert low < one_low and one_high < high
    for sides, k in (("upper", 24), ("lower", 20)):
        expected = rejection_risk(k, 100, 0.1, sides=sides)
        assert Determining(20, 24, 100).risk(0.1, sides=sides) == expected


def points(n=60, seed=0, atoms=False):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, size=(n, 2)).astype(float) if atoms else rng.normal(size=(n, 2))


def unit_rows(rng, n):
    X = rng.normal(size=(n, 2))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def ball(model):
    """The centre, seen through the distances of some probes, and R^2."""
    return np.append(model.score_samples(points(20, seed=5)), model.radius_sq_)


@pytest.mark.parametrize(("p", "C", "atoms"), [
    (1.0, 0.07, False), (4 / 3, 0.3, True), (2.0, 0.5, False), (3.0, 5.0, True),
])  # fmt: skip
def test_the_points_that_are_counted_alone_give_the_same_ball(p, C, atoms):
    """Those outside; at p = 1 those on the surface too."""
    X = points(atoms=atoms)
    model = LpSVDD(p=p, C=C, gamma=0.3).fit(X)
    h = -model.score_samples(X) - model.radius_sq_
    outside = model.predict(X) < 0
    needed = h > -1e-6 if p == 1.0 else outside
    assert 0 < outside.sum() < len(X) and (outside.sum() < needed.sum()) == (p == 1.0)
    alone = LpSVDD(p=p, C=C, gamma=0.3).fit(X[needed])
    np.testing.assert_allclose(ball(alone), ball(model), atol=1e-6)
    assert determining_points(model) == Determining(outside.sum(), needed.sum(), len(X))
    if p == 1.0:
        one_count = Determining(needed.sum(), needed.sum(), len(X))
        assert determining_points(model, density=True) == one_count
        without = LpSVDD(p=1.0, C=1.0, gamma=0.3).fit(X[outside])
        assert not np.allclose(ball(without), ball(model), atol=1e-3)
    else:
        assert model.rejection_risk(0.1) == rejection_risk(outside.sum(), len(X), 0.1)


@pytest.mark.parametrize("p", [1.0, 1.5])
def test_points_within_the_reach_of_a_gap_count_as_either_side_of_the_surface(p):
    """A gap g leaves distances known to 6 sqrt(g) of the largest one."""
    model = LpSVDD(p=p, C=0.1, gamma=0.3).fit(points(150))
    d = -model.score_samples(points(150))
    model.duality_gap_ = 1e-4
    near = 0.06 * d.max()
    h = d - model.radius_sq_
    proven = (h > near) | ((p > 1.0) & (model.alpha_ > 1e-3 * model.alpha_.max()))
    assert determining_points(model) == Determining(proven.sum(), (h >= -near).sum(), 150)
    assert ((h > 0.0) & (h <= near)).any() and ((h < 0.0) & (h >= -near)).any()


@pytest.mark.parametrize("seed", range(5))
def test_slacks_below_rounding_do_not_count_for_the_lower_end(seed):
    """A circle at p = 1.05: multipliers 1/40 mean slacks of 1e-32, and rounding decides a score."""
    circle = unit_rows(np.random.default_rng(seed), 40)
    model = LpSVDD(p=1.05, C=1.0, kernel="linear").fit(circle)
    assert determining_points(model) == Determining(0, 40, 40)


def test_every_radius_of_an_interval_is_optimal():
    """p = 1 with 1/C an integer: two of 30 points outside, the next one inside may count."""
    model = LpSVDD(p=1.0, C=0.5, kernel="linear").fit(points(30)[:, :1])
    assert determining_points(model) == Determining(0, 3, 30)  # both on the largest ball
    assert determining_points(model, density=True) == Determining(2, 3, 30)
    assert rejection_risk_of(model, 0.1, density=True) == Determining(2, 3, 30).risk(0.1)


def test_equal_points_at_p_1_leave_the_lower_end_to_the_points_outside():
    """A coin: all points lie on the surface, and nothing is ever rejected."""
    X = np.repeat([[-1.0], [1.0]], 20, axis=0)
    model = LpSVDD(p=1.0, C=1.0, kernel="linear").fit(X)
    assert (model.predict(X) > 0).all()
    assert determining_points(model) == Determining(0, 40, 40)
    assert model.rejection_risk()[0] == 0.0
    assert rejection_risk(40, 40)[0] > 0.5  # what one count for both ends would claim
    with pytest.raises(ValueError, match="density=True, but rows are equal"):
        determining_points(model, density=True)
    circle = LpSVDD(p=1.0, C=1.0, kernel="linear").fit(unit_rows(np.random.default_rng(0), 40))
    with pytest.raises(ValueError, match="40 points lie on the sphere, and with a density at most"):
        determining_points(circle, density=True)


def test_only_positive_points_are_counted_with_labelled_outliers():
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(size=(50, 2)), rng.uniform(-4, 4, size=(20, 2))])
    model = LpSVDD(p=2.0, C=0.5, gamma=0.3).fit(X, np.repeat([1, -1], [50, 20]))
    k = int((model.predict(X[:50]) < 0).sum())
    assert determining_points(model) == Determining(k, k, 50)


def test_points_without_weight_and_points_used_before_are_not_counted():
    X = points(60)
    model = LpSVDD(p=2.0, C=0.5, gamma=0.3).fit(X, sample_weight=np.repeat([1.0, 0.0], [40, 20]))
    part = LpSVDD(p=2.0, C=0.5, gamma=0.3).fit(X[:40])
    with pytest.warns(AssumptionWarning, match="sample weights"):
        assert model.rejection_risk() == part.rejection_risk()
    k = int((part.predict(X[10:40]) < 0).sum())
    assert rejection_risk_of(part, counted=np.arange(40) >= 10) == rejection_risk(k, 30)


def said_by(model, **options) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rejection_risk_of(model, **options)
    return [str(one.message) for one in caught if one.category is AssumptionWarning]


@pytest.mark.parametrize("options, estimated", [
    ({"C": 0.5}, "the width gamma='quarter-mean-distance' was"),
    ({"surface": "ball"}, "the width gamma='quarter-mean-distance' and the cost C='scale' were"),
    ({"C": 0.5, "gamma": 0.3}, None), ({"C": 0.5, "gamma": "auto"}, None),
    ({"C": 0.05, "kernel": "linear"}, None),
    ({"p": 1.0, "gamma": 0.3, "surface": "ball"}, None),  # C = 1/(nu n): known before
], ids=str)  # fmt: skip
def test_what_was_estimated_from_the_counted_rows_is_named_in_one_sentence(options, estimated):
    said = said_by(LpSVDD(**options).fit(points()))
    assert len(said) == (estimated is not None)
    assert estimated is None or said[0].startswith(f"{estimated} estimated from the rows")


def test_a_search_on_the_same_rows_is_named(tmp_path):
    search = LpSVDDCV(gammas=[0.1, 0.5], random_state=0).fit(points())
    save(search, tmp_path / "model.lpsvdd")
    for model in (search, load_model(tmp_path / "model.lpsvdd")):
        assert "the setting chosen by LpSVDDCV" in said_by(model.best_estimator_)[0]


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()])
def test_columns_scaled_by_the_counted_rows_are_seen(scaler):
    X, model = 3.0 + points(80), LpSVDD(C=0.5, gamma=0.3)
    (said,) = said_by(model.fit(scaler.fit_transform(X)))
    assert said.startswith("the scaling of the columns was estimated")
    assert not said_by(model.fit(scaler.fit(X[:20]).transform(X[20:])))
    signs = np.repeat([[-1.0], [1.0]], 20, axis=0)  # mean 0 and deviation 1 by themselves
    assert not said_by(model.fit(signs))


def test_the_interval_is_that_of_the_ball_and_says_so_where_the_surface_is_another():
    model, ball = (LpSVDD(C=0.5, nu=nu, gamma=0.3).fit(points()) for nu in (0.1, None))
    with pytest.warns(AssumptionWarning, match="about the ball.* leave-one-out surface"):
        assert model.rejection_risk() == ball.rejection_risk()


@pytest.mark.parametrize(("p", "C"), [(1.0, 0.1), (2.0, 0.05)])
def test_the_interval_covers_the_exact_risk(p, C):
    """N(0, I) and a linear kernel: the risk of a ball is a tail of a noncentral chi-square."""
    rng = np.random.default_rng(8)
    covered = []
    for _ in range(60):
        model = LpSVDD(p=p, C=C, kernel="linear").fit(rng.normal(size=(30, 3)))
        risk = ncx2.sf(model.radius_sq_, 3, model.centre_ @ model.centre_)
        ends = [rejection_risk_of(model, density=density) for density in (False, True)]
        covered.append([low <= risk <= high for low, high in ends])
        assert all(high - low < 0.7 for low, high in ends)
    assert (np.mean(covered, axis=0) >= 0.95).all()


@pytest.mark.parametrize("p", [1.01, 1.05])
def test_the_interval_near_p_1_covers_where_a_count_of_scores_misses(p):
    """A tenth of the rows hold the ball, and no computed score shows that they lie outside."""
    rng = np.random.default_rng(8)
    own, by_scores = [], []
    for _ in range(20):
        X = rng.normal(size=(60, 20))
        model = LpSVDD(p=p, C=1.0, kernel="linear", surface="ball").fit(X)
        risk = ncx2.sf(model.radius_sq_, 20, model.centre_ @ model.centre_)
        counted = rejection_risk(int((model.predict(X) < 0).sum()), len(X))
        for covered, (low, high) in ((own, rejection_risk_of(model)), (by_scores, counted)):
            covered.append(low <= risk <= high)
    assert np.mean(own) >= 0.95
    assert np.mean(by_scores) < 0.5


DRAWS = {
    "unit rows": unit_rows,
    "lattice": lambda rng, n: np.round(rng.normal(size=(n, 2))),
    "indicator": lambda rng, n: np.c_[rng.integers(0, 2, n).astype(float), rng.normal(size=n)],
    "three atoms": lambda rng, n: rng.choice([-1.0, 0.0, 1.0], size=(n, 1)),
}
LINEAR = {"kernel": "linear"}
SURFACES_WITH_MASS = [
    ("unit rows", LINEAR, 1.0), ("unit rows", LINEAR, 0.2), ("unit rows", {"gamma": 0.5}, 0.1),
    ("unit rows", {"kernel": "poly", "gamma": 1.0, "degree": 2}, 0.2), ("lattice", LINEAR, 0.1),
    ("lattice", {"gamma": 0.3}, 0.05), ("indicator", LINEAR, 0.1), ("three atoms", LINEAR, 0.1),
]  # fmt: skip
EMPTY_BALLS = [("unit rows", LINEAR, c) for c in (1 / 40, 0.01)] + [("three atoms", LINEAR, 0.02)]
CASES = [(*case, 1.0) for case in SURFACES_WITH_MASS]
CASES += [(*case, p) for case, p in zip(SURFACES_WITH_MASS[::2], (1.001, 1.2) * 2, strict=True)]
CASES += [(*case, 1.0) for case in EMPTY_BALLS]  # C n <= 1: everything is rejected


@pytest.mark.filterwarnings("ignore:radius_sq_")
@pytest.mark.parametrize(("draw", "kernel", "C", "p"), CASES)
def test_no_silent_miss_where_the_surface_has_mass(draw, kernel, C, p):
    """Measured on 4,000 fresh points; two hundredths are six standard errors of a small share."""
    misses = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, fresh = (DRAWS[draw](rng, n) for n in (40, 4000))
        model = LpSVDD(p=p, C=C, **kernel).fit(X)
        assert not said_by(model)
        low, high = model.rejection_risk()
        misses += not low - 0.02 <= np.mean(model.predict(fresh) < 0) <= high + 0.02
    assert misses <= 1  # more than one of eight at beta = 0.05: probability 0.06


def test_the_chosen_cost_is_the_last_that_passes_with_its_share_of_beta():
    X, costs = points(150), [0.03, 10.0, 0.3, 1.0]
    model = LpSVDD(p=1.5, gamma=0.3)
    choice = cost_for_rate(model, X, 0.25, costs=costs)
    assert choice.high <= 0.25 and choice.cost == choice.model.C
    assert choice.high == rejection_risk_of(choice.model, 0.05 / 4, sides="upper")[1]
    smaller = LpSVDD(p=1.5, gamma=0.3, C=max(c for c in costs if c < choice.cost)).fit(X)
    assert rejection_risk_of(smaller, 0.05 / 4, sides="upper")[1] > 0.25
    assert not hasattr(model, "alpha_")
    assert cost_for_rate(model, X, 0.25, costs=costs * 2).high == choice.high
