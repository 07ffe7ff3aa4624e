"""Files that appear whole or not at all.

What is written goes to a temporary file beside its destination, is flushed to the disk, and takes
the destination's name in one step. A full disk, an error or Ctrl-C leave the old file as it was and
no temporary one. Devices and pipes (``/dev/stdout``) have nothing to keep and are written directly.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: str | Path, *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """A binary file to write to; ``path`` gets its content when the block ends without an error.

    A symbolic link stays one: the file it points to is replaced. With ``overwrite=False`` a file
    that exists, also one that appeared meanwhile, raises FileExistsError.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        with open(path, "wb") as handle:
            yield handle
        return
    final = Path(os.path.realpath(path))
    refuse_existing(final, overwrite)
    temporary = final.with_name(f".{final.name[:200]}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        refuse_existing(final, overwrite)
        os.replace(temporary, final)
    finally:
        temporary.unlink(missing_ok=True)


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Raise unless the path is free, or may be replaced and is a file."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists")
