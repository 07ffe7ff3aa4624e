"""The extensions that the paper's discussion proposes: can they be built, and do they help?

Tables: ``weighted_exponents`` and ``openset_digits``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp

from lpsvdd.solver import solve
from replication.findings import UNMEASURED, Finding, finding
from replication.findings.mathematics import SAMPLE_EXPONENTS, example
from replication.results import results_folder
from replication.wording import signed


@finding()
def sample_weights(tolerance: float = 1e-8) -> Finding:
    """Sample weights enter as costs c w_i: certified for every p, and they move the centre."""
    K, y = example(n=40)
    weights = np.random.default_rng(0).uniform(0.1, 1.0, size=len(y))
    gaps, moved = [], []
    for p in SAMPLE_EXPONENTS:
        plain, weighted = solve(K, y, p=p, c=0.1), solve(K, y, p=p, c=0.1 * weights)
        difference = weighted.alpha - plain.alpha
        gaps.append(weighted.gap)
        moved.append(np.sqrt(max(difference @ K @ difference, 0.0)))
    works = max(gaps) <= tolerance and min(moved) > 1e-6
    facts = {"gap": max(gaps), "exponents": len(gaps)}
    return Finding("holds" if works else "not reproduced", facts)


@finding()
def several_spheres(least: float = 0.9) -> Finding:
    """One sphere per class separates two known clouds from a third that was not seen."""
    from sklearn.metrics import roc_auc_score

    from lpsvdd.openset import OpenSetClassifier

    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
    train, test = (rng.normal(size=(3, 60, 2)) + centres[:, None] for _ in range(2))
    model = OpenSetClassifier(p=2.0, C=0.1, random_state=0)
    model.fit(train[:2].reshape(-1, 2), np.repeat([0, 1], 60))
    scores = model.score_samples(test.reshape(-1, 2))
    named = (model.predict_closed(test[:2].reshape(-1, 2)) == np.repeat([0, 1], 60)).mean()
    known = roc_auc_score(np.repeat([1, 1, 0], 60), scores)
    facts = {"auc": 100 * known, "named": 100 * named}
    return Finding("holds" if min(known, named) >= least else "not reproduced", facts)


@finding()
def not_built(table: str) -> Finding:
    """An extension nobody has measured here, as long as there is no results table of that name."""
    measured = (results_folder() / f"{table}.csv").exists()
    return Finding("holds partly" if measured else UNMEASURED, {})


def student(differences: pd.Series) -> dict[str, float]:
    """Mean with a 95 % interval by Student's distribution."""
    low, high = ttest_1samp(differences, 0.0).confidence_interval()
    return {"mean": differences.mean(), "low": low, "high": high}


@finding("weighted_exponents")
def weighting(rows: pd.DataFrame) -> Finding:
    """AUC with a weighting minus without, at the same exponent, by kind of training rows."""
    by_set = rows.pivot_table(
        index=["training", "dataset"], columns=["weighting", "method"], values="auc", sort=False
    )
    table = pd.DataFrame(
        {
            "training": training,
            "weighting": name,
            "p": p,
            **student(part[name, p] - part["none", p]),
        }
        for training, part in by_set.groupby("training", sort=False)
        for name, p in by_set.columns
        if name != "none"
    )
    table.index = pd.Index(table["weighting"] + ", " + table["p"])
    clean, dirty = (table[table["training"] == kind] for kind in ("clean", "with outliers"))
    top = dirty.iloc[dirty["mean"].argmax()]
    facts = {
        "splits": rows["trial"].nunique(),
        "clean_largest": clean["mean"].abs().max(),
        "dirty_best": f"{signed(top['mean'])} ({signed(top['low'])} to {signed(top['high'])})",
        "dirty_best_name": f"{top['weighting']} weights at {top['p']}",
        "dirty_mean": signed(dirty["mean"].mean()),
        "decided": int(((table["low"] > 0) | (table["high"] < 0)).sum()),
        "compared": len(table),
    }
    return Finding("", facts, table)


@finding("openset_digits")
def openset(rows: pd.DataFrame) -> Finding:
    """AUC of known against unknown digits minus that of the support vector classifier."""
    wide = rows.pivot(index="choice", columns="method", values="auc")
    names = wide.mean().drop("SVC").sort_values(ascending=False).index
    table = pd.DataFrame([student(wide[name] - wide["SVC"]) for name in names])
    table.index = [n.replace("spheres", "balls").replace("negatives", "outliers") for n in names]
    facts = {
        "roles": len(wide),
        "sphere_auc": wide["spheres, p = 2"].mean(),
        "svc_auc": wide["SVC"].mean(),
        "nn_auc": wide["nearest neighbour"].mean(),
    }
    return Finding("", facts, table)
