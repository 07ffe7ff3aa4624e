r"""The risk of rejection of a fitted ball, and the cost that keeps it below a wanted rate.

With h_i = ||phi(x_i) - a||^2 - R^2 the ball rejects where h > 0. Its multipliers are

    p > 1   alpha_i = C p max(h_i, 0)^(p-1): the points outside determine the ball, and their
            number bounds P[h > 0] from both sides, whatever the distribution;
    p = 1   alpha_i = C outside, 0 inside, anything between on the surface: the points with
            h_i >= 0 determine the ball, and their number bounds P[h >= 0] from both sides.

At p = 1 the surface itself may have mass (points on a circle, on a lattice, of length one), and
P[h > 0] is then smaller than P[h >= 0]. So the number with h_i >= 0 serves the upper end and the
number with h_i > 0 the lower one, each with beta/2; this holds for every distribution. One number
serves both ends where P[h = 0] = 0, which no sample can show: the caller says it by
``density=True``. A density of the rows is enough for the rbf, linear and poly kernels.

A solver returns numbers, not signs. Points nearer to the surface than rounding or the duality gap
can tell are treated for every p as points on the surface at p = 1. The proofs are in the book,
"Proofs: what can be guaranteed".

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

from lpsvdd._validation import is_scaled

from ._rejection import rejection_risk

if TYPE_CHECKING:
    from lpsvdd.estimators import LpSVDD


class AssumptionWarning(UserWarning):
    """Warn that a statement was computed for a model that does not meet one of its conditions."""


class Determining(NamedTuple):
    """Counts of the n positive points: ``low`` for the lower end, ``high`` for the upper one."""

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
    model: LpSVDD,
    beta: float = 0.05,
    *,
    counted: ArrayLike | None = None,
    density: bool = False,
    sides: str = "both",
) -> tuple[float, float]:
    """Return an interval for the probability that a fitted ball rejects a new normal point.

    Parameters
    ----------
    model : fitted LpSVDD whose threshold was not moved by ``contamination`` or ``rethreshold``.
    beta, sides : as in `rejection_risk`.
    counted : boolean mask over the training points, optional. Points left out took part in a
        choice made before the fit (kernel width, scaling, landmarks); they may stay in training,
        but neither k nor n counts them.
    density : True says that no mass lies exactly on the surface, P[h = 0] = 0, as for rows with a
        density and the rbf, linear or poly kernel. Then points on the surface count for the lower
        end too. It is wrong for rounded, repeated or indicator columns, and for a linear kernel on
        rows of length one; a sample that contradicts it is refused.

    Returns
    -------
    (low, high). An AssumptionWarning names the conditions that the model does not meet.
    """
    points = determining_points(model, counted=counted, density=density)
    for text in unmet_conditions(model, counted=counted):
        warnings.warn(text, AssumptionWarning, stacklevel=3)
    return points.risk(beta, sides=sides)


def determining_points(
    model: LpSVDD, *, counted: ArrayLike | None = None, density: bool = False
) -> Determining:
    """Count the positive training points that determine the ball; see `rejection_risk_of`."""
    check_is_fitted(model)
    if _surface(model) not in ("ball", "leave-one-out"):
        raise ValueError(
            "the risk of rejection is known for the ball's surface only, and contamination= or "
            "rethreshold() moved the threshold: leave it where fit puts it"
        )
    kept = _counted(model, counted)
    everywhere = _excess(model)
    reach = max(float(everywhere.max()) + model.radius_sq_, abs(model.radius_sq_))
    rounding = 1e-8  # of the largest distance: nearer to the surface, it decides the side
    near = (rounding + 6.0 * math.sqrt(max(_own_gap(model), 0.0))) * reach
    on_surface = np.abs(everywhere) <= near
    # Above a thousandth of the largest a multiplier is positive beyond doubt.
    h, needed = everywhere[kept], model.alpha_[kept] > 1e-3 * model.alpha_.max()
    outside = h > near
    if model.p > 1.0:  # a multiplier proves a slack, and tells its size better than the distance
        # A smaller slack is lost when a score is computed.
        outside |= needed & (model.slack_[kept] > 1e-13 * reach)
    determining = outside | needed
    high = int((determining | (h >= -near)).sum())
    low = int((determining if density else outside).sum())
    if density:
        _check_density(model, kept, int((np.abs(h) <= rounding * reach).sum()))
    if model.p == 1.0 and not on_surface.any():
        # 1/C is an integer and every R^2 of an interval is optimal (or C n < 1). The largest of
        # them has the nearest points outside on its surface, the smallest the next ones inside.
        inside = h[~determining].max(initial=-np.inf)
        high += max(min(1, len(h) - high), int((~determining & (h > inside - near)).sum()))
        if not density:
            low = int((h > h[determining].min(initial=np.inf) + near).sum())
    return Determining(low, high, len(h))


def unmet_conditions(model: LpSVDD, *, counted: ArrayLike | None = None) -> list[str]:
    """Return the conditions of the theorem that a model does not meet, one sentence each."""
    sentences = []
    learnt = learnt_from_the_sample(model, _counted(model, counted))
    if learnt:
        sentences.append(
            f"{' and '.join(learnt)} estimated from the rows that are counted, but the interval is "
            "proved only for what was fixed in advance: pass numbers, estimate on other rows, or "
            "choose among M settings fixed in advance and pass beta / M"
        )
    if model.weight_fit_ is not None:
        sentences.append(
            "sample weights were used; the theorem holds for weights drawn together with the "
            "points, not for weights computed from the whole sample"
        )
    if _surface(model) != "ball":
        sentences.append(
            "the interval is about the ball's own surface (radius_sq_), but predict uses the "
            f"{_surface(model)} surface, whose rate differs; surface='ball' makes them the same"
        )
    return sentences


def learnt_from_the_sample(model: LpSVDD, kept: np.ndarray) -> list[str]:
    """Return what a model has estimated from its own rows: width, cost, landmarks, scaling."""
    search = getattr(model, "chosen_by_", None)
    learnt = [f"the setting chosen by {search}"] if search else []
    rule = width_rule(model)
    if rule is not None:
        learnt.append(f"the width gamma={rule!r}")
    if model.C == "scale" and model.p > 1.0:  # at p = 1 it depends on the number of rows only
        learnt.append("the cost C='scale'")
    if getattr(model, "landmarks_chosen_", False):
        learnt.append("the landmarks")
    rows = None if model.kernel == "precomputed" else getattr(model, "X_fit_", None)
    if rows is not None and len(rows) == len(kept) and (is_scaled(rows) or is_scaled(rows[kept])):
        learnt.append("the scaling of the columns")
    if learnt:
        learnt[-1] += " was" if len(learnt) == 1 and "landmarks" not in learnt[0] else " were"
    return learnt


def width_rule(model: LpSVDD) -> str | None:
    """The rule by which the kernel width was computed from the sample, if it was."""
    rule = model.gamma if model.kernel in ("rbf", "poly") else None
    return rule if isinstance(rule, str) and rule != "auto" else None


def _surface(model: LpSVDD) -> str:
    """The surface that ``predict`` uses."""
    return getattr(model, "surface_", "ball")


def _counted(model: LpSVDD, counted: ArrayLike | None) -> np.ndarray:
    """Which training points k and n count."""
    kept = model.y_fit_ > 0
    if model.weight_fit_ is not None:
        kept = kept & (model.weight_fit_ > 0.0)
    if counted is not None:
        mask = np.asarray(counted)
        if mask.dtype != bool or mask.shape != kept.shape:
            raise ValueError(
                f"counted must be {len(kept)} booleans, one a training point; got {mask.dtype} of "
                f"shape {mask.shape}"
            )
        kept = kept & mask
    if not kept.any():
        raise ValueError(
            "no positive training point is left to count: counted must be True for at least one"
        )
    return kept


def _own_gap(model: LpSVDD) -> float:
    """The gap of the problem that was solved: with landmarks, the restricted one."""
    return model.restricted_gap_ if model.solver_ == "landmarks" else model.duality_gap_


def _excess(model: LpSVDD) -> np.ndarray:
    """h_i of the training points."""
    if model.solver_ == "landmarks" or model.kernel == "precomputed":
        return model.distance_fit_ - model.radius_sq_
    return -model._score_points(model.X_fit_) - model.radius_sq_


def _check_density(model: LpSVDD, kept: np.ndarray, on_surface: int) -> None:
    """Refuse ``density=True`` where the rows, if they were kept, show that the surface has mass."""
    if model.kernel == "precomputed" or model.solver_ == "landmarks":
        return
    rows = model.X_fit_[kept]
    if len(np.unique(rows, axis=0)) < len(rows):
        raise ValueError(
            "density=True, but rows are equal, so the surface may have mass: use density=False"
        )
    if model.kernel == "linear" and on_surface > rows.shape[1] + 1:
        raise ValueError(
            f"density=True, but {on_surface} points lie on the sphere, and with a density at most "
            f"{rows.shape[1] + 1} do: use density=False"
        )


class RateChoice(NamedTuple):
    """Hold a fitted model whose risk of rejection is at most the wanted rate."""

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
    costs: Sequence[float] | None = None,
    y: ArrayLike | None = None,
) -> RateChoice:
    """Return the tightest ball that rejects normal points with probability at most ``rate``.

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
    costs : values of C to try, fixed beforehand; fewer values cost less confidence. By default 13
        from 1000 to 1/1000, for kernels with k(x, x) = 1. For p = 1 the values 1 / (nu n) make it
        a search over nu.

    Returns
    -------
    RateChoice: the fitted model, its C, its upper end and the number of determining points.
    """
    if not 0.0 < rate < 1.0:
        raise ValueError(f"rate must lie in the open interval (0, 1), got {rate!r}")
    tried = np.logspace(3, -3, 13) if costs is None else costs
    costs = sorted({float(cost) for cost in tried}, reverse=True)
    chosen = None
    of_the_ball = {"surface": "ball"} if "surface" in model.get_params() else {}
    for cost in costs:
        fitted = clone(model).set_params(C=cost, nu=None, **of_the_ball)
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
