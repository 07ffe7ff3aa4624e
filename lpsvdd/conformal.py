r"""Conformal p-values around any detector: thresholds with a meaning, without a contamination.

With calibration scores s_1, ..., s_m of rows from the same source as a new row x, which the
detector was not fitted to,

    p(x) = (1 + #{i : s_i <= s(x)}) / (m + 1),       s high for normal rows,

is at most t with probability at most t for a new row of that source, for every t, whatever the
detector and the distribution, if the rows are exchangeable (Vovk, Gammerman and Shafer,
"Algorithmic Learning in a Random World", 2005). With K folds ("cross") each row is compared by the
detector that did not see it, and a new row by all K: p(x) = (1 + sum_k #{i in fold k : s_k(x_i) <=
s_k(x)}) / (n + 1) (Vovk, Annals of Mathematics and AI 74, 2015). No row is lost for fitting, and
P(p <= t) <= 2 t up to a term of order K/n (Barber et al., Annals of Statistics 49, 2021).

p-values that share one calibration set depend on one another positively, and the procedure of
Benjamini and Hochberg at level q then keeps the false discovery rate below q: among the rows it
names, the expected share of normal ones is at most q (Bates et al., Annals of Statistics 51, 2023).
"""

from __future__ import annotations

from numbers import Integral

import numpy as np
from scipy.sparse import issparse
from scipy.stats import false_discovery_control
from sklearn.base import BaseEstimator, MetaEstimatorMixin, OutlierMixin, clone
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing, check_array, check_random_state
from sklearn.utils._tags import get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from lpsvdd._validation import in_memory, is_number


class ConformalDetector(MetaEstimatorMixin, OutlierMixin, BaseEstimator):
    r"""Give calibrated p-values and a controlled false discovery rate around a detector.

    Parameters
    ----------
    estimator : detector with ``fit`` and ``score_samples``, high scores normal
        For instance `LpSVDD`, `LpSVDDCV`, a pipeline that ends in one, or any outlier detector of
        scikit-learn. It is cloned, not changed.
    method : {"split", "cross"}, default="split"
        "split" calibrates with one part of the rows, "cross" with every row in turn.
    calibration_share : float in (0, 1), default=0.5
        Share of the rows to calibrate with, for "split". The smallest p-value is
        1/(number of calibration rows + 1).
    n_folds : int, default=5
        Number of folds, for "cross".
    level : float in (0, 1), default=0.1
        ``predict`` gives -1 where the p-value is at most this: the share of new normal rows that
        are rejected is then at most ``level`` on average.
    random_state : int, RandomState or None
        Seed of the split or the folds.

    Attributes
    ----------
    estimators_ : list of fitted detectors
        One for "split", one per fold for "cross".
    calibration_ : list of arrays
        Sorted scores of the rows that the detector at the same index was not fitted to.
    n_calibration_ : int
        Number of calibration rows in all.
    offset_ : float
        The p-value halfway above the largest that is rejected: decision_function = p-value -
        offset_.

    See Also
    --------
    LpSVDD.rethreshold : the same threshold as "split" for one model and one rate.

    Examples
    --------
    >>> import numpy as np
    >>> from lpsvdd import ConformalDetector, LpSVDD
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> detector = ConformalDetector(LpSVDD(nu=0.1), random_state=0).fit(X)
    >>> p = detector.p_values([[0.0, 0.0], [9.0, 9.0]])
    >>> bool(p[0] > 0.1), bool(p[1] < 0.01)
    (True, True)
    >>> detector.select([[0.0, 0.0], [9.0, 9.0]], fdr=0.1)
    array([False,  True])
    """

    def __init__(
        self,
        estimator,
        method="split",
        *,
        calibration_share=0.5,
        n_folds=5,
        level=0.1,
        random_state=None,
    ):
        self.estimator = estimator
        self.method = method
        self.calibration_share = calibration_share
        self.n_folds = n_folds
        self.level = level
        self.random_state = random_state

    def fit(self, X, y=None):
        """Fit to a part of the rows, all normal, and calibrate on the others; y is ignored."""
        self._check_parameters()
        X = self._rows(X)
        if not hasattr(X, "iloc"):  # a data frame stays one: the detector may know its columns
            options = {"accept_sparse": "csr", "ensure_all_finite": False, "dtype": None}
            X = check_array(X, ensure_min_samples=0, **options)
        n = _num_samples(X)
        if n < 2:
            raise ValueError(
                f"n_samples = {n}: at least one row to fit and one to calibrate are needed"
            )
        detectors, calibration = [], []  # kept when all are there: a failed refit changes nothing
        for fitted, held in self._parts(n, check_random_state(self.random_state)):
            detectors.append(clone(self.estimator).fit(_safe_indexing(X, fitted)))
            calibration.append(np.sort(detectors[-1].score_samples(_safe_indexing(X, held))))
        self.estimators_, self.calibration_ = detectors, calibration
        for name in ("n_features_in_", "feature_names_in_"):  # as far as the detector knows them
            vars(self).pop(name, None)
            if hasattr(detectors[0], name):
                setattr(self, name, getattr(detectors[0], name))
        self.n_calibration_ = sum(map(len, calibration))
        self.offset_ = self._threshold()
        return self

    def p_values(self, X):
        """Return the p-value of each row; it is small where the row is unlike the training rows."""
        return (1.0 + self._not_above(X)) / (self.n_calibration_ + 1.0)

    def select(self, X, fdr=0.1):
        """Return the mask of rows called outliers, with a false discovery rate of at most ``fdr``.

        Benjamini and Hochberg's procedure on the p-values of all rows of X together: what is
        selected depends on the batch. Selecting k of n rows takes p-values of at most fdr k/n,
        and with few calibration rows none may be that small.
        """
        if not is_number(fdr) or not 0.0 < fdr < 1.0:
            raise ValueError(f"fdr must be a number in (0, 1), got {fdr!r}")
        return false_discovery_control(self.p_values(X), method="bh") <= fdr

    def score_samples(self, X):
        """Return the p-values: higher is more normal."""
        return self.p_values(X)

    def decision_function(self, X):
        """Return p-value minus offset_: negative where it is at most ``level``."""
        return self.p_values(X) - self.offset_

    def predict(self, X):
        """Return +1 for accepted rows, -1 where the p-value is at most ``level``."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)

    def _rows(self, X):
        """Return rows in memory; sparse ones pass where the detector takes them."""
        is_sparse = issparse(X) and get_tags(self.estimator).input_tags.sparse
        return X if is_sparse else in_memory(X)

    def _threshold(self) -> float:
        """Return halfway to the next larger p-value: one equal to ``level`` is then rejected."""
        steps = np.floor(self.level * (self.n_calibration_ + 1.0) + 1e-9)
        return float((steps + 0.5) / (self.n_calibration_ + 1.0))

    def _not_above(self, X) -> np.ndarray:
        """Count the calibration scores that are not above the score of each row."""
        check_is_fitted(self)
        X = self._rows(X)
        return sum(
            np.searchsorted(scores, detector.score_samples(X), side="right")
            for detector, scores in zip(self.estimators_, self.calibration_, strict=True)
        )

    def _parts(self, n: int, rng) -> list[tuple[np.ndarray, np.ndarray]]:
        """Yield (rows that fit, rows that calibrate), once or once a fold."""
        if self.method == "cross":
            folds = KFold(min(self.n_folds, n), shuffle=True, random_state=rng.randint(2**31))
            return list(folds.split(np.arange(n)))
        order = rng.permutation(n)
        held = int(np.clip(round(self.calibration_share * n), 1, n - 1))
        return [(order[held:], order[:held])]

    def _check_parameters(self) -> None:
        if self.method not in ("split", "cross"):
            raise ValueError(f"method must be 'split' or 'cross', got {self.method!r}")
        for name in ("calibration_share", "level"):
            value = getattr(self, name)
            if not is_number(value) or not 0.0 < value < 1.0:
                raise ValueError(f"{name} must be a number in (0, 1), got {value!r}")
        if not isinstance(self.n_folds, Integral) or self.n_folds < 2:
            raise ValueError(f"n_folds must be a whole number >= 2, got {self.n_folds!r}")
        if not hasattr(self.estimator, "score_samples"):
            raise ValueError(
                f"estimator must have score_samples, and {type(self.estimator).__name__} has not; "
                "LocalOutlierFactor needs novelty=True"
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags
