"""The article: ``article.typ`` made a PDF by typst, without network.

typst reads ``numbers.json`` (``numbers.py``). ``image("exponent/fig-steps.svg")`` is a figure of a
chapter by its name, ``image("exponent/fig-steps-narrow.svg")`` its narrow form.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from replication import notebooks
from replication.about import ROOT, Commit, commit
from replication.figures import split_drawing

FOLDER = Path(__file__).parent
FIGURE = re.compile(r'image\("(?P<chapter>\w+)/(?P<name>[\w-]+?)(?P<narrow>-narrow)?\.svg"')


def text() -> str:
    """Read the text of the article."""
    return (FOLDER / "article.typ").read_text(encoding="utf-8")


def typeset(path: Path, code: Commit | None = None, **options: Any) -> Any:
    """Compile a typst file; fonts are those of the wheel, so every machine makes the same bytes."""
    import typst

    options |= {"ignore_system_fonts": True, "timestamp": (code or commit()).time}
    return typst.compile(path, root=path.parent, **options)


def write_pdf(folder: Path, code: Commit | None = None, *, execute: bool = True) -> Path:
    """Make ``article.pdf`` in a folder, which afterwards holds all that it was made of.

    Chapters whose figures are shown are executed first, if they changed and unless ``execute`` is
    false.
    """
    from replication.article.numbers import article_numbers

    code = code or commit()
    folder.mkdir(parents=True, exist_ok=True)
    for path in (FOLDER / "article.typ", FOLDER / "look.typ", ROOT / "book/references.bib"):
        shutil.copy(path, folder)
    content = json.dumps(article_numbers(code), ensure_ascii=False, indent=1)
    (folder / "numbers.json").write_text(content, encoding="utf-8")
    for chapter, name, narrow in FIGURE.findall(text()):
        if execute:
            notebooks.execute(chapter)  # nothing to do if it is up to date
        drawings = split_drawing(notebooks.shown_figure(chapter, name))
        (folder / chapter).mkdir(exist_ok=True)
        path = folder / chapter / f"{name}{narrow}.svg"
        path.write_text(drawings[bool(narrow)] or drawings[0], encoding="utf-8")
    pdf = folder / "article.pdf"
    pdf.write_bytes(typeset(folder / "article.typ", code, format="pdf"))
    return pdf
