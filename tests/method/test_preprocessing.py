"""Transformers: what the formulas say, from positive training rows only; scikit-learn's checks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import Normalizer, StandardScaler

from lpsvdd.datasets import load
from lpsvdd.preprocessing import Indicators, PositiveImputer, PositiveScaler, UnitNorm, preprocessor

RNG = np.random.default_rng(0)
X = RNG.normal(3.0, 2.0, size=(40, 5))
Y = np.where(np.arange(40) < 25, 1, -1)
matrices = arrays(
    float,
    st.tuples(st.integers(2, 8), st.integers(1, 4)),
    elements=st.floats(-1e6, 1e6).map(lambda value: round(value, 6)),
)


def test_scaler_equals_standard_scaler_on_positive_rows():
    ours = PositiveScaler().fit(X, Y)
    theirs = StandardScaler().fit(X[Y == 1])
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("step", [PositiveScaler(), PositiveImputer(), PositiveImputer("median")])
def test_negative_rows_have_no_influence(step):
    other = np.where(Y[:, None] == 1, X, 1e3 * X)
    np.testing.assert_array_equal(step.fit(X, Y).transform(X), step.fit(other, Y).transform(X))


@pytest.mark.parametrize("pipeline", [preprocessor(), preprocessor(unit_norm=False)])
def test_rows_are_transformed_one_by_one(pipeline):
    """A test row's result does not depend on the other test rows."""
    pipeline.fit(X[:20])
    together = pipeline.transform(X[20:])
    alone = np.vstack([pipeline.transform(row[None]) for row in X[20:]])
    np.testing.assert_array_equal(together, alone)


def test_constant_feature_keeps_its_scale_and_is_centred_exactly():
    rows = np.column_stack([np.full(10, 0.1), np.arange(10.0)])
    scaler = PositiveScaler().fit(rows)
    assert scaler.scale_[0] == 1.0 and scaler.mean_[0] == 0.1
    assert (scaler.transform(rows)[:, 0] == 0).all()
    assert scaler.transform([[1.1, 0.0]])[0, 0] == pytest.approx(1.0)


def test_all_constant_features_become_zero_and_stay_zero():
    rows = np.full((7, 3), 0.1)
    assert (preprocessor().fit_transform(rows) == 0).all()


def test_one_positive_row():
    scaled = PositiveScaler().fit(X, np.where(np.arange(40) == 3, 1, -1)).transform(X)
    np.testing.assert_array_equal(scaled, X - X[3])


@given(matrices)
def test_scaled_positive_rows_have_mean_zero_and_unit_spread(rows):
    scaler = PositiveScaler().fit(rows)
    scaled = scaler.transform(rows)
    size = np.abs(rows).max(initial=1.0) / scaler.scale_
    assert (np.abs(scaled.mean(axis=0)) <= 1e-13 * size + 1e-13).all()
    wide = scaler.scale_ > 1e-6 * np.abs(rows).max(initial=1.0)
    moving = wide & (np.ptp(rows, axis=0) > 0)
    np.testing.assert_allclose(scaled.std(axis=0)[moving], 1.0, rtol=1e-6)


@given(matrices)
def test_unit_norm_keeps_direction(rows):
    unit = UnitNorm().fit_transform(rows)
    norms = np.linalg.norm(unit, axis=1)
    zero = (rows == 0).all(axis=1)
    assert (unit[zero] == 0).all()
    np.testing.assert_allclose(norms[~zero], 1.0, rtol=1e-12)
    largest = np.abs(rows).max(axis=1)
    np.testing.assert_allclose(
        unit * np.linalg.norm(rows / np.where(zero, 1, largest)[:, None], axis=1)[:, None],
        rows / np.where(zero, 1, largest)[:, None],
        rtol=1e-12,
        atol=1e-300,
    )


def test_unit_norm_equals_normalizer_and_survives_extremes():
    np.testing.assert_allclose(UnitNorm().fit_transform(X), Normalizer().fit_transform(X))
    extreme = np.array([[3e-200, 4e-200], [3e200, 4e200]])
    np.testing.assert_allclose(UnitNorm().fit_transform(extreme), [[0.6, 0.8], [0.6, 0.8]])


@pytest.mark.parametrize("strategy", ["mean", "median"])
def test_imputer_equals_simple_imputer_on_positive_rows(strategy):
    gaps = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
    ours = PositiveImputer(strategy).fit(gaps, Y).transform(gaps)
    theirs = SimpleImputer(strategy=strategy).fit(gaps[Y == 1]).transform(gaps)
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)


def test_constant_imputation_is_the_circulated_convention():
    data = load("breast")
    filled = PositiveImputer("constant").fit(data.X, data.y).transform(data.X)
    assert (filled[np.isnan(data.X)] == -1).all()


def test_steps_are_optional():
    assert list(preprocessor().named_steps) == ["impute", "standardise", "unit_norm"]
    assert list(preprocessor(impute=None, unit_norm=False).named_steps) == ["standardise"]
    untouched = preprocessor(impute=None, standardise=False, unit_norm=False)
    np.testing.assert_array_equal(untouched.fit_transform(X), X)


def test_indicators_put_an_unknown_category_as_far_as_another_one():
    X = np.array([["a", "u"], ["b", "u"], ["c", "v"]], dtype=object)
    known = Indicators().fit(X)
    Z = known.transform(X)
    assert Z.shape == (3, 3 + 2 + 2) and not Z[:, 5:].any()
    far = known.transform(np.array([["z", "u"], [None, "v"], ["z", "z"]], dtype=object))
    np.testing.assert_array_equal(((far[:1] - Z) ** 2).sum(axis=1), [2, 2, 4])
    np.testing.assert_array_equal(far[:, 5:], [[1, 0], [1, 0], [1, 1]])
    np.testing.assert_array_equal(known.origin(), [0, 0, 0, 1, 1, 0, 1])
    names = ["x0_a", "x0_b", "x0_c", "x1_u", "x1_v", "x0_unknown", "x1_unknown"]
    assert known.get_feature_names_out().tolist() == names


def test_an_empty_column_is_named():
    frame = pd.DataFrame({"full": [1.0, 2.0], "empty": [np.nan, np.nan]})
    with pytest.raises(
        ValueError, match=r"no positive row has a value of feature\(s\) \['empty'\]"
    ):
        PositiveImputer().fit(frame)
