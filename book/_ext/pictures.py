"""Four drawings of a figure, of which the browser takes one: wide or narrow, light or dark.

``replication.figures.show`` stores the wide and the narrow one in one SVG file. When the pages are
written, the narrow one becomes a file of its own, both are rewritten in half of the bytes and get a
dark variant with the same hues (``replication.figures.dark``), and the image becomes two
``<picture>`` elements.
"""

from __future__ import annotations

import re
from base64 import b64decode
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from replication.figures import MARK, dark

COMMENT = re.compile(rf"\n?<!--{MARK}([A-Za-z0-9+/=]*)-->")
IMAGE = re.compile(r'<img\b[^>]*?\bsrc="([^"]+)\.svg"[^>]*>')


NUMBER = re.compile(r"-?\d+\.\d{2,}")
PLACES = re.compile(r'(\bd=|\bx=|\by=|translate)(["(])([^")]*)')
STYLED = re.compile(r'(<(?:path|use)\b[^>]*?) style="([^"]*)"')
TARGET = re.compile(r'(href="|url\()#([\w.-]+)')


def slim(drawing: str) -> str:
    """The same drawing in half of the bytes: tenths of a point, every style once, short names.

    >>> slim('<style></style><g id="a"><path d="M 1.2345 2 L 3 4 " style="fill: red"/></g>')
    '<style>.s0{fill: red}</style><path d="M1.2 2L3 4" class="s0"/>'
    """
    styles: dict[str, str] = {}

    def shorter(match: re.Match[str]) -> str:
        text = NUMBER.sub(lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), match[3])
        if match[1] == "d=":
            text = re.sub(r"\s*([A-Za-z])\s*", r"\1", text).strip()
        return match[1] + match[2] + text

    def named(match: re.Match[str]) -> str:
        return f'{match[1]} class="{styles.setdefault(match[2], f"s{len(styles)}")}"'

    drawing = re.sub(r"<!--.*?-->|<!DOC.*?>|<metadata>.*?</metadata>", "", drawing, flags=re.S)
    drawing = STYLED.sub(named, PLACES.sub(shorter, drawing))
    names = {
        name: f"i{k}" for k, name in enumerate(dict.fromkeys(t for _, t in TARGET.findall(drawing)))
    }
    drawing = TARGET.sub(lambda match: f"{match[1]}#{names[match[2]]}", drawing)
    drawing = re.sub(
        r' id="([^"]*)"',
        lambda match: f' id="{names[match[1]]}"' if match[1] in names else "",
        drawing,
    )
    rules = "".join(f".{name}{{{style}}}" for style, name in styles.items())
    drawing = drawing.replace("</style>", rules + "</style>", 1).replace("xlink:href", "href")
    return ungrouped(re.sub(r">\s+<", "><", re.sub(r"\s*\n\s*", " ", drawing)))


def ungrouped(drawing: str) -> str:
    """The drawing without groups that say nothing, or only what the group before them says."""
    kept: list[str] = []
    opened: list[str] = []
    closed = ""
    for place, part in enumerate(re.split(r"(<g>|<g\s[^>]*[^/]>|</g>)", drawing)):
        if part == "</g>":
            closed = opened.pop()
        elif place % 2:  # an opening tag; even places are what lies between two tags
            opened.append(part)
            if part == closed != "<g>" and kept[-1] == "</g>":
                kept.pop()
                continue
        if part and part != "<g>" and not (part == "</g>" and closed == "<g>"):
            kept.append(part)
    return "".join(kept)


def split_file(path: Path) -> bool:
    """Write the other drawings beside the wide light one; whether there is a narrow one."""
    narrow = path.with_name(f"{path.stem}-narrow.svg")
    text = path.read_text(encoding="utf-8")
    found = COMMENT.search(text)
    if found:
        narrow.write_text(slim(b64decode(found[1]).decode()), encoding="utf-8")
    path.write_text(slim(COMMENT.sub("", text)), encoding="utf-8")
    for light in filter(Path.exists, (path, narrow)):
        turned = dark(light.read_text(encoding="utf-8"))
        light.with_name(f"{light.stem}-dark.svg").write_text(turned, encoding="utf-8")
    return narrow.exists()


def picture(match: re.Match[str], folder: Path) -> str:
    """The image as two pictures, one for each theme; as it is where its file is not ours."""
    name = match[1]
    path = folder / f"{name}.svg"
    if not path.is_file():
        return match[0]
    has_narrow = split_file(path)

    def one(theme: str, ending: str, image: str) -> str:
        narrow = f'<source media="(max-width: 600px)" srcset="{name}-narrow{ending}">'
        return f'<picture class="{theme}-figure">{narrow * has_narrow}{image}</picture>'

    later = (
        match[0].replace(f"{name}.svg", f"{name}-dark.svg").replace("<img", '<img loading="lazy"')
    )
    return one("light", ".svg", match[0]) + one("dark", "-dark.svg", later)


def finish(app: Sphinx, error: Exception | None) -> None:
    """Rewrite the pages that show a drawing."""
    if error is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if "<picture class=" in text:  # not written anew by this build
            continue
        changed = IMAGE.sub(lambda match, folder=page.parent: picture(match, folder), text)
        if changed != text:
            page.write_text(changed, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
