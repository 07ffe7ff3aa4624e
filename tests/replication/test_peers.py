"""The comparison with peers: its stored rows, and what README prints of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from replication.results import read
from replication.studies.peers import PeerTask, library_peers, peer_rows

ROOT = Path(__file__).resolve().parents[2]
DRAWS = [PeerTask("rate", "counts", 50, 3), PeerTask("rate", "ring", 200, 1)]


@pytest.mark.parametrize("task", [*DRAWS, PeerTask("ranking", "wine", 0, 2)], ids=lambda t: t.key)
def test_peer_rows_without_pyod_equal_the_stored_ones(task):
    stored = read("peers").query(f"task == {task.kind!r} and data == {task.data!r}")
    stored = stored[(stored["draw"] == task.draw) & stored["n"].isin([task.size, 35])]
    stored = stored.set_index("detector")["value"]
    for row in peer_rows(task, library_peers()):
        # a row on the threshold is two hundredths of a percent of the new ones
        assert row["value"] == pytest.approx(stored[row["detector"]], abs=0.6), row


def test_readme_table_holds_the_stored_rates():
    stored = read("peers").query("task == 'rate'")
    by_source = stored.groupby(["detector", "n", "data"])["value"].mean()
    lines = re.findall(r"^\| `(\w+)` \|(.+)\|$", (ROOT / "README.md").read_text(), re.M)
    assert [name for name, _ in lines] == [
        "LpSVDD", "LocalOutlierFactor", "IsolationForest", "OneClassSVM"
    ]  # fmt: skip
    for name, cells in lines:
        for n, cell in zip((50, 200, 800), cells.split("|"), strict=True):
            low, high = by_source[name, n].min(), by_source[name, n].max()
            assert cell.strip() == f"{low:.0f} to {high:.0f}", (name, n)
