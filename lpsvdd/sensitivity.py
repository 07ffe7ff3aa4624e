r"""When does the exponent matter? A rank correlation on held-out rows that needs no labels.

Two exponents are compared where they leave the same share of rows outside: of five folds, each
exponent's ball is fitted to four and scores the fifth by

.. math::

    s(z) = \sum_i \alpha_i k(x_i, z),

which ranks as the distance to its centre does. Where both rank the held-out rows alike they rank
new rows alike, and their AUCs agree. The thresholds come from design tables, by the rules of
``replication/studies/plans/exponent_sensitivity_share.md``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import KFold
from sklearn.utils import check_array, check_random_state

from lpsvdd._validation import check_exponent, check_range, in_memory
from lpsvdd.cost_rule import SLACK_SHARE, check_share, spread_of
from lpsvdd.kernels import kernel_matrix, resolve_gamma
from lpsvdd.solver import Gram, Solution, solve

SAME_FROM, DIFFERS_BELOW = 0.999, 0.95  # of the correlation; plans/exponent_sensitivity_share.md
JUDGED_EXPONENTS = (1.0, 2.0)  # the only pair with thresholds
FOLDS = 5
JUDGED_FROM = 100  # rows of the smallest table that the thresholds were judged on
MAX_ROWS = 1_000  # more are drawn at random: a ball of n rows takes n^3 operations
THIN_SHELL = 1e-3  # slack over spread at the largest cost that is tried
SURFACE_FILM, SURFACE_FILM_NEAR_P1 = 1e-9, 1e-5  # distance over spread that counts as none
BISECTIONS = 40


class ExponentSensitivity(NamedTuple):
    """Hold what `exponent_sensitivity` found.

    ``band`` is "same", "unclear" or "differs", and None where no threshold was judged.
    """

    correlation: float
    band: str | None


def exponent_sensitivity(
    X, ps=(1.0, 2.0), *, nu=0.1, gamma="quarter-mean-distance", random_state=0
) -> ExponentSensitivity:
    """Compare how two exponents rank held-out rows, at the same share of rows outside.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Normal rows, scaled as for `LpSVDD`. Of more than 1,000 rows, 1,000 are drawn at random.
    ps : pair of floats in [1, inf), default=(1, 2)
        Exponents to compare.
    nu : float in (0, 1], default=0.1
        Share of the rows outside either ball.
    gamma : float or str, default="quarter-mean-distance"
        Width of the Gaussian kernel, as in `LpSVDD`.
    random_state : int, RandomState or None, default=0
        For the folds.

    Returns
    -------
    ExponentSensitivity
        ``correlation``: Spearman's correlation of the two scores on held-out rows, a mean over five
        folds; NaN where the scores of one exponent are constant. ``band``: "same" from 0.999 on,
        "differs" below 0.95, else "unclear"; None for other exponents than 1 and 2 and for fewer
        than 100 rows.

    Notes
    -----
    Judged on 470 tables of 100 to 300 rows, one a cluster, that the thresholds had not seen: of
    those in the band "same" the AUCs of p = 1 and 2 are more than half a point apart on 0 of 310 at
    the default width (95 % interval 0 to 1.2 %) and on 0 of 365 at the width that `LpSVDDCV`
    chooses (0 to 1.0 %). In the band "differs" they are on 14 of 22 (41 to 83 %) and on 8 of 16 (25
    to 75 %). At the wide ``gamma="scale"`` the band "same" is not safe: 3 of 77 (0.8 to 11.0 %).

    The result is about the ranking and not the threshold, of balls with the same share outside. At
    the default cost of `LpSVDD` another exponent leaves another share outside: there p = 1 and 2
    differ by more than half a point on more than half of the design tables, whatever the
    correlation is.

    Examples
    --------
    >>> import numpy as np
    >>> import lpsvdd
    >>> X = np.random.default_rng(0).normal(size=(100, 8))
    >>> found = lpsvdd.exponent_sensitivity(X)
    >>> found.band, round(found.correlation, 2)
    ('same', 1.0)
    """
    X = check_array(in_memory(X), dtype=np.float64, ensure_min_samples=2 * FOLDS)
    check_range(X)
    first, second = _two_exponents(ps)
    nu, rng = check_share(nu), check_random_state(random_state)
    if len(X) > MAX_ROWS:
        X = X[rng.choice(len(X), MAX_ROWS, replace=False)]
    K = kernel_matrix(X, gamma=resolve_gamma(gamma, X))
    folds = KFold(FOLDS, shuffle=True, random_state=rng if random_state is None else random_state)
    found = []
    for fit, held in folds.split(X):
        points = Gram.check(K[np.ix_(fit, fit)])
        scores = (
            K[np.ix_(held, fit)] @ ball_with_share(points, p, nu).centre for p in (first, second)
        )
        found.append(rank_correlation(*scores))
    correlation = float(np.mean(found))
    judged = {first, second} == set(JUDGED_EXPONENTS) and len(X) >= JUDGED_FROM
    return ExponentSensitivity(correlation, _band(correlation) if judged else None)


def _two_exponents(ps) -> tuple[float, float]:
    given = tuple(ps) if np.ndim(ps) == 1 else ()
    if len(given) != 2:
        raise ValueError(f"ps must be two exponents to compare, such as (1, 2); got {ps!r}")
    return check_exponent(given[0]), check_exponent(given[1])


def _band(correlation: float) -> str:
    if correlation >= SAME_FROM:
        return "same"
    return "differs" if correlation < DIFFERS_BELOW else "unclear"


def rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Return Spearman's correlation: 1 where both are constant, NaN where one is.

    Examples
    --------
    >>> rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0, 100.0]))
    1.0
    """
    constant = [np.ptp(scores) == 0.0 for scores in (one, other)]
    if any(constant):
        return 1.0 if all(constant) else math.nan
    return float(np.corrcoef(rankdata(one), rankdata(other))[0, 1])


def ball_with_share(points: Gram, p: float, nu: float) -> Solution:
    """Return the ball that leaves a share nu of its rows outside, by bisection of log C.

    A larger C leaves fewer rows outside. Where even a nearly hard ball has more rows on its surface
    than the share, which is frequent with narrow kernels, that ball is returned.
    """
    n = len(points.diag)
    if p == 1.0:
        return solve(points, p=p, c=1.0 / (nu * n))
    wanted, spread = round(nu * n), spread_of(points.K, np.ones(n)) or points.spread
    film = points.spread * (SURFACE_FILM_NEAR_P1 if p < 1.2 else SURFACE_FILM)
    low, high = (
        -math.log(p * nu * n) - (p - 1.0) * math.log(size * spread)
        for size in (SLACK_SHARE, THIN_SHELL)
    )

    def solved(log_cost: float) -> tuple[Solution, int]:
        ball = solve(points, p=p, c=math.exp(log_cost))
        return ball, int((np.asarray(ball.distances) > ball.radius_sq + film).sum())

    ball, outside = solved(high)
    if outside >= wanted:
        return ball
    step = 1.0
    while solved(low)[1] < wanted:
        low, step = low - step, 2.0 * step
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        ball, outside = solved(middle)
        if outside == wanted:
            break
        low, high = (middle, high) if outside > wanted else (low, middle)
    return ball
