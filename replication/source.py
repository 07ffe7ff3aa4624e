"""Which source this is: the commit, its date, and its Software Heritage identifiers.

A Software Heritage identifier of a git commit or tree is the hash that git itself has for it, so it
is known without network and before anything is deposited.
"""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import lpsvdd
from replication.about import ROOT


class SourceError(ValueError):
    """The commit of this folder is not known, or is not what lies in it."""


@dataclass(frozen=True)
class Source:
    """A commit: ``tree`` is the hash of its files, ``time`` its second, ``changed`` files."""

    commit: str
    tree: str
    time: int
    changed: tuple[str, ...] = ()

    @property
    def date(self) -> str:
        """The day of the commit, in UTC."""
        return datetime.fromtimestamp(self.time, UTC).date().isoformat()

    @property
    def directory_id(self) -> str:
        """Identifier of the files."""
        return f"swh:1:dir:{self.tree}"

    @property
    def revision_id(self) -> str:
        """Identifier of the commit."""
        return f"swh:1:rev:{self.commit}"

    def facts(self) -> dict[str, str]:
        """What the article says about its source."""
        known = bool(self.commit) and not self.changed
        return {
            "version": lpsvdd.__version__,
            "date": self.date,
            "swhid": self.directory_id if known else "known when the changes are committed",
        }


def git(*words: str, root: Path = ROOT) -> bytes:
    """What git prints."""
    command = ["git", "-C", str(root), *words]
    return subprocess.run(command, capture_output=True, check=True).stdout


def source(root: Path = ROOT) -> Source:
    """The commit of a checkout; without git (an unpacked archive) nothing is known of it."""
    try:
        words = git("log", "-1", "--format=%H %T %ct", root=root).decode().split()
        changed = git("status", "--porcelain", "--untracked-files=no", root=root).decode()
    except (OSError, subprocess.CalledProcessError):
        return Source("", "", 0)
    commit, tree, time = words
    return Source(commit, tree, int(time), tuple(line[3:] for line in changed.splitlines()))


def committed(root: Path = ROOT) -> Source:
    """The commit of a checkout whose files are those of the commit."""
    found = source(root)
    if not found.commit:
        raise SourceError("this folder is no git checkout: a deposit is made from a commit")
    if found.changed:
        names = ", ".join(found.changed[:3]) + (", ..." if len(found.changed) > 3 else "")
        raise SourceError(f"a deposit is made from a commit; commit or undo first: {names}")
    return found


def files(code: Source, root: Path = ROOT) -> dict[str, tuple[int, bytes]]:
    """Mode and content of every file of a commit by path, in order."""
    listing = git("ls-tree", "-r", "-z", code.commit, root=root).decode().rstrip("\0")
    found = {}
    for line in listing.split("\0"):
        meta, path = line.split("\t", 1)
        mode, kind, name = meta.split()
        if kind != "blob" or mode == "120000":
            raise SourceError(f"{path} is neither a plain file nor an executable one")
        found[path] = (int(mode, 8), name)
    request = "\n".join(name for _, name in found.values()).encode()
    command = ["git", "-C", str(root), "cat-file", "--batch"]
    stream = subprocess.run(command, input=request, capture_output=True, check=True).stdout
    place, out = 0, {}
    for path, (mode, _) in found.items():
        end = stream.index(b"\n", place)
        size = int(stream[place:end].split()[2])
        out[path] = (mode, stream[end + 1 : end + 1 + size])
        place = end + size + 2
    return dict(sorted(out.items()))


def directory_id(content: dict[str, tuple[int, bytes]]) -> str:
    """Identifier of files by path, computed from the bytes alone: the check of a deposit."""

    def digest(kind: str, body: bytes) -> bytes:
        return hashlib.sha1(f"{kind} {len(body)}\0".encode() + body).digest()

    def tree(files: dict[str, tuple[int, bytes]]) -> bytes:
        folders: dict[str, dict[str, tuple[int, bytes]]] = {}
        entries = []
        for path, (mode, body) in files.items():
            first, slash, rest = path.partition("/")
            if slash:
                folders.setdefault(first, {})[rest] = (mode, body)
            else:
                entries.append((first.encode(), f"{mode:o}", digest("blob", body)))
        entries += [(n.encode() + b"/", "40000", tree(f)) for n, f in folders.items()]
        lines = (f"{mode} ".encode() + n.rstrip(b"/") + b"\0" + h for n, mode, h in sorted(entries))
        return digest("tree", b"".join(lines))

    return f"swh:1:dir:{tree(content).hex()}"
