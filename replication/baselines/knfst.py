"""Kernel null Foley-Sammon transform as a one-class score."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from lpsvdd._base import KernelOneClass


class KNFST(KernelOneClass):
    r"""Kernel null Foley-Sammon transform: all positives meet in one point of a null space.

    One class (the origin of feature space is the second class):

        score(z) = -|1 - k_z' u| / sqrt(1'u),      u = K^-1 1.

    With negatives, u = K^-1 e_+ and v = K^-1 e_- (e_± class indicators), three constructions:

        "A"  positives against negatives:  alpha = t_+ u + t_- v,  t_+ = e_+'v + e_-'v,
             t_- = -(e_+'u + e_+'v);       score = -|k_z'alpha - t_+| / sqrt(alpha'K alpha)
        "B"  positives against negatives and origin:  score = -|1 - k_z'u| / sqrt(e_+'u)
        "C"  three classes, 2-d null space:  score = -sqrt( g'G^-1 g ),
             g = (k_z'u - 1, k_z'v),  G = [[e_+'u, e_+'v], [e_+'v, e_-'v]].

    Each is minus the distance, inside the null space, to the point onto which the positives fall.

    Parameters
    ----------
    variant : {"A", "B", "C"}
        Which classes take part when y holds negatives; without negatives all three coincide with
        the one-class form.
    ridge : float >= 0
        Solve with K + ridge · I (kernel spectral regression) instead of K.
    tol : float
        Eigenvalues of K below tol · (largest) count as zero: the inverse is a pseudo-inverse.
        Harmless for duplicates within a class, needed for ill-conditioned kernels.
    kernel, gamma, degree, coef0, contamination : as in `KernelMean`

    Attributes
    ----------
    dual_coef_ : array of shape (n, 1), or (n, 2) for variant "C" with negatives
        Null directions, scaled to unit length in feature space (variant "C": orthonormal).
    target_ : array of shape (1,) or (2,)
        Mean of the positives' projections: the target point.
    offset_ : float

    Notes
    -----
    The closed forms agree with the null space of the within-class scatter where K is invertible.
    Where it is not, u and v are least-squares solutions and positives meet only approximately;
    their mean is the target. No null direction separates classes that share a point (use
    ``ridge``); if none is left at all, every score is 0. Training scores are all near zero, so set
    the threshold by ``rethreshold`` with held-out samples. The paper does not say how its KNFST-
    uses the negatives; "A" is our default, with the distance to the positives' target only.

    References
    ----------
    .. [1] P. Bodesheim, A. Freytag, E. Rodner, M. Kemmler, J. Denzler, "Kernel null space methods
       for novelty detection", CVPR 2013.
    .. [2] S. R. Arashloo, J. Kittler, "Robust one-class kernel spectral regression", IEEE
       Transactions on Neural Networks and Learning Systems 32(3), 2021 (IEEE Xplore 9055448).

    Examples
    --------
    >>> from replication.baselines import KNFST
    >>> detector = KNFST(kernel="linear").fit([[1.0, 0.0], [0.0, 1.0]])
    >>> detector.score_samples([[0.5, 0.5], [1.0, 1.0]]).round(6).tolist()
    [-0.0, -0.707107]
    """

    uses_negatives = True

    def __init__(
        self,
        *,
        variant="A",
        ridge=0.0,
        tol=1e-12,
        kernel="rbf",
        gamma="half-mean-distance",
        degree=3,
        coef0=1.0,
        contamination=0.1,
    ):
        self.variant = variant
        self.ridge = ridge
        self.tol = tol
        super().__init__(
            kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, contamination=contamination
        )

    def _check_parameters(self):
        super()._check_parameters()
        if self.variant not in ("A", "B", "C"):
            raise ValueError(f"variant must be 'A', 'B' or 'C', got {self.variant!r}")
        if not (np.isfinite(self.ridge) and self.ridge >= 0.0):
            raise ValueError(f"ridge must be finite and not negative, got {self.ridge!r}")
        if not 0.0 <= self.tol < 1.0:
            raise ValueError(f"tol must lie in [0, 1), got {self.tol!r}")

    def _fit_kernel(self, K, y, sample_weight):
        self.dual_coef_, self.target_ = null_space(
            K, y, eigh(K), variant=self.variant, ridge=self.ridge, tol=self.tol
        )

    def _score_kernel(self, Kz, diag):
        # Training scores are at round-off level, and a threshold among them must not depend on the
        # batch a sample comes in: einsum sums row by row, a BLAS product would not.
        rows = np.ascontiguousarray(Kz)
        projected = np.column_stack([np.einsum("ij,j->i", rows, c) for c in self.dual_coef_.T])
        return -np.linalg.norm(projected - self.target_, axis=1)


def null_space(
    K: np.ndarray,
    y: np.ndarray,
    spectrum: tuple[np.ndarray, np.ndarray],
    *,
    variant: str = "A",
    ridge: float = 0.0,
    tol: float = 1e-12,
) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients of orthonormal null directions, and the positives' target on them.

    ``spectrum`` is (eigenvalues ascending, eigenvectors) of K: one decomposition serves every
    variant and ridge.
    """
    values, vectors = spectrum
    keep = values > tol * max(values[-1], 0.0)
    values, vectors = values[keep], vectors[:, keep]
    positive = (y > 0).astype(float)
    indicators = np.column_stack([positive, 1.0 - positive])
    solutions = vectors @ ((vectors.T @ indicators) / (values + ridge)[:, None])
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
