"""Equal on average is not equal on every set: effects of p > 1 set by set, with shrinkage.

Tables: ``common_range`` and ``extreme_sets``; the rule is in ``studies/plans/conditions.md``.
"""

from __future__ import annotations

import pandas as pd
from scipy import stats

from replication.findings import Finding, finding
from replication.layout import set_label
from replication.per_set import Effects, effects
from replication.statistics import trial_matrix
from replication.studies.ranges import label
from replication.wording import signed

TIES = {"shared": "auc", "first": "auc_first", "last": "auc_last"}
"""Ways with cells that tie on validation, and the columns of ``extreme_sets``."""
TWO, ONE = label(2.0), label(1.0)


def pooled(rows: pd.DataFrame, extreme: pd.DataFrame) -> Effects:
    """p = 2 minus p = 1 over the same range: all splits of both tables, shrunk."""
    both = [
        trial_matrix(table)[TWO] - trial_matrix(table)[ONE]
        for table in (rows, extreme)
        if not table.empty
    ]
    return effects(pd.concat(both))


def exceptions(extreme: pd.DataFrame, level: float = 0.95) -> dict[str, dict[str, tuple]]:
    """Set → way with ties → mean and ends of p = 2 minus p = 1 on the splits of ``extreme_sets``.

    Student's t over splits, Bonferroni over the sets.
    """
    sets = list(dict.fromkeys(extreme["dataset"]))
    tail = 0.5 * (1.0 - level) / len(sets)
    found: dict[str, dict[str, tuple]] = {name: {} for name in sets}
    for way, column in TIES.items():
        matrix = trial_matrix(extreme, column)
        difference = matrix[TWO] - matrix[ONE]
        for name in sets:
            values = difference.loc[name]
            half = stats.t.ppf(1.0 - tail, len(values) - 1) * values.sem()
            found[name][way] = values.mean(), values.mean() - half, values.mean() + half
    return found


@finding("common_range", "extreme_sets")
def per_set(rows: pd.DataFrame, extreme: pd.DataFrame) -> Finding:
    """Do the sets differ in what p > 1 does, and where is the exception real?

    The paper does not claim it, so there is no verdict; ``above`` and ``below`` are the sets that
    pass the rule of the plan on splits that nobody had looked at.
    """
    known = set(rows["dataset"])
    extreme = extreme[extreme["dataset"].isin(known)]
    model, fresh = pooled(rows, extreme), exceptions(extreme)
    table = model.table.sort_values("mean", ascending=False)

    def passed(sign: int) -> list[str]:
        ends = {
            n: [sign * one[1 if sign > 0 else 2] for one in w.values()] for n, w in fresh.items()
        }
        return [set_label(name) for name, values in ends.items() if min(values) > 0.0]

    facts = {
        "q": model.q,
        "freedom": model.freedom,
        "q_p": model.p_value,
        "between": model.between,
        "average": signed(model.mean),
        "above": passed(+1),
        "below": passed(-1),
        "shrunk_above": [
            f"{set_label(n)} {signed(table.loc[n, 'mean'])}" for n in model.beyond(+1)
        ],
        "shrunk_below": [
            f"{set_label(n)} {signed(table.loc[n, 'mean'])}" for n in model.beyond(-1)
        ],
        "splits": int(extreme.groupby("dataset")["trial"].nunique().max()) if len(extreme) else 0,
    }
    for name, ways in fresh.items():
        for way, (mean, low, high) in ways.items():
            facts[f"{name.lower()}_{way}"] = f"{signed(mean)} ({signed(low)} to {signed(high)})"
        line = table.loc[name]
        ends = f"{signed(line['low'])} to {signed(line['high'])}"
        facts[f"{name.lower()}_shrunk"] = f"{signed(line['mean'])} ({ends})"
        facts[f"{name.lower()}_all"] = f"{signed(line['observed'])} ± {line['error']:.1f}"
    return Finding("", facts, table.rename(index=set_label))
