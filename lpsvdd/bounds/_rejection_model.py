r"""The risk of rejection of a fitted ball, and the cost that keeps it below a wanted rate.

Which training points determine the ball follows from the optimality conditions, with
h_i = ||phi(x_i) - a||^2 - R^2:

    p > 1   alpha_i = C p max(h_i, 0)^(p-1), so those with h_i > 0: the points outside;
    p = 1   alpha_i = C outside, 0 inside, anything between on the surface: those with h_i >= 0.

A solver returns numbers, not signs. Points nearer to the surface than the duality gap can tell
count for the upper end and not for the lower one, unless their multiplier is beyond doubt. At
p = 1 the lower end needs a distribution without mass on spheres. Where the sample holds equal
points the lower end rests on the points strictly outside, which needs no such condition. With two
counts each end gets beta/2. The proofs are in the book, "What the error bound is worth".

Labelled outliers may be used in training. Then k and n count positive points, and the statement
holds for normal points, whatever the outliers are, as long as they were chosen without looking at
the positive points.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ._rejection import rejection_risk

if TYPE_CHECKING:
    from lpsvdd.estimators import LpSVDD

SURFACE = 1e-8  # of the largest distance: nearer to the surface, rounding decides the side
DUST = 1e-3  # of the largest multiplier: above it a multiplier is positive beyond doubt
COSTS = tuple(float(c) for c in np.logspace(3, -3, 13))


class AssumptionWarning(UserWarning):
    """A statement was computed for a model that does not meet one of its conditions."""


class Determining(NamedTuple):
    """How many of the n positive points determine the ball: at least ``low``, at most ``high``."""

    low: int
    high: int
    n: int

    def risk(self, beta: float = 0.05, *, sides: str = "both") -> tuple[float, float]:
        """The interval of `rejection_risk`; with two counts each end gets half of beta."""
        if self.low == self.high:
            return rejection_risk(self.low, self.n, beta, sides=sides)
        if sides != "both":
            count = self.low if sides == "lower" else self.high
            return rejection_risk(count, self.n, beta, sides=sides)
        low, _ = rejection_risk(self.low, self.n, beta / 2, sides="lower")
        _, high = rejection_risk(self.high, self.n, beta / 2, sides="upper")
        return low, high


def rejection_risk_of(
    model: LpSVDD, beta: float = 0.05, *, counted: ArrayLike | None = None, sides: str = "both"
) -> tuple[float, float]:
    """Interval for the probability that a fitted model rejects a new normal point.

    Parameters
    ----------
    model : fitted LpSVDD whose threshold is the ball's surface.
    beta, sides : as in `rejection_risk`.
    counted : boolean mask over the training points, optional. Points left out took part in a
        choice made before the fit (kernel width, scaling, landmarks); they may stay in training,
        but neither k nor n counts them.

    Returns
    -------
    (low, high). An AssumptionWarning names what the model is seen not to meet.
    """
    points = determining_points(model, counted=counted)
    for text in unmet_conditions(model):
        warnings.warn(text, AssumptionWarning, stacklevel=3)
    return points.risk(beta, sides=sides)


def determining_points(model: LpSVDD, *, counted: ArrayLike | None = None) -> Determining:
    """Count the positive training points that determine the ball of a fitted model."""
    check_is_fitted(model)
    if model.surface_ != "leave-one-out" and model.offset_ != -model.surface_sq_:
        raise ValueError(
            "the risk of rejection is known for the ball's surface only, and contamination= or "
            "rethreshold() moved the threshold; leave it at surface='ball'"
        )
    kept = model.y_fit_ > 0
    if model.weight_fit_ is not None:
        kept &= model.weight_fit_ > 0.0
    if counted is not None:
        counted = np.asarray(counted)
        if counted.dtype != bool or counted.shape != kept.shape:
            raise ValueError(f"counted must be {len(kept)} booleans, one per training point")
        kept &= counted
    if not kept.any():
        raise ValueError("no positive training point is left to count")
    everywhere = _excess(model)
    reach = max(float(everywhere.max()) + model.radius_sq_, abs(model.radius_sq_))
    near = (SURFACE + 6.0 * math.sqrt(max(_own_gap(model), 0.0))) * reach
    alpha, h = model.alpha_[kept], everywhere[kept]
    sure = (h > near) | (alpha > DUST * model.alpha_.max())
    low, high = int(sure.sum()), int((sure | (h >= -near)).sum())
    if model.p == 1.0:
        if not np.any(np.abs(everywhere) <= near):
            # 1/C is an integer and every R^2 of an interval is optimal. The largest of them has
            # the nearest points outside on its surface, the smallest the next points inside.
            next_inside = h[~sure].max(initial=-np.inf)
            high += max(min(1, len(h) - high), int((~sure & (h > next_inside - near)).sum()))
        if _has_equal_rows(model, kept):
            low = int((h > max(near, h[sure].min(initial=np.inf) + near)).sum())
    if model.surface_sq_ > model.radius_sq_:  # beyond R^2 (nu=): fewer are rejected, maybe none
        low = 0
    return Determining(low, high, len(h))


def unmet_conditions(model: LpSVDD) -> list[str]:
    """Conditions of the theorem that a fitted model is seen not to meet, one sentence each."""
    found = learnt_kernel(model)
    if model.surface_ == "leave-one-out":
        found.append(
            "the interval is that of the ball's own surface, and predict uses the leave-one-out "
            "surface, which rejects about a share nu; surface='ball' makes them the same"
        )
    if getattr(model, "landmarks_chosen_", False):
        found.append(
            "the landmarks were chosen from the sample; the theorem asks for landmarks fixed "
            "before: pass rows of other samples as landmarks="
        )
    if model.nu_ is not None and model.p > 1.0:
        found.append(
            "C was found from the sample (the share nu, p > 1); the theorem asks for a C fixed "
            "before, or chosen by cost_for_rate"
        )
    if model.weight_fit_ is not None:
        found.append(
            "sample weights were used; the theorem holds for weights drawn together with the "
            "points, not for weights computed from the whole sample"
        )
    return found


def learnt_kernel(model: LpSVDD) -> list[str]:
    """The sentence about a kernel width learnt from the sample, if it was."""
    rule = model.gamma if model.kernel in ("rbf", "poly") else None
    if not isinstance(rule, str) or rule == "auto":
        return []
    return [
        f"gamma={rule!r} was computed from the sample; the theorem asks for a kernel fixed before: "
        "pass a number, or learn it on other samples"
    ]


def _own_gap(model: LpSVDD) -> float:
    """The gap of the problem that was solved: with landmarks, the restricted one."""
    return model.restricted_gap_ if model.solver_ == "landmarks" else model.duality_gap_


def _excess(model: LpSVDD) -> np.ndarray:
    """h_i of the training points; with a precomputed kernel -inf for all that is inside."""
    if model.solver_ == "landmarks":
        return model.distance_fit_ - model.radius_sq_
    if model.kernel != "precomputed":
        return -model.score_samples(model.X_fit_) - model.radius_sq_
    inside = np.where(model.alpha_ > DUST * model.alpha_.max(), 0.0, -np.inf)
    return np.where(model.slack_ > 0.0, model.slack_, inside)


def _has_equal_rows(model: LpSVDD, kept: np.ndarray) -> bool:
    """Whether the sample shows that the distribution has atoms."""
    if model.kernel == "precomputed":
        return False
    if model.solver_ == "landmarks":  # the rows are gone; equal ones have equal distances
        distances = model.distance_fit_[kept]
        return len(np.unique(distances)) < len(distances)
    rows = model.X_fit_[kept]
    return len(np.unique(rows, axis=0)) < len(rows)


class RateChoice(NamedTuple):
    """A fitted model whose risk of rejection is at most the wanted rate, with its upper end."""

    model: LpSVDD
    cost: float
    high: float
    points: Determining


def cost_for_rate(
    model: LpSVDD,
    X: ArrayLike,
    rate: float,
    *,
    beta: float = 0.05,
    costs: Sequence[float] = COSTS,
    y: ArrayLike | None = None,
) -> RateChoice:
    """The tightest ball that rejects normal points with probability at most ``rate``, guaranteed.

    Costs are tried from the largest down until the upper end of the risk of rejection first
    exceeds the rate; the last cost before that is taken. The upper end is one-sided and holds for
    all M costs at once, each with beta / M. So with probability at least 1 - beta the ball taken
    rejects at most the rate, however it was chosen among them.

    Parameters
    ----------
    model : LpSVDD with its other parameters set (p, a kernel fixed beforehand); not fitted here.
    X, y : training points and labels, as in ``fit``.
    rate : wanted largest probability of rejection, in (0, 1).
    beta : probability with which the guarantee may fail.
    costs : values of C to try, fixed beforehand; fewer values cost less confidence. The default
        suits kernels with k(x, x) = 1. For p = 1 the values 1 / (nu n) make it a search over nu.

    Returns
    -------
    RateChoice: the fitted model, its C, its upper end and the number of determining points.
    """
    if not 0.0 < rate < 1.0:
        raise ValueError(f"rate must lie in the open interval (0, 1), got {rate!r}")
    costs = sorted({float(cost) for cost in costs}, reverse=True)
    chosen = None
    for cost in costs:
        fitted = clone(model).set_params(C=cost, nu=None, surface="ball")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="radius_sq_")  # such a ball is refused below
            fitted.fit(X, y)
        points = determining_points(fitted)
        high = points.risk(beta / len(costs), sides="upper")[1]
        if high > rate:
            break
        chosen = RateChoice(fitted, cost, high, points)
    if chosen is None:
        raise ValueError(
            f"no cost guarantees a rejection rate of {rate:g}: at the largest, C = {costs[0]:g}, "
            f"{points.high} of {points.n} points determine the ball and the upper end is "
            f"{high:.3f}; use more samples or a larger rate"
        )
    for text in unmet_conditions(chosen.model):
        warnings.warn(text, AssumptionWarning, stacklevel=2)
    return chosen
