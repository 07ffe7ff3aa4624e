"""Files that appear whole or not at all: the one writer of the project.

What is written goes to a temporary file beside its destination (a name that nobody can guess,
created exclusively), is flushed to the disk, and takes the destination's name in one step. A full
disk, an error or Ctrl-C leave the old file as it was and no temporary one. A file that is replaced
keeps its permissions. Devices and pipes (``/dev/stdout``) have nothing to keep and are written to.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


@contextmanager
def whole_file(path: str | Path, *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """A binary file to write to; ``path`` gets its content when the block ends without an error.

    A symbolic link stays one: the file it points to is replaced. With ``overwrite=False`` a file
    that exists, also one that appears meanwhile, is kept and raises FileExistsError.
    """
    final = Path(os.path.realpath(path))
    try:
        old = final.stat().st_mode
    except FileNotFoundError:
        old = None
    if old is not None and stat.S_ISDIR(old):
        raise IsADirectoryError(f"{final} is a folder")
    if old is not None and not stat.S_ISREG(old):
        with open(final, "wb") as handle:
            yield handle
        return
    if old is not None and not overwrite:
        raise FileExistsError(f"{final} exists")
    temporary = final.with_name(f".{final.name[:150]}.{secrets.token_hex(8)}.tmp")
    # Without an old file the umask decides; what was private is never readable in between.
    descriptor = os.open(temporary, _NEW, 0o666 if old is None else stat.S_IMODE(old) & 0o777)
    try:
        with open(descriptor, "wb") as handle:
            if old is not None:
                os.chmod(temporary, stat.S_IMODE(old))
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        if overwrite:
            os.replace(temporary, final)
        else:
            _claim(temporary, final)
    finally:
        temporary.unlink(missing_ok=True)


def _claim(temporary: Path, final: Path) -> None:
    """Give the file a name that must be free: a link is made by one process only."""
    try:
        os.link(temporary, final)
    except FileExistsError:
        raise FileExistsError(f"{final} exists") from None
    except OSError:  # a file system without links: an empty file claims the name
        os.close(os.open(final, _NEW))
        os.replace(temporary, final)
