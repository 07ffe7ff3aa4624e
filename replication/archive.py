"""``make archive``: one deposit, the same bytes from the same commit.

    ro-crate-metadata.json  metadata.yaml  codecheck.yml  CITATION.cff  codemeta.json
    article.pdf             the article
    source/                 the files of the commit: code, data, results, lock file
    book/                   the rendered book, if it was built
    manifest-sha256.txt     a checksum of every file

Entries are in order, have the time of the commit and are stored without compression, whose bytes
would depend on the version of a library. The rendered book shows the times of its own build: with
it, the other files are the same and its pages are not.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import lpsvdd
from replication import article, metadata
from replication.about import ROOT, about
from replication.source import Source, committed, directory_id, files

EXECUTABLE, PLAIN = 0o100755, 0o100644


class ArchiveError(ValueError):
    """The deposit does not describe what it holds."""


def contents(
    code: Source, pdf: bytes, book: Path | None = None, quoted: Mapping[str, Any] | None = None
) -> dict[str, tuple[int, bytes]]:
    """Mode and content of every file of the deposit by path."""
    entry = about()
    held = {f"source/{path}": one for path, one in files(code).items()}
    texts = metadata.tracked() | {
        "codecheck.yml": metadata.codecheck_yml(entry, "source/"),
        "metadata.yaml": metadata.rescience(entry, code, quoted or article.facts(code)),
    }
    held |= {name: (PLAIN, text.encode()) for name, text in texts.items()}
    held["article.pdf"] = (PLAIN, pdf)
    if book is not None:
        for path in sorted(p for p in book.rglob("*") if p.is_file()):
            if ".doctrees" not in path.parts and path.name != ".buildinfo":
                held[f"book/{path.relative_to(book).as_posix()}"] = (PLAIN, path.read_bytes())
    bodies = {path: body for path, (_, body) in sorted(held.items())}
    crate = metadata.crate(entry, code, bodies)
    check_crate(crate, bodies)
    held["ro-crate-metadata.json"] = (PLAIN, metadata.as_json(crate).encode())
    sums = [f"{hashlib.sha256(body).hexdigest()}  {p}" for p, (_, body) in sorted(held.items())]
    held["manifest-sha256.txt"] = (PLAIN, ("\n".join(sums) + "\n").encode())
    return dict(sorted(held.items()))


def check_crate(crate: Mapping[str, Any], held: Mapping[str, bytes]) -> None:
    """Raise ArchiveError unless the metadata meet RO-Crate 1.1 and describe exactly these files."""
    graph = {one.get("@id"): one for one in crate["@graph"]}
    problems = [f"{k} has no type" for k, one in graph.items() if not one.get("@type")]
    if len(graph) < len(crate["@graph"]) or None in graph:
        problems.append("an entity has no identifier of its own")
    descriptor, root = graph.get("ro-crate-metadata.json", {}), graph.get("./", {})
    if descriptor.get("conformsTo") != {"@id": metadata.PROFILE}:
        problems.append("the descriptor names no profile")
    if descriptor.get("about") != {"@id": "./"}:
        problems.append("the descriptor is not about the root")
    needed = ("name", "description", "datePublished", "license", "hasPart")
    problems += [f"the root has no {name}" for name in needed if not root.get(name)]
    for key, one in graph.items():
        for name, value in one.items():
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, dict) and (set(part) != {"@id"} or not is_known(part, graph)):
                    problems.append(f"{name} of {key} leads nowhere")
    described = {key for key, one in graph.items() if one["@type"] == "File"}
    problems += [f"{path} is not described" for path in held if path not in described]
    parts = {part["@id"] for part in root.get("hasPart", [])}
    for path in described:
        if path not in held or path not in parts:
            problems.append(f"{path} is described and not held")
        elif graph[path]["sha256"] != hashlib.sha256(held[path]).hexdigest():
            problems.append(f"{path} is another file than described")
    if problems:
        raise ArchiveError("; ".join(problems[:5]))


def is_known(reference: Mapping[str, str], graph: Mapping[Any, Any]) -> bool:
    """Whether a reference leads to an entity, or to an address of the web."""
    return reference["@id"] in graph or reference["@id"].startswith("https://")


def write(held: Mapping[str, tuple[int, bytes]], path: Path, time: int) -> None:
    """The deposit as a ZIP file without compression, every entry with the same time."""
    moment = datetime.fromtimestamp(time, UTC).timetuple()[:6]
    with zipfile.ZipFile(path, "w") as deposit:
        for name, (mode, body) in held.items():
            info = zipfile.ZipInfo(f"{path.stem}/{name}", moment)
            info.external_attr = (EXECUTABLE if mode == EXECUTABLE else PLAIN) << 16
            info.create_system = 3  # a Unix, wherever it was written
            deposit.writestr(info, body)


def check(path: Path) -> str:
    """Read a deposit again and return the identifier of its source; raises where it disagrees."""
    with zipfile.ZipFile(path) as deposit:
        entries = {
            info.filename.partition("/")[2]: (info.external_attr >> 16, deposit.read(info))
            for info in deposit.infolist()
        }
    for line in entries["manifest-sha256.txt"][1].decode().splitlines():
        wanted, name = line.split("  ", 1)
        if hashlib.sha256(entries[name][1]).hexdigest() != wanted:
            raise ArchiveError(f"{name} is not the file of the manifest")
    return directory_id({
        name.removeprefix("source/"): one
        for name, one in entries.items()
        if name.startswith("source/")
    })  # fmt: skip


def make(folder: Path, book: Path = ROOT / "_build" / "html") -> Path:
    """Make the deposit of the commit in a folder, and check it by reading it again."""
    code = committed()
    pdf = article.build(ROOT / "_build" / "article", code)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"lpsvdd-{lpsvdd.__version__}-{code.commit[:10]}.zip"
    held = contents(code, pdf.read_bytes(), book if (book / "index.html").exists() else None)
    write(held, path, code.time)
    if check(path) != code.directory_id:
        raise ArchiveError("the source in the deposit is not that of the commit")
    return path
