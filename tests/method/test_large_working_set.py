"""The working set: the dense answer, certified on all points, without the matrix."""

import io
import re
import signal
import subprocess
import sys
import textwrap
import time
import tracemalloc
from contextlib import redirect_stdout

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist

from lpsvdd import LpSVDD, solve_path
from lpsvdd.kernels import MANY, half_mean_distance, kernel_matrix
from lpsvdd.solver import Gram, Problem, Rows, certify, solve_path_large, solve_working_set
from lpsvdd.solver import _box as box
from lpsvdd.solver import _choice as choice
from lpsvdd.solver import _working_set as working_set

EXPONENTS = (1.0, 1.05, 1.2, 2.0, 5.0)


def clusters(n, d=4, seed=0):
    rng = np.random.default_rng(seed)
    centres = 2.0 * rng.normal(size=(3, d))
    return centres[rng.integers(3, size=n)] + rng.normal(size=(n, d))


N = 240
X, NEW = clusters(N), clusters(60, seed=7)
RNG = np.random.default_rng(1)
LABELS = np.where(RNG.random(N) < 0.1, -1, 1)
WEIGHTS = RNG.integers(0, 4, size=N).astype(float)


@pytest.fixture(autouse=True)
def _small_sets(monkeypatch):
    """Sets so small that a few hundred points go the ways of many thousands."""
    monkeypatch.setattr(working_set, "FIRST", 60)
    monkeypatch.setattr(working_set, "SMALL_SET", 60)
    monkeypatch.setattr(working_set, "MANY_OUTSIDE", 10)
    monkeypatch.setattr(box, "FREE", 60)


def laplace(a, b):
    return float(np.exp(-0.2 * np.abs(a - b).sum()))


CASES = {
    "plain": (X, None, None, {}),
    "weights": (X, None, WEIGHTS, {}),
    "negatives": (X, LABELS, None, {}),
    "both": (X, LABELS, WEIGHTS, {}),
    "linear": (X + 30.0, None, None, {"kernel": "linear"}),
    "linear, negatives": (X, LABELS, None, {"kernel": "linear"}),
    "poly, far from the origin": (X + 20.0, None, None, {"kernel": "poly", "degree": 2}),
    "copies": (np.repeat(X[:80], 3, axis=0), None, None, {}),
    "callable": (X[:80], None, None, {"kernel": laplace}),
}


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_the_dense_solver(case, p):
    data, y, weight, options = CASES[case]
    options = {"p": p, "C": 0.02, "gamma": 0.1, **options}
    dense = LpSVDD(solver="dense", **options).fit(data, y, weight)
    large = LpSVDD(solver="working-set", **options).fit(data, y, weight)
    assert (dense.solver_, large.solver_) == ("dense", "working-set")
    assert large.duality_gap_ <= 1e-9
    expected = dense.score_samples(NEW)
    size = np.abs(expected).max()
    np.testing.assert_allclose(large.score_samples(NEW), expected, atol=1e-6 * size, rtol=0)
    assert large.radius_sq_ == pytest.approx(dense.radius_sq_, abs=1e-6 * size)
    assert large.norm_sq_ == pytest.approx(dense.norm_sq_, rel=1e-6, abs=1e-6 * size)
    np.testing.assert_allclose(large.slack_, dense.slack_, atol=1e-6 * size, rtol=0)


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("share", [2.0, 100.0])
def test_certificate_holds_by_other_arithmetic(p, share):
    """P and D of the whole problem, written out from the derivation on the whole matrix."""
    data = clusters(500, seed=3)
    c = share / len(data)
    found = solve_working_set(Rows(data, gamma=0.1), p=p, c=c, tol=1e-7)
    assert found.converged
    K = np.exp(-0.1 * cdist(data, data, "sqeuclidean"))
    alpha = found.alpha
    assert alpha.min() >= 0.0 and alpha.sum() == pytest.approx(1.0, abs=1e-9)
    k_alpha = K @ alpha
    norm = alpha @ k_alpha
    d = 1.0 - 2.0 * k_alpha + norm
    np.testing.assert_allclose(found.distances, d, atol=1e-9)
    np.testing.assert_allclose(found.slack, np.maximum(d - found.radius_sq, 0.0), atol=1e-9)

    def primal(radius):
        return radius + c * (np.maximum(d - radius, 0.0) ** p).sum()

    dual = 1.0 - norm
    if p > 1.0:
        dual -= (1.0 - 1.0 / p) * (alpha * (alpha / (c * p)) ** (1.0 / (p - 1.0))).sum()
    else:
        assert (alpha <= c * (1.0 + 1e-10)).all()
    assert found.primal == pytest.approx(primal(found.radius_sq), rel=1e-9)
    assert found.dual == pytest.approx(dual, rel=1e-7, abs=1e-9)
    best = minimize_scalar(primal, bounds=(d.min() - 2.0, d.max()), method="bounded")
    assert primal(found.radius_sq) <= best.fun + 1e-9 * (1.0 + abs(best.fun))
    spread = 1.0 - K.mean()
    assert primal(found.radius_sq) - dual <= 1.2e-7 * (spread + abs(found.primal))


def test_fixed_multipliers_alone_solve_p_1(monkeypatch):
    """With the wrong linear term of the points held fixed the other way would have to help."""

    def refuse(*args):
        raise AssertionError("the points near the surface were not enough")

    monkeypatch.setattr(working_set._Rounds, "_solve_on", refuse)
    monkeypatch.setattr(box, "MOST_FREE", 200)  # some stay fixed in every round
    data = clusters(500, seed=3)
    y = np.where(np.arange(500) % 20 == 0, -1.0, 1.0)
    for labels in (None, y):
        found = solve_working_set(Rows(data, gamma=0.1), labels, p=1.0, c=6 / 500, tol=1e-6)
        assert found.converged and np.count_nonzero(found.alpha > 0.01199999) > 30


def test_certify_takes_rows():
    rows = Rows(X, gamma=0.1)
    alpha = np.zeros(N)
    alpha[::7] = 1.0
    whole = certify(kernel_matrix(X, gamma=0.1), p=2.0, c=0.1, alpha=alpha)
    lazily = certify(rows, p=2.0, c=0.1, alpha=alpha)
    assert lazily.gap == pytest.approx(whole.gap, rel=1e-9)
    assert lazily.primal == pytest.approx(whole.primal, rel=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_rows_are_those_of_the_matrix(kernel):
    data = X + 5.0
    rows = Rows(data, kernel=kernel, gamma=0.1, degree=2)
    whole = Gram.check(kernel_matrix(data, kernel=kernel, gamma=0.1, degree=2))
    beta = RNG.normal(size=N)
    beta -= beta.mean()  # sums that vanish: the origin plays no role
    left, right = beta @ rows.times(beta), beta @ whole.times(beta)
    assert left == pytest.approx(right, rel=1e-9)
    assert rows.spread == pytest.approx(whole.spread, rel=1e-6)
    some = np.arange(5, 200, 7)
    np.testing.assert_allclose(rows.subset(some).K, rows.block(some, some), rtol=1e-12)
    np.testing.assert_allclose(rows.diagonal(), kernel_matrix(
        data, kernel=kernel, gamma=0.1, degree=2).diagonal(), rtol=1e-12)  # fmt: skip
    threads = Rows(data, kernel=kernel, gamma=0.1, degree=2, n_jobs=2)
    np.testing.assert_allclose(threads.times(beta), rows.times(beta), rtol=1e-12)


def test_single_precision_keeps_six_digits_where_it_is_offered():
    rows = Rows(X, gamma=0.05)
    beta = WEIGHTS / WEIGHTS.sum()
    assert rows.has_single
    np.testing.assert_allclose(rows.times(beta, single=True), rows.times(beta), atol=3e-6)
    some = np.arange(3, N, 5)
    part = rows.subset(some)
    expected = rows.block(some, some) @ beta[some]
    np.testing.assert_allclose(part.times(beta[some], single=True), expected, atol=3e-6)
    for far in (Rows(X + 0.0, gamma=50.0), Rows(X, gamma=1e-6), Rows(X, kernel="linear")):
        assert not far.has_single
        np.testing.assert_array_equal(far.times(beta, single=True), far.times(beta))


def test_distant_points_keep_their_digits():
    data = np.vstack([X[:100], X[:100] + 1e6])
    rows = Rows(data, gamma=0.1)
    np.testing.assert_allclose(rows.K, kernel_matrix(data, gamma=0.1), atol=1e-12)


@pytest.mark.parametrize("p", [1.0, 1.2, 2.0, 5.0])
def test_no_matrix_of_all_points_is_made(p, monkeypatch):
    monkeypatch.setattr("lpsvdd.solver._rows.BLOCK", 50_000)
    n = 2_000
    data = clusters(n, seed=4)
    tracemalloc.start()
    try:
        model = LpSVDD(p=p, C=0.01, gamma=0.1, tol=1e-4, solver="working-set").fit(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.duality_gap_ <= 1e-4
    assert peak < 0.75 * 8 * n * n
    outside = np.maximum(-model.score_samples(data) - model.radius_sq_, 0.0)
    np.testing.assert_allclose(model.slack_, outside, atol=1e-9)  # of the rows of every block


@pytest.mark.parametrize(("p", "nu"), [(1.0, 0.1), (1.2, 0.05), (2.0, None), (2.0, 0.3)])
def test_share_outside(p, nu):
    data = clusters(400, seed=5)
    model = LpSVDD(p=p, nu=nu, gamma=0.1, solver="working-set", surface="ball").fit(data)
    outside = np.count_nonzero(model.predict(data) < 0)
    wanted = (nu or 0.1) * len(data)
    assert abs(outside - wanted) <= 1 if p > 1.0 else outside <= wanted
    again = LpSVDD(p=p, C=model.C_, gamma=0.1, solver="dense").fit(data)
    np.testing.assert_allclose(model.score_samples(NEW), again.score_samples(NEW), atol=1e-6)


def test_contamination_moves_the_threshold():
    model = LpSVDD(C=0.05, gamma=0.1, contamination=0.2, solver="working-set").fit(X)
    assert np.mean(model.predict(X) < 0) == pytest.approx(0.2, abs=2 / N)


def test_path_is_that_of_the_dense_solver():
    ps, cs = [1.0, 1.2, 2.0], [0.01, 0.1]
    K = kernel_matrix(X, gamma=0.1)
    large = solve_path_large(
        Rows(X, gamma=0.1), LABELS, ps=ps, cs=cs, c_neg=[0.05, 0.5], sample_weight=WEIGHTS + 1.0
    )
    dense = solve_path(K, LABELS, ps=ps, cs=cs, c_neg=[0.05, 0.5], sample_weight=WEIGHTS + 1.0)
    assert [(s.p, s.c, s.c_neg) for s in large] == [(s.p, s.c, s.c_neg) for s in dense]
    for one, other in zip(large, dense, strict=True):
        assert one.converged and other.converged
        assert one.primal == pytest.approx(other.primal, rel=1e-7, abs=1e-8)
        np.testing.assert_allclose(K @ one.centre, K @ other.centre, atol=1e-6)


def test_start_saves_iterations():
    rows = Rows(clusters(800, seed=6), gamma=0.1)
    first = solve_working_set(rows, p=1.2, c=0.02)
    cold = solve_working_set(rows, p=1.2, c=0.022)
    warm = solve_working_set(rows, p=1.2, c=0.022, start=first)
    assert warm.converged and warm.n_iter < cold.n_iter


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_precomputed_matrix_uses_what_it_holds(p):
    K = kernel_matrix(X, gamma=0.1)
    dense = LpSVDD(p=p, C=0.02, kernel="precomputed", solver="dense").fit(K)
    large = LpSVDD(p=p, C=0.02, kernel="precomputed", solver="working-set").fit(K)
    Kz = kernel_matrix(NEW, X, gamma=0.1)
    np.testing.assert_allclose(large.score_samples(Kz), dense.score_samples(Kz), atol=1e-6)


def test_auto_takes_the_matrix_up_to_two_thousand():
    assert choice.choose("auto", 2_000, n_features=5) == "dense"
    assert choice.choose("auto", 2_001, n_features=5) == "working-set"
    assert not choice.prefers_landmarks(50_000, 2.0, 5)
    assert choice.prefers_landmarks(50_001, 2.0, 5)
    assert not choice.prefers_landmarks(50_001, 1.0, 5)
    assert LpSVDD(C=0.1).fit(X).solver_ == "dense"


def test_memory_that_is_not_there_is_not_asked_for(monkeypatch):
    monkeypatch.setattr(choice, "available_memory", lambda: 500_000_000)
    with pytest.raises(MemoryError, match=r"'dense' needs about .* 500 MB .*working-set"):
        choice.choose("dense", 20_000, n_features=10)
    assert choice.choose("auto", 20_000, n_features=10) == "working-set"
    with pytest.raises(MemoryError, match="fewer samples"):
        choice.choose("working-set", 10_000_000, n_features=100)
    assert choice.prefers_landmarks(20_000, 2.0, 2_000)
    monkeypatch.setattr(choice, "available_memory", lambda: 1_000)
    with pytest.raises(MemoryError, match="available"):
        LpSVDD().fit(X)


def test_available_memory_is_positive_and_bounds_the_cache(monkeypatch):
    assert choice.available_memory() > 0
    monkeypatch.setattr(choice, "available_memory", lambda: 320_000)
    assert choice.cache() == 10_000


def test_bad_parameters_have_clear_errors():
    with pytest.raises(ValueError, match="solver must be one of"):
        LpSVDD(solver="magic").fit(X)
    with pytest.raises(ValueError, match="landmarks= is for"):
        LpSVDD(solver="dense", landmarks=10).fit(X)
    with pytest.raises(ValueError, match="positive semidefinite"):
        Rows(X[:50], kernel=lambda a, b: -float(a @ b))


def test_verbose_tells_rounds_size_and_gap():
    text = io.StringIO()
    with redirect_stdout(text):
        LpSVDD(p=1.2, C=0.02, gamma=0.1, solver="working-set", verbose=1).fit(X)
    assert re.search(r"round 1: set \d+, gap \d", text.getvalue())


def test_a_stop_without_certificate_is_said(monkeypatch):
    monkeypatch.setattr(working_set, "MOST_ROUNDS", 1)
    monkeypatch.setattr(working_set, "FEW", 0)
    rows = Rows(clusters(500), gamma=0.05)
    with pytest.warns(UserWarning, match="without a certificate"):
        found = solve_working_set(rows, p=1.2, c=0.04)
    assert rows.has_single and not found.converged and found.gap > 1e-5
    again = certify(rows, p=1.2, c=0.04, alpha=found.alpha)  # in double precision
    assert found.gap == pytest.approx(again.gap, rel=1e-9)


def test_no_positive_outside_any_ball_is_radius_zero():
    found = solve_working_set(Rows(X, gamma=0.1), p=1.0, c=0.5 / N)
    assert found.status == "radius-zero"
    np.testing.assert_allclose(found.alpha, 1.0 / N)


def test_width_of_many_points_is_that_of_all_to_a_few_per_cent():
    data = clusters(MANY + 1, seed=8)
    everyone = 0.5 * float(cdist(data[:3000], data[3000:]).mean())
    assert half_mean_distance(data) == pytest.approx(everyone, rel=0.02)
    some = data[:MANY]
    assert half_mean_distance(some) == pytest.approx(
        0.25 * float(cdist(some, some).sum()) / (MANY * (MANY - 1)) * 2.0, rel=1e-12
    )


def test_problem_of_rows_is_in_the_units_of_the_matrix():
    whole = Problem(kernel_matrix(X, gamma=0.1), p=1.5, c=0.1)
    lazily = Problem(Rows(X, gamma=0.1), p=1.5, c=0.1)
    assert lazily.log_scale == pytest.approx(whole.log_scale, abs=1e-9)


FOREVER = """
    import signal
    import numpy as np
    from lpsvdd import LpSVDD
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    X = np.random.default_rng(0).normal(size=(20_000, 4))
    print("ready", flush=True)
    while True:
        LpSVDD(p=2.0, C=0.01, gamma=0.1, solver="working-set").fit(X)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_control_c_ends_a_fit():
    command = [sys.executable, "-c", textwrap.dedent(FOREVER)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.5)  # in the middle of a fit, whichever
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=120)  # it never ends by itself
        finally:
            process.kill()
    assert errors.rstrip().endswith("KeyboardInterrupt") and "in fit" in errors
