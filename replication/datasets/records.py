"""The catalogue ``records.toml``: one record per data set, what was checked, what was altered.

``n``, ``positives`` and ``dim`` are those of the data that ``load`` returns; a test compares them.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal


@dataclass(frozen=True)
class Record:
    """What is known about one data set.

    Attributes
    ----------
    id, name, title : str
        Id in the paper, name for ``load``, the paper's own wording.
    target : str
        Class labelled +1.
    n, positives, dim : int
        Size of what ``load`` returns.
    source, licence : str
        Where the table comes from and under which terms.
    altered : str
        What was changed or dropped on the way into the table; imputation is never done here.
    note : str
        What a reader of results should know.
    kind : {"table", "generated", "user"}
        Packaged table, generator, or file to be supplied by the user.
    table, sha256 : str or None
        File name and checksum (of the file; for a generated set, of the array).
    threshold : str or None
        ``"NAME>T"`` when the classes come from cutting a numeric last column.
    missing : int
        Number of missing cells, kept as NaN.
    aliases : tuple of str
        Other names that ``load`` understands.
    """

    id: str
    name: str
    title: str
    target: str
    n: int
    positives: int
    dim: int
    source: str
    licence: str
    altered: str = "nothing"
    note: str = ""
    kind: Literal["table", "generated", "user"] = "table"
    table: str | None = None
    sha256: str | None = None
    threshold: str | None = None
    missing: int = 0
    aliases: tuple[str, ...] = ()


def _read() -> tuple[Record, ...]:
    text = (files("replication.datasets") / "records.toml").read_text(encoding="utf-8")
    return tuple(
        Record(id=key, **facts | {"aliases": tuple(facts.get("aliases", ()))})
        for key, facts in tomllib.loads(text).items()
    )


RECORDS = _read()


def _key(name: str) -> str:
    return str(name).strip().lower().replace("_", "-")


def find(name: str) -> Record:
    """Return the record of an id (``"D7"``), name or alias; case does not matter."""
    for record in RECORDS:
        if _key(name) in map(_key, (record.id, record.name, *record.aliases)):
            return record
    known = ", ".join(f"{record.id} {record.name}" for record in RECORDS)
    raise KeyError(f"unknown data set {name!r}; known: {known}")
