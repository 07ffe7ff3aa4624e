"""C="scale" and nu: the formula, what depends on nu, and how many rows a rate needs."""

import warnings

import numpy as np
import pytest

from lpsvdd import LpSVDD
from lpsvdd.cost_rule import typical_rows
from lpsvdd.kernels import kernel_matrix

RNG = np.random.default_rng(6)
X = RNG.normal(size=(80, 3)) + 2.0
Y = np.repeat([1, -1], [60, 20])
WEIGHTS = RNG.integers(0, 4, size=80).astype(float)
KERNELS = {"rbf": {"gamma": 0.3}, "linear": {}, "poly": {"gamma": 0.3, "degree": 2}}


def spread(K, weight) -> float:
    """The mean squared distance to the kernel mean, as the mean over pairs."""
    share = weight / weight.sum()
    squared = K.diagonal()[:, None] + K.diagonal() - 2.0 * K
    return 0.5 * float(share @ squared @ share)


@pytest.mark.parametrize("solver", ["dense", "working-set", "landmarks"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("p", [1.0, 1.2, 2.0, 5.0])
def test_scale_is_the_formula(kernel, p, solver):
    """The labelled outliers do not enter, and a weight counts as so many rows."""
    options = {"kernel": kernel, **KERNELS[kernel]}
    for weight in (np.ones(80), WEIGHTS):
        found = LpSVDD(p=p, nu=0.2, solver=solver, **options).fit(X, Y, sample_weight=weight)
        targets = weight[Y > 0]
        slack = 0.1 * spread(kernel_matrix(X[Y > 0], **options), targets)
        expected = 1.0 / (0.2 * targets.sum() * p * slack ** (p - 1.0))
        assert found.C_ == pytest.approx(expected, rel=1e-9) and found.nu_ == 0.2


def test_typical_rows_depend_on_neither_order_nor_copies_nor_unit():
    rows, order = RNG.normal(size=(600, 3)), RNG.permutation(600)
    weight = RNG.integers(1, 4, size=600)
    copies = np.repeat(rows, weight, axis=0)

    def chosen(given, weight):
        some, counts = typical_rows(given, weight, 100)
        assert counts.sum() == 100.0
        return np.unique(given[some], axis=0)

    some = chosen(rows, weight)
    np.testing.assert_array_equal(chosen(rows[order], weight[order]), some)
    np.testing.assert_array_equal(chosen(8.0 * rows, weight), 8.0 * some)
    np.testing.assert_array_equal(chosen(copies, np.ones(len(copies))), some)
    assert typical_rows(np.arange(101.0)[:, None], np.ones(101), 1)[0] == 50  # the middle one
    whole, few = (spread(kernel_matrix(R, gamma=0.3), np.ones(len(R))) for R in (copies, some))
    assert few == pytest.approx(whole, rel=0.05)


def test_nu_is_a_tenth_and_moves_with_the_hardness():
    default, other = (LpSVDD(nu=nu, gamma=0.3).fit(X) for nu in (None, 0.3))
    assert default.nu_ == 0.1
    assert other.C_ == pytest.approx(default.C_ / 3.0)
    assert np.mean(other.predict(X) < 0) > np.mean(default.predict(X) < 0)


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_a_cost_makes_the_ball_and_nu_the_threshold(p):
    ball, both, other = (LpSVDD(p=p, C=5.0, nu=nu, gamma=0.3).fit(X) for nu in (None, 0.1, 0.4))
    for one in (both, other):
        np.testing.assert_array_equal(one.alpha_, ball.alpha_)
        assert one.radius_sq_ == ball.radius_sq_ and one.C_ == 5.0
    assert (both.nu_, other.nu_, ball.nu_) == (0.1, 0.4, None)
    assert both.offset_ < other.offset_


@pytest.mark.parametrize("size", [1e100, 1e-100])
def test_a_cost_beyond_floats_is_refused_by_its_cause(size):
    with pytest.raises(ValueError, match="squared distances near .* rescale"):
        LpSVDD(p=20.0, kernel="linear").fit(size * X)


@pytest.mark.parametrize(("nu", "need"), [(0.1, 9), (0.05, 19), (0.3, 3)])
def test_too_few_rows_for_a_rate_are_warned_about_with_the_number_that_would_do(nu, need):
    with pytest.warns(UserWarning, match=f"too few for nu={nu:g}.* use at least {need} rows"):
        few = LpSVDD(nu=nu, gamma=0.3).fit(X[: need - 1])
    assert (few.predict(X[: need - 1]) == 1).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LpSVDD(nu=nu, gamma=0.3).fit(X[:need])
        LpSVDD(C=1.0, gamma=0.3).fit(X[:2])
