"""What the pages of the book need beyond published extensions, in the order of a build.

While a page is read: ``{{ lead.left }}`` is a fact of a finding, ``/figures/lead.svg`` its figure
(chapters have theirs when they are executed). {before} says what to read first, what follows
``---`` in an {exercise} is its solution, {api-index} lists pages with their first sentences,
{claims} is the ledger, {claims-bar} how many claims have which verdict, {stored-runs} the runs
behind results/.

A verdict that no longer follows and a link to a page that does not exist fail the build. Docstrings
are written for the terminal: ``|x|`` is an absolute value and ``offset_`` an attribute.

When all are written: the article is made; pages load nothing from a network and nothing that they
do not use; each figure becomes four drawings, wide or narrow, light or dark, with their sizes.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from base64 import b64decode
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from lpsvdd.plots import use_style
from replication.article import build, typeset
from replication.claims import judge, markdown_cards, of_substance, read_ledger
from replication.figures import MARK, both_widths, dark
from replication.findings import VERDICTS, Stored, all_findings, keep_findings
from replication.layout import commit_text
from replication.wording import QUOTE, fill

ROOT = Path(__file__).resolve().parents[2]
LEDGER = ROOT / "replication" / "claims.yml"
STORED = Stored()
LOG = logging.getLogger(__name__)

# -- while a page is read -----------------------------------------------------------------------


def fill_page(app: Sphinx, page: str, source: list[str]) -> None:
    """Fill the quotes of a page and draw its findings; those of a chapter are there already."""
    if page.startswith("notebooks/"):
        return
    if QUOTE.search(source[0]):
        source[0] = fill(source[0], STORED)
    use_style()
    for name in re.findall(r"\{figure\} /figures/(\w+)\.svg", source[0]):
        path = ROOT / "book" / "figures" / f"{name}.svg"  # Sphinx copies what is a source
        path.parent.mkdir(exist_ok=True)
        path.write_text(both_widths(all_findings()[name]().draw), encoding="utf-8")


class Written(SphinxDirective):
    """Markdown that a directive writes, in a box with its name as class."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def lines(self) -> list[str]:
        """What the box holds: the content as it is, unless a directive says otherwise."""
        return list(self.content)

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # it reads more files than its page
        box = nodes.container(classes=[self.name])
        self.state.nested_parse(StringList(self.lines(), self.name), self.content_offset, box)
        return [box]


class Exercise(Written):
    def lines(self) -> list[str]:
        text = list(self.content)
        cut = text.index("---")
        solution = [":::{admonition} Solution", ":class: dropdown", "", *text[cut + 1 :], ":::"]
        return ["**Exercise.** " + text[0], *text[1:cut], "", *solution]


class Index(Written):
    def lines(self) -> list[str]:
        names = self.arguments[0].split()
        texts = [(ROOT / f"book/api/{name}.md").read_text("utf-8") for name in names]
        firsts = [text.split("\n\n")[1].replace("<../", "<") for text in texts]
        return [f"- {{doc}}`api/{name}`: {one}" for name, one in zip(names, firsts, strict=True)]


class Bar(Written):
    def lines(self) -> list[str]:
        claims = read_ledger(LEDGER)
        counts = Counter(claim.verdict for claim in of_substance(claims))
        badges = [
            f"[{counts[verdict]} {verdict}]{{.verdict .verdict-{verdict.replace(' ', '-')}}}"
            for verdict in filter(counts.get, VERDICTS)
        ]
        others = f"{len(claims) - counts.total()} more compare print with print."
        return [f"{counts.total()} {{doc}}`claims <claims>`: {' '.join(badges)} {others}"]


class Claims(Bar):
    def lines(self) -> list[str]:
        claims = read_ledger(LEDGER)
        for claim in claims:
            if (verdict := judge(claim).verdict) != claim.verdict:
                LOG.warning("claim %s: ledger: %s, check: %s", claim.id, claim.verdict, verdict)
        return [*super().lines(), "", *markdown_cards(claims, ROOT).splitlines()]


class StoredRuns(Written):
    def lines(self) -> list[str]:
        rows = ["| table | date | commit | processor |", "|---|---|---|---|"]
        for path in sorted((ROOT / "results").glob("*.provenance.json")):
            run = json.loads(path.read_text("utf-8"))
            cells = [run["date"], commit_text(run["git_commit"]), run["processor"]]
            rows.append(f"| `{path.name.split('.')[0]}` | {' | '.join(cells)} |")
        return rows


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
COMMENT = re.compile(rf"\n?<!--{MARK}([A-Za-z0-9+/=]*)-->")
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
    text = path.read_text(encoding="utf-8")
    if found := COMMENT.search(text):
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
        shutil.copy(build(Path(scratch)), static / "article.pdf")
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


DIRECTIVES = {
    "before": Written, "exercise": Exercise, "api-index": Index,
    "claims": Claims, "claims-bar": Bar, "stored-runs": StoredRuns,
}  # fmt: skip


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    keep_findings()
    for name, directive in DIRECTIVES.items():
        app.add_directive(name, directive)
    app.connect("source-read", fill_page)
    app.connect("autodoc-process-docstring", plain, priority=900)  # after napoleon
    app.connect("autodoc-skip-member", skip)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
