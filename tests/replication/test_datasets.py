"""Every data set against the paper's table, its record and its checksum; every refusal."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from replication import datasets
from replication.datasets import loader
from replication.datasets.generate import waveform
from replication.datasets.read import file_sha256, read_csv
from replication.paper import SIZES as PAPER

TARGETS = dict(zip(PAPER, (
    "virginica LIVE pp 1 1 B 2 0 positive MEDV>35 negative negative negative negative negative "
    "negative negative benign negative 1"
).split(), strict=True))  # fmt: skip


SUPPLIED = ("D4", "D5")


def write_csv(path: Path, n: int, dim: int, positives: int, *, header: bool = True) -> Path:
    """A made-up table with the given counts, the class in the last column."""
    rng = np.random.default_rng(0)
    lines = [",".join([f"f{j}" for j in range(dim)] + ["class"])] if header else []
    for i, row in enumerate(rng.normal(size=(n, dim)).round(3)):
        lines.append(",".join(map(str, row)) + (",1" if i < positives else ",2"))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def pump(tmp_path) -> Path:
    return write_csv(tmp_path / "pump.csv", 500, 64, 133)


@pytest.fixture
def own_tables(tmp_path, monkeypatch) -> Path:
    """A copy of the packaged tables that a test may damage."""
    folder = tmp_path / "tables"
    folder.mkdir()
    for path in loader.tables_folder().iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(loader, "tables_folder", lambda: folder)
    return folder


def test_records_cover_the_paper_table():
    assert [r.id for r in datasets.RECORDS] == list(PAPER)
    for record in datasets.RECORDS:
        assert record.target == TARGETS[record.id]
        assert record.source and record.licence and record.altered


def test_the_only_difference_to_the_paper_is_the_size_of_d5():
    differing = [r.id for r in datasets.RECORDS if (r.n, r.positives, r.dim) != PAPER[r.id]]
    assert differing == ["D5"]
    record = datasets.find("D5")
    assert (record.n, PAPER["D5"].n) == (500, 336)
    assert "336" in record.note and "500" in record.note


@pytest.mark.parametrize("key", PAPER)
def test_load_agrees_with_the_paper_and_every_name_finds_its_record(key, user_data):
    record = datasets.find(key)
    for name in (key.lower(), record.name, record.name.upper(), *record.aliases):
        assert datasets.find(name) is record
    if key in SUPPLIED:
        with pytest.raises(datasets.MissingDataError) as caught:
            datasets.load(key)
        for words in (f"python -m replication data add {key} FILE", str(user_data), record.source):
            assert words in str(caught.value)
        return
    data = datasets.load(key)
    n, positives, dim = PAPER[key]
    assert data.X.shape == (n, dim) and data.X.dtype == np.float64
    assert np.array_equal(np.unique(data.y), [-1, 1])
    assert int((data.y == 1).sum()) == positives
    assert (data.id, data.target, data.source) == (key, TARGETS[key], data.record.source)
    assert len(data.feature_names) == dim
    assert np.array_equal(data.y == 1, data.labels == data.target)
    assert int(np.isnan(data.X).sum()) == data.record.missing
    assert not np.isinf(data.X).any()


def test_missing_values_stay_missing_and_sets_that_share_a_table_agree():
    hepatitis = datasets.load("hepatitis").X
    assert int(np.isnan(hepatitis).any(axis=1).sum()) == 75
    breast = datasets.load("breast")
    incomplete = np.isnan(breast.X)
    assert [breast.feature_names[j] for j in np.flatnonzero(incomplete.any(0))] == ["bare_nuclei"]
    complete = breast.X[~incomplete.any(axis=1)]
    assert sorted(map(tuple, complete)) == sorted(map(tuple, datasets.load("wisconsin").X))
    cleveland = datasets.load("cleveland")
    incomplete = np.isnan(cleveland.X).any(axis=1)
    assert incomplete.sum() == 4 and (cleveland.y[incomplete] == 1).all()
    d9, d12, d19 = (datasets.load(key) for key in ("D9", "D12", "D19"))
    assert np.array_equal(d12.X, d19.X) and np.array_equal(d12.y, d19.y)
    assert np.array_equal(d9.X, d12.X) and np.array_equal(d9.y, -d12.y)


def test_another_target_can_be_chosen():
    setosa = datasets.load("D1", target="setosa")
    assert setosa.target == "setosa"
    assert np.flatnonzero(setosa.y == 1).tolist() == list(range(50))
    assert int((datasets.load("D18", target="malignant").y == 1).sum()) == 241
    assert int((datasets.load("D10", target="MEDV<=35").y == 1).sum()) == 506 - 48
    with pytest.raises(ValueError, match="no class 'rose'.*setosa, versicolor, virginica"):
        datasets.load("D1", target="rose")
    with pytest.raises(KeyError, match="unknown data set 'D21'.*D7 wine"):
        datasets.load("D21")


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("wine.csv", lambda path: path.write_bytes(path.read_bytes()[:-40])),
        (
            "haberman.csv",
            lambda path: path.write_text(path.read_text().replace(",59,2,", ",59,3,")),
        ),
        ("fashion-mnist.npz", lambda path: path.write_bytes(path.read_bytes()[:-1])),
        ("iris.csv", lambda path: path.unlink()),
    ],
)
def test_a_damaged_table_is_refused_by_every_set_that_reads_it(own_tables, name, damage):
    damage(own_tables / name)
    status = datasets.verify()
    readers = [record.id for record in datasets.RECORDS if record.table == name]
    assert [key for key, said in status.items() if name in said] == readers != []
    for key in readers:
        with pytest.raises(datasets.CorruptedTableError, match=name) as caught:
            datasets.load(key)
        expected = (datasets.find(key).sha256, key) if name != "iris.csv" else ("is missing",)
        assert all(words in str(caught.value) for words in expected)
    assert list(status.values()).count("verified") == 18 - len(readers)


def test_another_stream_of_random_numbers_is_noticed(monkeypatch):
    monkeypatch.setattr(loader, "waveform", lambda: waveform(seed=9))
    with pytest.raises(datasets.CorruptedTableError, match="generated array"):
        datasets.load("D8")


@pytest.mark.parametrize(("packed", "header"), [(False, True), (True, False)])
def test_what_is_added_is_loaded_and_replaces_the_earlier_file(
    pump, tmp_path, user_data, packed, header
):
    datasets.add("D5", pump)
    source = write_csv(tmp_path / "other.csv", 500, 64, 133, header=header)
    expected = read_csv(source)
    if packed:
        (tmp_path / "other.csv.gz").write_bytes(gzip.compress(source.read_bytes()))
        source = tmp_path / "other.csv.gz"
    copy = datasets.add("D5", source)
    assert sorted(p.name for p in user_data.iterdir()) == [copy.name, copy.name + ".sha256"]
    data = datasets.load("delft-pump")
    assert np.array_equal(data.X, expected.X) and int((data.y == 1).sum()) == 133
    datasets.add("D5", copy)  # itself
    assert datasets.verify()["D5"] == "verified"


@pytest.mark.parametrize(
    ("shape", "damage", "complaint"),
    [
        ((336, 64, 133), None, "336 samples, expected 500"),
        ((500, 63, 133), None, "63 features, expected 64"),
        ((500, 64, 134), None, "134 samples of class '1', expected 133"),
        ((500, 64, 133), lambda cells: [*cells, "9"], "row 4: 66 cells, expected 65"),
        ((500, 64, 133), lambda cells: ["x", *cells[1:]], "row 4: could not convert"),
        ((500, 64, 133), lambda cells: ["inf", *cells[1:]], "1 missing or infinite values"),
        ((500, 64, 133), lambda cells: ["", *cells[1:]], "1 missing or infinite values"),
        (None, b"", "holds no table"),
        (None, b"\x89PNG\xff\xfe", "not a text file"),
    ],
)
def test_add_refuses_what_is_not_that_table(tmp_path, user_data, shape, damage, complaint):
    path = tmp_path / "wrong.csv"
    if shape is None:
        path.write_bytes(damage)
    else:
        lines = write_csv(path, *shape).read_text().splitlines()
        if damage is not None:
            lines[3] = ",".join(damage(lines[3].split(",")))
        path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=complaint):
        datasets.add("D5", path)
    assert not user_data.exists()


def test_a_changed_file_of_the_user_and_one_put_there_by_hand_are_refused(pump, user_data):
    copy = datasets.add("D5", pump)
    copy.write_text(copy.read_text() + "\n")
    with pytest.raises(datasets.CorruptedTableError, match="expected"):
        datasets.load("D5")
    for path in user_data.iterdir():
        path.unlink()
    (user_data / "delft-pump.csv").write_bytes(pump.read_bytes())
    with pytest.raises(datasets.CorruptedTableError, match="python -m replication data add D5"):
        datasets.load("D5")


def test_rebuild_script_reproduces_two_tables(root, tmp_path):
    """Two tables need no package beyond scikit-learn; the script itself compares all fifteen."""
    from replication.datasets import build_tables as script

    for record, table in (("iris", script.iris()), ("wine", script.wine())):
        path = tmp_path / "table.csv"
        table.to_csv(path, index=False, lineterminator="\n")
        assert file_sha256(path) == datasets.find(record).sha256
