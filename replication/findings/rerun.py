"""The paper's two tables, rerun: means, differences, ranks, beside what is printed.

``Rerun`` holds the rows of one of them; ``pure`` and ``negatives`` are what the chapters quote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from replication import printed, tables
from replication.evidence import (
    as_table,
    compare,
    comparison_of,
    rank_places,
    weighed,
)
from replication.experiment import paper_methods
from replication.findings import Finding, finding
from replication.layout import set_label
from replication.methods import Method, grid
from replication.paper import COSTS, EXPONENTS, TRIALS
from replication.statistics import (
    Friedman,
    cluster_count,
    critical_difference,
    friedman,
    mean_matrix,
    paired_differences,
    wilcoxon_holm,
)
from replication.tables import method_label
from replication.wording import ranged, signed, worded

FIRST = ("lp-SVDD", "l1-SVDD", "l2-SVDD")
TOO_FEW = "not computed: one data set alone has no ranks to average"


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


@dataclass(frozen=True)
class Rerun:
    """Rows of one of the two tables: ``setting`` is "pure" or "negatives"."""

    rows: pd.DataFrame
    setting: str

    @property
    def mark(self) -> str:
        """What the names of methods end in."""
        return "-" if self.setting == "negatives" else ""

    @property
    def own(self) -> str:
        return f"lp-SVDD{self.mark}"

    @cached_property
    def methods(self) -> list[str]:
        """ℓp, then ℓ1 and ℓ2, then the others as the paper lists them."""
        first = [name + self.mark for name in FIRST]
        return first + [m for m in dict.fromkeys(self.rows["method"]) if m not in first]

    @cached_property
    def here(self) -> pd.DataFrame:
        """Mean AUC, data sets × methods."""
        return mean_matrix(self.rows)[self.methods]

    @cached_property
    def printed(self) -> pd.DataFrame:
        """Printed means of the same sets, the misprint corrected."""
        whole = printed.printed_matrix(self.setting, corrected=True)
        return whole.reindex(index=self.here.index, columns=self.methods)

    @cached_property
    def ranks(self) -> pd.Series:
        """Average ranks over the data sets."""
        return self.here.rank(axis=1, ascending=False).mean()

    @property
    def reach(self) -> float:
        """Difference of average ranks below which Nemenyi's test does not tell two apart."""
        return critical_difference(len(self.methods), cluster_count(self.here.index))

    @cached_property
    def test(self) -> Friedman | None:
        """Tests of "all methods rank alike"; None for one data set alone."""
        return friedman(self.here) if len(self.here) > 1 else None

    @cached_property
    def places(self) -> pd.DataFrame:
        """Probability of every place by average rank, in per cent."""
        return 100 * places_of(self.setting, self.rows).loc[self.methods]

    @property
    def against(self) -> dict[str, tuple[str, str]]:
        """ℓp minus every other method, as :func:`replication.evidence.compare` takes it."""
        return {method_label(other): (self.own, other) for other in self.methods[1:]}

    @property
    def leads(self) -> dict[str, pd.DataFrame]:
        """ℓp minus ℓ1 and ℓp minus ℓ2 by data set."""
        pairs = {f"ℓp − ℓ{k}": (self.own, f"l{k}-SVDD{self.mark}") for k in (1, 2)}
        return by_set(self.rows, pairs, self.printed)


_PLACES: dict[tuple[str, int], pd.DataFrame] = {}


def places_of(setting: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Probabilities of places, kept by setting and rows: four claims and a chapter ask."""
    key = (setting, int(pd.util.hash_pandas_object(rows["auc"].round(4)).sum()))
    if key not in _PLACES:
        _PLACES[key] = rank_places(rows)
    return _PLACES[key]


def by_set(
    rows: pd.DataFrame, pairs: dict[str, tuple[str, str]], stated: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """First minus second by data set, with intervals over the splits and what is printed.

    The first pair orders the sets. The last line is the mean over them, where there are several.
    """
    found: dict[str, pd.DataFrame] = {}
    order: list[str] = []
    for title, (first, second) in pairs.items():
        table = paired_differences(rows, first, second).set_index("dataset")
        gain = stated[first] - stated[second]
        table["printed"] = gain.reindex(table.index).where(table.index != "all", gain.mean())
        order = order or list(table["mean"].drop("all", errors="ignore").sort_values()[::-1].index)
        found[title] = table.loc[[*order, *table.index[table.index == "all"]]]
    return {title: table.rename(index=set_label) for title, table in found.items()}


def both_tables(with_: Rerun, without: Rerun) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows and printed means of both tables, one below and one beside the other."""
    columns = ["dataset", "method", "trial", "auc"]
    rows = pd.concat([with_.rows[columns], without.rows[columns]])
    return rows, with_.printed.join(without.printed)


def gains(with_: Rerun, without: Rerun) -> pd.DataFrame:
    """Change of the AUC of each method when labelled outliers join its training rows."""
    rows, stated = both_tables(with_, without)
    pairs = {method_label(name[:-1]): (name, name[:-1]) for name in with_.methods}
    gain = [(stated[one] - stated[two]).mean() for one, two in pairs.values()]
    return as_table(compare(rows, pairs)).assign(printed=gain)


# -- what the chapters quote ------------------------------------------------------------------


@finding("pure")
def pure(rows: pd.DataFrame) -> Finding:
    """Numbers of the table without labelled outliers."""
    return _numbers(Rerun(rows, "pure"))


@finding("negatives")
def negatives(rows: pd.DataFrame) -> Finding:
    """Numbers of the table with labelled outliers."""
    return _numbers(Rerun(rows, "negatives"))


def _numbers(table: Rerun) -> Finding:
    rows, here, own = table.rows, table.here, table.own
    best = here.round(2).eq(here.round(2).max(axis=1), axis=0).sum()
    shown = table.printed.eq(table.printed.max(axis=1), axis=0)[own]
    apart = (here - table.printed).abs()
    l1, l2 = (f"l{k}-SVDD{table.mark}" for k in (1, 2))
    facts = {
        "sets": len(here),
        "methods": len(table.methods),
        "splits": ranged(rows.groupby("dataset")["trial"].nunique()),
        "over_l1": weighed(comparison_of(rows, own, l1)),
        "over_l2": weighed(comparison_of(rows, own, l2)),
        "lead_l1": signed((here[own] - here[l1]).mean()),
        "apart": float(apart.stack().mean()),
        "apart_lp": float(apart[own].mean()),
        "best_lp": int(best[own]),
        "best_printed": int(shown.sum()),
        "rank": float(table.ranks[own]),
        "rank_printed": float(printed.printed_ranks(table.setting)[own]),
        "place": int((table.ranks < table.ranks[own]).sum()) + 1,
        "near_first": int((table.ranks <= table.ranks.min() + table.reach).sum()),
        "cells": int(rows["cells"].sum()),
        "gap": float(rows["gap"].max()),
        "uncertified": int(rows["uncertified"].sum()),
    }
    return Finding("", facts)


@finding("pure", "negatives")
def table_gain(pure: pd.DataFrame, negatives: pd.DataFrame) -> Finding:
    """What labelled outliers change between the two tables, for the family and KNFST."""
    table = gains(Rerun(negatives, "negatives"), Rerun(pure, "pure"))
    names = {"lp": "ℓp-SVDD", "l1": "ℓ1-SVDD", "knfst": "KNFST"}
    facts = {key: worded(SimpleNamespace(**table.loc[name])) for key, name in names.items()}
    facts["lp_printed"] = signed(table.loc["ℓp-SVDD", "printed"])
    return Finding("", facts, table)


# -- tables below the figures -----------------------------------------------------------------


def full_tables(table: Rerun) -> dict[str, pd.DataFrame]:
    """All sets and methods: here, printed, the difference."""
    flagged = tables.flags(table.rows)

    def dressed(frame: pd.DataFrame) -> pd.DataFrame:
        frame = frame.rename(columns=lambda name: method_label(name).replace("-SVDD", ""))
        marks = {name: set_label(name) + (" †" if name in flagged else "") for name in frame.index}
        return frame.rename(index=marks).rename_axis("data set")

    shown = {"here": table.here, "printed": table.printed}
    shown["here minus printed"] = table.here - table.printed
    return {title: dressed(frame) for title, frame in shown.items()}


def by_method(table: pd.DataFrame) -> pd.DataFrame:
    """Per method over the data sets: mean and mean absolute difference, correlation with print.

    ``table``: :func:`replication.tables.comparison`.
    """
    lines = {}
    for name, part in table.groupby("method", sort=False):
        spread = np.sqrt(part["auc_sd"] ** 2 / part["trials"] + part["printed_sd"] ** 2 / TRIALS)
        known = part[part["printed_mean"].notna()]
        alike = known["auc_mean"].corr(known["printed_mean"]) if len(known) > 2 else np.nan
        lines[method_label(name)] = {
            "mean difference": part["difference"].mean(),
            "mean absolute difference": part["difference"].abs().mean(),
            "correlation": alike,
            "within two standard errors": int((part["difference"].abs() <= 2 * spread).sum()),
        }
    return pd.DataFrame(lines).T.rename_axis("method")


def rank_lines(table: Rerun) -> pd.DataFrame:
    """Average ranks: printed, from the printed means, corrected, rerun."""
    shown = tables.rank_table(table.rows, table.setting)
    return shown.loc[table.methods].rename(index=method_label)


def test_lines(table: Rerun) -> pd.DataFrame:
    """p-values of "all methods rank alike"."""
    tests = {"from printed means": friedman(printed.printed_matrix(table.setting))}
    if table.test:
        tests["rerun"] = table.test
    lines = {"printed": {"Friedman": printed.FRIEDMAN_P[table.setting]}}
    for name, test in tests.items():
        lines[name] = {"Friedman": test.p_value, "Iman–Davenport": test.iman_davenport_p}
    return pd.DataFrame(lines).T.rename_axis("p-value")


def holm_lines(table: Rerun) -> pd.DataFrame:
    """Wilcoxon's test of ℓp against each other method with Holm's correction, here and printed."""
    others = table.methods[1:]
    whole = printed.printed_matrix(table.setting, corrected=True)
    frames = {"Holm p": table.here, "printed p": whole}
    lines = {
        title: list(wilcoxon_holm(frame)[table.own][others]) if len(frame) > 1 else TOO_FEW
        for title, frame in frames.items()
    }
    return pd.DataFrame(lines, index=pd.Index(list(table.against), name="comparison"))
