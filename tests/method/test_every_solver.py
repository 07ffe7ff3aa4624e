"""One contract for solver="dense", "working-set" and "landmarks", and what each of them needs."""

import tracemalloc
import warnings

import numpy as np
import pytest
from by_hand import clusters, dual_by_hand, objective, unit
from sklearn.exceptions import ConvergenceWarning

from lpsvdd import LpSVDD, _training
from lpsvdd.kernels import kernel_matrix
from lpsvdd.solver import memory

EXPONENTS = (1.0, 1.05, 1.2, 2.0, 5.0, 20.0)
SOLVERS = ("dense", "working-set", "landmarks")
N = 240
X, NEW = clusters(N), clusters(60, seed=7)
RNG = np.random.default_rng(1)
LABELS = np.where(RNG.random(N) < 0.1, -1, 1)
WEIGHTS = RNG.integers(0, 4, size=N).astype(float)


@pytest.fixture
def _small_sets(monkeypatch):
    """Sets, blocks and caches so small that a few hundred points go the ways of many thousands."""
    for name in ("AT_ONCE", "SMALLEST_SAMPLE"):
        monkeypatch.setattr(f"lpsvdd.solver.active_set.{name}", 60)
    monkeypatch.setattr("lpsvdd.solver.support_newton.DIRECT", 40)
    for name in ("BLOCK_VALUES", "MOST_KEPT"):
        monkeypatch.setattr(memory, name, 10 * N)


def laplace(a, b):
    return float(np.exp(-0.2 * np.abs(a - b).sum()))


def by(solver, data, **options) -> LpSVDD:
    """An estimator with a solver; all samples are landmarks, so that nothing is lost."""
    if solver == "landmarks" and options.get("kernel") != "linear":
        options["landmarks"] = data
    return LpSVDD(solver=solver, **{"gamma": 0.1, **options})


CASES = {
    "plain": (X, None, None, {}),
    "weights": (X, None, WEIGHTS, {}),
    "negatives": (X, LABELS, None, {}),
    "both": (X, LABELS, WEIGHTS, {}),
    "linear": (X + 30.0, None, None, {"kernel": "linear"}),
    "linear, negatives": (X, LABELS, None, {"kernel": "linear"}),
    "poly, far from the origin": (X + 20.0, None, None, {"kernel": "poly", "degree": 2}),
    "copies": (np.repeat(X[:80], 3, axis=0), None, None, {}),
    "two heaps far apart": (np.vstack([X[:100], X[:100] + 1e6]), None, None, {}),
    "callable": (X[:50], None, None, {"kernel": laplace, "C": 0.1}),
    "more negatives than targets": (X[:120], np.where(np.arange(120) % 3, -1, 1), None, {"C": 0.1}),
}


# Labelled outliers that no ball separates, at p >= 5: given up, see solver/certificate.py.
GIVEN_UP = [("linear, negatives", 5.0), ("linear, negatives", 20.0)]


@pytest.mark.usefixtures("_small_sets")
@pytest.mark.parametrize(
    ("case", "p"), [(case, p) for case in CASES for p in EXPONENTS if (case, p) not in GIVEN_UP]
)
def test_every_solver_ends_at_the_same_ball(case, p):
    data, y, weight, options = CASES[case]
    new = NEW + (data.mean(axis=0) - X.mean(axis=0))
    kernel = {"gamma": 0.1, "kernel": options.get("kernel", "rbf"), "degree": 2}
    dense = None
    for solver in SOLVERS:
        model = by(solver, data, **{"p": p, "C": 0.02, "contamination": 0.1} | options)
        model.fit(data, y, weight)
        assert model.solver_ == solver
        assert model.status_ == "optimal" and model.duality_gap_ <= 1e-9
        rows, g = model.X_fit_[model.centre_rows_], model.centre_coef_
        d = kernel_matrix(new, **kernel).diagonal() - 2.0 * kernel_matrix(new, rows, **kernel) @ g
        d = d + g @ kernel_matrix(rows, **kernel) @ g
        dense = dense or model
        expected = dense.score_samples(new)
        size = max(np.abs(expected).max(), 1e-9 * np.abs(kernel_matrix(rows, **kernel)).max())
        scores = model.score_samples(new)
        np.testing.assert_allclose(scores, -d, atol=1e-6 * size, rtol=0)
        apart = (5e-6 if p == 1.0 else 1e-6) * size  # p = 1: the dual is flat on the surface
        np.testing.assert_allclose(scores, expected, atol=apart, rtol=0)
        assert model.radius_sq_ == pytest.approx(dense.radius_sq_, abs=apart)
        np.testing.assert_allclose(model.slack_, dense.slack_, atol=apart, rtol=0)
        np.testing.assert_allclose(
            model.distance_fit_, -model.score_samples(data), atol=1e-6 * size, rtol=0
        )
        assert weight is None or (model.alpha_[weight == 0.0] == 0.0).all()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("p", [1.05, 1.2, 5.0])
def test_starved_of_iterations_it_says_so_and_its_gap_is_true(solver, p):
    with pytest.warns(ConvergenceWarning, match="without a certificate: .* gap .*max_iter"):
        model = by(solver, X, p=p, C=0.05, max_iter=1).fit(X)
    assert model.status_ == "not-converged" and model.duality_gap_ > 1e-8
    y, cost, K = np.ones(N), np.full(N, 0.05), kernel_matrix(X, gamma=0.1)
    primal = objective(model, -model.score_samples(X), y, cost)
    gap = (primal - dual_by_hand(model.alpha_, y, K, p, cost)) / (unit(K, p, cost) + primal)
    assert model.duality_gap_ == pytest.approx(gap, rel=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert by(solver, X, p=p, C=0.05, max_iter=1, tol=0.9).fit(X).status_ == "optimal"


def test_another_solver_leaves_nothing_of_two_models():
    model = by("dense", X, p=1.5, C=0.05).fit(X)
    for other in (*SOLVERS, *SOLVERS):
        model.set_params(solver=other, landmarks=X if other == "landmarks" else None).fit(X)
        assert vars(model).keys() == vars(by(other, X, p=1.5, C=0.05).fit(X)).keys()
        assert hasattr(model, "restricted_gap_") == (other == "landmarks")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("options", [
    {"p": 1.1, "C": 1e-5}, {"p": 1.01, "C": 1e-6, "kernel": "linear"},
], ids=str)  # fmt: skip
def test_scores_are_distances_where_the_radius_is_far_below_zero(solver, options):
    """R2 = -4e15 once left errors of 28 % of the range of the scores, in silence."""
    model = by(solver, X, contamination=0.1, **options).fit(X)
    assert model.status_ == "optimal" and model.radius_sq_ < -1.0
    kernel = {"kernel": model.kernel, "gamma": model.gamma_}
    K, to_rows = kernel_matrix(X, **kernel), kernel_matrix(NEW, X, **kernel)
    d = kernel_matrix(NEW, **kernel).diagonal() - 2.0 * to_rows @ model.alpha_
    d += model.alpha_ @ K @ model.alpha_
    assert model.score_samples(NEW) == pytest.approx(-d, abs=1e-6 * np.abs(d).max())


@pytest.mark.parametrize("p", [1.0, 1.2, 2.0, 5.0])
def test_a_working_set_makes_no_matrix_of_all_points(p, monkeypatch):
    n = 2_000
    monkeypatch.setattr("lpsvdd.solver.memory.BLOCK_VALUES", 50_000)
    monkeypatch.setattr(memory, "MOST_KEPT", 200 * n)
    data = clusters(n, seed=4)
    C = {1.0: 20.0 / n, 5.0: 100.0}.get(p, 0.05)
    tracemalloc.start()
    try:
        model = LpSVDD(p=p, C=C, gamma=0.1, tol=1e-4, solver="working-set").fit(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.duality_gap_ <= 1e-4 and len(model.support_) < n // 2
    assert peak < 0.75 * 8 * n * n
    outside = np.maximum(-model.score_samples(data) - model.radius_sq_, 0.0)
    np.testing.assert_allclose(model.slack_, outside, atol=1e-7)  # of the rows of every block


@pytest.mark.parametrize("n, options, solver", [
    (300, {}, "dense"), (301, {}, "working-set"), (50_000, {}, "working-set"),
    (50_001, {}, "landmarks"), (50_001, {"p": 1.0, "C": 1.0}, "landmarks"),
    (99_999, {"kernel": laplace}, "dense"), (2_000, {"kernel": "precomputed"}, "dense"),
    (100, {"landmarks": 5}, "landmarks"), (99_999, {"solver": "dense"}, "dense"),
])  # fmt: skip
def test_auto_goes_by_the_number_of_samples(n, options, solver):
    assert _training.chosen_solver(LpSVDD(**options), np.broadcast_to(0.0, (n, 3))) == solver


def test_memory_that_is_not_there_is_not_asked_for(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1_000_000)
    with pytest.raises(MemoryError, match="matrix of 4000 .* needs about .* MB .*working-set"):
        LpSVDD(solver="dense", gamma=0.1).fit(clusters(4_000))
    fitted = LpSVDD(solver="working-set", C=0.02, gamma=0.1).fit(X)
    monkeypatch.undo()
    expected = LpSVDD(solver="working-set", C=0.02, gamma=0.1).fit(X)
    np.testing.assert_allclose(fitted.score_samples(NEW), expected.score_samples(NEW), atol=1e-6)
