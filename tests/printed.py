"""Commands and Python blocks that README, CONTRIBUTING, the book and the notebooks print."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMAND = re.compile(r"(?:(?:make|python|pip|conda|git|lpsvdd|jupyter|bash) .|make$|\.ci/)")
FENCE = re.compile(
    r"^(?P<indent> *)(?P<marks>`{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)(?P=marks) *$",
    re.M | re.S,
)
INDENTED = re.compile(r"(?:^(?: {4}.*|[ \t]*)\n?)+", re.M)


@dataclass(frozen=True)
class Printed:
    """One command, option or Python block and the page that prints it first."""

    kind: str  # "command", "option" or "python"
    text: str
    page: str


def texts() -> Iterator[tuple[str, str]]:
    """Name and Markdown of every page that is covered; a notebook gives its Markdown cells.

    The changelog is left out: it names what is gone. Shell lines in code cells of a notebook run
    whenever the notebook does.
    """
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "book").rglob("*.md"))]
    for path in pages:
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    # a page of the book shows the ledger
    ledger = (ROOT / "replication" / "claims.yml").read_text(encoding="utf-8")
    yield "replication/claims.yml", re.sub(r"^#.*$", "", ledger, flags=re.M)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        markdown = ("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        yield path.relative_to(ROOT).as_posix(), "\n\n".join(markdown)


def in_block(text: str, *, is_shell: bool = False) -> Iterator[tuple[str, str]]:
    """Commands in the lines of a block, one a line, without the comments behind them."""
    for line in text.splitlines():
        line = re.sub(r"\s+#.*$", "", line).strip()
        if line and (is_shell or COMMAND.match(line)):
            yield "command", line


def in_text(text: str) -> Iterator[tuple[str, str]]:
    """What a Markdown text prints, as kind and text, its blocks first."""
    for match in FENCE.finditer(text):
        info, body = match["info"].strip(), match["body"]
        if info.startswith("{"):
            yield from in_text(body)
        elif info == "python":
            yield "python", body
        elif info in ("bash", "text", "bibtex"):  # the last two show what is printed or cited
            yield from in_block(body, is_shell=info == "bash")
        else:
            raise ValueError(f"a block of the language {info!r}; name it in tests/printed.py")
    text = FENCE.sub("(a block)", text)
    for match in INDENTED.finditer(text):
        block = "\n".join(line[4:] for line in match[0].splitlines()).strip("\n")
        if re.search(r"^(?:import|from) ", block, re.M):
            yield "python", block
        else:
            yield from in_block(block)
    for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", INDENTED.sub("\n", text)):
        if COMMAND.match(span):
            yield "command", span
        elif re.match(r"--?[a-z][\w-]*(?:\s|$)", span):
            yield "option", span


def collect() -> list[Printed]:
    """Everything printed, each text once, with the first page that prints it."""
    found: dict[tuple[str, str], Printed] = {}
    for page, text in texts():
        for kind, one in in_text(text):
            found.setdefault((kind, one), Printed(kind, one, page))
    return list(found.values())
