"""What the pages of the book need beyond published extensions, in the order of a build.

While a page is read: ``/figures/exponent/fig-lead.svg`` is the figure of a chapter; {before} says
what to read first, what follows ``---`` in an {exercise} is its solution, and {made} shows the
Markdown that a function makes. Docstrings are written for the terminal: ``|x|`` is an absolute
value and ``offset_`` an attribute.

When all are written: the article is made; pages load nothing from a network and nothing that they
do not use; each figure becomes four drawings, wide or narrow, light or dark, with their sizes.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from replication.article import typeset, write_pdf
from replication.figures import dark, split_drawing
from replication.notebooks import shown_figure

BOOK = Path(__file__).resolve().parents[1]

# -- while a page is read -----------------------------------------------------------------------


def share_figures(app: Sphinx, page: str, source: list[str]) -> None:
    """Make the figures that a page shares with a chapter; read it again when the chapter changes.

    ``/figures/exponent/fig-lead.svg`` is what the cell of ``notebooks/exponent.ipynb`` shows whose
    figure is named ``fig-lead``.
    """
    if page.startswith("notebooks/"):
        return
    for name in set(re.findall(r"notebooks/(\w+)\.ipynb::", source[0])):
        app.env.note_dependency(str(BOOK / f"notebooks/{name}.ipynb"))
    for chapter, name in re.findall(r"\{figure\} /figures/(\w+)/([\w-]+)\.svg", source[0]):
        path = BOOK / "figures" / chapter / f"{name}.svg"  # Sphinx copies what is a source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(shown_figure(chapter, name), encoding="utf-8")
        app.env.note_dependency(str(BOOK / f"notebooks/{chapter}.ipynb"))


class Box(SphinxDirective):
    """Markdown in a box that has the name of the directive as its class."""

    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = {"class": directives.class_option}
    has_content = True

    def lines(self) -> list[str]:
        """Return what the box holds: the content as it is, unless a directive says otherwise."""
        return list(self.content)

    def run(self) -> list[nodes.Node]:
        """Parse the lines into the box."""
        box = nodes.container(classes=self.options.get("class", [self.name]))
        self.state.nested_parse(StringList(self.lines(), self.name), self.content_offset, box)
        return [box]


class Exercise(Box):
    """An exercise; what follows ``---`` is its solution."""

    def lines(self) -> list[str]:
        text = list(self.content)
        cut = text.index("---")
        solution = [":::{admonition} Solution", ":class: dropdown", "", *text[cut + 1 :], ":::"]
        return ["**Exercise.** " + text[0], *text[1:cut], "", *solution]


class Made(Box):
    """The Markdown that a function makes, such as ``replication.claims.page``."""

    def lines(self) -> list[str]:
        self.env.note_reread()  # the function reads more files than this page
        module, _, function = self.arguments[0].rpartition(".")
        return getattr(import_module(module), function)().splitlines()


CODE = re.compile(r"(``.+?``|:[\w:]+:`[^`]*`)")
GENERATED = re.compile(r"set_\w+_request|get_metadata_routing")


def escaped(line: str) -> str:
    """A line without the marks that reStructuredText would read, outside inline code."""
    line = re.sub(r"\[(\d+)\]_", r"[\1]", re.sub(r"^(\s*)\.\. (?=\[\d)", r"\1| ", line))
    pieces = CODE.split(line)
    pieces[::2] = [re.sub(r"(?<!\\)(\|(?! \[)|_(?=[^\w`]|$))", r"\\\1", p) for p in pieces[::2]]
    return "".join(pieces)


def plain(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite a docstring in place; a formula set apart by indentation is a literal block."""
    result: list[str] = ["", ""]
    literal = False
    for line in lines:
        if not line.startswith("    "):
            literal = literal and not line.strip()
        elif not literal and not result[-1].strip() and re.match(r"[^\s.:]", result[-2]):
            result += ["::", ""]
            literal = True
        directive = line.startswith(".. ") and not line.startswith(".. [")
        result.append(line if literal or directive else escaped(line))
        literal = literal or directive  # and what is indented below it
    lines[:] = result[2:]


def skip(app: Sphinx, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what is generated: metadata routing of scikit-learn, fields of named tuples."""
    generated = str(getattr(obj, "__doc__", "") or "").startswith("Alias for field number")
    return True if generated or GENERATED.fullmatch(name) else None


# -- when all pages are written -------------------------------------------------------------------

PARTS = ("startup", "core", "input/tex", "output/chtml")
"""What of MathJax the pages load (mathjax3_config): reading TeX and fonts; no speech, no menus."""
UNWANTED = re.compile(
    r'\s*<link rel="(?:preload|preconnect)"[^>]*>'
    r'|\s*<link rel="stylesheet"[^>]*sphinx-thebe[^>]*>'
    r"|\s*<script\b[^>]*(?:fontawesome|design-tabs|thebe)[^>]*>[^<]*</script>"
    r"|\s*<script\b[^>]*>[^<]*THEBE_JS_URL[^<]*</script>"
)
"""In every page and never used: preloads, which file:// refuses, icons as scripts, live code."""
IMAGE = re.compile(r'<img\b[^>]*?\bsrc="([^"]+)\.svg"[^>]*>')
PLACE = re.compile(r'(?:\b[dxy]="|translate\()[^")]*')
SIZE = re.compile(r'<svg\b[^>]*?\bwidth="([\d.]+)pt"[^>]*?\bheight="([\d.]+)pt"')


def size(path: Path) -> str:
    """Width and height as attributes, so that a page does not move when a figure arrives."""
    found = SIZE.search(path.read_text("utf-8"))
    if found is None:
        return ""
    return 'width="{:.0f}" height="{:.0f}" '.format(*(float(x) * 4 / 3 for x in found.groups()))


def slim(drawing: str) -> str:
    """The same drawing in fewer bytes: two decimals, every style once."""
    styles: dict[str, str] = {}

    def named(match: re.Match[str]) -> str:
        return f'{match[1]} class="{styles.setdefault(match[2], f"s{len(styles)}")}"'

    drawing = re.sub(r"<!DOC.*?>|<metadata>.*?</metadata>", "", drawing, flags=re.S)
    drawing = re.sub(r'(<(?:path|use)\b[^>]*?) style="([^"]*)"', named, drawing)
    rules = "".join(f".{name}{{{style}}}" for style, name in styles.items())
    drawing = PLACE.sub(lambda place: re.sub(r"(\.\d\d)\d+", r"\1", place[0]), drawing)
    drawing = re.sub(r"\s*\n\s*", " ", drawing)
    return drawing.replace("</style>", rules + "</style>", 1).replace("> <", "><")


def split_file(path: Path) -> bool:
    """Write the other drawings beside the wide light one; whether there is a narrow one."""
    narrow = path.with_name(f"{path.stem}-narrow.svg")
    wide, other = split_drawing(path.read_text(encoding="utf-8"))
    if other is not None:
        narrow.write_text(slim(other), encoding="utf-8")
    path.write_text(slim(wide), encoding="utf-8")
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
    image = match[0].replace("<img ", f"<img {size(path)}")
    later = image.replace(f"{name}.svg", f"{name}-dark.svg").replace("<img", '<img loading="lazy"')

    def one(theme: str, ending: str, shown: str) -> str:
        source = ""
        if has_narrow:
            fits = size(folder / f"{name}-narrow.svg")
            source = f'<source media="(max-width: 600px)" {fits}srcset="{name}-narrow{ending}">'
        return f'<picture class="{theme}-figure">{source}{shown}</picture>'

    return one("light", ".svg", image) + one("dark", "-dark.svg", later)


def finish(app: Sphinx, error: Exception | None) -> None:
    """Write the article, MathJax and the drawings; rewrite the pages that this build wrote."""
    if error is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copy(write_pdf(Path(scratch), execute=False), static / "article.pdf")
        pages = typeset(Path(scratch) / "article.typ", format="png", ppi=110.0)
    (static / "article.png").write_bytes(pages[0] if isinstance(pages, list) else pages)
    package = find_spec("sphinx-mathjax-offline").submodule_search_locations[0]
    source = Path(package) / "static" / "mathjax"
    for name in ("output/chtml/fonts", "input/tex/extensions"):
        shutil.copytree(source / name, static / "mathjax" / name, dirs_exist_ok=True)
    for name in PARTS:
        shutil.copyfile(source / f"{name}.js", static / "mathjax" / f"{name}.js")
    for page in Path(app.outdir).rglob("*.html"):
        text = UNWANTED.sub("", page.read_text(encoding="utf-8"))
        if "<picture class=" not in text:
            text = IMAGE.sub(lambda match, folder=page.parent: picture(match, folder), text)
        page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    for name, directive in {"before": Box, "exercise": Exercise, "made": Made}.items():
        app.add_directive(name, directive)
    app.connect("source-read", share_figures)
    app.connect("autodoc-process-docstring", plain, priority=900)  # after napoleon
    app.connect("autodoc-skip-member", skip)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
