"""The layout of the code in numbers: names that exist twice, files that a small run goes through.

Each number has a budget. Lower it when the code allows, and never raise it without a reason.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAMES_AT_MOST = 5
"""Public names at the top level of more than one file."""
FILES_AT_MOST = 23
"""Files of which `run --dataset D7 --trials 1` calls a function; the goal is 22."""

WALK = """
import sys
from replication.cli import build

seen = set()

def note(frame, event, _):
    if event == "call" and frame.f_code.co_flags & 1:  # not the body of a module or class
        seen.add(frame.f_code.co_filename)

app = build()
sys.setprofile(note)
app(standalone_mode=False)
sys.setprofile(None)
print(*sorted(seen), sep="\\n", file=sys.stderr)
"""


def defined(path: Path) -> set[str]:
    """Public names that a file defines at its top level: functions, classes, constants."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            stored = (one for target in targets for one in ast.walk(target))
            names |= {one.id for one in stored if isinstance(one, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def test_names_defined_in_more_than_one_file_are_few():
    where = defaultdict(list)
    for package in ("lpsvdd", "replication"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for name in defined(path):
                where[name].append(path.relative_to(ROOT).as_posix())
    twice = [f"{name}: {', '.join(paths)}" for name, paths in where.items() if len(paths) > 1]
    assert len(twice) <= NAMES_AT_MOST, "\n".join(twice)


def test_small_run_goes_through_few_files():
    words = ["run", "--dataset", "D7", "--trials", "1"]
    done = subprocess.run(
        [sys.executable, "-c", WALK, *words], cwd=ROOT, text=True, capture_output=True, check=True
    )
    packages = tuple(str(ROOT / name) for name in ("lpsvdd", "replication"))
    ours = [line for line in done.stderr.splitlines() if line.startswith(packages)]
    assert 10 < len(ours) <= FILES_AT_MOST, "\n".join(ours)
