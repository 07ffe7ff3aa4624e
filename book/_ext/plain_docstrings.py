"""Let docstrings be written for the terminal: plain-text formulas that reStructuredText would read.

``|x|`` is an absolute value and not a substitution, ``offset_`` an attribute and not a link,
``[1]_`` and ``.. [1]`` plain numbers, because many docstrings share one page.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

CODE = re.compile(r"(``.+?``|:[\w:]+:`[^`]*`)")
ROUTING = re.compile(r"set_\w+_request|get_metadata_routing")


def escape(text: str) -> str:
    """Escape bars, trailing underscores and footnote marks outside inline code."""
    pieces = CODE.split(text)
    for index in range(0, len(pieces), 2):
        piece = re.sub(r"\[(\d+)\]_", r"[\1]", pieces[index])
        piece = re.sub(r"(?<!\\)\|", r"\\|", piece)
        pieces[index] = re.sub(r"(?<!\\)_(?=[^\w`]|$)", r"\\_", piece)
    return "".join(pieces)


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite the lines in place, leaving directives and their bodies alone."""
    body: int | None = None
    for index, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if body is not None and line.strip() and indent <= body:
            body = None
        if footnote := re.match(r"(\s*)\.\. \[(\d+)\] (.*)", line):
            lines[index] = f"{footnote[1]}[{footnote[2]}] {escape(footnote[3])}"
        elif body is not None:
            continue
        elif re.match(r"\s*\.\. \w+::", line) or line.rstrip().endswith("::"):
            body = indent
        elif not line.lstrip().startswith((":", ">>>")):
            lines[index] = escape(line)
        else:
            lines[index] = re.sub(r"(?<!\\)\|", r"\\|", line) if line.lstrip()[0] == ":" else line


def skip(app: Sphinx, what: str, name: str, obj: Any, is_skipped: bool, options: Any) -> bool | None:
    """Leave out the methods scikit-learn generates for metadata routing."""
    return True if ROUTING.fullmatch(name) else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx, after napoleon."""
    app.connect("autodoc-process-docstring", process, priority=900)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
