"""How to cite this work: not found but quoted like a finding, so that pages agree."""

from __future__ import annotations

from replication.about import bibtex, sentence
from replication.findings import Finding, finding


@finding()
def citation() -> Finding:
    """The citation in two formats, from ``replication/about.yml``."""
    return Finding("", {"bibtex": bibtex(), "sentence": sentence()})
