"""The tables that plans name before a run are the tables that a run would take."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from replication import studies, table_sets

LISTED = Path(studies.__file__).parent / "plans" / "tables.sha256.md"


def sha256_of(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@pytest.mark.parametrize("part", ["design", "judged"])
def test_table_names_of_a_part_match_the_list_committed_with_the_plans(part: str) -> None:
    text = LISTED.read_text(encoding="utf-8")
    (head,) = re.findall(rf"^\| {part} \| (\d+) \| `(\w+)` \| `(\w+)` \|$", text, re.MULTILINE)
    (block,) = re.findall(rf"^## {part}\n\n```text\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)
    names, contents = sorted(table_sets.names(part)), table_sets.records()["sha256"]
    assert block.splitlines() == names
    by_content = [f"{name} {contents[name]}" for name in names]
    assert head == (str(len(names)), sha256_of(names), sha256_of(by_content))


def test_design_and_judged_tables_share_no_cluster() -> None:
    of = table_sets.clusters()
    design, judged = ({of[name] for name in table_sets.names(p)} for p in ("design", "judged"))
    assert len(design) == 86 and len(judged) == 470
    assert not design & judged
