"""What may be called optimal: every clause of the definition, and every way that leads to it."""

import itertools
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from lpsvdd import LpSVDD, solve, solve_path
from lpsvdd.kernels import kernel_matrix
from lpsvdd.solver import Problem, Rows, certify
from lpsvdd.solver.certificate import (
    EQUALITY,
    ROUNDING,
    better_value,
    certified_gap,
    is_optimal,
    rounding_allowance,
)
from replication.studies.fuzz_judge import JudgedCase, exact_gap

HARD = json.loads(Path(__file__).parent.parent.joinpath("hard_cases.json").read_text())


def problem(p: float = 2.0, n_neg: int = 4) -> Problem:
    X = np.random.default_rng(0).normal(size=(12, 2))
    y = np.repeat([1.0, -1.0], [12 - n_neg, n_neg])
    return Problem(kernel_matrix(X, gamma=0.3), y, p=p, c=0.5)


@pytest.fixture(params=[1.0, 2.0])
def solved(request):
    one = problem(request.param)
    return one, one.evaluate(solve(one.points, one.y, p=one.p, c=0.5).alpha)


def with_gap(value, gap: float):
    return value._replace(excess=gap * (1.0 + abs(value.primal)))


@pytest.mark.parametrize("gap, accepted", [
    (0.0, True), (0.999e-9, True), (-0.5 * ROUNDING, True), (1.001e-9, False),
    (-2.0 * ROUNDING, False), (-2.0, False), (np.nan, False), (np.inf, False),
])  # fmt: skip
def test_optimal_gap_lies_between_rounding_and_tolerance(solved, gap, accepted):
    one, value = solved
    assert is_optimal(one, with_gap(value, gap), 1e-9) == accepted


def test_optimal_multipliers_are_feasible_and_finite(solved):
    one, value = solved
    alpha = value.alpha
    below = np.where(np.arange(12) == np.argmin(alpha), -1e-12, alpha)
    assert is_optimal(one, value._replace(alpha=alpha * (1 - 0.1 * EQUALITY)), 1e-9)
    for wrong in (below, alpha * (1 - 1e-8), np.full(12, np.nan), np.full(12, np.inf)):
        assert not is_optimal(one, value._replace(alpha=wrong), 1e-9)
    for wrong in (np.nan, np.inf):
        none = value._replace(primal=wrong)  # its gap is no number
        assert not is_optimal(one, none, 1e-9) and certified_gap(one, none) == np.inf


def test_optimal_multipliers_at_p_one_are_in_the_box_to_rounding():
    one = problem(1.0, n_neg=0)
    value = one.evaluate(one.feasible(solve(one.points, p=1.0, c=0.5).alpha))
    most = value.alpha.max()
    assert is_optimal(one.at(p=1.0, c=most), value, 1e-9)
    assert not is_optimal(one.at(p=1.0, c=(1.0 - 1e-8) * most), value, 1e-9)


@pytest.mark.parametrize("worse", [1e-6, -1e-3, np.nan])
def test_better_is_the_smaller_gap_and_never_one_below_rounding_or_none(solved, worse):
    one, value = solved
    small, other = with_gap(value, 1e-8), with_gap(value, worse)
    assert better_value(one, other, small) is better_value(one, small, other) is small


@pytest.mark.parametrize("p", [1.0, 1.3, 2.0])
def test_allowance_adds_what_each_error_may_change_in_quadrature_and_the_common_one(p, monkeypatch):
    """By its definition, with an EPS so large that rounding is no part of the sums."""
    one, eps = problem(p), 1e-5
    value = one.evaluate(solve(one.points, one.y, p=p, c=0.5).alpha)
    monkeypatch.setattr("lpsvdd.solver.certificate.EPS", eps)
    cost = 0.5 * np.exp((p - 1.0) * one.log_scale)
    total, unit = value.alpha.sum(), eps * one.inv_scale  # the largest k_ii is one

    def rise(shift):
        moved, still = (np.maximum(value.signed + e, 0.0) ** p for e in (shift, 0.0))
        return cost * (moved - still) - value.alpha * shift

    alone = np.maximum(*(rise(sign * 2.0 * unit * (1.0 + total)) for sign in (1.0, -1.0)))
    common = max(rise(sign * one.y * unit * total**2).sum() for sign in (1.0, -1.0))
    expected = np.linalg.norm(alone) + max(common, 0.0) + eps * (1.0 + abs(value.primal))
    assert rounding_allowance(one, value) == pytest.approx(expected, rel=1e-6)


def test_warning_names_rounding_where_rounding_is_the_cause():
    X = np.random.default_rng(3).normal(size=(20, 2))
    with pytest.warns(ConvergenceWarning, match="rounding of the kernel values may hide"):
        solve(kernel_matrix(X, gamma=1e-6), p=1.0, c=1e8)
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        solve(kernel_matrix(X, gamma=0.3), p=1.05, c=0.5, max_iter=1)


ROWS = np.random.default_rng(1).normal(size=(110, 2))
LABELS = np.where(np.arange(110) % 4 == 0, -1.0, 1.0)
K = kernel_matrix(ROWS, gamma=0.3)


def fitted(**options) -> list[str]:
    return [LpSVDD(gamma=0.3, **options).fit(ROWS, LABELS).status_]


WAYS = {
    "matrix": lambda: [solve(K, LABELS, p=2.0, c=0.5).status],
    "rows": lambda: [solve(Rows(ROWS, gamma=0.3), LABELS, p=1.2, c=0.5).status],
    "path": lambda: [s.status for s in solve_path(K, LABELS, ps=[1.2, 2.0], cs=[0.1])],
    "p = 1": lambda: [solve(K, LABELS, p=1.0, c=0.5).status],
    "scale": lambda: fitted(nu=0.2),
    "dense": lambda: fitted(C=0.5, solver="dense"),
    "working-set": lambda: fitted(C=0.5, solver="working-set"),
    "landmarks": lambda: fitted(C=0.5, contamination=0.1, landmarks=ROWS),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_solver_asks_the_same_judge(way, monkeypatch):
    """With a judge that refuses, nothing is optimal, whichever way it was computed."""
    assert set(WAYS[way]()) == {"optimal"}
    # by its key: the attribute ``solve`` of the package is the function
    monkeypatch.setattr(sys.modules["lpsvdd.solver.solve"], "is_optimal", lambda *_: False)
    with pytest.warns(ConvergenceWarning, match="without a certificate"):
        assert set(WAYS[way]()) == {"not-converged"}


def solved_and_warned(K, y, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = solve(K, y, **options)
    return found, any(issubclass(one.category, ConvergenceWarning) for one in caught)


@pytest.mark.parametrize("n_neg", [0, 20], ids=["one-class", "negatives"])
@pytest.mark.parametrize("p", [1.0, 1.5, 5.0])
def test_optimal_means_within_the_tolerance(p, n_neg):
    """Few iterations leave gaps of every size, also a little above what was asked for."""
    X = np.random.default_rng(8).normal(size=(60 + n_neg, 3))
    X[60:] += 0.8
    y, K = np.r_[np.ones(60), -np.ones(n_neg)], kernel_matrix(X, gamma=0.3)
    ratios = []
    limits = (*range(1, 14, 2), 60)
    for tol, max_iter, c in itertools.product((1e-3, 1e-6, 1e-9), limits, (0.1, 0.3)):
        found, warned = solved_and_warned(K, y, p=p, c=c, tol=tol, max_iter=max_iter)
        gap = certify(K, y, p=p, c=c, alpha=found.alpha).gap
        assert found.gap == pytest.approx(gap, rel=1e-3, abs=1e-10)
        assert found.converged == (found.gap <= tol)
        assert found.status == ("optimal" if found.converged else "not-converged")
        assert warned == (not found.converged)
        ratios.append(gap / tol)
    assert any(1.0 < ratio < 1e4 for ratio in ratios)  # where a lax rule would say "optimal"
    assert any(ratio <= 1.0 for ratio in ratios)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("p", [1.0, 1.2, 2.0, 5.0])
def test_optimal_is_at_most_twice_the_tolerance_by_60_digit_arithmetic(p):
    """Integer kernels, 25 labelled outliers of 40, and costs that leave little to rounding."""
    optimal, y = 0, np.repeat([1.0, -1.0], [15, 25])
    for seed, c in itertools.product(range(3), (0.3, 20.0, 6708.0)):
        X = np.random.default_rng(seed).integers(-3, 4, size=(40, 2)).astype(float)
        found = solve(X @ X.T, y, p=p, c=c)
        if found.status == "optimal":
            optimal += 1
            case = JudgedCase(X @ X.T, X, y, p, np.full(40, c), power=1)
            assert exact_gap(case, found) <= 2e-9
    assert optimal >= 2


@pytest.mark.parametrize("hard", HARD, ids=lambda case: case["name"])
def test_hard_problem_is_never_called_optimal_by_mistake(hard):
    """Tight clusters, points far from the origin, both labels at one point, p - 1 = 1e-6."""
    points, y = np.array(hard["rows"])[hard["points"]], np.array(hard["labels"], dtype=float)
    kernel = {"kernel": hard["kernel"], "gamma": hard["gamma"]}
    p, cost = hard["p"], np.full(len(y), hard["c"])
    K = kernel_matrix(points, **kernel)
    case = JudgedCase(K, points, y, p, cost, power=int(hard["kernel"] == "linear"))
    for given in (K, Rows(points, **kernel)):
        found, warned = solved_and_warned(given, y, p=p, c=cost)
        assert found.converged or warned
        assert not found.converged or exact_gap(case, found) <= 2e-9
