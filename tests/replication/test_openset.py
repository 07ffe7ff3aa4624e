"""One sphere per class: labels, rejection, thresholds, label types."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from lpsvdd.solver import solve
from replication.openset import OpenSetClassifier

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
    assert (classifier.margins(X).argmax(axis=1) == Y).all()
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
    margins = classifier.margins(X)
    closed = margins.argmax(axis=1)
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


def test_without_held_out_samples_nothing_is_rejected():
    classifier = OpenSetClassifier(holdout=0.0).fit(X, Y)
    assert len(classifier.fit_indices_) == len(X)
    assert (classifier.predict(FAR) != -1).all()
    assert (classifier.score_samples(FAR) == np.inf).all()


@pytest.mark.parametrize("C", [1e-4, 1e-2])
def test_negative_squared_radius_is_no_obstacle(C):
    classifier = OpenSetClassifier(p=2.0, C=C, random_state=0)
    balanced, labels = make_blobs(150, centers=CENTRES, random_state=1)
    classifier.fit(balanced, labels)
    assert (classifier.radius_sq_ < 0.0).all()
    assert (classifier.margins(balanced).argmax(axis=1) == labels).all()
    assert (classifier.predict(FAR) == -1).all()


@pytest.mark.parametrize(
    ("labels", "expected", "kind"),
    [
        (np.array([0, 1, 2]), -1, "i"),
        (np.array([-1, 0, 1]), -2, "i"),
        (np.array([1, 2, 3], dtype=np.uint8), -1, "i"),
        (np.array([0.0, 1.0, 2.0]), -1.0, "f"),
        (np.array(["a", "b", "c"]), "unknown", "U"),
        (np.array(["a", "b", "c"], dtype=object), "unknown", "O"),
    ],
)
def test_the_label_of_rejected_samples_fits_the_classes(labels, expected, kind):
    classifier = OpenSetClassifier(random_state=0).fit(X, labels[Y])
    predicted = classifier.predict(np.vstack([CENTRES, FAR]))
    assert predicted.dtype.kind == kind
    assert predicted.tolist() == [*labels.tolist(), expected, expected]
    assert classifier.reject_label_ == expected


def test_tiny_classes():
    data = np.array([[0.0], [0.1], [5.0]])
    fitted = OpenSetClassifier(kernel="linear", random_state=0).fit(data, ["a", "a", "b"])
    assert np.isfinite(fitted.thresholds_).all()
    assert fitted.predict([[5.0]]).tolist() == ["b"]
