"""Choosing parameters without outliers: the search, the criteria, the artificial outliers."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KernelDensity

from lpsvdd import LpSVDD, LpSVDDCV
from lpsvdd.selection import CRITERIA, KINDS, Fold, TargetFolds, artificial_outliers
from lpsvdd.selection._folds import FoldModel, ranking_auc
from replication.baselines import KernelMean

RNG = np.random.default_rng(3)
X = RNG.normal(size=(90, 3))
QUICK = {"gammas": [0.1, 1.0], "random_state": 0}


def ring(n, rng=RNG):
    """Points near a circle: no wide kernel describes them."""
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    radius = 1.0 + 0.05 * rng.normal(size=n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


# -- the estimator ----------------------------------------------------------------------------


def test_a_ring_gets_a_narrow_kernel_and_its_hole_is_outside():
    rng = np.random.default_rng(0)
    rows = ring(150, rng)
    model = LpSVDDCV(random_state=0).fit(rows)
    wide = LpSVDD(nu=0.1, gamma=model.cv_results_["param_gamma"].min()).fit(rows)
    normal, hole = ring(1000, rng), rng.normal(scale=0.2, size=(1000, 2))
    label = np.repeat([1, 0], 1000)
    found, plain = (
        roc_auc_score(label, m.score_samples(np.vstack([normal, hole]))) for m in (model, wide)
    )
    assert found > 0.99 and found > plain
    assert np.mean(model.predict(hole) < 0) > 0.95
    assert np.mean(model.predict(normal) < 0) < 0.2  # of new rows nu = 0.1 was wanted


def test_results_have_the_layout_of_grid_search():
    model = LpSVDDCV(p=[1.0, 2.0], nus=[0.1, 0.3], **QUICK).fit(X)
    results = model.cv_results_
    score = lambda estimator, rows, y=None: estimator.score_samples(rows).mean()  # noqa: E731
    grid = {"p": [1.0, 2.0], "nu": [0.1, 0.3], "gamma": [0.1, 1.0]}
    theirs = GridSearchCV(LpSVDD(), grid, scoring=score, cv=3).fit(X).cv_results_
    assert set(results) == set(theirs)
    assert {key: len(value) for key, value in results.items()} == dict.fromkeys(results, 8)
    assert len(pd.DataFrame(results)) == 8
    best = int(np.argmax(results["mean_test_score"]))
    assert model.best_index_ == best and results["rank_test_score"][best] == 1
    assert model.best_params_ == results["params"][best]
    assert model.best_score_ == results["mean_test_score"][best]
    splits = [results[f"split{j}_test_score"] for j in range(model.n_splits_)]
    assert results["mean_test_score"] == pytest.approx(np.mean(splits, axis=0))
    again = LpSVDD(**model.best_params_).fit(X)
    assert model.score_samples(X) == pytest.approx(again.score_samples(X), abs=1e-6)
    assert model.decision_function(X) == pytest.approx(again.decision_function(X), abs=1e-6)
    assert np.array_equal(model.predict(X), again.predict(X))
    assert model.offset_ == pytest.approx(again.offset_, abs=1e-6)


def test_a_seed_makes_it_repeatable_whatever_the_number_of_threads():
    one, two, other = (
        LpSVDDCV(gammas=[0.1, 1.0], random_state=seed, n_jobs=jobs).fit(X).cv_results_
        for seed, jobs in ((0, None), (0, 2), (1, None))
    )
    key = "mean_test_score"
    assert np.array_equal(one[key], two[key]) and not np.array_equal(one[key], other[key])


def test_the_model_of_a_fold_is_the_model_of_its_rows():
    fold = Fold(X[:60], X[60:], seed=0)
    quick = FoldModel(nu=0.2, gamma=0.4).fit_fold(fold)
    plain = LpSVDD(nu=0.2, gamma=0.4, surface="ball").fit(X[:60])
    for points in (fold.held_out, fold.all_outliers, X[:7], X[60:]):
        for _ in range(2):  # computed and kept
            found, wanted = quick.decision_function(points), plain.decision_function(points)
            assert found == pytest.approx(wanted, abs=1e-6)
        firm = np.abs(wanted) > 1e-6
        assert np.array_equal(quick.predict(points)[firm], plain.predict(points)[firm])
    assert quick.gamma_ == 0.4 and quick.nu_ == 0.2


def test_indices_of_the_user_are_rows_of_the_table():
    """Rows 0-9 are labelled outliers: they count as rows, and take no part in any fold."""
    rows, y = np.vstack([X[:10] + 5.0, X]), np.repeat([-1, 1], [10, 90])
    seen = []

    def note(fold, model, held_out):
        seen.append((fold.X, held_out))
        return 0.0

    parts = [(np.arange(0, 50), np.arange(50, 100)), (np.arange(50, 100), np.arange(5, 20))]
    LpSVDDCV(gammas=[0.5], cv=parts, criterion=note).fit(rows, y)
    (first, judged), (second, few) = seen
    assert np.array_equal(first, rows[10:50]) and np.array_equal(judged, rows[50:])
    assert np.array_equal(second, rows[50:]) and np.array_equal(few, rows[10:20])
    with pytest.raises(ValueError, match="cv leaves a fold without a target"):
        LpSVDDCV(gammas=[0.5], cv=[(np.arange(10, 100), np.arange(10))]).fit(rows, y)


def test_of_equals_the_widest_kernel_is_taken_and_of_no_number_none():
    model = LpSVDDCV(gammas=[3.0, 0.2, 1.0], criterion=lambda *_: 1.0).fit(X)
    assert model.best_params_["gamma"] == 0.2
    criterion = lambda fold, m, held: np.nan if m.gamma_ == 1.0 else -m.gamma_  # noqa: E731
    model = LpSVDDCV(gammas=[0.5, 1.0, 2.0], criterion=criterion).fit(X)
    assert model.best_params_["gamma"] == 0.5
    assert model.cv_results_["rank_test_score"].tolist() == [1, 3, 2]


def test_parameters_are_chosen_on_some_targets_and_fitted_to_all_rows():
    sizes = []

    def note(fold, model, held_out):
        sizes.append(len(fold.X) + len(held_out))
        return 0.0

    y = np.where(np.arange(90) < 80, 1, -1)
    rows = np.vstack([X[:80], X[80:] + 3.0])
    for most, size in ((40, 40), (2000, 80)):
        model = LpSVDDCV(gammas=[0.5], criterion=note, max_samples=most, random_state=0)
        model.fit(rows, y)
        assert set(sizes) == {size} and np.array_equal(model.best_estimator_.y_fit_, y)
        sizes.clear()


@pytest.mark.parametrize(
    "rows",
    [
        np.column_stack([X[:40], np.full(40, 5.0)]),
        np.repeat(X[:10], 4, axis=0),
        X[:40] * 1e6 + 1e8,
        np.round(X[:60]),
        X[:40, :1],
        X[:12] @ RNG.normal(size=(3, 200)),
    ],
    ids=["constant", "copies", "huge", "whole", "one column", "wide"],
)
def test_awkward_tables_get_a_sensible_model(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LpSVDDCV(random_state=0).fit(rows)
    assert np.isfinite(model.cv_results_["mean_test_score"]).all()
    assert np.mean(model.predict(rows) < 0) <= 0.1 + 4 / len(rows)
    far = rows.mean(axis=0) + 30.0 * rows.std()
    assert model.predict([far]) == -1


def test_too_few_rows_for_folds_still_give_a_model():
    for n in (2, 3):
        with pytest.warns(UserWarning, match="too few for nu"):
            model = LpSVDDCV(random_state=0).fit(X[:n])
        assert model.n_splits_ == 0 and (model.predict(X[:n]) == 1).all()
        assert np.isnan(model.cv_results_["mean_test_score"]).all()


# -- criteria ---------------------------------------------------------------------------------


def test_auc_is_that_of_scikit_learn_with_ties():
    normal, abnormal = RNG.integers(0, 6, 50).astype(float), RNG.integers(-2, 4, 70).astype(float)
    label = np.r_[np.ones(50), np.zeros(70)]
    assert ranking_auc(normal, abnormal) == pytest.approx(
        roc_auc_score(label, np.r_[normal, abnormal])
    )


def test_likelihood_is_that_of_a_kernel_density_estimate():
    fold, model = Fold(X[:60], X[60:], 0), LpSVDD(nu=0.1, gamma=0.7).fit(X[:60])
    density = KernelDensity(bandwidth=np.sqrt(0.5 / 0.7)).fit(X[:60])
    constant = 1.5 * np.log(np.pi)  # (gamma/pi)^(d/2) without its pi
    assert CRITERIA["likelihood"](fold, model, X[60:]) == pytest.approx(
        density.score(X[60:]) / 30 + constant
    )


# -- artificial outliers ----------------------------------------------------------------------


def test_artificial_outliers_know_nothing_of_the_held_out_rows():
    """Only their number enters: others of the same number give the very same outliers."""
    made, again, other = (
        Fold(rows, held, seed=0).outliers
        for rows, held in ((X[:60], X[60:]), (X[:60], 100.0 + X[60:]), (1.0 + X[:60], X[60:]))
    )
    assert all(np.array_equal(made[kind], again[kind]) for kind in KINDS)
    assert not any(np.array_equal(made[kind], other[kind]) for kind in KINDS)


def test_outliers_of_a_fold_are_as_many_as_its_held_out_rows_within_limits():
    for held_out, of_each in ((10, 50), (70, 70), (700, 300)):
        made = Fold(X, np.zeros((held_out, 3)), seed=0).outliers
        assert {len(part) for part in made.values()} == {of_each}


def test_kinds_are_what_their_names_say():
    rows = RNG.normal(size=(80, 2)) @ RNG.normal(size=(2, 5)) + RNG.normal(size=5)
    made = artificial_outliers(rows, 200, random_state=0)
    assert list(made) == list(KINDS) and all(part.shape == (200, 5) for part in made.values())
    low, high = rows.min(axis=0), rows.max(axis=0)
    for kind in ("uniform", "permuted"):
        assert (made[kind] >= low).all() and (made[kind] <= high).all()
    for column in range(5):
        assert np.isin(made["permuted"][:, column], rows[:, column]).all()
        assert not np.isin(made["uniform"][:, column], rows[:, column]).any()
    kept = (cdist(made["mixed"], rows, "hamming").min(axis=1) * 5).round()
    assert kept.max() <= 2  # three in ten of five features
    _, _, axes = np.linalg.svd(rows - rows.mean(axis=0))
    for kind, part in made.items():  # the data fill a plane
        off = np.abs((part - rows.mean(axis=0)) @ axes[2:].T).max()
        flat = kind in ("pc-uniform", "pc-permuted", "extrapolated") or kind.startswith("pc-jit")
        assert (off < 1e-9) == flat, kind
    near = np.sort(cdist(rows, rows), axis=1)[:, 5]
    steps = cdist(made["jittered-2"], rows).min(axis=1)
    assert steps.max() <= 2.0 * near.max() + 1e-9 and steps.mean() > 0.5 * near.mean()


def test_trim_leaves_out_the_rows_that_look_least_normal():
    """Five far rows among a hundred: without them the rest is what is fitted, labels or not."""
    rng = np.random.default_rng(0)
    angle = 2.0 * np.pi * np.arange(5) / 5.0  # scattered: a cluster of them would hide itself
    far = 8.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.vstack([rng.normal(size=(95, 2)), far])
    new = rng.normal(size=(50, 2))
    model = LpSVDDCV(trim=0.05, random_state=0).fit(X)
    np.testing.assert_array_equal(model.kept_, np.arange(95))
    alone = LpSVDD(**model.best_params_).fit(X[:95])
    np.testing.assert_allclose(model.score_samples(new), alone.score_samples(new))
    y = np.r_[np.ones(95), -np.ones(5)]  # labelled outliers are not counted, and stay
    labelled = LpSVDDCV(trim=0.1, random_state=0).fit(X, y).kept_
    assert len(labelled) == 100 - round(0.1 * 95) and {95, 96, 97, 98, 99} <= set(labelled)
    assert len(LpSVDDCV(random_state=0).fit(X).kept_) == 100
    with pytest.raises(ValueError, match=r"trim must be a share in \[0, 0.5\), got 0.5"):
        LpSVDDCV(trim=0.5).fit(X)


# -- behind scikit-learn's searches ---------------------------------------------------------------

ORDER = RNG.permutation(80)
BOTH = np.vstack([RNG.normal(size=(60, 3)), RNG.normal(loc=2.2, size=(20, 3))])[ORDER]
LABELS = np.repeat([1, -1], [60, 20])[ORDER]


def test_score_is_the_auc():
    model = LpSVDD(C=0.1).fit(BOTH[LABELS > 0])
    assert model.score(BOTH, LABELS) == roc_auc_score(LABELS, model.score_samples(BOTH))
    assert KernelMean().fit(BOTH[LABELS > 0]).score(BOTH, LABELS) > 0.8
    with pytest.raises(ValueError, match="LpSVDDCV chooses parameters without labels"):
        model.score(BOTH)
    for y in (np.ones(80), np.arange(80) % 2, LABELS.astype(str)):  # scikit-learn's checks do that
        with pytest.warns(UserWarning, match="LpSVDDCV chooses parameters without labels"):
            assert np.isnan(model.score(BOTH, y))


def test_a_search_without_labels_tells_what_to_do():
    search = GridSearchCV(LpSVDD(), {"C": [0.1, 1.0]}, cv=2, error_score="raise")
    with pytest.raises(ValueError, match="LpSVDDCV chooses parameters without labels"):
        search.fit(BOTH)
    with pytest.warns(UserWarning, match="LpSVDDCV chooses parameters without labels"):
        GridSearchCV(LpSVDD(), {"C": [0.1]}, cv=2, refit=False).fit(BOTH)


def test_target_folds_train_on_targets_and_judge_on_both():
    seen = []
    for train, test in TargetFolds(4, shuffle=True, random_state=0).split(BOTH, LABELS):
        assert (LABELS[train] == 1).all() and not set(train) & set(test)
        assert (LABELS[test] == -1).sum() == 5
        seen += list(test)
    assert sorted(seen) == list(range(80))
    model = LpSVDD(C=0.1)
    found = cross_val_score(model, BOTH, LABELS, cv=TargetFolds(4))
    expected = [
        model.fit(BOTH[train]).score(BOTH[test], LABELS[test])
        for train, test in TargetFolds(4).split(BOTH, LABELS)
    ]
    np.testing.assert_allclose(found, expected)
