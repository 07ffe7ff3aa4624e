"""``make codecheck``: make a part of the stored outputs again, compare, print a certificate.

Each check names a file of ``codecheck.yml``, what of it is computed anew, and how. Numbers are
compared row by row with the stored ones. Rounding may put a pair of test rows in another order, on
another processor or after a change of the solver, so nearly all rows must agree and the others be
near. A table that is not the one its record describes is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from replication.about import ROOT, about
from replication.article import escaped, typeset
from replication.claims import Claim, judge, read_ledger
from replication.experiment import REQUIRED_SHARE, TOLERANCE, experiment
from replication.findings import Finding
from replication.findings.bound import bound_sample_size
from replication.findings.same_range import lead
from replication.results import environment, read, results_folder
from replication.source import source
from replication.store import ResultsError
from replication.studies import run_study

SETS = ["D1", "D7", "D17"]
THREE = "three data sets (D1, D7, D17)"
QUIET: dict[str, Any] = {"recompute": True, "progress": False}
FAR = 1.0
"""AUC points that no row may be off: a few pairs of test rows in another order are less."""


def verdicts(of: Callable[[Claim], str]) -> pd.DataFrame:
    """Every claim with a verdict."""
    ledger = read_ledger(ROOT / "replication" / "claims.yml")
    return pd.DataFrame([{"claim": claim.id, "verdict": of(claim)} for claim in ledger])


def found_verdicts() -> pd.DataFrame:
    """Every claim with the verdict that follows from the stored tables, all of which are read."""
    for path in sorted(results_folder().glob("*.csv")):
        read(path)
    return verdicts(lambda claim: judge(claim).verdict)


@dataclass(frozen=True)
class Check:
    """One output: its file, what of it is made again, what makes it, and how it is compared.

    Rows are matched by ``keys``. A ``share`` of them must have the same ``column`` within
    ``tolerance``, the others within ``far``. ``finding`` is what the rows are for; ``facts`` of it
    are said with the stored and with the new rows.
    """

    file: str
    comment: str
    make: Callable[[], pd.DataFrame]
    keys: tuple[str, ...]
    column: str = "auc"
    tolerance: float = TOLERANCE
    far: float = FAR
    share: float = REQUIRED_SHARE
    finding: Callable[..., Finding] | None = None
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def stored(self) -> pd.DataFrame:
        """The output as it is in the repository."""
        if self.file == "replication/claims.yml":
            return verdicts(lambda claim: claim.verdict)
        return read(Path(self.file).stem)


CHECKS = (
    Check(
        "results/pure.csv", f"The paper's first table, {THREE}, first ten splits, all methods.",
        lambda: experiment("pure", names=SETS, trials=10, **QUIET), ("dataset", "method", "trial"),
    ),
    Check(
        "results/negatives.csv",
        f"The paper's second table, {THREE}, first ten splits, all methods.",
        lambda: experiment("negatives", names=SETS, trials=10, **QUIET),
        ("dataset", "method", "trial"),
    ),
    Check(
        "results/common_range.csv",
        f"The lead of lp on the paper's grid and over the same range, {THREE}, five splits.",
        lambda: run_study("common_range", names=SETS, trials=5, **QUIET),
        ("dataset", "trial", "contestant"), finding=lead,
        facts={"points": "lead on the grid", "left_interval": "over the same range"},
    ),
    Check(
        "results/bound_samplesize.csv", "The error bound: samples from which it says something.",
        lambda: run_study("bound_samplesize", **QUIET),
        ("form", "setting", "p", "margin", "target"), "n", 0.0, 0.0, 1.0, bound_sample_size,
        {"below": "exponents with a bound below 1 in the paper", "least": "fewest samples"},
    ),
    Check(  # of ten new targets one more or less may lie outside
        "results/kept_rate.csv", f"New targets rejected by the default surface, {THREE}.",
        lambda: run_study("kept_rate", names=SETS, trials=5, **QUIET),
        ("dataset", "trial", "nu", "surface"), "rejected", far=10.0,
    ),
    Check(
        "replication/claims.yml",
        "The verdict on every claim, from all stored tables; their checksums.",
        found_verdicts, ("claim",), "verdict", 0.0, 0.0, 1.0,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What a check found: its rows, stored and new, and how far they are apart; facts beside it.

    ``refused`` says why a stored table was not used at all.
    """

    check: Check
    rows: pd.DataFrame = field(default_factory=pd.DataFrame)
    seconds: float = 0.0
    facts: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    refused: str = ""

    @property
    def agree(self) -> int:
        """Rows within the tolerance."""
        return int((self.rows["off"] <= self.check.tolerance).sum())

    @property
    def good(self) -> bool:
        """Nearly all rows agree, and none is far off; a tie of two cells may be."""
        if self.refused or self.rows.empty:
            return False
        near = (self.rows["off"] <= self.check.far) | self.rows["tie"]
        return self.agree >= self.check.share * len(self.rows) and bool(near.all())

    def __str__(self) -> str:
        if self.refused:
            return self.refused
        words = [f"{self.agree} of {len(self.rows)} rows agree"]
        if self.check.tolerance:
            words.append(f"{(self.rows['off'] == 0).sum()} to the last stored digit")
        if self.rows["off"].max() > 0:
            at = self.rows.loc[self.rows["off"].idxmax()]
            where = ", ".join(str(at[key]) for key in self.check.keys)
            name = self.check.column
            words.append(f"farthest: {where}, stored {at[name + '_stored']}, here {at[name]}")
        words += [f"{k}: stored {a}, here {b}" for k, (a, b) in self.facts.items()]
        return "; ".join([*words, f"{self.seconds:.0f} s"])


def apart(first: pd.Series, second: pd.Series) -> pd.Series:
    """How far two columns are apart; infinite where a number is missing or a word differs."""
    if not pd.api.types.is_numeric_dtype(first):
        return pd.Series(np.where(first == second, 0.0, np.inf))
    return (first - second).abs().where(~(first.isna() & second.isna()), 0.0).fillna(np.inf)


def compared(check: Check, new: pd.DataFrame, seconds: float = 0.0) -> Outcome:
    """Match the new rows with the stored ones and compare their numbers."""
    keys = list(check.keys)
    # As a file holds it: a column that mixes numbers and words is words on both sides.
    new = pd.read_csv(StringIO(new.to_csv(index=False))).drop_duplicates(keys)
    stored = check.stored.drop_duplicates(keys)
    both = new.merge(stored, on=keys, how="left", suffixes=("", "_stored"))
    both["off"], both["tie"] = apart(both[check.column], both[f"{check.column}_stored"]), False
    if {"auc_val", "params"} <= set(new):
        equal = apart(both["auc_val"], both["auc_val_stored"]) <= check.tolerance
        both["tie"] = equal & (both["params"] != both["params_stored"])
    facts: dict[str, tuple[Any, Any]] = {}
    if check.finding is not None:
        pair = [t.rename(columns={"contestant": "method"})
                for t in (new[keys].merge(stored, on=keys), new)]  # fmt: skip
        old, now = (check.finding(t).facts for t in pair)
        facts = {words: (old[name], now[name]) for name, words in check.facts.items()}
    return Outcome(check, both, seconds, facts)


def run(report: Callable[[str], None] = print) -> list[Outcome]:
    """Make everything again that the manifest names."""
    outcomes = []
    for check in CHECKS:
        report(f"{check.file}: {check.comment}")
        start = time.perf_counter()
        try:
            outcome = compared(check, check.make(), time.perf_counter() - start)
        except ResultsError as error:
            outcome = Outcome(check, refused=str(error))
        outcomes.append(outcome)
        report(f"  {'agrees' if outcome.good else 'DIFFERS'}: {outcome}")
    return outcomes


def certificate(outcomes: list[Outcome]) -> str:
    """The certificate page in typst: what was run, where, which numbers agree."""
    code, here = source(), environment()
    good = all(one.good for one in outcomes)
    packages = ", ".join(f"{name} {number}" for name, number in here["packages"].items())
    blas = ", ".join(dict.fromkeys(one.get("architecture", "") for one in here["blas"]))
    rows = "\n".join(
        f'[#raw("{one.check.file}")], [{escaped(one.check.comment)}], '
        f"[{'agrees' if one.good else '*differs*'}: {escaped(str(one))}],"
        for one in outcomes
    )
    lines = {
        "What was checked": about()["title"],
        "Source": f"{code.directory_id}{' with changes' * bool(code.changed)}",
        "When": here["date"],
        "Where": f"{here['processor']} (BLAS: {blas}), {here['cores']} cores, {here['system']}",
        "With": f"Python {here['python']}; {packages}",
        "Computing time": f"{sum(one.seconds for one in outcomes) / 60:.1f} minutes",
        "Codechecker": "________________________________ (name, ORCID)",
        "Result": "every output agrees" if good else "NOT EVERY OUTPUT AGREES",
    }
    head = "\n".join(f"[*{name}*], [{escaped(value)}]," for name, value in lines.items())
    return f"""#set page(paper: "a4", margin: 2.2cm)
#set text(font: "Libertinus Serif", size: 9.5pt)
= Certificate of a check, in the manner of CODECHECK
#v(0.4em)
#grid(columns: (auto, 1fr), column-gutter: 1em, row-gutter: 0.7em, {head})
== Outputs
#set text(8.5pt)
#table(columns: (3.9cm, 1fr, 1.4fr), stroke: 0.4pt + luma(200),
  table.header([*file*], [*what was made again*], [*outcome*]), {rows})
Rows agree when their AUCs or rates differ by at most {TOLERANCE} points; sample sizes and verdicts
when they are the same. An output agrees when {REQUIRED_SHARE:.0%} of its rows do and no AUC is more
than {FAR:g} point off, unless another cell had the same AUC on validation; of rates, one target.
Rows that are not named were not made again. A rerun by the authors is no independent check: the
certificate is worth what its signature is.
"""


def write(outcomes: list[Outcome], folder: Path) -> Path:
    """The certificate as PDF."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "certificate.typ"
    path.write_text(certificate(outcomes), encoding="utf-8")
    pdf = folder / "certificate.pdf"
    pdf.write_bytes(typeset(path, format="pdf"))
    return pdf
