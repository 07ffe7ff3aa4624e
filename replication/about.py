"""Who and what is cited: ``replication/about.yml``, and the citation in two formats to copy."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import lpsvdd

ROOT = Path(__file__).resolve().parents[1]


@cache
def about() -> dict[str, Any]:
    """The content of ``replication/about.yml``."""
    return yaml.safe_load((ROOT / "replication" / "about.yml").read_text(encoding="utf-8"))


def full_name(author: dict[str, str]) -> str:
    """Given name first; a group has one name."""
    return author.get("name") or f"{author['given-names']} {author['family-names']}"


def doi_url(doi: str | None) -> str:
    """The address of a DOI, empty without one."""
    return f"https://doi.org/{doi}" if doi else ""


def address(entry: dict[str, Any]) -> str:
    """Where to find the deposit: its DOI, else the repository, else nothing."""
    return doi_url(entry["doi"]) or entry["repository"] or ""


def bibtex(entry: dict[str, Any] | None = None) -> str:
    """The article with its code as an entry of BibTeX."""
    entry = entry or about()
    authors = [
        f"{{{a['name']}}}" if "name" in a else f"{a['family-names']}, {a['given-names']}"
        for a in entry["authors"]
    ]
    fields = {
        "author": " and ".join(authors),
        "title": re.sub(r"\[Re\]", "{[Re]}", entry["title"]).replace("ℓp", "{$\\ell_p$}"),
        "year": entry["year"],
        "note": f"Replication report with code and data, version {lpsvdd.__version__}",
        "doi": entry["doi"],
        "url": address(entry),
    }
    lines = [f"  {name:<6} = {{{value}}}" for name, value in fields.items() if value]
    return f"@misc{{lpsvdd{entry['year']},\n" + ",\n".join(lines) + "\n}"


def sentence(entry: dict[str, Any] | None = None) -> str:
    """The same as one line of a list of references."""
    entry = entry or about()
    authors = ", ".join(full_name(author) for author in entry["authors"])
    where = f" {address(entry)}" if address(entry) else ""
    return (
        f"{authors} ({entry['year']}). {entry['title']}. "
        f"Replication report with code and data, version {lpsvdd.__version__}.{where}"
    )
