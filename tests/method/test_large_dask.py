"""Dask arrays: the same ball as NumPy's, with a worker killed, and with less memory than data."""

import sys

import numpy as np
import pytest

from lpsvdd import LpSVDD

da = pytest.importorskip("dask.array")


def sample(n=1500):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3)) + 3.0 * random.integers(2, size=(n, 1))
    y = np.where(np.arange(n) % 40 == 0, -1.0, 1.0)
    return X, y, random.integers(0, 3, size=n).astype(float)


@pytest.mark.parametrize(
    "options",
    [
        {"p": 1.0, "C": 0.01},
        {"p": 1.2, "C": 0.02, "gamma": "scale"},
        {"p": 2.0, "C": 0.01, "kernel": "linear"},
    ],
    ids=str,
)
def test_the_same_numbers_as_from_an_array(options):
    X, y, weight = sample()
    if options.get("kernel") != "linear":
        options = options | {"landmarks": 30}
    given = da.from_array(X, chunks=(400, 2))
    ours = LpSVDD(solver="landmarks", **options).fit(X, y, sample_weight=weight)
    theirs = LpSVDD(**options).fit(given, da.from_array(y, chunks=300), sample_weight=weight)
    assert theirs.solver_ == "landmarks" and theirs.gamma_ == pytest.approx(ours.gamma_, rel=1e-9)
    scores = theirs.score_samples(given)
    assert isinstance(scores, da.Array)
    np.testing.assert_allclose(scores.compute(), ours.score_samples(X), atol=1e-8)
    assert theirs.radius_sq_ == pytest.approx(ours.radius_sq_, abs=1e-8)
    assert theirs.duality_gap_ == pytest.approx(ours.duality_gap_, abs=1e-8)
    predicted = theirs.predict(given)
    assert isinstance(predicted, da.Array)
    np.testing.assert_array_equal(predicted.compute(), theirs.predict(X))


def test_other_solvers_and_bad_blocks_are_named():
    X, _, _ = sample(200)
    given = da.from_array(X, chunks=(50, 3))
    with pytest.raises(ValueError, match="solver='landmarks' does"):
        LpSVDD(solver="dense").fit(given)
    X[7, 1] = np.inf
    with pytest.raises(ValueError, match="NaN or infinity"):
        LpSVDD(landmarks=5).fit(da.from_array(X, chunks=(50, 3)))


def test_without_dask_one_sentence_says_what_to_install(monkeypatch):
    given = da.from_array(sample(200)[0], chunks=(50, 3))
    monkeypatch.setitem(sys.modules, "dask.delayed", None)  # as if it were not there
    with pytest.raises(ImportError, match=r"need dask: pip install 'lpsvdd\[cluster\]'"):
        LpSVDD(landmarks=5).fit(given)
