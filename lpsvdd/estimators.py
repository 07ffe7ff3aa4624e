r"""LpSVDD, the scikit-learn estimator."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils import gen_batches

from lpsvdd._base import KernelOneClass
from lpsvdd._landmark_fit import (
    around_the_surface,
    check_landmark_parameters,
    fit_landmarks,
    takes_landmarks,
)
from lpsvdd._validation import check_exponent, check_tolerance, is_number
from lpsvdd.bounds import rejection_risk_of
from lpsvdd.explain import explain
from lpsvdd.kernels import kernel_diagonal, kernel_matrix, rbf_distances, squared_distances
from lpsvdd.solver import Gram, Solution, solve
from lpsvdd.solver._choice import choose
from lpsvdd.solver._rows import Rows
from lpsvdd.solver._share import check_share, costs_of, solve_share, solve_share_large
from lpsvdd.solver._working_set import solve_working_set

BLOCK = 4_000_000  # kernel values held at once while scoring
DEFAULT_SHARE = 0.1  # nu, where neither C nor nu is given
LARGE = {"working-set": solve_working_set}
"""Solvers that take ``Rows`` in place of a matrix, with the signature of ``solve_working_set``."""


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
    contamination : float in (0, 0.5], optional
        None: the threshold is the ball's surface. A number: the threshold is that quantile of the
        scores of the positive training samples.
    tol : float, default=1e-9
        Relative duality gap to reach.
    max_iter : int, default=200
        Most interior-point iterations.
    solver : {"auto", "dense", "working-set", "landmarks"}, default="auto"
        "dense" works on the n x n kernel matrix. "working-set" never builds it: it solves on the
        samples that matter and certifies the result on all; the answer is the same. "landmarks"
        restricts the centre to the span of some samples: time and memory grow with n alone, X may
        be a dask array, and the ball is a ball of the exact problem, whose optimum it bounds from
        above. "auto" is "dense" up to 2,000 samples, "working-set" up to 50,000 (150,000 at p = 1)
        if the memory is there, then "landmarks"; also for dask arrays or if ``landmarks`` is given.
    landmarks : int or array of shape (m, n_features), optional
        For solver="landmarks": how many, or which; 300 by default, chosen by
        :func:`lpsvdd.solver.choose_landmarks`. A linear kernel needs none.
    certificate : {"auto", "exact", "sampled", "none"}, default="auto"
        For solver="landmarks": how ``duality_gap_`` is found. "exact" takes half as many kernel
        values as pairs of support vectors, "sampled" estimates it from some of them. "auto" is
        "exact" up to 14,000 support vectors; ``gap_kind_`` says which it was.
    verbose : int, default=0
        1 prints a line for each round of a large solver: size of the set and gap.
    n_jobs : int, optional
        Threads that compute kernel values in the large solvers; -1 is one for each processor.

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
    surface_sq_ : float
        Squared radius of the surface: radius_sq_, except where no C leaves just a share nu outside
        because more samples touch the ball. Then it lies a thousandth of their spread further out.
    offset_ : float
        decision_function = score_samples - offset_; with contamination=None it is -surface_sq_.
    duality_gap_ : float
        (P - D)/(1 + |P|) of the scaled problem, always that of the exact kernel. With landmarks it
        bounds what the restriction costs too; NaN if it was not asked for.
    restricted_gap_, gap_kind_ : float, str; for solver="landmarks" only
        The gap of the restricted problem, which is brought below ``tol``; and whether
        ``duality_gap_`` is "exact", "sampled" (an estimate, two standard errors added: no bound) or
        "not computed".
    distance_fit_ : ndarray of shape (n_samples,), for solver="landmarks" and precomputed kernels
        Squared distances of the training samples, which are not kept: with landmarks ``X_fit_``
        holds those, all of ``centre_rows_``.
    n_iter_ : int
        Interior-point iterations (1 is reported where none was needed).
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
        contamination=None,
        tol=1e-9,
        max_iter=200,
        solver="auto",
        landmarks=None,
        certificate="auto",
        verbose=0,
        n_jobs=None,
    ):
        self.p = p
        self.C = C
        self.C_neg = C_neg
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.contamination = contamination
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.landmarks = landmarks
        self.certificate = certificate
        self.verbose = verbose
        self.n_jobs = n_jobs

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
        if takes_landmarks(self, X):
            fit_landmarks(self, X, y, sample_weight)
            self._warn_of_empty_ball(stacklevel=3)
            return self
        return self._fit(X, y, sample_weight)

    def rejection_risk(self, beta=0.05):
        """Interval for the probability that the ball rejects a new normal point.

        With probability at least 1 - beta over the training points, drawn independently from any
        distribution, low <= P(a new one of them lies outside radius_sq_) <= high. It follows from
        the number of points that determine the ball, and says nothing about outliers that are
        accepted. Kernel, C and all that went before (scaling) must be fixed without these points;
        an AssumptionWarning names what is seen to fail, in a default model the width and C. After
        choosing among M settings pass beta / M. At p = 1 the lower end counts only the points
        strictly outside; ``lpsvdd.bounds.rejection_risk_of(model, density=True)`` counts those on
        the surface too, where no mass can lie on it.

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

    # -- fit: a kernel matrix for the dense solver, rows on demand for the large ones ------------

    def _training_kernel(self, X):
        given = self.kernel == "precomputed"
        self.solver_ = choose(self.solver, len(X), n_features=X.shape[1], given_matrix=given)
        if self.solver_ == "dense":
            return super()._training_kernel(X)
        return Rows(X, **self._kernel_options(), n_jobs=self.n_jobs)

    def _fit_kernel(self, K, y, sample_weight) -> None:
        self.weight_fit_ = sample_weight
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        kept = np.flatnonzero(weight > 0.0)
        part: np.ndarray | Gram | Rows
        if isinstance(K, Rows):
            part = K if len(kept) == len(y) else K.subset(kept)
        elif self.kernel == "linear":
            part = Gram.of_features(self.X_fit_[kept])
        else:
            part = K if len(kept) == len(y) else K[np.ix_(kept, kept)]
        solution = self._solve(part, y[kept], weight[kept])
        centre = np.zeros(len(y))
        self.alpha_ = np.zeros(len(y))
        self.alpha_[kept], centre[kept] = solution.alpha, solution.centre
        self.support_ = np.flatnonzero(self.alpha_)
        self.dual_coef_ = (y * self.alpha_)[self.support_]
        self.centre_rows_ = rows = np.flatnonzero(centre) if centre.any() else np.arange(1)
        self.centre_coef_ = centre[rows]
        if self.kernel == "linear":
            self.centre_ = self.centre_coef_ @ self.X_fit_[rows]
        if isinstance(K, Rows):  # sum_i g_i d_i = sum_i g_i k_ii - ||a||^2, as sum_i g_i = 1
            of_kept = solution.centre @ solution.distances
            self.norm_sq_ = float(self.centre_coef_ @ self.diag_fit_[rows] - of_kept)
        else:
            self.norm_sq_ = float(self.centre_coef_ @ K[np.ix_(rows, rows)] @ self.centre_coef_)
        self.radius_sq_ = solution.radius_sq
        if self.p == 1.0 and self.radius_sq_ > 0.0:
            d = solution.distances
            if d is None or len(kept) < len(y):
                d = -self._training_scores(K)
            self.radius_sq_ = self.surface_sq_ = around_the_surface(self.radius_sq_, d, y)
        if len(kept) < len(y):  # a removed sample has no cost, but its slack is still a fact
            self.slack_ = np.maximum(y * (-self._training_scores(K) - self.radius_sq_), 0.0)
            self.slack_[kept] = solution.slack
        else:
            self.slack_ = solution.slack
        if self.kernel == "precomputed":  # what rejection_risk counts; other kernels have the rows
            self.distance_fit_ = -self._training_scores(K)
        self.duality_gap_ = solution.gap
        self.n_iter_ = max(1, solution.n_iter)
        self._warn_of_empty_ball(stacklevel=5)

    def _warn_of_empty_ball(self, stacklevel: int) -> None:
        if self.surface_sq_ <= 0.0 and self.contamination is None:
            warnings.warn(
                f"radius_sq_ = {self.radius_sq_:.4g} <= 0: no point lies inside the ball, so "
                "predict gives -1 everywhere (scores still rank). Raise C (or lower nu), or set "
                "the threshold by contamination= or rethreshold().",
                UserWarning,
                stacklevel=stacklevel,
            )

    def _solve(self, K, y, weight) -> Solution:
        """The solution on samples of positive weight; K is their kernel matrix, Gram or Rows."""
        # Two more iterations than the gap asks for: scores then agree to about nine digits
        # between equivalent inputs (copies and weights, permutations, scalings).
        is_large = isinstance(K, Rows)
        limits = {"tol": self.tol, "max_iter": self.max_iter}
        limits |= {"verbose": self.verbose} if is_large else {"polish": 2}
        self.nu_ = self._share()
        if self.nu_ is None:
            self.C_ = float(self.C)
            costs = costs_of(self.C_, self.C_neg, y, weight)
            solution = (
                LARGE[self.solver_](K, y, p=self.p, c=costs, **limits)
                if is_large
                else solve(K, y, p=self.p, c=costs, **limits)
            )
            self.surface_sq_ = solution.radius_sq
            return solution
        asked = {"p": self.p, "nu": self.nu_, "c_neg": self.C_neg, "sample_weight": weight}
        if is_large:
            found = solve_share_large(LARGE[self.solver_], K, y, **asked, **limits)
        else:
            found = solve_share(K, y, **asked, **limits)
        self.C_, self.surface_sq_ = found.cost, found.threshold
        return found.solution

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
        for some in gen_batches(len(X), max(1, BLOCK // len(centre))):
            if self.kernel == "rbf":
                scores[some] = self._score_distances(cdist(X[some], centre, "sqeuclidean"))
            else:
                Kz = kernel_matrix(X[some], centre, **options)
                scores[some] = self._score_centre(Kz, kernel_diagonal(X[some], **options))
        return scores

    def _score_distances(self, squared):
        """Scores with a Gaussian kernel, from squared distances to the rows of the centre."""
        return -rbf_distances(squared, self.gamma_, self.centre_coef_, self.norm_sq_)

    def _training_scores(self, K):
        if self.kernel == "linear":
            return self._score_linear(self.X_fit_)
        if isinstance(K, Rows) and self.kernel != "precomputed":
            return self._score_points(self.X_fit_)
        if isinstance(K, Rows):
            K = K.X
        return self._score_kernel(K, self.diag_fit_)

    def _score_kernel(self, Kz, diag):
        # take, not Kz[:, rows], whose memory is column by column
        return self._score_centre(np.take(Kz, self.centre_rows_, axis=1), diag)

    def _score_centre(self, Kz, diag):
        return -squared_distances(Kz, self.centre_coef_, diag, self.norm_sq_)

    def _score_linear(self, X):
        return -np.einsum("ij,ij->i", X - self.centre_, X - self.centre_)

    def _natural_offset(self, K) -> float:
        return -self.surface_sq_

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_exponent(self.p)
        check_tolerance(self.tol, self.max_iter)
        solvers = ("auto", "dense", *LARGE, "landmarks")
        if self.solver not in solvers:
            raise ValueError(f"solver must be one of {solvers}, got {self.solver!r}")
        check_landmark_parameters(self)
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
