r"""Preprocessing learnt from positive training samples only.

The paper's preparation of a sample x is

.. math:: z_j = \frac{x_j - \mu_j}{\sigma_j}, \qquad \tilde z = \frac{z}{\|z\|_2},

with mean :math:`\mu` and standard deviation :math:`\sigma` of the *positive training* samples
(:math:`\sigma_j = 1` for a constant feature, :math:`\tilde z = 0` for :math:`z = 0`), after missing
values have been replaced by the same :math:`\mu_j`. Each step is a transformer of its own and may
be left out. ``fit(X, y)`` takes its statistics from the rows with y > 0; y = None means that all
rows are positive. No step learns anything in ``transform``.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data


def positive_rows(X: np.ndarray, y: object | None) -> np.ndarray:
    """Return the rows of X with y > 0, all rows when y is None."""
    if y is None:
        return X
    labels = check_array(y, ensure_2d=False, dtype="numeric", input_name="y").ravel()
    check_consistent_length(X, labels)
    positive = labels > 0
    if not positive.any():
        raise ValueError("y has no positive label: statistics come from the rows with y > 0")
    return X[positive]


class _PositiveTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Shared ground: n features in, the same n features out, floating point."""

    def _check(self, X: object, *, reset: bool, allow_nan: bool = False) -> np.ndarray:
        finite = "allow-nan" if allow_nan else True
        return validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=finite)


class PositiveImputer(_PositiveTransformer):
    r"""Replace missing values (NaN) by a statistic of the positive training samples.

    Parameters
    ----------
    strategy : {"mean", "median", "constant"}, default="mean"
        What stands in for a missing value of feature j: mean or median of the observed values of
        feature j among positive training rows, or -1.

    Attributes
    ----------
    statistics_ : ndarray of shape (n_features,)

    Notes
    -----
    Copies of two of the paper's data sets circulate already imputed, by other rules: D2 (hepatitis)
    with column means over *all* rows, test rows and negatives included; D18 (breast) with −1, as
    does a copy of D17 (cleveland). ``PositiveImputer(strategy="constant")`` gives the latter; the
    former looks at test data and is not offered here.
    """

    def __init__(self, strategy: str = "mean"):
        self.strategy = strategy

    def fit(self, X, y=None) -> Self:
        """Learn the replacement of each feature from the rows with y > 0."""
        X = self._check(X, reset=True, allow_nan=True)
        rows = positive_rows(X, y)
        if self.strategy == "constant":
            self.statistics_ = np.full(X.shape[1], -1.0)
            return self
        if self.strategy not in ("mean", "median"):
            raise ValueError(
                f"strategy must be 'mean', 'median' or 'constant', got {self.strategy!r}"
            )
        empty = np.flatnonzero(np.isnan(rows).all(axis=0))
        if empty.size:
            names = getattr(self, "feature_names_in_", np.arange(X.shape[1]))[empty].tolist()
            raise ValueError(f"no positive row has a value of feature(s) {names}")
        statistic = np.nanmean if self.strategy == "mean" else np.nanmedian
        self.statistics_ = statistic(rows, axis=0)
        return self

    def transform(self, X) -> np.ndarray:
        """Return X with missing values replaced."""
        check_is_fitted(self)
        X = self._check(X, reset=False, allow_nan=True)
        return np.where(np.isnan(X), self.statistics_, X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class PositiveScaler(_PositiveTransformer):
    r"""Subtract the mean and divide by the standard deviation of the positive training samples.

    A feature that is constant among them keeps its scale (divisor 1) and is centred exactly. The
    divisor is the population standard deviation. Dividing by n − 1 instead of n would multiply
    every other feature by one common factor, which unit norm and a data-dependent width undo.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (n_features,)
    """

    def fit(self, X, y=None) -> Self:
        """Learn mean and standard deviation from the rows with y > 0."""
        X = self._check(X, reset=True)
        rows = positive_rows(X, y)
        # Rounding in the mean would leave a constant feature at ±1e-17, and unit norm would then
        # blow that up to ±1: decide constancy exactly and centre by the constant itself.
        constant = (rows == rows[0]).all(axis=0)
        self.mean_ = np.where(constant, rows[0], rows.mean(axis=0))
        spread = rows.std(axis=0)
        self.scale_ = np.where(constant | (spread == 0.0), 1.0, spread)
        return self

    def transform(self, X) -> np.ndarray:
        """Return (X − mean) / scale."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        return (X - self.mean_) / self.scale_


class UnitNorm(_PositiveTransformer):
    r"""Scale each row to unit Euclidean norm; a zero row stays zero. Nothing is learnt.

    By hand: scikit-learn's ``Normalizer`` leaves rows shorter than 2e-15 as they are.
    """

    def fit(self, X, y=None) -> Self:
        """Check X and note its number of features."""
        self._check(X, reset=True)
        return self

    def transform(self, X) -> np.ndarray:
        """Return X with rows divided by their norm."""
        X = self._check(X, reset=False)
        # Dividing by the largest entry first keeps squares of tiny and huge rows representable.
        largest = np.abs(X).max(axis=1, keepdims=True)
        scaled = X / np.where(largest == 0.0, 1.0, largest)
        norm = np.linalg.norm(scaled, axis=1, keepdims=True)
        return scaled / np.where(norm == 0.0, 1.0, norm)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def preprocessor(
    *, impute: str | None = "mean", standardise: bool = True, unit_norm: bool = True
) -> Pipeline:
    """Return the paper's preparation as a pipeline: impute, standardise, unit norm, each optional.

    Examples
    --------
    >>> from replication.preprocessing import preprocessor
    >>> rows = [[0.0, 1.0], [2.0, 3.0], [9.0, 9.0]]
    >>> scaled = preprocessor(unit_norm=False).fit(rows, [1, 1, -1]).transform(rows)
    >>> scaled[:2].tolist()  # mean and deviation are those of the positives
    [[-1.0, -1.0], [1.0, 1.0]]
    """
    steps: list[tuple[str, TransformerMixin | str]] = []
    if impute is not None:
        steps.append(("impute", PositiveImputer(impute)))
    if standardise:
        steps.append(("standardise", PositiveScaler()))
    if unit_norm:
        steps.append(("unit_norm", UnitNorm()))
    return Pipeline(steps or [("nothing", "passthrough")])


def shared_rows(train, test) -> np.ndarray:
    r"""Return a mask of the rows of ``test`` that are rows of ``train`` too, all values equal.

    A detector has seen such a row. Rows drawn with replacement before a split stand on both sides
    of it, and scores of test rows then say how well the detector remembers. Missing values (NaN)
    equal one another.

    Examples
    --------
    >>> from replication.preprocessing import shared_rows
    >>> shared_rows([[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [3.0, 5.0]]).tolist()
    [True, False]
    """
    options = {"dtype": np.float64, "ensure_all_finite": "allow-nan", "ensure_min_samples": 0}
    train, test = (check_array(rows, **options) + 0.0 for rows in (train, test))  # -0.0 is 0.0
    if train.shape[1] != test.shape[1]:
        raise ValueError(f"train has {train.shape[1]} columns and test has {test.shape[1]}")
    for rows in (train, test):
        rows[np.isnan(rows)] = np.nan  # one pattern of bits for all
    known = {row.tobytes() for row in train}
    return np.array([row.tobytes() in known for row in test], dtype=bool)
