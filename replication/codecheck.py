"""``make codecheck``: make a part of the stored outputs again, compare, print a certificate.

Each check names a file of ``codecheck.yml``, what of it is computed anew, and how. Numbers are
compared row by row with the stored ones; the certificate says how many agree and to which digit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from replication.about import ROOT, about
from replication.article import escaped, typeset
from replication.claims import judge, read_ledger
from replication.experiment import REQUIRED_SHARE, TOLERANCE, experiment
from replication.findings import Finding
from replication.findings.bound import bound_sample_size
from replication.findings.same_range import lead
from replication.results import environment, read
from replication.source import source
from replication.studies import run_study

SETS = ["D1", "D7", "D17"]
QUIET: dict[str, Any] = {"recompute": True, "progress": False}


def table(setting: str, splits: int) -> pd.DataFrame:
    """Rows of one of the paper's tables, computed anew."""
    return experiment(setting, names=SETS, trials=splits, **QUIET)


def verdicts() -> pd.DataFrame:
    """Every claim with the verdict that follows from the stored tables."""
    ledger = read_ledger(ROOT / "claims.yml")
    return pd.DataFrame([{"claim": claim.id, "verdict": judge(claim).verdict} for claim in ledger])


@dataclass(frozen=True)
class Check:
    """One output: its file, what of it is made again, what makes it, and how it is compared.

    ``columns`` are compared within ``tolerance``, rows matched by ``keys``; ``finding`` and
    ``facts`` are what the rows are for, said with the stored and with the new rows.
    """

    file: str
    comment: str
    make: Callable[[], pd.DataFrame]
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    tolerance: float = TOLERANCE
    finding: Callable[..., Finding] | None = None
    facts: tuple[str, ...] = ()

    @property
    def stored(self) -> pd.DataFrame:
        """The output as it is in the repository."""
        if self.file == "claims.yml":
            ledger = read_ledger(ROOT / "claims.yml")
            return pd.DataFrame([{"claim": c.id, "verdict": c.verdict} for c in ledger])
        return read(Path(self.file).stem)


THREE = "three data sets (D1, D7, D17)"
CHECKS = (
    Check(
        "results/pure.csv", f"The paper's first table, {THREE}, first ten splits, all methods.",
        lambda: table("pure", 10), ("dataset", "method", "trial"), ("auc",),
    ),
    Check(
        "results/negatives.csv",
        f"The paper's second table, {THREE}, first ten splits, all methods.",
        lambda: table("negatives", 10), ("dataset", "method", "trial"), ("auc",),
    ),
    Check(
        "results/common_range.csv",
        f"The lead of lp on the paper's grid and over the same range, {THREE}, five splits.",
        lambda: run_study("common_range", names=SETS, trials=5, **QUIET),
        ("dataset", "trial", "contestant"), ("auc",), TOLERANCE, lead,
        ("lead_interval", "left_interval"),
    ),
    Check(
        "results/bound_samplesize.csv", "The error bound: samples from which it says something.",
        lambda: run_study("bound_samplesize", **QUIET),
        ("form", "setting", "p", "margin", "target"), ("n",), 0.5, bound_sample_size,
        ("below", "least"),
    ),
    Check(
        "results/kept_rate.csv", f"New targets rejected by the default surface, {THREE}.",
        lambda: run_study("kept_rate", names=SETS, trials=5, **QUIET),
        ("dataset", "trial", "nu", "surface"), ("rejected",), TOLERANCE,
    ),
    Check(
        "claims.yml", "The verdict on every claim, from all stored tables.", verdicts,
        ("claim",), ("verdict",),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What a check found: rows compared and agreeing, the largest difference, facts beside it."""

    check: Check
    rows: int
    agree: int
    exact: int
    largest: float
    seconds: float
    facts: dict[str, tuple[Any, Any]]

    @property
    def good(self) -> bool:
        """As in ``make reproduce``: nearly all rows; verdicts all of them."""
        share = 1.0 if self.check.file == "claims.yml" else REQUIRED_SHARE
        return self.rows > 0 and self.agree >= share * self.rows


def compared(check: Check, new: pd.DataFrame, seconds: float = 0.0) -> Outcome:
    """Match the new rows with the stored ones and compare their numbers."""
    keys = list(check.keys)
    # As a file holds it: a column that mixes numbers and words is words on both sides.
    new = pd.read_csv(StringIO(new.to_csv(index=False)))
    stored, new = check.stored.drop_duplicates(keys), new.drop_duplicates(keys)
    wanted = [*keys, *check.columns]
    both = new[wanted].merge(stored[wanted], on=keys, how="left", suffixes=("", "_stored"))
    good, same = np.ones((2, len(both)), dtype=bool)
    sizes = [0.0]
    for name in check.columns:
        first, second = both[name], both[f"{name}_stored"]
        if pd.api.types.is_numeric_dtype(first):
            off = (first - second).abs()
            good &= ((off <= check.tolerance) | (first.isna() & second.isna())).to_numpy()
            same &= ((off == 0) | (first.isna() & second.isna())).to_numpy()
            sizes += list(off.dropna())
        else:
            good &= (first == second).to_numpy()
    facts: dict[str, tuple[Any, Any]] = {}
    if check.finding is not None:
        rows = both[keys].merge(stored, on=keys)
        pair = [t.rename(columns={"contestant": "method"}) for t in (rows, new)]
        found = [check.finding(t).facts for t in pair]
        facts = {name: (found[0][name], found[1][name]) for name in check.facts}
    largest = float(max(sizes))
    return Outcome(check, len(both), int(good.sum()), int(same.sum()), largest, seconds, facts)


def run(report: Callable[[str], None] = print) -> list[Outcome]:
    """Make everything again that the manifest names."""
    outcomes = []
    for check in CHECKS:
        report(f"{check.file}: {check.comment}")
        start = time.perf_counter()
        made = check.make()
        outcomes.append(compared(check, made, time.perf_counter() - start))
        report("  " + said(outcomes[-1]))
    return outcomes


def said(one: Outcome) -> str:
    """An outcome in a line."""
    words = ""
    if one.check.columns != ("verdict",):
        words = f"{one.exact} to the last stored digit, largest difference {one.largest:.1g}"
    facts = "; ".join(f"{k}: stored {a}, here {b}" for k, (a, b) in one.facts.items())
    parts = [f"{one.agree} of {one.rows} rows agree", words, f"{one.seconds:.0f} s", facts]
    return "; ".join(part for part in parts if part)


def certificate(outcomes: list[Outcome], where: Mapping[str, Any] | None = None) -> str:
    """The certificate page in typst: what was run, where, which numbers agree."""
    code, here = source(), where or environment()
    state = "every output agrees (99 % of its rows or more)"
    if not all(one.good for one in outcomes):
        state = "NOT EVERY OUTPUT AGREES"
    packages = ", ".join(f"{name} {number}" for name, number in here["packages"].items())
    rows = "\n".join(
        f'[#raw("{one.check.file}")], '
        f"[{escaped(one.check.comment)}], "
        f"[{'agrees' if one.good else '*differs*'}: {escaped(said(one))}],"
        for one in outcomes
    )
    lines = {
        "What was checked": about()["title"],
        "Source": f"{code.directory_id}{' with changes' * bool(code.changed)}",
        "When": here["date"],
        "Where": f"{here['processor']}, {here['cores']} cores, {here['system']}",
        "With": f"Python {here['python']}; {packages}",
        "Computing time": f"{sum(one.seconds for one in outcomes) / 60:.1f} minutes",
        "Codechecker": "________________________________ (name, ORCID)",
        "Result": state,
    }
    head = "\n".join(f"[*{name}*], [{escaped(value)}]," for name, value in lines.items())
    return f"""#set page(paper: "a4", margin: 2.2cm)
#set text(font: "Libertinus Serif", size: 9.5pt)
= Certificate of a check, in the manner of CODECHECK
#grid(columns: (auto, 1fr), column-gutter: 1em, row-gutter: 0.7em, {head})
== Outputs
#set text(8.5pt)
#table(columns: (3.4cm, 1fr, 1fr), stroke: 0.4pt + luma(200),
  table.header([*file*], [*what was made again*], [*outcome*]), {rows})
Rows agree when their AUCs (or rates) differ by at most {TOLERANCE} points, sample sizes when they
are the same number. A rerun by the authors is no independent check: the certificate is worth what
its signature is.
"""


def write(outcomes: list[Outcome], folder: Path) -> Path:
    """The certificate as PDF."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "certificate.typ"
    path.write_text(certificate(outcomes), encoding="utf-8")
    pdf = folder / "certificate.pdf"
    pdf.write_bytes(typeset(path, format="pdf"))
    return pdf
