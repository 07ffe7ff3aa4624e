"""The claims ledger: every checkable claim of the paper, with a verdict that a program recomputes.

``claims.yml`` lists the claims; each names a finding of :mod:`replication.findings`, quotes its
facts and repeats its verdict. ``python -m replication claims --check`` fails when a verdict no
longer follows.
"""

from __future__ import annotations

from replication.claims.ledger import (
    Claim,
    LedgerError,
    judge,
    markdown_cards,
    read_ledger,
    says,
)

__all__ = ["Claim", "LedgerError", "judge", "markdown_cards", "read_ledger", "says"]
