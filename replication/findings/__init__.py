"""Named findings: each is the stored table it reads, its numbers, its figure and its verdict.

    @finding("common_range")
    def lead(rows): ...

``lead()`` reads ``results/common_range.csv``; ``lead(table)`` takes the rows of another run. Both
give a :class:`Finding`. Claims, chapters and page one quote the same object: ``{{ lead.left }}`` is
``lead().facts["left"]``, filled by :func:`replication.wording.fill`. In a chapter ``quote(lead)``
makes the facts of its own run those that its text says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pandas as pd

from replication import results
from replication.figures import Draw

Facts = dict[str, Any]
"""What a text quotes, by name."""
UNDECIDABLE = "not decidable from what is published"
VERDICTS = ("holds", "holds partly", "not reproduced", "erratum", UNDECIDABLE)
FACTS_TYPE = "application/vnd.lpsvdd.facts+json"


@dataclass(frozen=True)
class Finding:
    """What was found.

    ``verdict`` is "" where the paper claims nothing; ``table`` is what the figure shows.
    """

    verdict: str
    facts: Facts
    table: pd.DataFrame | None = None
    draw: Draw | None = None
    name: str = field(default="", compare=False)


def graded(whole: bool, part: bool) -> str:
    """The verdict where all, some or nothing of a claim was found."""
    return "holds" if whole else "holds partly" if part else "not reproduced"


FINDINGS: dict[str, Callable[..., Finding]] = {}
_kept: dict[str, Finding] | None = None


def keep_findings() -> None:
    """Compute a finding of the stored tables once in this process.

    For a build of the book, whose pages, ledger and article quote the same findings. The tables
    and the code may not change meanwhile, so nothing is kept unless this is called.
    """
    global _kept
    _kept = {}


def read(name: str) -> pd.DataFrame:
    """A stored table, its contestants under the name ``method``."""
    return results.read(name).rename(columns={"contestant": "method"})


def finding(*tables: str) -> Callable[[Callable[..., Finding]], Callable[..., Finding]]:
    """Register a function under its own name; without rows it reads the tables named here."""

    def register(function: Callable[..., Finding]) -> Callable[..., Finding]:
        name = function.__name__
        if name in FINDINGS:
            raise ValueError(f"two findings are called {name!r}")

        @wraps(function)
        def find(*rows: pd.DataFrame, **arguments: Any) -> Finding:
            key = f"{name} {sorted(arguments.items())}"
            if _kept is not None and not rows and key in _kept:
                return _kept[key]
            found = function(*(rows or map(read, tables)), **arguments)
            found = Finding(**{**vars(found), "name": name})
            if _kept is not None and not rows:
                _kept[key] = found
            return found

        find.tables = tables  # type: ignore[attr-defined]
        FINDINGS[name] = find
        return find

    return register


def all_findings() -> dict[str, Callable[..., Finding]]:
    """Every finding by name; late, because their modules import the experiments."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return FINDINGS


class Stored(dict[str, Facts]):
    """Facts of every finding from the stored tables, each computed when it is first quoted."""

    def __missing__(self, name: str) -> Facts:
        self[name] = all_findings()[name]().facts
        return self[name]


def quote(*findings: Finding, **own: Facts) -> None:
    """In a chapter: what its text quotes, facts of findings and own numbers by a name."""
    from IPython.display import display

    facts = {one.name: plain(one.facts) for one in findings}
    facts |= {name: plain(values) for name, values in own.items()}
    lines = [f"{n}.{fact} = {v}" for n, values in facts.items() for fact, v in values.items()]
    display({FACTS_TYPE: facts, "text/plain": "\n".join(lines)}, raw=True)


def plain(facts: Facts) -> Facts:
    """Facts as JSON knows them; what could not be computed (NaN) is None."""
    values = {n: v.item() if isinstance(v, np.generic) else v for n, v in facts.items()}
    return {n: None if isinstance(v, float) and np.isnan(v) else v for n, v in values.items()}
