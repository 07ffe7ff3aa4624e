"""Directive ``{claims}``: the claims ledger as a table, every verdict recomputed while building.

    ```{claims}
    ```

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

from lpsvdd.claims import VERDICTS, judge, markdown_table, read_ledger

LOG = logging.getLogger(__name__)


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
        counts = Counter(claim.verdict for claim in claims)
        summary = ", ".join(
            f"{verdict} {counts[verdict]}" for verdict in VERDICTS if counts[verdict]
        )
        text = f"{len(claims)} claims: {summary}.\n\n{markdown_table(claims)}"
        container = nodes.container(classes=["claims"])
        self.state.nested_parse(StringList(text.splitlines(), "claims.yml"), 0, container)
        return [container]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("claims", Claims)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
