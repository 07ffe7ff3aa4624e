r"""lp-SVDD that computes its own sample weights: P-, DW- and GL-SVDD at p = 1, and beyond.

The three variants are ``LpSVDD(p=1)`` with ``sample_weight`` from `lpsvdd.weights`. An estimator
that is cloned, searched over or put in a pipeline has to compute the weights in ``fit``; this is
all that is added here.
"""

from __future__ import annotations

from lpsvdd.estimators import LpSVDD
from lpsvdd.kernels import kernel_matrix
from lpsvdd.weights import sample_weights


class WeightedLpSVDD(LpSVDD):
    r"""lp-SVDD with slack costs C · w_i, the weights w_i a function of the training data.

    score(z) = -||phi(z) - a||^2, with a the centre of

        min R^2 + C sum_{y_i=+1} w_i zeta_i^p + C_neg sum_{y_i=-1} w_i zeta_i^p
        s.t. y_i (||phi(x_i) - a||^2 - R^2) <= zeta_i,  zeta_i >= 0.

    With p = 1 this is P-SVDD (weighting "position", a **reconstruction**), DW-SVDD ("density", as
    published) or GL-SVDD ("global-local", a **reconstruction**); `lpsvdd.weights` gives the
    formulas, the variants and the evidence for each. Other p combine weights with an lp norm, the
    extension proposed in the discussion of the paper.

    Parameters
    ----------
    weighting : {"position", "density", "global-local"}
    weighting_params : dict, optional
        Keyword arguments of the weight function: ``variant`` for "position", ``k`` for "density",
        ``k`` and ``lam`` for "global-local".
    p, C, C_neg, nu
        As in `LpSVDD`, but p = 1 unless given; the share nu counts samples with their weights.
    kernel, gamma, degree, coef0, surface, contamination, tol, max_iter
        As in `LpSVDD`. With a precomputed kernel, "density" uses feature-space distances.

    Attributes
    ----------
    weights_ : ndarray of shape (n_samples,)
        The weights w_i; all others as in `LpSVDD`.

    Examples
    --------
    >>> import numpy as np
    >>> from lpsvdd.weighted import WeightedLpSVDD
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = WeightedLpSVDD(weighting="density", weighting_params={"k": 3}).fit(X)
    >>> bool(model.weights_.min() == 0.0)
    True
    """

    def __init__(
        self,
        p=1.0,
        C=None,
        C_neg=None,
        *,
        nu=None,
        weighting="density",
        weighting_params=None,
        kernel="rbf",
        gamma="quarter-mean-distance",
        degree=3,
        coef0=1.0,
        surface="auto",
        contamination=None,
        tol=1e-9,
        max_iter=1000,
    ):
        super().__init__(
            p, C, C_neg, nu=nu, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0,
            surface=surface, contamination=contamination, tol=tol, max_iter=max_iter,
            solver="dense",
        )  # fmt: skip
        self.weighting = weighting
        self.weighting_params = weighting_params

    def fit(self, X, y=None):
        """Compute the weights and fit the ball; X and y as in `LpSVDD`."""
        return self._replace_by(lambda model: model._fit(X, y, None))

    def _weights(self, training):
        K = training.K
        if K is None:
            K = kernel_matrix(training.X, **training.options)
        params = self.weighting_params or {}
        self.weights_ = sample_weights(self.weighting, K, training.y, training.X, **params)
        return self.weights_
