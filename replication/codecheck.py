"""``make codecheck``: run the commands of ``codecheck.yml`` and print a certificate.

Each command computes an output again, compares it with the stored one, and fails where they differ.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from replication.about import ROOT, commit
from replication.results import environment


def run_check(command: str, report: Callable[[str], None] = print) -> tuple[bool, str]:
    """Run one command of this environment: whether it ended well, and its words with the time."""
    report(f"$ {command}")
    start = time.perf_counter()
    words = [sys.executable, *shlex.split(command)[1:]]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    said = "\n".join(filter(None, map(str.strip, (run.stdout, run.stderr))))
    outcome = "agrees" if run.returncode == 0 else "DIFFERS"
    report(f"{said}\n{outcome} ({time.perf_counter() - start:.0f} s)")
    return run.returncode == 0, f"{said}\n{outcome}, {time.perf_counter() - start:.0f} s"


def write_certificate(folder: Path, report: Callable[[str], None] = print) -> tuple[Path, bool]:
    """Run every command and write the certificate as Markdown; whether every output agrees."""
    plan: dict[str, Any] = yaml.safe_load((ROOT / "codecheck.yml").read_text(encoding="utf-8"))
    found = {command: run_check(command, report) for command in plan["commands"]}
    good = all(agrees for agrees, _ in found.values())
    code, here = commit(), environment()
    packages = ", ".join(f"{name} {number}" for name, number in here["packages"].items())
    facts = {
        "What was checked": plan["paper"]["title"],
        "Source": f"swh:1:dir:{code.tree}" + " with changes" * bool(code.changed),
        "When": here["date"],
        "Where": f"{here['processor']}, {here['cores']} cores, {here['system']}",
        "With": f"Python {here['python']}; {packages}",
        "Result": "every output agrees" if good else "NOT EVERY OUTPUT AGREES",
        "Codechecker": "________________________________ (name, ORCID)",
    }
    lines = ["# Certificate of a check, in the manner of CODECHECK", ""]
    lines += [f"- **{name}**: {value}" for name, value in facts.items()]
    lines += [f"- `{one['file']}`: {one['comment']}" for one in plan["manifest"]]
    lines += [f"\n## `{command}`\n\n```text\n{said}\n```" for command, (_, said) in found.items()]
    lines += ["\nA rerun by the authors is no independent check: a signature makes it one."]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "certificate.md"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path, good
