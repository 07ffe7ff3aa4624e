r"""Guarantees for a fitted ball: error bounds, and the risk of rejecting a normal point.

With f(x) = ||phi(x) - a||^2 and a margin v > 0, a bound by Rademacher complexity has the shape

    P[ y (f(x) - R^2) > v ]  <=  empirical  +  complexity  +  confidence

and holds with probability 1 - delta over the n training pairs. The empirical Rademacher complexity
of a class F on z_1..z_n is, here and in the book,

    R_n(F) = E_sigma sup_{f in F} (2/n) sum_i sigma_i f(z_i)            (no absolute value)

so that a contraction by an L-Lipschitz function costs a factor L; with an absolute value, as in
Shawe-Taylor and Cristianini (2004), whom the paper follows, it costs 2L. ``rejection_risk`` is an
interval for the probability that a normal point is rejected, from the number of training points
that determine the ball.
"""

from __future__ import annotations

from ._rejection import rejection_risk
from ._rejection_model import (
    AssumptionWarning,
    Determining,
    RateChoice,
    cost_for_rate,
    determining_points,
    rejection_risk_of,
    unmet_conditions,
)
from .complexity import (
    margin_loss,
    offset_width,
    rademacher,
    stratum,
    trace_bound,
)
from .theorems import BoundTerms, bound_of, error_bound, sample_size

__all__ = [
    "AssumptionWarning",
    "BoundTerms",
    "Determining",
    "RateChoice",
    "bound_of",
    "cost_for_rate",
    "determining_points",
    "error_bound",
    "margin_loss",
    "offset_width",
    "rademacher",
    "rejection_risk",
    "rejection_risk_of",
    "sample_size",
    "stratum",
    "trace_bound",
    "unmet_conditions",
]
