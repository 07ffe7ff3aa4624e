"""The paper's two tables, rerun: means, differences, ranks, beside what is printed.

``Rerun`` holds the rows of one of them. The rules of what is claimed about them are those of
``studies/plans/hundred_splits.md``: a difference is the mean over data sets of the mean paired
difference over splits, its 95 % interval is over clusters of related sets, and places are judged
by their probability when clusters and splits are resampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from replication import printed, tables
from replication.evidence import as_table, compare, order_probability, rank_places
from replication.experiment import paper_methods
from replication.findings import Numbers
from replication.layout import set_label
from replication.methods import Method, grid
from replication.paper import COSTS, EXPONENTS, TRIALS
from replication.statistics import (
    Friedman,
    Interval,
    by_cluster,
    cluster_count,
    critical_difference,
    friedman,
    mean_matrix,
    paired_differences,
    wilcoxon_holm,
)
from replication.tables import method_label

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
        return 100 * rank_places(self.rows).loc[self.methods]

    @property
    def against(self) -> dict[str, tuple[str, str]]:
        """ℓp minus every other method, as :func:`replication.evidence.compare` takes it."""
        return {method_label(other): (self.own, other) for other in self.methods[1:]}

    @property
    def leads(self) -> dict[str, pd.DataFrame]:
        """ℓp minus ℓ1 and ℓp minus ℓ2 by data set."""
        pairs = {f"ℓp − ℓ{k}": (self.own, f"l{k}-SVDD{self.mark}") for k in (1, 2)}
        return by_set(self.rows, pairs, self.printed)


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


# -- what the paper claims --------------------------------------------------------------------


def table_of(rows: pd.DataFrame) -> Rerun:
    """Recognise the table that the rows belong to by the names of its methods."""
    return Rerun(rows, "negatives" if rows["method"].str.endswith("-").any() else "pure")


def leads(rows: pd.DataFrame) -> Numbers:
    """Compare lp with every other method: by data set, on average, and in print.

    ``lost``: sets on which its mean is not above; ``below``: sets whose interval over the splits
    lies below zero.
    """
    table = table_of(rows)
    pairs = {name.removesuffix(table.mark): (table.own, name) for name in table.methods[1:]}
    found: Numbers = {name: {} for name in ("lost", "wins", "below", "printed")}
    for name, (own, other) in pairs.items():
        by_set = paired_differences(rows, own, other).set_index("dataset")
        by_set = by_set.drop("all", errors="ignore")
        found["lost"][name] = list(by_set.index[by_set["mean"] <= 0])
        found["wins"][name] = int((by_set["mean"] > 0).sum())
        found["below"][name] = int((by_set["high"] < 0).sum())
        found["printed"][name] = float((table.printed[own] - table.printed[other]).mean())
    splits, sets = int(rows["trial"].nunique()), len(table.here)
    return found | {"over": compare(rows, pairs), "sets": sets, "splits": splits}


def gain_on(rows: pd.DataFrame, dataset: str) -> Numbers:
    """Compare lp with l1 and l2 on one data set, intervals over its splits."""
    own = rows[rows["dataset"] == dataset]
    found = {name: paired_differences(own, "lp-SVDD", f"{name}-SVDD") for name in ("l1", "l2")}
    return {k: Interval(**v.drop(columns="dataset").iloc[0]) for k, v in found.items()}


def ranking(rows: pd.DataFrame) -> Numbers:
    """Rank the methods on average: ranks, probabilities of the first two places, tests.

    The tests have one row for each cluster of related sets. ``before_l1``: how likely a method has
    a better average rank than l1.
    """
    table = table_of(rows)
    ranks = table.ranks.sort_values()
    test = friedman(by_cluster(table.here).mean())
    plain = {name: name.removesuffix(table.mark) for name in ranks.index}
    places = (table.places.loc[ranks.index] / 100).rename(index=plain)
    pairs = ((f"{name}-SVDD{table.mark}", f"l1-SVDD{table.mark}") for name in ("lp", "l2"))
    return {
        "rank": {plain[name]: float(value) for name, value in ranks.items()},
        "place": {name: place for place, name in enumerate(plain.values(), start=1)},
        "first": places[1].to_dict(),
        "second": places[2].to_dict(),
        "before_l1": {own[:2]: order_probability(rows, own, one) for own, one in pairs},
        "methods": len(ranks),
        "critical": table.reach,
        "friedman": test.p_value,
        "iman_davenport": test.iman_davenport_p,
        "clusters": test.n_datasets,
    }


# -- tables below the figures -----------------------------------------------------------------


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
    """Tabulate average ranks: printed, from the printed means, corrected, rerun."""
    shown = tables.rank_table(table.rows, table.setting)
    return shown.loc[table.methods].rename(index=method_label)


def test_lines(table: Rerun) -> pd.DataFrame:
    """Tabulate p-values of "all methods rank alike"."""
    tests = {"from printed means": friedman(printed.printed_matrix(table.setting))}
    tests |= {"rerun": table.test} if table.test else {}
    lines = {"printed": {"Friedman": printed.FRIEDMAN_P[table.setting]}} | {
        name: {"Friedman": test.p_value, "Iman–Davenport": test.iman_davenport_p}
        for name, test in tests.items()
    }
    return pd.DataFrame(lines).T.rename_axis("p-value")


def holm_lines(table: Rerun) -> pd.DataFrame:
    """Tabulate Wilcoxon's test of ℓp against each other method with Holm's correction."""
    whole = printed.printed_matrix(table.setting, corrected=True)
    lines = {
        title: wilcoxon_holm(frame)[table.own][table.methods[1:]].to_list()
        if len(frame) > 1 else TOO_FEW
        for title, frame in (("Holm p", table.here), ("printed p", whole))
    }  # fmt: skip
    return pd.DataFrame(lines, index=pd.Index(list(table.against), name="comparison"))
