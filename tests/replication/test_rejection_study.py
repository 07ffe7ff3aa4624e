"""The study of the risk of rejection: its parts against known answers, a light run, the tables."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from lpsvdd.bounds import determining_points
from replication.studies import rejection
from replication.studies.rejection import POPULATIONS, cost_of_share, fit_ball, true_risk

# -- the parts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, one in POPULATIONS.items() if one.exact])
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_exact_risks_agree_with_fresh_points(name, p):
    population = POPULATIONS[name]
    rng = np.random.default_rng(0)
    X, Z = population.draw(rng, 60), population.draw(rng, 20_000)
    model = fit_ball(X, p=p, C=cost_of_share(p, 0.2, 60, population.slack), **population.kernel)
    exact = true_risk(model, population, None)
    assert exact == pytest.approx(np.mean(model.predict(Z) < 0), abs=0.015)


def test_clopper_pearson_is_the_inverse_of_the_binomial_tails():
    low, high = rejection.clopper_pearson(7, 50, 0.95)
    assert binom.sf(6, 50, low) == pytest.approx(0.025)
    assert binom.cdf(7, 50, high) == pytest.approx(0.025)
    assert rejection.clopper_pearson(0, 20, 0.9)[0] == 0.0
    assert rejection.clopper_pearson(20, 20, 0.9)[1] == 1.0


def test_a_kernel_that_knows_the_sample_breaks_the_promise():
    """The book's counterexample: two points determine the ball, everything new is rejected."""
    rng = np.random.default_rng(4)
    sample = np.r_[-1.0, 1.0, rng.uniform(-0.9, 0.9, 48)]  # the feature of the training points
    model = fit_ball(np.outer(sample, sample), p=2.0, C=10.0, kernel="precomputed")
    points = determining_points(model)
    assert points.high == 2 and points.risk()[1] < 0.2
    new = np.full(20, 10.0)  # the feature of every other point
    assert (model.predict(np.outer(new, sample), diag=new**2) == -1).all()
