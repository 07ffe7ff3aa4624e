"""Make every page work without network, also when opened as a file.

- MathJax: the package sphinx-mathjax-offline ships all of it (23 MB). A page loads what reads TeX
  and sets it with fonts; nothing for speech and menus, which are most of the usual bundles.
- Icons: the theme loads 1.5 MB of scripts with all of them; its style sheet draws the same ones.
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

START = "startup.js"
PARTS = ["core", "input/tex", "output/chtml"]
"""What MathJax loads on every page with a formula; extensions of TeX only where they are used."""
FILES = [START, *(f"{name}.js" for name in PARTS), "output/chtml/fonts", "input/tex/extensions"]


def mathjax_source() -> Path:
    """Folder of MathJax inside the installed package."""
    package = distribution("sphinx-mathjax-offline")
    for entry in package.files or []:
        if entry.name == START:
            return Path(str(entry.locate())).parent
    raise FileNotFoundError(f"{START} is not part of {package.name} {package.version}")


def use_local_files(app: Sphinx, config: Config) -> None:
    """Point the MathJax extension at the copy, whatever the default address is."""
    config.mathjax_path = f"mathjax/{START}"
    config.mathjax3_config["loader"] = {"load": PARTS}


def drop_thebe(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Leave the scripts of sphinx-thebe, which the theme always registers, out of the page."""
    context["script_files"] = [
        script
        for script in context.get("script_files", [])
        if "thebe" not in f"{script} {getattr(script, 'attributes', '')}".lower()
    ]


UNWANTED = re.compile(
    r'\s*<link rel="(?:preload|preconnect)"[^>]*>'
    r'|\s*<link rel="stylesheet"[^>]*sphinx-thebe[^>]*>'
    r"|\s*<script\b[^>]*(?:fontawesome|design-tabs)[^>]*></script>"
)
"""What is written into every page and no page uses: font preloads, all icons as scripts, tabs."""


def finish(app: Sphinx, error: Exception | None) -> None:
    """Lighten the pages once they are written, and place MathJax beside the other static files."""
    if error is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(UNWANTED.sub("", text), encoding="utf-8")
    target = Path(app.outdir) / "_static" / "mathjax"
    for name in FILES:
        source = mathjax_source() / name
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target / name, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target / name)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("config-inited", use_local_files)
    app.connect("html-page-context", drop_thebe, priority=900)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
