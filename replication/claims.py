"""The claims ledger: every checkable claim of the paper, with a verdict that a program recomputes.

``claims.yml`` here lists the claims; each names a finding of :mod:`replication.findings`, quotes
its facts and repeats its verdict. ``python -m replication claims --check`` fails when a verdict no
longer follows. A claim without a finding rests on a frozen table (``results/frozen``): its numbers
are typed, and only the table's checksum is verified. The ledger is written for the terminal (R²,
Σα = 1); for a page of the book ``typeset`` sets the formulas between dollars, and
``evidence_titles`` reads from the sources what each figure and each section shows, so that a link
can carry that name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from replication.findings import VERDICTS, Finding, all_findings
from replication.results import read, results_folder
from replication.wording import fill

THEMES = (
    "What p does",
    "The rerun without labelled outliers",
    "The rerun with labelled outliers",
    "The formulation",
    "The bound",
    "Solving and extensions",
    "The figure",
    "The data and the printed rows",
    "Print against print",
)
"""What matters first."""
FIRST = "The ten that matter"
FROZEN = "results/frozen/README.md#"
"""Start of the evidence of a claim whose study has no code any more; its table's name follows."""
PRINT = THEMES[-1]
"""Checks of the paper against its own pages, and slips of a word: a table of their own."""


class LedgerError(ValueError):
    """The ledger is malformed, or names a check that does not exist."""


@dataclass(frozen=True)
class Claim:
    """One entry of ``claims.yml``.

    ``says`` quotes facts of the finding, as in "lost on {{ losses }}"; ``evidence`` is a page of
    the book, relative to its root, and after "#" the label of a figure or section of it. A
    ``weight`` of 3 carries the paper's argument, one of 2 supports it, one of 1 is a detail.
    """

    id: str
    theme: str
    claim: str
    location: str
    verdict: str
    says: str
    evidence: str
    finding: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    weight: int = 1


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
        if claim.weight not in (1, 2, 3):
            raise LedgerError(f"{claim.id}: weight {claim.weight!r} is none of 1, 2, 3")
        frozen = not claim.finding and claim.evidence.startswith(FROZEN)
        if claim.finding not in known and not frozen:
            raise LedgerError(f"{claim.id}: there is no finding {claim.finding!r}")
        claims.append(claim)
    if len({claim.id for claim in claims}) < len(claims):
        raise LedgerError(f"{path.name}: two claims share an id")
    return claims


def judge(claim: Claim) -> Finding:
    """Compute the finding behind a claim again; for a frozen one verify its table."""
    if not claim.finding:
        read(results_folder() / "frozen" / f"{claim.evidence.removeprefix(FROZEN)}.csv")
        return Finding(claim.verdict, {})
    found = all_findings()[claim.finding](**claim.arguments)
    if found.verdict not in VERDICTS:
        raise LedgerError(f"{claim.finding} answered {found.verdict!r}")
    return found


def says(claim: Claim, found: Finding) -> str:
    """What was found, with the facts in place."""
    return fill(claim.says, found.facts)


def link(claim: Claim, root: Path) -> str:
    """Return a MyST link to the very figure, section or frozen table, named after it."""
    if claim.evidence.startswith(FROZEN):
        name = claim.evidence.removeprefix(FROZEN)
        return f"{{download}}`frozen table {name} <../results/frozen/{name}.csv>`"
    label = claim.evidence.partition("#")[2]
    title = evidence_titles(root).get(label)
    if title is None:
        raise LedgerError(f"{claim.id}: {claim.evidence} names no figure and no section")
    number = f"{{numref}}`{label}`: " if label.startswith("fig-") else ""
    return f"{number}{{ref}}`{title} <{label}>`"


def of_substance(claims: Iterable[Claim]) -> list[Claim]:
    """The claims that are more than a check of print against print."""
    return [claim for claim in claims if claim.theme != PRINT]


def markdown_table(claims: Iterable[Claim], root: Path) -> str:
    """Checks of print against print: one line a claim."""
    lines = ["| claim | where | verdict | found |", "|---|---|---|---|"]
    for claim in claims:
        found = judge(claim)
        mismatch = "" if found.verdict == claim.verdict else f" (ledger: {claim.verdict})"
        text = f"{typeset(says(claim, found))} {link(claim, root)}".replace("|", "\\|")
        where = f"{claim.location} | {found.verdict}{mismatch}"
        lines.append(f"| {typeset(claim.claim)} | {where} | {text} |")
    return "\n".join(lines)


def markdown_cards(claims: Iterable[Claim], root: Path) -> str:
    """The ledger in MyST: what matters, then the themes; a box a claim, print as a table."""
    blocks: list[str] = []
    claims = sorted(claims, key=lambda claim: -claim.weight)
    groups = {FIRST: [claim for claim in claims if claim.weight == 3]}
    for theme in THEMES:
        groups[theme] = [claim for claim in claims if claim.theme == theme and claim.weight < 3]
    for theme, group in groups.items():
        if not group:
            continue
        if theme == PRINT:
            blocks.append(f"**{theme}**\n\n{markdown_table(group, root)}\n")
            continue
        lines = ["::::{div} theme", "", f"**{theme}**", ""]
        for claim in group:
            found = judge(claim)
            css = "verdict-" + found.verdict.replace(" ", "-")
            mismatch = "" if found.verdict == claim.verdict else f" (ledger: {claim.verdict})"
            lines += [
                f":::{{div}} claim {css}",
                f"[{found.verdict}]{{.verdict .{css}}}{mismatch} {typeset(claim.claim)} "
                f"*{claim.location}; weight {claim.weight}*",
                "",
                f"{typeset(says(claim, found))} {link(claim, root)}",
                ":::",
                "",
            ]
        blocks.append("\n".join([*lines, "::::", ""]))
    return "\n".join(blocks)


# -- for a page of the book -----------------------------------------------------------------------

FORMULAS = {
    "(p/η^p)(B² + 3B_κ² + R²)^(p−1)": r"\frac{p}{\eta^p}(B^2 + 3B_\kappa^2 + R^2)^{p-1}",
    "3√(ln(2/Δ)/2n)": r"3\sqrt{\ln(2/\Delta)/2n}",
    "(2B/n)√tr K": r"\tfrac{2B}{n}\sqrt{\operatorname{tr} K}",
    "B² + 3B_κ² + R²": r"B^2 + 3B_\kappa^2 + R^2",
    "B² + 3B_κ + R²": r"B^2 + 3B_\kappa + R^2",
    "B² + 3B_κ²": r"B^2 + 3B_\kappa^2",
    "B = B_κ = R = 1": r"B = B_\kappa = R = 1",
    "B = B_κ = 2": r"B = B_\kappa = 2",
    "B_κ": r"B_\kappa",
    "2^(q−1)": "2^{q-1}",
    "2^(−q)": "2^{-q}",
    "R(1 − Σα) = 0": r"R(1 - \sum\alpha) = 0",
    "Σα = 1": r"\sum\alpha = 1",
    "Σα": r"\sum\alpha",
    "Σζ^p": r"\sum\zeta^p",
    "γ = c − α": r"\gamma = c - \alpha",
    "max ζ": r"\max\zeta",
    "ζ ≤ 1": r"\zeta \le 1",
    "tanh(x'z − 1)": r"\tanh(x^\top z - 1)",
    "1 − Δ": r"1 - \Delta",
    "p/η": r"p/\eta",
    "y(f − R²) > η": r"y(f - R^2) > \eta",
    "y(f − R²) > 0": "y(f - R^2) > 0",
    "p/(p − 1)": "p/(p-1)",
    "α'Kα": r"\alpha^\top K\alpha",
    "½": r"\tfrac12",
    "c₁": "c_1",
    "c₂": "c_2",
    "n c": r"n\,c",
    "R²": "R^2",
    "γ": r"\gamma",
    "ν": r"\nu",
    "η": r"\eta",
    "Δ": r"\Delta",
    "δ": r"\delta",
}
"""Plain text and TeX; at one place the longest wins."""


def _whole(text: str) -> str:
    """Pattern of a formula that is no part of a word: not the "n c" of "description covers"."""
    before = r"(?<![A-Za-z])" if text[0].isascii() and text[0].isalpha() else ""
    after = r"(?![A-Za-z])" if text[-1].isascii() and text[-1].isalpha() else ""
    return before + re.escape(text) + after


_KNOWN = "|".join(_whole(text) for text in sorted(FORMULAS, key=len, reverse=True))
_RELATION = r"(?:\s?[=<>≥≤]\s?[−-]?\d[\d./,]*(?:e[+−-]?\d+)?(?<![.,]))"
_FORMULA = re.compile(
    rf"(?:(?P<known>{_KNOWN})|(?<![\w$])(?P<letter>[pcnfBR])(?=\s[=<>≥≤]\s?[−-]?\d))"
    rf"(?P<rest>{_RELATION})?|(?P<number>(?<![\w.])[−-]?\d+(?:\.\d+)?e[+−-]?\d+)"
)
_SIGNS = {"≥": r"\ge", "≤": r"\le", "−": "-"}


def typeset(text: str) -> str:
    """The text with its formulas between dollars, and true minus signs elsewhere."""

    def tex(match: re.Match[str]) -> str:
        head = FORMULAS[match["known"]] if match["known"] else match["letter"] or ""
        rest = match["rest"] or match["number"] or ""
        for sign, command in _SIGNS.items():
            rest = rest.replace(sign, command)
        rest = re.sub(r"(\d)e([+-]?)0*(\d+)", r"\1 \\cdot 10^{\2\3}", rest).replace("^{+", "^{")
        return f"${head}{rest}$"

    pieces = re.split(r"(\$[^$]*\$)", _FORMULA.sub(tex, text))
    pieces[::2] = [re.sub(r"(?<![\w–-])-(?=\d)", "−", piece) for piece in pieces[::2]]
    return "".join(pieces)


@cache
def evidence_titles(root: Path) -> dict[str, str]:
    """What each label of the book's sources shows: a section's heading, a caption's first words."""
    titles: dict[str, str] = {}
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            figure = cell["metadata"].get("mystnb", {}).get("figure", {})
            if "name" in figure:
                titles[figure["name"]] = re.split(r"[.:] ", figure["caption"])[0].rstrip(".")
            if cell["cell_type"] == "markdown":
                titles |= _sections("".join(cell["source"]))
    for path in sorted((root / "book").glob("*.md")):
        titles |= _sections(path.read_text(encoding="utf-8"))
    return titles


def _sections(text: str) -> dict[str, str]:
    found = re.findall(r"^\(([\w-]+)\)=\n(?:#+ (.+)|\*\*(.+?)\.?\*\*)", text, flags=re.M)
    return {label: heading or bold for label, heading, bold in found}
