r"""The bounds of a fitted LpSVDD.

The corrected theorem holds for every centre in the ball and every threshold at once, so it covers
the threshold the model really uses: T = -offset_, which is R^2 unless `contamination` or
`rethreshold` moved it. The slacks below are therefore max(0, y_i (f(x_i) - T)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from . import _checks as check
from ._rejection_model import width_rule
from .theorems import BoundTerms, bound_from_diagonal

if TYPE_CHECKING:
    from lpsvdd.estimators import LpSVDD

EVENTS = ("violation", "error")


def bound_of(
    model: LpSVDD,
    *,
    margin: float | Sequence[float],
    delta: float = 0.05,
    form: str = "corrected",
    event: str = "violation",
    p: float | None = None,
    B: float | None = None,
    B_kappa: float | None = None,
    K: ArrayLike | None = None,
) -> BoundTerms:
    """Bound on the error probability of a fitted model.

    Parameters
    ----------
    model : fitted LpSVDD.
    margin, delta, form, B, B_kappa : as in `error_bound`; the norm of the centre is known here, so
        B=None means the rules given there for a known norm.
    event : "violation" bounds P[y (f - T) > margin], the probability of lying on the wrong side by
        more than the margin. "error" bounds P[y (f - T) > 0], the plain error, by charging every
        training point that is not on the right side by at least the margin (corrected form only).
    p : exponent of the margin loss; None takes the model's. The corrected theorem does not care
        with which p the model was trained, so any p >= 1 fixed beforehand is valid there.
    K : the training kernel matrix, needed for kernel="precomputed" only.

    Returns
    -------
    BoundTerms; `notes` names the assumptions that this model does not meet.
    """
    check_is_fitted(model)
    if event not in EVENTS:
        raise ValueError(f"event must be one of {', '.join(EVENTS)}, got {event!r}")
    if event == "error" and form != "corrected":
        raise ValueError("event='error' is a corollary of the corrected form only")
    if model.kernel == "precomputed":
        if K is None:
            raise ValueError("a model with kernel='precomputed' needs K, its training kernel")
        training, diag = np.asarray(K, dtype=float), check.kernel_diagonal(K)
        distance = -model.score_samples(training, diag=diag)
    elif getattr(model, "solver_", None) == "landmarks":
        if not isinstance(model.kernel, str) or model.kernel != "rbf":
            raise ValueError(
                "the bound needs k(x, x) of the training samples, and a model on landmarks keeps "
                "it for the rbf kernel only"
            )
        diag, distance = np.ones(len(model.y_fit_)), model.distance_fit_
    else:
        diag = model.diag_fit_
        distance = -model.score_samples(model.X_fit_)
    labels, threshold = model.y_fit_, -float(model.offset_)
    excess = labels * (distance - threshold)
    options: dict[str, Any] = {
        "p": model.p if p is None else p,
        "diag": diag,
        "radius_sq": threshold,
        "B": B,
        "form": form,
        "B_kappa": B_kappa,
        "negatives": bool((labels < 0).any()),
        "norm": math.sqrt(max(model.norm_sq_, 0.0)),
    }
    if event == "error":
        # Here the slacks depend on the margin, so the grid is walked through one by one.
        grid, delta = check.margins(margin), check.confidence(delta)
        terms = min(
            (
                bound_from_diagonal(
                    slack=np.maximum(excess + v, 0), margin=v, delta=delta / len(grid), **options
                )
                for v in grid
            ),
            key=lambda candidate: candidate.total,
        )
    else:
        terms = bound_from_diagonal(
            slack=np.maximum(excess, 0), margin=margin, delta=delta, **options
        )
    notes = [*terms.notes]
    rule = width_rule(model)
    if rule is not None:
        notes.append(
            f"gamma={rule!r} was computed from the sample; the theorem asks for a kernel fixed "
            "before: pass a number, or learn it on other samples"
        )
    if form != "corrected" and threshold < 0:
        notes.append("the squared radius is negative; the printed forms were put with |R^2|")
    return replace(terms, delta=delta, notes=tuple(notes))
