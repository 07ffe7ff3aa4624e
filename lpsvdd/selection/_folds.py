"""Folds: rows to fit, rows held out, what all models of a fold share, and how they are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.model_selection import StratifiedKFold

from lpsvdd.estimators import LpSVDD
from lpsvdd.kernels import rbf_distances
from lpsvdd.selection._outliers import artificial_outliers


@dataclass
class Fold:
    """Hold the rows X that models are fitted to, the held-out rows, and the seed of what is random.

    What several models of a fold need (artificial outliers, distances) is made once and kept.
    """

    X: np.ndarray
    held_out: np.ndarray
    seed: int

    @cached_property
    def outliers(self) -> dict[str, np.ndarray]:
        """Return artificial outliers by kind, made from X.

        There are as many of each as held-out rows, but not fewer than 50 nor more than 300, which
        estimate an AUC to within about two points.
        """
        n = int(np.clip(len(self.held_out), 50, 300))
        return artificial_outliers(self.X, n, random_state=self.seed)

    @cached_property
    def all_outliers(self) -> np.ndarray:
        """Return the artificial outliers of all kinds, one kind after another."""
        return np.vstack(list(self.outliers.values()))

    @cached_property
    def training_distances(self) -> np.ndarray:
        """Return the squared distances between the rows of X."""
        return squareform(pdist(self.X, "sqeuclidean"))

    def distances(self, points: np.ndarray) -> np.ndarray:
        """Return squared distances of points to the rows of X, kept for the fold's own points."""
        known = self.__dict__  # of the outliers, those that were made already
        own = [self.held_out, known.get("all_outliers"), *known.get("outliers", {}).values()]
        if not any(points is part for part in own):
            return cdist(points, self.X, "sqeuclidean")
        kept = known.setdefault("_kept", {})
        if id(points) not in kept:
            kept[id(points)] = cdist(points, self.X, "sqeuclidean")
        return kept[id(points)]


class FoldModel(LpSVDD):
    """Fit an `LpSVDD` on the rows of a fold: the same scores, from distances that the fold keeps.

    Many widths are fitted to one fold; the distances, which cost most where there are many columns,
    are computed once.
    """

    def fit_fold(self, fold: Fold) -> FoldModel:
        """Fit to the rows of the fold with the width ``gamma``, a number."""
        width = self.gamma
        self.set_params(kernel="precomputed", surface="ball")  # criteria count the ball's own
        self.fit(np.exp(-width * fold.training_distances))
        self.fold_, self.gamma_ = fold, width  # fit forgets what was learnt before it
        return self

    def score_samples(self, X, *, diag=None):
        """Return the scores of rows, from distances kept for those of the fold."""
        squared = np.take(self.fold_.distances(X), self.centre_rows_, axis=1)
        return -rbf_distances(squared, self.gamma_, self.centre_coef_, self.norm_sq_)


Criterion = Callable[[Fold, Any, np.ndarray], float]


def ranking_auc(normal: np.ndarray, abnormal: np.ndarray) -> float:
    """Return the share of pairs in which the normal score is the higher one; ties count half."""
    normal = np.sort(normal)
    below = np.searchsorted(normal, abnormal, "left") + np.searchsorted(normal, abnormal, "right")
    return float(1.0 - below.mean() / (2.0 * len(normal)))


def artificial_outlier_auc(fold: Fold, model: Any, held_out: np.ndarray) -> float:
    """Return the AUC of held-out rows against artificial outliers, as a mean over their kinds."""
    scores = np.split(model.score_samples(fold.all_outliers), len(fold.outliers))
    normal = model.score_samples(held_out)
    return float(np.mean([ranking_auc(normal, part) for part in scores]))


def likelihood(fold: Fold, model: Any, held_out: np.ndarray) -> float:
    """Return the mean log density of the held-out rows under a kernel density estimate."""
    exponent = -model.gamma_ * fold.distances(held_out)
    top = exponent.max(axis=1)
    density = np.log(np.exp(exponent - top[:, None]).mean(axis=1)) + top
    return float(density.mean() + 0.5 * fold.X.shape[1] * np.log(model.gamma_))


CRITERIA: dict[str, Criterion] = {
    "artificial-outliers": artificial_outlier_auc,
    "likelihood": likelihood,
}
"""Criteria with a name, for ``LpSVDDCV(criterion=...)``."""


class TargetFolds(StratifiedKFold):
    """Make stratified folds whose training part holds targets (y = +1) only.

    `LpSVDD` trains with every row labelled -1 that it is given. In a search over parameters the few
    known outliers should often show only which parameters are good, and not shape the ball. Pass
    these folds as ``cv``, and ``refit=False``: a refit would see all rows.

    Parameters
    ----------
    n_splits, shuffle, random_state : as in scikit-learn's StratifiedKFold

    Examples
    --------
    >>> import numpy as np
    >>> from lpsvdd.selection import TargetFolds
    >>> y = np.array([1, 1, 1, 1, -1, -1])
    >>> for train, test in TargetFolds(2).split(y[:, None], y):
    ...     print(y[train], y[test])
    [1 1] [ 1  1 -1]
    [1 1] [ 1  1 -1]
    """

    def split(self, X, y, groups=None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield indices of targets to train with, and of rows of both kinds to validate with."""
        labels = np.asarray(y)
        for train, test in super().split(X, labels, groups):
            yield train[labels[train] > 0], test
