"""The ball on landmarks: against the dense solver, and with its certificates recomputed.

``restricted_gap_by_hand`` and ``exact_gap_by_hand`` use the whole kernel matrix and no line of the
solver under test.
"""

import warnings

import numpy as np
import pytest
from by_hand import dual_by_hand, objective, unit

from lpsvdd import LpSVDD, solve
from lpsvdd.bounds import bound_of
from lpsvdd.bounds._rejection_model import AssumptionWarning
from lpsvdd.explain import nearest_support_vectors
from lpsvdd.kernels import kernel_matrix
from lpsvdd.solver import landmarks as charts
from lpsvdd.solver.landmarks import LANDMARK_METHODS, choose_landmarks


def sample(n=160, n_features=3, negatives=0, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_features)) + 3.0 * random.integers(2, size=(n, 1))
    y = np.ones(n)
    if negatives:
        y[-negatives:] = -1.0
        X[-negatives:] += 1.5
    return X, y


@pytest.mark.parametrize("negatives", [0, 20])
@pytest.mark.parametrize("p", [1.0, 1.05, 2.0, 20.0])
def test_the_exact_gap_is_that_of_the_whole_kernel_matrix(p, negatives):
    X, y = sample(negatives=negatives)
    cost = np.full(len(X), 0.05)
    model = LpSVDD(p=p, C=0.05, gamma=0.3, solver="landmarks", landmarks=12).fit(X, y)
    K = kernel_matrix(X, gamma=0.3)
    landmarks, coef = model.X_fit_, model.centre_coef_
    d = 1.0 - 2.0 * kernel_matrix(X, landmarks, gamma=0.3) @ coef
    d += coef @ kernel_matrix(landmarks, gamma=0.3) @ coef
    np.testing.assert_allclose(model.distance_fit_, d, atol=1e-9)
    primal = objective(model, d, y, cost)
    optimum = solve(K, y, p=p, c=cost)
    assert primal >= optimum.primal * (1.0 - 1e-9)  # a restriction
    dual = dual_by_hand(model.alpha_, y, K, p, cost)
    s = unit(K, p, cost[y > 0])
    gap = (primal - dual) / (s + abs(primal))
    assert gap == pytest.approx(model.duality_gap_, rel=1e-4, abs=1e-9)
    assert gap > 1e-4 > 1e-9 >= model.restricted_gap_  # twelve landmarks do not span the centre
    # The restricted gap, from the kernel between points and landmarks only.
    inside = kernel_matrix(X, landmarks, gamma=0.3)
    projected = inside @ np.linalg.solve(kernel_matrix(landmarks, gamma=0.3), inside.T)
    beta = y * model.alpha_
    restricted = dual + float(beta @ K @ beta - beta @ projected @ beta)
    assert (primal - restricted) / (s + abs(primal)) <= 2e-9


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_a_sample_of_many_rows_and_all_of_them_end_at_the_same_ball(p, monkeypatch):
    X, y = sample(1500, negatives=40)
    landmarks = choose_landmarks(X, 30, gamma=0.3)
    options = {"p": p, "C": 0.02, "gamma": 0.3, "solver": "landmarks", "landmarks": landmarks}
    at_once = LpSVDD(**options).fit(X, y)
    monkeypatch.setattr("lpsvdd.solver.landmarks.FIRST_BALL_ROWS", 200)
    in_rounds = LpSVDD(**options).fit(X, y)
    assert in_rounds.restricted_gap_ <= 1e-9
    np.testing.assert_allclose(in_rounds.score_samples(X), at_once.score_samples(X), atol=3e-6)
    np.testing.assert_array_equal(in_rounds.slack_ > 1e-5, at_once.slack_ > 1e-5)


def test_coordinates_that_do_not_fit_are_refused_with_the_remedy(monkeypatch):
    X, y = sample(1000, negatives=40)
    model = LpSVDD(p=1.5, C=0.01, gamma=0.3, solver="landmarks", landmarks=40)
    monkeypatch.setattr(charts, "available_memory", lambda: 1e5)
    with pytest.raises(MemoryError, match="fewer landmarks"):
        model.fit(X, y)


def test_copies_among_the_landmarks_and_a_kernel_of_low_rank():
    X, _ = sample(150)
    options = {"p": 2.0, "C": 0.05, "solver": "landmarks"}
    one = LpSVDD(gamma=0.3, landmarks=X[:20], **options).fit(X)
    many = LpSVDD(gamma=0.3, landmarks=np.repeat(X[:20], 3, axis=0), **options).fit(X)
    assert len(many.X_fit_) == 20
    np.testing.assert_allclose(many.score_samples(X), one.score_samples(X), atol=1e-9)
    poly = {"kernel": "poly", "degree": 2, "gamma": 0.5}
    few = LpSVDD(landmarks=60, **poly, **options).fit(X)
    dense = LpSVDD(**(options | {"solver": "dense"}), **poly).fit(X)
    assert len(few.X_fit_) == 10  # 1 + 3 + 6 monomials in three features
    np.testing.assert_allclose(few.score_samples(X), dense.score_samples(X), rtol=1e-5, atol=1e-6)


def test_above_so_many_support_vectors_the_exact_gap_is_left_out(monkeypatch):
    X, _ = sample(400)
    monkeypatch.setattr(charts, "MAX_PAIRS", 10)
    model = LpSVDD(p=2.0, C=0.02, gamma=0.3, solver="landmarks", landmarks=15).fit(X)
    assert np.isnan(model.duality_gap_) and model.restricted_gap_ <= 1e-9


def test_float32_and_memory_mapped_rows(tmp_path):
    X = sample(1000)[0].astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    landmarks = X[:25].astype(float)
    options = {"p": 1.2, "C": 0.02, "gamma": 0.3, "solver": "landmarks", "landmarks": landmarks}
    model = LpSVDD(**options).fit(np.load(tmp_path / "X.npy", mmap_mode="r"))
    double = LpSVDD(**options).fit(X.astype(float))
    np.testing.assert_allclose(model.score_samples(X), double.score_samples(X), atol=1e-9)


def test_what_can_be_done_with_the_model():
    X, _ = sample(400)
    others = sample(30, seed=5)[0]
    model = LpSVDD(p=2.0, C=0.05, gamma=0.3, solver="landmarks", landmarks=others).fit(X)
    found = model.explain(X[:5])
    np.testing.assert_allclose(
        found.base + np.asarray(found.contributions).sum(axis=1), model.score_samples(X[:5])
    )
    with pytest.raises(ValueError, match="does not keep them"):
        nearest_support_vectors(model, X[:5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # landmarks and kernel were fixed before
        low, high = model.rejection_risk()
    outside = np.mean(model.predict(X) < 0)
    assert low < outside < high
    chosen = LpSVDD(p=2.0, C=0.05, gamma=0.3, solver="landmarks", landmarks=30).fit(X)
    with pytest.warns(AssumptionWarning, match="the landmarks were estimated"):
        chosen.rejection_risk()
    assert bound_of(model, margin=0.5).total > 0.0


@pytest.mark.parametrize("method", LANDMARK_METHODS)
def test_choices_of_landmarks(method):
    X, _ = sample(500)
    rows = choose_landmarks(X, 40, method=method, gamma=0.3)
    assert rows.shape == (40, 3)
    model = LpSVDD(p=2.0, C=0.02, gamma=0.3, solver="landmarks", landmarks=rows).fit(X)
    assert model.duality_gap_ < 0.05
