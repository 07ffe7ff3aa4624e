"""The criteria from the literature that the study of widths compares."""

from __future__ import annotations

import numpy as np
import pytest

from lpsvdd import LpSVDDCV
from replication.criteria import CRITERIA, shifted_data

RNG = np.random.default_rng(3)
X = RNG.normal(size=(90, 3))


@pytest.mark.parametrize("judge", CRITERIA.values(), ids=CRITERIA)
def test_every_criterion_gives_a_number_that_depends_on_the_width(judge):
    model = LpSVDDCV(gammas=[0.05, 0.5, 5.0], criterion=judge, random_state=0).fit(X)
    assert np.isfinite(model.cv_results_["mean_test_score"]).all()
    assert len(set(model.cv_results_["mean_test_score"])) > 1


@pytest.mark.parametrize("name", ["likelihood", "farthest-nearest"])
def test_criteria_refuse_absurd_widths(name):
    """A kernel that sees only each row itself, and one that sees no difference, both lose."""
    angle, radius = RNG.uniform(0.0, 2.0 * np.pi, 90), 1.0 + 0.05 * RNG.normal(size=90)
    ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    search = LpSVDDCV(gammas=[1e-4, 10.0, 1e6], criterion=CRITERIA[name], random_state=0)
    assert search.fit(ring).best_params_["gamma"] == 10.0


def test_shifted_rows_leave_a_disc_at_its_edge():
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(0, 2 * np.pi, 600), np.sqrt(rng.uniform(0, 1, 600))
    disc = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    outliers, targets = shifted_data(disc)
    assert 10 < len(outliers) < 300
    assert np.mean(np.linalg.norm(outliers, axis=1) > 1.0) > 0.7
    assert np.mean(np.linalg.norm(targets, axis=1) < 1.0) > 0.99


def test_consistent_means_two_standard_errors():
    """nu = 0.1 of 100 rows: at most 0.1 + 2 x 0.03, sixteen rejected rows."""

    class Rejecting:
        nu, gamma_ = 0.1, 3.0

        def __init__(self, rejected):
            self.rejected = rejected

        def predict(self, rows):
            return np.where(np.arange(len(rows)) < self.rejected, -1, 1)

    held_out = np.zeros((100, 2))
    judged = [CRITERIA["consistency"](None, Rejecting(k), held_out) for k in (0, 16, 17)]
    assert judged == [np.log(3.0), np.log(3.0), -1e6 * 0.17]
