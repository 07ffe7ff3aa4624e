"""Error bounds of a fitted model, and the number of samples from which they say something."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from . import complexity as parts
from ._rejection_model import width_rule
from .theorems import BoundTerms, confidence_term, error_bound, setting_of

if TYPE_CHECKING:
    from lpsvdd.estimators import LpSVDD


def sample_size(
    p: float,
    margin: float | Sequence[float],
    delta: float,
    target: float = 1.0,
    *,
    empirical: float | Sequence[float] = 0.0,
    form: str = "corrected",
    B: float | None = None,
    B_kappa: float = 1.0,
    radius_sq: float = 0.0,
    negatives: bool = False,
    norm: float | None = None,
) -> int | float:
    """Smallest n with empirical + complexity + confidence < target; inf if there is none.

    With sqrt(tr K) replaced by sqrt(n) B_kappa, complexity and confidence are multiples of
    1/sqrt(n): a bound e + c / sqrt(n) is below the target t exactly for n > (c / (t - e))^2.

    Parameters
    ----------
    p, delta, form, B, negatives, norm : as in `error_bound`.
    margin : v > 0, or a grid of m margins. Each gets delta / m and the best one counts.
    target : positive number; 1 asks when the bound stops being vacuous.
    empirical : assumed empirical term, one number or one per margin; 0 is the best case.
    B_kappa : 1 for a Gaussian kernel.
    radius_sq : R^2, used by the printed forms only; 0 is their best case.

    Returns
    -------
    int, or math.inf when the empirical term is not below the target or n exceeds 1e300.
    """
    grid, delta = parts.margins(margin), parts.confidence(delta)
    target, B_kappa = parts.positive(target, "target"), parts.positive(B_kappa, "B_kappa")
    losses = [empirical] * len(grid) if isinstance(empirical, int | float) else list(empirical)
    if len(losses) != len(grid):
        raise ValueError(f"empirical holds {len(losses)} values for {len(grid)} margins")
    if not all(math.isfinite(value) and value >= 0 for value in losses):
        raise ValueError("empirical must be finite and non-negative")
    setting, share, _ = setting_of(form, p, B, B_kappa, radius_sq, negatives, norm)
    log_confidence = math.log(confidence_term(1, delta * share / len(grid)))
    sizes = []
    for value, loss in zip(grid, losses, strict=True):
        # At n = 1 the terms are their own coefficients of 1/sqrt(n).
        log_complexity = setting.complexity(value, 1, B_kappa)[2]
        total = float(np.logaddexp(log_complexity, log_confidence))
        sizes.append(_first_below(total, target - loss))
    return min(sizes)


def _first_below(total: float, room: float) -> int | float:
    """Smallest n with exp(total) / sqrt(n) < room."""
    if room <= 0:
        return math.inf
    log_n = 2 * (total - math.log(room))
    if log_n > 300 * math.log(10):
        return math.inf
    n = max(1, math.floor(math.exp(log_n)))
    # Below 2^40 the rounding of exp and log is undone exactly; above it one sample is no matter.
    while n < 2**40 and math.exp(total) / math.sqrt(n) >= room:
        n += 1
    while 1 < n < 2**40 and math.exp(total) / math.sqrt(n - 1) < room:
        n -= 1
    return n


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
    """Bound on the error probability of a fitted model, for the threshold T = -offset_ in use.

    The corrected theorem holds for every threshold at once, R^2 or one moved by ``contamination``
    or ``rethreshold``; the slacks are max(0, y_i (f(x_i) - T)).

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
    if event not in ("violation", "error"):
        raise ValueError(f"event must be 'violation' or 'error', got {event!r}")
    if event == "error" and form != "corrected":
        raise ValueError("event='error' is a corollary of the corrected form only")
    if model.kernel == "precomputed":
        if K is None:
            raise ValueError("a model with kernel='precomputed' needs K, its training kernel")
        training, diag = np.asarray(K, dtype=float), parts.kernel_diagonal(K)
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
        "K": diag,
        "radius_sq": threshold,
        "B": B,
        "form": form,
        "B_kappa": B_kappa,
        "negatives": bool((labels < 0).any()),
        "norm": math.sqrt(max(model.norm_sq_, 0.0)),
    }
    if event == "error":
        # Here the slacks depend on the margin, so the grid is walked through one by one.
        grid, delta = parts.margins(margin), parts.confidence(delta)
        terms = min(
            (
                error_bound(
                    slack=np.maximum(excess + v, 0), margin=v, delta=delta / len(grid), **options
                )
                for v in grid
            ),
            key=lambda candidate: candidate.total,
        )
    else:
        terms = error_bound(slack=np.maximum(excess, 0), margin=margin, delta=delta, **options)
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
