"""Explanations: they sum to the score, agree with their definition, and name a known cause."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

from lpsvdd import LpSVDD, LpSVDDCV
from lpsvdd.conformal import ConformalDetector
from lpsvdd.explain import explain, nearest_support_vectors
from lpsvdd.kernels import kernel_diagonal, kernel_matrix
from lpsvdd.plots import contribution_bars

RNG = np.random.default_rng(11)
X = RNG.normal(size=(60, 4)) + 2.0
NEW = RNG.normal(scale=3.0, size=(15, 4)) + 2.0
LABELS = np.where(X[:, 0] > 3.3, -1, 1)
NUMBERS = pd.DataFrame(X, columns=list("abcd"))
FRAME = NUMBERS.assign(kind=RNG.choice(["x", "y", "z"], 60), idle=1.0)

pytestmark = pytest.mark.filterwarnings("ignore:radius_sq_")
over_models = pytest.mark.parametrize("model", [
    LpSVDD(), LpSVDD(p=1.0, nu=0.2), LpSVDD(gamma=2.0), LpSVDD(gamma=1e-3, C=0.01),
    LpSVDD(kernel="linear"), LpSVDD(kernel="poly"),
    LpSVDD(kernel="poly", degree=2, coef0=0.0, gamma=0.2),
], ids=str)  # fmt: skip


@pytest.mark.parametrize("labels", [None, LABELS], ids=["targets", "negatives"])
@over_models
def test_contributions_sum_to_the_score(model, labels):
    model = clone(model).fit(X, labels)
    rows = np.vstack([NEW, X, 50.0 + NEW])  # support vectors too: no division by zero
    found, scores = model.explain(rows), model.score_samples(rows)
    np.testing.assert_allclose(found.scores, scores)
    total = found.contributions.sum(axis=1) + found.base
    np.testing.assert_allclose(total, scores, rtol=1e-8, atol=1e-9 * np.abs(scores).max())
    assert found.base == pytest.approx(0.0, abs=1e-9)  # the coefficients sum to one


def weighted_score(model: LpSVDD, z: np.ndarray, w: np.ndarray) -> float:
    """The score of one row with a weight on every column, by the definition."""
    options, c = model._kernel_options(), model.centre_coef_
    z, V = z[None] * np.sqrt(w), model.X_fit_[model.centre_rows_] * np.sqrt(w)
    own, among = kernel_diagonal(z, **options)[0], kernel_matrix(V, **options)
    return float(-own + 2 * kernel_matrix(z, V, **options)[0] @ c - c @ among @ c)


@over_models
def test_contributions_are_the_integral_of_the_gradient_in_the_weights(model):
    """Central differences and 30 nodes of Gauss and Legendre, instead of the closed forms."""
    model = clone(model).fit(X)
    (found,) = model.explain(NEW[:1]).contributions
    nodes, weights = np.polynomial.legendre.leggauss(30)
    integral, h = np.zeros(4), 1e-5
    for t, share in zip((nodes + 1) / 2, weights / 2, strict=True):
        for j, step in enumerate(np.eye(4) * h * t):
            up, down = (weighted_score(model, NEW[0], t + sign * step) for sign in (1, -1))
            integral[j] += share * (up - down) / (2 * h * t)
    np.testing.assert_allclose(integral, found, rtol=1e-5, atol=1e-8 + 1e-7 * np.abs(found).max())


def test_typical_contributions_are_quantiles_over_training_targets():
    model = LpSVDD(C=0.2).fit(X, LABELS)
    own = model.explain(X[LABELS > 0]).contributions
    expected = np.quantile(own, [0.1, 0.5, 0.9], axis=0)
    np.testing.assert_allclose(model.explain(NEW).typical, expected)


def test_pipelines_speak_of_the_columns_that_enter_them():
    parts = [
        ("number", make_pipeline(SimpleImputer(), StandardScaler()), ["c", "a"]),
        ("kind", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["kind"]),
        ("rest", "passthrough", [1]),
    ]
    model = make_pipeline(ColumnTransformer(parts), LpSVDD()).fit(FRAME)
    found = explain(model, FRAME)
    assert found.columns == ("a", "b", "c", "kind")  # in the order of the table; d, idle not used
    np.testing.assert_allclose(found.contributions.sum(axis=1), model.score_samples(FRAME))
    inner = model[-1].explain(model[:-1].transform(FRAME)).contributions  # c, a, x, y, z, b
    order = [inner[:, 1], inner[:, 5], inner[:, 0], inner[:, 2:5].sum(axis=1)]
    np.testing.assert_allclose(found.contributions, np.column_stack(order))
    assert found.values[3].tolist() == FRAME.loc[3, ["a", "b", "c", "kind"]].tolist()


@pytest.mark.parametrize("steps, data, names", [
    ([StandardScaler()], NUMBERS, "abcd"), ([StandardScaler(), Normalizer()], NUMBERS, "abcd"),
    ([StandardScaler(), PCA(2)], NUMBERS, ("pca0", "pca1")),
    ([StandardScaler()], X, ("x0", "x1", "x2", "x3")),
], ids=["scaled", "unit norm", "mixed", "array"])  # fmt: skip
def test_scaling_keeps_columns_unit_norm_keeps_coordinates_and_mixtures_get_new_names(
    steps, data, names
):
    model = make_pipeline(*map(clone, steps), LpSVDD()).fit(data)
    found = explain(model, data)
    assert found.columns == tuple(names)
    np.testing.assert_allclose(found.contributions.sum(axis=1), model.score_samples(data))


def test_models_that_hold_another_one_are_explained_by_it():
    search = make_pipeline(StandardScaler(), LpSVDDCV(gammas=[0.2, 0.5], random_state=0)).fit(X)
    split = ConformalDetector(make_pipeline(StandardScaler(), LpSVDD()), random_state=0).fit(X)
    # Of a conformal detector, the score behind the p-value.
    for model, inner in ((search, search), (split, split.estimators_[0])):
        total = explain(model, NEW).contributions.sum(axis=1)
        np.testing.assert_allclose(total, inner.score_samples(NEW))


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
    found = explain(model, moved)
    named = [{name for name, _, _ in found.reasons(row, 2)} for row in range(60)]
    meant = [{f"x{j}" for j in two} for two in cause]
    assert np.mean([len(a & b) / 2 for a, b in zip(named, meant, strict=True)]) >= 0.9


def test_nearest_support_vectors_are_those_and_their_weights():
    model = LpSVDD(p=1.3, C=0.2).fit(X, LABELS)
    near = nearest_support_vectors(model, NEW, n=4)
    for row, index, distance in zip(NEW, near.index, near.distance, strict=True):
        plain = ((X[model.support_] - row) ** 2).sum(axis=1)
        assert index.tolist() == model.support_[np.argsort(plain)[:4]].tolist()
        squared = 2 - 2 * np.exp(-model.gamma_ * ((X[index] - row) ** 2).sum(axis=1))
        np.testing.assert_allclose(distance, np.sqrt(squared), rtol=1e-6)
    np.testing.assert_array_equal(near.weight, (LABELS * model.alpha_)[near.index])
    itself = nearest_support_vectors(model, X[model.support_[:1]], n=1)
    assert itself.index[0, 0] == model.support_[0] and itself.distance[0, 0] < 1e-6
    # Far away all are at distance sqrt(2): the plain distance decides.
    far = nearest_support_vectors(model, NEW + 1e3, n=1)
    assert set(far.index[:, 0]) == {model.support_[np.argmax(X[model.support_].sum(axis=1))]}
    piped = make_pipeline(StandardScaler(), LpSVDD()).fit(X)
    assert nearest_support_vectors(piped, NEW, n=999).index.shape[1] == len(piped[-1].support_)


def test_contribution_bars_show_the_columns_with_their_values():
    model = make_pipeline(StandardScaler(), LpSVDD()).fit(NUMBERS)
    found = explain(model, NUMBERS)
    bars = contribution_bars(found, 2, most=2)
    labels = [text.get_text() for text in bars.get_yticklabels()]
    ((name, value, _),) = found.reasons(2, 1)
    assert len(labels) == 3 and labels[0] == f"{name} = {value:.4g}" and labels[-1] == "2 others"
    lengths = [patch.get_width() for patch in bars.patches if patch.get_height() < 0.5]
    assert sum(lengths) == pytest.approx(found.scores[2])
