"""The claims of the paper, each with a verdict that a program recomputes.

``claims.yml`` beside this file has four sections: the ten claims that carry the argument, the
others by theme, what the text says of the printed tables, and errata. An entry names a function of
:mod:`replication.findings` and a rule that its numbers must satisfy for the verdict to follow;
:func:`failures` evaluates all of them. An entry that rests on a frozen table has typed numbers and
the checksum of that table; one with neither is proved on the page that it names.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from replication.findings import Numbers, read
from replication.results import results_folder
from replication.tables import method_label
from replication.wording import listed, minus

VERDICTS = (
    "holds", "holds with a condition", "weaker than printed", "not reproduced", "inconclusive",
    "not decidable",
)  # fmt: skip
LEDGER = Path(__file__).with_name("claims.yml")
CALL = re.compile(r"(?P<module>\w+)\.(?P<name>\w+)\((?P<arguments>.*)\)")
ALLOWED = {"abs": abs, "all": all, "any": any, "max": max, "min": min}  # in a rule
Altered = Mapping[str, pd.DataFrame]


class LedgerError(ValueError):
    """``claims.yml`` is malformed, or names what does not exist."""


@dataclass(frozen=True)
class Entry:
    """One entry of ``claims.yml``; the fields are explained at its head."""

    id: str
    section: str
    claim: str
    where: str
    says: str
    verdict: str = ""
    number: str = ""
    rule: str = ""
    see: str = ""
    frozen: str = ""
    checksum: str = ""
    agrees: str = ""
    correct: str = ""
    theme: str = ""


@cache
def read_ledger(path: Path = LEDGER) -> tuple[Entry, ...]:
    """Read and validate ``claims.yml``."""
    sections = yaml.safe_load(path.read_text(encoding="utf-8"))
    themes = sections.pop("others")
    raw = [("argument", row) for row in sections.pop("argument")]
    raw += [("others", row | {"theme": theme}) for theme, rows in themes.items() for row in rows]
    raw += [(section, row) for section, rows in sections.items() for row in rows]
    entries = []
    for section, row in raw:
        try:
            entry = Entry(section=section, **row)
        except TypeError as error:
            name = row.get("id", "an entry without id")
            raise LedgerError(f"{path.name}, {name}: {error}") from None
        if section in ("argument", "others") and entry.verdict not in VERDICTS:
            raise LedgerError(f"{entry.id}: {entry.verdict!r} is none of {', '.join(VERDICTS)}")
        if bool(entry.number) != bool(entry.rule):
            raise LedgerError(f"{entry.id}: a number needs a rule, and a rule a number")
        if not (entry.number or entry.checksum or entry.see):
            raise LedgerError(f"{entry.id}: give number and rule, a frozen table, or what to see")
        entries.append(entry)
    if len({entry.id for entry in entries}) < len(entries):
        raise LedgerError(f"{path.name}: two entries share an id")
    return tuple(entries)


def of_section(section: str) -> list[Entry]:
    """The entries of "argument", "others", "against_itself" or "errata"."""
    return [entry for entry in read_ledger() if entry.section == section]


# -- recomputed -----------------------------------------------------------------------------------


def call_finding(number: str, rows: Altered) -> Numbers:
    """Call the finding that an entry names, with these rows where its tables are among them."""
    parts = CALL.fullmatch(number)
    if parts is None:
        raise LedgerError(f"{number!r} is not of the form module.function(table, key=value)")
    try:
        function = getattr(import_module(f"replication.findings.{parts['module']}"), parts["name"])
    except (ImportError, AttributeError):
        raise LedgerError(f"there is no finding {parts['module']}.{parts['name']}") from None
    words = [word.split("=") for word in filter(None, parts["arguments"].split(", "))]
    tables = [rows[name] if name in rows else read(name) for name, *value in words if not value]
    return function(*tables, **{name: yaml.safe_load(value[0]) for name, *value in words if value})


@cache
def _stored(number: str, folder: Path) -> Numbers:
    return call_finding(number, {})


def numbers(entry: Entry, rows: Altered | None = None) -> Numbers:
    """Compute the numbers of an entry from the stored tables, some of them replaced by rows."""
    if not entry.number:
        return {}
    altered = any(name in entry.number for name in rows or ())
    return call_finding(entry.number, rows) if altered else _stored(entry.number, results_folder())


def follows(entry: Entry, rows: Altered | None = None) -> bool:
    """Say whether the verdict follows from the numbers, or the frozen table is unaltered."""
    if entry.frozen:
        table = results_folder() / "frozen" / f"{entry.frozen}.csv"
        return hashlib.sha256(table.read_bytes()).hexdigest().startswith(entry.checksum)
    if not entry.rule:
        return True
    try:
        return bool(eval(entry.rule, {"__builtins__": ALLOWED} | numbers(entry, rows)))
    except (NameError, KeyError, AttributeError, SyntaxError) as error:
        message = f"{entry.id}: the rule {entry.rule!r} cannot be evaluated: {error}"
        raise LedgerError(message) from None


class ByMethod(dict):
    """Numbers by method; as a whole "P-SVDD by −2.5 [−4.5, −0.5] and …"."""

    def __format__(self, form: str) -> str:
        return listed([f"{method_label(name)} by {value}" for name, value in self.items()])


def in_words(value: Any) -> Any:
    """Names as a list in a sentence, numbers as they are."""
    if isinstance(value, dict):
        return ByMethod((name, in_words(one)) for name, one in value.items())
    return listed(value) if isinstance(value, list) else value


def says(entry: Entry, rows: Altered | None = None) -> str:
    """Fill what was found with its numbers: true minus signs, names joined."""
    found = {name: in_words(value) for name, value in numbers(entry, rows).items()}
    try:
        return minus(entry.says.format(**found))
    except (KeyError, ValueError, AttributeError) as error:
        raise LedgerError(f"{entry.id}: {entry.says!r} cannot be filled: {error!r}") from None


def failures(entries: Iterable[Entry] | None = None, rows: Altered | None = None) -> list[str]:
    """List the entries whose verdict no longer follows; empty is good."""
    chosen = read_ledger() if entries is None else entries
    return [
        f"{one.id}: {one.verdict or 'what it states'!r} no longer follows"
        + (f" from {one.rule}; {says(one, rows)}" if one.rule else f": {one.frozen}.csv is altered")
        for one in chosen
        if not follows(one, rows)
    ]


# -- shown ----------------------------------------------------------------------------------------


def counts() -> dict[str, int]:
    """Count the claims by verdict, the ten and the others."""
    found = Counter(entry.verdict for entry in of_section("argument") + of_section("others"))
    return {verdict: found[verdict] for verdict in VERDICTS}


def errata() -> pd.DataFrame:
    """Tabulate where, what is printed, what is correct and why; one line an erratum."""
    lines = {
        one.id: {"where": one.where, "printed": one.claim, "correct": one.correct, "why": says(one)}
        for one in of_section("errata")
    }
    return pd.DataFrame(lines).T


def verdict_badge(verdict: str, text: str = "") -> str:
    """Return a verdict as a coloured word in MyST."""
    return f"[{text or verdict}]{{.verdict .verdict-{verdict.replace(' ', '-')}}}"


def bar() -> str:
    """Return one line in MyST that says how many claims have which verdict."""
    found = counts()
    words = " ".join(verdict_badge(verdict, f"{n} {verdict}") for verdict, n in found.items() if n)
    return f"{sum(found.values())} {{doc}}`claims <claims>`: {words}"


def evidence_link(entry: Entry) -> str:
    """Return a MyST link to the figure, the section or the frozen table behind an entry."""
    if entry.frozen:
        return f"{{download}}`{entry.frozen}.csv <../results/frozen/{entry.frozen}.csv>`"
    label = entry.see.partition("#")[2]
    if label.startswith("fig-"):
        return f"{{numref}}`{label}`"
    return f"{{ref}}`section <{label}>`" if label else ""


def markdown_table(columns: list[str], lines: Iterable[list[str]]) -> str:
    """Return a Markdown table."""
    rows = [columns, ["---"] * len(columns), *lines]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows
    )


def page() -> str:
    """Return the page of claims in MyST: the ten in full, the others and the errata as tables."""
    blocks = [bar()]
    for one in of_section("argument"):
        css = "verdict-" + one.verdict.replace(" ", "-")
        head = f"{verdict_badge(one.verdict)} {one.claim} *{one.where}*"
        blocks.append(f":::{{div}} claim {css}\n{head}\n\n{says(one)} {evidence_link(one)}\n:::")
    for theme in dict.fromkeys(one.theme for one in of_section("others")):
        part = [one for one in of_section("others") if one.theme == theme]
        lines = [
            [one.claim, one.where, verdict_badge(one.verdict), f"{says(one)} {evidence_link(one)}"]
            for one in part
        ]
        table = markdown_table(["claim", "where", "verdict", "found"], lines)
        title = f"{theme} ({len(part)} claims)"
        blocks.append(f":::{{admonition}} {title}\n:class: dropdown\n\n{table}\n:::")
    lines = [[one.claim, one.where, one.agrees, says(one)] for one in of_section("against_itself")]
    columns = ["the text says", "where", "the printed means agree", "recomputed"]
    blocks.append(f"**The paper against its own tables**\n\n{markdown_table(columns, lines)}")
    blocks.append(f"**Errata.** {{doc}}`{len(errata())} slips <errata>` have a page of their own.")
    return "\n\n".join(blocks) + "\n"


def errata_page() -> str:
    """Return the table of errata in Markdown."""
    return markdown_table(list(errata()), errata().to_numpy().tolist())
