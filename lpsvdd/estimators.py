r"""LpSVDD, the scikit-learn estimator."""

from __future__ import annotations

import math
import warnings

import numpy as np
from scipy.spatial.distance import cdist

from lpsvdd._base import KernelOneClass
from lpsvdd._training import Training
from lpsvdd._validation import check_exponent, check_tolerance, is_number, weighted_quantile
from lpsvdd.bounds import rejection_risk_of
from lpsvdd.explain import explain
from lpsvdd.kernels import kernel_diagonal, kernel_matrix, rbf_distances, squared_distances
from lpsvdd.solver.cost import check_share, costs_of, solve_share
from lpsvdd.solver.landmarks import LandmarkPoints
from lpsvdd.solver.memory import batches
from lpsvdd.solver.points import Rows
from lpsvdd.solver.problem import Problem
from lpsvdd.solver.solve import MAX_ITER, Solution, solve_problem
from lpsvdd.surface import LARGEST, SURFACES, surface_at

DEFAULT_SHARE = 0.1  # nu, where neither C nor nu is given
ROUNDING = 1e-12  # of squared distances, relative to the kernel values they are made of
ON_SURFACE = 1e-8  # a distance from the surface that counts as none at p = 1, relative to max d
SOLVERS = ("auto", "dense", "working-set", "landmarks")
CERTIFICATES = ("auto", "exact", "sampled", "none")


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
    C : float > 0, optional
        Cost of a positive sample's slack. Give C or nu; without both, nu = 0.1.
    C_neg : float > 0, optional
        Cost of a labelled outlier's slack. None: the same as C.
    nu : float in (0, 1], optional
        Instead of C, the share of positive samples outside the ball. For p > 1 the cost is found
        so that the share is nu, up to one sample. For p = 1 it is C = 1 / (nu * number of positive
        samples): at most a share nu lies outside; nu = 1 puts the centre at the mean.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default="rbf"
        A callable takes two samples and returns k(x, z).
    gamma : float or name of a rule, default="quarter-mean-distance"
        Of the rbf and poly kernels. "quarter-mean-distance" is 1/(2 s^2), s a quarter of the mean
        distance between training samples, "half-mean-distance" the same with half of it (the
        paper's width); "scale" and "auto" are scikit-learn's.
    degree, coef0 : float
        Of the poly kernel (gamma <x, z> + coef0)^degree.
    surface : {"auto", "ball", "leave-one-out"}, default="auto"
        Where ``predict`` draws the line. "ball": at the ball's own surface. "leave-one-out": where
        a new target is rejected with probability about nu (C given: about 0.1), estimated from
        the distance of each target to the ball without it, see :mod:`lpsvdd.surface`. "auto":
        "ball" where C is given, otherwise "leave-one-out".
    contamination : float in (0, 0.5], optional
        A number: the threshold is that quantile of the scores of the positive training samples,
        whatever ``surface`` says.
    tol : float, default=1e-9
        Relative duality gap to reach.
    max_iter : int, default=1000
        Most iterations of Newton's method.
    solver : {"auto", "dense", "working-set", "landmarks"}, default="auto"
        "dense" computes the n x n kernel matrix; "working-set" computes the kernel values of the
        samples that matter, and the answer is the same. "landmarks" restricts the centre to the
        span of some samples: time and memory grow with n alone, X may be a dask array, and the
        ball is a ball of the exact problem, whose optimum it bounds from above.
        "auto" is "dense" up to 300 samples and for precomputed and callable kernels,
        "working-set" up to 50,000 (10,000 with nu and p > 1), then "landmarks"; also for dask or if
        ``landmarks`` is given.
    landmarks : int or array of shape (m, n_features), optional
        For solver="landmarks": how many, or which; 300 by default, chosen by
        :func:`lpsvdd.solver.choose_landmarks`. A linear kernel needs none.
    certificate : {"auto", "exact", "sampled", "none"}, default="auto"
        For solver="landmarks": how ``duality_gap_`` is found. "exact" takes half as many kernel
        values as pairs of support vectors, "sampled" estimates it from some of them. "auto" is
        "exact" up to 14,000 support vectors; ``gap_kind_`` says which it was.
    verbose : int, default=0
        1 prints a line for each round of a solver: size of the set and gap.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_samples,)
        Dual variables; y'alpha = 1.
    support_ : ndarray of int
        Indices with alpha > 0. For p > 1 these are the samples on the wrong side of the surface.
    dual_coef_ : ndarray
        y * alpha on ``support_``: the centre is sum_i dual_coef_i phi(x_i).
    centre_rows_, centre_coef_ : ndarrays
        The centre as sum_j centre_coef_j phi(x_j) over the rows j in ``centre_rows_``. They are
        ``support_`` and ``dual_coef_``, except where those are so large that sums of kernel values
        would cancel; scores are computed from these.
    centre_ : ndarray of shape (n_features,), for kernel="linear" only
        The centre itself.
    slack_ : ndarray of shape (n_samples,)
    radius_sq_ : float
        R2. It may be <= 0 (small C): then no point is inside the ball, a warning says so, and
        only the ranking or a quantile threshold makes sense.
    C_ : float
        The cost in use: C, or the one that was found for nu.
    nu_ : float or None
        The share in use; None where C was given.
    surface_ : {"ball", "leave-one-out", "contamination", "held-out"}
        What the threshold is; "held-out" after ``rethreshold``.
    surface_sq_ : float
        Squared radius of the ball's surface: radius_sq_, except where no C leaves just a share nu
        outside because more samples touch the ball; then a thousandth of their spread further out.
    offset_ : float
        decision_function = score_samples - offset_; -surface_sq_ where ``surface_`` is "ball".
    duality_gap_ : float
        (P - D)/(1 + |P|) of the scaled problem, always that of the exact kernel. With landmarks it
        bounds what the restriction costs too; NaN if it was not asked for.
    restricted_gap_, gap_kind_ : float, str; for solver="landmarks" only
        The gap of the restricted problem, which is brought below ``tol``; and whether
        ``duality_gap_`` is "exact", "sampled" (an estimate, two standard errors added: no bound) or
        "not computed".
    distance_fit_ : ndarray of shape (n_samples,)
        Squared distances of the training samples to the centre. With landmarks the samples are not
        kept: ``X_fit_`` holds the landmarks, all of ``centre_rows_``.
    tilt_ : float
        n sum alpha^2 - 1, with weights and labelled outliers as in
        :meth:`lpsvdd.solver.Problem.tilt`: 0 at the kernel mean, most at the hard ball. Models of
        different p are comparable at equal tilt; n / (1 + tilt_) is the effective sample size.
    status_ : {"optimal", "radius-zero", "not-converged"}
        The verdict on the gap (with landmarks: on that of the restricted problem).
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
    Far from the data, where a sum of Gaussian kernel values is lost beside 1, scores differ in the
    twelfth digit only; they still rank rows by that sum (``lpsvdd.kernels.rbf_distances``).

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
        C=None,
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
        certificate="auto",
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
        self.certificate = certificate
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
        """Interval for the probability that the ball rejects a new normal point.

        With probability at least 1 - beta over the training points, drawn independently from any
        distribution, low <= P(a new one of them lies outside radius_sq_) <= high. It follows from
        the number of points that determine the ball, and says nothing about outliers that are
        accepted. Kernel, C and all that went before (scaling) must be fixed without these points;
        an AssumptionWarning names what is seen to fail, in a default model the width and C. After
        choosing among M settings pass beta / M. At p = 1 the lower end counts only the points
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
        """Contributions of the columns to the scores of X; they sum to the scores.

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
        solution = self._solve(training)
        self._keep_ball(training, solution)
        self._keep_centre(training, solution)
        self.surface_ = self._surface()
        self.offset_ = self._threshold(training)
        if self.surface_ == "ball" and self.surface_sq_ <= 0.0:
            warnings.warn(
                f"radius_sq_ = {self.radius_sq_:.4g} <= 0: no point lies inside the ball, so "
                "predict gives -1 everywhere (scores still rank). Raise C (or lower nu), or set "
                "the threshold by surface=, contamination= or rethreshold().",
                UserWarning,
                stacklevel=4,
            )
        return self

    def _weights(self, training: Training) -> np.ndarray | None:
        """Weights of the samples: those given; a subclass may compute others."""
        return training.weight

    def _solve(self, training: Training) -> Solution:
        """The solution on the samples of positive weight."""
        y, weight = training.y[training.kept], np.ones(len(training.kept))
        if training.weight is not None:
            weight = training.weight[training.kept]
        # Two more iterations than the gap asks for: scores then agree to about nine digits
        # between equivalent inputs (copies and weights, permutations, scalings).
        limits = {"tol": self.tol, "max_iter": self.max_iter, "polish": 2}
        limits["report"] = print if self.verbose else None
        self.nu_ = self._share()
        if self.nu_ is None:
            self.C_ = float(self.C)
            costs = costs_of(self.C_, self.C_neg, y, weight)
            problem = Problem(training.points, y, p=self.p, c=costs)
            solution = solve_problem(problem, None, costs, **limits)
            self.surface_sq_ = solution.radius_sq
            return solution
        share = solve_share(
            training.points, y, p=self.p, nu=self.nu_, c_neg=self.C_neg, sample_weight=weight,
            **limits,
        )  # fmt: skip
        self.C_, self.surface_sq_ = share.cost, share.threshold
        return share.solution

    def _keep_ball(self, training: Training, solution: Solution) -> None:
        y = training.y
        self.alpha_ = training.spread_out(solution.alpha)
        self.support_ = np.flatnonzero(self.alpha_)
        self.dual_coef_ = (y * self.alpha_)[self.support_]
        self.status_, self.n_iter_ = solution.status, max(1, solution.n_iter)
        self.duality_gap_, self.radius_sq_ = solution.gap, solution.radius_sq
        self.tilt_ = solution.tilt
        d = np.asarray(solution.distances)
        if self.p == 1.0 and self.radius_sq_ > 0.0:
            # Free support vectors lie on the surface; rounding must not put them outside.
            near = (y[training.kept] > 0) & (np.abs(d - self.radius_sq_) <= ON_SURFACE * d.max())
            radius = float(max([self.radius_sq_, *d[near]])) + 1e-13 * float(d.max())
            self.surface_sq_ = max(radius, self.surface_sq_)
            self.radius_sq_ = radius
        self._kept_distances, self._kept_slack = d, solution.slack

    def _keep_centre(self, training: Training, solution: Solution) -> None:
        """The centre, and the distance of every sample, those without weight too."""
        points, everywhere = training.points, len(training.kept) == training.n
        if isinstance(points, LandmarkPoints):
            w = points.centre(solution.centre)
            self.X_fit_, self.centre_coef_ = points.chart.centre(w)
            self.centre_rows_ = np.arange(len(self.X_fit_))
            self.diag_fit_ = kernel_diagonal(self.X_fit_, **training.options)
            self.restricted_gap_ = solution.gap
            self.landmarks_chosen_ = training.landmarks_chosen
            y = training.y[training.kept]
            self.duality_gap_, self.gap_kind_ = points.exact_gap(solution, y, self.certificate)
        else:
            centre = training.spread_out(solution.centre)
            self.centre_rows_ = np.flatnonzero(centre) if centre.any() else np.arange(1)
            self.centre_coef_ = centre[self.centre_rows_]
            self.diag_fit_ = training.diagonal()
            if training.X is not None:
                self.X_fit_ = training.X
        if self.kernel == "linear":
            self.centre_ = self.centre_coef_ @ self.X_fit_[self.centre_rows_]
        if isinstance(points, Rows):
            self.norm_sq_ = points.norm_sq(solution.centre)
        elif isinstance(points, LandmarkPoints):
            K = kernel_matrix(self.X_fit_, **training.options)
            self.norm_sq_ = float(self.centre_coef_ @ K @ self.centre_coef_)
        else:
            K = training.kernel_of(self.centre_rows_)
            self.norm_sq_ = float(self.centre_coef_ @ K @ self.centre_coef_)
        d, slack = self._kept_distances, self._kept_slack
        del self._kept_distances, self._kept_slack
        if not everywhere or not np.isfinite(d).all():
            d = -(
                self._score_kernel(training.K, self.diag_fit_)
                if self.kernel == "precomputed"
                else self.score_samples(training.X)
            )
            d = np.asarray(d)
        self.distance_fit_ = d
        self.slack_ = np.maximum(training.y * (d - self.radius_sq_), 0.0)
        if np.isfinite(self.radius_sq_):
            self.slack_[training.kept] = slack
        else:
            self.slack_ = np.where(self.slack_ > 0.0, np.inf, 0.0)

    def _share(self) -> float | None:
        """The share outside, or None where C is given."""
        if self.nu is None and self.C is None:
            return DEFAULT_SHARE
        return self.nu

    # -- scores: from the centre itself for a linear kernel, from kernel values otherwise ------

    def _score_points(self, X):
        if self.kernel == "linear":
            return self._score_linear(X)
        centre, options = self.X_fit_[self.centre_rows_], self._kernel_options()
        scores = np.empty(len(X))
        for some in batches(len(X), len(centre)):
            if self.kernel == "rbf":
                scores[some] = self._score_distances(cdist(X[some], centre, "sqeuclidean"))
            else:
                Kz = kernel_matrix(X[some], centre, **options)
                scores[some] = self._score_centre(Kz, kernel_diagonal(X[some], **options))
        return scores

    def _score_distances(self, squared):
        """Scores with a Gaussian kernel, from squared distances to the rows of the centre."""
        return -rbf_distances(squared, self.gamma_, self.centre_coef_, self.norm_sq_)

    def _score_kernel(self, Kz, diag):
        # take, not Kz[:, rows], whose memory is column by column
        return self._score_centre(np.take(Kz, self.centre_rows_, axis=1), diag)

    def _score_centre(self, Kz, diag):
        return -squared_distances(Kz, self.centre_coef_, diag, self.norm_sq_)

    def _score_linear(self, X):
        return -np.einsum("ij,ij->i", X - self.centre_, X - self.centre_)

    # -- the threshold -------------------------------------------------------------------------

    def _surface(self) -> str:
        """The surface that ``fit`` draws."""
        if self.contamination is not None:
            return "contamination"
        if self.surface != "auto":
            return self.surface
        return "leave-one-out" if self._share() is not None else "ball"

    def _threshold(self, training: Training) -> float:
        if self.surface_ == "ball":
            return -self.surface_sq_
        targets = self.y_fit_ > 0
        weight = self.weight_fit_
        if self.surface_ == "contamination":
            given = training.given  # a share of the samples, whatever weights were computed
            weights = None if given is None else given[targets]
            scores = -self.distance_fit_[targets]
            quantile = weighted_quantile(scores, self.contamination, weights)
            # The sample that is the quantile is accepted, however its distance is rounded anew; the
            # next one is not, and at p = 1, where many lie on the surface, it may be very near.
            below = float((quantile - scores[scores < quantile]).min(initial=math.inf))
            return quantile - min(ROUNDING * float(np.abs(self.diag_fit_).max()), 0.5 * below)
        K, beyond, d = None, np.zeros(len(self.alpha_)), self.distance_fit_
        alpha, points = self._shared_alpha(training), training.points
        rows = np.flatnonzero(alpha)
        if isinstance(points, LandmarkPoints):
            held = np.searchsorted(training.kept, rows)
            beyond[rows] = points.beyond(held)
            if len(rows) <= LARGEST:
                Z = points.part(held).Z
                K = Z @ Z.T
        elif len(rows) <= LARGEST:
            K = training.kernel_of(rows, getattr(self, "centre_", None))
        squared = surface_at(
            d, alpha, self._share() or DEFAULT_SHARE, p=self.p, y=self.y_fit_, weight=weight,
            slack=self.slack_, kernel_of_support=K, beyond=beyond,
        )  # fmt: skip
        # A row on the surface is accepted, and so is its equal, whose distance is rounded anew.
        size = d.max() if self.kernel == "linear" else np.abs(self.diag_fit_).max()
        return -float(squared + ROUNDING * size)

    def _shared_alpha(self, training: Training) -> np.ndarray:
        """Multipliers, of equal rows in proportion to their weights.

        At p = 1 any of several equal rows may carry what belongs to all of them.
        """
        if self.p > 1.0:
            return self.alpha_
        d, alpha = self.distance_fit_, self.alpha_.copy()
        near = np.abs(d - self.radius_sq_) <= ON_SURFACE * d.max()
        rows = training.kept[near[training.kept]]
        if not len(rows):
            return alpha
        samples = np.column_stack([training.rows(rows), self.y_fit_[rows]])
        group = np.unique(samples, axis=0, return_inverse=True)[1].ravel()
        weight = np.ones(len(rows)) if self.weight_fit_ is None else self.weight_fit_[rows]
        each = np.bincount(group, alpha[rows]) / np.bincount(group, weight)
        alpha[rows] = each[group] * weight
        return alpha

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_exponent(self.p)
        check_tolerance(self.tol, self.max_iter)
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {SOLVERS}, got {self.solver!r}")
        if self.certificate not in CERTIFICATES:
            raise ValueError(f"certificate must be one of {CERTIFICATES}, got {self.certificate!r}")
        if self.landmarks is not None and self.solver not in ("auto", "landmarks"):
            raise ValueError(f"landmarks= is for solver='landmarks', not {self.solver!r}")
        given = self.landmarks
        if is_number(given) and (given != int(given) or given < 1):
            raise ValueError(
                f"landmarks must be a whole number >= 1 or rows of samples, got {given!r}"
            )
        if self.surface not in SURFACES:
            raise ValueError(f"surface must be one of {SURFACES}, got {self.surface!r}")
        for name in ("C", "C_neg"):
            value = getattr(self, name)
            if value is None:
                continue
            if not is_number(value) or not (np.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} must be a positive number, got {value!r}")
        if self.nu is not None:
            check_share(self.nu)
            if self.C is not None:
                raise ValueError(f"give C or nu, not both (C={self.C!r}, nu={self.nu!r})")
