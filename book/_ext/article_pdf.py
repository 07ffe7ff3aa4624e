"""The article beside the pages of the book: made from the same findings when the book is built."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from replication.article import build, typeset


def add_article(app: Sphinx, error: Exception | None) -> None:
    """Write article.pdf and a picture of its first page where the page expects them."""
    if error is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    with tempfile.TemporaryDirectory() as scratch:
        pdf = build(Path(scratch))
        shutil.copy(pdf, static / "article.pdf")
        pages = typeset(Path(scratch) / "article.typ", format="png", ppi=110.0)
    (static / "article.png").write_bytes(pages[0] if isinstance(pages, list) else pages)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("build-finished", add_article)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
