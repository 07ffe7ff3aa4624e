"""What the pages that show results share: tables as HTML, where a table comes from, figures.

``side_by_side`` lays the paper's table and ours out line by line, in a box of its own that scrolls
sideways on a small screen. ``provenance`` is the sentence that says which run made a table.
``contrasts`` gives paired differences with bootstrap intervals for several pairs of contestants.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from html import escape
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
from replication.tables import method_label, wide

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Facts = dict[str, Any]
"""What the text of a page quotes, by name."""
POINTS = ["mean difference", "low", "high"]
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


def provenance(name: str, rows: pd.DataFrame | None = None) -> str:
    """Markdown sentence: which run made ``results/NAME.csv``, and how many of the rows shown."""
    path = results_folder() / f"{name}.csv"
    stored = read_record(path)
    if stored is None:
        return f"Computed for this page: there is no stored run `results/{name}.csv`."
    packages = ", ".join(f"{key} {stored['packages'][key]}" for key in ("numpy", "scipy"))
    shown = ""
    if rows is not None:
        keys = ["dataset", "method", "trial", "auc", "seconds"]
        known = len(rows[keys].merge(read_table(path)[keys]))
        if known < len(rows):
            shown = f"{known} of {len(rows)} rows shown are stored, the others computed here. "
    return (
        f"{shown}Stored run `results/{name}.csv` of {stored['date']}: commit "
        f"{commit_text(stored['git_commit'])}, "
        f"computation version {stored['signature']['computation']}, Python {stored['python']}, "
        f"{packages}, {stored['processor']}, {stored['cores']} cores."
    )


def commit_text(recorded: str) -> str:
    """A commit as recorded, and whether the run also held changes that were not committed."""
    return f"`{recorded[:9]}`" + (" with uncommitted changes" if "+changes" in recorded else "")


def scrolling(table: pd.DataFrame, label: str) -> str:
    """A table of texts as HTML in a box that scrolls sideways; cells may hold markup."""
    body = table.to_html(escape=False, index=False, border=0)
    return (
        f'<div role="region" aria-label="{escape(label)}" tabindex="0" '
        f'style="overflow-x:auto;max-width:100%;font-size:0.85em;white-space:nowrap">{body}</div>'
    )


def side_by_side(rows: pd.DataFrame, setting: str, label: str) -> str:
    """HTML of ours, printed and difference, the best of each line in bold."""
    table = wide(rows, setting, bold=("<strong>", "</strong>")).rename(columns=method_label)
    return scrolling(table, label)


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
        ax.text(u, v, name, fontsize=7) for name, u, v in zip(names, x, y, strict=True) if name
    ]
    ax.figure.canvas.draw()
    adjust_text(texts, x, y, ax=ax)
    return ax


def agreement(table: pd.DataFrame, method: str, ax: Axes) -> Axes:
    """Printed against reproduced means of one method, one number per data set."""
    part = table[table["method"] == method]
    ax.plot([0, 100], [0, 100], color="#999999", lw=0.8, zorder=1)
    ax.scatter(part["printed_mean"], part["auc_mean"], s=14, zorder=2)
    ax.set(xlim=(30, 102), ylim=(30, 102), title=method_label(method), aspect="equal")
    names = part["dataset"].where(part["difference"].abs() > 15, "")
    name_points(ax, names, part["printed_mean"], part["auc_mean"])
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


def contrasts(
    rows: pd.DataFrame, pairs: Iterable[tuple[str, str]], *, leave_out: Sequence[str] = ()
) -> pd.DataFrame:
    """Mean difference over data sets of each pair, with its interval and wins by data set."""
    lines = []
    for first, second in pairs:
        found = paired_interval(rows, first, second, leave_out=leave_out)
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


def forest(table: pd.DataFrame, ax: Axes, *, colour: str = "#0072B2", shift: float = 0.0) -> Axes:
    """Mean differences with their intervals, one line per data set, "all" last."""
    position = np.arange(len(table))[::-1] + shift
    ax.axvline(0, color="#666666", lw=0.8, zorder=1)
    ax.hlines(position, table["low"], table["high"], color=colour, lw=1.4)
    ax.scatter(table["mean"], position, color=colour, s=16, zorder=3)
    ax.set_yticks(np.arange(len(table))[::-1], table["dataset"])
    return ax
