"""The committed tables: one CSV file each, and beside it a record of how it was made.

    results/pure.csv    results/pure.provenance.json

Every table is written by :func:`save_table`, so every record has the same form: the command that
makes the table, the checksum of the file, the signature (whatever decides the numbers), and the
versions and processor of the run.
"""

from __future__ import annotations

import hashlib
import json
import os
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from replication.provenance import environment
from replication.store import write_atomically


def results_folder() -> Path:
    """Folder of the committed tables: $LPSVDD_RESULTS, else ``results`` of this checkout."""
    named = os.environ.get("LPSVDD_RESULTS")
    return Path(named) if named else Path(__file__).resolve().parents[1] / "results"


def read_table(path: Path) -> pd.DataFrame:
    """Read a committed table back."""
    texts = {"flag": str, "params": str, "status": str}
    return pd.read_csv(path, dtype=texts).fillna(dict.fromkeys(texts, ""))


def stored_table(name: str, folder: Path | None = None) -> pd.DataFrame:
    """A committed table by its name."""
    path = (results_folder() if folder is None else folder) / f"{name}.csv"
    if not path.exists():
        raise FileNotFoundError(f"there is no table {path.name} in the results folder")
    return read_table(path)


def save_table(
    table: pd.DataFrame, path: Path, *, command: str, signature: dict[str, Any], **further: Any
) -> None:
    """Write a table in one piece, and its record."""
    text = StringIO()
    table.to_csv(text, index=False, lineterminator="\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.getvalue())
    write_record(path, command=command, signature=signature, **further)


def table_checksum(path: Path) -> str:
    """SHA-256 of a table's file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def record_path(table: Path) -> Path:
    """``pure.csv`` -> ``pure.provenance.json``."""
    return table.with_name(table.stem + ".provenance.json")


def write_record(table: Path, *, command: str, signature: dict[str, Any], **further: Any) -> None:
    """Write the record that belongs to a table already written."""
    content = {
        "command": command,
        "sha256": table_checksum(table),
        "signature": signature,
        **environment(),
        **further,
    }
    write_atomically(record_path(table), json.dumps(content, indent=1, sort_keys=True) + "\n")


def read_record(table: Path) -> dict[str, Any] | None:
    """The record of a table, None if there is none."""
    path = record_path(table)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
