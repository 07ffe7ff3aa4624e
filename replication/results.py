"""The committed tables: one CSV file each, and beside it a record of how it was made.

    results/pure.csv    results/pure.provenance.json

Every table is written by :func:`save_table`, so every record has the same form: the command that
makes the table, the checksum of the file, the signature (whatever decides the numbers), and the
versions and processor of the run, without names of hosts, users or folders. Every table is read by
:func:`read`, which refuses a file that is not the one recorded.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from lpsvdd._atomic import whole_file
from replication.about import ROOT, commit

PACKAGES = ("lpsvdd", "numpy", "scipy", "scikit-learn", "pandas", "joblib", "threadpoolctl")


class ResultsError(ValueError):
    """A table or its record cannot be used or written; the message says what to do."""


def results_folder() -> Path:
    """Folder of the committed tables: $LPSVDD_RESULTS, else ``results`` of this checkout."""
    named = os.environ.get("LPSVDD_RESULTS")
    return Path(named) if named else ROOT / "results"


def read(table: str | Path) -> pd.DataFrame:
    """A stored table, by its name in the results folder or by its path, as it was written.

    Raises
    ------
    FileNotFoundError
        When there is no such table.
    ResultsError
        When its record is missing, or describes another file: the table was altered.
    """
    path = table if isinstance(table, Path) else results_folder() / f"{table}.csv"
    if not path.exists():
        raise FileNotFoundError(f"there is no table {path.name} in the folder {path.parent.name}")
    record = read_record(path)
    if record is None:
        raise ResultsError(
            f"{path.name} has no record {record_path(path).name}: what made it is not known, so it "
            "is not used"
        )
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != record.get("sha256"):
        raise ResultsError(
            f"{path.name} is not the file that its record describes: it was altered, so it is not "
            f"used. Restore it (git checkout), or make it again: {record.get('command')}"
        )
    texts = {"flag": str, "params": str, "status": str}
    return pd.read_csv(BytesIO(content), dtype=texts).fillna(dict.fromkeys(texts, ""))


def record_path(table: Path) -> Path:
    """``pure.csv`` -> ``pure.provenance.json``."""
    return table.with_name(table.stem + ".provenance.json")


def read_record(table: Path) -> dict[str, Any] | None:
    """The record of a table, None if there is none."""
    path = record_path(table)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def save_table(
    table: pd.DataFrame, path: Path, *, command: str, signature: Mapping[str, Any], **further: Any
) -> None:
    """Write a table and its record; what is on the disk stays where it cannot be written."""
    content = table.to_csv(index=False, lineterminator="\n").encode()
    record = {
        "command": command,
        "sha256": hashlib.sha256(content).hexdigest(),
        "signature": signature,
        **environment(),
        **further,
    }
    text = json.dumps(record, indent=1, sort_keys=True) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    for file, what in ((path, content), (record_path(path), text.encode())):
        with whole_file(file) as handle:
            handle.write(what)


def refuse_other(
    path: Path, signature: Mapping[str, Any], names: Iterable[str] = (), trials: int = 0
) -> None:
    """Raise ResultsError where a run would replace another table, or one that holds more.

    Another table has another signature; more are data sets (``names``) or splits (``trials``).
    """
    if not path.exists():
        return
    record, wanted = read_record(path) or {}, json.loads(json.dumps(signature))
    held = pd.read_csv(path).reindex(columns=["dataset", "trial"])
    more = set(held["dataset"].dropna()) - set(names) or trials < held["trial"].nunique()
    if more or record.get("signature") != wanted:
        what = "holds more than this run makes" if more else "was made with other settings"
        raise ResultsError(
            f"{path.name} in the folder {path.parent.name} {what}: a run replaces its own table "
            "only. Save to another folder, or delete the old table first."
        )


# -- which code and machine made a table -----------------------------------------------------------


def environment() -> dict[str, Any]:
    """Commit, date, versions and processor of this run, as a JSON-ready dictionary."""
    from threadpoolctl import threadpool_info

    code = commit()
    changed = any(name.startswith(("lpsvdd/", "replication/")) for name in code.changed)
    keep = ("internal_api", "version", "architecture")  # and not the paths
    blas = [
        {key: one[key] for key in keep if key in one}
        for one in threadpool_info()
        if one.get("user_api") == "blas"
    ]
    return {
        "git_commit": (code.name or "unknown") + "+changes" * changed,
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "packages": package_versions(),
        "blas": [one for i, one in enumerate(blas) if one not in blas[:i]],
    }


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
        lines = []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return (named or [platform.processor() or "unknown"])[0]
