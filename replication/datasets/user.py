"""Data sets that may not be redistributed: a folder of the user's own files.

The folder is ``$LPSVDD_DATA`` or, without that variable, the platform's user data folder. A file
gets there through :func:`add` only, which checks it against the record first and notes its checksum
beside it, so that a later change of the file is seen.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from lpsvdd._atomic import whole_file
from replication.datasets.read import Table, file_sha256, read_csv
from replication.datasets.records import Record, find


def user_folder() -> Path:
    """Return the folder of the sets that users supply (it need not exist)."""
    if chosen := os.environ.get("LPSVDD_DATA"):
        return Path(chosen).expanduser()
    from platformdirs import user_data_dir

    return Path(user_data_dir("lpsvdd"))


def user_file(record: Record) -> Path | None:
    """Return the registered file of a set, or None."""
    for suffix in (".csv", ".csv.gz"):
        path = user_folder() / f"{record.name}{suffix}"
        if path.is_file():
            return path
    return None


def checksum_file(path: Path) -> Path:
    """Return the path of the checksum of a registered file."""
    return path.with_name(path.name + ".sha256")


def validate_table(table: Table, record: Record, origin: str) -> None:
    """Raise ValueError unless the table has the record's size, dimension and target count."""
    n, dim = table.X.shape
    positives = int((table.labels == record.target).sum())
    gaps = n * dim - int(np.isfinite(table.X).sum())
    facts = [
        (n, record.n, "samples"),
        (dim, record.dim, "features"),
        (positives, record.positives, f"samples of class {record.target!r}"),
        (gaps, record.missing, "missing or infinite values"),
    ]
    wrong = [f"{found} {what}, expected {due}" for found, due, what in facts if found != due]
    if wrong:
        raise ValueError(f"{origin} is not {record.id} ({record.name}): " + "; ".join(wrong))


def add(name: str, file: str | Path) -> Path:
    """Check a file against the record of a set that users supply, then copy it into their folder.

    The file is CSV, plain or gzip-compressed: features, then the class in the last column; a header
    line is optional. The answer is the copy that :func:`replication.datasets.load` reads from now
    on.
    """
    record = find(name)
    if record.kind != "user":
        raise ValueError(f"{record.id} ({record.name}) comes with the replication: nothing to add")
    file = Path(file).expanduser()
    if not file.is_file():
        raise FileNotFoundError(f"no such file: {file}")
    table = read_csv(file)
    validate_table(table, record, str(file))
    folder = user_folder()
    folder.mkdir(parents=True, exist_ok=True)
    packed = file.read_bytes()[:2] == b"\x1f\x8b"
    target = folder / f"{record.name}{'.csv.gz' if packed else '.csv'}"
    previous = user_file(record)
    if not (target.exists() and target.samefile(file)):
        with whole_file(target) as handle:
            handle.write(file.read_bytes())
    if previous is not None and previous != target:
        previous.unlink()
        checksum_file(previous).unlink(missing_ok=True)
    with whole_file(checksum_file(target)) as handle:
        handle.write(f"{file_sha256(target)}\n".encode())
    return target
