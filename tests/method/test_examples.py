"""The examples in docstrings run, and every class of the reference has one."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("lpsvdd", "replication")
    for path in sorted((ROOT / package).rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]
PAGES = sorted((ROOT / "book" / "api").glob("*.md"))


def named(path: str) -> object:
    """The object of a dotted name."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some of them save a file
    module = importlib.import_module(name)
    found = doctest.testmod(module, optionflags=FLAGS)
    assert found.attempted > 0 and found.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_page_of_the_reference_shows_an_example(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    objects = [named(name) for name in re.findall(r"auto(?:class|function):: ([\w.]+)", text)]
    for name in re.findall(r"automodule:: ([\w.]+)", text):
        module = importlib.import_module(name)
        objects += [module, *(getattr(module, n) for n in dir(module) if not n.startswith("_"))]
    assert any(">>>" in (getattr(item, "__doc__", "") or "") for item in objects)
