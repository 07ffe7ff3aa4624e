"""Explanations: they sum to the score, agree with their definition, and name a known cause."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

from lpsvdd import LpSVDD, LpSVDDCV
from lpsvdd.conformal import ConformalDetector
from lpsvdd.explain import explain, nearest_support_vectors
from lpsvdd.kernels import kernel_diagonal, kernel_matrix
from lpsvdd.plots import contribution_bars, contribution_summary

RNG = np.random.default_rng(11)
X = RNG.normal(size=(60, 4)) + 2.0
NEW = RNG.normal(scale=3.0, size=(15, 4)) + 2.0
LABELS = np.where(X[:, 0] > 3.3, -1, 1)

MODELS = [
    LpSVDD(),
    LpSVDD(p=1.0, nu=0.2),
    LpSVDD(gamma=2.0),
    LpSVDD(gamma=1e-3, C=0.01),
    LpSVDD(kernel="linear"),
    LpSVDD(kernel="poly"),
    LpSVDD(kernel="poly", degree=2, coef0=0.0, gamma=0.2),
]


@pytest.mark.filterwarnings("ignore:radius_sq_")
@pytest.mark.parametrize("labels", [None, LABELS], ids=["targets", "negatives"])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_contributions_sum_to_the_score(model, labels):
    model.fit(X, labels)
    rows = np.vstack([NEW, X, 50.0 + NEW])  # support vectors too: no division by zero
    found = model.explain(rows)
    scores = model.score_samples(rows)
    np.testing.assert_allclose(found.scores, scores)
    total = found.contributions.sum(axis=1) + found.base
    np.testing.assert_allclose(total, scores, rtol=1e-8, atol=1e-9 * np.abs(scores).max())
    assert found.base == pytest.approx(0.0, abs=1e-9)  # the coefficients sum to one


def weighted_score(model: LpSVDD, z: np.ndarray, w: np.ndarray) -> float:
    """The score of one row with a weight on every column, by the definition."""
    options = model._kernel_options()
    z, V, c = (
        z[None] * np.sqrt(w),
        model.X_fit_[model.centre_rows_] * np.sqrt(w),
        model.centre_coef_,
    )
    products = kernel_matrix(z, V, **options)[0] @ c
    return float(
        -kernel_diagonal(z, **options)[0] + 2 * products - c @ kernel_matrix(V, **options) @ c
    )


@pytest.mark.filterwarnings("ignore:radius_sq_")
@pytest.mark.parametrize("model", MODELS[:7], ids=str)
def test_contributions_are_the_integral_of_the_gradient_in_the_weights(model):
    """Central differences and 30 nodes of Gauss and Legendre, instead of the closed forms."""
    model.fit(X)
    found = model.explain(NEW[:1]).contributions
    resolution = 1e-9 + 1e-8 * np.abs(found).max()
    nodes, weights = np.polynomial.legendre.leggauss(30)
    h = 1e-5
    for row, expected in zip(NEW, found, strict=False):
        integral = np.zeros(4)
        for t, share in zip((nodes + 1) / 2, weights / 2, strict=True):
            for j, step in enumerate(np.eye(4) * h * t):
                up, down = (weighted_score(model, row, t + sign * step) for sign in (1, -1))
                integral[j] += share * (up - down) / (2 * h * t)
        np.testing.assert_allclose(integral, expected, rtol=2e-6, atol=resolution)


def test_typical_contributions_are_quantiles_over_training_targets():
    model = LpSVDD(C=0.2).fit(X, LABELS)
    own = model.explain(X[LABELS > 0]).contributions
    np.testing.assert_allclose(
        model.explain(NEW).typical, np.quantile(own, [0.1, 0.5, 0.9], axis=0)
    )


@pytest.fixture
def frame():
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    return table.assign(kind=RNG.choice(["x", "y", "z"], 60), idle=1.0)


def test_pipelines_speak_of_the_columns_that_enter_them(frame):
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    parts = [
        ("number", make_pipeline(SimpleImputer(), StandardScaler()), ["c", "a"]),
        ("kind", one_hot, ["kind"]),
        ("rest", "passthrough", [1]),
    ]
    model = make_pipeline(ColumnTransformer(parts), LpSVDD()).fit(frame)
    found = explain(model, frame)
    assert found.columns == ("a", "b", "c", "kind")  # in the order of the table; d, idle not used
    np.testing.assert_allclose(found.contributions.sum(axis=1), model.score_samples(frame))
    inner = model[-1].explain(model[:-1].transform(frame)).contributions  # c, a, x, y, z, b
    order = [inner[:, 1], inner[:, 5], inner[:, 0], inner[:, 2:5].sum(axis=1)]
    np.testing.assert_allclose(found.contributions, np.column_stack(order))
    assert found.values[3].tolist() == frame.loc[3, ["a", "b", "c", "kind"]].tolist()


def test_scaling_keeps_columns_unit_norm_keeps_coordinates_and_mixtures_get_new_names(frame):
    numbers = frame[["a", "b", "c", "d"]]
    scaled = make_pipeline(StandardScaler(), LpSVDD()).fit(numbers)
    assert explain(scaled, numbers).columns == ("a", "b", "c", "d")
    unit = make_pipeline(StandardScaler(), Normalizer(), LpSVDD()).fit(numbers)
    assert explain(unit, numbers).columns == ("a", "b", "c", "d")
    mixed = make_pipeline(StandardScaler(), PCA(2), LpSVDD()).fit(numbers)
    found = explain(mixed, numbers)
    assert found.columns == ("pca0", "pca1")
    np.testing.assert_allclose(found.contributions.sum(axis=1), mixed.score_samples(numbers))
    plain = make_pipeline(StandardScaler(), LpSVDD()).fit(X)
    assert explain(plain, X).columns == ("x0", "x1", "x2", "x3")


def test_models_that_hold_another_one():
    search = make_pipeline(StandardScaler(), LpSVDDCV(gammas=[0.2, 0.5], random_state=0)).fit(X)
    np.testing.assert_allclose(
        explain(search, NEW).contributions.sum(axis=1), search.score_samples(NEW)
    )
    split = ConformalDetector(make_pipeline(StandardScaler(), LpSVDD()), random_state=0).fit(X)
    held = split.estimators_[0]
    found = explain(split, NEW)  # of the score behind the p-value
    np.testing.assert_allclose(found.contributions.sum(axis=1), held.score_samples(NEW))
    cross = ConformalDetector(LpSVDD(), method="cross", random_state=0).fit(X)
    with pytest.raises(ValueError, match="holds 5 detectors; take one of them"):
        explain(cross, NEW)


def planted(rng: np.random.Generator, n_rows: int, n_columns: int):
    """Rows of two clusters with two columns of each moved by four standard deviations."""
    rows = rng.normal(size=(n_rows, n_columns))
    rows[::2, : n_columns // 2] += 6.0
    rows /= rows.std(axis=0)
    cause = np.array([rng.choice(n_columns, 2, replace=False) for _ in rows])
    moved = rows.copy()
    np.put_along_axis(moved, cause, np.take_along_axis(rows, cause, 1) + 4.0, axis=1)
    return rows, moved, cause


@pytest.mark.parametrize("factor", [1.0, 4.0])
def test_a_planted_cause_is_found(factor):
    """Of the two moved columns, the two most negative contributions name 90 % and more."""
    rng = np.random.default_rng(2)
    train, _, _ = planted(rng, 200, 8)
    _, moved, cause = planted(rng, 60, 8)
    model = make_pipeline(StandardScaler(), LpSVDD(C=0.1)).fit(train)
    model.set_params(lpsvdd__gamma=factor * model[-1].gamma_).fit(train)
    named = np.argsort(explain(model, moved).contributions, axis=1)[:, :2]
    found = np.mean([len(set(a) & set(b)) / 2 for a, b in zip(named, cause, strict=True)])
    assert found >= 0.9


def test_nearest_support_vectors():
    model = LpSVDD(p=1.3, C=0.2).fit(X, LABELS)
    near = nearest_support_vectors(model, NEW, n=4)
    assert near.index.shape == near.distance.shape == near.weight.shape == (15, 4)
    assert set(near.index.ravel()) <= set(model.support_)
    for row, index, distance in zip(NEW, near.index, near.distance, strict=True):
        plain = ((X[model.support_] - row) ** 2).sum(axis=1)
        assert index.tolist() == model.support_[np.argsort(plain)[:4]].tolist()
        squared = 2 - 2 * np.exp(-model.gamma_ * ((X[index] - row) ** 2).sum(axis=1))
        np.testing.assert_allclose(distance, np.sqrt(squared), rtol=1e-6)
    np.testing.assert_array_equal(near.weight, (LABELS * model.alpha_)[near.index])
    itself = nearest_support_vectors(model, X[model.support_[:1]], n=1)
    assert itself.index[0, 0] == model.support_[0] and itself.distance[0, 0] < 1e-6
    far = nearest_support_vectors(model, NEW + 1e6, n=2)  # all at distance sqrt(2)
    assert np.isfinite(far.distance).all()
    piped = make_pipeline(StandardScaler(), LpSVDD()).fit(X)
    assert nearest_support_vectors(piped, NEW, n=999).index.shape[1] == len(piped[-1].support_)


def test_pictures_show_the_columns_with_their_values(frame):
    columns = ["a", "b", "c", "d"]
    model = make_pipeline(StandardScaler(), LpSVDD()).fit(frame[columns])
    found = explain(model, frame[columns])
    bars = contribution_bars(found, 2, most=2)
    labels = [text.get_text() for text in bars.get_yticklabels()]
    assert len(labels) == 3 and labels[-1] == "2 others"
    first = found.reasons(2, 1)[0]
    assert labels[0] == f"{first[0]} = {first[1]:.4g}"
    lengths = sorted(patch.get_width() for patch in bars.patches if patch.get_height() < 0.5)
    assert sum(lengths) == pytest.approx(found.scores[2])
    summary = contribution_summary(found, most=3)
    assert len(summary.get_yticklabels()) == 3 and len(summary.collections) == 3
    assert all(len(dots.get_offsets()) == 60 for dots in summary.collections)
