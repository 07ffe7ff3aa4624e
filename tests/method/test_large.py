"""The ball on landmarks, from arrays, memory maps and dask: exact gap, sampling, what it offers."""

import sys

import numpy as np
import pytest
from by_hand import dual_by_hand, objective, unit

from lpsvdd import LpSVDD, solve
from lpsvdd.bounds import AssumptionWarning, bound_of
from lpsvdd.kernels import kernel_matrix
from lpsvdd.solver.landmarks import LANDMARK_METHODS, choose_landmarks

FIXED = {"gamma": 0.3, "solver": "landmarks"}


def sample(n=160, negatives=0, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3)) + 3.0 * random.integers(2, size=(n, 1))
    X[n - negatives :] += 1.5
    return X, np.repeat([1.0, -1.0], [n - negatives, negatives])


@pytest.mark.parametrize("negatives", [0, 20])
@pytest.mark.parametrize("p", [1.0, 1.05, 2.0, 20.0])
def test_the_exact_gap_is_that_of_the_whole_kernel_matrix(p, negatives):
    """Both gaps again from the whole kernel matrix, by no line of the solver under test."""
    X, y = sample(negatives=negatives)
    cost = np.full(len(X), 0.05)
    model = LpSVDD(p=p, C=0.05, landmarks=12, **FIXED).fit(X, y)
    landmarks, coef = model.X_fit_, model.centre_coef_
    K, inside, among = (
        kernel_matrix(a, b, gamma=0.3) for a, b in ((X, X), (X, landmarks), (landmarks, landmarks))
    )
    d = 1.0 - 2.0 * inside @ coef + coef @ among @ coef
    np.testing.assert_allclose(model.distance_fit_, d, atol=1e-9)
    primal = objective(model, d, y, cost)
    optimum = solve(K, y, p=p, c=cost)
    assert primal >= optimum.primal * (1.0 - 1e-9)  # a restriction
    dual = dual_by_hand(model.alpha_, y, K, p, cost)
    size = unit(K, p, cost[y > 0]) + abs(primal)
    gap = (primal - dual) / size
    assert gap == pytest.approx(model.duality_gap_, rel=1e-4, abs=1e-9)
    assert gap > 1e-4 > 1e-9 >= model.restricted_gap_  # twelve landmarks do not span the centre
    # The restricted gap, from the kernel between points and landmarks only.
    beta = y * model.alpha_
    projected = inside @ np.linalg.solve(among, inside.T)
    assert (primal - dual - beta @ (K - projected) @ beta) / size <= 2e-9


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_a_sample_of_many_rows_and_all_of_them_end_at_the_same_ball(p, monkeypatch):
    X, y = sample(1500, negatives=40)
    options = {"p": p, "C": 0.02, "landmarks": choose_landmarks(X, 30, gamma=0.3), **FIXED}
    at_once = LpSVDD(**options).fit(X, y)
    monkeypatch.setattr("lpsvdd.solver.landmarks.FIRST_BALL_ROWS", 200)
    in_rounds = LpSVDD(**options).fit(X, y)
    assert in_rounds.restricted_gap_ <= 1e-9
    np.testing.assert_allclose(in_rounds.score_samples(X), at_once.score_samples(X), atol=3e-6)
    np.testing.assert_array_equal(in_rounds.slack_ > 1e-5, at_once.slack_ > 1e-5)


def test_coordinates_that_do_not_fit_are_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr("lpsvdd.solver.landmarks.available_memory", lambda: 1e5)
    with pytest.raises(MemoryError, match="fewer landmarks"):
        LpSVDD(p=1.5, C=0.01, landmarks=40, **FIXED).fit(*sample(1000, negatives=40))


def test_above_so_many_support_vectors_the_exact_gap_is_left_out(monkeypatch):
    monkeypatch.setattr("lpsvdd.solver.landmarks.MAX_PAIRS", 10)
    model = LpSVDD(p=2.0, C=0.02, landmarks=15, **FIXED).fit(sample(400)[0])
    assert np.isnan(model.duality_gap_) and model.restricted_gap_ <= 1e-9


def test_copies_among_the_landmarks_and_a_kernel_of_low_rank():
    X, _ = sample(150)
    one = LpSVDD(C=0.05, landmarks=X[:20], **FIXED).fit(X)
    many = LpSVDD(C=0.05, landmarks=np.repeat(X[:20], 3, axis=0), **FIXED).fit(X)
    assert len(many.X_fit_) == 20
    np.testing.assert_allclose(many.score_samples(X), one.score_samples(X), atol=1e-9)
    poly = {"C": 0.05, "kernel": "poly", "degree": 2, "gamma": 0.5}
    few, dense = LpSVDD(landmarks=60, **poly).fit(X), LpSVDD(solver="dense", **poly).fit(X)
    assert len(few.X_fit_) == 10  # 1 + 3 + 6 monomials in three features
    np.testing.assert_allclose(few.score_samples(X), dense.score_samples(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", LANDMARK_METHODS)
def test_choices_of_landmarks_span_the_centre_to_five_per_cent(method):
    X, _ = sample(500)
    rows = choose_landmarks(X, 40, method=method, gamma=0.3)
    assert rows.shape == (40, 3)
    assert LpSVDD(p=2.0, C=0.02, landmarks=rows, **FIXED).fit(X).duality_gap_ < 0.05


@pytest.mark.filterwarnings("error")
def test_what_can_be_done_with_the_model():
    X, _ = sample(400)
    model = LpSVDD(C=0.05, landmarks=sample(30, seed=5)[0], **FIXED).fit(X)
    found = model.explain(X[:5])
    total = found.base + np.asarray(found.contributions).sum(axis=1)
    np.testing.assert_allclose(total, model.score_samples(X[:5]))
    low, high = model.rejection_risk()  # landmarks and kernel were fixed before: no warning
    assert low < np.mean(model.predict(X) < 0) < high
    with pytest.warns(AssumptionWarning, match="the landmarks were estimated"):
        LpSVDD(C=0.05, landmarks=30, **FIXED).fit(X).rejection_risk()
    assert bound_of(model, margin=0.5).total > 0.0


def test_float32_and_memory_mapped_rows(tmp_path):
    X = sample(1000)[0].astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    options = {"p": 1.2, "C": 0.02, "landmarks": X[:25].astype(float), **FIXED}
    model = LpSVDD(**options).fit(np.load(tmp_path / "X.npy", mmap_mode="r"))
    double = LpSVDD(**options).fit(X.astype(float))
    np.testing.assert_allclose(model.score_samples(X), double.score_samples(X), atol=1e-9)


@pytest.mark.parametrize("options", [
    {"p": 1.0, "C": 0.01, "landmarks": 30}, {"p": 2.0, "C": 0.01, "kernel": "linear"},
    {"p": 1.2, "C": 0.02, "landmarks": 30, "gamma": "scale"},
], ids=str)  # fmt: skip
def test_dask_array_has_the_same_ball_as_an_array(options):
    da = pytest.importorskip("dask.array")
    X, y = sample(1500, negatives=40)
    weight = np.random.default_rng(1).integers(0, 3, size=1500).astype(float)
    given = da.from_array(X, chunks=(400, 2))
    ours = LpSVDD(solver="landmarks", **options).fit(X, y, sample_weight=weight)
    theirs = LpSVDD(**options).fit(given, da.from_array(y, chunks=300), sample_weight=weight)
    assert theirs.solver_ == "landmarks" and theirs.gamma_ == pytest.approx(ours.gamma_, rel=1e-9)
    scores, predicted = theirs.score_samples(given), theirs.predict(given)
    assert isinstance(scores, da.Array) and isinstance(predicted, da.Array)
    np.testing.assert_allclose(scores.compute(), ours.score_samples(X), atol=1e-8)
    np.testing.assert_array_equal(predicted.compute(), theirs.predict(X))
    assert theirs.radius_sq_ == pytest.approx(ours.radius_sq_, abs=1e-8)
    assert theirs.duality_gap_ == pytest.approx(ours.duality_gap_, abs=1e-8)


def test_dask_array_of_another_solver_or_with_a_hole_or_without_dask_is_refused(monkeypatch):
    da = pytest.importorskip("dask.array")
    X, _ = sample(200)
    given = da.from_array(X, chunks=(50, 3))
    with pytest.raises(ValueError, match="solver='landmarks' does"):
        LpSVDD(solver="dense").fit(given)
    with pytest.raises(ValueError, match="NaN or infinity"):
        LpSVDD(landmarks=5).fit(da.where(given == X[7, 1], np.inf, given))
    monkeypatch.setitem(sys.modules, "dask.delayed", None)  # as if it were not there
    with pytest.raises(ImportError, match=r"need dask: pip install 'lpsvdd\[cluster\]'"):
        LpSVDD(landmarks=5).fit(given)
