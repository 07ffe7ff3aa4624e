"""What leads a reader: time and prior knowledge of a chapter, exercises, descriptions, previews.

``{before}`` at the top of a chapter says what to read first; the reading time is counted.
``{exercise}`` is a question; what follows a line ``---`` is its solution, folded.
``{api-index} lpsvdd surface`` lists pages of the reference with their first sentence.
Every page gets a description for search engines: its first words. Citations, terms of the glossary
and equations are collected into one file; ``preview.js`` loads it when a pointer rests on a link.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

WORDS_A_MINUTE = 180
TARGET = re.compile(
    r'<div class="citation" id="(?P<cite>[\w-]+)".*?</span></span>(?P<cited>.*?)</div>'
    r'\s*(?=<div class="citation|</div>)'
    r'|<dt id="(?P<term>term-[^"]+)">.*?</dt>(?:<dt.*?</dt>)*\s*<dd>(?P<meaning>.*?)</dd>'
    r'|<div class="math[^"]*" id="(?P<label>equation-[\w-]+)">(?P<formula>.*?)</div>',
    re.S,
)


class Before(SphinxDirective):
    """Reading time, and what the content names."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        box = nodes.container(classes=["before"])
        self.state.nested_parse(self.content, self.content_offset, box)
        box[0].insert(0, nodes.inline(classes=["reading-time"]))
        return [box]


class Exercise(SphinxDirective):
    """A question and, folded, its solution."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        lines = list(self.content)
        cut = lines.index("---")
        text = [
            *lines[:cut],
            "",
            ":::{admonition} Solution",
            ":class: dropdown",
            "",
            *lines[cut + 1 :],
            ":::",
        ]
        box = nodes.container(classes=["exercise"])
        self.state.nested_parse(StringList(text, "exercise"), self.content_offset, box)
        box[0].insert(0, nodes.strong("", "Exercise. "))
        return [box]


class Index(SphinxDirective):
    """Pages of the reference, one line each."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        lines = []
        for name in self.arguments[0].split():
            path = Path(self.env.srcdir) / "api" / f"{name}.md"
            self.env.note_dependency(str(path))
            first = path.read_text(encoding="utf-8").split("\n\n")[1].replace("<../", "<")
            lines.append(f"- {{doc}}`api/{name}`: {first}")
        box = nodes.container()
        self.state.nested_parse(StringList(lines, "api"), self.content_offset, box)
        return box.children


def count(app: Sphinx, tree: nodes.document) -> None:
    """Fill in the reading time: the words of the text; code is not counted."""
    for place in tree.findall(nodes.inline):
        if "reading-time" in place["classes"]:
            kinds = (nodes.paragraph, nodes.title, nodes.caption)
            words = sum(len(node.astext().split()) for kind in kinds for node in tree.findall(kind))
            place += nodes.Text(f"{max(1, round(words / WORDS_A_MINUTE))} min. ")


def describe(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """The first sentences of a page as its description."""
    if tree is None:
        return
    texts = [
        node.astext()
        for node in tree.findall(nodes.paragraph)
        if not (isinstance(node.parent, nodes.container) and "before" in node.parent["classes"])
    ]
    text = " ".join(" ".join(texts[:2]).split())
    if len(text) > 160:
        text = text[:157].rsplit(" ", 1)[0] + " …"
    context["metatags"] = context.get("metatags", "") + (
        f'\n<meta name="description" content="{html.escape(text)}">'
    )


def collect(app: Sphinx, error: Exception | None) -> None:
    """Write what a link may show: citations, terms, equations, by page and anchor."""
    if error is not None or app.builder.format != "html":
        return
    found: dict[str, str] = {}
    for path in sorted(Path(app.outdir).rglob("*.html")):
        page = path.relative_to(app.outdir).as_posix()
        for match in TARGET.finditer(path.read_text(encoding="utf-8")):
            name = match["cite"] or match["term"] or match["label"]
            text = match["cited"] or match["meaning"] or match["formula"]
            text = re.sub(
                r'<a class="(?:headerlink|eqno).*?</a>|<span class="eqno">.*?</span>',
                "",
                text,
                flags=re.S,
            )
            text = re.sub(r"</?(?:a|div)\b[^>]*>", "", text)  # no links in a preview
            found[f"{page}#{name}"] = " ".join(text.split()) if not match["label"] else text
    text = f"globalThis.bookPreviews = {json.dumps(found, ensure_ascii=False, indent=0)};\n"
    (Path(app.outdir) / "_static" / "previews.js").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("before", Before)
    app.add_directive("exercise", Exercise)
    app.add_directive("api-index", Index)
    app.connect("doctree-read", count)
    app.connect("html-page-context", describe)
    app.connect("build-finished", collect, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
