r"""LpSVDD, the scikit-learn estimator."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.spatial.distance import cdist

from lpsvdd._base import KernelOneClass
from lpsvdd._training import Training
from lpsvdd._validation import (
    check_exponent,
    check_tolerance,
    is_number,
    is_scaled,
    weighted_quantile,
)
from lpsvdd.bounds import rejection_risk_of
from lpsvdd.cost_rule import check_share, cost_by_scale
from lpsvdd.explain import explain
from lpsvdd.kernels import kernel_diagonal, kernel_matrix, rbf_distances, squared_distances
from lpsvdd.solver.blocks import blocks_of
from lpsvdd.solver.landmarks import LandmarkPoints
from lpsvdd.solver.memory import row_batches
from lpsvdd.solver.points import Coordinates, Rows
from lpsvdd.solver.problem import Problem
from lpsvdd.solver.solve import MAX_ITER, Solution, solve_problem
from lpsvdd.surface import SECOND_ORDER, SURFACES, rows_needed, surface_at

DEFAULT_NU = 0.1  # where nu is not given
SCORE_ROUNDING = 1e-12  # of squared distances, relative to the kernel values they are made of
ROUNDED_STEPS = 32  # rounding errors of a score, in units of its largest term
RELATIVE_SURFACE_TOL = 1e-8  # a distance from the surface that counts as none, relative to max d
SOLVERS = ("auto", "dense", "working-set", "landmarks")


class LpSVDD(KernelOneClass):
    r"""Support vector data description with an lp slack norm.

    Finds the centre a and the squared radius R2 (a free number) that solve

    .. math::

        \min_{a, R^2, \zeta}\; & R^2 + C \sum_{y_i=+1} w_i \zeta_i^p
        + C_{neg} \sum_{y_i=-1} w_i \zeta_i^p \\
        \text{s.t.}\; & y_i (\|\phi(x_i) - a\|^2 - R^2) \le \zeta_i,\quad \zeta_i \ge 0,

    to a certified duality gap. p = 1 is the SVDD of Tax and Duin, p = 2 the squared-slack variant.
    The score of a point is minus its squared distance to the centre; higher is more normal.

    Parameters
    ----------
    p : float in [1, inf), default=2.0
        Exponent of the slack.
    C : float > 0 or "scale", default="scale"
        Cost of a positive sample's slack. "scale" is 1/(nu n p (f s)^(p-1)), n the number of
        positive samples, s their mean squared distance to the kernel mean and f = 0.1; at p = 1
        the classical 1/(nu n). See :mod:`lpsvdd.cost_rule`.
    C_neg : float > 0, optional
        Cost of a labelled outlier's slack. None: the same as C.
    nu : float in (0, 1], optional
        Share of new positive samples that ``predict`` rejects (``surface``), and the hardness in
        C="scale". None: 0.1.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default="rbf"
        A callable takes two samples and returns k(x, z).
    gamma : float or name of a rule, default="quarter-mean-distance"
        For the rbf and poly kernels. "quarter-mean-distance" is 1/(2 s^2), s a quarter of the mean
        distance between training samples, "half-mean-distance" the same with half of it (the
        paper's width); "scale" and "auto" are scikit-learn's.
    degree, coef0 : float
        Parameters of the poly kernel (gamma <x, z> + coef0)^degree.
    surface : {"auto", "ball", "leave-one-out"}, default="auto"
        Where ``predict`` has its threshold. "ball": at the ball's surface. "leave-one-out": where
        a new target is rejected with probability about nu, estimated from the distance of each
        target to the ball without it, see :mod:`lpsvdd.surface`. "auto": "ball" where C is a number
        and nu is not given, otherwise "leave-one-out".
    contamination : float in (0, 0.5], optional
        If given, the threshold is that quantile of the scores of the positive training samples,
        whatever ``surface`` is.
    tol : float, default=1e-9
        Relative duality gap to reach.
    max_iter : int, default=1000
        Largest number of Newton iterations.
    solver : {"auto", "dense", "working-set", "landmarks"}, default="auto"
        "dense" computes the n x n kernel matrix; "working-set" computes the kernel values of the
        samples that matter, and the answer is the same. "landmarks" restricts the centre to the
        span of some samples: time and memory grow linearly with n, X may be a dask array, and the
        ball is a ball of the exact problem, whose optimum it bounds from above.
        "auto" is "dense" up to 300 samples and for precomputed and callable kernels,
        "working-set" up to 50,000, then "landmarks", as for dask or if ``landmarks`` is given.
    landmarks : int or array of shape (m, n_features), optional
        For solver="landmarks": their number, or the rows; by default 300, chosen by
        :func:`lpsvdd.solver.choose_landmarks`. A linear kernel needs none.
    verbose : int, default=0
        1 prints a line for each part of the solver: number of points, steps, gap.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_samples,)
        Dual variables; y'alpha = 1.
    support_ : ndarray of int
        Indices with alpha > 0. For p > 1 these are the samples on the wrong side of the surface.
    dual_coef_ : ndarray
        y * alpha on ``support_``: the centre is sum_i dual_coef_i phi(x_i).
    centre_ : ndarray of shape (n_features,), for kernel="linear" only
        The centre itself.
    slack_ : ndarray of shape (n_samples,)
    radius_sq_ : float
        R2; points that lie on the surface are inside, whatever their rounding. It may be <= 0
        (small C): then no point is inside the ball, a warning says so, and only the ranking or a
        quantile threshold makes sense.
    C_ : float
        The cost in use.
    nu_ : float or None
        The share in use; None where neither the cost nor the threshold depends on one.
    surface_ : {"ball", "leave-one-out", "contamination", "held-out"}
        How the threshold was set; "held-out" after ``rethreshold``.
    offset_ : float
        decision_function = score_samples - offset_; -radius_sq_ where ``surface_`` is "ball".
    duality_gap_ : float
        (P - D)/(1 + |P|) of the scaled problem, always that of the exact kernel. With landmarks it
        also bounds the loss by the restriction; NaN above 14,000 support vectors, where computing
        it would take longer than the fit.
    restricted_gap_ : float, for solver="landmarks" only
        The gap of the restricted problem, which is brought below ``tol``.
    distance_fit_ : ndarray of shape (n_samples,)
        Squared distances of the training samples to the centre. With landmarks the samples are not
        kept: ``X_fit_`` holds the landmarks.
    tilt_ : float
        n sum alpha^2 - 1, with weights and labelled outliers as in
        :meth:`lpsvdd.solver.Problem.tilt`: 0 at the kernel mean, largest at the hard ball. Models
        of different p are comparable at equal tilt; n / (1 + tilt_) is the effective sample size.
    status_ : {"optimal", "radius-zero", "not-converged"}
        Whether the gap is below ``tol`` (with landmarks: the gap of the restricted problem).
    n_iter_ : int
        Iterations of the last solve (1 is reported where none was needed).
    gamma_ : float or None
    solver_ : str
        The solver that was used.

    See Also
    --------
    lpsvdd.solve : the solver on a kernel matrix.
    sklearn.svm.OneClassSVM : the same ranking as p = 1 for kernels with constant diagonal.

    Notes
    -----
    ``sample_weight`` multiplies the cost: weight 2 is the same as two copies, weight 0 removes the
    sample. scikit-learn's outlier detectors ignore y; this one reads it when it holds -1.
    Far from the data, where a sum of Gaussian kernel values is below the rounding error of 1,
    scores differ in the twelfth digit only; they still rank rows by that sum
    (``lpsvdd.kernels.rbf_distances``).

    References
    ----------
    S. R. Arashloo, "lp Slack Norm Support Vector Data Description".
    D. M. J. Tax, R. P. W. Duin, "Support Vector Data Description", Machine Learning 54, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from lpsvdd import LpSVDD
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = LpSVDD(p=1.5, nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    >>> bool(model.duality_gap_ < 1e-9)
    True
    """

    uses_negatives = True

    def __init__(
        self,
        p=2.0,
        C="scale",
        C_neg=None,
        *,
        nu=None,
        kernel="rbf",
        gamma="quarter-mean-distance",
        degree=3,
        coef0=1.0,
        surface="auto",
        contamination=None,
        tol=1e-9,
        max_iter=MAX_ITER,
        solver="auto",
        landmarks=None,
        verbose=0,
    ):
        self.p = p
        self.C = C
        self.C_neg = C_neg
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.surface = surface
        self.contamination = contamination
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.landmarks = landmarks
        self.verbose = verbose

    def fit(self, X, y=None, sample_weight=None):
        """Fit the ball.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or the square kernel matrix if precomputed.
            A dask array is read block by block (solver "landmarks"); so is a memory-mapped array.
        y : array of shape (n_samples,), optional
            +1 for targets, -1 for labelled outliers. None: all targets.
        sample_weight : array of shape (n_samples,), optional
            Non-negative factors of the cost.

        Returns
        -------
        self
        """
        return self._replace_by(lambda model: model._fit(X, y, sample_weight))

    def rejection_risk(self, beta=0.05):
        """Return an interval for the probability that the ball rejects a new normal point.

        With probability at least 1 - beta over the training points, drawn independently from any
        distribution, low <= P(a new one of them lies outside radius_sq_) <= high. It follows from
        the number of points that determine the ball, and says nothing about outliers that are
        accepted. Near p = 1, where a slack may be far below rounding, multipliers show which points
        are outside. Kernel, C and all that went before (scaling) must be fixed without these
        points; an AssumptionWarning names what fails, in a default model the width and C.
        After choosing among M settings pass beta / M. At p = 1 the lower end counts only the points
        strictly outside; ``bounds.rejection_risk_of`` with ``density=True`` counts those on the
        surface too, where no mass can lie on it.

        Parameters
        ----------
        beta : float in (0, 1)
            Probability with which the interval may fail.

        Returns
        -------
        (low, high)

        See Also
        --------
        lpsvdd.bounds.rejection_risk : the interval as a function of k and n.
        lpsvdd.bounds.cost_for_rate : the C that keeps this probability below a wanted rate.
        """
        return rejection_risk_of(self, beta)

    def explain(self, X):
        """Return the contributions of the columns to the scores of X; they sum to the scores.

        See :func:`lpsvdd.explain.explain`, which also takes pipelines.

        Returns
        -------
        lpsvdd.explain.Explanation
        """
        return explain(self, X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True  # a dense copy is made
        return tags

    # -- fit --------------------------------------------------------------------------------------

    def _fit(self, X, y, sample_weight):
        self._check_parameters()
        training = Training(self, X, y, sample_weight)
        self.y_fit_, self.weight_fit_, self.gamma_ = training.y, training.weight, training.gamma
        self.solver_ = training.solver
        self.nu_ = self._share()
        self.C_ = self._cost(training)
        problem = self._problem(training)
        solution = self._solve(problem)
        self._keep_centre(training, solution)
        self._keep_ball(training, solution)
        self.surface_ = self._surface()
        self.offset_ = self._threshold(training, problem, solution)
        if self.surface_ == "ball" and self.offset_ >= 0.0:
            warnings.warn(
                f"radius_sq_ = {self.radius_sq_:.4g} <= 0: no point lies inside the ball, so "
                "predict gives -1 everywhere (scores still rank). Raise C (or lower nu), or set "
                "the threshold by surface=, contamination= or rethreshold().",
                UserWarning,
                stacklevel=5,
            )
        if self.surface_ == "leave-one-out":
            self._warn_of_few_rows(training)
        return self

    def _share(self) -> float | None:
        """Return the share in use, or None where nothing depends on it."""
        if self.nu is not None:
            return float(self.nu)
        return DEFAULT_NU if self.C == "scale" or self.surface == "leave-one-out" else None

    def _cost(self, training: Training) -> float:
        if self.C != "scale":
            return float(self.C)
        total = float(training.weight_kept[training.y_kept > 0.0].sum())
        spread = training.spread() if self.p > 1.0 else 1.0
        return cost_by_scale(self.nu_, total, self.p, spread)

    def _problem(self, training: Training) -> Problem:
        """Return the problem on the samples that are kept."""
        costs = np.full(len(training.kept), self.C_)
        if self.C_neg is not None:
            costs[training.y_kept < 0.0] = self.C_neg
        costs *= training.weight_kept
        return Problem(training.points, training.y_kept, p=self.p, c=costs)

    def _solve(self, problem: Problem) -> Solution:
        return solve_problem(
            problem, None, problem.cost, tol=self.tol, max_iter=self.max_iter,
            report=print if self.verbose else None,
        )  # fmt: skip

    def _keep_centre(self, training: Training, solution: Solution) -> None:
        """Keep the centre as coefficients of some rows: of the samples, or of the landmarks."""
        points = training.points
        if isinstance(points, LandmarkPoints):
            self.X_fit_, self.centre_coef_ = points.chart.centre(points.centre(solution.centre))
            self.centre_rows_ = np.arange(len(self.X_fit_))
            self.diag_fit_ = kernel_diagonal(self.X_fit_, **training.options)
            self.landmarks_chosen_ = training.landmarks_chosen
        else:
            self.centre_rows_ = training.kept[np.flatnonzero(solution.alpha)]
            self.centre_coef_ = solution.centre[np.flatnonzero(solution.alpha)]
            if training.K is None:
                self.X_fit_ = training.X
                self.diag_fit_ = kernel_diagonal(training.X, **training.options)
            else:
                self.diag_fit_ = training.K.diagonal().copy()
        if self.kernel == "linear":
            self.centre_ = self.centre_coef_ @ self.X_fit_[self.centre_rows_]
        if isinstance(points, Rows):
            self.norm_sq_ = points.norm_sq(solution.centre)
        else:
            rows = self.centre_rows_
            K = (
                training.K[np.ix_(rows, rows)]
                if training.K is not None
                else kernel_matrix(self.X_fit_[rows], **training.options)
            )
            self.norm_sq_ = float(self.centre_coef_ @ K @ self.centre_coef_)

    def _keep_ball(self, training: Training, solution: Solution) -> None:
        """Keep what is known of the samples; those without weight are looked at here."""
        self.alpha_ = training.shared_out(solution.alpha)
        self.support_ = np.flatnonzero(self.alpha_)
        self.dual_coef_ = (training.y * self.alpha_)[self.support_]
        self.status_, self.n_iter_ = solution.status, max(1, solution.n_iter)
        self.duality_gap_, self.radius_sq_ = solution.gap, solution.radius_sq
        self.tilt_ = solution.tilt
        if isinstance(training.points, LandmarkPoints):
            self.restricted_gap_ = solution.gap
            self.duality_gap_ = training.points.exact_gap(solution, training.y_kept)
        d = np.asarray(solution.distances)
        if not np.isfinite(d).all():
            raise ValueError(
                "the squared distances to the centre overflow: rescale the samples (or K)"
            )
        if self.radius_sq_ > 0.0:  # rounding must not decide about points on the surface
            reach = float(d.max())
            near = d[
                (training.y_kept > 0)
                & (np.abs(d - self.radius_sq_) <= RELATIVE_SURFACE_TOL * reach)
            ]
            if len(near):
                size = float(np.abs(self.diag_fit_).max())
                size = np.sqrt(size * reach) if self.kernel == "linear" else size
                rounding = 1e-13 * reach + ROUNDED_STEPS * np.finfo(float).eps * size
                self.radius_sq_ = max(self.radius_sq_, float(near.max())) + rounding
        self.distance_fit_ = training.for_all(d)
        without = np.flatnonzero(training.group < 0)
        if len(without):
            if training.K is None:
                scores = self._score_points(blocks_of(training.X).take(without))
            else:
                scores = self._score_kernel(training.K[without], self.diag_fit_[without])
            self.distance_fit_[without] = -scores
        self.slack_ = np.maximum(training.y * (self.distance_fit_ - self.radius_sq_), 0.0)
        kept = training.group >= 0
        self.slack_[kept] = training.for_all(solution.slack)[kept]

    # -- scores: from the centre itself for a linear kernel, from kernel values otherwise ------

    def _score_points(self, X):
        if self.kernel == "linear":
            return -np.einsum("ij,ij->i", X - self.centre_, X - self.centre_)
        centre, options = self.X_fit_[self.centre_rows_], self._kernel_options()
        scores = np.empty(len(X))
        for some in row_batches(len(X), len(centre)):
            if self.kernel == "rbf":
                squared = cdist(X[some], centre, "sqeuclidean")
                scores[some] = -rbf_distances(
                    squared, self.gamma_, self.centre_coef_, self.norm_sq_
                )
            else:
                Kz = kernel_matrix(X[some], centre, **options)
                scores[some] = self._score_centre(Kz, kernel_diagonal(X[some], **options))
        return scores

    def _score_kernel(self, Kz, diag):
        # take, not Kz[:, rows], whose memory is column by column
        return self._score_centre(np.take(Kz, self.centre_rows_, axis=1), diag)

    def _score_centre(self, Kz, diag):
        return -squared_distances(Kz, self.centre_coef_, diag, self.norm_sq_)

    # -- the threshold -------------------------------------------------------------------------

    def _surface(self) -> str:
        """Return the name of the surface that ``fit`` draws."""
        if self.contamination is not None:
            return "contamination"
        if self.surface != "auto":
            return self.surface
        return "ball" if self.C != "scale" and self.nu is None else "leave-one-out"

    def _threshold(self, training: Training, problem: Problem, solution: Solution) -> float:
        targets, d = self.y_fit_ > 0, self.distance_fit_
        if self.surface_ == "ball":
            return -self.radius_sq_
        if self.surface_ == "contamination":
            weights = None if self.weight_fit_ is None else self.weight_fit_[targets]
            scores = self._own_scores(training)[targets]
            quantile = weighted_quantile(scores, self.contamination, weights)
            # The sample that is the quantile is accepted, however its distance is rounded anew; the
            # next one is not, and at p = 1, where many lie on the surface, it may be one ulp away.
            below = scores[scores < quantile].max(initial=-np.inf)
            half_way = np.nextafter(0.5 * (below + quantile), np.inf)
            size = float(np.abs(self.diag_fit_).max())
            return float(max(quantile - SCORE_ROUNDING * size, min(half_way, quantile)))
        points, alpha = training.points, solution.alpha
        rows, K, beyond = np.flatnonzero(alpha), None, np.zeros(len(alpha))
        if isinstance(points, LandmarkPoints):
            beyond[rows] = points.beyond(rows)
        if len(rows) <= SECOND_ORDER:
            part = points.part(rows)
            K = part.Z @ part.Z.T if isinstance(part, Coordinates) else part.K
        squared = surface_at(
            problem, alpha, np.asarray(solution.distances), solution.slack, self.nu_,
            weight=training.weight_kept, kernel_of_support=K, beyond=beyond,
        )  # fmt: skip
        # A row on the surface is accepted, and so is its equal, whose distance is rounded anew.
        size = d.max() if self.kernel == "linear" else np.abs(self.diag_fit_).max()
        return -float(squared + SCORE_ROUNDING * size)

    def _own_scores(self, training: Training) -> np.ndarray:
        """Return the scores of the training samples with the digits that ``predict`` gives them."""
        if isinstance(training.points, LandmarkPoints):
            return -self.distance_fit_
        if training.K is not None:
            return self._score_kernel(training.K, self.diag_fit_)
        return self._score_points(training.X)

    def _warn_of_few_rows(self, training: Training) -> None:
        """Warn where the rate nu cannot be kept, with the number of rows that suffice."""
        n = float(training.weight_kept[training.y_kept > 0.0].sum())
        need = rows_needed(self.nu_)
        if n < need:
            warnings.warn(
                f"{n:.4g} training rows are too few for nu={self.nu_:g}: no surface drawn from "
                f"them rejects so few new rows; use at least {need} rows",
                UserWarning,
                stacklevel=6,
            )
        X = training.X
        if isinstance(X, np.ndarray) and n < 2 * X.shape[1] and is_scaled(X):
            warnings.warn(
                f"the columns were scaled with these {n:.4g} rows, which are few for {X.shape[1]} "
                f"columns: more than nu={self.nu_:g} of the new rows will be rejected. Use at "
                f"least {2 * X.shape[1]} rows, or a scaling fitted to other rows",
                UserWarning,
                stacklevel=5,
            )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_exponent(self.p)
        check_tolerance(self.tol, self.max_iter)
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {SOLVERS}, got {self.solver!r}")
        if self.landmarks is not None and self.solver not in ("auto", "landmarks"):
            raise ValueError(
                f"landmarks= is only for solver='landmarks', got solver={self.solver!r}"
            )
        given = self.landmarks
        if is_number(given) and (given != int(given) or given < 1):
            raise ValueError(
                f"landmarks must be a whole number >= 1 or rows of samples, got {given!r}"
            )
        if self.surface not in SURFACES:
            raise ValueError(f"surface must be one of {SURFACES}, got {self.surface!r}")
        for name, other in (("C", "scale"), ("C_neg", None)):
            value = getattr(self, name)
            is_other = value is None if other is None else isinstance(value, str) and value == other
            if is_other or is_number(value) and np.isfinite(value) and value > 0.0:
                continue
            raise ValueError(f"{name} must be a positive number or {other!r}, got {value!r}")
        if self.nu is not None:
            check_share(self.nu)
