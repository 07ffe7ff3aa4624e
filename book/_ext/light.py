"""Light pages: no styles for what no page has, no icons that no page shows.

The theme brings all of Bootstrap and of Font Awesome, half a megabyte for every page. Once the
pages are written, a rule is dropped from the style sheets if its selector names a class that is in
no page and no script, and the fonts of icons keep the glyphs that the remaining rules name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

WORD = re.compile(r"[A-Za-z_-][\w-]*")
CLASS_ATTRIBUTE = re.compile(r'\bclass="([^"]*)"')
NAMED_CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
ANIMATION = re.compile(r"@(?:-webkit-)?keyframes ([\w-]+)")
GLYPH = re.compile(r'(?<=")(?:\\([0-9a-f]{4})|([\ue000-\uf8ff]))(?=")')
"""An icon in a style sheet, by its number or as the character itself."""
FONT = re.compile(
    r"url\(([^()]*/)?(fa-[\w-]+)\.woff2\) format\(\"woff2\"\),"
    r"url\([^()]*\.ttf\) format\(\"truetype\"\)"
)


def words_in_use(folder: Path) -> set[str]:
    """Classes of all pages, and every word of a script, which may set one."""
    words: set[str] = set()
    for page in folder.rglob("*.html"):
        for value in CLASS_ATTRIBUTE.findall(page.read_text(encoding="utf-8")):
            words.update(value.split())
    for script in (folder / "_static").rglob("*.js"):
        if not {"mathjax", "fontawesome"} & set(script.parts):
            words.update(WORD.findall(script.read_text(encoding="utf-8")))
    return words


def blocks(css: str) -> Iterator[tuple[str, str]]:
    """Head and body of every block, (statement, "") for what has none, such as an import."""
    start = place = 0
    while place < len(css):
        sign = css[place]
        if sign in "\"'":
            place = css.index(sign, place + 1)
        elif sign == ";":
            yield css[start : place + 1].strip(), ""
            start = place + 1
        elif sign == "{":
            head, depth, begin = css[start:place].strip(), 1, place + 1
            while depth:
                place += 1
                if css[place] in "\"'":
                    place = css.index(css[place], place + 1)
                depth += {"{": 1, "}": -1}.get(css[place], 0)
            yield head, css[begin:place].strip()
            start = place + 1
        place += 1


def selectors(head: str) -> list[str]:
    """The parts of a selector list; commas in brackets do not part."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", head)]


def can_match(selector: str, words: set[str]) -> bool:
    """Whether every class that the selector asks for is in use; alternatives are not looked at."""
    plain = re.sub(r":(?:not|is|where|has)\((?:[^()]|\([^()]*\))*\)", "", selector)
    plain = re.sub(r"\[[^\]]*\]", "", plain)
    return "\\" in plain or all(name in words for name in NAMED_CLASS.findall(plain))


def slim(css: str, words: set[str]) -> str:
    """The style sheet without rules that match nothing."""
    kept = []
    for head, body in blocks(re.sub(r"/\*.*?\*/", "", css, flags=re.S)):
        if not head.startswith("@"):
            head = ",".join(part for part in selectors(head) if can_match(part, words))
        elif head.startswith(("@media", "@supports", "@layer", "@container")) and body:
            body = slim(body, words)
            head = head if body else ""
        if head:
            kept.append(f"{head}{{{body}}}" if body or not head.endswith(";") else head)
    played = "\n".join(rule for rule in kept if not ANIMATION.match(rule))
    names = ((rule, ANIMATION.match(rule)) for rule in kept)
    return "\n".join(rule for rule, name in names if name is None or name[1] in played)


def slim_fonts(folder: Path, sheets: dict[Path, str]) -> dict[Path, str]:
    """Write the icons that the sheets name as small fonts; the sheets that ask for these."""
    found = [pair for css in sheets.values() for pair in GLYPH.findall(css)]
    glyphs = {int(code, 16) if code else ord(character) for code, character in found}
    for source in folder.rglob("fa-*.ttf"):
        font = TTFont(source)
        keep = Subsetter(Options(notdef_outline=True, layout_features=[]))
        keep.populate(unicodes=glyphs)
        keep.subset(font)
        font.flavor = "woff"
        font.save(source.with_suffix(".woff"))
    return {path: FONT.sub(r'url(\1\2.woff) format("woff")', css) for path, css in sheets.items()}


def start(app: Sphinx) -> None:
    """Let Sphinx write the style sheets anew: it would keep ours."""
    for path in (Path(app.outdir) / "_static").rglob("*.css"):
        path.unlink()


def finish(app: Sphinx, error: Exception | None) -> None:
    """Rewrite the style sheets and fonts of the built book."""
    if error is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir)
    words = words_in_use(folder)
    sheets = {
        path: slim(path.read_text(encoding="utf-8"), words)
        for path in (folder / "_static").rglob("*.css")
        if "mathjax" not in path.parts
    }
    for path, css in slim_fonts(folder / "_static", sheets).items():
        path.write_text(css, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", start)
    app.connect("build-finished", finish, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
