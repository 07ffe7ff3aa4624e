"""The claims of ``claims.yml``: each names a finding, quotes its facts and repeats its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from replication.claims.typeset import evidence_titles, typeset
from replication.findings import VERDICTS, Finding, all_findings
from replication.wording import fill

THEMES = (
    "The formulation",
    "The bound",
    "The figure",
    "The printed tables",
    "The rerun without labelled outliers",
    "The rerun with labelled outliers",
    "What p does",
    "Solving and extensions",
)


class LedgerError(Exception):
    """The ledger is malformed, or names a check that does not exist."""


@dataclass(frozen=True)
class Claim:
    """One entry of ``claims.yml``.

    ``says`` quotes facts of the finding, as in "lost on {{ losses }}"; ``evidence`` is a page of
    the book, relative to its root, and after "#" the label of a figure or section of it.
    """

    id: str
    theme: str
    claim: str
    location: str
    verdict: str
    says: str
    evidence: str
    finding: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


def read_ledger(path: Path) -> list[Claim]:
    """Read and validate ``claims.yml``."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(entries, list):
        raise LedgerError(f"{path.name} must hold a list of claims")
    known = all_findings()
    claims: list[Claim] = []
    for number, entry in enumerate(entries, start=1):
        try:
            claim = Claim(**entry)
        except TypeError as error:
            raise LedgerError(f"{path.name}, entry {number}: {error}") from None
        if claim.verdict not in VERDICTS:
            allowed = ", ".join(VERDICTS)
            raise LedgerError(f"{claim.id}: verdict {claim.verdict!r} is none of {allowed}")
        if claim.theme not in THEMES:
            raise LedgerError(f"{claim.id}: theme {claim.theme!r} is none of {', '.join(THEMES)}")
        if claim.finding not in known:
            raise LedgerError(f"{claim.id}: there is no finding {claim.finding!r}")
        claims.append(claim)
    if len({claim.id for claim in claims}) < len(claims):
        raise LedgerError(f"{path.name}: two claims share an id")
    return claims


def judge(claim: Claim) -> Finding:
    """The finding behind a claim, computed again."""
    found = all_findings()[claim.finding](**claim.arguments)
    if found.verdict not in VERDICTS:
        raise LedgerError(f"{claim.finding} answered {found.verdict!r}")
    return found


def says(claim: Claim, found: Finding) -> str:
    """What was found, with the facts in place."""
    return fill(claim.says, found.facts)


def by_theme(claims: Iterable[Claim]) -> dict[str, list[Claim]]:
    """The claims grouped, in the order of the themes."""
    groups: dict[str, list[Claim]] = {theme: [] for theme in THEMES}
    for claim in claims:
        groups[claim.theme].append(claim)
    return {theme: group for theme, group in groups.items() if group}


def link(claim: Claim, root: Path) -> str:
    """MyST link to the very figure or section, named after what it shows."""
    label = claim.evidence.partition("#")[2]
    title = evidence_titles(root).get(label)
    if title is None:
        raise LedgerError(f"{claim.id}: {claim.evidence} names no figure and no section")
    number = f"{{numref}}`{label}`: " if label.startswith("fig-") else ""
    return f"{number}{{ref}}`{title} <{label}>`"


def markdown_cards(claims: Iterable[Claim], root: Path) -> str:
    """The ledger in MyST: a heading for each theme, a box for each claim."""
    blocks = []
    for theme, group in by_theme(claims).items():
        lines = ["::::{div} theme", "", f"**{theme}**", ""]
        for claim in group:
            found = judge(claim)
            css = "verdict-" + found.verdict.replace(" ", "-")
            mismatch = "" if found.verdict == claim.verdict else f" (ledger: {claim.verdict})"
            lines += [
                f":::{{div}} claim {css}",
                f"[{found.verdict}]{{.verdict .{css}}}{mismatch} {typeset(claim.claim)} "
                f"*{claim.location}*",
                "",
                f"{typeset(says(claim, found))} {link(claim, root)}",
                ":::",
                "",
            ]
        blocks.append("\n".join([*lines, "::::", ""]))
    return "\n".join(blocks)
