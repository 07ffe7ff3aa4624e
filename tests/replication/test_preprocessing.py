"""The paper's preparation of rows: what the formulas say, from positive training rows only."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import Normalizer, StandardScaler

from replication.preprocessing import preprocessor

RNG = np.random.default_rng(0)
X = np.where(RNG.random((40, 5)) < 0.2, np.nan, RNG.normal(3.0, 2.0, size=(40, 5)))
Y = np.where(np.arange(40) < 25, 1, -1)


@pytest.mark.parametrize("impute", ["mean", "median"])
def test_preprocessor_equals_scikit_learn_on_positive_rows(impute):
    imputer = SimpleImputer(strategy=impute).fit(X[Y == 1])
    scaler = StandardScaler().fit(imputer.transform(X[Y == 1]))
    expected = scaler.transform(imputer.transform(X))
    plain = preprocessor(impute=impute, unit_norm=False).fit(X, Y)
    np.testing.assert_allclose(plain.transform(X), expected, rtol=1e-9, atol=1e-9)
    unit = preprocessor(impute=impute).fit(X, Y)
    np.testing.assert_allclose(unit.transform(X), Normalizer().transform(expected), atol=1e-9)
    other = np.where(Y[:, None] == 1, X, 1e3 * X)
    np.testing.assert_array_equal(unit.fit(other, Y).transform(X), unit.fit(X, Y).transform(X))


def test_preprocessor_with_constant_fills_gaps_with_minus_one():
    filled = np.where(np.isnan(X), -1.0, X)
    ours = preprocessor(impute="constant").fit(X, Y).transform(X)
    np.testing.assert_array_equal(ours, preprocessor().fit(filled, Y).transform(filled))


def test_constant_feature_keeps_its_scale_and_is_centred_exactly():
    rows = np.column_stack([np.full(10, 0.1), np.arange(10.0)])
    steps = preprocessor(unit_norm=False).fit(rows)
    assert (steps.transform(rows)[:, 0] == 0).all()
    assert steps.transform([[1.1, 0.0]])[0, 0] == pytest.approx(1.0)


def test_unit_norm_survives_extremes_and_leaves_zero_alone():
    steps = preprocessor().fit([[-1.0, -1.0], [1.0, 1.0]])
    extreme = steps.transform([[3e-200, 4e-200], [3e200, 4e200], [0.0, 0.0]])
    np.testing.assert_allclose(extreme, [[0.6, 0.8], [0.6, 0.8], [0.0, 0.0]])


def test_preprocessor_refuses_what_it_cannot_learn_from():
    for rows, labels, message in (
        (X, -np.ones(40), "no positive label"),
        (X, np.ones(3), "inconsistent numbers of samples"),
        ([[np.nan], [1.0]], [1, -1], "no positive row has a value"),
        ([[np.inf], [1.0]], [1, 1], "infinity"),
    ):
        with pytest.raises(ValueError, match=message):
            preprocessor().fit(rows, labels)
