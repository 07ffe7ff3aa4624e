"""References for labelled outliers that the paper's tables lack: a floor and a ceiling.

The difference of kernel means is the simplest way to use labelled negatives; the supervised SVM on
the same kernel assumes that future outliers resemble the labelled ones, which no one-class method
does.
"""

from __future__ import annotations

import numpy as np
from sklearn.svm import SVC, OneClassSVM

from lpsvdd._base import KernelOneClass
from lpsvdd.baselines import KernelMean


def difference_coefficients(y: np.ndarray, lam: float) -> np.ndarray:
    """Coefficients of m_+ - lam · m_- in the training images; m_- = 0 without negatives."""
    positive = y > 0
    return positive / positive.sum() - lam * ~positive / max((~positive).sum(), 1)


class KernelMeanDifference(KernelMean):
    r"""Squared distance to the kernel mean of the positives pushed away from that of the negatives.

    score(z) = -||phi(z) - a||^2,  a = m_+ - lam · m_-,

    m_+ and m_- the kernel means of positives and negatives. For a kernel with constant diagonal
    the ranking is that of the Parzen difference m_+(z) - lam · m_-(z). Without negatives, or with
    lam = 0, it is `KernelMean`. Not a method of the paper: the simplest way to use labelled
    negatives, and so a floor for the others.

    Parameters
    ----------
    lam : float >= 0
        Weight of the negatives' mean.
    kernel, gamma, degree, coef0, contamination
        As in `KernelMean`.

    Attributes
    ----------
    dual_coef_ : array of shape (n,)
        1/n_+ on positives, -lam/n_- on negatives.
    offset_ : float

    References
    ----------
    .. [1] B. Schölkopf, A. J. Smola, *Learning with Kernels*, MIT Press 2002, section 1.2: the
       two-class case with lam = 1.

    Examples
    --------
    >>> from replication.references import KernelMeanDifference
    >>> model = KernelMeanDifference(lam=0.5, kernel="linear")
    >>> model = model.fit([[0.0], [2.0], [4.0]], [1, 1, -1])
    >>> model.score_samples([[0.0], [3.0]]).tolist()  # the centre is 1 - 0.5 * 4 = -1
    [-1.0, -16.0]
    """

    uses_negatives = True

    def __init__(
        self,
        *,
        lam=1.0,
        kernel="rbf",
        gamma="half-mean-distance",
        degree=3,
        coef0=1.0,
        contamination=0.1,
    ):
        super().__init__(
            kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, contamination=contamination
        )
        self.lam = lam

    def _check_parameters(self):
        super()._check_parameters()
        if not (np.isfinite(self.lam) and self.lam >= 0.0):
            raise ValueError(f"lam must be finite and not negative, got {self.lam!r}")

    def _coefficients(self, y):
        return difference_coefficients(y, self.lam)


class KernelSVM(KernelOneClass):
    r"""Two-class SVM, positives against labelled negatives.

    score(z) = sum_i y_i alpha_i k(z, x_i) + b,

    alpha and b of the soft-margin SVM  min 1/2 ||w||^2 + C sum_i xi_i  [1]_; threshold 0. Without
    any negative there is no second class, and the score is that of the one-class SVM [2]_, which
    separates the positives from the origin with parameter ``nu``.

    Parameters
    ----------
    C : float > 0
        Cost of the two-class SVM.
    nu : float in (0, 1]
        Parameter of the one-class SVM, used only when y holds no negative.
    tol : float
        Stopping tolerance of LIBSVM.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable
    gamma, degree, coef0
        Kernel parameters, see `lpsvdd.kernels`.
    contamination : float in (0, 0.5], optional
        Quantile of the positive training scores used as threshold; None means threshold 0.

    Attributes
    ----------
    dual_coef_ : array of shape (n,)
        y_i alpha_i.
    intercept_ : float
    offset_ : float

    Notes
    -----
    Not a method of the paper. It assumes that future outliers resemble the labelled ones, which a
    one-class method does not; on test data drawn like the training data it shows how much the
    labels are worth.

    References
    ----------
    .. [1] C. Cortes, V. Vapnik, "Support-vector networks", Machine Learning 20, 1995.
    .. [2] B. Schölkopf et al., "Estimating the support of a high-dimensional distribution", Neural
       Computation 13(7), 2001.

    Examples
    --------
    >>> from replication.references import KernelSVM
    >>> model = KernelSVM(kernel="linear").fit([[0.0], [1.0], [4.0]], [1, 1, -1])
    >>> model.predict([[0.5], [5.0]]).tolist()
    [1, -1]
    """

    uses_negatives = True

    def __init__(
        self,
        *,
        C=1.0,
        nu=0.1,
        tol=1e-6,
        kernel="rbf",
        gamma="half-mean-distance",
        degree=3,
        coef0=1.0,
        contamination=None,
    ):
        self.C = C
        self.nu = nu
        self.tol = tol
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.contamination = contamination

    def _check_parameters(self):
        super()._check_parameters()
        if not (np.isfinite(self.C) and self.C > 0.0):
            raise ValueError(f"C must be positive and finite, got {self.C!r}")
        if not 0.0 < self.nu <= 1.0:
            raise ValueError(f"nu must lie in (0, 1], got {self.nu!r}")

    def _fit_kernel(self, K, y, sample_weight):
        options = {"kernel": "precomputed", "tol": self.tol}
        machine = (
            SVC(C=self.C, **options).fit(K, y)
            if (y < 0).any()
            else OneClassSVM(nu=self.nu, **options).fit(K)
        )
        self.dual_coef_ = np.zeros(len(K))
        self.dual_coef_[machine.support_] = machine.dual_coef_[0]
        self.intercept_ = float(machine.intercept_[0])

    def _score_kernel(self, Kz, diag):
        return np.einsum("ij,j->i", Kz, self.dual_coef_) + self.intercept_

    def _natural_offset(self, K):
        return 0.0
