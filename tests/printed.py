"""Commands and Python blocks that README, CONTRIBUTING, the book and the notebooks print."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ("make", "python", "pip", "conda", "git", "lpsvdd", "jupyter", "bash")
SCRIPTS = (".ci/",)
FENCE = re.compile(
    r"^(?P<indent> *)(?P<marks>`{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)(?P=marks) *$",
    re.M | re.S,
)
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
INDENTED = re.compile(r"(?:^(?: {4}.*|[ \t]*)\n?)+", re.M)
NO_COMMANDS = ("text", "bibtex")
"""Fenced blocks of these languages show what is printed or cited, and nothing to run."""


@dataclass(frozen=True)
class Printed:
    """One command, option or Python block and the pages that print it."""

    kind: str  # "command", "option" or "python"
    text: str
    page: str


def texts() -> Iterator[tuple[str, str]]:
    """Name and Markdown of every page that is covered; a notebook gives its Markdown cells.

    The changelog is left out: it names what is gone. Shell lines in code cells of a notebook run
    whenever the notebook does.
    """
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")]
    pages += sorted((ROOT / "book").rglob("*.md"))
    for path in pages:
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    # the directive {claims} shows the ledger
    ledger = (ROOT / "replication" / "claims.yml").read_text(encoding="utf-8")
    yield "replication/claims.yml", re.sub(r"^#.*$", "", ledger, flags=re.M)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        markdown = ("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        yield path.relative_to(ROOT).as_posix(), "\n\n".join(markdown)


def is_command(line: str) -> bool:
    """Whether a line starts with a program and says more than its name, or is a script."""
    first, _, rest = line.partition(" ")
    return (first in PROGRAMS and bool(rest)) or line == "make" or line.startswith(SCRIPTS)


def without_comment(line: str) -> str:
    """A shell line without the comment behind it."""
    return re.sub(r"\s+#.*$", "", line).strip()


def in_block(text: str, page: str) -> Iterator[Printed]:
    """Commands in the lines of a block, one a line."""
    for line in text.splitlines():
        if is_command(without_comment(line)):
            yield Printed("command", without_comment(line), page)


def in_text(text: str, page: str) -> Iterator[Printed]:
    """What a Markdown text prints, its blocks first."""
    for match in FENCE.finditer(text):
        info, body = match["info"].strip(), match["body"]
        if info.startswith("{"):
            yield from in_text(body, page)
        elif info == "python":
            yield Printed("python", body, page)
        elif info == "bash":
            for line in filter(None, map(without_comment, body.splitlines())):
                yield Printed("command", line, page)  # whatever program it starts with
        elif info in NO_COMMANDS:
            yield from in_block(body, page)
        else:
            raise ValueError(
                f"{page}: a block of the language {info!r}; name it in tests/printed.py"
            )
    text = FENCE.sub("(a block)", text)
    for match in INDENTED.finditer(text):
        block = "\n".join(line[4:] for line in match[0].splitlines()).strip("\n")
        if re.search(r"^(?:import|from) ", block, re.M):
            yield Printed("python", block, page)
        else:
            yield from in_block(block, page)
    for span in SPAN.findall(INDENTED.sub("\n", text)):
        if is_command(span):
            yield Printed("command", span, page)
        elif re.match(r"--?[a-z][\w-]*(?:\s|$)", span):
            yield Printed("option", span, page)


def collect() -> list[Printed]:
    """Everything printed, each text once, with the first page that prints it."""
    found: dict[tuple[str, str], Printed] = {}
    for page, text in texts():
        for one in in_text(text, page):
            found.setdefault((one.kind, one.text), one)
    return list(found.values())
