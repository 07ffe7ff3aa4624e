"""The simulation of the bounds: a light run, and the stored tables against theorem and code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from lpsvdd import LpSVDD
from replication.paper import SETTINGS
from replication.studies import bound_simulation as simulation


def simulated(**options) -> pd.DataFrame:
    """Rows of two small repetitions of each setting."""
    samples = simulation.samples(SETTINGS, 2, ns=(30,))
    return pd.DataFrame(
        row for one in samples for row in simulation.repetition(one, n_test=500, **options)
    )


@pytest.mark.parametrize("setting", SETTINGS)
def test_errors_are_those_of_the_fitted_estimator(setting):
    """Both kinds of error, each in its own class, by a model that was fitted without this code."""
    negatives = setting == "negatives"
    sample = simulation.Sample(setting, 40, 7)
    rows = simulation.repetition(sample, ps=(1.0, 2.0), margins=(0.5,), n_test=600, n_draws=5)
    X, y = simulation.draw_pairs(negatives, 40, 7)
    X_test, y_test = simulation.draw_pairs(negatives, 600, simulation.TEST_SEED)
    rng = np.random.default_rng(simulation.TEST_SEED + 1)
    X_out = simulation.outliers(600, rng)
    for row in rows:
        model = LpSVDD(p=row["p"], C=simulation.COST, gamma=simulation.GAMMA).fit(X, y)
        rejected = np.mean(model.predict(X_test[y_test > 0]) < 0)
        accepted = np.mean(model.predict(X_out) > 0)
        # a few points may lie between the two thresholds, which agree to the solver's accuracy
        assert row["balanced_error"] == pytest.approx((rejected + accepted) / 2, abs=2 / 600)
        assert row["error"] == pytest.approx(np.mean(model.predict(X_test) != y_test), abs=2 / 600)
        scores = np.r_[model.score_samples(X_test[y_test > 0]), model.score_samples(X_out)]
        truth = np.r_[np.ones((y_test > 0).sum()), np.zeros(600)]
        assert 1 - row["auc_loss"] == pytest.approx(roc_auc_score(truth, scores), abs=1e-4)
    assert rows[0]["balanced_error"] != rows[1]["balanced_error"]


def test_a_bound_that_fails_is_counted_as_failed(monkeypatch):
    """With bounds below the measured probability the coverage is zero, form by form."""
    genuine = simulation.error_bound

    def coverage(broken):
        def bound(*, form, **options):
            terms = genuine(form=form, **options)
            if form != broken:
                return terms
            return replace(terms, empirical=-1.0, linear=0.0, offset=0.0, confidence=0.0)

        monkeypatch.setattr(simulation, "error_bound", bound)
        table = simulation.coverage(simulated(ps=(2.0,), margins=(0.05,)))
        return table[["coverage_corrected", "coverage_paper"]].to_numpy().tolist()

    assert coverage(None) == [[1.0, 1.0], [1.0, 1.0]]
    assert coverage("corrected") == [[0.0, 1.0], [0.0, 1.0]]
    assert coverage("paper") == [[1.0, 0.0], [1.0, 0.0]]


def test_stored_coverage_meets_the_confidence(root):
    table = pd.read_csv(root / "results" / "bound_coverage.csv")
    assert (table["repetitions"] == simulation.REPETITIONS).all()
    assert set(table["setting"]) == {"pure", "negatives"}
    assert table["n"].nunique() >= 3 and table["margin"].nunique() >= 3
    assert (table["coverage_corrected"] >= 1 - simulation.DELTA).all()
    assert (table["deviation_ratio_max"] < 1).all()
    # The check means something only where the bound is below one.
    assert (table["nonvacuous_corrected"] == 1).sum() >= 10
