"""Transformers: what the formulas say, from positive training rows only; scikit-learn's checks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from replication.preprocessing import PositiveImputer, PositiveScaler, UnitNorm

RNG = np.random.default_rng(0)
X = RNG.normal(3.0, 2.0, size=(40, 5))
Y = np.where(np.arange(40) < 25, 1, -1)


def test_scaler_equals_standard_scaler_on_positive_rows():
    ours = PositiveScaler().fit(X, Y)
    theirs = StandardScaler().fit(X[Y == 1])
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("step", [PositiveScaler(), PositiveImputer(), PositiveImputer("median")])
def test_negative_rows_have_no_influence(step):
    other = np.where(Y[:, None] == 1, X, 1e3 * X)
    np.testing.assert_array_equal(step.fit(X, Y).transform(X), step.fit(other, Y).transform(X))


def test_constant_feature_keeps_its_scale_and_is_centred_exactly():
    rows = np.column_stack([np.full(10, 0.1), np.arange(10.0)])
    scaler = PositiveScaler().fit(rows)
    assert scaler.scale_[0] == 1.0 and scaler.mean_[0] == 0.1
    assert (scaler.transform(rows)[:, 0] == 0).all()
    assert scaler.transform([[1.1, 0.0]])[0, 0] == pytest.approx(1.0)


def test_unit_norm_equals_normalizer_and_survives_extremes():
    np.testing.assert_allclose(UnitNorm().fit_transform(X), Normalizer().fit_transform(X))
    extreme = np.array([[3e-200, 4e-200], [3e200, 4e200]])
    np.testing.assert_allclose(UnitNorm().fit_transform(extreme), [[0.6, 0.8], [0.6, 0.8]])


@pytest.mark.parametrize("strategy", ["mean", "median"])
def test_imputer_equals_simple_imputer_on_positive_rows(strategy):
    gaps = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
    ours = PositiveImputer(strategy).fit(gaps, Y).transform(gaps)
    theirs = SimpleImputer(strategy=strategy).fit(gaps[Y == 1]).transform(gaps)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize("transformer", [PositiveScaler(), UnitNorm(), PositiveImputer()])
def test_transformers_pass_the_checks_of_scikit_learn(transformer):
    check_estimator(transformer)


@pytest.mark.parametrize(
    ("transformer", "rows", "labels", "message"),
    [
        (PositiveScaler(), X, -np.ones(40), "no positive label"),
        (PositiveScaler(), X, np.ones(3), "inconsistent numbers of samples"),
        (PositiveScaler(), [[np.nan], [1.0]], None, "NaN"),
        (PositiveImputer(), [[np.nan], [1.0]], [1, -1], r"no positive row has a value of feature"),
        (PositiveImputer("mode"), X, Y, "strategy must be"),
    ],
)
def test_transformers_refuse_what_they_cannot_learn_from(transformer, rows, labels, message):
    with pytest.raises(ValueError, match=message):
        transformer.fit(rows, labels)
