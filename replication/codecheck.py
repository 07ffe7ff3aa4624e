"""``make codecheck``: run the commands of ``codecheck.yml`` and print a certificate.

Each command computes an output again, compares it with the stored one, and fails where they differ.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from replication.about import ROOT, commit
from replication.results import environment


def run_check(command: str) -> tuple[bool, str]:
    """Run one command in this environment; return whether it agrees, and its output."""
    start = time.perf_counter()
    words = [sys.executable, *shlex.split(command)[1:]]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    outcome = "DIFFERS" if run.returncode else "agrees"
    said = f"{run.stdout}{run.stderr}".strip()
    said += f"\n{outcome}, {time.perf_counter() - start:.0f} s"
    print(f"$ {command}\n{said}", flush=True)
    return not run.returncode, f"\n## `{command}`\n\n```text\n{said}\n```"


def write_certificate(folder: Path) -> tuple[Path, bool]:
    """Run every command and write the certificate as Markdown; whether every output agrees."""
    plan: dict[str, Any] = yaml.safe_load((ROOT / "codecheck.yml").read_text(encoding="utf-8"))
    agree, outputs = zip(*map(run_check, plan["commands"]), strict=True)
    code, here = commit(), environment()
    packages = ", ".join(f"{name} {number}" for name, number in here["packages"].items())
    lines = [
        "# Certificate of a check, in the manner of CODECHECK\n",
        f"- **What was checked**: {plan['paper']['title']}",
        f"- **Source**: swh:1:dir:{code.tree}{' with changes' * bool(code.changed)}",
        f"- **When**: {here['date']}",
        f"- **Where**: {here['processor']}, {here['cores']} cores, {here['system']}",
        f"- **With**: Python {here['python']}; {packages}",
        f"- **Result**: {'every output agrees' if all(agree) else 'NOT EVERY OUTPUT AGREES'}",
        "- **Codechecker**: ________________________________ (name, ORCID)",
        *(f"- `{one['file']}`: {one['comment']}" for one in plan["manifest"]),
        *outputs,
        "\nA rerun by the authors is no independent check: a signature makes it one.\n",
    ]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "certificate.md"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path, all(agree)
