"""Distance to the kernel mean of the targets."""

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
    >>> from replication.baselines import KernelMean
    >>> KernelMean(kernel="linear").fit([[0.0], [2.0]]).score_samples([[1.0], [4.0]]).tolist()
    [-0.0, -9.0]
    """

    def _fit_kernel(self, K, y, sample_weight):
        self.dual_coef_ = np.full(len(y), 1.0 / len(y))
        self._squared_norm = float(self.dual_coef_ @ K @ self.dual_coef_)

    def _score_kernel(self, Kz, diag):
        return -squared_distances(Kz, self.dual_coef_, diag, self._squared_norm)

    def _score_points(self, X):
        if self.kernel != "rbf":
            return super()._score_points(X)
        squared = cdist(X, self.X_fit_, "sqeuclidean")
        return -rbf_distances(squared, self.gamma_, self.dual_coef_, self._squared_norm)
