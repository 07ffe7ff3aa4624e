"""Every data set against the paper's table, its record and its checksum; the command ``data``."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from replication import datasets
from replication.cli import build
from replication.paper import SIZES as PAPER

TARGETS = dict(zip(PAPER, (
    "virginica LIVE pp 1 1 B 2 0 positive MEDV>35 negative negative negative negative negative "
    "negative negative benign negative 1"
).split(), strict=True))  # fmt: skip
SUPPLIED = ("D4", "D5")


def pump_lines(n: int = 500, dim: int = 64, positives: int = 133) -> list[str]:
    """Lines of a table without a header, the class in the last column."""
    rows = np.random.default_rng(0).normal(size=(n, dim)).round(3)
    return [
        ",".join(map(str, row)) + (",1" if i < positives else ",2") for i, row in enumerate(rows)
    ]


def data(*words: object):
    """Run ``python -m replication data …`` in this process."""
    return CliRunner().invoke(build(), ["data", *map(str, words)])


def test_records_differ_from_the_paper_in_the_size_of_d5_alone():
    assert {r.id: r.target for r in datasets.RECORDS} == TARGETS
    assert all(r.source and r.licence and r.altered for r in datasets.RECORDS)
    differing = [r.id for r in datasets.RECORDS if (r.n, r.positives, r.dim) != PAPER[r.id]]
    assert differing == ["D5"] and "336" in datasets.find("D5").note


@pytest.mark.parametrize("key", [key for key in PAPER if key not in SUPPLIED])
def test_load_agrees_with_the_paper_and_every_name_finds_its_record(key):
    record = datasets.find(key)
    for name in (key.lower(), record.name, record.name.upper(), *record.aliases):
        assert datasets.find(name) is record
    found = datasets.load(key)
    n, positives, dim = PAPER[key]
    assert found.X.shape == (n, dim) and found.X.dtype == np.float64
    assert np.array_equal(np.unique(found.y), [-1, 1]) and (found.y == 1).sum() == positives
    assert (found.id, found.target, found.source) == (key, TARGETS[key], record.source)
    assert len(found.feature_names) == dim
    assert np.isnan(found.X).sum() == record.missing and not np.isinf(found.X).any()


def test_another_target_can_be_chosen():
    assert np.flatnonzero(datasets.load("D1", target="setosa").y == 1).tolist() == list(range(50))
    assert int((datasets.load("D10", target="MEDV<=35").y == 1).sum()) == 506 - 48
    with pytest.raises(ValueError, match="no class 'rose'.*setosa, versicolor, virginica"):
        datasets.load("D1", target="rose")
    with pytest.raises(KeyError, match="unknown data set 'D21'.*D7 wine"):
        datasets.load("D21")


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("wine.csv", lambda path: path.write_bytes(path.read_bytes()[:-40])),
        ("haberman.csv", lambda path: path.write_text(path.read_text().replace(",59,2,", ",5,2,"))),
        ("fashion-mnist.npz", lambda path: path.write_bytes(path.read_bytes()[:-1])),
        ("iris.csv", lambda path: path.unlink()),
    ],
)
def test_a_damaged_table_is_refused_by_every_set_that_reads_it(tmp_path, monkeypatch, name, damage):
    folder = tmp_path / "tables"
    shutil.copytree(datasets.TABLES_FOLDER, folder)
    monkeypatch.setattr(datasets, "TABLES_FOLDER", folder)
    damage(folder / name)
    readers = [record for record in datasets.RECORDS if record.table == name]
    for record in readers:
        with pytest.raises(datasets.CorruptedTableError, match=f"{record.id} .*{name}") as caught:
            datasets.load(record.id)
        assert name == "iris.csv" or record.sha256 in str(caught.value)
    result = data("check")
    assert result.exit_code == 1
    summary = f"{18 - len(readers)} verified, 2 to be supplied, {len(readers)} failed"
    assert result.stdout.splitlines()[-1] == summary


def test_another_stream_of_random_numbers_is_noticed(monkeypatch):
    drawn = datasets.waveform(seed=9)
    monkeypatch.setattr(datasets, "waveform", lambda: drawn)
    with pytest.raises(datasets.CorruptedTableError, match="generated array"):
        datasets.load("D8")


def test_data_list_prints_one_line_per_set():
    lines = data("list").stdout.splitlines()
    assert len(lines) == 1 + len(datasets.RECORDS)
    assert lines[7].split()[:6] == ["D7", "wine", "2", "178", "71", "13"]


@pytest.mark.parametrize("packed", [False, True])
def test_data_add_registers_a_file_that_load_reads(tmp_path, user_data, packed):
    with pytest.raises(datasets.MissingDataError, match="replication data add D5 FILE") as caught:
        datasets.load("D5")
    assert str(user_data) in str(caught.value)
    assert data("check").stdout.splitlines()[-1] == "18 verified, 2 to be supplied"
    source, lines = tmp_path / "pump.csv", pump_lines()
    header = [",".join([*(f"f{j}" for j in range(64)), "class"])] if packed else []
    content = "\n".join(header + lines).encode()
    source.write_bytes(gzip.compress(content) if packed else content)
    result = data("add", "D5", source)
    assert result.exit_code == 0 and "D5 registered" in result.stdout
    expected = np.array([line.split(",")[:-1] for line in lines], dtype=float)
    found = datasets.load("delft-pump")
    assert np.array_equal(found.X, expected) and int((found.y == 1).sum()) == 133
    assert found.feature_names[0] == ("f0" if packed else "x1")
    assert data("check").stdout.splitlines()[-1] == "19 verified, 1 to be supplied"


def changed(cell: str) -> str:
    """The right table with another first cell in its fourth row."""
    lines = pump_lines()
    return "\n".join([*lines[:3], cell + lines[3][lines[3].index(",") :], *lines[4:]])


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("D5", "\n".join(pump_lines(n=336)), "336 samples, expected 500"),
        ("D5", "\n".join(pump_lines(dim=63)), "63 features, expected 64"),
        ("D5", "\n".join(pump_lines(positives=134)), "134 samples of class '1', expected 133"),
        ("D5", changed("0,0"), "no table .*line 4, saw 66"),
        ("D5", changed("0")[:-2], "rows that are too short"),
        ("D5", changed("x"), "could not convert string to float: 'x'"),
        ("D5", changed("inf"), "1 missing or infinite values"),
        ("D5", changed(""), "1 missing or infinite values"),
        ("D5", "", "no table"),
        ("D5", b"\x89PNG\xff\xfe", "no table"),
        ("D7", "1,2,3\n", "comes with the replication"),
        ("D99", "1,2,3\n", "unknown data set"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) and "\n" not in value else "",
)
def test_data_add_refuses_what_is_not_that_table(
    tmp_path: Path, user_data, name, content, complaint
):
    path = tmp_path / "wrong.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    result = data("add", name, path)
    assert result.exit_code == 1 and not user_data.exists()
    assert re.search(complaint, result.stderr), result.stderr
