"""Every road of a fit: the matrix, kernel values on demand, landmarks. One contract for all."""

from __future__ import annotations

import io
import re
import signal
import subprocess
import sys
import textwrap
import time
import tracemalloc
import warnings
from contextlib import redirect_stdout

import numpy as np
import pytest
from by_hand import dual_by_hand, objective, unit
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from lpsvdd import LpSVDD, _training, solve, solve_path
from lpsvdd.kernels import MANY, half_mean_distance, kernel_matrix
from lpsvdd.solver import Gram, Rows, active, certify, memory
from replication.protocol import Task
from replication.trial import prepare
from replication.weights import global_local

EXPONENTS = (1.0, 1.05, 1.2, 2.0, 5.0, 20.0)
ROADS = ("dense", "working-set", "landmarks")


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
    monkeypatch.setattr(active, "FREE", 60)


def laplace(a, b):
    return float(np.exp(-0.2 * np.abs(a - b).sum()))


def on(road, data, **options) -> LpSVDD:
    """An estimator on a road; all samples are landmarks, so that nothing is lost."""
    if road == "landmarks" and options.get("kernel") != "linear":
        options["landmarks"] = data
    return LpSVDD(solver=road, **{"gamma": 0.1, **options})


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
    "more negatives than targets": (X[:120], np.where(np.arange(120) % 3, -1, 1), None, {"C": 0.1}),
}


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("case", CASES)
def test_every_road_ends_at_the_same_ball(case, p):
    data, y, weight, options = CASES[case]
    new = NEW + (data.mean(axis=0) - X.mean(axis=0))
    kernel = {"gamma": 0.1, "kernel": options.get("kernel", "rbf"), "degree": 2}
    dense = None
    for road in ROADS:
        model = on(road, data, **{"p": p, "C": 0.02, "contamination": 0.1} | options)
        model.fit(data, y, weight)
        assert model.solver_ == road and model.status_ == "optimal" and model.duality_gap_ <= 1e-9
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


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("share", [2.0, 100.0])
def test_certificate_holds_by_other_arithmetic(p, share):
    """P and D of the whole problem, written out from the derivation on the whole matrix."""
    data = clusters(500, seed=3)
    c = share / len(data)
    found = solve(Rows(data, gamma=0.1), p=p, c=c, tol=1e-7)
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


COST = {"C": 0.05, "C_neg": 0.02, "contamination": 0.2}
SHARE = {"nu": 0.2}  # on landmarks copies and weights may end at other costs of the same share


@pytest.mark.parametrize(
    ("road", "cost"), [*((r, COST) for r in ROADS), *((r, SHARE) for r in ROADS[:2])]
)
@pytest.mark.parametrize("p", [1.0, 1.3, 2.0, 5.0])
def test_weights_are_copies_and_zero_removes(road, p, cost):
    y = LABELS if "C" in cost else np.ones(N)
    copies = np.repeat(np.arange(N), WEIGHTS.astype(int))
    weighted = on(road, X, p=p, **cost).fit(X, y, sample_weight=WEIGHTS)
    copied = on(road, X, p=p, **cost).fit(X[copies], y[copies])
    np.testing.assert_allclose(weighted.score_samples(X), copied.score_samples(X), atol=1e-6)
    assert weighted.offset_ == pytest.approx(copied.offset_, abs=1e-6)
    assert weighted.C_ == pytest.approx(copied.C_, rel=1e-6)
    removed = WEIGHTS == 0.0
    assert (weighted.alpha_[removed] == 0.0).all() and len(weighted.slack_) == N
    d = -weighted.score_samples(X)
    np.testing.assert_allclose(weighted.distance_fit_, d, atol=1e-9)
    slack = np.maximum(y * (d - weighted.radius_sq_), 0.0)
    np.testing.assert_allclose(weighted.slack_, slack, atol=1e-7)
    total = np.bincount(copies, copied.alpha_, minlength=N)
    if p > 1.0:  # at p = 1 copies may share their multiplier in any way, but not its sum
        np.testing.assert_allclose(weighted.alpha_, total, atol=1e-4)
        assert weighted.tilt_ == pytest.approx(copied.tilt_, rel=1e-4)


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("p", [1.0, 1.2, 5.0])
def test_starved_of_iterations_it_says_so_and_its_gap_is_true(road, p):
    if p == 1.0 and road != "landmarks":
        p = 1.05  # libsvm starts p = 1 at the solution
    with pytest.warns(ConvergenceWarning, match="without a certificate: .* gap .*max_iter"):
        model = on(road, X, p=p, C=0.05, max_iter=1).fit(X)
    assert model.status_ == "not-converged" and model.duality_gap_ > 1e-8
    y, cost, K = np.ones(N), np.full(N, 0.05), kernel_matrix(X, gamma=0.1)
    primal = objective(model, -model.score_samples(X), y, cost)
    gap = (primal - dual_by_hand(model.alpha_, y, K, p, cost)) / (unit(K, p, cost) + primal)
    assert model.duality_gap_ == pytest.approx(gap, rel=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert on(road, X, p=p, C=0.05, max_iter=1, tol=0.9).fit(X).status_ == "optimal"


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize(("p", "nu"), [(1.0, 0.1), (1.2, 0.05), (2.0, None), (2.0, 0.3)])
def test_share_outside(road, p, nu):
    data = clusters(400, seed=5)
    model = on(road, data, p=p, nu=nu, surface="ball").fit(data)
    outside = np.count_nonzero(model.predict(data) < 0)
    wanted = (nu or 0.1) * len(data)
    assert abs(outside - wanted) <= 1 if p > 1.0 else outside <= wanted
    again = LpSVDD(p=p, C=model.C_, gamma=0.1, solver="dense").fit(data)
    np.testing.assert_allclose(model.score_samples(NEW), again.score_samples(NEW), atol=1e-6)


@pytest.mark.parametrize("road", ROADS)
def test_at_p_one_with_labelled_outliers_nu_still_bounds_the_targets_outside(road):
    """There sum_pos alpha is more than one, and the box alone lets 0.18 and 0.44 outside."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(400, 2))
    y = np.where(rng.random(400) < 0.4, -1, 1)
    for kernel in ("rbf", "linear"):
        for nu in (0.05, 0.2):
            model = on(road, data, p=1.0, nu=nu, kernel=kernel, surface="ball").fit(data, y)
            rejected = np.mean(model.predict(data[y > 0]) < 0)
            assert nu - 0.02 <= rejected <= nu


def test_another_road_leaves_nothing_of_two_models():
    model = on("dense", X, p=1.5, C=0.05).fit(X)
    for other in (*ROADS, *ROADS):
        model.set_params(solver=other, landmarks=X if other == "landmarks" else None).fit(X)
        assert vars(model).keys() == vars(on(other, X, p=1.5, C=0.05).fit(X)).keys()
        assert hasattr(model, "gap_kind_") == (other == "landmarks")


@pytest.mark.parametrize("data, y, options", [
    (X[:60], LABELS[:60], {}), (X, LABELS, {}), (X, None, {"sample_weight": WEIGHTS + 1.0}),
], ids=["few", "many", "weights"])  # fmt: skip
def test_a_path_has_the_solutions_of_single_problems_on_any_points(data, y, options):
    ps, cs, c_neg = [1.0, 32 / 31, 1.2, 5.0, 20.0], [0.01, 0.1, 1.0], [0.05, 0.5]
    K = kernel_matrix(data, gamma=0.1)
    labels = np.ones(len(data)) if y is None else y
    weight = options.get("sample_weight", 1.0)
    cells = [(p, c, m) for p in ps for c in cs for m in c_neg]
    for points in (K, Rows(data, gamma=0.1)):
        path = solve_path(points, y, ps=ps, cs=cs, c_neg=c_neg, **options)
        assert [(s.p, s.c, s.c_neg) for s in path] == cells
        for (p, c, m), found in zip(cells, path, strict=True):
            cost = np.where(labels > 0, c, m) * weight
            single = solve(K, y, p=p, c=cost)
            assert found.status == single.status != "not-converged"
            assert found.primal == pytest.approx(single.primal, rel=1e-7, abs=1e-8)
            np.testing.assert_allclose(K @ found.centre, K @ single.centre, atol=2e-4)
            judged = certify(K, y, p=p, c=cost, alpha=found.alpha)
            assert judged.gap <= 2e-9
            assert judged.radius_sq == pytest.approx(found.radius_sq, rel=1e-5, abs=1e-5)


def test_a_start_that_misleads_is_dropped():
    """p = 1 with unequal costs: from its neighbour this cell ended in no certificate."""
    hard = prepare(Task("D19", "negatives", 27)).kernels
    weight = global_local(hard.K, hard.y, k=5, lam=0.25)
    path = solve_path(hard.K, hard.y, ps=[1.0], cs=[0.1], c_neg=[0.1, 1.0], sample_weight=weight)
    assert [found.status for found in path] == ["optimal"] * 2


def test_p_one_with_a_matrix_that_is_all_but_singular():
    """On all points Newton's method swung about a gap of 1e-8 here."""
    hard = prepare(Task("D12", "negatives", 61)).kernels
    weight = global_local(hard.K, hard.y, k=3, lam=0.75)
    cost = np.where(hard.y > 0, 0.1, 1.0) * weight
    assert solve(hard.K, hard.y, p=1.0, c=cost).status == "optimal"
    costs = [0.001, 0.01, 0.1, 1.0]
    path = solve_path(hard.K, hard.y, ps=[1.0], cs=[0.1], c_neg=costs, sample_weight=weight)
    assert {found.status for found in path} == {"optimal"}


def test_one_negative_in_the_middle_is_found():
    angles = np.linspace(0, 2 * np.pi, 80, endpoint=False)
    far = np.vstack([9.0 * np.eye(2), -9.0 * np.eye(2), [[9.0, 9.0]]])
    data = np.vstack([np.column_stack([np.cos(angles), np.sin(angles)]), [[0.0, 0.0]], far])
    y = np.r_[np.ones(80), -np.ones(6)]
    for points in (kernel_matrix(data, gamma=0.5), Rows(data, gamma=0.5)):
        found = solve(points, y, p=2.0, c=1.0)
        assert found.alpha[80] > 1e-3 and (found.alpha[81:] == 0.0).all()
        assert y @ found.alpha == pytest.approx(1.0)


def test_fixed_multipliers_alone_solve_p_1(monkeypatch):
    """With the wrong linear term of the points held fixed some other way would have to help."""

    def refuse(*args):
        raise AssertionError("the points near the surface were not enough")

    monkeypatch.setattr(active, "newton_on_support", lambda problem, value, *_: (value, 0))
    monkeypatch.setattr(active, "in_coordinates", refuse)
    plain = active.solve_part
    some = lambda part, *rest: plain(part, *rest) if part.n < 400 else refuse()  # noqa: E731
    monkeypatch.setattr(active, "solve_part", some)
    data = clusters(500, seed=3)
    y = np.where(np.arange(500) % 20 == 0, -1.0, 1.0)
    for labels in (None, y):
        found = solve(Rows(data, gamma=0.1), labels, p=1.0, c=6 / 500, tol=1e-6)
        assert found.converged and np.count_nonzero(found.alpha > 0.0119) > 30


def test_a_start_saves_iterations():
    rows = Rows(clusters(800, seed=6), gamma=0.1)
    cold = [solve(rows, p=1.2, c=c) for c in (0.02, 0.022)]
    path = solve_path(rows, ps=[1.2], cs=[0.02, 0.022])
    assert path[1].converged and path[1].n_iter < cold[1].n_iter


# -- points ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [100_000_000, 10 * N])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_rows_are_those_of_the_matrix(kernel, kept, monkeypatch):
    monkeypatch.setattr(memory, "MOST_KEPT", kept)
    monkeypatch.setattr("lpsvdd.solver.memory.BLOCK", kept)  # few columns are kept: many blocks
    options = {"kernel": kernel, "gamma": 0.1, "degree": 2}
    data = X + 5.0
    rows, whole = Rows(data, **options), Gram.check(kernel_matrix(data, **options))
    beta = RNG.normal(size=N)
    beta -= beta.mean()  # sums that vanish: the origin plays no role
    for sparsely in (beta, np.where(np.arange(N) < 8, beta, 0.0), beta):
        sparsely = sparsely - sparsely.mean() * (np.arange(N) < 8) * N / 8
        left, right = sparsely @ rows.times(sparsely), sparsely @ whole.times(sparsely)
        assert left == pytest.approx(right, rel=1e-9)
    assert rows.spread == pytest.approx(whole.spread, rel=1e-6)
    some = np.arange(5, 200, 7)
    for part in (rows.part(some).K, rows.subset(some).block(slice(None), slice(None))):
        np.testing.assert_allclose(part, rows.block(some, some), rtol=1e-9)
    exact = kernel_matrix(data, **options)
    assert rows.norm_sq(WEIGHTS) == pytest.approx(WEIGHTS @ exact @ WEIGHTS, rel=1e-9)


def test_the_norm_of_a_centre_is_about_the_origin_of_the_kernel():
    far = Rows(X + 100.0, kernel="linear")
    centre = WEIGHTS @ (X + 100.0)
    assert far.offset is not None
    assert far.norm_sq(WEIGHTS) == pytest.approx(centre @ centre, rel=1e-9)


@pytest.mark.parametrize("p", [1.0, 1.2, 2.0, 5.0])
def test_no_matrix_of_all_points_is_made(p, monkeypatch):
    n = 2_000
    monkeypatch.setattr("lpsvdd.solver.memory.BLOCK", 50_000)
    monkeypatch.setattr(memory, "MOST_KEPT", 200 * n)
    data = clusters(n, seed=4)
    tracemalloc.start()
    try:
        model = LpSVDD(p=p, nu=0.05, gamma=0.1, tol=1e-4, solver="working-set").fit(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.duality_gap_ <= 1e-4
    assert peak < 0.75 * 8 * n * n
    outside = np.maximum(-model.score_samples(data) - model.radius_sq_, 0.0)
    np.testing.assert_allclose(model.slack_, outside, atol=2e-8)  # of the rows of every block


# -- which road, and what it needs -----------------------------------------------------------------


@pytest.mark.parametrize("n, options, road", [
    (300, {}, "dense"), (301, {}, "working-set"), (10_000, {}, "working-set"),
    (10_001, {}, "landmarks"), (50_000, {"C": 1.0}, "working-set"),
    (50_001, {"C": 1.0}, "landmarks"), (50_000, {"p": 1.0}, "working-set"),
    (50_001, {"p": 1.0}, "landmarks"), (99_999, {"kernel": laplace}, "dense"),
    (2_000, {"kernel": "precomputed"}, "dense"), (100, {"landmarks": 5}, "landmarks"),
    (99_999, {"solver": "dense"}, "dense"),
])  # fmt: skip
def test_auto_goes_by_the_number_of_samples(n, options, road):
    assert _training.chosen_solver(LpSVDD(**options), np.broadcast_to(0.0, (n, 3))) == road


def test_memory_that_is_not_there_is_not_asked_for(monkeypatch):
    assert memory.available_memory() > 0
    monkeypatch.setattr(memory, "available_memory", lambda: 1_000_000)
    with pytest.raises(MemoryError, match="matrix of 4000 .* needs about .* MB .*working-set"):
        LpSVDD(solver="dense", gamma=0.1).fit(clusters(4_000))
    assert memory.cache_size(1_000) == 31_250
    fitted = LpSVDD(solver="working-set", C=0.02, gamma=0.1).fit(X)
    monkeypatch.undo()
    expected = LpSVDD(solver="working-set", C=0.02, gamma=0.1).fit(X)
    np.testing.assert_allclose(fitted.score_samples(NEW), expected.score_samples(NEW), atol=1e-6)


@pytest.mark.parametrize("road", ROADS)
def test_verbose_tells_rounds_size_and_gap(road):
    text = io.StringIO()
    with redirect_stdout(text):
        on(road, X, p=1.2, C=0.02, verbose=1).fit(X)
    assert re.search(r"round 0: \d+ points, gap \d", text.getvalue())


def test_width_of_many_points_is_that_of_all_to_a_few_per_cent():
    data = clusters(MANY + 1, seed=8)
    everyone = 0.5 * float(cdist(data[:3000], data[3000:]).mean())
    assert half_mean_distance(data) == pytest.approx(everyone, rel=0.02)
    some = data[:MANY]
    assert half_mean_distance(some) == pytest.approx(
        0.25 * float(cdist(some, some).sum()) / (MANY * (MANY - 1)) * 2.0, rel=1e-9
    )


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


def test_distant_points_keep_their_digits():
    data = np.vstack([X[:100], X[:100] + 1e6])
    everything = Rows(data, gamma=0.1).block(slice(None), slice(None))
    np.testing.assert_allclose(everything, kernel_matrix(data, gamma=0.1), atol=1e-9)
