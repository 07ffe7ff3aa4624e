"""One contract of every detector: scikit-learn's checks, files, refits, kernels, odd data."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from lpsvdd import ConformalDetector, LpSVDD, LpSVDDCV, load_model, save
from replication.baselines import KNFST, GaussianProcessOCC, KernelMean, KernelPCAOCC

RNG = np.random.default_rng(3)
X, NEW = RNG.normal(size=(40, 3)), RNG.normal(scale=2.0, size=(25, 3))
LABELS = np.repeat([1, -1], [30, 10])
BASELINES = [
    KernelMean(gamma=0.4),
    *[GaussianProcessOCC(gamma=0.4, criterion=c) for c in ("mean", "variance", "logprob", "ratio")],
    KernelPCAOCC(gamma=0.4, n_components=4),
    *[KNFST(gamma=0.4, variant=v) for v in "ABC"],
]
BALLS = [
    LpSVDD(p=1.3, C=0.2, gamma=0.4),
    LpSVDD(p=1.0, nu=0.2, gamma=0.4),
    LpSVDD(p=5.0, C=0.2, gamma=0.4, contamination=0.1),
]
CONFORMAL = ConformalDetector(LpSVDD(C=0.3, gamma=0.3), random_state=0)
SEARCH = LpSVDDCV(gammas=[0.1, 0.5], random_state=0)
AROUND_OTHERS = [
    LpSVDD(solver="landmarks", landmarks=8),
    make_pipeline(StandardScaler(), PCA(2), LpSVDD()),
    make_pipeline(SimpleImputer(), StandardScaler(), LpSVDD(C=0.5)),
    SEARCH,
    ConformalDetector(make_pipeline(StandardScaler(), LpSVDD()), random_state=0),
    ConformalDetector(LpSVDDCV(gammas=[0.1], cv=2), method="cross", n_folds=2, random_state=0),
]


def over(detectors, *slow):
    """Each detector, a clone of its own for every test."""
    marked = [pytest.param(clone(one), marks=pytest.mark.slow) for one in slow]
    return pytest.mark.parametrize(
        "detector", [*map(clone, detectors), *marked], ids=lambda d: str(d)[:40]
    )


@over(
    [LpSVDD(), KernelMean(), GaussianProcessOCC(), KernelPCAOCC(), KNFST()],
    LpSVDD(p=1.0, nu=0.2),
    LpSVDD(p=1.2, kernel="linear", contamination=0.1),
    LpSVDD(p=5.0, kernel="poly", degree=2, gamma=0.1),
    LpSVDDCV(random_state=0),
    CONFORMAL,
    clone(CONFORMAL).set_params(method="cross"),
)
def test_detector_passes_every_check_of_scikit_learn(detector):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks fit tiny and odd data
        results = check_estimator(detector, on_skip=None)
    applied = [one for one in results if not one["check_name"].startswith("check_array_api")]
    assert len(applied) > 30 and all(one["status"] == "passed" for one in applied)


@over([*BALLS, LpSVDD(kernel="linear"), LpSVDD(kernel="poly"), *AROUND_OTHERS, *BASELINES])
def test_files_pickles_clones_and_single_rows_give_the_same_scores(detector, tmp_path):
    parameters = str(detector.get_params())
    detector.fit(X)
    scores, verdicts = detector.score_samples(NEW), detector.predict(NEW)
    copies = [pickle.loads(pickle.dumps(detector))]
    if not type(detector).__module__.startswith("replication."):
        save(detector, tmp_path / "model.lpsvdd")
        copies.append(load_model(tmp_path / "model.lpsvdd"))
    for again in copies:
        assert type(again) is type(detector) and str(again.get_params()) == parameters
        np.testing.assert_array_equal(again.score_samples(NEW), scores)
        np.testing.assert_array_equal(again.predict(NEW), verdicts)
    alone = np.array([detector.score_samples(row[None])[0] for row in NEW])
    np.testing.assert_allclose(alone, scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal([detector.predict(row[None])[0] for row in NEW], verdicts)
    assert str(detector.get_params()) == parameters  # fit changes no parameter
    copy = clone(detector)
    assert str(copy.get_params()) == parameters and not hasattr(copy, "n_features_in_")


@over([*BALLS, *BASELINES, SEARCH, CONFORMAL, AROUND_OTHERS[0], LpSVDD(solver="working-set")])
def test_a_refit_that_fails_leaves_the_old_model(detector):
    detector.fit(X)
    before = dict(vars(detector))
    with pytest.raises(ValueError, match="NaN"):
        detector.fit(
            pd.DataFrame(np.where(np.arange(40)[:, None] == 39, np.nan, X)).add_prefix("x")
        )
    assert vars(detector) == before and detector.score_samples(NEW).shape == (25,)


def test_a_model_saved_before_a_parameter_existed_has_its_default():
    model = LpSVDD(C=0.3).fit(X)
    del model.surface
    again = pickle.loads(pickle.dumps(model))
    assert again.surface == "auto" and again.get_params() == LpSVDD(C=0.3).get_params()


@over([*BALLS, *BASELINES])
def test_neither_data_frames_nor_the_order_of_rows_change_a_score(detector):
    scores = detector.fit(X).score_samples(NEW)
    shuffled = clone(detector).fit(X[np.random.default_rng(1).permutation(40)]).score_samples(NEW)
    np.testing.assert_allclose(shuffled, scores, rtol=1e-6, atol=1e-6)
    frame, new = (pd.DataFrame(rows, columns=["a", "b", "c"]) for rows in (X, NEW))
    named = clone(detector).fit(frame)
    assert named.feature_names_in_.tolist() == ["a", "b", "c"] and named.n_features_in_ == 3
    np.testing.assert_allclose(named.score_samples(new), scores, rtol=1e-6, atol=1e-6)
    with pytest.raises(ValueError, match="feature names"):
        named.predict(new[["b", "a", "c"]])


@over([LpSVDD(C=0.3), CONFORMAL])
def test_a_sparse_matrix_is_its_dense_one(detector):
    rows = np.where(X > 0.5, X, 0.0)
    dense = clone(detector).fit(rows).score_samples(rows)
    found = detector.fit(csr_matrix(rows)).score_samples(csr_matrix(rows))
    np.testing.assert_allclose(found, dense, atol=1e-6)


@over([SEARCH, CONFORMAL])
def test_a_dask_frame_is_its_computed_one(detector):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    lazy = type("DataFrame", (), {"__module__": "dask.dataframe", "compute": lambda self: frame})()
    expected = clone(detector).fit(frame).score_samples(frame)
    np.testing.assert_allclose(detector.fit(lazy).score_samples(lazy), expected, atol=1e-6)
    assert list(detector.feature_names_in_) == ["a", "b", "c"]


POLY = {"kernel": "poly", "gamma": 0.3, "degree": 2, "coef0": 0.5}
KERNELS = [
    ({"kernel": "rbf", "gamma": 0.4}, lambda a, b: rbf_kernel(a, b, gamma=0.4)),
    ({"kernel": "linear"}, lambda a, b: a @ b.T),
    (POLY, lambda a, b: polynomial_kernel(a, b, degree=2, gamma=0.3, coef0=0.5)),
    ({"kernel": lambda a, b: (1.0 + a @ b) ** 2}, lambda a, b: (1.0 + a @ b.T) ** 2),
]


@over([*BALLS, LpSVDD(p=1.0, C=0.2, solver="working-set"), *BASELINES])
def test_a_precomputed_kernel_gives_the_scores_of_the_rows(detector):
    # Kernels of low rank leave the methods that invert K nothing but rounding.
    for options, by_hand in KERNELS if isinstance(detector, LpSVDD) else KERNELS[:1]:
        expected = clone(detector).set_params(**options).fit(X).score_samples(NEW)
        given = clone(detector).set_params(kernel="precomputed").fit(by_hand(X, X))
        scores = given.score_samples(by_hand(NEW, X), diag=by_hand(NEW, NEW).diagonal())
        np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6 * np.abs(scores).max())
        if options["kernel"] == "rbf":  # k(x, x) is known to be one
            np.testing.assert_allclose(given.score_samples(by_hand(NEW, X)), scores, atol=1e-9)


@over(BASELINES)
def test_negatives_are_used_or_refused(detector):
    if not detector.uses_negatives:
        with pytest.raises(ValueError, match="y holds -1"):
            detector.fit(X, LABELS)
        return
    with_negatives = detector.fit(X, LABELS).score_samples(NEW)
    assert not np.allclose(with_negatives, detector.fit(X[:30]).score_samples(NEW))
    twice = detector.fit(np.vstack([X, X]), np.repeat([1, -1], 40))  # every row in both classes
    assert np.isfinite(twice.score_samples(NEW)).all()


ODD = {
    "two samples": np.array([[1.0, 2.0], [2.0, 0.0]]),
    "zeros": np.zeros((6, 2)),
    "duplicates": np.repeat(X[:8, :2], 3, axis=0),
    "constant": np.c_[X[:, 0], np.ones(40)],
    "rank 1": np.c_[X[:, :1], X[:, :1]],
    "tight": X[:, :2] * 1e-5 + 1.0,
}


@pytest.mark.filterwarnings("ignore:radius_sq_")
@over([*BALLS, *BASELINES])
def test_odd_rows_and_a_kernel_that_sees_no_difference_give_finite_scores(detector):
    for kernel in ("rbf", "linear", "poly"):
        for data in ODD.values():
            fitted = clone(detector).set_params(kernel=kernel).fit(data)
            queries = np.vstack([data, [[5.0, -3.0], [0.0, 0.0]]])
            assert np.isfinite(fitted.score_samples(queries)).all() and np.isfinite(fitted.offset_)
    wide = clone(detector).set_params(gamma=1e-5).fit(X)
    assert np.isfinite(wide.score_samples(np.vstack([X, NEW]))).all()
