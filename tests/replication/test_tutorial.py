"""The tutorial's cells, pasted one after another into plain Python."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import nbformat
import pytest

SHELL = re.compile(r"^!(.*)$", re.MULTILINE)


def script(path: Path, **parameters: object) -> str:
    """All code cells as one text; a shell line becomes a call that raises if its command fails."""
    parts = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        parts.append(SHELL.sub(lambda found: f"run_in_shell({found[1]!r})", cell.source))
        if "parameters" in cell.metadata.get("tags", []):
            parts += [f"{name} = {value!r}" for name, value in parameters.items()]
    return "\n\n".join(parts)


def run_in_shell(line: str) -> None:
    """A line that a notebook starts with an exclamation mark."""
    subprocess.run(line, shell=True, check=True)


@pytest.mark.slow
def test_the_tutorial_runs_as_one_script(root, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)  # the tutorial changes the folder and the path:
    monkeypatch.setenv("PATH", os.environ["PATH"])  # both are put back after the test
    monkeypatch.setenv("PYTHONPATH", str(root))
    monkeypatch.setenv("MPLBACKEND", "agg")
    names = {"__name__": "__main__", "run_in_shell": run_in_shell}
    text = script(root / "notebooks" / "tutorial.ipynb", n_splits=2)
    exec(compile(text, "tutorial", "exec"), names)
    shown = capfd.readouterr().out
    for line in ("identical: True", "they sum to the scores: True"):
        assert line in shown
    (right,) = re.findall(r"first reason is the spoilt column: (\d+) of 10", shown)
    assert int(right) >= 8  # a guess among 30 columns is right once in three such tables
    assert names["n_splits"] == 2 and (names["folder"] / "scores.csv").is_file()
