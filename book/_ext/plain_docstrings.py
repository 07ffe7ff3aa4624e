"""Let docstrings be written for the terminal: plain-text formulas that reStructuredText would read.

``|x|`` is an absolute value and not a substitution, ``offset_`` an attribute and not a link,
``[1]_`` and ``.. [1]`` plain numbers, because many docstrings share one page.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

CODE = re.compile(r"(``.+?``|:[\w:]+:`[^`]*`)")
PLAIN = re.compile(r"[^\s.:]")  # a line of running text: neither indented nor a directive or field
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
    """Rewrite the lines in place; formulas set apart by indentation become literal blocks."""
    result: list[str] = []
    opaque: int | None = None  # indentation of a directive whose body is left alone
    footnote: int | None = None  # indentation of a numbered reference
    literal = False
    previous = ""
    for line in lines:
        indent = len(line) - len(line.lstrip())
        text = line.strip()
        if text and opaque is not None and indent <= opaque:
            opaque = None
        if text and footnote is not None and indent <= footnote:
            footnote = None
        if text and indent == 0:
            literal = False
        if opaque is not None or literal or not text:
            result.append(line)
        elif match := re.match(r"(\s*)\.\. \[(\d+)\] (.*)", line):
            footnote = indent
            result += ["", f"{match[1]}[{match[2]}] {escape(match[3])}"]
        elif footnote is not None:
            result.append(" " * footnote + escape(text))
        elif re.match(r"\.\. (math|code|code-block|rubric|seealso)::", text):
            opaque = indent
            result.append(line)
        elif text.startswith(".. ") or text.startswith(">>>"):
            result.append(line)
        elif indent >= 4 and result and not result[-1].strip() and PLAIN.match(previous):
            literal = True
            result += ["::", "", line]
        elif match := re.match(r"(\s*:\w+ [^:]+:)(.*)", line):
            result.append(match[1] + escape(match[2]))
        else:
            result.append(escape(line))
        if text:
            previous = line
    lines[:] = result


def skip(
    app: Sphinx, what: str, name: str, obj: Any, is_skipped: bool, options: Any
) -> bool | None:
    """Leave out what is generated: metadata routing of scikit-learn, fields of named tuples.

    The class documents its fields; "Alias for field number 0" says nothing.
    """
    generated = str(getattr(obj, "__doc__", "") or "").startswith("Alias for field number")
    return True if generated or ROUTING.fullmatch(name) else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx, after napoleon."""
    app.connect("autodoc-process-docstring", process, priority=900)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
