"""Checks of the extensions that the paper's discussion proposes: can they be built?

Whether they help is a question for a comparison, which the book's chapter on them makes; the
claims are that the method can be extended.
"""

from __future__ import annotations

import numpy as np

from lpsvdd.solver import solve
from replication.claims.ledger import UNMEASURED, Outcome, check
from replication.claims.mathematics import SAMPLE_EXPONENTS, example
from replication.results import results_folder


@check
def sample_weights(tolerance: float = 1e-8) -> Outcome:
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
    facts = {"gap": f"{max(gaps):.0e}", "exponents": len(gaps)}
    return Outcome("holds" if works else "not reproduced", facts)


@check
def several_spheres(least: float = 0.9) -> Outcome:
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
    return Outcome("holds" if min(known, named) >= least else "not reproduced", facts)


@check
def not_built(table: str) -> Outcome:
    """An extension nobody has measured here, as long as there is no results table of that name."""
    measured = (results_folder() / f"{table}.csv").exists()
    return Outcome("holds partly" if measured else UNMEASURED)
