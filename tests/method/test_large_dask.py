"""Dask arrays: the same ball as NumPy's, with a worker killed, and with less memory than data."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

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


def _dies_once(block, lock=None, calls=None):
    """A block of rows; the thirtieth time one is asked for, the worker is killed."""
    with open(calls, "a") as handle:
        handle.write(".")
    if os.path.getsize(calls) >= 30 and not os.path.exists(lock):
        Path(lock).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.slow
def test_a_killed_worker_costs_time_and_not_the_result(tmp_path):
    from distributed import Client, LocalCluster

    X, _, _ = sample(1000)
    lock, calls = str(tmp_path / "killed"), str(tmp_path / "calls")
    options = {"p": 1.2, "C": 0.02, "gamma": 0.3, "solver": "landmarks", "landmarks": 20}
    expected = LpSVDD(**options).fit(X)
    local = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(**local) as cluster, Client(cluster):
        given = da.from_array(X, chunks=(250, 3)).map_blocks(
            _dies_once, lock=lock, calls=calls, dtype=float, meta=np.empty((0, 0))
        )
        model = LpSVDD(**options).fit(given)
    assert os.path.exists(lock)
    np.testing.assert_allclose(model.score_samples(X), expected.score_samples(X), atol=1e-8)


OUT_OF_CORE = """
    import resource, sys
    import dask, dask.array as da, numpy as np
    from lpsvdd import LpSVDD

    folder, n_files, rows, columns = sys.argv[1], 40, 800, 1500
    def load(block_info=None):
        return np.load(f"{folder}/{block_info[None]['chunk-location'][0]}.npy")
    X = da.map_blocks(load, chunks=((rows,) * n_files, (columns,)), dtype=float,
                      meta=np.empty((0, 0)))
    np.ones((500, 500)) @ np.ones((500, 500))  # BLAS takes its own memory once
    used = int(open("/proc/self/status").read().split("VmData:")[1].split()[0]) * 1024
    limit = used + 250_000_000
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    assert X.nbytes > 380_000_000
    try:
        X.compute(scheduler="synchronous")
    except MemoryError:
        print("too large for memory")
    with dask.config.set(scheduler="synchronous"):
        model = LpSVDD(p=2.0, C=0.001, gamma=1e-3, landmarks=20).fit(X)
    print(model.restricted_gap_ <= 1e-9)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_DATA is Linux's")
def test_data_larger_than_the_memory_limit(tmp_path):
    random = np.random.default_rng(0)
    for i in range(40):
        np.save(tmp_path / f"{i}.npy", random.normal(size=(800, 1500)))
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(OUT_OF_CORE), str(tmp_path)],
        capture_output=True, text=True, check=False,
        # glibc would keep freed blocks in a heap that falls to pieces, and the limit counts those.
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "1000000"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.split("\n")[:2] == ["too large for memory", "True"]
