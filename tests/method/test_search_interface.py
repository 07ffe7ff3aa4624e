"""Behind scikit-learn's searches: what ``score`` means and who judges."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lpsvdd import LpSVDD
from lpsvdd.selection import TargetFolds
from replication.baselines import KernelMean

RNG = np.random.default_rng(9)
X = np.vstack([RNG.normal(size=(60, 3)), RNG.normal(loc=2.2, size=(20, 3))])
Y = np.r_[np.ones(60, dtype=int), -np.ones(20, dtype=int)]
ORDER = RNG.permutation(80)
X, Y = X[ORDER], Y[ORDER]


def test_score_is_the_auc():
    model = LpSVDD(C=0.1).fit(X[Y > 0])
    assert model.score(X, Y) == roc_auc_score(Y, model.score_samples(X))
    assert KernelMean().fit(X[Y > 0]).score(X, Y) > 0.8
    with pytest.raises(ValueError, match="LpSVDDCV chooses parameters without labels"):
        model.score(X)
    for y in (np.ones(80), np.arange(80) % 2, Y.astype(str)):  # scikit-learn's checks do that
        with pytest.warns(UserWarning, match="LpSVDDCV chooses parameters without labels"):
            assert np.isnan(model.score(X, y))


def test_a_search_without_scoring_maximises_the_auc():
    pipeline = make_pipeline(StandardScaler(), LpSVDD())
    grid = {"lpsvdd__C": [0.02, 0.1], "lpsvdd__p": [1.5, 2.0]}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="radius_sq_")
        plain = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, Y)
        named = GridSearchCV(pipeline, grid, cv=3, error_score="raise", scoring="roc_auc")
        named.fit(X, Y)
    np.testing.assert_array_equal(
        plain.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"]
    )
    assert plain.best_params_ == named.best_params_ and plain.score(X, Y) > 0.8


def test_a_search_without_labels_tells_what_to_do():
    search = GridSearchCV(LpSVDD(), {"C": [0.1, 1.0]}, cv=2, error_score="raise")
    with pytest.raises(ValueError, match="LpSVDDCV chooses parameters without labels"):
        search.fit(X)
    with pytest.warns(UserWarning, match="LpSVDDCV chooses parameters without labels"):
        GridSearchCV(LpSVDD(), {"C": [0.1]}, cv=2, refit=False).fit(X)


def test_target_folds_train_on_targets_and_judge_on_both():
    seen = []
    for train, test in TargetFolds(4, shuffle=True, random_state=0).split(X, Y):
        assert (Y[train] == 1).all() and not set(train) & set(test)
        assert (Y[test] == -1).sum() == 5
        seen += list(test)
    assert sorted(seen) == list(range(80))
    model = LpSVDD(C=0.1)
    found = cross_val_score(model, X, Y, cv=TargetFolds(4))
    expected = [
        model.fit(X[train]).score(X[test], Y[test]) for train, test in TargetFolds(4).split(X, Y)
    ]
    np.testing.assert_allclose(found, expected)
