"""The claims ledger: every checkable claim of the paper, with a verdict that a program recomputes.

``claims.yml`` lists the claims; each names a check in this package. A check looks at the results,
the printed tables or the mathematics and answers with a verdict and the facts behind it.
``python -m replication claims --check`` fails when a stored verdict no longer follows.
"""

from __future__ import annotations

from replication.claims.ledger import (
    CHECKS,
    VERDICTS,
    Claim,
    LedgerError,
    Outcome,
    judge,
    markdown_cards,
    read_ledger,
)

__all__ = [
    "CHECKS",
    "VERDICTS",
    "Claim",
    "LedgerError",
    "Outcome",
    "judge",
    "markdown_cards",
    "read_ledger",
]
