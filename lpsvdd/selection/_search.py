"""LpSVDDCV: the grid, the folds, the best candidate, the final fit."""

from __future__ import annotations

import itertools
import sys
import time
from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from lpsvdd._validation import check_exponent, estimator_labels, in_memory, is_number
from lpsvdd.cost_rule import check_share
from lpsvdd.estimators import LpSVDD
from lpsvdd.kernels import resolve_gamma
from lpsvdd.selection._folds import CRITERIA, Fold, FoldModel

WIDTH_MULTIPLES = tuple(2.0**k for k in range(7))
"""The automatic grid of gamma, as multiples of 1/(sum of the columns' variances)."""


class LpSVDDCV(OutlierMixin, BaseEstimator):
    r"""Choose width, rate and exponent of an `LpSVDD` by cross-validation without labels.

    Every candidate (p, nu, gamma) is fitted to a part of the rows and scored on the others by a
    criterion that needs no real outlier; the candidate with the best mean over the folds is fitted
    to all rows. The default criterion makes artificial outliers of ten kinds from the fitted
    rows and takes the mean AUC of the held-out rows against each kind.

    Parameters
    ----------
    p : float or list of floats, default=2.0
        Exponent of the slack; if several are given, the best is chosen.
    gammas : "auto" or list of floats, default="auto"
        Gaussian kernel exp(-gamma ||x - z||^2). "auto": seven values, from once to 64 times
        1/(sum of the columns' variances).
    nus : "auto" or list of floats in (0, 1], default="auto"
        Share of new targets that `predict` rejects, as in `LpSVDD`. "auto": 0.1.
    criterion : str or callable, default="artificial-outliers"
        A name in ``lpsvdd.selection.CRITERIA``, or a function (fold, model, held_out) -> float,
        larger is better, where ``fold`` is a `lpsvdd.selection.Fold`.
    cv : int, splitter or iterable of (train, test), default=3
        A number means that many folds of shuffled targets. A splitter is given X and y, and the
        indices of an iterable are those of the rows of X; labelled outliers are left out of both
        parts, and so are rows beyond ``max_samples``.
    max_samples : int, default=1000
        Parameters are chosen on at most so many rows, drawn at random; the final fit sees all.
    trim : float in [0, 0.5), default=0.0
        For training rows that may contain outliers. Before anything is chosen or fitted, this
        share of the targets is left out: those that score lowest under ``LpSVDD(gamma="scale")``.
        Many outliers close together may escape it.
    contamination : float in (0, 0.5], optional
        As in `LpSVDD`; None: about a share nu of new rows is rejected.
    random_state : int, RandomState or None
        Seed of the folds, the artificial outliers and the rows of ``max_samples``.
    n_jobs : int or None
        Number of fits run at the same time, in threads. None means 1.
    verbose : int, default=0
        1 prints to standard error how many fits are done.

    Attributes
    ----------
    best_estimator_ : LpSVDD
        Fitted to all rows with ``best_params_``.
    best_params_ : dict
        "p", "nu" and "gamma" of the best candidate.
    best_score_ : float
        Its mean criterion.
    best_index_ : int
        Its index in ``cv_results_``.
    cv_results_ : dict of arrays
        As in scikit-learn's searches: "params", "param_p", "param_nu", "param_gamma",
        "split0_test_score", ..., "mean_test_score", "std_test_score", "rank_test_score" and times.
    n_splits_ : int
    kept_ : ndarray of int
        The rows that ``trim`` left.
    offset_ : float
        Threshold of ``best_estimator_``.

    See Also
    --------
    LpSVDD : the model with given parameters.
    lpsvdd.conformal.ConformalDetector : p-values and a false discovery rate for any detector.

    Notes
    -----
    Scale the columns first, for instance with ``StandardScaler`` in a pipeline: one width serves
    all of them. If y holds -1, parameters are chosen on the other rows alone, and the final model
    is fitted to all, as `LpSVDD` does.

    The training rows must be clean. If a tenth of them are anomalies, the search loses more AUC
    than most detectors, because a narrow kernel learns them. ``trim=0.1`` recovers a part of this
    loss and costs little where there are no anomalies (the book, "Hundreds of other tables").

    Examples
    --------
    >>> import numpy as np
    >>> from lpsvdd import LpSVDDCV
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = LpSVDDCV(random_state=0).fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    >>> sorted(model.best_params_)
    ['gamma', 'nu', 'p']
    """

    trim = 0.0  # of a model that was saved before the parameter existed

    def __init__(
        self,
        *,
        p=2.0,
        gammas="auto",
        nus="auto",
        criterion="artificial-outliers",
        cv=3,
        max_samples=1000,
        trim=0.0,
        contamination=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.p = p
        self.gammas = gammas
        self.nus = nus
        self.criterion = criterion
        self.cv = cv
        self.max_samples = max_samples
        self.trim = trim
        self.contamination = contamination
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y=None):
        """Choose the parameters and fit the model; X and y as in `LpSVDD`."""
        attempt = copy(self)  # what fails or is interrupted leaves the old model whole
        attempt._fit(in_memory(X), y)
        vars(self).update(vars(attempt))
        return self

    def _fit(self, X, y) -> None:
        criterion = self._criterion()
        X = validate_data(self, X, dtype=np.float64)
        y = estimator_labels(y, len(X))
        rng = check_random_state(self.random_state)
        self.kept_ = self._kept(X, y)
        chosen = self._chosen(self.kept_[y[self.kept_] > 0], rng)
        candidates = self._candidates(X[chosen])
        folds = self._folds(X, y, chosen, rng)
        self._set_results(candidates, self._judge(candidates, folds, criterion))
        self.n_splits_ = len(folds)
        best = candidates[self.best_index_]
        self.best_params_ = dict(best)
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        final = LpSVDD(**best, contamination=self.contamination)
        self.best_estimator_ = final.fit(X[self.kept_], y[self.kept_])
        self.best_estimator_.chosen_by_ = type(self).__name__  # rejection_risk warns of it
        self.offset_ = self.best_estimator_.offset_

    def score_samples(self, X):
        """Return the score of each sample under the chosen model; higher is more normal."""
        rows = self._checked(X)
        return self.best_estimator_.score_samples(rows)

    def decision_function(self, X):
        """Return score_samples(X) - offset_: not negative where the sample is accepted."""
        rows = self._checked(X)
        return self.best_estimator_.decision_function(rows)

    def predict(self, X):
        """Return +1 for accepted (normal) samples, -1 for outliers."""
        rows = self._checked(X)
        return self.best_estimator_.predict(rows)

    def _checked(self, X) -> np.ndarray:
        """Return X after checking it, once the model is known to be fitted."""
        check_is_fitted(self)
        return validate_data(self, in_memory(X), dtype=np.float64, reset=False)

    def _criterion(self):
        if callable(self.criterion):
            return self.criterion
        if self.criterion in CRITERIA:
            return CRITERIA[self.criterion]
        known = ", ".join(CRITERIA)
        raise ValueError(f"criterion must be a function or one of {known}, got {self.criterion!r}")

    def _kept(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the rows without the targets that look least normal to a wide kernel."""
        if not is_number(self.trim) or not 0.0 <= self.trim < 0.5:
            raise ValueError(f"trim must be a share in [0, 0.5), got {self.trim!r}")
        targets = np.flatnonzero(y > 0)
        number = round(self.trim * len(targets))
        if not number:
            return np.arange(len(X))
        scores = LpSVDD(gamma="scale").fit(X[targets]).score_samples(X[targets])
        return np.setdiff1d(np.arange(len(X)), targets[np.argsort(scores, kind="stable")[:number]])

    def _chosen(self, targets: np.ndarray, rng) -> np.ndarray:
        """Return the targets that parameters are chosen on."""
        if not isinstance(self.max_samples, Integral) or int(self.max_samples) < 4:
            raise ValueError(f"max_samples must be a whole number >= 4, got {self.max_samples!r}")
        if len(targets) <= int(self.max_samples):
            return targets
        return targets[np.sort(rng.choice(len(targets), self.max_samples, replace=False))]

    def _candidates(self, X: np.ndarray) -> list[dict]:
        """Return all combinations, widths running fastest and from the widest kernel on."""
        ps = [check_exponent(p) for p in _several(self.p, "p")]
        nus = [0.1] if _is_auto(self.nus, "nus") else _several(self.nus, "nus")
        if _is_auto(self.gammas, "gammas"):
            variance = float(X.var(axis=0).sum())
            gammas = [factor / variance if variance > 0.0 else factor for factor in WIDTH_MULTIPLES]
        else:
            gammas = sorted(resolve_gamma(gamma, X) for gamma in _several(self.gammas, "gammas"))
        grid = itertools.product(ps, [check_share(nu) for nu in nus], gammas)
        return [{"p": p, "nu": nu, "gamma": gamma} for p, nu, gamma in grid]

    def _folds(self, X: np.ndarray, y: np.ndarray, chosen: np.ndarray, rng) -> list[Fold]:
        if len(chosen) < 4:  # nothing can be judged: the middle of the grid is taken
            return []
        if isinstance(self.cv, Integral):
            if self.cv < 2:
                raise ValueError(f"cv must be at least 2, got {self.cv!r}")
            number = min(self.cv, len(chosen) // 2)
            shuffled = KFold(number, shuffle=True, random_state=rng.randint(2**31))
            parts = [(chosen[fit], chosen[held]) for fit, held in shuffled.split(chosen)]
        else:
            parts = [
                (np.intersect1d(fit, chosen), np.intersect1d(held, chosen))
                for fit, held in check_cv(self.cv).split(X, y)
            ]
            if not all(len(fit) and len(held) for fit, held in parts):
                raise ValueError(
                    "cv leaves a fold without a target to fit, or without one to validate with: "
                    "use fewer or larger folds"
                )
        return [Fold(X[fit], X[held], int(rng.randint(2**31))) for fit, held in parts]

    def _judge(self, candidates, folds, criterion) -> np.ndarray:
        """Return criterion, seconds of the fit and of the criterion: (candidates, folds, 3)."""
        jobs = [(i, j) for i in range(len(candidates)) for j in range(len(folds))]
        found = np.full((len(candidates), len(folds), 3), np.nan)
        run = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(_judge_one)(candidates[i], folds[j], criterion) for i, j in jobs
        )
        for k, ((i, j), values) in enumerate(zip(jobs, run, strict=True), 1):
            found[i, j] = values
            if self.verbose:
                print(f"\rLpSVDDCV: {k} of {len(jobs)} fits", end="", file=sys.stderr, flush=True)
        if self.verbose and jobs:
            print(file=sys.stderr)
        return found

    def _set_results(self, candidates: list[dict], found: np.ndarray) -> None:
        if not found.shape[1]:  # nothing was judged: the mean of no fold is NaN
            mean = std = np.full(found.shape[::2], np.nan)
        else:
            mean, std = found.mean(axis=1), found.std(axis=1)
        scores, comparable = found[:, :, 0], np.where(np.isnan(mean[:, 0]), -np.inf, mean[:, 0])
        self.cv_results_ = {
            f"{what}_{name}": values[:, k]
            for k, name in enumerate(("test_score", "fit_time", "score_time"))
            for what, values in (("mean", mean), ("std", std))
        } | {
            **{
                f"param_{name}": np.array([one[name] for one in candidates])
                for name in ("p", "nu", "gamma")
            },
            "params": candidates,
            **{f"split{j}_test_score": scores[:, j] for j in range(scores.shape[1])},
            "rank_test_score": rankdata(-comparable, method="min").astype(int),
        }
        # Of equals the first, which has the widest kernel; the middle where nothing was judged.
        judged = np.isfinite(comparable).any()
        self.best_index_ = int(np.argmax(comparable)) if judged else len(candidates) // 2


def _judge_one(params: dict, fold: Fold, criterion) -> tuple[float, float, float]:
    # No catch_warnings: filters belong to the whole process, and threads would mix them up.
    start = time.perf_counter()
    model = FoldModel(**params, tol=1e-6).fit_fold(fold)  # enough to compare
    fitted = time.perf_counter()
    value = float(criterion(fold, model, fold.held_out))
    return value, fitted - start, time.perf_counter() - fitted


def _is_auto(value: object, name: str) -> bool:
    if isinstance(value, str) and value != "auto":
        raise ValueError(f'{name} must be "auto" or numbers, got {value!r}')
    return isinstance(value, str)


def _several(value: Any, name: str) -> list:
    """Return a number or several as a list without repetitions."""
    values = [value] if isinstance(value, Real) else list(np.ravel(value))
    if not values:
        raise ValueError(f"{name} is empty: give at least one value")
    return list(dict.fromkeys(values))
