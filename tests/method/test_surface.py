"""The leave-one-out surface: the rate on new rows, the formula against refits, odd cases."""

import numpy as np
import pytest
from sklearn.base import clone

from lpsvdd import LpSVDD, estimators, solve, surface
from lpsvdd.kernels import kernel_matrix
from lpsvdd.surface import leave_one_out, rows_needed, upper_quantile


def ring(rng, n):
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    return np.c_[np.cos(angle), np.sin(angle)] * (1.0 + 0.1 * rng.normal(size=(n, 1)))


def three_clusters(rng, n):
    return np.array([[0, 0], [6, 0], [0, 6]])[rng.integers(0, 3, n)] + rng.normal(size=(n, 2))


SOURCES = {
    "ring": ring,
    "square": lambda rng, n: rng.uniform(-1.0, 1.0, (n, 2)),
    "clusters": three_clusters,
    "normal": lambda rng, n: rng.normal(size=(n, 2)),
    "heavy tails": lambda rng, n: rng.standard_t(2, size=(n, 3)),
    "0/1 columns": lambda rng, n: (rng.random((n, 8)) < np.linspace(0.1, 0.6, 8)).astype(float),
}


def rejected(model, rows) -> float:
    return float(np.mean(model.predict(rows) < 0))


def mean_rate(draw, n: int, seeds: int, **options) -> float:
    """The mean share of new rows that is rejected, over training sets."""
    rates = []
    for seed in range(seeds):
        rng = np.random.default_rng(1_000 * n + seed)
        X, new = draw(rng, n), draw(rng, 1_500)
        rates.append(rejected(LpSVDD(**options).fit(X), new))
    return float(np.mean(rates))


def both_orders(model, X, weight=1.0, y=1.0) -> tuple[np.ndarray, ...]:
    """What the module says: no order, the first, the second."""
    d = -model.score_samples(X)
    s = d + (y * model.alpha_) @ d
    given = {"p": model.p, "y": y * np.ones(len(X)), "weight": weight * np.ones(len(X))}
    K = kernel_matrix(X[model.support_], kernel=model.kernel, gamma=model.gamma_)
    first = leave_one_out(s, model.alpha_, **given)
    return s, first, leave_one_out(s, model.alpha_, slack=model.slack_, K=K, **given)


@pytest.mark.slow
@pytest.mark.parametrize("nu", [0.05, 0.1])
@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("source", SOURCES)
def test_new_rows_of_every_shape_are_rejected_at_the_wanted_rate(source, p, nu):
    draw = SOURCES[source]
    assert 0.7 * nu <= mean_rate(draw, 200, 16, p=p, nu=nu) <= 1.3 * nu
    assert 0.5 * nu <= mean_rate(draw, 60, 40, p=p, nu=nu) <= 1.5 * nu


@pytest.mark.parametrize("p", [1.0, 1.2, 5.0])
@pytest.mark.parametrize("source", ["ring", "heavy tails"])
def test_new_rows_are_rejected_at_the_wanted_rate_whatever_the_width(source, p):
    widths = ("quarter-mean-distance", "scale", 0.05)
    rates = [mean_rate(SOURCES[source], 150, 4, p=p, nu=0.1, gamma=gamma) for gamma in widths]
    assert 0.06 < np.mean(rates) < 0.14


@pytest.mark.parametrize("p", [1.0, 1.2, 2.0])
def test_the_rate_concerns_targets_and_not_labelled_outliers(p):
    rng = np.random.default_rng(2)
    X = np.vstack([rng.normal(size=(200, 2)), rng.normal(scale=3.0, size=(60, 2))])
    y = np.repeat([1, -1], [200, 60])
    new = rng.normal(size=(4_000, 2))
    assert rejected(LpSVDD(p=p).fit(X, y), new) == pytest.approx(0.1, abs=0.05)


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_the_second_order_is_exact_where_the_support_stays(p, most):
    # p = 2: the conditions are linear on the support. p = 1: all rows are on the surface, none at
    # its bound. So one Newton step is the refit.
    X = np.random.default_rng(3).normal(size=(25, 3))
    weight = np.random.default_rng(4).integers(1, most + 1, size=25).astype(float)
    model = LpSVDD(p=p, C=0.5, gamma=3.0).fit(X, sample_weight=weight)
    assert len(model.support_) == len(X)
    own, first, second = both_orders(model, X, weight)
    K, exact = kernel_matrix(X, gamma=3.0), np.empty(25)
    for i, one_less in enumerate(weight - np.eye(25)):
        exact[i] = 2.0 - 2.0 * K[i] @ clone(model).fit(X, sample_weight=one_less).alpha_
    assert np.abs(second - exact).max() < 1e-6
    np.testing.assert_allclose(first, own / (1.0 - model.alpha_ / weight))
    assert np.abs(first - exact).max() > 1e-3


@pytest.mark.parametrize("p", [1.0, 1.05, 2.0])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_second_order_is_between_the_row_itself_and_the_first_order(kernel, p):
    """The Newton step alone leaves this interval, most where labelled outliers have weight."""
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(60, 3))
        y = np.repeat([1, -1], [50, 10])
        model = LpSVDD(p=p, gamma=0.1, kernel=kernel).fit(X, y)
        own, first, second = both_orders(model, X, y=y)
        np.testing.assert_array_equal(first[50:], own[50:])  # outliers keep theirs
        slack = 1e-9 * np.abs(first).max()
        assert (own <= second + slack).all() and (second <= first + slack).all()


@pytest.mark.parametrize("n, nu, near", [(60, 0.1, 1e-3), (16, 0.2, 1e-3), (9, 0.3, 3e-4)])
@pytest.mark.parametrize("p", [1.0, 1.2, 2.0, 5.0])
def test_the_threshold_of_few_rows_is_that_of_refits(p, n, nu, near):
    """At the same cost in total; the second order alone is 0.003 to 0.05 away from it."""
    X = np.random.default_rng(4).normal(size=(n, 3))
    K = kernel_matrix(X, gamma=0.4)
    model = LpSVDD(p=p, nu=nu, gamma=0.4).fit(X)
    exact = np.empty(n)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        alpha = solve(K[np.ix_(others, others)], p=p, c=model.C_ * n / (n - 1)).alpha
        exact[i] = 2.0 - 2.0 * K[i, others] @ alpha
    expected = upper_quantile(exact, nu) + model.alpha_ @ model.score_samples(X)
    assert -model.offset_ == pytest.approx(expected, abs=near)


def test_a_quantile_by_hand():
    values = np.array([5.0, 1.0, 4.0, 2.0, 3.0])
    assert upper_quantile(values, 0.5) == 3.0  # rank 3 of 5
    assert upper_quantile(values, 0.25) == 4.5  # rank 4.5
    assert upper_quantile(values, 0.01) == 5.0  # beyond the last
    assert upper_quantile(values, 1.0) == 1.0
    assert upper_quantile(np.array([1.0, 9.0]), 0.5, np.array([4.0, 1.0])) == 1.0
    assert upper_quantile(np.array([1.0, 9.0]), 0.2, np.array([4.0, 1.0])) == pytest.approx(7.4)
    for nu in (0.05, 0.1, 0.3, 1.0):  # the farthest row is the quantile of so many
        need = rows_needed(nu)
        assert upper_quantile(np.arange(float(need)), nu) <= need - 1.0
        assert need == 1 or (1.0 - nu) * need > need - 1.0 + 1e-9


@pytest.mark.parametrize("solver", ["dense", "working-set", "landmarks"])
def test_rows_of_weight_zero_take_no_part(solver):
    X = np.random.default_rng(9).normal(size=(60, 2))
    far = np.vstack([X, X[:30] + 50.0])
    one = LpSVDD(kernel="linear", solver=solver).fit(X)
    weight = np.repeat([1.0, 0.0], [60, 30])
    two = LpSVDD(kernel="linear", solver=solver).fit(far, sample_weight=weight)
    assert two.offset_ == pytest.approx(one.offset_, rel=1e-5)


@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.filterwarnings("ignore:.*too few for nu")
def test_weight_counts_as_so_many_rows_in_the_quantile(p):
    """Copies are a hair apart: equal ones would be one row with a weight again."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(80, 2))
    weight = np.where(np.linalg.norm(X, axis=1) > 1.5, 4, 1)  # the far rows, which decide
    copies = np.repeat(X, weight, axis=0)
    apart = copies + 1e-7 * rng.normal(size=copies.shape)
    model, small = LpSVDD(p=p, gamma=0.3), np.full(80, 0.01)  # small ones are no counts
    for one, other in (((X, None, weight), (apart,)), ((X, None, small), (X,))):
        assert model.fit(*one).offset_ == pytest.approx(clone(model).fit(*other).offset_, abs=2e-3)


@pytest.mark.filterwarnings("ignore:.*too few for nu")
@pytest.mark.parametrize("nu", [0.01, 0.1, 0.9])
@pytest.mark.parametrize("p", [1.0, 1.01, 1.2, 2.0, 5.0])
def test_two_rows_and_equal_rows_have_a_surface(p, nu):
    two = LpSVDD(p=p, nu=nu, kernel="linear").fit([[0.0], [2.0]])
    # Without one row the other is the centre: s = 4 and V = 1, so the squared radius is 3.
    assert nu > 0.5 or two.offset_ == pytest.approx(-3.0, abs=1e-6)
    assert (two.predict([[0.0], [2.0]]) == 1).all()
    for model in (two, LpSVDD(p=p, nu=nu).fit(np.ones((12, 1)))):
        assert model.status_ == "optimal"
        assert model.predict([[1.0], [100.0]]).tolist() == [1, -1]


def test_all_the_weight_on_one_row_gives_no_infinite_distance():
    given = {"p": 2.0, "y": np.ones(3), "weight": np.ones(3)}
    found = leave_one_out(np.array([0.5, 1.0, 2.0]), np.array([1.0, 0.0, 0.0]), **given)
    assert found.tolist() == [2.0, 1.0, 2.0]


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_every_solver_draws_the_same_surface(p, monkeypatch):
    X = np.random.default_rng(10).normal(size=(150, 3))
    dense = LpSVDD(p=p, gamma=0.2).fit(X)
    K = kernel_matrix(X, kernel="rbf", gamma=0.2)
    given = LpSVDD(p=p, kernel="precomputed").fit(K)
    assert given.offset_ == pytest.approx(dense.offset_, abs=1e-6)
    large = LpSVDD(p=p, gamma=0.2, solver="working-set").fit(X)
    assert large.offset_ == pytest.approx(dense.offset_, abs=1e-6)
    for name in ("REFITTED", "REFITTED_NEAR_ONE"):
        monkeypatch.setattr(surface, name, 0)  # none is refitted, as with landmarks
    second = LpSVDD(p=p, gamma=0.2).fit(X).offset_
    landmarks = LpSVDD(p=p, gamma=0.2, solver="landmarks", landmarks=150).fit(X)
    assert landmarks.offset_ == pytest.approx(second, abs=1e-6)
    monkeypatch.setattr(estimators, "SECOND_ORDER", 5)  # no factorisation: farther out
    assert LpSVDD(p=p, gamma=0.2).fit(X).offset_ < second - 1e-4


@pytest.mark.parametrize("name, settings", [
    ("leave-one-out", {}), ("leave-one-out", {"nu": 0.2}), ("leave-one-out", {"C": 1.0, "nu": 0.2}),
    ("leave-one-out", {"C": 1.0, "surface": "leave-one-out"}), ("ball", {"C": 1.0}),
    ("ball", {"nu": 0.2, "surface": "ball"}), ("contamination", {"contamination": 0.1}),
    ("contamination", {"contamination": 0.1, "surface": "ball"}),
], ids=str)  # fmt: skip
def test_which_surface_is_drawn(name, settings):
    X = np.random.default_rng(11).normal(size=(60, 2))
    model = LpSVDD(**settings).fit(X)
    assert model.surface_ == name
    assert (model.offset_ == -model.radius_sq_) == (name == "ball")
    assert model.rethreshold(X, quantile=0.5).surface_ == "held-out"
