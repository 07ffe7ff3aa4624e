"""LpSVDD as a scikit-learn citizen: conventions, composition, kernels, weights, thresholds."""

from __future__ import annotations

import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from lpsvdd import LpSVDD, solve


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    """Forty targets and ten labelled outliers in three dimensions."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(40, 3)), rng.normal(2.5, 1.0, size=(10, 3))])
    return X, np.r_[np.ones(40), -np.ones(10)]


@pytest.mark.parametrize(
    "estimator",
    [
        LpSVDD(),
        LpSVDD(p=1.0, nu=0.2),
        LpSVDD(p=1.2, kernel="linear", contamination=0.1),
        LpSVDD(p=5.0, kernel="poly", degree=2, gamma=0.1),
    ],
    ids=lambda e: f"p={e.p}-{e.kernel}",
)
def test_passes_every_check_of_scikit_learn(estimator):
    with warnings.catch_warnings():
        # The checks fit tiny and odd data; "R^2 <= 0" and "labels ignored" are right there.
        warnings.filterwarnings("ignore", message="radius_sq_", category=UserWarning)
        warnings.filterwarnings("ignore", message="y holds class labels", category=UserWarning)
        warnings.filterwarnings("ignore", message="score compares", category=UserWarning)
        check_estimator(estimator)


# -- composition ------------------------------------------------------------------------------


def test_works_at_the_end_of_a_pipeline(data):
    X, y = data
    pipe = make_pipeline(StandardScaler(), LpSVDD(p=1.5)).fit(X[y > 0])
    alone = LpSVDD(p=1.5).fit(StandardScaler().fit_transform(X[y > 0]))
    scaled = StandardScaler().fit(X[y > 0]).transform(X)
    assert np.array_equal(pipe.decision_function(X), alone.decision_function(scaled))


def test_pipeline_passes_weights_on(data):
    X, y = data
    weight = np.linspace(0.5, 2.0, 50)
    pipe = make_pipeline(StandardScaler(), LpSVDD()).fit(X, y, lpsvdd__sample_weight=weight)
    direct = LpSVDD().fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    assert np.array_equal(pipe[-1].alpha_, direct.alpha_)


def test_grid_search_chooses_parameters_with_labels(data):
    X, y = data
    grid = {"p": [1.2, 2.0, 5.0], "C": [0.1, 1.0], "C_neg": [0.1, 1.0]}
    search = GridSearchCV(
        LpSVDD(contamination=0.1),
        grid,
        scoring="roc_auc",
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
        error_score="raise",
    ).fit(X, y)
    assert set(search.best_params_) == set(grid)
    assert search.best_score_ > 0.8
    best = LpSVDD(contamination=0.1, **search.best_params_).fit(X, y)
    assert np.array_equal(search.decision_function(X), best.decision_function(X))


def test_grid_search_slices_a_precomputed_kernel_on_both_axes(data):
    X, y = data
    K = rbf_kernel(X, gamma=0.2)
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    options = {"scoring": "roc_auc", "cv": cv, "error_score": "raise"}
    on_kernel = GridSearchCV(LpSVDD(kernel="precomputed"), {"C": [0.5, 5.0]}, **options).fit(K, y)
    on_data = GridSearchCV(LpSVDD(gamma=0.2), {"C": [0.5, 5.0]}, **options).fit(X, y)
    assert on_kernel.cv_results_["mean_test_score"] == pytest.approx(
        on_data.cv_results_["mean_test_score"]
    )


def test_clone_forgets_what_was_learnt_and_keeps_parameters(data):
    model = LpSVDD(p=1.3, C=2.0, C_neg=0.5, gamma=0.4, contamination=0.2, tol=1e-8)
    parameters = model.get_params()
    model.fit(*data)
    assert model.get_params() == parameters  # fit changes no parameter
    copy = clone(model)
    assert copy.get_params() == parameters and not hasattr(copy, "alpha_")


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_pickle_and_joblib_keep_every_digit(data, kernel, tmp_path):
    X, y = data
    model = LpSVDD(p=1.5, kernel=kernel, gamma=0.2, degree=2, contamination=0.1).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        assert np.array_equal(copy.decision_function(X), model.decision_function(X))


def test_fits_in_parallel_give_what_fits_in_sequence_give(data):
    X, y = data
    exponents = [1.1, 2.0, 5.0]
    parallel = joblib.Parallel(n_jobs=2, prefer="threads")(
        joblib.delayed(LpSVDD(p=p).fit)(X, y) for p in exponents
    )
    for p, model in zip(exponents, parallel, strict=True):
        assert np.array_equal(model.alpha_, LpSVDD(p=p).fit(X, y).alpha_)


def test_data_frames_bring_their_feature_names(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = LpSVDD().fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"] and model.n_features_in_ == 3
    assert np.array_equal(model.score_samples(frame), LpSVDD().fit(X, y).score_samples(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)


# -- what the attributes mean -----------------------------------------------------------------


@pytest.mark.parametrize("p", [1.0, 1.2, 2.0, 5.0])
def test_attributes_are_what_the_documentation_says(data, p):
    X, y = data
    model = LpSVDD(p=p, C=0.5, C_neg=0.2).fit(X, y)
    K = rbf_kernel(X, gamma=model.gamma_)
    beta = y * model.alpha_
    d = np.diag(K) - 2.0 * K @ beta + beta @ K @ beta
    assert model.alpha_.shape == model.slack_.shape == (50,)
    assert y @ model.alpha_ == pytest.approx(1.0, abs=1e-12) and (model.alpha_ >= 0).all()
    assert np.array_equal(model.support_, np.flatnonzero(model.alpha_ > 0))
    assert np.array_equal(model.dual_coef_, beta[model.support_])
    assert model.score_samples(X) == pytest.approx(-d, abs=1e-12)
    assert model.offset_ == -model.radius_sq_
    assert model.decision_function(X) == pytest.approx(model.radius_sq_ - d, abs=1e-12)
    assert np.array_equal(model.predict(X), np.where(model.decision_function(X) >= 0, 1, -1))
    assert model.slack_ == pytest.approx(np.maximum(y * (d - model.radius_sq_), 0), abs=1e-9)
    assert 0.0 <= model.duality_gap_ <= 1e-9 or abs(model.duality_gap_) <= 1e-14
    assert model.n_iter_ >= 1


def test_for_p_above_one_support_vectors_are_the_samples_on_the_wrong_side(data):
    X, y = data
    model = LpSVDD(p=2.0, C=0.5).fit(X, y)
    margin = y * model.decision_function(X)
    firm = np.abs(margin) > 1e-6
    assert np.array_equal((margin < 0)[firm], (model.alpha_ > 1e-8)[firm])


def test_labels_of_outliers_push_the_ball_away():
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(size=(40, 2)), rng.normal(1.5, 0.5, size=(10, 2))])
    y = np.r_[np.ones(40), -np.ones(10)]
    with_labels = LpSVDD(p=2.0, C=5.0).fit(X, y)
    without = LpSVDD(p=2.0, C=5.0, gamma=with_labels.gamma_).fit(X[y > 0])
    assert with_labels.alpha_[y < 0].sum() > 0.01
    auc = [roc_auc_score(y, m.score_samples(X)) for m in (with_labels, without)]
    assert auc[0] > auc[1]


def test_labels_all_positive_are_no_labels(data):
    X, _ = data
    assert np.array_equal(LpSVDD().fit(X, np.ones(50)).alpha_, LpSVDD().fit(X).alpha_)


# -- kernels ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, by_hand",
    [
        ({"kernel": "rbf", "gamma": 0.3}, lambda a, b: rbf_kernel(a, b, gamma=0.3)),
        ({"kernel": "linear"}, lambda a, b: a @ b.T),
        (
            {"kernel": "poly", "gamma": 0.3, "degree": 2, "coef0": 0.5},
            lambda a, b: polynomial_kernel(a, b, degree=2, gamma=0.3, coef0=0.5),
        ),
        ({"kernel": lambda a, b: (1.0 + a @ b) ** 2}, lambda a, b: (1.0 + a @ b.T) ** 2),
    ],
    ids=["rbf", "linear", "poly", "callable"],
)
def test_every_kernel_equals_its_precomputed_matrix(data, options, by_hand):
    X, y = data
    Z = X[::3] + 0.1
    direct = LpSVDD(p=1.5, **options).fit(X, y)
    pre = LpSVDD(p=1.5, kernel="precomputed").fit(by_hand(X, X), y)
    scores = pre.score_samples(by_hand(Z, X), diag=np.diag(by_hand(Z, Z)))
    size = np.abs(scores).max()
    assert direct.score_samples(Z) == pytest.approx(scores, abs=1e-6 * size)
    assert direct.radius_sq_ == pytest.approx(pre.radius_sq_, abs=1e-6 * size)


def test_precomputed_kernel_knows_when_the_diagonal_is_needed(data):
    X, y = data
    gaussian = rbf_kernel(X, gamma=0.3)
    model = LpSVDD(kernel="precomputed").fit(gaussian, y)
    scores = model.score_samples(gaussian)
    assert np.array_equal(scores, model.score_samples(gaussian, diag=np.ones(50)))
    assert np.array_equal(
        model.decision_function(gaussian, diag=np.ones(50)), scores - model.offset_
    )
    linear = LpSVDD(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="diag"):
        linear.score_samples(X @ X.T)
    norms = np.einsum("ij,ij->i", X, X)
    assert linear.predict(X @ X.T, diag=norms).shape == (50,)
    with pytest.raises(ValueError, match="diag"):
        linear.score_samples(X @ X.T, diag=norms[:-1])
    with pytest.raises(ValueError, match="diag"):
        LpSVDD().fit(X).score_samples(X, diag=np.ones(50))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_a_point_alone_scores_as_in_a_batch(data, kernel):
    X, y = data
    model = LpSVDD(p=1.5, kernel=kernel, gamma=0.2, degree=2).fit(X, y)
    batch = model.score_samples(X)
    alone = np.array([model.score_samples(row[None])[0] for row in X])
    if kernel == "rbf":
        assert np.array_equal(alone, batch)
    assert alone == pytest.approx(batch, rel=1e-12)
    assert np.array_equal([model.predict(row[None])[0] for row in X], model.predict(X))


# -- weights ----------------------------------------------------------------------------------


def test_weight_two_is_two_copies_for_the_width_too(data):
    X, y = data
    weight = np.where(np.arange(50) % 3 == 0, 2.0, 1.0)
    copies = np.repeat(np.arange(50), weight.astype(int))
    weighted = LpSVDD(p=1.3, C=0.3).fit(X, y, sample_weight=weight)
    copied = LpSVDD(p=1.3, C=0.3).fit(X[copies], y[copies], sample_weight=np.ones(len(copies)))
    assert weighted.gamma_ == pytest.approx(copied.gamma_, rel=1e-12)
    assert weighted.score_samples(X) == pytest.approx(copied.score_samples(X), abs=1e-6)


def test_a_sparse_matrix_is_its_dense_one(data):
    X, y = data
    X = np.where(X > 0.5, X, 0.0)
    dense = LpSVDD(p=1.5, C=0.3).fit(X, y)
    for kind in (sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix):
        model = LpSVDD(p=1.5, C=0.3).fit(kind(X), y)
        assert np.array_equal(model.score_samples(kind(X)), dense.score_samples(X))
    with pytest.raises(MemoryError, match="TruncatedSVD"):
        LpSVDD().fit(sparse.csr_matrix((10**6, 10**7)))


def test_weight_zero_removes_a_sample(data):
    X, y = data
    kept = np.arange(50) % 4 != 0
    weighted = LpSVDD(gamma=0.2).fit(X, y, sample_weight=kept.astype(float))
    removed = LpSVDD(gamma=0.2).fit(X[kept], y[kept])
    assert (weighted.alpha_[~kept] == 0).all()
    assert weighted.score_samples(X) == pytest.approx(removed.score_samples(X), abs=1e-8)
    with pytest.raises(ValueError, match="sample_weight"):
        LpSVDD().fit(X, y, sample_weight=(y < 0).astype(float))
    with pytest.raises(ValueError, match="sample_weight|[Nn]egative"):
        LpSVDD().fit(X, y, sample_weight=-np.ones(50))


# -- thresholds -------------------------------------------------------------------------------


@pytest.mark.parametrize("C_neg", [None, 0.02])
def test_costs_reach_the_solver_class_by_class(data, C_neg):
    X, y = data
    X = np.vstack([X[:40], 0.4 * X[40:]])  # labelled outliers inside, so that their cost matters
    weight = np.linspace(0.5, 2.0, 50)
    model = LpSVDD(p=1.5, C=0.3, C_neg=C_neg, gamma=0.3).fit(X, y, sample_weight=weight)
    cost = np.where(y > 0, 0.3, 0.3 if C_neg is None else C_neg) * weight
    wanted = solve(rbf_kernel(X, gamma=0.3), y, p=1.5, c=cost)
    assert wanted.alpha[y < 0].sum() > 1e-3
    assert model.alpha_ == pytest.approx(wanted.alpha, abs=1e-5)


def test_nu_counts_positive_weight_only(data):
    """C = 1/(nu · sum of the positives' weights): labelled outliers do not enter."""
    X, y = data
    weight = np.linspace(0.5, 2.0, 50)
    for w, total in ((None, 40.0), (weight, weight[:40].sum())):
        by_share = LpSVDD(p=1.0, nu=0.2, gamma=0.3).fit(X, y, sample_weight=w)
        by_cost = LpSVDD(p=1.0, C=1.0 / (0.2 * total), gamma=0.3).fit(X, y, sample_weight=w)
        assert by_share.alpha_ == pytest.approx(by_cost.alpha_, abs=1e-9)
        assert by_share.radius_sq_ == pytest.approx(by_cost.radius_sq_)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_contamination_is_a_quantile_of_the_positive_training_scores(data, share):
    X, y = data
    model = LpSVDD(contamination=share).fit(X, y)
    positive = model.score_samples(X[y > 0])
    assert model.offset_ == pytest.approx(np.quantile(positive, share))
    assert np.mean(model.predict(X[y > 0]) < 0) == pytest.approx(share, abs=1 / 40)


@pytest.mark.parametrize("C", [0.2, 1.0, 5.0, 100.0])
def test_at_p_one_the_hard_ball_accepts_every_training_sample(data, C):
    X, _ = data
    model = LpSVDD(p=1.0, C=C).fit(X)
    if C >= 1.0:
        assert (model.predict(X) == 1).all()
    outside = model.predict(X) == -1
    np.testing.assert_allclose(model.alpha_[outside], C, rtol=1e-6)


def test_fit_predict_knows_the_training_diagonal(data):
    X, _ = data
    np.testing.assert_array_equal(
        LpSVDD(kernel="precomputed").fit_predict(X @ X.T), LpSVDD(kernel="linear").fit_predict(X)
    )


def test_rethreshold_moves_the_threshold_and_nothing_else(data):
    X, y = data
    model = LpSVDD().fit(X, y)
    held_out = np.random.default_rng(5).normal(size=(199, 3))
    scores = model.score_samples(held_out)
    alpha = model.alpha_.copy()
    assert model.rethreshold(held_out, quantile=0.3) is model
    assert model.offset_ == pytest.approx(np.quantile(scores, 0.3))
    model.rethreshold(held_out, false_alarm_rate=0.1)
    assert model.offset_ == np.sort(scores)[19]  # the 20th of 199: 20/(199 + 1) = 0.1
    assert np.mean(model.predict(held_out) < 0) <= 0.1
    fresh = np.random.default_rng(6).normal(size=(4000, 3))
    assert np.mean(model.predict(fresh) < 0) == pytest.approx(0.1, abs=0.06)
    assert np.array_equal(model.alpha_, alpha)
    assert np.array_equal(model.score_samples(held_out), scores)


@pytest.mark.parametrize(
    "options, named",
    [
        ({}, "quantile"),
        ({"quantile": 0.1, "false_alarm_rate": 0.1}, "quantile"),
        ({"quantile": 1.0}, "quantile"),
        ({"false_alarm_rate": -0.1}, "false_alarm_rate"),
    ],
)
def test_rethreshold_refuses_unclear_requests(data, options, named):
    model = LpSVDD().fit(*data)
    with pytest.raises(ValueError, match=named):
        model.rethreshold(data[0], **options)


def test_a_radius_below_zero_is_explained_and_can_be_mended(data):
    X, y = data
    with pytest.warns(UserWarning, match=r"radius_sq_ = .* <= 0.*contamination"):
        model = LpSVDD(p=2.0, C=1e-3).fit(X, y)
    assert model.radius_sq_ < 0 and (model.predict(X) == -1).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        thresholded = LpSVDD(p=2.0, C=1e-3, contamination=0.1).fit(X, y)
    assert np.mean(thresholded.predict(X[y > 0]) == 1) == pytest.approx(0.9, abs=0.03)
    assert (model.rethreshold(X[y > 0], quantile=0.1).predict(X) == thresholded.predict(X)).all()


# -- bad input --------------------------------------------------------------------------------

X_GOOD = np.random.default_rng(1).normal(size=(6, 2))
LABELS = np.array([1, 1, 1, 1, -1, -1])


@pytest.mark.parametrize(
    "X, y, error, words",
    [
        (np.where(X_GOOD > 1.0, np.nan, X_GOOD) * [[np.nan, 1.0]], None, ValueError, "NaN"),
        (np.full((6, 2), np.inf), None, ValueError, "infinity"),
        (np.empty((0, 2)), None, ValueError, "0 sample"),
        (np.ones(6), None, ValueError, "2D array"),
        (X_GOOD, np.array([1, 1, 1, 1, 0, -1]), ValueError, r"\by\b"),
        (X_GOOD, np.array([2.5, 1, 1, 1, 1, -1]), ValueError, r"\by\b"),
        (X_GOOD, -np.ones(6), ValueError, r"\by\b.*no positive"),
        (X_GOOD, np.ones(5), ValueError, r"\by\b|inconsistent"),
        (X_GOOD, np.array(list("aabbaa")), ValueError, r"\by\b"),
        (X_GOOD, np.array([1, 1, 1, 1, np.nan, -1]), ValueError, r"\by\b"),
    ],
    ids=[
        "nan",
        "inf",
        "empty",
        "1-D",
        "y 0",
        "y 2.5",
        "no +1",
        "y short",
        "y text",
        "y nan",
    ],
)
def test_bad_data_are_refused_by_name(X, y, error, words):
    with pytest.raises(error, match=words):
        LpSVDD().fit(X, y)


@pytest.mark.parametrize(
    "options, named",
    [
        ({"p": 0.5}, "p"),
        ({"p": np.inf}, "p"),
        ({"p": np.nan}, "p"),
        ({"p": "2"}, "p"),
        ({"C": 0.0}, "C"),
        ({"C": -1.0}, "C"),
        ({"C": np.inf}, "C"),
        ({"C": "big"}, "C"),
        ({"C_neg": 0.0}, "C_neg"),
        ({"kernel": "sigmoid"}, "kernel"),
        ({"gamma": -1.0}, "gamma"),
        ({"gamma": "median"}, "gamma"),
        ({"contamination": 0.0}, "contamination"),
        ({"contamination": 0.6}, "contamination"),
        ({"tol": 0.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"nu": 0.0}, "nu"),
        ({"p": 1.0, "nu": 1.5}, "nu"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_by_name(options, named):
    with pytest.raises((ValueError, TypeError), match=rf"\b{named}\b"):
        LpSVDD(**options).fit(X_GOOD, LABELS)


@pytest.mark.parametrize(
    "K, words",
    [
        (np.ones((6, 5)), "square"),
        (np.triu(np.ones((6, 6))), "symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "eigenvalue is -1"),
    ],
    ids=["shape", "not symmetric", "indefinite"],
)
def test_bad_kernels_are_refused_by_name(K, words):
    with pytest.raises(ValueError, match=words):
        LpSVDD(kernel="precomputed").fit(K)


def test_prediction_before_fit_and_with_other_width_is_refused():
    with pytest.raises(ValueError, match="not fitted"):
        LpSVDD().predict(X_GOOD)
    with pytest.raises(ValueError, match="features"):
        LpSVDD().fit(X_GOOD).predict(X_GOOD[:, :1])


# -- scores come from the centre --------------------------------------------------------------


def test_far_from_the_origin_linear_scores_keep_their_digits(data):
    X, y = data
    here, there = (LpSVDD(p=3.0, kernel="linear").fit(Z, y) for Z in (X, X + 1e6))
    assert there.score_samples(X + 1e6) == pytest.approx(here.score_samples(X), rel=1e-6)
    assert here.score_samples(X) == pytest.approx(-((X - here.centre_) ** 2).sum(axis=1))
    assert here.centre_ == pytest.approx(here.dual_coef_ @ X[here.support_], abs=1e-9)


def test_scores_do_not_depend_on_how_many_are_asked_for(data, monkeypatch):
    X, y = data
    model = LpSVDD(p=1.5).fit(X, y)
    whole = model.score_samples(X)
    monkeypatch.setattr("lpsvdd.estimators.BLOCK", 3 * len(model.centre_rows_))
    assert np.array_equal(model.score_samples(X), whole)


# -- samples that are no measurements ---------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize(
    "change, words",
    [
        (lambda X: X * 1e-300, "underflow"),
        (lambda X: X * 1e-160, "underflow"),
        (lambda X: X * 1e200, "overflow"),
        (lambda X: np.where(np.arange(X.size).reshape(X.shape) == 7, 1e308, X), "overflow"),
    ],
    ids=["1e-300", "1e-160", "1e200", "one cell"],
)
def test_samples_too_small_or_large_for_squares_are_refused(data, kernel, change, words):
    with pytest.raises(ValueError, match=f"X .*{words}"):
        LpSVDD(kernel=kernel).fit(change(data[0]))


def test_a_kernel_that_cannot_tell_samples_apart_is_named(data):
    X = data[0].copy()
    X[7, 1] = 1e100
    with pytest.warns(UserWarning, match="cannot tell 49 of 50 samples apart"):
        LpSVDD().fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LpSVDD(contamination=0.1).fit(np.ones((20, 2)))  # equal samples are no collapse


def test_a_kernel_matrix_whose_sums_overflow_is_refused():
    with pytest.raises(ValueError, match="overflow"):
        LpSVDD(kernel="precomputed").fit(1e307 * np.eye(20))
