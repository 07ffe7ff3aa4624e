"""LpSVDD as a scikit-learn citizen: composition, attributes, costs, thresholds, digits."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lpsvdd import LpSVDD, solve

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(40, 3)), RNG.normal(2.5, 1.0, size=(10, 3))])
Y = np.repeat([1.0, -1.0], [40, 10])
WEIGHT = np.linspace(0.5, 2.0, 50)
TARGETS = X[:40]


def test_a_pipeline_passes_rows_labels_and_weights_on():
    pipe = make_pipeline(StandardScaler(), LpSVDD()).fit(X, Y, lpsvdd__sample_weight=WEIGHT)
    scaled = StandardScaler().fit_transform(X)
    direct = LpSVDD().fit(scaled, Y, sample_weight=WEIGHT)
    assert pipe[-1].alpha_ == pytest.approx(direct.alpha_, abs=1e-6)
    assert pipe.decision_function(X) == pytest.approx(direct.decision_function(scaled), abs=1e-6)


def test_grid_search_slices_a_precomputed_kernel_on_both_axes():
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    options = {"scoring": "roc_auc", "cv": cv, "error_score": "raise"}
    grid = {"C": [0.5, 5.0], "C_neg": [0.1, 1.0]}
    on_kernel = GridSearchCV(LpSVDD(kernel="precomputed"), grid, **options)
    on_data = GridSearchCV(LpSVDD(gamma=0.2), grid, **options).fit(X, Y)
    found = on_kernel.fit(rbf_kernel(X, gamma=0.2), Y).cv_results_["mean_test_score"]
    assert found == pytest.approx(on_data.cv_results_["mean_test_score"])
    assert on_data.best_score_ > 0.8


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_attributes_are_what_the_documentation_says(p):
    model = LpSVDD(p=p, C=0.5, C_neg=0.2).fit(X, Y)
    K = rbf_kernel(X, gamma=model.gamma_)
    beta = Y * model.alpha_
    d = np.diag(K) - 2.0 * K @ beta + beta @ K @ beta
    assert Y @ model.alpha_ == pytest.approx(1.0, abs=1e-9) and (model.alpha_ >= 0).all()
    assert np.array_equal(model.support_, np.flatnonzero(model.alpha_ > 0))
    assert np.array_equal(model.dual_coef_, beta[model.support_])
    assert model.score_samples(X) == pytest.approx(-d, abs=1e-9)
    assert model.offset_ == -model.radius_sq_
    assert model.decision_function(X) == pytest.approx(model.radius_sq_ - d, abs=1e-9)
    assert np.array_equal(model.predict(X), np.where(model.decision_function(X) >= 0, 1, -1))
    assert model.slack_ == pytest.approx(np.maximum(Y * (d - model.radius_sq_), 0), abs=1e-9)
    assert -1e-11 <= model.duality_gap_ <= model.tol  # below zero by rounding only
    assert model.n_iter_ >= 1
    if p > 1.0:  # support vectors are the samples on the wrong side
        margin = Y * model.decision_function(X)
        firm = np.abs(margin) > 1e-6
        assert np.array_equal((margin < 0)[firm], (model.alpha_ > 1e-8)[firm])


@pytest.mark.parametrize("C_neg", [None, 0.02])
def test_costs_reach_the_solver_class_by_class(C_neg):
    rows = np.vstack([TARGETS, TARGETS[::4]])  # outliers where targets are: their cost matters
    model = LpSVDD(p=1.5, C=0.3, C_neg=C_neg, gamma=0.3).fit(rows, Y, sample_weight=WEIGHT)
    cost = np.where(Y > 0, 0.3, 0.3 if C_neg is None else C_neg) * WEIGHT
    wanted = solve(rbf_kernel(rows, gamma=0.3), Y, p=1.5, c=cost)
    assert wanted.alpha[Y < 0].sum() > 1e-3
    assert model.alpha_ == pytest.approx(wanted.alpha, abs=1e-5)


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_contamination_is_a_quantile_of_the_positive_training_scores(share):
    model = LpSVDD(contamination=share).fit(X, Y)
    assert model.offset_ == pytest.approx(np.quantile(model.score_samples(TARGETS), share))
    assert np.mean(model.predict(TARGETS) < 0) == pytest.approx(share, abs=1 / 40)


@pytest.mark.parametrize("solver", ["dense", "working-set"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_contamination_at_p_one_misses_its_share_by_equal_scores_only(kernel, solver):
    """Most rows lie on the surface, their scores one ulp apart."""
    rows = make_blobs(300, random_state=0)[0]
    for share in (0.05, 0.1, 0.2):
        model = LpSVDD(p=1.0, kernel=kernel, solver=solver, contamination=share).fit(rows)
        ranked = np.sort(model.decision_function(rows))
        rejected, wanted = int((model.predict(rows) < 0).sum()), round(300 * share)
        assert rejected <= wanted
        assert rejected == wanted or np.ptp(ranked[rejected : wanted + 1]) == 0.0


def test_rethreshold_moves_the_threshold_and_nothing_else():
    model = LpSVDD().fit(X, Y)
    held_out, fresh = RNG.normal(size=(199, 3)), RNG.normal(size=(4000, 3))
    scores, alpha = model.score_samples(held_out), model.alpha_.copy()
    assert model.rethreshold(held_out, quantile=0.3) is model
    assert model.offset_ == pytest.approx(np.quantile(scores, 0.3))
    model.rethreshold(held_out, false_alarm_rate=0.1)
    assert model.offset_ == pytest.approx(np.sort(scores)[19])  # 20th of 199: 20/(199 + 1) = 0.1
    assert np.mean(model.predict(held_out) < 0) <= 0.1
    assert np.mean(model.predict(fresh) < 0) == pytest.approx(0.1, abs=0.06)
    assert np.array_equal(model.alpha_, alpha)
    assert model.score_samples(held_out) == pytest.approx(scores)


def test_a_radius_below_zero_is_explained_and_can_be_mended():
    with pytest.warns(UserWarning, match=r"radius_sq_ = .* <= 0.*contamination"):
        model = LpSVDD(p=2.0, C=1e-3).fit(X, Y)
    assert model.radius_sq_ < 0 and (model.predict(X) == -1).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        thresholded = LpSVDD(p=2.0, C=1e-3, contamination=0.1).fit(X, Y)
    assert np.mean(thresholded.predict(TARGETS) == 1) == pytest.approx(0.9, abs=0.03)
    assert (model.rethreshold(TARGETS, quantile=0.1).predict(X) == thresholded.predict(X)).all()


def test_far_from_the_origin_linear_scores_keep_their_digits():
    here, there = (LpSVDD(p=3.0, kernel="linear").fit(Z, Y) for Z in (X, X + 1e6))
    assert there.score_samples(X + 1e6) == pytest.approx(here.score_samples(X), rel=1e-6)
    assert there.offset_ == pytest.approx(here.offset_, rel=1e-6)
    assert here.score_samples(X) == pytest.approx(-((X - here.centre_) ** 2).sum(axis=1))
    assert here.centre_ == pytest.approx(here.dual_coef_ @ X[here.support_], abs=1e-9)


def test_a_kernel_that_cannot_tell_samples_apart_is_named():
    rows = X.copy()
    rows[7, 1] = 1e100
    with pytest.warns(UserWarning, match="cannot tell 49 of 50 samples apart"):
        LpSVDD().fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LpSVDD(contamination=0.1).fit(np.ones((20, 2)))  # equal samples are no collapse
