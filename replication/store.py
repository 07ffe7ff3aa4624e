"""What a run leaves on disk: one small file per task, written all at once or not at all.

A results folder holds ``manifest.json`` (the signature: options, methods with their grids,
computation version) and ``tasks/<key>.json``, one per finished task. A task file is written to a
temporary name, flushed to the disk and renamed, so a killed run leaves either the whole file or
none. A folder made with another signature is refused before anything is written.
"""

from __future__ import annotations

import errno
import json
import os
import uuid
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class ResultsError(RuntimeError):
    """A results folder cannot be used or written; the message says what to do."""


def write_atomically(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` so that readers see the old content or the new one, nothing else.

    Raises
    ------
    ResultsError
        When the file cannot be written, a full disk included; the old content stays.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "w", encoding="utf-8") as handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror
        raise ResultsError(
            f"{path.name} could not be written: {reason}. Nothing was overwritten; finished tasks "
            "are kept, and the same command goes on from there."
        ) from error


def differences(old: Any, new: Any, at: str = "") -> list[str]:
    """Name the entries in which two nested dictionaries differ, as ``a.b: old -> new``."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = []
        for key in sorted(set(old) | set(new)):
            found += differences(old.get(key), new.get(key), f"{at}.{key}" if at else str(key))
        return found
    return [] if old == new else [f"{at}: {_short(old)} -> {_short(new)}"]


def _short(value: Any, limit: int = 80) -> str:
    text = json.dumps(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


class Store:
    """The folder of one run.

    Parameters
    ----------
    folder : made when missing
    signature : whatever decides the numbers (options, methods, computation version); must be
        expressible in JSON
    """

    def __init__(self, folder: str | Path, signature: dict[str, Any]) -> None:
        self.folder = Path(folder)
        self.signature = json.loads(json.dumps(signature))
        self.tasks = self.folder / "tasks"
        manifest = self.folder / "manifest.json"
        if manifest.exists():
            self._check(manifest)
        elif self.folder.exists() and any(self.folder.iterdir()):
            raise ResultsError(
                f"the folder {self.folder.name!r} holds files but no manifest.json: it was not "
                "made by a run; choose an empty or new folder"
            )
        try:
            self.tasks.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ResultsError(f"the folder cannot be made: {error.strerror}") from error
        if not manifest.exists():
            write_atomically(manifest, json.dumps(self.signature, indent=1, sort_keys=True))

    def _check(self, manifest: Path) -> None:
        try:
            stored = json.loads(manifest.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ResultsError(f"{manifest.name} is not JSON: {error}") from error
        found = differences(stored, self.signature)
        if found:
            raise ResultsError(
                f"the folder {self.folder.name!r} was made with other options "
                f"({'; '.join(found[:5])}{'; ...' if len(found) > 5 else ''}). Nothing was "
                "changed; choose another folder or the same options."
            )

    def path(self, key: str) -> Path:
        """File of the task with this key."""
        return self.tasks / f"{key}.json"

    def read(self, key: str) -> list[Row] | None:
        """Rows of a finished task, None if it is not finished."""
        path = self.path(key)
        if not path.exists():
            return None
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ResultsError(
                f"tasks/{path.name} is not a result of a run ({error}); remove it to have the "
                "task computed again"
            ) from error

    def write(self, key: str, rows: list[Row]) -> None:
        """Keep the rows of a finished task."""
        write_atomically(self.path(key), json.dumps(rows))
