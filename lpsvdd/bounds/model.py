r"""The bounds of a fitted LpSVDD.

The corrected theorem holds for every centre in the ball and every threshold at once, so it covers
the threshold the model really uses: T = -offset_, which is R^2 unless `contamination` or
`rethreshold` moved it. The slacks below are therefore max(0, y_i (f(x_i) - T)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from . import _checks as check
from .theorems import BoundTerms, bound_from_diagonal

if TYPE_CHECKING:
    from lpsvdd.svdd import LpSVDD

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
    else:
        diag = model.diag_fit_
        distance = -model.score_samples(model.X_fit_)
    labels = model.y_fit_
    threshold = -float(model.offset_)
    excess = labels * (distance - threshold)
    negatives = bool((labels < 0).any())
    if event == "error":
        grid = check.margins(margin)
        results = [
            _evaluate(
                model,
                np.maximum(excess + value, 0),
                diag,
                distance,
                threshold,
                negatives,
                p=p,
                margin=value,
                delta=delta / len(grid),
                form=form,
                B=B,
                B_kappa=B_kappa,
            )
            for value in grid
        ]
        return replace(min(results, key=lambda terms: terms.total), delta=delta)
    return _evaluate(
        model,
        np.maximum(excess, 0),
        diag,
        distance,
        threshold,
        negatives,
        p=p,
        margin=margin,
        delta=delta,
        form=form,
        B=B,
        B_kappa=B_kappa,
    )


def _evaluate(
    model, slack, diag, distance, threshold, negatives, *, p, margin, delta, form, B, B_kappa
) -> BoundTerms:
    terms = bound_from_diagonal(
        p=model.p if p is None else p,
        slack=slack,
        diag=diag,
        margin=margin,
        delta=delta,
        radius_sq=threshold,
        B=B,
        form=form,
        B_kappa=B_kappa,
        negatives=negatives,
        norm=center_norm(model.alpha_ * model.y_fit_, diag, distance),
    )
    notes = list(terms.notes)
    if model.kernel == "rbf" and isinstance(model.gamma, str) and model.gamma != "auto":
        notes.append(
            f"gamma={model.gamma!r} was computed from the sample; the theorem asks for a "
            "kernel fixed before"
        )
    if form != "corrected" and threshold < 0:
        notes.append("the squared radius is negative; the printed forms were put with |R^2|")
    return replace(terms, notes=tuple(notes))


def center_norm(weights: np.ndarray, diag: np.ndarray, distance: np.ndarray) -> float:
    """||a|| of a = sum_i b_i phi(x_i) with sum b = 1: ||a||^2 = sum_i b_i (k(x_i, x_i) - f(x_i)).

    Multiply f(x_i) = k(x_i, x_i) - 2 <a, phi(x_i)> + ||a||^2 by b_i and sum.
    """
    return math.sqrt(max(float(weights @ (diag - distance)), 0.0))
