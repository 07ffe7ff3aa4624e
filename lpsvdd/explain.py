r"""Why a row has its score: the share of each column in the distance to the centre.

The score is minus a squared distance in the feature space of the kernel,

.. math:: s(x) = -\|\phi(x) - a\|^2
   = -k(x, x) + 2 \sum_i c_i k(x, v_i) - \sum_{ij} c_i c_j k(v_i, v_j),

with the centre :math:`a = \sum_i c_i \phi(v_i)`. Give every column a weight,
:math:`k_w(x, z) = k(\sqrt w \circ x, \sqrt w \circ z)`. With all weights 0 no point differs from
another and the distance is 0; with all weights 1 it is that of the model. The contribution of a
column is what its weight does to the score while all weights grow together,

.. math:: \psi_j(x) = \int_0^1 \frac{\partial s_w(x)}{\partial w_j}\Big|_{w = t(1, \dots, 1)} dt,
   \qquad \sum_j \psi_j(x) = s(x) - s_0 .

(This is the Aumann-Shapley value of the columns.) For the kernels with a name the integral has a
closed form: with :math:`D = \|x - z\|^2` and :math:`u = \langle x, z \rangle`, a kernel value gives
column j

===========  =====================================================================================
rbf          :math:`(x_j - z_j)^2 \, (e^{-\gamma D} - 1) / D`
linear       :math:`x_j z_j`, so that :math:`\psi_j(x) = -(x_j - a_j)^2`
poly         :math:`x_j z_j \, ((\gamma u + c_0)^q - c_0^q) / u`, q the degree
===========  =====================================================================================

So explaining costs as much as scoring, nothing is sampled, and no reference row has to be chosen.
The base :math:`s_0 = -k(0, 0) (1 - \sum_i c_i)^2` is 0 whenever the coefficients sum to one,
as those of the exact solvers do: then **the contributions sum to the score**. They are mostly
negative; the most negative columns are those in which the row is far from the centre.

In a pipeline contributions belong to the columns that enter it: one-hot indicators are added up,
scaling changes nothing. After scaling rows to unit norm a contribution is that of a
coordinate of the scaled row. After a step that mixes columns, such as PCA, it belongs to the
columns that come out of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_is_fitted

from lpsvdd._columns import column_sources, detector_inside, named_values, transformed
from lpsvdd.kernels import kernel_diagonal, kernel_matrix
from lpsvdd.solver.memory import row_batches

if TYPE_CHECKING:
    from lpsvdd.estimators import LpSVDD


@dataclass(frozen=True)
class Explanation:
    """Hold the contributions of the columns to the scores of some rows.

    ``contributions.sum(axis=1) + base`` is ``scores``, up to rounding.

    Attributes
    ----------
    contributions : ndarray of shape (n_rows, n_columns)
        Negative where the column takes the row away from the centre.
    base : float
        Score when no column counts: 0 for the exact solvers.
    scores : ndarray of shape (n_rows,)
    columns : tuple of str
    values : ndarray of shape (n_rows, n_columns), dtype object
        The rows as they were given, for captions.
    typical : ndarray of shape (3, n_columns)
        10, 50 and 90 % quantiles of the contributions over training targets.
    """

    contributions: np.ndarray
    base: float
    scores: np.ndarray
    columns: tuple[str, ...]
    values: np.ndarray = field(repr=False)
    typical: np.ndarray = field(repr=False)

    def reasons(self, row: int, n: int = 3) -> list[tuple[str, Any, float]]:
        """Return name, value and contribution of the n columns that lower a row's score most."""
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n!r}")
        order = np.argsort(self.contributions[row], kind="stable")[:n]
        return [
            (self.columns[j], self.values[row, j], float(self.contributions[row, j])) for j in order
        ]


class Neighbours(NamedTuple):
    """Hold the support vectors nearest to some rows, nearest first; one line for each row."""

    index: np.ndarray  # type: ignore[assignment]  # nobody asks for the place of an array in it
    """Which training rows they are."""
    distance: np.ndarray
    """Distance in the feature space of the kernel."""
    weight: np.ndarray
    """Their dual coefficients: negative for labelled outliers."""


def explain(model: Any, X: Any) -> Explanation:
    """Return the contributions of the columns to the scores of the rows of X.

    Parameters
    ----------
    model : fitted LpSVDD, or a pipeline (or another model that holds one) that ends in it
        With kernel "rbf", "linear", or "poly" of whole degree.
    X : rows as ``model.score_samples`` takes them.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> from lpsvdd import LpSVDD
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> found = LpSVDD(C=0.1).fit(X).explain([[0.0, 4.0, 0.1]])
    >>> found.reasons(0, n=1)[0][0]
    'x1'
    """
    steps, svdd = detector_inside(model)
    check_is_fitted(svdd)
    columns, source = column_sources(steps, X, svdd.n_features_in_)
    rows = transformed(steps, X)  # a data frame stays one for the model, which knows its columns
    Z = np.asarray(rows, dtype=float)
    psi = _Contributions(svdd, source, len(columns))
    found, base = psi(Z), psi.base
    targets = _training_targets(svdd)
    thinned = targets[:: -(-len(targets) // 500)]  # enough for three quantiles
    typical = np.quantile(psi(thinned), [0.1, 0.5, 0.9], axis=0)
    values = named_values(X, columns, Z)
    return Explanation(found, base, svdd.score_samples(rows), columns, values, typical)


def nearest_support_vectors(model: Any, X: Any, n: int = 5) -> Neighbours:
    """Find the support vectors nearest to each row: training rows to compare it with.

    Parameters
    ----------
    model : as in :func:`explain`, with any kernel but "precomputed"
    X : rows as ``model.score_samples`` takes them
    n : how many; fewer if the model has fewer
    """
    steps, svdd = detector_inside(model)
    check_is_fitted(svdd)
    if svdd.kernel == "precomputed":
        raise ValueError(
            "nearest_support_vectors needs rows, and with kernel='precomputed' there are none: fit "
            "with another kernel"
        )
    if getattr(svdd, "solver_", None) == "landmarks":
        raise ValueError(
            "nearest_support_vectors needs the support vectors, and a model on landmarks does not "
            "keep them: fit with solver='working-set'"
        )
    Z = np.asarray(transformed(steps, X), dtype=float)
    support, options = svdd.X_fit_[svdd.support_], svdd._kernel_options()
    own = kernel_diagonal(support, **options)
    n = min(n, len(support))
    index = np.empty((len(Z), n), dtype=int)
    distance = np.empty((len(Z), n))
    for some in row_batches(len(Z), len(support)):
        K = kernel_matrix(Z[some], support, **options)
        squared = kernel_diagonal(Z[some], **options)[:, None] - 2.0 * K + own
        # Ties (far away all are at distance sqrt 2) are broken by the plain distance.
        order = np.lexsort((cdist(Z[some], support), squared), axis=1)[:, :n]
        index[some] = order
        distance[some] = np.sqrt(np.maximum(np.take_along_axis(squared, order, axis=1), 0.0))
    return Neighbours(svdd.support_[index], distance, svdd.dual_coef_[index])


def _training_targets(svdd: LpSVDD) -> np.ndarray:
    if getattr(svdd, "solver_", None) == "landmarks":
        return svdd.X_fit_  # the landmarks stand for the targets they were chosen from
    return svdd.X_fit_[svdd.y_fit_ > 0]


class _Contributions:
    """Compute psi(Z) for rows as the detector sees them, summed over the columns they stem from."""

    def __init__(self, svdd: LpSVDD, source: np.ndarray, n_columns: int):
        if svdd.kernel not in ("rbf", "linear", "poly"):
            raise ValueError(
                "explanations need to know how the kernel uses each column: "
                f"kernel must be rbf, linear or poly, not {svdd.kernel!r}"
            )
        if svdd.kernel == "poly" and svdd.degree != int(svdd.degree):
            raise ValueError(f"explanations of poly need a whole degree, got {svdd.degree!r}")
        self.svdd = svdd
        self._sums = np.eye(n_columns)[source]  # (features, columns)
        self.base, self._constant = 0.0, 0.0
        if svdd.kernel == "linear":
            return
        self._rows, self._coef = svdd.X_fit_[svdd.centre_rows_], svdd.centre_coef_
        origin = 1.0 if svdd.kernel == "rbf" else svdd.coef0**svdd.degree
        self.base = float(-origin * (1.0 - self._coef.sum()) ** 2)
        self._constant = self._coef @ self._products(self._rows)

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        if self.svdd.kernel == "linear":
            return -((Z - self.svdd.centre_) ** 2) @ self._sums
        found = 2.0 * self._products(Z) - self._constant
        if self.svdd.kernel == "poly":
            found -= Z**2 * self._ratio(np.einsum("ij,ij->i", Z, Z))[:, None]
        return found @ self._sums

    def _products(self, Z: np.ndarray) -> np.ndarray:
        """Return the contributions to sum_i c_i k(z, v_i), for every row z."""
        found = np.empty_like(Z)
        # Differences to the centre of the rows: the expanded squares below then do not cancel.
        middle = self._rows.mean(axis=0) if self.svdd.kernel == "rbf" else 0.0
        rows = self._rows - middle
        for some in row_batches(len(Z), len(rows)):
            z = Z[some] - middle
            if self.svdd.kernel == "rbf":
                w = self._coef * self._slope(cdist(z, rows, "sqeuclidean"))
                found[some] = z**2 * w.sum(axis=1)[:, None] - 2.0 * z * (w @ rows) + w @ rows**2
            else:
                found[some] = z * ((self._coef * self._ratio(z @ rows.T)) @ rows)
        return found

    def _slope(self, D: np.ndarray) -> np.ndarray:
        """Return (exp(-gamma D) - 1) / D, which is -gamma at D = 0."""
        at_zero = D == 0.0
        slope = np.expm1(-self.svdd.gamma_ * D) / np.where(at_zero, 1.0, D)
        return np.where(at_zero, -self.svdd.gamma_, slope)

    def _ratio(self, u: np.ndarray) -> np.ndarray:
        """Return ((gamma u + c)^q - c^q) / u as a sum of powers, which has no pole at u = 0."""
        gamma, c, q = self.svdd.gamma_, self.svdd.coef0, int(self.svdd.degree)
        base = gamma * u + c
        return gamma * sum(base**k * c ** (q - 1 - k) for k in range(q))
