"""``python -m replication data``: what each command prints and its exit status."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from replication.cli import build
from replication.datasets import RECORDS, find, loader


@pytest.fixture
def data():
    """Run ``python -m replication data …`` in this process."""
    app = build()
    return lambda *words: CliRunner().invoke(app, ["data", *map(str, words)])


def test_data_list_prints_one_line_per_set(data):
    lines = data("list").stdout.splitlines()
    assert len(lines) == 1 + len(RECORDS)
    assert lines[7].split()[:6] == ["D7", "wine", "2", "178", "71", "13"]
    assert all(command in data("--help").stdout for command in ("list", "check", "add"))


def test_data_check_counts_and_fails_on_a_damaged_table(data, tmp_path, monkeypatch):
    result = data("check")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "18 verified, 2 to be supplied"
    for path in loader.tables_folder().iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(loader, "tables_folder", lambda: tmp_path)
    (tmp_path / "pima.csv").write_text("Preg,class\n1,negative\n")
    result = data("check")
    assert result.exit_code == 1 and find("D14").sha256 in result.stdout
    assert result.stdout.splitlines()[-1] == "17 verified, 2 to be supplied, 1 failed"


def test_data_add_registers_a_file_or_says_why_not(data, tmp_path, user_data):
    source = tmp_path / "pump.csv"
    for name, text, complaint in (
        ("D5", "1,2,3\n", "expected 500"),
        ("D7", "1,2,3\n", "comes with the replication"),
        ("D99", "1,2,3\n", "unknown data set"),
        ("D4", None, "no such file"),
    ):
        source.write_text(text) if text is not None else source.unlink()
        result = data("add", name, source)
        assert result.exit_code == 1 and complaint in result.stderr and not user_data.exists()
    rows = [",".join(["0.5"] * 64 + ["1" if i < 133 else "2"]) for i in range(500)]
    source.write_text("\n".join(rows))
    result = data("add", "D5", source)
    assert result.exit_code == 0 and "D5 registered" in result.stdout
    assert (user_data / "delft-pump.csv").read_bytes() == source.read_bytes()
    assert data("check").stdout.splitlines()[-1] == "19 verified, 1 to be supplied"
