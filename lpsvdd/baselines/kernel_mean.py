"""Distance to the kernel mean of the positives, with or without the negatives' mean taken off."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from lpsvdd._base import KernelOneClass
from lpsvdd.kernels import rbf_distances, squared_distances


class KernelMean(KernelOneClass):
    r"""Squared distance to the kernel mean: the Parzen-window ranking.

    score(z) = -||phi(z) - m||^2 = -k(z,z) + (2/n) sum_i k(z, x_i) - (1/n^2) sum_ij K_ij,

    with m = (1/n) sum_i phi(x_i). For a kernel with constant diagonal the ranking is that of the
    kernel density estimate [1]_. It is the limit of lp-SVDD for c -> 0 and of l1-SVDD for C <= 1/n,
    and kernel PCA with no component.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable
    gamma, degree, coef0
        Kernel parameters, see `lpsvdd.kernels`.
    contamination : float in (0, 0.5] or None
        Quantile of the positive training scores used as threshold; None accepts all of them.

    Attributes
    ----------
    dual_coef_ : array of shape (n,)
        Coefficients of the centre.
    offset_ : float

    References
    ----------
    .. [1] E. Parzen, "On estimation of a probability density function and mode", Annals of
       Mathematical Statistics 33(3), 1962.

    Examples
    --------
    >>> from lpsvdd.baselines import KernelMean
    >>> KernelMean(kernel="linear").fit([[0.0], [2.0]]).score_samples([[1.0], [4.0]]).tolist()
    [-0.0, -9.0]
    """

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

    def _fit_kernel(self, K, y, sample_weight):
        self.dual_coef_ = self._coefficients(y)
        self._squared_norm = float(self.dual_coef_ @ K @ self.dual_coef_)

    def _coefficients(self, y):
        return difference_coefficients(y, 0.0)

    def _score_kernel(self, Kz, diag):
        return -squared_distances(Kz, self.dual_coef_, diag, self._squared_norm)

    def _score_points(self, X):
        if self.kernel != "rbf":
            return super()._score_points(X)
        squared = cdist(X, self.X_fit_, "sqeuclidean")
        return -rbf_distances(squared, self.gamma_, self.dual_coef_, self._squared_norm)


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
    >>> from lpsvdd.baselines import KernelMeanDifference
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


def difference_coefficients(y: np.ndarray, lam: float) -> np.ndarray:
    """Coefficients of m_+ - lam · m_- in the training images; m_- = 0 without negatives."""
    positive = y > 0
    return positive / positive.sum() - lam * ~positive / max((~positive).sum(), 1)
