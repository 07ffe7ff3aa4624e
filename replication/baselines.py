"""The methods lp-SVDD is compared with: the paper's GP, KPCA and KNFST, and the kernel mean.

All are kernel one-class detectors: higher score = more normal, ``kernel="precomputed"`` works. The
kernel mean is not in the paper; it is the floor that every one-class method should beat.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist

from lpsvdd._base import KernelOneClass
from lpsvdd.kernels import rbf_distances, squared_distances

__all__ = ["KNFST", "GaussianProcessOCC", "KernelMean", "KernelPCAOCC"]


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


# -- Gaussian process ------------------------------------------------------------------------------


class Spectrum(NamedTuple):
    """K = V diag(values) V' with round-off below zero cut off; serves every noise level."""

    values: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(cls, K: np.ndarray) -> Spectrum:
        values, vectors = eigh(K)
        return cls(np.maximum(values, 0.0), vectors)

    def posterior(self, projected: np.ndarray, diag: np.ndarray, noise: float):
        """Return mean and variance of the process at points with projections ``Kz @ vectors``."""
        shrink = 1.0 / (self.values + noise)
        mean = projected @ (shrink * self.vectors.sum(axis=0))
        variance = diag + noise - projected**2 @ shrink
        return mean, np.maximum(variance, noise)


def normality(mean: np.ndarray, variance: np.ndarray, criterion: str) -> np.ndarray:
    """Return the four scores of Kemmler et al.; higher = more normal."""
    if criterion == "mean":
        return mean
    if criterion == "variance":
        return -variance
    if criterion == "logprob":
        return -0.5 * ((1.0 - mean) ** 2 / variance + np.log(2.0 * np.pi * variance))
    # The ratio's logarithm needs a positive mean; the smallest normal number stands in for others.
    return np.log(np.maximum(mean, np.finfo(float).tiny)) - 0.5 * np.log(variance)


class GaussianProcessOCC(KernelOneClass):
    r"""One-class classification with a Gaussian-process prior [1]_.

    With A = K + noise · I and every target equal to 1,

        mu(z)  = k_z' A^-1 1,      var(z) = k(z,z) + noise - k_z' A^-1 k_z,

    and the score (higher = more normal) is one of

        "mean"      mu(z)                                                    (default)
        "variance"  -var(z)
        "logprob"   -1/2 [ (1 - mu)^2 / var + log(2 pi var) ]
        "ratio"     log( mu / sqrt(var) ),  mu <= 0 replaced by the smallest positive number.

    The paper does not say which score its GP column uses. The mean is our default: the paper's GP
    and KNFST columns agree within 0.5 AUC points on 14 of 20 data sets, and KNFST is |1 - mu| at
    zero noise.

    Parameters
    ----------
    criterion : {"mean", "variance", "logprob", "ratio"}
    noise : float > 0
        Noise variance. 0.01 is the value in the authors' code. noise -> infinity ranks as the
        kernel mean does (criterion "mean", constant diagonal), noise -> 0 as `KNFST` while mu < 1.
    kernel, gamma, degree, coef0, contamination : as in `KernelMean`

    References
    ----------
    .. [1] M. Kemmler, E. Rodner, E.-S. Wacker, J. Denzler, "One-class classification with Gaussian
       processes", Pattern Recognition 46(12), 2013.
    """

    def __init__(
        self, *, criterion="mean", noise=0.01,
        kernel="rbf", gamma="half-mean-distance", degree=3, coef0=1.0, contamination=0.1,
    ):  # fmt: skip
        self.criterion = criterion
        self.noise = noise
        super().__init__(
            kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, contamination=contamination
        )

    def _check_parameters(self):
        super()._check_parameters()
        known = ("mean", "variance", "logprob", "ratio")
        if self.criterion not in known:
            raise ValueError(f"criterion must be one of {known}, got {self.criterion!r}")
        if not (np.isfinite(self.noise) and self.noise > 0.0):
            raise ValueError(f"noise must be positive and finite, got {self.noise!r}")

    def _fit_kernel(self, K, y, sample_weight):
        self.spectrum_ = Spectrum.of(K)
        values, vectors = self.spectrum_
        self.dual_coef_ = vectors @ (vectors.sum(axis=0) / (values + self.noise))

    def _score_kernel(self, Kz, diag):
        if self.criterion == "mean":  # one sum a row instead of a projection
            return np.einsum("ij,j->i", Kz, self.dual_coef_)
        mean, variance = self.spectrum_.posterior(Kz @ self.spectrum_.vectors, diag, self.noise)
        return normality(mean, variance, self.criterion)


# -- kernel PCA ------------------------------------------------------------------------------------


class Components:
    """All principal components of a kernel matrix; the errors of every number q follow from them.

    ``values`` are descending and positive; column l of ``coefs`` is v_l / sqrt(lambda_l).
    """

    def __init__(self, K: np.ndarray):
        self.row_means = K.mean(axis=1)
        self.grand_mean = float(K.mean())
        values, vectors = eigh(K - self.row_means - self.row_means[:, None] + self.grand_mean)
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

    def errors(self, Kz: np.ndarray, diag: np.ndarray) -> np.ndarray:
        """Return the squared reconstruction errors of rows with 0, 1, 2, … components."""
        centred = Kz - Kz.mean(axis=1, keepdims=True) - self.row_means + self.grand_mean
        explained = np.cumsum((centred @ self.coefs) ** 2, axis=1)
        potential = (diag - 2.0 * Kz.mean(axis=1) + self.grand_mean)[:, None]
        return np.maximum(potential - np.pad(explained, ((0, 0), (1, 0))), 0.0)


class KernelPCAOCC(KernelOneClass):
    r"""Kernel PCA for novelty detection: reconstruction error in feature space [1]_.

    score(z) = -[ p(z) - sum_{l<=q} f_l(z)^2 ],

    p(z) = k(z,z) - (2/n) sum_i k(z,x_i) + 1'K1/n^2 the squared distance to the kernel mean, and
    f_l(z) = kc_z · v_l / sqrt(lambda_l) the projection on the l-th principal component of the
    centred kernel matrix, kc_z the centred row of z. The paper does not state q. With q = rank
    every *training* error is zero: use ``rethreshold`` with held-out samples there.

    Parameters
    ----------
    n_components : int >= 0 or float in (0, 1]
        An integer is the number q; a float the smallest q that explains this share of the
        variance. Capped at the rank. 0 gives the ranking of `KernelMean`.
    kernel, gamma, degree, coef0, contamination : as in `KernelMean`

    References
    ----------
    .. [1] H. Hoffmann, "Kernel PCA for novelty detection", Pattern Recognition 40(3), 2007.
    """

    def __init__(
        self, *, n_components=0.9,
        kernel="rbf", gamma="half-mean-distance", degree=3, coef0=1.0, contamination=0.1,
    ):  # fmt: skip
        self.n_components = n_components
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
        self.components_ = Components(K)
        self.n_components_ = self.components_.number(self.n_components)

    def _score_kernel(self, Kz, diag):
        return -self.components_.errors(Kz, diag)[:, self.n_components_]


# -- kernel null space -----------------------------------------------------------------------------


class KNFST(KernelOneClass):
    r"""Kernel null Foley-Sammon transform [1]_: all positives meet in one point of a null space.

    One class (the origin of feature space is the second class):

        score(z) = -|1 - k_z' u| / sqrt(1'u),      u = K^-1 1.

    With negatives, u = K^-1 e_+ and v = K^-1 e_- (e_± class indicators), three constructions:

        "A"  positives against negatives:  alpha = t_+ u + t_- v,  t_+ = e_+'v + e_-'v,
             t_- = -(e_+'u + e_+'v);       score = -|k_z'alpha - t_+| / sqrt(alpha'K alpha)
        "B"  positives against negatives and origin:  score = -|1 - k_z'u| / sqrt(e_+'u)
        "C"  three classes, 2-d null space:  score = -sqrt( g'G^-1 g ),
             g = (k_z'u - 1, k_z'v),  G = [[e_+'u, e_+'v], [e_+'v, e_-'v]].

    Each is minus the distance, inside the null space, to the point onto which the positives fall.
    Where K is not invertible, u and v are least-squares solutions, and the mean of the positives
    is the target; if no direction separates the classes, every score is 0. Training scores are all
    near zero: set the threshold by ``rethreshold`` with held-out samples.

    Parameters
    ----------
    variant : {"A", "B", "C"}
        Which classes take part when y holds negatives; the paper does not say which. Without
        negatives all three coincide with the one-class form.
    kernel, gamma, degree, coef0, contamination : as in `KernelMean`

    References
    ----------
    .. [1] P. Bodesheim, A. Freytag, E. Rodner, M. Kemmler, J. Denzler, "Kernel null space methods
       for novelty detection", CVPR 2013.
    """

    uses_negatives = True

    def __init__(
        self, *, variant="A",
        kernel="rbf", gamma="half-mean-distance", degree=3, coef0=1.0, contamination=0.1,
    ):  # fmt: skip
        self.variant = variant
        super().__init__(
            kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, contamination=contamination
        )

    def _check_parameters(self):
        super()._check_parameters()
        if self.variant not in ("A", "B", "C"):
            raise ValueError(f"variant must be 'A', 'B' or 'C', got {self.variant!r}")

    def _fit_kernel(self, K, y, sample_weight):
        self.dual_coef_, self.target_ = null_space(K, y, eigh(K), self.variant)

    def _score_kernel(self, Kz, diag):
        # Training scores are at round-off level, and a threshold among them must not depend on the
        # batch a sample comes in: einsum sums row by row, a BLAS product would not.
        rows = np.ascontiguousarray(Kz)
        projected = np.column_stack([np.einsum("ij,j->i", rows, c) for c in self.dual_coef_.T])
        return -np.linalg.norm(projected - self.target_, axis=1)


def null_space(
    K: np.ndarray, y: np.ndarray, spectrum: tuple[np.ndarray, np.ndarray], variant: str = "A"
) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients of orthonormal null directions, and the positives' target on them.

    ``spectrum`` is (eigenvalues ascending, eigenvectors) of K: one decomposition serves every
    variant. Eigenvalues below 1e-12 of the largest count as zero.
    """
    values, vectors = spectrum
    keep = values > 1e-12 * max(values[-1], 0.0)
    values, vectors = values[keep], vectors[:, keep]
    positive = (y > 0).astype(float)
    indicators = np.column_stack([positive, 1.0 - positive])
    solutions = vectors @ ((vectors.T @ indicators) / values[:, None])
    u, v = solutions.T
    if positive.all() or variant == "B":
        combination = np.array([[1.0], [0.0]])
    elif variant == "A":
        combination = np.array([[v.sum()], [-(positive @ u + positive @ v)]])
    else:
        combination = np.eye(2)
    directions = solutions @ _orthonormal(solutions.T @ K @ solutions, combination)
    return directions, (K[y > 0] @ directions).mean(axis=0)


def _orthonormal(gram: np.ndarray, combination: np.ndarray) -> np.ndarray:
    """Return orthonormal combinations, with the given span, of vectors with this Gram matrix.

    What cancels to round-off (parallel vectors, or classes with the same points) becomes zero.
    """
    values, vectors = eigh(combination.T @ gram @ combination)
    lengths = np.sqrt(np.maximum(np.diag(gram), 0.0))
    keep = values > 1e-14 * (lengths @ np.abs(combination)).max() ** 2
    result = np.zeros_like(combination)
    result[:, keep] = combination @ vectors[:, keep] / np.sqrt(values[keep])
    return result
