r"""Training data of any kind as points of a solver: arrays, memory-mapped arrays, dask arrays.

``Training`` looks at what ``fit`` was given, once: labels, weights, the kernel width. Samples of
weight zero are left out, and equal rows with equal labels become one row with the sum of their
weights. What remains becomes points, by the kernel and the number of samples:

=================  ==============================================================================
``Gram``           the kernel matrix: precomputed and callable kernels, few samples, solver "dense"
``Rows``           kernel values on demand: solver "working-set"
``Coordinates``    the samples themselves: the linear kernel
``LandmarkPoints`` the samples seen from landmarks: solver "landmarks"
=================  ==============================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight, _num_samples, validate_data

from lpsvdd._validation import (
    check_bounds,
    check_square_kernel,
    estimator_labels,
    is_number,
    warn_of_collapse,
)
from lpsvdd.cost_rule import EXACT_SPREAD, along_a_direction, spread_of, typical_rows
from lpsvdd.kernels import DISTANCE_RULES, MANY, kernel_matrix, resolve_gamma
from lpsvdd.solver.blocks import as_dask_array, blocks_of, is_dask
from lpsvdd.solver.landmarks import DEFAULT, Axes, LandmarkPoints, Landmarks, choose_landmarks
from lpsvdd.solver.memory import refuse_if_larger
from lpsvdd.solver.points import Coordinates, Gram, Rows, sample_of, unit_of_length

if TYPE_CHECKING:
    from lpsvdd.estimators import LpSVDD

DENSE = 300  # samples up to which "auto" computes the whole kernel matrix,
EXACT = 50_000  # and up to which it is exact
LOOK = 1_000  # samples on which the kernel is looked at
CANDIDATES_PER_LANDMARK = 20  # for each landmark


class Training:
    """The samples of one fit.

    Attributes
    ----------
    X, K : the samples as given, or the kernel matrix of a precomputed kernel (the other is None)
    y, weight : of all samples; weight None where none were given
    kept, group : the samples that are solved for, and for each sample its place among them (-1
        where it has no weight)
    y_kept, weight_kept : their labels, and the weight of all that are equal to them
    solver : "dense", "working-set" or "landmarks"
    points : of the kept samples
    """

    def __init__(self, model: LpSVDD, X, y, sample_weight) -> None:
        self.solver = chosen_solver(model, X)
        X = self._checked(model, X)
        self.n = X.shape[0]
        self.y = estimator_labels(y.compute() if is_dask(y) else y, self.n)
        self.K: np.ndarray | None = None
        self.X: Any = X
        if model.kernel == "precomputed":
            check_square_kernel(X, "X (kernel='precomputed')")
            self.K, self.X = X, None
        self.weight = sample_weights_of(self.y, sample_weight)
        self.gamma = None if model.kernel == "precomputed" else self._gamma(model)
        self.options = {
            "kernel": model.kernel, "gamma": self.gamma, "degree": model.degree,
            "coef0": model.coef0,
        }  # fmt: skip
        self._group_equal_rows()
        self.y_kept = self.y[self.kept]
        self.points = self._points(model)

    def _checked(self, model: LpSVDD, X):
        """X after one look: finite, and of a size whose squares are floats."""
        if is_dask(X):
            X = as_dask_array(X)
            model.n_features_in_ = X.shape[1]
        else:
            if sparse.issparse(X):
                refuse_if_larger(
                    8 * X.shape[0] * X.shape[1], f"a dense copy of X {X.shape}",
                    "take fewer columns, e.g. by TruncatedSVD",
                )  # fmt: skip
                X = X.toarray()
            kinds = [np.float64, np.float32] if self.solver == "landmarks" else np.float64
            X = validate_data(model, X, dtype=kinds, ensure_min_samples=2)
        if model.kernel != "precomputed":
            width = X.shape[1]
            finite, least, most = zip(*blocks_of(X).map(_extent, (), width=width), strict=True)
            if not all(finite):
                raise ValueError("Input X contains NaN or infinity.")
            least, most = np.min(least, axis=0), np.max(most, axis=0)
            if not callable(model.kernel):
                size = max(float(np.abs(least).max()), float(np.abs(most).max()))
                check_bounds(size, float((most - least).max()), width)
        return X

    def _gamma(self, model: LpSVDD) -> float:
        """As ``resolve_gamma`` of all rows, without having them at once."""
        rule, weight = model.gamma, self.weight
        if not is_dask(self.X):
            return resolve_gamma(rule, self.X, weight)
        blocks = blocks_of(self.X)
        if rule == "scale":
            w = np.ones(self.n) if weight is None else weight
            total, first = map(sum, zip(*blocks.map(_moments, (w,), 0.0), strict=True))
            mean = float(np.mean(first / total))
            total, second = map(sum, zip(*blocks.map(_moments, (w,), mean, 2), strict=True))
            variance = float(np.mean(second / total))
            return 1.0 / (self.X.shape[1] * variance) if variance > 0.0 else 1.0
        rows = np.arange(min(self.n, 1))
        if rule in DISTANCE_RULES:  # the very rows that ``half_mean_distance`` would take
            rows = np.arange(self.n)
            if self.n > MANY:
                rows = np.random.default_rng(self.n).choice(self.n, MANY, replace=False)
        return resolve_gamma(rule, blocks.take(rows), None if weight is None else weight[rows])

    def _group_equal_rows(self) -> None:
        """Set ``kept``, ``group`` and ``weight_kept``: equal rows are one row with their weight."""
        weight = np.ones(self.n) if self.weight is None else self.weight
        first = np.arange(self.n)
        if self.solver != "landmarks":  # equal rows of a kernel matrix are equal points too
            first = _first_equal(self.X if self.K is None else self.K, self.y)
        total = np.bincount(first, weight, self.n)
        self.kept = np.flatnonzero(total)
        self.weight_kept = total[self.kept]
        place = np.full(self.n, -1)
        place[self.kept] = np.arange(len(self.kept))
        self.group = np.where(weight > 0.0, place[first], -1)

    def spread(self) -> float:
        """The mean squared distance of the targets to their kernel mean, for C="scale"."""
        targets = np.flatnonzero(self.y_kept > 0.0)
        weight = self.weight_kept[targets]
        if isinstance(self.points, Coordinates):
            Z = self.points.Z[targets]
            return float(np.average(((Z - np.average(Z, axis=0, weights=weight)) ** 2).sum(axis=1),
                                    weights=weight))  # fmt: skip
        if isinstance(self.points, Gram):
            return spread_of(self.points.K[np.ix_(targets, targets)], weight)
        if isinstance(self.points, LandmarkPoints):
            some = sample_of(len(targets), EXACT_SPREAD)
            rows, weight = self.points.blocks.take(targets[some]), weight[some]
        else:
            rows = self.points.X[targets]
            some, weight = typical_rows(rows, weight, EXACT_SPREAD)
            rows = rows[some]
        if self.options["kernel"] == "linear":
            rows = rows - rows.mean(axis=0)
        return spread_of(kernel_matrix(rows, **self.options), weight)

    def _points(self, model: LpSVDD):
        kept, n = self.kept, len(self.kept)
        if self.K is not None:
            return Gram.check(self.K if n == self.n else self.K[np.ix_(kept, kept)])
        blocks = blocks_of(self.X, None if n == self.n else kept)
        look = blocks.take(sample_of(n, LOOK))
        if not callable(model.kernel):
            warn_of_collapse(look[:DENSE], kernel_matrix(look[:DENSE], **self.options))
        if self.solver == "landmarks":
            chart = self._chart(model, blocks, look)
            return LandmarkPoints(blocks, chart, self.options)
        X = self.X if n == self.n else self.X[kept]
        if model.kernel == "linear" and X.shape[1] < n:
            Z = X - X.mean(axis=0)
            diag = np.einsum("ij,ij->i", Z, Z)
            size = float(diag.max())
            return Coordinates(Z, diag, unit_of_length(float(diag.mean()), size), size)
        is_psd = model.kernel in ("rbf", "linear") or (
            model.kernel == "poly" and model.coef0 >= 0.0 and model.degree == int(model.degree)
        )
        if self.solver == "working-set" and is_psd and model.kernel != "linear":
            return Rows(X, **self.options)
        remedy = f"fit on fewer samples than {n}, or take solver='working-set' or 'landmarks'"
        refuse_if_larger(24 * n * n, f"the kernel matrix of {n} samples", remedy)
        K = kernel_matrix(X - X.mean(axis=0) if model.kernel == "linear" else X, **self.options)
        if is_psd and np.isfinite(K).all():
            check_square_kernel(K[:1, :1], "the kernel matrix")
            return Gram.of(K)
        return Gram.check(K)

    def _chart(self, model: LpSVDD, blocks, about: np.ndarray) -> Landmarks | Axes:
        """The space of the centre: spanned by landmarks, or the input space of a linear kernel."""
        given = model.landmarks
        self.landmarks_chosen = given is None or is_number(given)
        if isinstance(model.kernel, str) and model.kernel == "linear":
            if not self.landmarks_chosen:
                raise ValueError(
                    "with kernel='linear' the centre may be any point of the input space: leave "
                    "landmarks= out"
                )
            self.landmarks_chosen = False
            return Axes(about)
        if self.landmarks_chosen:
            m = min(DEFAULT if given is None else int(given), blocks.n)
            targets = np.flatnonzero(self.y_kept > 0.0)
            pool = blocks.take(
                targets[sample_of(len(targets), max(CANDIDATES_PER_LANDMARK * m, LOOK))]
            )
            rows = choose_landmarks(pool, m, **self.options)
        else:
            rows = np.asarray(given, dtype=np.float64)
            if rows.ndim != 2 or rows.shape[1] != blocks.n_features or not len(rows):
                raise ValueError(
                    f"landmarks must be a number or rows of {blocks.n_features} features, got an "
                    f"array of shape {rows.shape}"
                )
            if not np.isfinite(rows).all():
                raise ValueError("landmarks contains NaN or infinity: leave such rows out")
        return Landmarks(rows, about, self.options)

    # -- what an estimator asks for after the solution --------------------------------------------

    def for_all(self, values: np.ndarray, without: float = 0.0) -> np.ndarray:
        """Values of the kept samples for all that are equal to them; ``without`` weight another."""
        if len(self.kept) == self.n:
            return values
        return np.where(self.group >= 0, values[self.group], without)

    def shared_out(self, values: np.ndarray) -> np.ndarray:
        """Values of the kept samples, shared among equal ones in proportion to their weights."""
        weight = np.ones(self.n) if self.weight is None else self.weight
        if len(self.kept) == self.n and self.weight is None:
            return values
        return self.for_all(values / self.weight_kept) * weight


def chosen_solver(model: LpSVDD, X) -> str:
    """Return the solver of a fit: the one asked for, or by the kind and number of samples."""
    if model.solver != "auto":
        if model.solver != "landmarks" and is_dask(X):
            raise ValueError(
                f"solver={model.solver!r} takes no dask arrays; solver='landmarks' does"
            )
        if model.solver == "landmarks" and model.kernel == "precomputed":
            raise ValueError(
                "solver='landmarks' needs samples, not a kernel matrix; with kernel='precomputed' "
                "use solver='dense' or 'working-set'"
            )
        return model.solver
    if model.landmarks is not None or is_dask(X):
        return "landmarks"
    n = _num_samples(X)
    if callable(model.kernel) or model.kernel == "precomputed" or n <= DENSE:
        return "dense"
    return "working-set" if n <= EXACT else "landmarks"


def sample_weights_of(y: np.ndarray, sample_weight) -> np.ndarray | None:
    """Return weights as an array, positive on a positive sample, or None."""
    if sample_weight is None:
        return None
    if is_dask(sample_weight):
        sample_weight = sample_weight.compute()
    weight = _check_sample_weight(
        sample_weight, np.empty((len(y), 1)), dtype=np.float64, ensure_non_negative=True
    )
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight contains NaN or infinity")
    if not (weight[y > 0] > 0.0).any():
        raise ValueError(
            "sample_weight is zero on every positive sample: give one of them a weight"
        )
    return weight


def _first_equal(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return for each row the first one that is equal to it, with the same label."""
    along = along_a_direction(X)
    order = np.argsort(along, kind="stable")
    near = np.flatnonzero(np.diff(along[order]) == 0.0)
    first = np.arange(len(X))
    if len(near):  # few, or none: only these are compared
        rows = np.unique(np.concatenate([order[near], order[near + 1]]))
        table = np.column_stack([X[rows], y[rows]])
        _, at, group = np.unique(table, axis=0, return_index=True, return_inverse=True)
        first[rows] = rows[at[group.ravel()]]
    return first


def _extent(X: np.ndarray) -> tuple[bool, np.ndarray, np.ndarray]:
    return bool(np.isfinite(X).all()), X.min(axis=0), X.max(axis=0)


def _moments(X: np.ndarray, w: np.ndarray, origin: float, degree: int = 1) -> tuple:
    return w.sum(), w @ (X - origin) ** degree
