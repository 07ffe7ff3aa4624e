r"""``fit`` of an estimator with solver="landmarks": arrays, memory-mapped arrays and dask arrays.

The data are read in passes over blocks of rows (``lpsvdd.solver._blocks``): one to look at them,
some rows for the kernel width and the landmarks, then those of the solver. What is kept afterwards
are the landmarks and a few numbers a sample, never the samples.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from lpsvdd._validation import (
    check_bounds,
    estimator_labels,
    is_number,
    warn_of_collapse,
    weighted_quantile,
)
from lpsvdd.kernels import DISTANCE_RULES, MANY, kernel_diagonal, kernel_matrix, resolve_gamma
from lpsvdd.solver._blocks import ArrayBlocks, DaskBlocks, blocks_of, is_dask
from lpsvdd.solver._chart import Axes, Landmarks
from lpsvdd.solver._choice import available_memory, prefers_landmarks
from lpsvdd.solver._landmark_choice import DEFAULT, POOL, choose_landmarks
from lpsvdd.solver._landmarks import MEMORY, LandmarkSolver, Restricted, distances
from lpsvdd.solver._share import costs_of, search, solve_share
from lpsvdd.surface import LARGEST

if TYPE_CHECKING:
    from lpsvdd.estimators import LpSVDD

CERTIFICATES = ("auto", "exact", "sampled", "none")
SURFACE = 1e-8  # a distance from the surface that counts as none at p = 1, relative to max d
SHARE_OF_MEMORY = 0.3  # of what is available, for coordinates
LOOK = 1_000  # samples on which the kernel is looked at
FIRST = 500  # samples that tell where the search for a share begins


def takes_landmarks(model: LpSVDD, X: object) -> bool:
    """Whether a fit goes this way: it was asked for, X is a dask array, or has very many rows."""
    if model.solver == "landmarks":
        return True
    if is_dask(X) and model.solver != "auto":
        raise ValueError(f"solver={model.solver!r} takes no dask arrays; solver='landmarks' does")
    if model.solver != "auto":
        return False
    if model.landmarks is not None or is_dask(X):
        return True
    shape = np.shape(X) if hasattr(X, "shape") else ()
    known = isinstance(model.kernel, str) and model.kernel != "precomputed"
    return known and len(shape) == 2 and prefers_landmarks(shape[0], model.p, shape[1])


def check_landmark_parameters(model: LpSVDD) -> None:
    """Refuse ``landmarks`` and ``certificate`` that make no sense."""
    if model.certificate not in CERTIFICATES:
        raise ValueError(f"certificate must be one of {CERTIFICATES}, got {model.certificate!r}")
    given = model.landmarks
    if given is None:
        return
    if model.solver not in ("auto", "landmarks"):
        raise ValueError(f"landmarks= is for solver='landmarks', not {model.solver!r}")
    if is_number(given) and (given != int(given) or given < 1):
        raise ValueError(f"landmarks must be a whole number >= 1 or rows of samples, got {given!r}")


def fit_landmarks(model: LpSVDD, X, y, sample_weight) -> None:
    """All of ``fit``, up to the threshold and the warning of an empty ball."""
    if isinstance(model.kernel, str) and model.kernel == "precomputed":
        raise ValueError(
            "solver='landmarks' needs samples, not a kernel matrix; with kernel='precomputed' use "
            "solver='dense' or 'working-set'"
        )
    X, y, weight = _checked(model, X, y, sample_weight)
    kept = None if weight is None or weight.all() else np.flatnonzero(weight)
    everything = blocks_of(X)
    model.gamma_ = _gamma(model, X, everything, weight)
    blocks = everything if kept is None else blocks_of(X, kept)
    y_kept = y if kept is None else y[kept]
    w_kept = np.ones(blocks.n) if weight is None else weight if kept is None else weight[kept]
    options = model._kernel_options()
    look = blocks.take(_some(blocks.n, LOOK))
    warn_of_collapse(look, kernel_matrix(look, **options))
    chart = _chart(model, blocks, y_kept, options, look)
    report = print if model.verbose else _silent
    memory = min(MEMORY, SHARE_OF_MEMORY * available_memory())
    solver = LandmarkSolver(blocks, chart, y_kept, options, memory, report)
    found = _solve(model, solver, w_kept, options)
    if not found.converged:
        warnings.warn(
            f"lp-SVDD on landmarks (p={model.p:g}) stopped after {found.n_iter} iterations: the "
            f"gap of the restricted problem is {found.gap:.2e}, tol={model.tol:g}; raise max_iter "
            "or tol, or rescale the data",
            ConvergenceWarning,
            stacklevel=4,
        )
    model.solver_ = "landmarks"
    model.y_fit_, model.weight_fit_ = y, weight
    _keep_centre(model, chart, found, options)
    _keep_samples(model, everything, chart, found, kept)
    model.restricted_gap_ = found.gap
    model.duality_gap_, model.gap_kind_ = solver.exact_gap(found, model.certificate)
    model.n_iter_ = max(1, found.n_iter)
    _set_threshold(model, everything)


def _silent(line: str) -> None:
    pass


# -- what goes in --------------------------------------------------------------------------------


def _checked(model: LpSVDD, X, y, sample_weight):
    """X, labels and weights (None if none were given), after one pass over X."""
    model._check_parameters()
    if is_dask(X):
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            raise ValueError(f"X must be a table of numbers, got shape {X.shape}, {X.dtype}")
        model.n_features_in_ = X.shape[1]
        X = DaskBlocks(X).X  # with chunks of known size
        y, sample_weight = (v.compute() if is_dask(v) else v for v in (y, sample_weight))
    else:
        kinds = [np.float64, np.float32]
        X = validate_data(model, X, dtype=kinds, ensure_min_samples=1, ensure_all_finite=False)
    n = X.shape[0]
    if n < 1:
        raise ValueError("X holds no sample")
    finite, least, most = zip(*blocks_of(X).map(_extent, (), width=X.shape[1]), strict=True)
    if not all(finite):
        raise ValueError("Input X contains NaN or infinity.")
    least, most = np.min(least, axis=0), np.max(most, axis=0)
    if not callable(model.kernel):
        size = max(float(np.abs(least).max()), float(np.abs(most).max()))
        check_bounds(size, float((most - least).max()), X.shape[1])
    y = estimator_labels(y, n)
    if sample_weight is None:
        return X, y, None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,) or not np.isfinite(weight).all() or (weight < 0.0).any():
        raise ValueError(f"sample_weight must be {n} numbers that are finite and not negative")
    if not (weight[y > 0] > 0.0).any():
        raise ValueError("sample_weight is zero on every positive sample")
    return X, y, weight


def _extent(X: np.ndarray) -> tuple[bool, np.ndarray, np.ndarray]:
    return bool(np.isfinite(X).all()), X.min(axis=0), X.max(axis=0)


def _some(n: int, size: int) -> np.ndarray:
    """At most ``size`` of n rows, in order, the same at each call."""
    if n <= size:
        return np.arange(n)
    return np.sort(np.random.default_rng(n).choice(n, size, replace=False))


def _gamma(model: LpSVDD, X, blocks: ArrayBlocks | DaskBlocks, weight) -> float:
    """As ``resolve_gamma`` of all rows, without having them at once."""
    rule = model.gamma
    if isinstance(blocks, ArrayBlocks):
        return resolve_gamma(rule, X, weight)
    if rule == "scale":
        w = np.ones(blocks.n) if weight is None else weight
        total, first = map(sum, zip(*blocks.map(_moments, (w,), 0.0), strict=True))
        mean = float(np.mean(first / total))
        total, _, second = map(sum, zip(*blocks.map(_moments, (w,), mean, 2), strict=True))
        variance = float(np.mean(second / total))
        return 1.0 / (blocks.n_features * variance) if variance > 0.0 else 1.0
    rows = np.arange(min(blocks.n, 1))
    if rule in DISTANCE_RULES:  # the very rows that ``half_mean_distance`` would take
        rows = np.arange(blocks.n)
        if blocks.n > MANY:
            rows = np.random.default_rng(blocks.n).choice(blocks.n, MANY, replace=False)
    return resolve_gamma(rule, blocks.take(rows), None if weight is None else weight[rows])


def _moments(X: np.ndarray, w: np.ndarray, origin: float, degree: int = 1) -> tuple:
    found = [w.sum(), w @ (X - origin)]
    return tuple(found if degree == 1 else [*found, w @ (X - origin) ** 2])


def _chart(model: LpSVDD, blocks, y, options, about) -> Landmarks | Axes:
    """The space of the centre: spanned by landmarks, or the input space of a linear kernel."""
    given = model.landmarks
    model.landmarks_chosen_ = given is None or is_number(given)
    if isinstance(model.kernel, str) and model.kernel == "linear":
        if not model.landmarks_chosen_:
            raise ValueError(
                "with kernel='linear' the centre may be any point of the input space: leave "
                "landmarks= out"
            )
        model.landmarks_chosen_ = False
        return Axes(about)
    if model.landmarks_chosen_:
        m = min(DEFAULT if given is None else int(given), blocks.n)
        targets = np.flatnonzero(y > 0.0)
        pool = blocks.take(targets[_some(len(targets), max(POOL * m, LOOK))])
        rows = choose_landmarks(pool, m, **options)
    else:
        rows = np.asarray(given, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != blocks.n_features or not len(rows):
            raise ValueError(
                f"landmarks must be a number or rows of {blocks.n_features} features, got an "
                f"array of shape {rows.shape}"
            )
        if not np.isfinite(rows).all():
            raise ValueError("landmarks contains NaN or infinity")
    return Landmarks(rows, about, options)


# -- the solution --------------------------------------------------------------------------------


def _solve(model: LpSVDD, solver: LandmarkSolver, weight, options) -> Restricted:
    """The ball for C, or for the C that leaves a share nu outside."""
    y, p = solver.y, model.p
    limits = {"tol": model.tol, "max_iter": model.max_iter}

    def solve_at(cost: float, start: Restricted | None, polish: int) -> Restricted:
        w = None if start is None else start.w
        costs = costs_of(cost, model.C_neg, y, weight)
        return solver.solve(p, costs, start=w, polish=polish, **limits)

    model.nu_ = model._share()
    if model.nu_ is None:
        model.C_ = float(model.C)
        found = solve_at(model.C_, None, 2)
        model.surface_sq_ = found.radius_sq
        return found
    positive = y > 0.0
    total = float(weight[positive].sum())
    first, d_mean = None, np.zeros(len(y))
    if p > 1.0:
        targets = np.flatnonzero(positive)
        some = targets[_some(len(targets), FIRST)]
        K = kernel_matrix(solver.blocks.take(some), **options)
        few = solve_share(K, p=p, nu=model.nu_, sample_weight=weight[some], tol=1e-6)
        first = few.cost * float(weight[some].sum()) / total
        d_mean = solver.distances(solver.mean(np.where(positive, weight, 0.0) / total))
    share = search(
        solve_at, lambda found: found.distances, y, weight, d_mean, first=first,
        spread=solver.spread, p=p, nu=model.nu_, c_neg=model.C_neg,
    )  # fmt: skip
    model.C_, model.surface_sq_ = share.cost, share.threshold
    return cast(Restricted, share.solution)


# -- what comes out ------------------------------------------------------------------------------


def _keep_centre(model: LpSVDD, chart, found: Restricted, options) -> None:
    model.X_fit_, model.centre_coef_ = chart.centre(found.w)
    model.centre_rows_ = np.arange(len(model.X_fit_))
    model.norm_sq_ = chart.norm_sq(found.w)
    model.diag_fit_ = kernel_diagonal(model.X_fit_, **options)
    if isinstance(chart, Axes):
        model.centre_ = model.X_fit_[0]


def _keep_samples(model: LpSVDD, everything, chart, found: Restricted, kept) -> None:
    """Numbers of every sample; a removed one has no multiplier, but its distance is a fact."""
    y = model.y_fit_
    alpha, d, radius = found.alpha, found.distances, found.radius_sq
    if kept is not None:
        alpha = np.zeros(len(y))
        alpha[kept] = found.alpha
        d = np.concatenate(everything.map(distances, (), chart, found.w, width=chart.rank))
    if model.p == 1.0 and radius > 0.0:
        radius = model.surface_sq_ = around_the_surface(radius, d, y)
    model.alpha_, model.distance_fit_, model.radius_sq_ = alpha, d, radius
    model.support_ = np.flatnonzero(alpha)
    model.dual_coef_ = (y * alpha)[model.support_]
    model.slack_ = np.maximum(y * (d - radius), 0.0)


def around_the_surface(radius: float, d: np.ndarray, y: np.ndarray) -> float:
    """R2 at p = 1: free support vectors lie on the surface; rounding must not put them outside."""
    on_surface = (y > 0) & (np.abs(d - radius) <= SURFACE * d.max())
    return float(max([radius, *d[on_surface]])) + 1e-13 * float(d.max())


def _set_threshold(model: LpSVDD, everything: ArrayBlocks | DaskBlocks) -> None:
    model.surface_ = model._surface()
    if model.surface_ == "ball":
        model.offset_ = -model.surface_sq_
        return
    if model.surface_ == "leave-one-out":
        K = None
        if len(model.support_) <= LARGEST:
            rows = np.asarray(everything.take(model.support_), dtype=np.float64)
            rows = rows - getattr(model, "centre_", 0.0) if model.kernel == "linear" else rows
            K = kernel_matrix(rows, **model._kernel_options())
        model.offset_ = model._offset_without(model.distance_fit_, K)
        return
    targets = model.y_fit_ > 0
    weights = None if model.weight_fit_ is None else model.weight_fit_[targets]
    scores = -model.distance_fit_[targets]
    model.offset_ = weighted_quantile(scores, model.contamination, weights)
