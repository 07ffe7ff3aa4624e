"""The theorems on the path from the kernel mean to the hard ball, and attempts to break them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from lpsvdd.kernels import kernel_matrix
from lpsvdd.solver import solve
from replication.findings import read, tilt
from replication.studies.tilt import Path, Shape, least_tilt_solution, matched_row, variance

POWERS = [1.2, 1.5, 5.0, 20.0]


@pytest.fixture(scope="module")
def K():
    return kernel_matrix(np.random.default_rng(0).normal(size=(40, 2)), gamma=0.5)


def at_price(K, p, price):
    return Path(K, p).at(math.log(price))


def length(K, step):
    return math.sqrt(max(float(step @ K @ step), 0.0))


# -- the price list ----------------------------------------------------------------


@pytest.mark.parametrize("p", [1.2, 2.0, 5.0])
def test_the_solution_is_the_dearest_variance(K, p):
    """V - lambda D_q of the solution against random weights, and its weights by the formula."""
    price, n, q = 0.05, len(K), p / (p - 1)
    found = at_price(K, p, price)

    def value(alpha):
        u = n * alpha
        return variance(K, alpha) - price * np.mean((u**q - 1 - q * (u - 1)) / (q * (q - 1)))

    best = value(found.alpha)
    rng = np.random.default_rng(1)
    for spread in (0.1, 1.0, 10.0):
        assert value(rng.dirichlet(np.full(n, spread))) < best
    mu = found.radius_sq + (p - 1) * price
    u = np.maximum(1 + (found.distances - mu) / ((p - 1) * price), 0.0) ** (p - 1)
    np.testing.assert_allclose(n * found.alpha, u, atol=1e-6)


# -- the ends ----------------------------------------------------------------


@pytest.mark.parametrize("p", POWERS)
def test_both_ends_are_reached_at_their_rates(K, p):
    n, q = len(K), p / (p - 1)
    hard, mean = solve(K, p=1.0, c=1.0, tol=1e-11), np.full(n, 1 / n)
    u = n * hard.alpha
    most = float(np.mean((u**q - 1 - q * (u - 1)) / (q * (q - 1))))
    gain = variance(K, hard.alpha) - variance(K, mean)
    for price in (10.0, 1.0, 1e-2, 1e-4):
        found = at_price(K, p, price)
        u = n * found.alpha
        paid = float(np.mean((u**q - 1 - q * (u - 1)) / (q * (q - 1))))
        assert paid <= gain / price + 1e-9
        assert length(K, found.alpha - hard.alpha) <= math.sqrt(price * most) + 1e-6


# -- leaving the mean ----------------------------------------------------------------


@pytest.mark.parametrize("p", POWERS)
def test_paths_part_as_the_theorem_says(K, p):
    """The weights themselves, and the centres; the error falls as the root of the tilt."""
    shape, n = Shape.of(K), len(K)
    z = shape.delta / shape.sigma
    g = z**2 - 1 - (z**3).mean() * z
    assert (g**2).mean() == pytest.approx((z**4).mean() - (z**3).mean() ** 2 - 1)
    kappa = (p - 2) / (2 * (p - 1))
    off = []
    for tilt_ in (1e-2, 1e-4):
        one, _ = Path(K, p).matched(tilt_, shape.sigma)
        two, log_price = Path(K, 2.0).matched(tilt_, shape.sigma)
        assert one.tilt == pytest.approx(tilt_, rel=1e-4)
        measured = n * (one.alpha - two.alpha)
        off.append(np.abs(measured - kappa * tilt_ * g).max() / np.abs(kappa * tilt_ * g).max())
        row = matched_row(K, shape, one, two, log_price)
        assert row["distance"] <= row["bound"]
    assert row["distance"] == pytest.approx(row["predicted"], rel=0.05)
    assert off[1] < 0.3 * off[0] and off[1] < 0.1


# -- the middle ----------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_no_weights_of_a_smaller_tilt_break_the_bound(kernel):
    rng = np.random.default_rng(2)
    X = rng.standard_t(3, size=(30, 3))
    K = kernel_matrix(X - X.mean(axis=0), kernel=kernel, gamma=0.3)
    shape, base = Shape.of(K), np.full(30, 1 / 30)
    size = float(np.ptp(K.diagonal()))
    for price in (1.0, 0.1, 0.01):
        log_price = math.log(price * size if kernel == "linear" else price)
        two = Path(K, 2.0).at(log_price)
        share = 1 + math.exp(log_price) / (2 * shape.rho)
        for k in range(300):
            ray = rng.dirichlet(np.full(30, 10.0 ** rng.uniform(-2, 1))) - base
            if k % 2:  # near the solution, where the bound is tightest
                ray = 0.1 * ray + 0.9 * (two.alpha - base)
            other = base + ray * min(1.0, math.sqrt(two.tilt / (30 * ray @ ray)))
            lost = variance(K, two.alpha) - variance(K, other)
            assert share * length(K, other - two.alpha) ** 2 <= lost + 1e-9 * size


def test_equal_rows_share_at_p_1_and_the_centre_stays():
    X = np.repeat(np.random.default_rng(3).normal(size=(8, 2)), [1, 2, 3, 1, 2, 3, 1, 2], axis=0)
    K = kernel_matrix(X, gamma=0.5)
    raw = solve(K, p=1.0, c=0.15, tol=1e-11)
    group = np.repeat(np.arange(8), [1, 2, 3, 1, 2, 3, 1, 2])
    first = np.flatnonzero(np.diff(group, prepend=-1))
    uneven = np.zeros(len(X))  # all weight of equal rows on the first of them
    uneven[first] = np.bincount(group, raw.alpha)
    found = least_tilt_solution(K, replace(raw, alpha=uneven))
    assert length(K, raw.alpha - found.alpha) < 1e-7
    assert max(np.ptp(found.alpha[group == k]) for k in range(8)) < 1e-9
    assert found.tilt == pytest.approx(len(X) * found.alpha @ found.alpha - 1)
    assert found.tilt < 0.9 * (len(X) * uneven @ uneven - 1)
    above = solve(K, p=2.0, c=0.15)
    assert least_tilt_solution(K, above) is above


# -- study and findings ----------------------------------------------------------------


def test_an_exponent_leaves_the_curve_when_its_auc_does():
    rows = read("tilt")
    found = tilt.one_curve(rows)
    assert "5" in found["on"] and "20" in found["open"] and "6/5" in found["off"]
    moved = rows["kind"].eq("matched") & rows["p"].eq(5.0)
    for column, step in (("auc", 0.6), ("correlation", -0.02)):
        changed = rows.copy()
        changed.loc[moved, column] += step
        found = tilt.one_curve(changed)
        assert "5" not in found["on"] and "5" in found["off"]
    sign = rows["trial"].map({10: 1.0, 11: -1.0, 12: 0.0})  # apart in size, not on average
    changed = rows.assign(auc=rows["auc"] + sign.where(moved, 0.0))
    found = tilt.one_curve(changed)
    assert found["size"]["5"] > 0.5 and "5" not in found["on"]


def test_the_figure_shows_every_exponent_and_all_cells():
    import matplotlib.pyplot as plt

    figure = tilt.draw_curves(read("tilt"), ("D2", "D8", "D7"))(narrow=False)
    shown = [ax for ax in figure.axes if ax.axison]
    assert len(shown) == 3
    for ax in shown:
        assert len(ax.lines) == len(tilt.LINES)
        assert len(ax.collections[0].get_offsets()) == 40
    plt.close(figure)
