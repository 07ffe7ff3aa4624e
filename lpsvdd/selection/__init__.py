"""Choosing width, share and exponent without labelled outliers.

A *criterion* is a function (fold, model, held_out) -> number, larger is better. ``fold`` makes
artificial outliers from the rows that the model was fitted to; ``held_out`` are rows of the same
source that it has not seen. With labelled outliers that should judge but not train, scikit-learn's
own searches serve, with ``TargetFolds``.
"""

from lpsvdd.selection._folds import CRITERIA, Fold, TargetFolds
from lpsvdd.selection._outliers import KINDS, artificial_outliers
from lpsvdd.selection._search import LpSVDDCV

__all__ = ["CRITERIA", "KINDS", "Fold", "LpSVDDCV", "TargetFolds", "artificial_outliers"]
