"""Our detectors behind the interface of PyOD, with PyOD's sign: **high scores are abnormal**.

Everything else in this package follows scikit-learn, where high scores are normal. The adapter
turns the sign once, in one place:

    decision_function(x) = -score_samples(x),   predict: 1 for outliers, 0 for the others.

What follows from the scores (``threshold_``, ``labels_``, ``predict_proba``,
``predict_confidence``) is PyOD's own code. It needs PyOD to be installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array, check_is_fitted

from lpsvdd.selection import LpSVDDCV

try:
    from pyod.models.base import BaseDetector
except ImportError as error:
    raise ImportError("the adapter needs PyOD: install pyod") from error


class PyODDetector(BaseDetector):
    """A detector of this package, or of scikit-learn, as one of PyOD.

    Parameters
    ----------
    estimator : detector with ``score_samples``, high scores normal; optional
        LpSVDDCV, which chooses its width without labels, if absent. It is cloned, not changed.
    contamination : float in (0, 0.5], default=0.1
        Share of the training rows that PyOD's threshold calls outliers. The estimator's own
        threshold has no part in it.

    Attributes
    ----------
    detector_ : the fitted estimator
    decision_scores_, threshold_, labels_ : as in PyOD

    Examples
    --------
    >>> import numpy as np
    >>> from lpsvdd import LpSVDD
    >>> from lpsvdd.pyod_adapter import PyODDetector
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> PyODDetector(LpSVDD(C=0.1)).fit(X).predict([[0.0, 0.0], [6.0, 6.0]])
    array([0, 1])
    """

    def __init__(self, estimator: Any = None, contamination: float = 0.1):
        super().__init__(contamination=contamination)
        self.estimator = estimator

    def fit(self, X: Any, y: Any = None) -> PyODDetector:
        """Fit to all rows; y is ignored, as PyOD's unsupervised detectors do."""
        X = check_array(X)
        self._set_n_classes(y)
        chosen = LpSVDDCV(random_state=0) if self.estimator is None else clone(self.estimator)
        self.detector_ = chosen.fit(X)
        self.decision_scores_ = -np.asarray(self.detector_.score_samples(X))
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Abnormality of each row: minus the score of the estimator."""
        check_is_fitted(self, ["decision_scores_", "threshold_", "labels_"])
        return -np.asarray(self.detector_.score_samples(check_array(X)))
