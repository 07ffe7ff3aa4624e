"""The article: ``article.typ`` filled with findings, made a PDF by typst without network.

``{{ lead.left }}`` is a fact, as on every page of the book. Further quotes: ``about`` (who and
what), ``claims`` (how many have which verdict), ``claim_ID`` (the facts behind one claim),
``errata`` (rows of a table), ``paper`` (what it fixes), ``collections`` (tables of others),
``source`` (commit and Software Heritage identifiers).
``image("lead.svg")`` is the figure of a finding, ``image("lead-narrow.svg")`` its narrow form.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from lpsvdd.plots import use_style
from replication import paper, table_sets
from replication.about import ROOT, about, full_name
from replication.claims import Claim, judge, of_substance, read_ledger, says
from replication.datasets import RECORDS
from replication.figures import svg
from replication.findings import VERDICTS, Stored, all_findings
from replication.printed import printed_matrix
from replication.source import Source, source
from replication.statistics import cluster_count
from replication.wording import fill, signed

FOLDER = Path(__file__).parent
FIGURE = re.compile(r'image\("(?P<name>\w+)(?P<narrow>-narrow)?\.svg"')
SPECIAL = re.compile(r"([\\#$*_@<>~\[\]`])")


def escaped(value: Any) -> Any:
    """Text of a fact as typst prints it, letter by letter; numbers as they are."""
    if isinstance(value, str):
        return SPECIAL.sub(r"\\\1", value)
    if isinstance(value, (list, tuple)):
        return [escaped(one) for one in value]
    return {k: escaped(v) for k, v in value.items()} if isinstance(value, dict) else value


class Quoted(Stored):
    """The facts of all findings and claims, each computed when it is first quoted."""

    def __missing__(self, name: str) -> dict[str, Any]:
        if name.startswith("claim_"):
            (claim,) = (c for c in self.ledger if "claim_" + c.id.replace("-", "_") == name)
            found = judge(claim)
            self[name] = escaped(found.facts | {"verdict": found.verdict})
        else:
            self[name] = escaped(super().__missing__(name))
        return self[name]

    @property
    def ledger(self) -> list[Claim]:
        """The claims of the paper."""
        return read_ledger(ROOT / "replication" / "claims.yml")


def facts(code: Source | None = None) -> Quoted:
    """Everything that the article may quote."""
    quoted = Quoted()
    ledger, code = quoted.ledger, code or source()
    counts = Counter(claim.verdict for claim in of_substance(ledger))
    quoted["claims"] = {verdict.replace(" ", "_"): counts[verdict] for verdict in VERDICTS}
    total, everything = counts.total(), len(ledger)
    quoted["claims"] |= {"all": everything, "of_substance": total, "print": everything - total}
    rows = [errata_row(claim) for claim in ledger if claim.verdict == "erratum"]
    slips = len(rows) - counts["erratum"]
    quoted["errata"] = {"rows": "\n".join(rows), "count": len(rows), "print": slips}
    used = table_sets.records()["part"].isin(["design", "judged"])
    quoted["collections"] = {"open": len(used), "left_out": int((~used).sum())}
    table = printed_matrix("pure")
    quoted["paper"] = {
        "sets": len(paper.SIZES), "clusters": cluster_count(paper.SIZES), "splits": paper.TRIALS,
        "costs": len(paper.COSTS), "exponents": len(paper.EXPONENTS),
        "cells": len(paper.COSTS) * len(paper.EXPONENTS),
        "shipped": sum(record.kind != "user" for record in RECORDS),
        "over_l1": signed((table["lp-SVDD"] - table["l1-SVDD"]).mean()),
        "over_l2": signed((table["lp-SVDD"] - table["l2-SVDD"]).mean()),
    }  # fmt: skip
    quoted["source"] = escaped(code.facts())
    quoted["about"] = about_facts()
    quoted["about"]["abstract"] = fill(about()["abstract"], quoted)
    return quoted


def errata_row(claim: Claim) -> str:
    """One line of the table of errata: where, what is printed, what was found."""
    cells = claim.location, claim.claim, says(claim, judge(claim))
    row = " ".join(f"[{escaped(cell)}]," for cell in cells)
    return re.sub(r"\^\((.+?)\)", r"#super[\1]", row.replace("B\\_κ", "B#sub[κ]"))


def about_facts() -> dict[str, Any]:
    """Strings of ``about.yml`` that the head of the article shows."""
    entry = about()
    unknown = "to be assigned when it is deposited"
    preprint, journal = entry["replicated"]
    return {
        "preprint": preprint["where"],
        "journal": journal["where"],
        "title": entry["title"],
        "authors": ", ".join(f'"{full_name(author)}"' for author in entry["authors"]),
        "keywords": ", ".join(f'"{word}"' for word in entry["keywords"]),
        "doi": entry["doi"] or unknown,
        "repository": entry["repository"] or "the deposit that holds this file",
    }


def filled(code: Source | None = None) -> str:
    """The text with every number in its place."""
    return fill((FOLDER / "article.typ").read_text(encoding="utf-8"), facts(code))


def draw_figures(text: str, folder: Path) -> list[str]:
    """Write the figures that the text names; their names."""
    use_style()
    wanted = dict.fromkeys((m["name"], bool(m["narrow"])) for m in FIGURE.finditer(text))
    for name, narrow in wanted:
        draw = all_findings()[name]().draw
        if draw is None:
            raise ValueError(f"the finding {name!r} has no figure")
        path = folder / f"{name}{'-narrow' if narrow else ''}.svg"
        path.write_bytes(svg(draw(narrow=narrow)))
    return [name for name, _ in wanted]


def typeset(path: Path, code: Source | None = None, **options: Any) -> Any:
    """Compile a typst file; fonts are those of the wheel, so every machine makes the same bytes."""
    import typst

    moment = (code or source()).time
    return typst.compile(
        path, root=path.parent, ignore_system_fonts=True, timestamp=moment, **options
    )


def build(folder: Path, code: Source | None = None) -> Path:
    """Make ``article.pdf`` in a folder, which afterwards holds all that it was made of."""
    folder.mkdir(parents=True, exist_ok=True)
    text = filled(code)
    (folder / "article.typ").write_text(text, encoding="utf-8")
    shutil.copy(FOLDER / "look.typ", folder)
    shutil.copy(ROOT / "book" / "references.bib", folder)
    draw_figures(text, folder)
    pdf = folder / "article.pdf"
    pdf.write_bytes(typeset(folder / "article.typ", code, format="pdf"))
    return pdf
