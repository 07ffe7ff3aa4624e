"""The deep study: its derivatives are right, a network learns a ring, a small job has its rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from replication.protocol import auc
from replication.studies import deep


@pytest.mark.parametrize("p", [None, 1.0, 4 / 3, 5.0])
def test_derivatives_are_those_of_the_best_ball(p):
    """By differences of the loss itself: R^2 minimised anew, at the cost that the share gave."""
    rng = np.random.default_rng(0)
    shapes, X, share = [(5, 5, 1, 2), (3, 3, 2, 3), (12, 4)], rng.normal(size=(20, 169)), 0.3
    network = [w.astype(float) for w in deep.started(shapes, rng)]
    Z, kept = deep.outputs(network, X)
    centre = deep.centre_of(Z)
    d = np.sort(deep.distances(Z, centre))
    slack = d[-6:] - d[-7]
    cost = 0.0 if p is None else 1.0 / (p * (slack ** (p - 1.0)).sum())

    def loss() -> float:
        d = deep.distances(deep.outputs(network, X)[0], centre)
        if p is None:
            return d.mean()
        ball = lambda r: r + cost * (np.maximum(d - r, 0.0) ** p).sum()  # noqa: E731
        ends = (np.sort(d)[-9], np.sort(d)[-4])
        return minimize_scalar(ball, bounds=ends, method="bounded", options={"xatol": 1e-12}).fun

    found = deep.slopes(network, kept, deep.ball(centre, p, share)(Z, X))
    for weights, slope in zip(network, found, strict=True):
        place = np.unravel_index(np.abs(slope).argmax(), slope.shape)
        values = []
        for step in (1e-5, -2e-5):
            weights[place] += step
            values.append(loss())
        weights[place] += 1e-5
        assert (values[0] - values[1]) / 2e-5 == pytest.approx(slope[place], rel=1e-3)


@pytest.mark.parametrize("loss", deep.LOSSES)
def test_a_network_learns_a_ring_against_its_centre(loss):
    """The mean of a ring is its centre, so only a map that is learnt can tell them apart."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 1200)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]).astype(np.float32)
    test = np.vstack([ring[:400], 0.5 * ring[:400] * rng.random((400, 1), dtype=np.float32)])
    y = np.repeat([1, -1], 400)
    first = deep.started([(2, 32), (32, 8)], rng)
    centre = deep.centre_of(deep.outputs(first, ring)[0])
    slope = deep.ball(centre, deep.LOSSES[loss], deep.SHARE)
    found = deep.train(first, ring, slope, rate=0.01, epochs=60, seed=0)
    before, after = (-deep.distances(deep.outputs(n, test)[0], centre) for n in (first, found))
    assert auc(-deep.distances(test, ring.mean(axis=0)), y) < 1.0
    assert auc(before, y) < 80.0 and auc(after, y) > 95.0


def test_a_small_job_has_a_row_for_every_detector(monkeypatch):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(800, 784)).astype(np.float32), np.repeat([0, 1], 400)
    X[labels == 0, :100] += 1.0
    monkeypatch.setattr(deep, "images", lambda: (X, labels, X[::5], labels[::5]))
    monkeypatch.setattr(deep, "EPOCHS", 1)
    first, second = (deep.deep(deep.Garment("T-shirt", seed)) for seed in (0, 1))
    assert len(first) == 8 + 4 * 6 + 4 + 8 + 4 * 3 + 4 and len(second) == 1 + 4 * 6
    assert all(row["auc"] > 50.0 for row in first if row["method"] == "OneClassSVM")
    assert {row["variance"] for row in first if row.get("epochs") == 0} == {1.0}
    assert all(1.0 <= row["rank"] <= 32.0 for row in first if "rank" in row)


def test_collapse_is_seen():
    rng = np.random.default_rng(0)
    wide, flat = rng.normal(size=(2000, 8)), rng.normal(size=(2000, 1)) * np.ones(8)
    assert deep.spread(wide)[1] > 7.9 and deep.spread(flat)[1] < 1.001


def test_other_files_are_refused(monkeypatch, tmp_path):
    monkeypatch.setenv(deep.VARIABLE, str(tmp_path / "absent"))
    with pytest.raises(FileNotFoundError, match=f"dataset-fashion-mnist.*{deep.VARIABLE}"):
        deep.images.__wrapped__()
