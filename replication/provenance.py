"""Which code and machine made a table: versions, the processor's model name, the git commit.

No host names, user names or paths.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("lpsvdd", "numpy", "scipy", "scikit-learn", "pandas", "joblib", "threadpoolctl")


def package_versions(names: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Installed versions; a package that is not installed is left out."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def processor() -> str:
    """Model name of the processor, "unknown" where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    for line in lines:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def git_commit() -> str:
    """Commit of this checkout, "+changes" if the code of either package differs from it."""
    here = Path(__file__).resolve().parents[1]

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(here), *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    try:
        commit = git("rev-parse", "HEAD")
        changed = git(
            "status", "--porcelain", "--untracked-files=no", "--", "lpsvdd", "replication"
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit + ("+changes" if changed else "")


def blas_libraries() -> list[dict[str, Any]]:
    """Name, version and architecture of the loaded BLAS libraries, without their paths."""
    from threadpoolctl import threadpool_info

    keep = ("internal_api", "version", "architecture")
    found = [
        {key: entry[key] for key in keep if key in entry}
        for entry in threadpool_info()
        if entry.get("user_api") == "blas"
    ]
    return [entry for i, entry in enumerate(found) if entry not in found[:i]]


def environment() -> dict[str, Any]:
    """Commit, date, versions and processor of this run, as a JSON-ready dictionary."""
    return {
        "git_commit": git_commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "packages": package_versions(),
        "blas": blas_libraries(),
    }
