"""The anomaly sets: records, halves, and files that are not what they should be."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from replication import adbench


def test_records_and_clusters():
    assert len(adbench.SETS) == 22
    assert (
        len({one.name for one in adbench.SETS}) == len({one.sha256 for one in adbench.SETS}) == 22
    )
    assert adbench.find("satimage-2").cluster == adbench.find("landsat").cluster == "satellite"
    assert adbench.find("Cardiotocography").cluster == "cardio"
    assert len({one.cluster for one in adbench.SETS}) == 19
    with pytest.raises(KeyError, match="unknown anomaly set"):
        adbench.find("moon")


def test_the_halves_are_those_of_the_plan_and_part_no_cluster():
    design = adbench.design_half()
    assert design == {
        "Pima", "skin", "Lymphography", "wine", "campaign", "cover", "vertebral", "InternetAds",
        "Stamps", "cardio", "Cardiotocography",
    }  # fmt: skip
    held_out = {one.cluster for one in adbench.SETS if one.name not in design}
    assert not held_out & {adbench.find(name).cluster for name in design}


def test_a_folder_has_to_be_named(monkeypatch, tmp_path):
    monkeypatch.delenv(adbench.VARIABLE, raising=False)
    assert adbench.present() == []
    with pytest.raises(adbench.AnomalyDataError, match=adbench.VARIABLE):
        adbench.load("wine")
    with pytest.raises(adbench.AnomalyDataError, match="no folder"):
        adbench.folder(tmp_path / "none")


def test_files_are_recognised_by_their_checksum(monkeypatch, tmp_path):
    monkeypatch.setenv(adbench.VARIABLE, str(tmp_path))
    X, y = np.arange(6).reshape(3, 2), np.array([0, 1, 0])
    path = tmp_path / adbench.find("wine").file
    with pytest.raises(adbench.AnomalyDataError, match="not in the folder"):
        adbench.load("wine")
    np.savez(path, X=X, y=y)
    with pytest.raises(adbench.AnomalyDataError, match="SHA-256"):
        adbench.load("wine")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    small = adbench.AnomalySet(45, "wine", 3, 2, 1, digest)
    monkeypatch.setattr(adbench, "SETS", (small,))
    found, anomaly = adbench.load("wine")
    assert found.dtype == float and np.array_equal(found, X)
    assert anomaly.tolist() == [False, True, False] and adbench.present() == ["wine"]
    wrong = adbench.AnomalySet(45, "wine", 4, 2, 1, digest)
    monkeypatch.setattr(adbench, "SETS", (wrong,))
    with pytest.raises(adbench.AnomalyDataError, match="size"):
        adbench.load("wine")
