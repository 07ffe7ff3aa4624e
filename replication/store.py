"""What a run leaves on disk: one small file per task, written all at once or not at all.

A results folder holds ``manifest.json`` (the signature: options, methods with their grids,
computation version) and ``tasks/<key>.json``, one per finished task; a killed run leaves whole
files only. A folder made with another signature is refused before anything is written.

A task file says whose rows it holds and carries the SHA-256 of (signature, key, rows). A file that
was altered, emptied, copied over another or brought from another run does not pass: it is named
in a warning, and its task is computed again.
"""

from __future__ import annotations

import glob
import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

from lpsvdd._atomic import whole_file

Row = dict[str, Any]


class ResultsError(ValueError):
    """A results folder cannot be used or written; the message says what to do."""


class ResultsWarning(UserWarning):
    """A stored task is not what it should be and is computed again; the message names the file."""


def write_text(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all, in a folder made when missing.

    Raises
    ------
    ResultsError
        When it cannot be written, a full disk included; the old content stays.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as handle:
            handle.write(text.encode("utf-8"))
    except OSError as error:
        raise ResultsError(
            f"{path.name} could not be written: {error.strerror or error}. Nothing was "
            "overwritten; finished tasks are kept, and the same command goes on from there."
        ) from error


def as_json(content: Any) -> Any:
    """What is left of a value after it was written as JSON: texts as keys, lists for tuples."""
    return json.loads(json.dumps(content))


def differences(old: Any, new: Any, at: str = "") -> list[str]:
    """Name the entries in which two nested dictionaries differ, as ``a.b: old -> new``."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            line
            for key in sorted({*old, *new})
            for line in differences(old.get(key), new.get(key), f"{at}.{key}" if at else str(key))
        ]
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
        self.signature = as_json(signature)
        manifest = self.folder / "manifest.json"
        if manifest.exists():
            self._check(manifest)
        elif self.folder.exists() and any(self.folder.iterdir()):
            raise ResultsError(
                f"the folder {self.folder.name!r} holds files but no manifest.json: it was not "
                "made by a run; choose an empty or new folder"
            )
        else:
            write_text(manifest, json.dumps(self.signature, indent=1, sort_keys=True))

    def _check(self, manifest: Path) -> None:
        try:
            stored = json.loads(manifest.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ResultsError(f"{manifest.name} cannot be read: {error}") from error
        if not isinstance(stored, dict):
            raise ResultsError(f"{manifest.name} is not that of a run; choose another folder")
        if changed := differences(stored, self.signature):
            raise ResultsError(
                f"the folder {self.folder.name!r} was made with other options "
                f"({'; '.join(changed[:5])}{'; ...' if len(changed) > 5 else ''}). Nothing was "
                "changed; choose another folder or the same options."
            )

    def path(self, key: str) -> Path:
        """File of the task with this key."""
        return self.folder / "tasks" / f"{key}.json"

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
        except (OSError, ValueError, RecursionError) as error:
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
        path = self.path(key)
        write_text(path, json.dumps(content))
        for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):  # by a killed run
            left.unlink(missing_ok=True)

    def _checksum(self, key: str, rows: Any) -> str:
        """SHA-256 of signature, key and rows, as they are before writing and after reading."""
        text = json.dumps(as_json([self.signature, key, rows]), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()
