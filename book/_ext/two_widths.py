"""Let the browser choose between the wide and the narrow drawing of a figure.

``replication.figures.show`` stores both in one SVG file. When the pages are written, the narrow one
becomes a file of its own and the image a ``<picture>`` that takes it below 600 px.
"""

from __future__ import annotations

import re
from base64 import b64decode
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from replication.figures import MARK

COMMENT = re.compile(rf"\n?<!--{MARK}([A-Za-z0-9+/=]*)-->")
IMAGE = re.compile(r'<img\b[^>]*?\bsrc="([^"]+\.svg)"[^>]*>')


def split_file(path: Path) -> bool:
    """Write the narrow drawing beside the wide one; whether there is one."""
    narrow = path.with_name(f"{path.stem}-narrow.svg")
    text = path.read_text(encoding="utf-8")
    found = COMMENT.search(text)
    if found:
        narrow.write_bytes(b64decode(found[1]))
        path.write_text(COMMENT.sub("", text), encoding="utf-8")
    return narrow.exists()


def picture(match: re.Match[str], folder: Path) -> str:
    """The image as it is, or inside a picture with its narrow variant."""
    source = match[1]
    path = folder / source
    if not path.is_file() or not split_file(path):
        return match[0]
    narrow = f"{source.removesuffix('.svg')}-narrow.svg"
    return f'<picture><source media="(max-width: 600px)" srcset="{narrow}">{match[0]}</picture>'


def finish(app: Sphinx, error: Exception | None) -> None:
    """Rewrite the pages that show such a figure."""
    if error is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if "<picture>" in text:  # not written anew by this build
            continue
        changed = IMAGE.sub(lambda match, folder=page.parent: picture(match, folder), text)
        if changed != text:
            page.write_text(changed, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
