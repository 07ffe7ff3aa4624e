"""The extensions that the paper's discussion proposes: can they be built, and do they help?

Tables: ``weighted_exponents`` and ``openset_digits``.
"""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd

from replication.findings import Finding, finding, graded
from replication.statistics import mean_interval
from replication.wording import signed, worded


@finding("weighted_exponents")
def weighting(rows: pd.DataFrame) -> Finding:
    """AUC with a weighting minus without, at the same exponent, by kind of training rows.

    That the two can be combined holds when some combination is better than the exponent alone:
    its interval, Bonferroni over the comparisons, lies above zero. Otherwise it holds partly, for
    every one is solved.
    """
    by_set = rows.pivot_table(
        index=["training", "dataset"], columns=["weighting", "method"], values="auc", sort=False
    )
    kinds = by_set.index.get_level_values("training").nunique()
    compared = kinds * sum(name != "none" for name, _ in by_set.columns)
    table = pd.DataFrame(
        {
            "training": training,
            "weighting": name,
            "p": p,
            **vars(mean_interval(gain)),
            "corrected": mean_interval(gain, level=1 - 0.05 / compared).low,
        }
        for training, part in by_set.groupby("training", sort=False)
        for name, p in by_set.columns
        if name != "none"
        for gain in [part[name, p] - part["none", p]]
    ).drop(columns=["n", "wins", "losses"])
    table.index = pd.Index(table["weighting"] + ", " + table["p"])
    clean, dirty = (table[table["training"] == kind] for kind in ("clean", "with outliers"))
    top = dirty.iloc[dirty["mean"].argmax()]
    facts = {
        "splits": rows["trial"].nunique(),
        "clean_largest": clean["mean"].abs().max(),
        "dirty_best": worded(SimpleNamespace(**top), 1),
        "dirty_best_name": f"{top['weighting']} weights at {top['p']}",
        "dirty_mean": signed(dirty["mean"].mean()),
        "decided": int(((table["low"] > 0) | (table["high"] < 0)).sum()),
        "better": int((table["corrected"] > 0).sum()),
        "compared": len(table),
    }
    return Finding(graded(facts["better"] > 0, True), facts, table)


@finding("openset_digits")
def openset(rows: pd.DataFrame) -> Finding:
    """AUC of known against unknown digits minus that of the support vector classifier.

    One ball a class extends to open sets when it is no worse than that classifier, which knows of
    no unknown: holds when the interval of the difference lies above zero, partly when it reaches
    zero or the AUC is above 90 % all the same, and is not reproduced otherwise.
    """
    wide = rows.pivot(index="choice", columns="method", values="auc")
    names = wide.mean().drop("SVC").sort_values(ascending=False).index
    found = {name: mean_interval(wide[name] - wide["SVC"]) for name in names}
    table = pd.DataFrame(map(vars, found.values()))[["mean", "low", "high"]]
    named = rows.loc[rows["method"] == "spheres, p = 2", "named"].mean()
    table.index = [n.replace("spheres", "balls").replace("negatives", "outliers") for n in names]
    facts = {
        "roles": len(wide),
        "sphere_auc": wide["spheres, p = 2"].mean(),
        "svc_auc": wide["SVC"].mean(),
        "nn_auc": wide["nearest neighbour"].mean(),
        "named": named,
    }
    over = found["spheres, p = 2"]
    facts["over_svc"] = worded(over, 1)
    works = over.high > 0 or facts["sphere_auc"] > 90.0
    return Finding(graded(over.low > 0, works), facts, table)
