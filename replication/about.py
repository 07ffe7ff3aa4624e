"""What this repository is: ``CITATION.cff``, kept by hand, and the commit that lies here."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]


@cache
def citation() -> dict[str, Any]:
    """Read ``CITATION.cff``; the report is its ``preferred-citation``."""
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


class Commit(NamedTuple):
    """A commit, the hash of its files (``tree``), its second, and files changed since."""

    name: str = ""
    tree: str = ""
    time: int = 0
    changed: tuple[str, ...] = ()


def git_output(*words: str, root: Path = ROOT) -> str:
    """Return what git prints."""
    command = ["git", "-C", str(root), *words]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def commit(root: Path = ROOT) -> Commit:
    """Return the commit of a checkout; of an unpacked archive nothing is known."""
    try:
        name, tree, time = git_output("log", "-1", "--format=%H %T %ct", root=root).split()
        changed = git_output("status", "--porcelain", "--untracked-files=no", root=root)
    except (OSError, subprocess.CalledProcessError):
        return Commit()
    return Commit(name, tree, int(time), tuple(line[3:] for line in changed.splitlines()))
