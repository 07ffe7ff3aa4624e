"""Choosing width, share and exponent without labelled outliers.

``LpSVDDCV`` is the estimator; a *criterion* is a function (fold, model, held_out) -> number, larger
is better, and ``CRITERIA`` holds those with a name. Reading order: ``_outliers`` (points that are
surely not of the data's kind), ``_fold``, ``_criteria``, ``_search``. With labelled outliers at
hand that should judge but not train, scikit-learn's own searches serve, with ``TargetFolds``.
"""

from lpsvdd.selection._criteria import CRITERIA
from lpsvdd.selection._fold import Fold
from lpsvdd.selection._folds import TargetFolds
from lpsvdd.selection._outliers import KINDS, artificial_outliers
from lpsvdd.selection._search import LpSVDDCV

__all__ = ["CRITERIA", "KINDS", "Fold", "LpSVDDCV", "TargetFolds", "artificial_outliers"]
