"""Folds for labelled outliers that judge a description and do not train it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.model_selection import StratifiedKFold


class TargetFolds(StratifiedKFold):
    """Stratified folds whose training part holds targets (y = +1) only.

    `LpSVDD` trains with every row labelled -1 that it is given. In a search over parameters that is
    often not wanted: the few known outliers should tell which parameters are good, not shape the
    ball. Pass these folds as ``cv``, and ``refit=False``: a refit would see all rows.

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
        """Indices of targets to train with, and of rows of both kinds to judge by."""
        labels = np.asarray(y)
        for train, test in super().split(X, labels, groups):
            yield train[labels[train] > 0], test
