"""The page that says where the book treats each item of the paper: complete, with live links."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "book" / "coverage.md"
ROW = re.compile(r"^\| (?P<item>[^|]+?) \|(?P<rest>.+)\|$", flags=re.M)
ROLE = re.compile(r"\{(?P<role>eq|ref|numref|prf:ref|doc)\}`(?:[^`<]*<)?(?P<target>[^`>]+)>?`")

PRINTED = {
    "Eq": range(1, 34),
    "Theorem": range(1, 6),
    "Table": range(1, 6),
    "Figure": range(1, 2),
}
"""What the paper numbers."""


def rows() -> dict[str, list[tuple[str, str]]]:
    """The links of each row, by the item in its first column."""
    lines = {m["item"]: m["rest"] for m in ROW.finditer(PAGE.read_text(encoding="utf-8"))}
    lines.pop("paper")  # headings
    return {
        item: [(m["role"], m["target"]) for m in ROLE.finditer(rest.rpartition("|")[2])]
        for item, rest in lines.items()
        if set(item) != {"-"}
    }


def numbers(kind: str) -> list[int]:
    """Numbers of one kind in the order of the page; "Eqs. 8–9" are two of them."""
    found: list[int] = []
    for item in rows():
        if match := re.match(rf"{kind}s?\.? (\d+)(?:–(\d+))?$", item):
            first, last = match.groups()
            found += range(int(first), int(last or first) + 1)
    return found


def labels() -> set[str]:
    """Every label that a page or a notebook of the book defines."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "book").glob("*.md")]
    found: set[str] = set()
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            texts.append("".join(cell["source"]))
            found.add(cell["metadata"].get("mystnb", {}).get("figure", {}).get("name"))
    form = re.compile(r"^(?:\(([\w-]+)\)=|:label: ([\w-]+)|\$\$.*\(([\w-]+)\))$", flags=re.M)
    return found | {label for text in texts for one in form.findall(text) for label in one}


@pytest.mark.parametrize("kind", PRINTED)
def test_coverage_page_names_every_numbered_item_once(kind):
    assert numbers(kind) == list(PRINTED[kind])


def test_coverage_page_has_a_target_that_exists_in_every_row():
    known = labels()
    for item, links in rows().items():
        assert links, f"{item} leads nowhere"
        for role, target in links:
            if role == "doc":
                sources = ROOT / "book" / f"{target}.md", ROOT / f"{target}.ipynb"
                assert any(map(Path.is_file, sources)), f"{item}: there is no page {target}"
            else:
                assert target in known, f"{item}: nothing has the label {target}"
