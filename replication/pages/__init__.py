"""What the pages that show results share: where a table comes from, and paired differences.

``runs`` says which run made a table. ``contrasts`` and ``decisions`` give paired differences with
intervals for several pairs of contestants. ``layout`` has the look of tables and figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from replication.backends import Local
from replication.evidence import compare_over_sets, difference_by_set, signed_rank
from replication.experiment import paper_methods
from replication.methods import Method
from replication.methods.grids import grid
from replication.paper import COSTS, EXPONENTS, TRIALS
from replication.results import read_record, read_table, results_folder, stored_table
from replication.statistics import paired_interval, signed
from replication.studies import run_study
from replication.tables import method_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Facts = dict[str, Any]
"""What the text of a page quotes, by name."""
DECISION_FORMATS = {"difference": "{:+.2f}"} | dict.fromkeys(
    ("could see", "P(lower)", "P(within ±0.5)", "P(higher)"), "{:.2f}"
)
"""How :func:`decisions` is shown."""
FLAG_NOTES = {
    "inferred-labels": "the labels of the file used were partly inferred",
    "inferred-target": "500 rows where 336 is printed, and the target class inferred from its size",
}


def methods_with(setting: str, p_grid: Sequence[Any], c_grid: Sequence[Any]) -> list[Method]:
    """The paper's methods, lp-SVDD with these exponents ("8/7" or 1.5 alike) and costs, if any."""
    ps = tuple(float(Fraction(str(p))) for p in p_grid) or EXPONENTS
    cs = tuple(float(c) for c in c_grid) or COSTS
    chosen = paper_methods(setting)
    if (ps, cs) == (EXPONENTS, COSTS):
        return chosen
    pair = {"C_neg": cs} if setting == "negatives" else {}
    own = grid(p=ps, C=cs, **pair)
    return [replace(m, grid=own) if m.name.startswith("lp-SVDD") else m for m in chosen]


def study_table(name: str, *, jobs: int = 1, recompute: bool = False) -> pd.DataFrame:
    """Stored table of a study, its contestants under the name ``method``; never a silent run."""
    if not recompute:
        return stored_table(name).rename(columns={"contestant": "method"})
    table = run_study(name, backend=Local(jobs), recompute=True, progress=False)
    return table.rename(columns={"contestant": "method"})


def glue_facts(facts: Facts) -> None:
    """Make facts quotable in the text of a page."""
    from myst_nb import glue

    for name, value in facts.items():
        glue(name, value.item() if isinstance(value, np.generic) else value, display=False)


def in_order(names: Iterable[str]) -> list[str]:
    """Data sets by number: D2 before D10."""
    return sorted(names, key=lambda name: int(name[1:]))


def runs(names: Iterable[str]) -> pd.DataFrame:
    """Which runs made the tables ``results/NAME.csv`` behind a page, one line each."""
    lines = {}
    for name in names:
        stored = read_record(results_folder() / f"{name}.csv")
        lines[f"results/{name}.csv"] = (
            {"run": "no stored run: computed for this page"}
            if stored is None
            else {
                "run": stored["date"],
                "commit": commit_text(stored["git_commit"]).replace("`", ""),
                "version": stored["signature"]["computation"],
                "Python": stored["python"],
                "processor": f"{stored['processor']}, {stored['cores']} cores",
            }
        )
    return pd.DataFrame(lines).T.rename_axis("table")


def computed_here(name: str, rows: pd.DataFrame) -> str:
    """Sentence on rows that are shown and not stored; empty when all are."""
    path = results_folder() / f"{name}.csv"
    keys = ["dataset", "method", "trial", "auc", "seconds"]
    known = len(rows[keys].merge(read_table(path)[keys])) if path.is_file() else 0
    if known == len(rows):
        return ""
    return f"{known} of {len(rows)} rows shown are stored, the others computed here."


def commit_text(recorded: str) -> str:
    """A commit as recorded, and whether the run also held changes that were not committed."""
    return f"`{recorded[:9]}`" + (" with uncommitted changes" if "+changes" in recorded else "")


def flag_notes(rows: pd.DataFrame) -> str:
    """Markdown sentence on data sets whose rows rest on inferred data."""
    flagged = rows[rows["flag"].fillna("") != ""][["dataset", "flag"]].drop_duplicates()
    parts = [f"{name}: {FLAG_NOTES[flag]}" for name, flag in flagged.itertuples(index=False)]
    return f"† {'; '.join(parts)}." if parts else "No row shown here rests on inferred data."


def name_points(ax: Axes, names: Iterable[str], x: Iterable[float], y: Iterable[float]) -> Axes:
    """Name points of a scatter plot so that the labels keep clear of each other and of all points.

    Points with an empty name get none, but labels keep clear of them. Call it after the limits of
    the axes are set: what overlaps depends on them.
    """
    from adjustText import adjust_text

    x, y = list(x), list(y)
    texts = [
        ax.text(u, v, name, fontsize=8) for name, u, v in zip(names, x, y, strict=True) if name
    ]
    ax.figure.canvas.draw()
    adjust_text(texts, x, y, ax=ax)
    return ax


def by_method(table: pd.DataFrame) -> pd.DataFrame:
    """Per method over the data sets: mean and mean absolute difference, correlation with print."""
    lines = []
    for name, part in table.groupby("method", sort=False):
        spread = np.sqrt(part["auc_sd"] ** 2 / part["trials"] + part["printed_sd"] ** 2 / TRIALS)
        known = part["printed_mean"].notna()
        lines.append(
            {
                "method": method_label(name),
                "mean difference": part["difference"].mean(),
                "mean absolute difference": part["difference"].abs().mean(),
                "correlation": part.loc[known, ["auc_mean", "printed_mean"]].corr().iloc[0, 1],
                "within two standard errors": int((part["difference"].abs() <= 2 * spread).sum()),
            }
        )
    return pd.DataFrame(lines).set_index("method")


def decisions(rows: pd.DataFrame, pairs: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """One line per pair: difference, 95 % interval, what it says, power, Bayesian probabilities."""
    rows = rows.rename(columns={"contestant": "method"})
    lines = []
    for first, second in pairs:
        values = difference_by_set(rows, first, second)
        found, bayes = compare_over_sets(values), signed_rank(values)
        lines.append(
            {
                "pair": f"{method_label(first)} − {method_label(second)}",
                "difference": found.mean,
                "95 % interval": f"[{signed(found.low, 2)}, {signed(found.high, 2)}]",
                "says": found.state,
                "could see": found.detectable,
                "P(lower)": bayes["lower"],
                "P(within ±0.5)": bayes["equivalent"],
                "P(higher)": bayes["higher"],
                "sets won": found.wins,
                "lost": found.losses,
            }
        )
    return pd.DataFrame(lines).set_index("pair")


def contrasts(rows: pd.DataFrame, pairs: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Mean difference over data sets of each pair, with its interval and wins by data set."""
    lines = []
    for first, second in pairs:
        found = paired_interval(rows, first, second)
        lines.append(
            {
                "pair": f"{method_label(first)} − {method_label(second)}",
                "mean difference": found.mean,
                "low": found.low,
                "high": found.high,
                "sets won": found.wins,
                "sets lost": found.losses,
                "sets": found.n,
            }
        )
    return pd.DataFrame(lines).set_index("pair")
