"""The ledger's plain text for a page of the book: formulas as TeX, evidence by its name.

``claims.yml`` is written for the terminal (R², Σα = 1). ``typeset`` sets the formulas between
dollars; ``evidence_titles`` reads from the sources of the book what each figure and each section
shows, so that a link can carry that name.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

FORMULAS = {
    "(p/υ^p)(B² + 3B_κ² + R²)^(p−1)": r"\frac{p}{\upsilon^p}(B^2 + 3B_\kappa^2 + R^2)^{p-1}",
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
    "p/υ": r"p/\upsilon",
    "½": r"\tfrac12",
    "c₁": "c_1",
    "c₂": "c_2",
    "n c": r"n\,c",
    "R²": "R^2",
    "γ": r"\gamma",
    "ν": r"\nu",
    "υ": r"\upsilon",
    "Δ": r"\Delta",
    "δ": r"\delta",
}
"""Plain text and TeX; at one place the longest wins."""
PLAIN_LEFT = re.compile(r"[\^_√Σ½²₁₂κγζαυΔ]")
"""What must not be left outside a formula."""


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
