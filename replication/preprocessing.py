r"""Preprocessing learnt from positive training samples only; rows that two samples share.

The paper's preparation of a sample x is

.. math:: z_j = \frac{x_j - \mu_j}{\sigma_j}, \qquad \tilde z = \frac{z}{\|z\|_2},

with mean :math:`\mu` and standard deviation :math:`\sigma` of the *positive training* samples
(:math:`\sigma_j = 1` for a constant feature, :math:`\tilde z = 0` for :math:`z = 0`), after missing
values have been replaced by the same :math:`\mu_j`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array, check_consistent_length


class Preparation(TransformerMixin, BaseEstimator):
    r"""Impute, standardise and scale to unit norm; ``fit`` learns from the rows with y > 0.

    Parameters
    ----------
    impute : {"mean", "median", "constant"}
        What stands in for a missing value of feature j: mean or median of the observed values of
        feature j among positive training rows, or -1. Copies of two of the paper's data sets
        circulate already imputed, by other rules: D2 (hepatitis) with column means over *all* rows,
        test rows and negatives included; D18 (breast) with −1, as does a copy of D17 (cleveland).
    unit_norm : bool
        Divide each row by its Euclidean norm.
    """

    def __init__(self, impute="mean", unit_norm=True):
        self.impute = impute
        self.unit_norm = unit_norm

    def fit(self, X, y=None):
        """Learn replacements, mean and deviation from the rows with y > 0, or all without y."""
        rows = self._check(X)
        if y is not None:
            check_consistent_length(rows, y)
            rows = rows[np.asarray(y) > 0]
            if not len(rows):
                raise ValueError("y has no positive label: statistics come from rows with y > 0")
        if np.isnan(rows).all(axis=0).any() and self.impute != "constant":
            raise ValueError("no positive row has a value of one of the features")
        self.replacements_ = {
            "mean": lambda: np.nanmean(rows, axis=0),
            "median": lambda: np.nanmedian(rows, axis=0),
            "constant": lambda: np.full(rows.shape[1], -1.0),
        }[self.impute]()
        rows = np.where(np.isnan(rows), self.replacements_, rows)
        # Rounding in the mean would leave a constant feature at ±1e-17, and unit norm would then
        # blow that up to ±1: decide constancy exactly and centre by the constant itself.
        constant = (rows == rows[0]).all(axis=0)
        self.mean_ = np.where(constant, rows[0], rows.mean(axis=0))
        spread = rows.std(axis=0)
        self.scale_ = np.where(constant | (spread == 0.0), 1.0, spread)
        return self

    def transform(self, X) -> np.ndarray:
        """Return the rows prepared; nothing is learnt from them."""
        X = self._check(X)
        Z = (np.where(np.isnan(X), self.replacements_, X) - self.mean_) / self.scale_
        if not self.unit_norm:
            return Z
        # Dividing by the largest entry first keeps squares of tiny and huge rows representable.
        largest = np.abs(Z).max(axis=1, keepdims=True)
        Z = Z / np.where(largest == 0.0, 1.0, largest)
        norm = np.linalg.norm(Z, axis=1, keepdims=True)
        return Z / np.where(norm == 0.0, 1.0, norm)

    def _check(self, X) -> np.ndarray:
        return check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")


def preprocessor(
    *, impute: Literal["mean", "median", "constant"] = "mean", unit_norm: bool = True
) -> Preparation:
    """Return the paper's preparation: impute, standardise, unit norm.

    Examples
    --------
    >>> from replication.preprocessing import preprocessor
    >>> rows = [[0.0, 1.0], [2.0, 3.0], [9.0, 9.0]]
    >>> scaled = preprocessor(unit_norm=False).fit(rows, [1, 1, -1]).transform(rows)
    >>> scaled[:2].tolist()  # mean and deviation are those of the positives
    [[-1.0, -1.0], [1.0, 1.0]]
    """
    return Preparation(impute, unit_norm)


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
    train, test = (np.array(rows, dtype=float, ndmin=2) + 0.0 for rows in (train, test))  # no -0.0
    if train.shape[1] != test.shape[1]:
        raise ValueError(f"train has {train.shape[1]} columns and test has {test.shape[1]}")
    for rows in (train, test):
        rows[np.isnan(rows)] = np.nan  # one pattern of bits for all
    known = {row.tobytes() for row in train}
    return np.array([row.tobytes() in known for row in test], dtype=bool)
