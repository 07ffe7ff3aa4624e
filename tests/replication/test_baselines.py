"""GP, KPCA and KNFST: their formulas and references (test_every_detector has the rest)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.stats import norm
from sklearn.decomposition import PCA, KernelPCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from lpsvdd.kernels import kernel_matrix
from replication.baselines import KNFST, GaussianProcessOCC, KernelPCAOCC

RNG = np.random.default_rng(7)
X = RNG.normal(size=(25, 3))
Z = RNG.normal(size=(40, 3)) * 1.5
Y = np.r_[np.ones(15), -np.ones(10)]
GAMMA = 0.4
K = kernel_matrix(X, kernel="rbf", gamma=GAMMA)
KZ = kernel_matrix(Z, X, kernel="rbf", gamma=GAMMA)


@pytest.mark.parametrize("noise", [1e-4, 1e-2, 1.0])
def test_gp_agrees_with_scikit_learn(noise):
    kernel = RBF(length_scale=(2 * GAMMA) ** -0.5)
    reference = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None)
    mean, sd = reference.fit(X, np.ones(len(X))).predict(Z, return_std=True)
    variance = sd**2 + noise  # scikit-learn leaves the noise of the new observation out
    expected = {
        "mean": mean,
        "variance": -variance,
        "logprob": norm.logpdf(1.0, mean, np.sqrt(variance)),
        "ratio": np.log(np.maximum(mean, np.finfo(float).tiny) / np.sqrt(variance)),
    }
    for criterion, values in expected.items():
        ours = GaussianProcessOCC(gamma=GAMMA, noise=noise, criterion=criterion).fit(X)
        np.testing.assert_allclose(ours.score_samples(Z), values, rtol=1e-7, atol=1e-9)


def test_kpca_agrees_with_scikit_learn():
    for q in (1, 3, 10):
        reference = KernelPCA(q, kernel="rbf", gamma=GAMMA, eigen_solver="dense").fit(X)
        potential = 1.0 - 2.0 * KZ.mean(axis=1) + K.mean()
        expected = potential - (reference.transform(Z) ** 2).sum(axis=1)
        ours = KernelPCAOCC(n_components=q, gamma=GAMMA).fit(X).score_samples(Z)
        np.testing.assert_allclose(-ours, expected, atol=1e-9)


def test_kpca_number_of_components():
    variance = PCA().fit(X).explained_variance_ratio_
    for share in (0.2, variance[0], 0.9, 1.0):
        fitted = KernelPCAOCC(n_components=float(share), kernel="linear").fit(X)
        expected = np.searchsorted(np.cumsum(variance), share - 1e-12) + 1
        assert fitted.n_components_ == min(expected, 3)
    assert KernelPCAOCC(n_components=100, gamma=GAMMA).fit(X).n_components_ == len(X) - 1
    assert KernelPCAOCC(n_components=5).fit(np.ones((4, 2))).n_components_ == 0


def null_space_scores(gram, cross, classes, positives):
    """KNFST by its definition: the null space of the within-class scatter, from the kernel alone.

    gram: kernel of all training points, the origin included as a zero row; cross: test rows.
    """
    n = len(gram)
    values, vectors = np.linalg.eigh(gram - gram.mean(0) - gram.mean(1)[:, None] + gram.mean())
    keep = values > 1e-12
    centring = np.eye(n) - 1.0 / n
    basis = centring @ vectors[:, keep] / np.sqrt(values[keep])
    same = np.equal.outer(classes, classes) / np.bincount(classes)[classes]
    H = basis.T @ gram @ (np.eye(n) - same)
    P = basis @ null_space(H.T, rcond=1e-8)
    target = (gram[positives] @ P).mean(axis=0)
    return P.shape[1], -np.linalg.norm(cross @ P - target, axis=1)


def with_origin(gram, cross):
    return np.pad(gram, ((0, 1), (0, 1))), np.pad(cross, ((0, 0), (0, 1)))


def test_knfst_one_class_is_the_closed_form():
    ours = KNFST(gamma=GAMMA).fit(X).score_samples(Z)
    u = np.linalg.solve(K, np.ones(25))
    np.testing.assert_allclose(ours, -np.abs(1.0 - KZ @ u) / np.sqrt(u.sum()), atol=1e-9)


@pytest.mark.parametrize("variant", "ABC")
def test_knfst_with_negatives_is_the_null_space(variant):
    negative = (Y < 0).astype(int)
    gram, cross = (K, KZ) if variant == "A" else with_origin(K, KZ)
    classes = {"A": negative, "B": np.r_[negative, 1], "C": np.r_[negative, 2]}[variant]
    dimension, expected = null_space_scores(gram, cross, classes, slice(15))
    assert dimension == len(set(classes)) - 1
    ours = KNFST(gamma=GAMMA, variant=variant).fit(X, Y)
    np.testing.assert_allclose(ours.score_samples(Z), expected, atol=1e-9)


def test_knfst_no_separating_direction_scores_zero():
    fitted = KNFST(gamma=GAMMA).fit(np.vstack([X, X]), np.r_[np.ones(25), -np.ones(25)])
    np.testing.assert_allclose(fitted.score_samples(Z), 0.0, atol=1e-9)
