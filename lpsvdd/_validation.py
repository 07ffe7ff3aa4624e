"""Checks of labels, kernel matrices and parameters, and the weighted quantile: below all else."""

from __future__ import annotations

import warnings
from importlib import import_module
from numbers import Real
from typing import Any, TypeGuard

import numpy as np
from scipy.sparse import issparse


def check_labels(y: object, n_samples: int) -> np.ndarray:
    """Return labels as floats: +1 for targets, -1 for labelled outliers; None means all +1."""
    if y is None:
        return np.ones(n_samples)
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n_samples,):
        raise ValueError(
            f"y must have shape ({n_samples},), one label per sample; got {labels.shape}"
        )
    if labels.dtype.kind not in "iuf":
        raise ValueError(f"Unknown label type in y: {labels.dtype}; use the numbers +1 and -1")
    if not (np.abs(labels) == 1).all():
        shown = ", ".join(map(str, np.unique(labels)[:5]))
        raise ValueError(
            f"y must hold only +1 (target) and -1 (labelled outlier), or be None; it holds {shown}"
        )
    if not (labels > 0).any():
        raise ValueError("y has no positive sample (+1): there is nothing to describe")
    return labels.astype(float)


def estimator_labels(y: object, n_samples: int) -> np.ndarray:
    """Check labels; class labels 0, 1, 2, ... without any -1 are ignored, with a warning.

    scikit-learn passes class labels (0, 1, 2, ...) to outlier detectors, which ignore them by
    convention, and its ``check_estimator`` insists on that. A -1 among other labels is an error.
    """
    labels = np.asarray(y) if y is not None else np.ones(n_samples)
    is_class_label = (
        labels.shape == (n_samples,)
        and labels.dtype.kind in "iuf"
        and np.isfinite(labels).all()
        and (labels >= 0).all()
        and (labels == np.floor(labels)).all()
    )
    if is_class_label and not (labels == 1).all():
        warnings.warn(
            "y holds class labels without any -1 and is ignored: every sample counts as a target. "
            "Label outliers -1 and targets +1 to use them, or pass y=None.",
            UserWarning,
            stacklevel=4,
        )
        return np.ones(n_samples)
    return check_labels(y, n_samples)


def import_extra(module: str, extra: str) -> Any:
    """Import a module that comes with an extra of the package; its absence names the extra."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"this needs {package}, which cannot be imported ({error}); "
            f"install it with: pip install 'lpsvdd[{extra}]'"
        ) from error


def in_memory(X: Any) -> Any:
    """Return rows in memory: those of dask are computed; sparse ones are refused."""
    if type(X).__module__.partition(".")[0].startswith("dask"):
        X = X.compute()
    if issparse(X):
        raise TypeError(
            "X is sparse, and kernels need dense rows: pass X.toarray(), or make them dense where "
            "they arise, by OneHotEncoder(sparse_output=False) or "
            "ColumnTransformer(..., sparse_threshold=0)"
        )
    return X


def check_square_kernel(K: np.ndarray, name: str = "K") -> None:
    """Refuse a training kernel that is not a symmetric square matrix."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"{name} must be a square kernel matrix, got shape {K.shape}")
    size = max(float(K.max()), -float(K.min()))
    if not size * len(K) < 0.01 * np.finfo(float).max:  # sums over K must stay finite, NaN does not
        raise ValueError(f"{name} holds values as large as {size:.3g}, which overflow; rescale it")
    # Block by block: a transpose of the whole matrix costs a third of a factorisation.
    asymmetry = max(
        np.abs(K[i : i + 256, i:] - K[i:, i : i + 256].T).max() for i in range(0, len(K), 256)
    )
    if asymmetry > 1e-8 * size:
        raise ValueError(f"{name} must be symmetric; max |K - K'| = {asymmetry:.3g}")


def check_range(X: np.ndarray) -> None:
    """Refuse samples whose squared distances are beyond any float, above or below."""
    check_bounds(float(np.abs(X).max()), float(np.ptp(X, axis=0).max()), X.shape[1])


def check_bounds(size: float, span: float, n_features: int) -> None:
    """Check as ``check_range`` does, given the largest |x_ij| and the largest range of a column."""
    if not size < 0.5 * np.sqrt(np.finfo(float).max / n_features):
        raise ValueError(
            f"X holds values as large as {size:.3g}, whose squared distances overflow; rescale X "
            "or remove what is not a measurement"
        )
    if 0.0 < span < 1e-150:
        raise ValueError(
            f"the samples in X differ by at most {span:.3g}, so that their squared distances "
            "underflow; rescale X"
        )


def warn_of_collapse(X: np.ndarray, K: np.ndarray) -> None:
    """Warn where the kernel puts most samples on one point though they differ."""
    diag = K.diagonal()
    medoid = int(np.argmin(diag - 2.0 * K.mean(axis=1)))
    together = diag[medoid] + diag - 2.0 * K[medoid] <= 0.0
    span = float(np.ptp(X[together], axis=0).max()) if together.any() else 0.0
    if span > 0.0 and 2 * np.count_nonzero(together) > len(K):
        warnings.warn(
            f"the kernel cannot tell {np.count_nonzero(together)} of {len(K)} samples apart: they "
            f"differ by at most {span:.3g} where the largest value is {np.abs(X).max():.3g}. "
            "Rescale X (one huge value dwarfs all others), or raise gamma.",
            UserWarning,
            stacklevel=4,
        )


def is_scaled(rows: np.ndarray) -> bool:
    """Tell whether the columns were standardised, or stretched to [0, 1], by these very rows."""
    rows = rows[:, np.ptp(rows, axis=0) > 0.0]
    if not rows.size or np.array_equal(rows, np.round(rows)):  # indicators may look like it
        return False
    standard = np.abs(rows.mean(axis=0)) + np.abs(rows.std(axis=0) - 1.0) < 1e-9
    unit = np.abs(rows.min(axis=0)) + np.abs(rows.max(axis=0) - 1.0) < 1e-9
    return bool(standard.all() or unit.all())


def weighted_quantile(values: np.ndarray, level: float, weights: np.ndarray | None) -> float:
    """Return NumPy's quantile (linear) of the values, each repeated as often as its weight says."""
    if weights is None:
        return float(np.quantile(values, level))
    order = np.argsort(values)
    copies = np.cumsum(weights[order])
    position = level * max(copies[-1] - 1.0, 0.0)
    below = np.floor(position)
    index = np.searchsorted(copies, [below, below + 1.0], side="right")
    low, high = values[order[np.minimum(index, len(values) - 1)]]
    return float(low + (position - below) * (high - low))


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether a value is one real number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_exponent(p: object) -> float:
    """Return p as a float in [1, inf); raise a clear error otherwise."""
    if not is_number(p):
        raise ValueError(f"p must be a number in [1, inf), got {p!r}")
    if not (np.isfinite(p) and p >= 1.0):
        raise ValueError(f"p must be in [1, inf), got {p!r}")
    return float(p)


def check_costs(c: object, n_samples: int) -> np.ndarray:
    """Return one positive finite cost for each sample."""
    cost = np.asarray(c)
    if cost.dtype.kind not in "fiu" or cost.shape not in ((), (1,), (n_samples,)):
        raise ValueError(f"c must be a number or {n_samples} numbers, got {c!r}")
    cost = np.full(n_samples, cost, dtype=float)
    if not (np.isfinite(cost).all() and (cost > 0.0).all()):
        raise ValueError(f"c must be positive and finite, got {c!r}")
    return cost


def check_tolerance(tol: float, max_iter: int) -> None:
    """Refuse tolerances and iteration limits that make no sense."""
    if not (is_number(tol) and 0.0 < tol < 1.0):
        raise ValueError(f"tol must be in (0, 1), got {tol!r}")
    if not (isinstance(max_iter, (int, np.integer)) and max_iter >= 1):
        raise ValueError(f"max_iter must be a whole number >= 1, got {max_iter!r}")
