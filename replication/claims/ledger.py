"""Claims, their verdicts, and the registry of checks that recompute the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from replication.claims.typeset import evidence_titles, typeset
from replication.results import stored_table

UNDECIDABLE = "not decidable from what is published"
UNMEASURED = "not measured here"
VERDICTS = ("holds", "holds partly", "not reproduced", "erratum", UNDECIDABLE, UNMEASURED)
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
MODULES = (
    "mathematics",
    "bound",
    "figure",
    "consistency",
    "reproduction",
    "exponent",
    "studies",
    "extensions",
)


class LedgerError(Exception):
    """The ledger is malformed, or names a check that does not exist."""


@dataclass(frozen=True)
class Outcome:
    """What a check found: a verdict and the facts that a finding may quote."""

    verdict: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """One entry of ``claims.yml``.

    ``finding`` may quote facts of the check in braces, as in "lost on {losses}"; ``evidence`` is a
    page of the book, relative to its root, and after "#" the label of a figure or section of it.
    """

    id: str
    theme: str
    claim: str
    location: str
    verdict: str
    finding: str
    evidence: str
    check: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


CHECKS: dict[str, Callable[..., Outcome]] = {}


def check(function: Callable[..., Outcome]) -> Callable[..., Outcome]:
    """Register a check under its own name."""
    CHECKS[function.__name__] = function
    return function


def load_checks() -> dict[str, Callable[..., Outcome]]:
    """Import all modules with checks; late, because they import the experiments."""
    for name in MODULES:
        import_module(f"replication.claims.{name}")
    return CHECKS


def read_ledger(path: Path) -> list[Claim]:
    """Read and validate ``claims.yml``."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(entries, list):
        raise LedgerError(f"{path.name} must hold a list of claims")
    known = load_checks()
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
        if claim.check not in known:
            raise LedgerError(f"{claim.id}: there is no check {claim.check!r}")
        claims.append(claim)
    if len({claim.id for claim in claims}) < len(claims):
        raise LedgerError(f"{path.name}: two claims share an id")
    return claims


def stored(name: str) -> pd.DataFrame:
    """A committed table, its contestants under the name ``method``."""
    return stored_table(name).rename(columns={"contestant": "method"})


def judge(claim: Claim) -> Outcome:
    """Recompute a claim's verdict and fill its finding with the facts."""
    outcome = load_checks()[claim.check](**claim.arguments)
    if outcome.verdict not in VERDICTS:
        raise LedgerError(f"{claim.check} answered {outcome.verdict!r}")
    return outcome


def finding(claim: Claim, outcome: Outcome) -> str:
    """The claim's finding with the recomputed facts in place."""
    return claim.finding.format(**outcome.facts)


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
            outcome = judge(claim)
            css = "verdict-" + outcome.verdict.replace(" ", "-")
            mismatch = "" if outcome.verdict == claim.verdict else f" (ledger: {claim.verdict})"
            lines += [
                f":::{{div}} claim {css}",
                f"[{outcome.verdict}]{{.verdict .{css}}}{mismatch} {typeset(claim.claim)} "
                f"*{claim.location}*",
                "",
                f"{typeset(finding(claim, outcome))} {link(claim, root)}",
                ":::",
                "",
            ]
        blocks.append("\n".join([*lines, "::::", ""]))
    return "\n".join(blocks)
