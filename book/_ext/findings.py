"""Findings on the pages of the book, computed from the stored tables while it is built.

``{{ lead.left }}`` in a page is a fact of a finding (chapters are filled when they are executed).
``{finding-figure} lead`` is its figure, the content its caption. ``{claims}`` is the whole ledger:
a bar, filters, one box a claim. ``{claims-bar}`` is the bar alone, each segment a link.

Links to the evidence are ordinary links of the book, so a page that does not exist fails the build;
so does a verdict that no longer follows.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst.directives import unchanged_required
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from lpsvdd.plots import use_style
from replication.claims import Claim, judge, markdown_cards, of_substance, read_ledger
from replication.figures import both_widths
from replication.findings import VERDICTS, Stored, all_findings, keep_findings
from replication.wording import QUOTE, fill

STORED = Stored()
LOG = logging.getLogger(__name__)


MANY = {"holds": "hold", "holds partly": "hold partly", "erratum": "errata"}
"""Verdicts of several claims."""


def counted(count: int, verdict: str) -> str:
    """One holds, 12 hold."""
    return f"{count} {MANY.get(verdict, verdict) if count > 1 else verdict}"


def slug(verdict: str) -> str:
    """A verdict as a class and an anchor."""
    return "verdict-" + verdict.replace(" ", "-")


def bar(claims: list[Claim], page: str = "") -> str:
    """The claims of substance as one bar, a segment per verdict, as wide as it has claims."""
    print_checks = len(claims) - len(of_substance(claims))
    claims = of_substance(claims)
    counts = Counter(claim.verdict for claim in claims)
    parts = []
    for verdict in filter(counts.get, VERDICTS):
        text = counted(counts[verdict], verdict)
        parts.append(
            f'<a class="segment {slug(verdict)}" style="flex-grow:{counts[verdict]}" '
            f'href="{page}#{slug(verdict)}" title="{text}" aria-label="{text}">'
            f"{counts[verdict]}</a>"
        )
    names = ", ".join(
        f'<span class="{slug(verdict)} name">{counted(counts[verdict], verdict)}</span>'
        for verdict in filter(counts.get, VERDICTS)
    )
    return (
        f'<div class="claims-bar" role="group">{"".join(parts)}</div>'
        f'<p class="claims-names">{len(claims)} claims: {names}. '
        f"{print_checks} more compare print with print.</p>"
    )


def buttons(claims: list[Claim]) -> str:
    """Filters; without JavaScript they do nothing and every claim is shown."""
    claims = of_substance(claims)
    counts = Counter(claim.verdict for claim in claims)
    parts = [
        f'<button type="button" data-verdict="" aria-pressed="true">all {len(claims)}</button>'
    ]
    parts += [
        f'<button type="button" id="{slug(verdict)}" class="{slug(verdict)}" '
        f'data-verdict="{slug(verdict)}" aria-pressed="false">{verdict} {counts[verdict]}</button>'
        for verdict in filter(counts.get, VERDICTS)
    ]
    return f'<div class="claims-filter">{"".join(parts)}</div>'


def raw(text: str) -> nodes.raw:
    """HTML as it is."""
    return nodes.raw("", text, format="html")


class Bar(SphinxDirective):
    """The bar; the page of the ledger is the one that checks it."""

    def run(self) -> list[nodes.Node]:
        path = Path(self.env.srcdir).parent / "replication" / "claims.yml"
        self.env.note_dependency(str(path))
        return [raw(bar(read_ledger(path), "claims.html"))]


class FindingFigure(SphinxDirective):
    """The figure of a finding with its caption; ``:alt:`` is for those who do not see it."""

    required_arguments = 1
    has_content = True
    option_spec = {"alt": unchanged_required}

    def run(self) -> list[nodes.Node]:
        (name,) = self.arguments
        use_style()
        path = Path(self.env.srcdir) / "figures" / f"{name}.svg"  # Sphinx copies what is a source
        path.parent.mkdir(exist_ok=True)
        path.write_text(both_widths(all_findings()[name]().draw), encoding="utf-8")
        figure = nodes.figure("", nodes.image(uri=f"/figures/{name}.svg", alt=self.options["alt"]))
        caption = nodes.caption()
        self.state.nested_parse(self.content, self.content_offset, caption)
        caption.children = caption.children[0].children
        figure += caption
        figure["names"].append(f"fig-{name}")
        self.state.document.note_explicit_target(figure, figure)
        return [figure]


def fill_page(app: Sphinx, page: str, source: list[str]) -> None:
    """Fill the quotes of a page; those of an executed chapter are filled already."""
    if QUOTE.search(source[0]) and not page.startswith("notebooks/"):
        source[0] = fill(source[0], STORED)


class Claims(SphinxDirective):
    """The whole ledger."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir).parent
        for path in [root / "replication" / "claims.yml", *sorted((root / "results").glob("*.*"))]:
            self.env.note_dependency(str(path))
        claims = read_ledger(root / "replication" / "claims.yml")
        for claim in claims:
            verdict = judge(claim).verdict
            if verdict != claim.verdict:
                LOG.warning(
                    "claim %s: ledger says %s, check says %s", claim.id, claim.verdict, verdict
                )
        container = nodes.container(classes=["claims"])
        lines = markdown_cards(claims, root).splitlines()
        self.state.nested_parse(StringList(lines, "claims.yml"), 0, container)
        return [raw(bar(claims) + buttons(claims)), container]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    keep_findings()
    app.add_directive("claims", Claims)
    app.add_directive("claims-bar", Bar)
    app.add_directive("finding-figure", FindingFigure)
    app.connect("source-read", fill_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
