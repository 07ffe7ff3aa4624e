"""Choosing width, share and exponent without labelled outliers.

``LpSVDDCV`` is the estimator; a *criterion* is a function (fold, model, held_out) -> number, larger
is better, and ``CRITERIA`` holds the two with a name. ``fold`` makes artificial outliers from the
rows that the model was fitted to; ``model`` has ``score_samples`` (high is normal), ``predict``,
``gamma_`` and ``nu``; ``held_out`` are rows of the same source that it has not seen. Reading order:
``_outliers``, ``_folds``, ``_search``. With labelled outliers at hand that should judge but not
train, scikit-learn's own searches serve, with ``TargetFolds``.
"""

from lpsvdd.selection._folds import CRITERIA, Fold, TargetFolds
from lpsvdd.selection._outliers import KINDS, artificial_outliers
from lpsvdd.selection._search import LpSVDDCV

__all__ = ["CRITERIA", "KINDS", "Fold", "LpSVDDCV", "TargetFolds", "artificial_outliers"]
