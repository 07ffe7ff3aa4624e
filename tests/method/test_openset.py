"""One sphere per class: labels, rejection, thresholds, label types."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from lpsvdd.kernels import kernel_matrix
from lpsvdd.openset import OpenSetClassifier
from lpsvdd.solver import solve

CENTRES = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
X, Y = make_blobs([90, 60, 30], centers=CENTRES, random_state=0)
FAR = np.array([[40.0, 40.0], [5.0, -30.0]])


@pytest.mark.parametrize("use_negatives", [False, True])
@pytest.mark.parametrize("p", [1.0, 5.0])
def test_known_classes_are_told_apart_and_unknown_samples_rejected(p, use_negatives):
    classifier = OpenSetClassifier(p=p, C=0.5, use_negatives=use_negatives, random_state=0)
    classifier.fit(X, Y)
    assert classifier.predict(CENTRES).tolist() == [0, 1, 2]
    assert classifier.predict(FAR).tolist() == [-1, -1]
    assert (classifier.predict_closed(X) == Y).all()
    assert (classifier.duality_gap_ <= 1e-9).all()


def test_margins_are_radius_minus_squared_distance():
    classifier = OpenSetClassifier(kernel="linear", p=2.0, C=0.7, holdout=0.0).fit(X, Y)
    for k in range(3):
        members = X[Y == k]
        solution = solve(members @ members.T, p=2.0, c=0.7)
        centre = solution.alpha @ members
        expected = solution.radius_sq - ((X - centre) ** 2).sum(axis=1)
        np.testing.assert_allclose(classifier.margins(X)[:, k], expected, atol=1e-6)


def test_label_is_the_argmin_of_distance_minus_radius():
    classifier = OpenSetClassifier(random_state=1).fit(X, Y)
    closed = classifier.predict_closed(X)
    margins = classifier.margins(X)
    np.testing.assert_array_equal(closed, classifier.classes_[(-margins).argmin(axis=1)])
    labels = classifier.predict(X)
    rejected = (margins < classifier.thresholds_).all(axis=1)
    np.testing.assert_array_equal(labels == -1, rejected)
    np.testing.assert_array_equal(labels[~rejected], closed[~rejected])
    np.testing.assert_array_equal(classifier.score_samples(X) < 0.0, rejected)


def test_thresholds_are_held_out_quantiles():
    classifier = OpenSetClassifier(rejection_rate=0.2, holdout=0.4, random_state=3).fit(X, Y)
    held = np.setdiff1d(np.arange(len(X)), classifier.fit_indices_)
    np.testing.assert_array_equal(np.bincount(Y[held]), [36, 24, 12])
    margins = classifier.margins(X[held])
    for k in range(3):
        expected = np.quantile(margins[Y[held] == k, k], 0.2)
        assert classifier.thresholds_[k] == pytest.approx(expected, abs=1e-12)


def test_calibrate_on_own_data():
    classifier = OpenSetClassifier(holdout=0.0).fit(X[::2], Y[::2])
    assert len(classifier.fit_indices_) == len(X[::2])
    assert (classifier.predict(FAR) != -1).all()  # no thresholds yet: nothing is rejected
    classifier.calibrate(X[1::2], Y[1::2], rejection_rate=0.1)
    assert (classifier.predict(FAR) == -1).all()
    outside = np.array([
        (classifier.margins(X[1::2][Y[1::2] == k])[:, k] < classifier.thresholds_[k]).mean()
        for k in range(3)
    ])  # fmt: skip
    np.testing.assert_allclose(outside, 0.1, atol=0.05)
    before = classifier.thresholds_.copy()
    classifier.calibrate(X[Y == 1], Y[Y == 1], rejection_rate=0.5)
    assert classifier.thresholds_[1] > before[1]
    np.testing.assert_array_equal(classifier.thresholds_[[0, 2]], before[[0, 2]])


@pytest.mark.parametrize("C", [1e-4, 1e-2])
def test_negative_squared_radius_is_no_obstacle(C):
    classifier = OpenSetClassifier(p=2.0, C=C, random_state=0)
    balanced, labels = make_blobs(150, centers=CENTRES, random_state=1)
    classifier.fit(balanced, labels)
    assert (classifier.radius_sq_ < 0.0).all()
    assert (classifier.predict_closed(balanced) == labels).all()
    assert (classifier.predict(FAR) == -1).all()


def test_precomputed_kernel():
    direct = OpenSetClassifier(gamma=0.1, random_state=0).fit(X, Y)
    K = kernel_matrix(X, kernel="rbf", gamma=0.1)
    Kz = kernel_matrix(FAR, X, kernel="rbf", gamma=0.1)
    other = OpenSetClassifier(kernel="precomputed", random_state=0).fit(K, Y)
    np.testing.assert_allclose(other.margins(Kz), direct.margins(FAR), atol=1e-8)
    np.testing.assert_allclose(other.thresholds_, direct.thresholds_, atol=1e-8)
    linear = OpenSetClassifier(kernel="precomputed", random_state=0).fit(X @ X.T, Y)
    with pytest.raises(ValueError, match="diag"):
        linear.predict(FAR @ X.T)
    expected = OpenSetClassifier(kernel="linear", random_state=0).fit(X, Y).margins(FAR)
    ours = linear.margins(FAR @ X.T, diag=(FAR**2).sum(axis=1))
    np.testing.assert_allclose(ours, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("labels", "reject_label", "expected", "kind"),
    [
        (np.array([0, 1, 2]), None, -1, "i"),
        (np.array([-1, 0, 1]), None, -2, "i"),
        (np.array([0, 1, 2]), 99, 99, "i"),
        (np.array([1, 2, 3], dtype=np.uint8), None, -1, "i"),
        (np.array([0.0, 1.0, 2.0]), None, -1.0, "f"),
        (np.array(["a", "b", "c"]), None, "unknown", "U"),
        (np.array(["a", "b", "c"]), "none of them", "none of them", "U"),
        (np.array(["a", "b", "c"], dtype=object), None, "unknown", "O"),
        (np.array([0, 1, 2]), "unknown", "unknown", "O"),
    ],
)
def test_reject_label(labels, reject_label, expected, kind):
    classifier = OpenSetClassifier(reject_label=reject_label, random_state=0).fit(X, labels[Y])
    predicted = classifier.predict(np.vstack([CENTRES, FAR]))
    assert predicted.dtype.kind == kind
    assert predicted.tolist() == [*labels.tolist(), expected, expected]
    assert classifier.reject_label_ == expected
    assert classifier.predict(CENTRES).dtype == predicted.dtype


def test_tiny_classes():
    data = np.array([[0.0], [0.1], [5.0]])
    fitted = OpenSetClassifier(kernel="linear", random_state=0).fit(data, ["a", "a", "b"])
    assert np.isfinite(fitted.thresholds_).all()
    assert fitted.predict([[5.0]]).tolist() == ["b"]
