"""What a run leaves on disk: one small file per task, written all at once or not at all.

A results folder holds ``manifest.json`` (the signature: options, methods with their grids,
computation version) and ``tasks/<key>.json``, one per finished task. A task file is written to a
temporary name, flushed to the disk and renamed, so a killed run leaves either the whole file or
none. A folder made with another signature is refused before anything is written.

A task file says whose rows it holds and carries the SHA-256 of (signature, key, rows). A file that
was altered, emptied, copied over another or brought from another run does not pass: it is named
in a warning, and its task is computed again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import uuid
import warnings
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class ResultsError(ValueError):
    """A results folder cannot be used or written; the message says what to do."""


class ResultsWarning(UserWarning):
    """A stored task is not what it should be and is computed again; the message names the file."""


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
        except (OSError, ValueError) as error:
            raise ResultsError(f"{manifest.name} cannot be read: {error}") from error
        if not isinstance(stored, dict):
            raise ResultsError(
                f"{manifest.name} of the folder {self.folder.name!r} is not that of a run; choose "
                "another folder"
            )
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
        """Rows of a finished task; None if it is not finished, or its file cannot be trusted.

        Warns
        -----
        ResultsWarning
            Where there is a file but not one that this run wrote for this task.
        """
        path = self.path(key)
        try:
            return self._rows(key, json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            warnings.warn(
                f"tasks/{path.name} is not used ({error}); the task is computed again",
                ResultsWarning,
                stacklevel=2,
            )
            return None

    def _rows(self, key: str, content: Any) -> list[Row]:
        """Rows of a task file's content, ValueError if they are not those of the task."""
        if not isinstance(content, dict) or set(content) != {"task", "sha256", "rows"}:
            raise ValueError("it is not the result of a task")
        if content["task"] != key:
            raise ValueError(f"it holds the result of {content['task']!r}")
        if content["sha256"] != self._checksum(key, content["rows"]):
            raise ValueError("it was altered, or written by a run with other options")
        rows = content["rows"]
        if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
            raise ValueError("it does not hold rows of a table")
        return rows

    def write(self, key: str, rows: list[Row]) -> None:
        """Keep the rows of a finished task."""
        content = {"task": key, "sha256": self._checksum(key, rows), "rows": rows}
        write_atomically(self.path(key), json.dumps(content))

    def _checksum(self, key: str, rows: Any) -> str:
        """SHA-256 of signature, key and rows, as they are before writing and after reading."""
        plain = json.loads(json.dumps([self.signature, key, rows]))
        text = json.dumps(plain, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()
