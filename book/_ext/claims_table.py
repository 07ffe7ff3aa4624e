"""Directive ``{claims}``: the claims ledger as a table, every verdict recomputed while building.

    ```{claims}
    ```

``{claims-summary}`` is the line with the number of claims per verdict, for another page.

Links to the evidence are ordinary links of the book, so a page that does not exist fails the build;
so does a verdict that no longer follows.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from replication.claims import VERDICTS, Claim, judge, markdown_table, read_ledger

LOG = logging.getLogger(__name__)


def summary(claims: list[Claim]) -> str:
    """Number of claims, and of claims per verdict."""
    counts = Counter(claim.verdict for claim in claims)
    parts = [f"{verdict} {counts[verdict]}" for verdict in VERDICTS if counts[verdict]]
    return f"{len(claims)} claims: {', '.join(parts)}."


class Summary(SphinxDirective):
    """The line with the numbers; the page of the table is the one that checks them."""

    def run(self) -> list[nodes.Node]:
        path = Path(self.env.srcdir).parent / "claims.yml"
        self.env.note_dependency(str(path))
        return [nodes.paragraph(text=summary(read_ledger(path)))]


class Claims(SphinxDirective):
    """The whole table, preceded by the number of claims per verdict."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir).parent
        for path in [root / "claims.yml", *sorted((root / "results").glob("*"))]:
            self.env.note_dependency(str(path))
        claims = read_ledger(root / "claims.yml")
        for claim in claims:
            verdict = judge(claim).verdict
            if verdict != claim.verdict:
                LOG.warning(
                    "claim %s: ledger says %s, check says %s", claim.id, claim.verdict, verdict
                )
        text = f"{summary(claims)}\n\n{markdown_table(claims)}"
        container = nodes.container(classes=["claims"])
        self.state.nested_parse(StringList(text.splitlines(), "claims.yml"), 0, container)
        return [container]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("claims", Claims)
    app.add_directive("claims-summary", Summary)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
