r"""What all kernel one-class detectors share: validation, the kernel, the threshold.

One sign convention throughout, scikit-learn's: a higher score is more normal,

    decision_function(x) = score_samples(x) - offset_,   predict = +1 where it is >= 0, else -1.

(PyOD uses the opposite sign.) A subclass supplies two small methods, ``_fit_kernel`` and
``_score_kernel``, which see kernel values only; so every detector also takes
``kernel="precomputed"`` and one kernel matrix can serve them all.
"""

from __future__ import annotations

import inspect
import warnings
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from lpsvdd._validation import (
    check_range,
    check_square_kernel,
    estimator_labels,
    is_number,
    warn_of_collapse,
    weighted_quantile,
)
from lpsvdd.kernels import KERNELS, kernel_diagonal, kernel_matrix, resolve_gamma
from lpsvdd.solver.blocks import is_dask, map_rows


class KernelInput:
    """Check the input of estimators with parameters ``kernel, gamma, degree, coef0``."""

    def _kernel_options(self):
        given = {name: getattr(self, name) for name in ("kernel", "degree", "coef0")}
        return given | {"gamma": self.gamma_}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def precomputed_diagonal(diag, n_samples: int, training: np.ndarray) -> np.ndarray:
    """Return k(z, z) as given, or the ``training`` diagonal where that is constant."""
    if diag is not None:
        diag = np.asarray(diag, dtype=float)
        if diag.shape != (n_samples,) or not np.isfinite(diag).all():
            raise ValueError(
                f"diag must be {n_samples} finite numbers k(z, z), got shape {diag.shape}"
            )
        return diag
    first = training[0]
    if np.ptp(training) > 1e-9 * max(abs(first), np.finfo(float).tiny):
        raise ValueError(
            "distances need k(z, z), and the training diagonal is not constant: pass it as diag="
        )
    return np.full(n_samples, first)


class KernelOneClass(KernelInput, OutlierMixin, BaseEstimator):
    """Share what all detectors need: kernels "rbf", "linear", "poly", a callable, or "precomputed".

    Subclasses implement ``_fit_kernel(K, y, sample_weight)`` and ``_score_kernel(Kz, diag)``; what
    further parameters they have, they store in an ``__init__`` of their own.
    """

    uses_negatives: ClassVar[bool] = False

    def __init__(
        self,
        *,
        kernel="rbf",
        gamma="half-mean-distance",
        degree=3,
        coef0=1.0,
        contamination=0.1,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.contamination = contamination

    def fit(self, X, y=None):
        """Fit to the positive samples (and the labelled outliers, where the method uses them).

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or the square kernel matrix if precomputed.
        y : array of +1 and -1, optional. None: every sample is positive.

        Returns
        -------
        self
        """
        return self._replace_by(lambda model: model._fit(X, y, None))

    def __setstate__(self, state):
        """Give a parameter its default in a model that was saved before it existed."""
        super().__setstate__(state)
        for name, parameter in inspect.signature(type(self)).parameters.items():
            if not hasattr(self, name):
                setattr(self, name, parameter.default)

    def _replace_by(self, fit):
        """Fit a fresh copy, then become it: a fit that fails leaves the model as it was."""
        fresh = object.__new__(type(self))
        learnt = {name for name in vars(self) if name.endswith("_") and not name.startswith("_")}
        fresh.__dict__.update({k: v for k, v in vars(self).items() if k not in learnt})
        fit(fresh)
        self.__dict__ = fresh.__dict__
        return self

    def _fit(self, X, y, sample_weight):
        self._check_parameters()
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=1)
        y = estimator_labels(y, len(X))
        if not self.uses_negatives and (y < 0).any():
            raise ValueError(
                f"y holds -1 labels, but {type(self).__name__} cannot use labelled outliers; "
                "pass the positive samples only"
            )
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            if not (sample_weight[y > 0] > 0.0).any():
                raise ValueError(
                    "sample_weight is zero on every positive sample: give one of them a weight"
                )
        if self.kernel == "precomputed":
            check_square_kernel(X, "X (kernel='precomputed')")
            self.gamma_ = None
        else:
            if not callable(self.kernel):
                check_range(X)
            self.gamma_ = resolve_gamma(self.gamma, X, sample_weight)
            self.X_fit_ = X
        K = self._training_kernel(X)
        if self.kernel != "precomputed":
            warn_of_collapse(X, K)
        self.y_fit_ = y
        self.diag_fit_ = K.diagonal().copy()
        self._fit_kernel(K, y, sample_weight)
        if self.contamination is None:
            self.offset_ = self._natural_offset(K)
        else:
            scores = self._training_scores(K)[y > 0]
            weights = None if sample_weight is None else sample_weight[y > 0]
            self.offset_ = weighted_quantile(scores, self.contamination, weights)
        return self

    def score_samples(self, X, *, diag=None):
        """Return the score of each sample; higher is more normal.

        Parameters
        ----------
        X : array of shape (n_samples, n_features); if precomputed, the kernel values
            k(z, x_i) between the samples and the training samples. For a dask array the scores
            are a dask array too, computed block by block when they are asked for.
        diag : array of shape (n_samples,), optional
            k(z, z), for precomputed kernels only. May be left out where the training
            diagonal is constant (as for a Gaussian kernel), which is then used.
        """
        check_is_fitted(self)
        if is_dask(X):
            return map_rows(self.score_samples, X)
        if sparse.issparse(X) and self.__sklearn_tags__().input_tags.sparse:
            X = X.toarray()
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self.kernel == "precomputed":
            return self._score_kernel(X, precomputed_diagonal(diag, len(X), self.diag_fit_))
        if diag is not None:
            raise ValueError("diag is for kernel='precomputed'; other kernels compute k(z, z)")
        return self._score_points(X)

    def decision_function(self, X, *, diag=None):
        """Return score_samples(X) - offset_: not negative where the sample is accepted."""
        return self.score_samples(X, diag=diag) - self.offset_

    def predict(self, X, *, diag=None):
        """Return +1 for accepted (normal) samples, -1 for outliers."""
        return np.where(self.decision_function(X, diag=diag) >= 0.0, 1, -1)

    def fit_predict(self, X, y=None, **fit_params):
        """Fit and return +1 or -1 for the training samples themselves."""
        self.fit(X, y, **fit_params)
        return self.predict(X, diag=self.diag_fit_ if self.kernel == "precomputed" else None)

    def score(self, X, y=None):
        """Return the area under the ROC curve of the scores against labels +1 and -1.

        This is what scikit-learn's searches maximise where no ``scoring`` is given. Without labels
        no single number tells which description is better, so y is required (with labels of other
        kinds the result is NaN and a warning); :class:`lpsvdd.LpSVDDCV` chooses parameters without
        labels.
        """
        need = (
            "score compares scores with labels: y must hold both +1 (targets) and -1 (outliers); "
            "folds with both come from lpsvdd.selection.TargetFolds, "
            "and LpSVDDCV chooses parameters without labels"
        )
        if y is None:
            raise ValueError(need)
        labels, scores = np.asarray(y), self.score_samples(X)
        if labels.dtype.kind not in "iuf" or set(np.unique(labels)) != {-1, 1}:
            warnings.warn(need, UserWarning, stacklevel=2)
            return float("nan")
        return float(roc_auc_score(labels, scores))

    def rethreshold(self, X, *, quantile=None, false_alarm_rate=None, diag=None):
        """Move the threshold using held-out normal samples; the model itself is not refitted.

        Give exactly one of
        ``quantile``: offset_ becomes that quantile of the scores of X;
        ``false_alarm_rate``: offset_ becomes an order statistic of those scores such that a new
        sample from the same source is rejected with probability at most this rate, averaged over
        held-out sets (the split-conformal rule; 0 or too small a set accept everything seen).
        """
        if (quantile is None) == (false_alarm_rate is None):
            raise ValueError("give exactly one of quantile and false_alarm_rate")
        level = quantile if false_alarm_rate is None else false_alarm_rate
        if not (is_number(level) and 0.0 <= level < 1.0):
            name = "quantile" if false_alarm_rate is None else "false_alarm_rate"
            raise ValueError(f"{name} must be in [0, 1), got {level!r}")
        scores = np.sort(self.score_samples(X, diag=diag))
        if false_alarm_rate is None:
            self.offset_ = float(np.quantile(scores, level))
        else:
            # P(new score < k-th smallest of m) <= (k - 1 + 1)/(m + 1) with k counted from 1.
            k = int(np.floor(level * (len(scores) + 1) + 1e-12))
            self.offset_ = float(scores[k - 1]) if k >= 1 else -np.inf
        self.surface_ = "held-out"
        return self

    # -- for subclasses ---------------------------------------------------------------------

    def _training_kernel(self, X: np.ndarray):
        """Return the kernel matrix of the training samples, checked; subclasses may not need it."""
        if self.kernel == "precomputed":
            return X
        K = kernel_matrix(X, **self._kernel_options())
        check_square_kernel(K, "the kernel matrix")
        return K

    def _fit_kernel(self, K: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        raise TypeError(f"{type(self).__name__} must define _fit_kernel")

    def _score_kernel(self, Kz: np.ndarray, diag: np.ndarray) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} must define _score_kernel")

    def _score_points(self, X: np.ndarray) -> np.ndarray:
        """Return scores of samples; a subclass that needs fewer kernel values has its own."""
        options = self._kernel_options()
        return self._score_kernel(
            kernel_matrix(X, self.X_fit_, **options), kernel_diagonal(X, **options)
        )

    def _training_scores(self, K: np.ndarray) -> np.ndarray:
        """Return the scores of the training samples, whose kernel matrix is at hand."""
        return self._score_kernel(K, self.diag_fit_)

    def _natural_offset(self, K) -> float:
        """Return the threshold without ``contamination``: every positive sample is accepted."""
        return float(self._training_scores(K)[self.y_fit_ > 0].min())

    # -- inner workings ---------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if not callable(self.kernel) and self.kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {KERNELS} or a callable, got {self.kernel!r}")
        if self.contamination is not None and not (
            is_number(self.contamination) and 0.0 < self.contamination <= 0.5
        ):
            raise ValueError(
                f"contamination must be None or in (0, 0.5], got {self.contamination!r}"
            )
