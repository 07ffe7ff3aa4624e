"""Make every page work without network, also when opened as a file.

- MathJax: the package sphinx-mathjax-offline ships all of it (23 MB). The book needs the single
  bundle that reads TeX and writes SVG, glyphs included, so only that file goes into ``_static``.
- Thebe (live code) would load from a server and declares its settings twice; nothing here uses it.
- Font preloading is a cross-origin request, which browsers refuse on file:// addresses; the style
  sheet loads the same fonts a moment later.
"""

from __future__ import annotations

import re
import shutil
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

BUNDLE = "tex-svg-full.js"


def bundle_source() -> Path:
    """Path of the bundle inside the installed package."""
    package = distribution("sphinx-mathjax-offline")
    for entry in package.files or []:
        if entry.name == BUNDLE:
            return Path(str(entry.locate()))
    raise FileNotFoundError(f"{BUNDLE} is not part of {package.name} {package.version}")


def use_local_bundle(app: Sphinx, config: Config) -> None:
    """Point the MathJax extension at the copy, whatever the default address is."""
    config.mathjax_path = BUNDLE


def drop_thebe(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Leave the scripts of sphinx-thebe, which the theme always registers, out of the page."""
    context["script_files"] = [
        script
        for script in context.get("script_files", [])
        if "thebe" not in f"{script} {getattr(script, 'attributes', '')}".lower()
    ]


def drop_font_preloads(app: Sphinx) -> None:
    """Remove the preload links that the theme's layout writes into the head of every page."""
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(re.sub(r'\s*<link rel="preload"[^>]*>', "", text), encoding="utf-8")


def finish(app: Sphinx, error: Exception | None) -> None:
    """Place the bundle beside the other static files once the pages are written."""
    if error is None and app.builder.format == "html":
        drop_font_preloads(app)
        shutil.copyfile(bundle_source(), Path(app.outdir) / "_static" / BUNDLE)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("config-inited", use_local_bundle)
    app.connect("html-page-context", drop_thebe, priority=900)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
