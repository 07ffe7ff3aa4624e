"""Choosing parameters without outliers: the search, the criteria, the artificial outliers."""

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KernelDensity

from lpsvdd import LpSVDD, LpSVDDCV
from lpsvdd.selection import CRITERIA, KINDS, Fold, TargetFolds, artificial_outliers
from lpsvdd.selection._folds import FoldModel, ranking_auc

RNG = np.random.default_rng(3)
X = RNG.normal(size=(90, 3))


def ring(n):
    """Points near a circle: no wide kernel describes them."""
    angle = RNG.uniform(0.0, 2.0 * np.pi, n)
    return np.c_[np.cos(angle), np.sin(angle)] * (1.0 + 0.05 * RNG.normal(size=(n, 1)))


def test_a_ring_gets_a_narrow_kernel_and_its_hole_is_outside():
    rows, normal, hole = ring(150), ring(1000), RNG.normal(scale=0.2, size=(1000, 2))
    model = LpSVDDCV(random_state=0).fit(rows)
    wide = LpSVDD(nu=0.1, gamma=model.cv_results_["param_gamma"].min()).fit(rows)
    found, plain = (
        roc_auc_score([1] * 1000 + [0] * 1000, m.score_samples(np.vstack([normal, hole])))
        for m in (model, wide)
    )
    assert found > 0.99 and found > plain
    assert np.mean(model.predict(hole) < 0) > 0.95
    assert np.mean(model.predict(normal) < 0) < 0.2  # of new rows nu = 0.1 was wanted


def test_widths_of_the_automatic_grid_are_multiples_of_the_total_variance():
    gammas = LpSVDDCV(cv=2, random_state=0).fit(X[:30]).cv_results_["param_gamma"]
    np.testing.assert_allclose(gammas, 2.0 ** np.arange(7) / X[:30].var(axis=0).sum())


@pytest.mark.parametrize("contamination", [None, 0.3])
def test_results_have_the_layout_of_grid_search_and_the_best_is_the_model(contamination):
    model = LpSVDDCV(p=[1.0, 2.0], nus=[0.1, 0.3], gammas=[0.1, 1.0], random_state=0)
    results = model.set_params(contamination=contamination).fit(X).cv_results_
    score = lambda estimator, rows, y=None: estimator.score_samples(rows).mean()  # noqa: E731
    grid = {"p": [1.0, 2.0], "nu": [0.1, 0.3], "gamma": [0.1, 1.0]}
    theirs = GridSearchCV(LpSVDD(), grid, scoring=score, cv=3).fit(X).cv_results_
    assert {key: len(value) for key, value in results.items()} == dict.fromkeys(theirs, 8)
    best = int(np.argmax(results["mean_test_score"]))
    assert model.best_index_ == best and results["rank_test_score"][best] == 1
    assert model.best_params_ == results["params"][best]
    assert model.best_score_ == results["mean_test_score"][best]
    splits = [results[f"split{j}_test_score"] for j in range(model.n_splits_)]
    assert results["mean_test_score"] == pytest.approx(np.mean(splits, axis=0))
    again = LpSVDD(**model.best_params_, contamination=contamination).fit(X)
    assert model.decision_function(X) == pytest.approx(again.decision_function(X), abs=1e-6)
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
            wanted = plain.decision_function(points)
            assert quick.decision_function(points) == pytest.approx(wanted, abs=1e-6)
    assert quick.gamma_ == 0.4 and quick.nu_ == 0.2


@pytest.fixture
def seen():
    """Rows to fit and to judge that a criterion was shown, and the criterion."""
    shown = []

    def note(fold, model, held_out):
        shown.append((fold.X, held_out))
        return 0.0

    return shown, note


def test_indices_of_the_user_are_rows_of_the_table(seen):
    """Rows 0-9 are labelled outliers: they count as rows, and take no part in any fold."""
    shown, note = seen
    rows, y = np.vstack([X[:10] + 5.0, X]), np.repeat([-1, 1], [10, 90])
    parts = [(np.arange(0, 50), np.arange(50, 100)), (np.arange(50, 100), np.arange(5, 20))]
    LpSVDDCV(gammas=[0.5], cv=parts, criterion=note).fit(rows, y)
    wanted = [(rows[10:50], rows[50:]), (rows[50:], rows[10:20])]
    assert all(np.array_equal(a, b) for s, w in zip(shown, wanted) for a, b in zip(s, w))  # noqa: B905
    with pytest.raises(ValueError, match="cv leaves a fold without a target"):
        LpSVDDCV(gammas=[0.5], cv=[(np.arange(10, 100), np.arange(10))]).fit(rows, y)


@pytest.mark.parametrize(("most", "size"), [(40, 40), (2000, 80)])
def test_parameters_are_chosen_on_some_targets_and_fitted_to_all_rows(most, size, seen):
    shown, note = seen
    y = np.repeat([1, -1], [80, 10])
    model = LpSVDDCV(gammas=[0.5], criterion=note, max_samples=most, random_state=0)
    model.fit(X, y)
    used = [np.vstack(both) for both in shown]
    assert {len(rows) for rows in used} == {size}
    assert all((cdist(rows, X[:80]).min(axis=1) == 0.0).all() for rows in used)
    assert most > 80 or any((cdist(X[60:80], rows).min(axis=1) == 0.0).any() for rows in used)
    assert np.array_equal(model.best_estimator_.y_fit_, y)


def test_of_equals_the_widest_kernel_is_taken_and_of_no_number_none():
    model = LpSVDDCV(gammas=[3.0, 0.2, 1.0], criterion=lambda *_: 1.0).fit(X)
    assert model.best_params_["gamma"] == 0.2
    criterion = lambda fold, m, held: np.nan if m.gamma_ == 1.0 else -m.gamma_  # noqa: E731
    model = LpSVDDCV(gammas=[0.5, 1.0, 2.0], criterion=criterion).fit(X)
    assert model.best_params_["gamma"] == 0.5
    assert model.cv_results_["rank_test_score"].tolist() == [1, 3, 2]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rows", [
    np.column_stack([X[:40], np.full(40, 5.0)]), np.repeat(X[:10], 4, axis=0), np.round(X[:60]),
    X[:40] * 1e6 + 1e8, X[:40, :1], X[:12] @ RNG.normal(size=(3, 200)),
], ids=["constant", "copies", "whole", "huge", "one column", "wide"])  # fmt: skip
def test_awkward_tables_get_a_sensible_model(rows):
    model = LpSVDDCV(random_state=0).fit(rows)
    assert np.isfinite(model.cv_results_["mean_test_score"]).all()
    assert np.mean(model.predict(rows) < 0) <= 0.1 + 4 / len(rows)
    assert model.predict([rows.mean(axis=0) + 30.0 * rows.std()]) == -1


@pytest.mark.parametrize("n", [2, 3])
def test_too_few_rows_for_folds_still_give_a_model(n):
    with pytest.warns(UserWarning, match="too few for nu"):
        model = LpSVDDCV(random_state=0).fit(X[:n])
    assert model.n_splits_ == 0 and (model.predict(X[:n]) == 1).all()
    assert np.isnan(model.cv_results_["mean_test_score"]).all()


def test_trim_leaves_out_the_rows_that_look_least_normal():
    """Five far rows among a hundred: without them the rest is what is fitted, labels or not."""
    angle = 2.0 * np.pi * np.arange(5) / 5.0  # scattered: a cluster of them would hide itself
    far = 8.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    rows, options = np.vstack([RNG.normal(size=(95, 2)), far]), {"gammas": [0.5], "random_state": 0}
    model = LpSVDDCV(trim=0.05, **options).fit(rows)
    np.testing.assert_array_equal(model.kept_, np.arange(95))
    alone = LpSVDD(**model.best_params_).fit(rows[:95])
    np.testing.assert_allclose(model.score_samples(rows), alone.score_samples(rows))
    y = np.repeat([1, -1], [60, 40])  # labelled outliers are not counted, and stay
    labelled = LpSVDDCV(trim=0.1, **options).fit(rows, y).kept_
    assert len(labelled) == 100 - round(0.1 * 60) and {*range(60, 100)} <= set(labelled)
    assert len(LpSVDDCV(**options).fit(rows).kept_) == 100


def test_auc_is_that_of_scikit_learn_with_ties():
    normal, abnormal = RNG.integers(0, 6, 50).astype(float), RNG.integers(-2, 4, 70).astype(float)
    wanted = roc_auc_score([1] * 50 + [0] * 70, np.r_[normal, abnormal])
    assert ranking_auc(normal, abnormal) == pytest.approx(wanted)


def test_likelihood_is_that_of_a_kernel_density_estimate():
    fold, model = Fold(X[:60], X[60:], 0), LpSVDD(nu=0.1, gamma=0.7).fit(X[:60])
    density = KernelDensity(bandwidth=np.sqrt(0.5 / 0.7)).fit(X[:60])
    constant = 1.5 * np.log(np.pi)  # (gamma/pi)^(d/2) without its pi
    found = CRITERIA["likelihood"](fold, model, X[60:])
    assert found == pytest.approx(density.score(X[60:]) / 30 + constant)


def test_artificial_outliers_know_nothing_of_the_held_out_rows():
    """Only their number enters: others of the same number give the very same outliers."""
    made, again, other = (
        Fold(rows, held, seed=0).outliers
        for rows, held in ((X[:60], X[60:]), (X[:60], 100.0 + X[60:]), (1.0 + X[:60], X[60:]))
    )
    assert all(np.array_equal(made[kind], again[kind]) for kind in KINDS)
    assert not any(np.array_equal(made[kind], other[kind]) for kind in KINDS)


@pytest.mark.parametrize(("held_out", "of_each"), [(10, 50), (70, 70), (700, 300)])
def test_outliers_of_a_fold_are_as_many_as_its_held_out_rows_within_limits(held_out, of_each):
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
    line = artificial_outliers(np.arange(50.0)[:, None], 2000, random_state=0)
    for kind in ("jittered", "pc-jittered"):  # five is the way from 0 to its fifth neighbour
        assert [line[f"{kind}-{k}"].min() for k in (1, 2)] == pytest.approx([-5.0, -10.0])
    assert (cdist(made["extrapolated"], rows).min(axis=1) > 1e-9).mean() > 0.9


ORDER = RNG.permutation(80)
BOTH = np.vstack([RNG.normal(size=(60, 3)), RNG.normal(loc=2.2, size=(20, 3))])[ORDER]
LABELS = np.repeat([1, -1], [60, 20])[ORDER]
ADVICE = "LpSVDDCV chooses parameters without labels"


def test_score_is_the_auc_and_without_labels_tells_what_to_do():
    model = LpSVDD(C=0.1).fit(BOTH[LABELS > 0])
    assert model.score(BOTH, LABELS) == roc_auc_score(LABELS, model.score_samples(BOTH))
    with pytest.raises(ValueError, match=ADVICE):
        model.score(BOTH)
    for y in (np.ones(80), np.arange(80) % 2, LABELS.astype(str)):  # scikit-learn's checks do that
        with pytest.warns(UserWarning, match=ADVICE):
            assert np.isnan(model.score(BOTH, y))
    search = GridSearchCV(LpSVDD(), {"C": [0.1, 1.0]}, cv=2, error_score="raise")
    with pytest.raises(ValueError, match=ADVICE):
        search.fit(BOTH)
    with warnings.catch_warnings(), pytest.warns(UserWarning, match=ADVICE):
        search.set_params(error_score=np.nan, refit=False).fit(BOTH)


def test_target_folds_train_on_targets_and_judge_on_both():
    model, seen, expected = LpSVDD(C=0.1), [], []
    for train, test in TargetFolds(4).split(BOTH, LABELS):
        assert (LABELS[train] == 1).all() and not set(train) & set(test)
        assert (LABELS[test] == -1).sum() == 5
        expected.append(model.fit(BOTH[train]).score(BOTH[test], LABELS[test]))
        seen += list(test)
    assert sorted(seen) == list(range(80))
    found = cross_val_score(model, BOTH, LABELS, cv=TargetFolds(4))
    np.testing.assert_allclose(found, expected)
