r"""Open-set classification: one lp-sphere per class, all in one feature space.

The paper's discussion names this extension, for test samples that may belong to no known class.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from lpsvdd._base import KernelInput
from lpsvdd._validation import is_number
from lpsvdd.kernels import kernel_diagonal, kernel_matrix, resolve_gamma, squared_distances
from lpsvdd.solver import solve


class OpenSetClassifier(KernelInput, ClassifierMixin, BaseEstimator):
    r"""One lp-sphere per class, and a rejection outside all of them.

    With d_k(x) = ||phi(x) - a_k||^2 the squared distance to the centre of class k and R_k^2 its
    radius, the margin of class k is m_k(x) = R_k^2 - d_k(x), and

        closed set:  label(x) = argmin_k (d_k(x) - R_k^2) = argmax_k m_k(x),
        open set:    reject x if m_k(x) < t_k for every k, else label(x).

    The threshold t_k is the ``rejection_rate`` quantile of m_k over samples of class k that were
    held out from the fit. Margins are differences: R_k^2 may be zero or negative (it often is for
    small C) and nothing is divided by it.

    Parameters
    ----------
    p, C
        Exponent and cost of lp-SVDD, the same for every class.
    use_negatives : bool
        Give each sphere the samples of the other classes as labelled negatives.
    rejection_rate : float in [0, 1)
        Share of a class's held-out samples that may fall outside its sphere.
    holdout : float in [0, 1)
        Share of each class held out from the fit to set t_k (at least one sample; a class with a
        single sample is calibrated on that one). With 0 everything is used for the fit and nothing
        is rejected.
    kernel : {"rbf", "linear", "poly"} or callable
    gamma, degree, coef0
        Kernel parameters, see `lpsvdd.kernels`; the width is taken over all samples of the fit.
    random_state : int, RandomState or None
        Chooses the held-out samples.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    radius_sq_ : array of shape (n_classes,)
    thresholds_ : array of shape (n_classes,)
        The t_k; minus infinity where nothing is rejected.
    dual_coef_ : array of shape (n_fit, n_classes)
        Column k: coefficients of the centre a_k.
    duality_gap_, n_iter_ : arrays of shape (n_classes,)
        Relative duality gap and iterations (reported as at least 1) of each sphere.
    fit_indices_ : array
        Rows of the training data the spheres were fitted to (the others were held out).
    reject_label_ : the label of rejected samples
        "unknown" for text labels, else -1 (where -1 is a class, one less than the smallest class).

    Notes
    -----
    There is no ``decision_function``: scikit-learn expects its argmax to equal ``predict``, which
    cannot hold with a rejection. Use ``margins`` (its argmax is the closed-set label) and
    ``score_samples``.

    Examples
    --------
    >>> import numpy as np
    >>> from replication.openset import OpenSetClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(0, 1, (60, 2)), rng.normal(8, 1, (60, 2))])
    >>> y = np.repeat(["left", "right"], 60)
    >>> classifier = OpenSetClassifier(random_state=0).fit(X, y)
    >>> classifier.predict([[0, 0], [8, 8], [0, 30]]).tolist()
    ['left', 'right', 'unknown']
    """

    def __init__(
        self,
        *,
        p=2.0,
        C=1.0,
        use_negatives=False,
        rejection_rate=0.05,
        holdout=0.25,
        kernel="rbf",
        gamma="half-mean-distance",
        degree=3,
        coef0=1.0,
        random_state=None,
    ):
        self.p = p
        self.C = C
        self.use_negatives = use_negatives
        self.rejection_rate = rejection_rate
        self.holdout = holdout
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.random_state = random_state

    def fit(self, X, y):
        """Fit one sphere per class (two at least) and set the thresholds on held-out samples."""
        for name in ("rejection_rate", "holdout"):
            value = getattr(self, name)
            if not (is_number(value) and 0.0 <= value < 1.0):
                raise ValueError(f"{name} must be in [0, 1), got {value!r}")
        if self.kernel == "precomputed":
            raise ValueError("kernel must be computed from rows: 'precomputed' is not possible")
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                "y holds one class; OpenSetClassifier needs at least two (for one class, LpSVDD)"
            )
        self.reject_label_ = _reject_label(self.classes_)
        known = (
            self.classes_ if self.classes_.dtype.kind in "iufU" else self.classes_.astype(object)
        )
        self._labels = np.append(known, self.reject_label_)
        held = self._hold_out(codes)
        self.fit_indices_ = np.flatnonzero(~held)
        self.X_fit_ = X[self.fit_indices_]
        self.gamma_ = resolve_gamma(self.gamma, self.X_fit_)
        self._fit_spheres(kernel_matrix(self.X_fit_, **self._kernel_options()), codes[~held])
        self.thresholds_ = np.full(len(self.classes_), -np.inf)
        if self.holdout > 0.0:
            margins = self._margins(X)
            for k in range(len(self.classes_)):
                own = codes == k
                judged = own & held if (own & held).any() else own
                self.thresholds_[k] = np.quantile(margins[judged, k], self.rejection_rate)
        return self

    def margins(self, X):
        """R_k^2 - d_k(x) for every class k; not negative inside the sphere of class k."""
        check_is_fitted(self)
        return self._margins(validate_data(self, X, dtype=np.float64, reset=False))

    def _margins(self, X: np.ndarray) -> np.ndarray:
        Kz = kernel_matrix(X, self.X_fit_, **self._kernel_options())
        diag = kernel_diagonal(X, **self._kernel_options())
        return self.radius_sq_ - squared_distances(Kz, self.dual_coef_, diag, self._norms)

    def score_samples(self, X):
        """max_k (m_k(x) - t_k): how well the best class accepts x; rejected where negative.

        Plus infinity where nothing is rejected (``holdout=0``).
        """
        return (self.margins(X) - self.thresholds_).max(axis=1)

    def predict(self, X):
        """Class of each sample, or ``reject_label_`` outside all spheres."""
        margins = self.margins(X)
        outside = (margins < self.thresholds_).all(axis=1)
        return self._labels[np.where(outside, len(self.classes_), margins.argmax(axis=1))]

    def _hold_out(self, codes: np.ndarray) -> np.ndarray:
        """Mask of held-out samples: of each class the share asked for, leaving at least one."""
        rng = check_random_state(self.random_state)
        held = np.zeros(len(codes), dtype=bool)
        for k in range(len(self.classes_)):
            rows = rng.permutation(np.flatnonzero(codes == k))
            number = max(1, round(self.holdout * len(rows))) if self.holdout > 0.0 else 0
            held[rows[: min(number, len(rows) - 1)]] = True
        return held

    def _fit_spheres(self, K: np.ndarray, codes: np.ndarray) -> None:
        n_classes = len(self.classes_)
        self.dual_coef_ = np.zeros((len(K), n_classes))
        self.radius_sq_ = np.empty(n_classes)
        self.duality_gap_ = np.empty(n_classes)
        self.n_iter_ = np.ones(n_classes, dtype=int)
        for k in range(n_classes):
            rows = np.arange(len(K)) if self.use_negatives else np.flatnonzero(codes == k)
            y = np.where(codes[rows] == k, 1.0, -1.0)
            solution = solve(K[np.ix_(rows, rows)], y, p=self.p, c=self.C)
            if not np.isfinite(solution.radius_sq):
                raise ValueError(
                    f"the radius of class {self.classes_[k]!r} is beyond any float, so spheres "
                    f"cannot be compared: raise C or p (now C={self.C!r}, p={self.p!r})"
                )
            self.dual_coef_[rows, k] = solution.centre
            self.radius_sq_[k] = solution.radius_sq
            self.duality_gap_[k] = solution.gap
            self.n_iter_[k] = max(solution.n_iter, 1)
        self._norms = np.einsum("ik,ik->k", self.dual_coef_, K @ self.dual_coef_)


def _reject_label(classes: np.ndarray):
    if classes.dtype.kind in "iuf":
        return -1 if -1 not in classes else classes.min() - 1
    if "unknown" in classes.tolist():
        raise ValueError("the class 'unknown' has the name of what is rejected; rename it")
    return "unknown"
