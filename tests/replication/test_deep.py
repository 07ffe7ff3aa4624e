"""The deep study: its derivatives are right, a network learns a ring, a small job has its rows."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from replication.protocol import auc
from replication.studies import deep


@pytest.mark.parametrize("p", [None, 1.0, 4 / 3, 5.0])
def test_derivatives_are_those_of_the_best_ball(p):
    """By differences of the loss itself: R^2 minimised anew, at the cost that the share gave."""
    rng, centre = np.random.default_rng(0), np.full(4, 0.5)
    network = deep.started([(5, 5, 1, 2), (3, 3, 2, 3), (12, 4)], rng)
    X, moves = rng.normal(size=(20, 169)), [rng.normal(size=w.shape) for w in network]
    Z, slopes = deep.outputs(network, X, partial(deep.ball, centre, p, 0.3))
    d = np.sort(((Z - centre) ** 2).sum(axis=1))
    cost = p and 1.0 / (p * ((d[-6:] - d[-7]) ** (p - 1.0)).sum())

    def loss(r, step):
        moved = [w + step * move for w, move in zip(network, moves, strict=True)]
        d = ((deep.outputs(moved, X)[0] - centre) ** 2).sum(axis=1)
        return r + cost * (np.maximum(d - r, 0.0) ** p).sum() if p else d.mean()

    best = partial(minimize_scalar, loss, bounds=(d[-9], d[-4]), options={"xatol": 1e-12})
    slope = (best(args=(1e-5,)).fun - best(args=(-1e-5,)).fun) / 2e-5
    assert slope == pytest.approx(sum(map(np.vdot, slopes, moves)), rel=1e-3)


@pytest.mark.parametrize("p", deep.LOSSES.values(), ids=deep.LOSSES)
def test_a_network_learns_a_ring_against_its_centre(p):
    """The mean of a ring is its centre, so only a map that is learnt can tell them apart."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 1200)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]).astype(np.float32)
    test = np.vstack([ring[:400], 0.5 * ring[:400] * rng.random((400, 1), dtype=np.float32)])
    first = deep.started([(2, 32), (32, 8)], rng)
    centre = deep.outputs(first, ring)[0].mean(axis=0)
    found = deep.train(first, ring, partial(deep.ball, centre, p, deep.SHARE), 0.01, 60, [0])
    scores = (-((deep.outputs(n, test)[0] - centre) ** 2).sum(axis=1) for n in (first, found))
    before, after = (auc(one, np.repeat([1, -1], 400)) for one in scores)
    assert before < 80.0 and after > 95.0


def test_a_small_job_has_its_rows_sees_a_collapse_and_refuses_other_files(monkeypatch, tmp_path):
    (tmp_path / f"{deep.FILES[0]}-ubyte.gz").touch()
    monkeypatch.setenv(deep.VARIABLE, str(tmp_path))
    with pytest.raises(FileNotFoundError, match=f"dataset-fashion-mnist.*{deep.VARIABLE}"):
        deep.images.__wrapped__()
    X, labels = np.random.default_rng(0).normal(size=(800, 784)), np.repeat([0, 1], 400)
    assert deep.spread(X[:, :1] * [3, 4], X[:, :1] * [1, 0]) == {"variance": 25.0, "rank": 1.0}
    assert deep.spread(X[:, :8], X)["rank"] == pytest.approx(8.0, rel=0.01)
    X[labels == 0, :100] += 1.0
    X = X.astype(np.float32)
    monkeypatch.setattr(deep, "images", lambda: (X, labels, X[::5], labels[::5]))
    monkeypatch.setattr(deep, "EPOCHS", 1)
    first, second = (deep.deep(deep.Garment("T-shirt", seed)) for seed in (0, 1))
    assert len(first) == 8 + 4 * 6 + 4 + 8 + 4 * 3 + 4 and len(second) == 1 + 4 * 6
    assert all(row["auc"] > 60.0 for row in first if row["features"] == "pixels")
    left = [row["variance"] for row in first if row["method"] == "ball"]
    assert left.count(1.0) == 4 and len(set(left)) == len(left) - 3  # no two trainings are one
