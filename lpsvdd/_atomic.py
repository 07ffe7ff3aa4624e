"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: str | Path) -> Iterator[BinaryIO]:
    """Yield a binary file to write to; ``path`` gets its content when the block ends without error.

    A full disk, an error or Ctrl-C leave the old file as it was. A file that is replaced keeps its
    permissions, a symbolic link stays one, and a device (``/dev/stdout``) is written to.
    """
    final = Path(os.path.realpath(path))
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file")
    if Path(path).exists() and not Path(path).is_file():
        with open(path, "wb") as handle:
            yield handle
        return
    if not final.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {final.parent}")
    temporary = final.with_name(f".{final.name[:150]}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as handle:
            if final.exists():
                os.chmod(temporary, final.stat().st_mode & 0o777)
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, final)
    finally:
        temporary.unlink(missing_ok=True)
