"""The references for labelled outliers: formulas, limits, bad parameters."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from lpsvdd.baselines import KernelMean
from lpsvdd.kernels import kernel_matrix
from replication.references import KernelMeanDifference, KernelSVM

RNG = np.random.default_rng(7)
X = RNG.normal(size=(25, 3))
Z = RNG.normal(size=(40, 3)) * 1.5
Y = np.r_[np.ones(15), -np.ones(10)]
GAMMA = 0.4


def test_mean_difference():
    scores = KernelMeanDifference(kernel="linear", lam=0.3).fit(X, Y).score_samples(Z)
    centre = X[Y > 0].mean(axis=0) - 0.3 * X[Y < 0].mean(axis=0)
    np.testing.assert_allclose(scores, -((Z - centre) ** 2).sum(axis=1), rtol=1e-10)
    zero = KernelMeanDifference(gamma=GAMMA, lam=0.0).fit(X, Y).score_samples(Z)
    mean = KernelMean(gamma=GAMMA).fit(X[Y > 0]).score_samples(Z)
    np.testing.assert_allclose(zero, mean, atol=1e-14)


def test_svm_agrees_with_scikit_learn():
    ours = KernelSVM(gamma=GAMMA, C=3.0).fit(X, Y)
    reference = SVC(gamma=GAMMA, C=3.0, tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(ours.decision_function(Z), reference.decision_function(Z), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(Z), reference.predict(Z))


@pytest.mark.parametrize("model", [KernelMeanDifference(gamma=GAMMA), KernelSVM(gamma=GAMMA)])
def test_a_precomputed_kernel_gives_the_same_scores(model):
    scores = model.fit(X, Y).score_samples(Z)
    model.set_params(kernel="precomputed").fit(kernel_matrix(X, kernel="rbf", gamma=GAMMA), Y)
    again = model.score_samples(kernel_matrix(Z, X, kernel="rbf", gamma=GAMMA))
    np.testing.assert_allclose(again, scores, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("model", [KernelMeanDifference(lam=-0.1), KernelSVM(C=0), KernelSVM(nu=0)])
def test_wrong_parameters_are_refused(model):
    with pytest.raises(ValueError, match="must"):
        model.fit(X)
