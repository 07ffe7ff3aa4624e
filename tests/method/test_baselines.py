"""Kernel mean, GP, KPCA, KNFST: formulas, references, degenerate inputs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone
from sklearn.decomposition import PCA, KernelPCA
from sklearn.exceptions import SkipTestWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.neighbors import KernelDensity
from sklearn.utils.estimator_checks import check_estimator

from lpsvdd import baselines
from lpsvdd.baselines import KNFST, GaussianProcessOCC, KernelMean, KernelPCAOCC
from lpsvdd.kernels import kernel_matrix

RNG = np.random.default_rng(7)
X = RNG.normal(size=(25, 3))
Z = RNG.normal(size=(40, 3)) * 1.5
Y = np.r_[np.ones(15), -np.ones(10)]
GAMMA = 0.4
K = kernel_matrix(X, kernel="rbf", gamma=GAMMA)
KZ = kernel_matrix(Z, X, kernel="rbf", gamma=GAMMA)

DETECTORS = [
    KernelMean(gamma=GAMMA),
    *[
        GaussianProcessOCC(gamma=GAMMA, criterion=c)
        for c in ("mean", "variance", "logprob", "ratio")
    ],
    KernelPCAOCC(gamma=GAMMA, n_components=4),
    KernelPCAOCC(gamma=GAMMA, centred=False),
    *[KNFST(gamma=GAMMA, variant=v) for v in "ABC"],
    KNFST(gamma=GAMMA, ridge=1e-3),
]
IDS = [str(d).replace("\n", "") for d in DETECTORS]
every_detector = pytest.mark.parametrize("detector", DETECTORS, ids=IDS)


@pytest.mark.parametrize("name", baselines.__all__)
@pytest.mark.filterwarnings("ignore:y holds class labels:UserWarning")
@pytest.mark.filterwarnings("ignore:score compares with labels:UserWarning")
def test_scikit_learn_conventions(name):
    with pytest.warns(SkipTestWarning, match="array_api"):  # the one check that needs an opt-in
        check_estimator(getattr(baselines, name)())


@every_detector
def test_precomputed_kernel_gives_the_same_scores(detector):
    direct = clone(detector).fit(X).score_samples(Z)
    other = clone(detector).set_params(kernel="precomputed").fit(K)
    np.testing.assert_allclose(other.score_samples(KZ), direct, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(other.score_samples(KZ, diag=np.ones(len(Z))), direct, atol=1e-11)


@every_detector
def test_negatives_are_used_or_refused(detector):
    detector = clone(detector)
    if detector.uses_negatives:
        with_negatives = detector.fit(X, Y).score_samples(Z)
        assert not np.allclose(with_negatives, detector.fit(X[Y > 0]).score_samples(Z))
    else:
        with pytest.raises(ValueError, match="y holds -1"):
            detector.fit(X, Y)


@every_detector
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize(
    "data",
    [
        np.array([[1.0, 2.0]]),
        np.ones((6, 2)),
        np.zeros((6, 2)),
        np.repeat(X[:8, :2], 3, axis=0),
        np.c_[X[:, 0], np.ones(25)],
        np.c_[X[:, :1], X[:, :1]],
        X[:, :2] * 1e-5 + 1.0,
    ],
    ids=["one sample", "one point", "zeros", "duplicates", "constant", "rank 1", "tight"],
)
def test_degenerate_inputs_give_finite_scores(detector, kernel, data):
    detector = clone(detector).set_params(kernel=kernel).fit(data)
    queries = np.vstack([data, [[5.0, -3.0], [0.0, 0.0]]])
    assert np.isfinite(detector.score_samples(queries)).all()
    assert np.isfinite(detector.offset_)


@every_detector
def test_ill_conditioned_kernel(detector):
    detector = clone(detector).set_params(gamma=1e-5).fit(X)
    assert np.linalg.cond(kernel_matrix(X, kernel="rbf", gamma=1e-5)) > 1e13
    scores = detector.score_samples(np.vstack([X, Z]))
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("detector", [d for d in DETECTORS if d.uses_negatives])
def test_same_point_in_both_classes(detector):
    shared = np.vstack([X, X[:3]])
    labels = np.r_[np.ones(25), -np.ones(3)]
    scores = clone(detector).fit(shared, labels).score_samples(Z)
    assert np.isfinite(scores).all()
    identical = clone(detector).fit(np.vstack([X, X]), np.r_[np.ones(25), -np.ones(25)])
    assert np.isfinite(identical.score_samples(Z)).all()


@every_detector
def test_pickle_and_order_invariance(detector):
    fitted = clone(detector).fit(X)
    scores = fitted.score_samples(Z)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).score_samples(Z), scores)
    order = np.random.default_rng(1).permutation(len(X))
    shuffled = clone(detector).fit(X[order]).score_samples(Z)
    np.testing.assert_allclose(shuffled, scores, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "detector",
    [
        GaussianProcessOCC(criterion="median"),
        GaussianProcessOCC(noise=0.0),
        KernelPCAOCC(n_components=-1),
        KernelPCAOCC(n_components=1.5),
        KernelPCAOCC(n_components=True),
        KernelPCAOCC(n_components=None),
        KNFST(variant="D"),
        KNFST(ridge=-1.0),
        KNFST(tol=1.0),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused(detector):
    with pytest.raises(ValueError, match="must"):
        detector.fit(X)


# -- kernel means ---------------------------------------------------------------------------


def test_kernel_mean_ranks_as_parzen_window():
    parzen = KernelDensity(bandwidth=(2 * GAMMA) ** -0.5).fit(X).score_samples(Z)
    scores = KernelMean(gamma=GAMMA).fit(X).score_samples(Z)
    np.testing.assert_array_equal(np.argsort(scores), np.argsort(parzen))


def test_kernel_mean_of_linear_kernel_is_the_distance_to_the_mean():
    scores = KernelMean(kernel="linear").fit(X).score_samples(Z)
    np.testing.assert_allclose(scores, -((Z - X.mean(axis=0)) ** 2).sum(axis=1), rtol=1e-10)


# -- Gaussian process -----------------------------------------------------------------------


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


def test_gp_large_noise_ranks_as_kernel_mean():
    gp = GaussianProcessOCC(gamma=GAMMA, noise=1e7).fit(X).score_samples(Z)
    mean = KernelMean(gamma=GAMMA).fit(X).score_samples(Z)
    np.testing.assert_array_equal(np.argsort(gp), np.argsort(mean))


def test_gp_ratio_with_non_positive_mean_is_finite():
    gp = GaussianProcessOCC(kernel="linear", criterion="ratio").fit(X + 3.0)
    opposite = gp.score_samples(-(X + 3.0))
    assert np.isfinite(opposite).all()
    assert opposite.max() < gp.score_samples(X + 3.0).min()


# -- kernel PCA -----------------------------------------------------------------------------


@pytest.mark.parametrize("q", [1, 3, 10])
def test_kpca_agrees_with_scikit_learn(q):
    reference = KernelPCA(q, kernel="rbf", gamma=GAMMA, eigen_solver="dense").fit(X)
    potential = 1.0 - 2.0 * KZ.mean(axis=1) + K.mean()
    expected = potential - (reference.transform(Z) ** 2).sum(axis=1)
    ours = KernelPCAOCC(n_components=q, gamma=GAMMA).fit(X).score_samples(Z)
    np.testing.assert_allclose(-ours, expected, atol=1e-12)


@pytest.mark.parametrize("centred", [True, False])
def test_kpca_with_linear_kernel_is_the_pca_residual(centred):
    shifted = X + 1.0
    if centred:
        pca = PCA(2).fit(shifted)
        residual = Z - pca.inverse_transform(pca.transform(Z))
    else:
        basis = np.linalg.svd(shifted)[2][:2]
        residual = Z - Z @ basis.T @ basis
    ours = KernelPCAOCC(n_components=2, kernel="linear", centred=centred).fit(shifted)
    np.testing.assert_allclose(-ours.score_samples(Z), (residual**2).sum(axis=1), atol=1e-10)


def test_kpca_number_of_components():
    variance = PCA().fit(X).explained_variance_ratio_
    for share in (0.2, variance[0], 0.9, 1.0):
        fitted = KernelPCAOCC(n_components=float(share), kernel="linear").fit(X)
        expected = np.searchsorted(np.cumsum(variance), share - 1e-12) + 1
        assert fitted.n_components_ == min(expected, 3)
    assert KernelPCAOCC(n_components=100, gamma=GAMMA).fit(X).n_components_ == len(X) - 1
    assert KernelPCAOCC(n_components=5).fit(np.ones((4, 2))).n_components_ == 0


def test_kpca_full_rank_training_errors_vanish():
    fitted = KernelPCAOCC(n_components=1.0, gamma=GAMMA).fit(X)
    assert np.abs(fitted.score_samples(X)).max() < 1e-12
    assert fitted.score_samples(Z).max() < -1e-6


# -- KNFST ----------------------------------------------------------------------------------


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


def test_knfst_one_class_is_the_null_space_and_the_closed_form():
    classes = np.r_[np.zeros(25, dtype=int), 1]
    dimension, expected = null_space_scores(*with_origin(K, KZ), classes, slice(25))
    assert dimension == 1
    ours = KNFST(gamma=GAMMA).fit(X).score_samples(Z)
    np.testing.assert_allclose(ours, expected, atol=1e-9)
    u = np.linalg.solve(K, np.ones(25))
    np.testing.assert_allclose(ours, -np.abs(1.0 - KZ @ u) / np.sqrt(u.sum()), atol=1e-11)


@pytest.mark.parametrize("variant", "ABC")
def test_knfst_with_negatives_is_the_null_space(variant):
    negative = (Y < 0).astype(int)
    gram, cross = (K, KZ) if variant == "A" else with_origin(K, KZ)
    classes = {"A": negative, "B": np.r_[negative, 1], "C": np.r_[negative, 2]}[variant]
    dimension, expected = null_space_scores(gram, cross, classes, slice(15))
    assert dimension == len(set(classes)) - 1
    ours = KNFST(gamma=GAMMA, variant=variant).fit(X, Y)
    np.testing.assert_allclose(ours.score_samples(Z), expected, atol=1e-9)


def test_knfst_printed_formulas():
    pos, neg = (Y > 0) * 1.0, (Y < 0) * 1.0
    u, v = np.linalg.solve(K, pos), np.linalg.solve(K, neg)
    t_pos, t_neg = (pos + neg) @ v, -(pos @ u + pos @ v)
    alpha = t_pos * u + t_neg * v
    g = np.column_stack([KZ @ u - 1.0, KZ @ v])
    G = np.array([[pos @ u, pos @ v], [pos @ v, neg @ v]])
    expected = {
        "A": np.abs(KZ @ alpha - t_pos) / np.sqrt(alpha @ K @ alpha),
        "B": np.abs(1.0 - KZ @ u) / np.sqrt(pos @ u),
        "C": np.sqrt(np.einsum("ij,jk,ik->i", g, np.linalg.inv(G), g)),
    }
    for variant, values in expected.items():
        ours = KNFST(gamma=GAMMA, variant=variant).fit(X, Y).score_samples(Z)
        np.testing.assert_allclose(-ours, values, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("variant", "ABC")
def test_knfst_without_negatives_does_not_depend_on_the_variant(variant):
    scores = KNFST(gamma=GAMMA, variant=variant).fit(X).score_samples(Z)
    np.testing.assert_array_equal(scores, KNFST(gamma=GAMMA).fit(X).score_samples(Z))


def test_knfst_ignores_duplicates_within_a_class():
    once = KNFST(gamma=GAMMA, variant="A").fit(X, Y).score_samples(Z)
    twice = KNFST(gamma=GAMMA, variant="A").fit(np.vstack([X, X[10:20]]), np.r_[Y, Y[10:20]])
    np.testing.assert_allclose(twice.score_samples(Z), once, atol=1e-9)


def test_knfst_ridge_is_spectral_regression():
    alpha = np.linalg.solve(K + 0.1 * np.eye(25), np.ones(25))
    residual = KZ @ alpha - (K @ alpha).mean()
    expected = -np.abs(residual) / np.sqrt(alpha @ K @ alpha)
    ours = KNFST(gamma=GAMMA, ridge=0.1).fit(X).score_samples(Z)
    np.testing.assert_allclose(ours, expected, atol=1e-12)


def test_knfst_no_separating_direction_scores_zero():
    fitted = KNFST(gamma=GAMMA).fit(np.vstack([X, X]), np.r_[np.ones(25), -np.ones(25)])
    np.testing.assert_array_equal(fitted.score_samples(Z), 0.0)


def test_outliers_score_lower():
    normal = multivariate_normal(np.zeros(2)).rvs(80, random_state=3)
    labels = np.r_[np.ones(80), -np.ones(20)]
    outliers = np.random.default_rng(4).normal(4.0, 0.5, size=(20, 2))
    for detector in DETECTORS:
        if detector.uses_negatives:
            fitted = clone(detector).fit(np.vstack([normal, outliers]), labels)
        else:
            fitted = clone(detector).fit(normal)
        middle, outside = fitted.score_samples([[0.0, 0.0]]), fitted.score_samples(outliers + 0.1)
        assert middle > outside.max(), detector
