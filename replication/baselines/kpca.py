"""Kernel PCA reconstruction error as a one-class score."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy.linalg import eigh

from lpsvdd._base import KernelOneClass


class Components:
    r"""All principal components of a kernel matrix; the errors of every number q follow from them.

    Attributes: ``values`` (descending, positive), ``coefs`` (column l = v_l / sqrt(lambda_l)).
    """

    def __init__(self, K: np.ndarray, centred: bool = True):
        self.centred = centred
        self.row_means = K.mean(axis=1)
        self.grand_mean = float(K.mean())
        if centred:
            K = K - self.row_means - self.row_means[:, None] + self.grand_mean
        values, vectors = eigh(K)
        keep = values > 1e-12 * max(values[-1], 0.0)  # below it is round-off
        # Centring one repeated point leaves round-off only: compare with what was subtracted.
        keep &= values > len(K) * np.finfo(float).eps * abs(self.grand_mean)
        self.values = values[keep][::-1]
        self.coefs = vectors[:, keep][:, ::-1] / np.sqrt(self.values)

    def number(self, n_components: int | float) -> int:
        """Return q for a number of components (at most the rank) or a share of the variance."""
        if isinstance(n_components, Integral):
            return min(int(n_components), len(self.values))
        if len(self.values) == 0:
            return 0
        share = np.cumsum(self.values) / self.values.sum()
        return min(int(np.searchsorted(share, n_components - 1e-12)) + 1, len(share))

    def project(self, Kz: np.ndarray, q: int | None = None) -> np.ndarray:
        """Return f_l(z) for l = 1..q."""
        if self.centred:
            Kz = Kz - Kz.mean(axis=1, keepdims=True) - self.row_means + self.grand_mean
        return Kz @ self.coefs[:, :q]

    def potential(self, Kz: np.ndarray, diag: np.ndarray) -> np.ndarray:
        """Return the squared distance to the components' origin (the kernel mean if centred)."""
        return diag - 2.0 * Kz.mean(axis=1) + self.grand_mean if self.centred else diag

    def errors(self, Kz: np.ndarray, diag: np.ndarray, q: int) -> np.ndarray:
        """Return the squared reconstruction error with q components."""
        explained = (self.project(Kz, q) ** 2).sum(axis=1)
        return np.maximum(self.potential(Kz, diag) - explained, 0.0)


class KernelPCAOCC(KernelOneClass):
    r"""Kernel PCA for novelty detection: reconstruction error in feature space.

    score(z) = -[ p(z) - sum_{l<=q} f_l(z)^2 ],

    p(z) = k(z,z) - (2/n) sum_i k(z,x_i) + 1'K1/n^2 the squared distance to the kernel mean, and
    f_l(z) = kc_z · v_l / sqrt(lambda_l) the projection on the l-th principal component of the
    centred kernel matrix, kc_z the centred row of z. With ``centred=False`` the origin replaces
    the mean: -[ k(z,z) - sum_{l<=q} (k_z · v_l)^2 / lambda_l ].

    Parameters
    ----------
    n_components : int >= 0 or float in (0, 1]
        An integer is the number q; a float the smallest q that explains this share of the
        variance. Capped at the rank. 0 gives the ranking of `KernelMean`.
    centred : bool
        Centre the data in feature space, as Hoffmann does.
    kernel, gamma, degree, coef0, contamination : as in `KernelMean`

    Attributes
    ----------
    n_components_ : int
        The q in use.
    components_ : `Components`
    offset_ : float

    Notes
    -----
    With q = rank every *training* error is zero (the score is then minus the noise-free, centred
    GP variance), so a threshold from training scores means nothing: use ``rethreshold`` with
    held-out samples. Neither q nor the centring is stated in the paper.

    References
    ----------
    .. [1] H. Hoffmann, "Kernel PCA for novelty detection", Pattern Recognition 40(3), 2007.

    Examples
    --------
    >>> from replication.baselines import KernelPCAOCC
    >>> line = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    >>> detector = KernelPCAOCC(n_components=1, kernel="linear").fit(line)
    >>> detector.score_samples([[5.0, 5.0], [1.0, 0.0]]).round(6).tolist()
    [-0.0, -0.5]
    """

    def __init__(
        self,
        *,
        n_components=0.9,
        centred=True,
        kernel="rbf",
        gamma="half-mean-distance",
        degree=3,
        coef0=1.0,
        contamination=0.1,
    ):
        self.n_components = n_components
        self.centred = centred
        super().__init__(
            kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, contamination=contamination
        )

    def _check_parameters(self):
        super()._check_parameters()
        q = self.n_components
        whole = isinstance(q, Integral) and not isinstance(q, bool) and q >= 0
        share = isinstance(q, Real) and not isinstance(q, Integral) and 0.0 < q <= 1.0
        if not (whole or share):
            raise ValueError(
                f"n_components must be an integer >= 0 or a share in (0, 1], got {q!r}"
            )

    def _fit_kernel(self, K, y, sample_weight):
        self.components_ = Components(K, self.centred)
        self.n_components_ = self.components_.number(self.n_components)

    def _score_kernel(self, Kz, diag):
        return -self.components_.errors(Kz, diag, self.n_components_)
