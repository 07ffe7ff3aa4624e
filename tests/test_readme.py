"""README and page one print what their examples print, and name what exists."""

from __future__ import annotations

import io
import re
import shlex
import tomllib
import warnings
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

from lpsvdd.cli import main

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def assert_same_but_for_last_digits(printed: str, shown: str) -> None:
    """Compare the words of two outputs exactly, and their numbers to two units or five per cent."""
    assert NUMBER.sub("n", printed) == NUMBER.sub("n", shown)
    now, then = ([float(n) for n in NUMBER.findall(text)] for text in (printed, shown))
    assert np.allclose(now, then, rtol=0.05, atol=2.0)


@pytest.mark.parametrize("page", ["README.md", "book/intro.md"])
def test_first_example_prints_what_the_page_shows(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    example, shown = re.findall(r"```python\n(.*?)```\s+```text\n(.*?)```", text, flags=re.S)[0]
    printed = io.StringIO()
    with redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(example, page, "exec"), {})
    assert_same_but_for_last_digits(printed.getvalue(), shown)


def test_csv_commands_of_readme_print_what_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    load_wine(as_frame=True).frame.to_csv("wine.csv", index=False)
    shown = re.findall(r"^ {4}lpsvdd ([^\n]+)\n\n```text\n(.*?)```", README, flags=re.M | re.S)
    assert len(shown) == 2
    for command, output in shown:
        assert not main(shlex.split(command))
        assert_same_but_for_last_digits(capsys.readouterr().out, output)
    first = re.search(r"such as `(\w+) ", README)
    assert first and first[1] in Path("scores.csv").read_text(encoding="utf-8").splitlines()[1]


def test_links_of_readme_work_outside_the_repository_and_name_files():
    links = re.findall(r"\]\(([^)]+)\)", README)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    home = project["urls"]["Repository"] + "/blob/main/"
    assert all(link.startswith("https://") for link in links)
    named = [link.removeprefix(home).split("#")[0] for link in links if link.startswith(home)]
    assert len(named) >= 4 and [name for name in named if not (ROOT / name).exists()] == []
