r"""The bounds as functions of slacks and kernel matrix, or of a fitted model.

Notation: f(x) = ||phi(x) - w||^2, v = margin, k(x, x) <= B_kappa^2 on the support, K the kernel
matrix of the n training points, zeta_i = max(0, y_i (f(x_i) - R^2)) their slacks. With
probability at least 1 - delta over n independent pairs (x_i, y_i):

form="paper", the paper's Theorem 2 as printed (stated for the learnt w, with ||w|| <= B):

    P[y (f - R^2) > v] <= ||zeta||_p^p / (n v^p)
        + 4 p B B_kappa (B^2 + 3 B_kappa^2 + R^2)^(p-1) / (v^p sqrt(n))  + 3 sqrt(ln(2/delta)/(2n))

form="corrected": for every w with ||w|| <= B and every real R^2 at once,

    P[y (f - R^2) > v] <= (1/n) sum_i A(y_i (f(x_i) - R^2))
        + (p/v) [ (4B/n) sqrt(tr K) + W / sqrt(n) ]  + 3 sqrt(ln(2/delta)/(2n))

where A is the margin loss and W the offset width: W = W0 + v when all labels are +1 and
W0 + 2v otherwise, with W0 = 4 B B_kappa for B >= B_kappa and (B + B_kappa)^2 for B < B_kappa.
B must not depend on the data. B = B_kappa is always valid for one-class data, because the centre
is a convex combination of the phi(x_i). With negatives B is chosen after the fact among
B_k = 2^k B_kappa, k = 0, 1, ..., and stratum k is given the share 6 / (pi (k+1))^2 of delta.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from lpsvdd._validation import check_exponent

from . import complexity as parts
from ._rejection_model import width_rule

if TYPE_CHECKING:
    from lpsvdd.estimators import LpSVDD


@dataclass(frozen=True)
class BoundTerms:
    """Hold one bound term by term; `total` is empirical + complexity + confidence, never clipped.

    `linear` and `offset` are the two parts of the complexity (offset is 0 in the printed form).
    `delta` is the probability the caller asked for; `delta_used` what is left for this margin
    and this B after the union bounds. `log_complexity` stays finite where complexity overflows.
    """

    form: str
    p: float
    n: int
    margin: float
    delta: float
    delta_used: float
    B: float
    B_kappa: float
    empirical: float
    linear: float
    offset: float
    confidence: float
    log_complexity: float
    notes: tuple[str, ...] = ()

    @property
    def complexity(self) -> float:
        return self.linear + self.offset

    @property
    def total(self) -> float:
        return self.empirical + self.complexity + self.confidence

    @property
    def vacuous(self) -> bool:
        """Tell whether the bound is at least 1 and so says nothing about a probability."""
        return self.total >= 1

    @property
    def enough(self) -> int | float:
        """The number of samples from which on this bound would be below 1, all else equal."""
        root = math.log(self.n) / 2
        room = 1.0 - self.empirical
        return _first_below(self.log_complexity + root, math.log(self.confidence) + root, room)


@dataclass(frozen=True)
class Setting:
    """What the second and third term depend on, beside n and the kernel matrix."""

    form: str
    p: float
    B: float
    B_kappa: float
    radius_sq: float
    negatives: bool

    def complexity(self, margin: float, n: float, root_trace: float) -> tuple[float, float, float]:
        """(linear, offset, logarithm of their sum); root_trace is sqrt(tr K)."""
        if self.form == "corrected":
            slope = self.p / margin
            width = parts.offset_width(
                B=self.B, B_kappa=self.B_kappa, margin=margin, negatives=self.negatives
            )
            linear, offset = slope * 4 * self.B * root_trace / n, slope * width / math.sqrt(n)
            return linear, offset, math.log(linear + offset)
        # In logarithms: v^-p times a (p-1)-th power overflows for moderate p and small v.
        reach = self.B**2 + 3 * self.B_kappa**2 + abs(self.radius_sq)
        size = 4 * self.p * self.B * self.B_kappa / math.sqrt(n)
        value = math.log(size) - self.p * math.log(margin) + (self.p - 1) * math.log(reach)
        return parts.safe_exp(value), 0.0, value

    def empirical(self, slack: np.ndarray, margin: float) -> float:
        """Sample mean of A (corrected) or ||zeta||_p^p / (n v^p) (printed, in logarithms)."""
        if self.form == "corrected":
            return float(parts.margin_loss(slack, p=self.p, margin=margin).mean())
        violated = slack[slack > 0]
        if violated.size == 0:
            return 0.0
        value = float(logsumexp(self.p * np.log(violated / margin)))
        return parts.safe_exp(value - math.log(slack.size))


def confidence_term(n: float, delta: float) -> float:
    """3 sqrt(ln(2/delta) / (2n))."""
    return 3 * math.sqrt(math.log(2 / delta) / (2 * n))


def error_bound(
    *,
    p: float,
    slack: ArrayLike,
    K: ArrayLike,
    margin: float | Sequence[float],
    delta: float,
    radius_sq: float,
    B: float | None = None,
    form: str = "corrected",
    B_kappa: float | None = None,
    negatives: bool = False,
    norm: float | None = None,
) -> BoundTerms:
    """Return a bound on P[y (f(x) - R^2) > margin]; `form` is "paper" or "corrected".

    Parameters
    ----------
    p : exponent of the slack penalty, >= 1.
    slack : (n,) slacks zeta_i >= 0. Passing max(0, y_i (f(x_i) - R^2) + margin) instead bounds
        the plain error P[y (f - R^2) > 0] in the corrected form (see the book's corollary).
    K : (n, n) kernel matrix of the training points, or its diagonal: all that any form needs.
    margin : v > 0, or a grid of m margins: each gets delta / m, the smallest bound is returned.
    delta : probability in (0, 1) with which the bound may fail.
    radius_sq : R^2. The corrected form does not depend on it.
    B : bound on the norm of the centre, fixed before seeing the data. None: with `norm` given, the
        printed form takes B = norm (which depends on the data; a note says so) and the corrected
        form with negatives takes the stratum of norm; in all other cases B = B_kappa.
    B_kappa : k(x, x) <= B_kappa^2 for every x, not only the sample. None: sqrt(max diag K), which
        is right for kernels with constant diagonal and depends on the data otherwise.
    negatives : whether labelled negatives were used.
    norm : norm ||w|| of the fitted centre.

    Returns
    -------
    BoundTerms with empirical, complexity, confidence and their sum, total.
    """
    diag, delta, grid = parts.matrix_diagonal(K), parts.confidence(delta), parts.margin_grid(margin)
    slack = np.asarray(slack, dtype=float)
    if slack.shape != diag.shape:
        raise ValueError(f"slack must have shape {diag.shape} to match K, got {slack.shape}")
    if not np.all(np.isfinite(slack)) or slack.min() < 0:
        raise ValueError("slack must be finite and non-negative")
    notes = []
    largest = math.sqrt(float(diag.max()))
    if B_kappa is None:
        B_kappa = largest
        if np.ptp(diag) > 1e-9 * diag.max():
            notes.append(
                "B_kappa was read off the sample; the theorem asks for a bound known before"
            )
    # The rounding allowance is for callers who write sqrt(k(x, x)) themselves.
    elif parts.positive_number(B_kappa, "B_kappa") < largest * (1 - 1e-9):
        raise ValueError(
            f"B_kappa must be at least sqrt(max diag K) = {largest!r}, got {B_kappa!r}"
        )
    setting, share, note = setting_of(form, p, B, B_kappa, radius_sq, negatives, norm)
    delta_used = delta * share / len(grid)
    candidates = []
    for value in grid:
        linear, offset, log_complexity = setting.complexity(value, diag.size, math.sqrt(diag.sum()))
        candidates.append(
            BoundTerms(
                form=form, p=setting.p, n=diag.size, margin=value, delta=delta,
                delta_used=delta_used, B=setting.B, B_kappa=B_kappa, linear=linear, offset=offset,
                log_complexity=log_complexity, empirical=setting.empirical(slack, value),
                confidence=confidence_term(diag.size, delta_used), notes=(*notes, *note),
            )
        )  # fmt: skip
    # Ties (all infinite) are broken by the logarithm, so that the answer stays meaningful.
    return min(candidates, key=lambda terms: (terms.total, terms.log_complexity))


def setting_of(
    form: str,
    p: float,
    B: float | None,
    B_kappa: float,
    radius_sq: float,
    negatives: bool,
    norm: float | None,
) -> tuple[Setting, float, list[str]]:
    """The setting, the share of delta that the choice of B leaves, and notes; see `error_bound`."""
    if form not in ("paper", "corrected"):
        raise ValueError(f"form must be 'paper' or 'corrected', got {form!r}")
    if not math.isfinite(radius_sq):
        raise ValueError(f"radius_sq must be finite, got {radius_sq!r}")
    share, notes = 1.0, []
    if B is not None:
        B = parts.positive_number(B, "B")
        if norm is not None and norm > B * (1 + 1e-9):
            raise ValueError(
                f"B must be at least the norm {norm!r} of the fitted centre, got {B!r}"
            )
    elif form != "corrected" and norm is not None:
        # A centre at the origin has norm 0; the smallest positive number keeps logarithms finite.
        B = max(parts.positive_number(norm, "norm", or_zero=True), np.finfo(float).tiny)
        notes.append(
            "B is the norm of the fitted centre, which depends on the sample; the "
            "theorem asks for a B fixed before"
        )
    elif form != "corrected" or not negatives:
        B = B_kappa
    elif norm is None:
        raise ValueError("with negatives give B, fixed before seeing the data, or norm")
    else:
        _, B, share = parts.stratum(norm, B_kappa)
    return Setting(form, check_exponent(p), B, B_kappa, radius_sq, negatives), share, notes


def sample_size(
    p: float,
    margin: float | Sequence[float],
    delta: float,
    target: float = 1.0,
    *,
    empirical: float = 0.0,
    form: str = "corrected",
    negatives: bool = False,
    norm: float | None = None,
) -> int | float:
    """Return the smallest n with empirical + complexity + confidence < target; inf if none.

    For k(x, x) = 1 and, in the printed form, R^2 = 0, its best case.

    Parameters
    ----------
    p, margin, delta, form, negatives, norm : as in `error_bound`.
    target : positive number; 1 asks when the bound stops being vacuous.
    empirical : assumed empirical term; 0 is the best case.
    """
    grid, target = parts.margin_grid(margin), parts.positive_number(target, "target")
    room = target - parts.positive_number(empirical, "empirical", or_zero=True)
    setting, share, _ = setting_of(form, p, None, 1.0, 0.0, negatives, norm)
    # At n = 1 the terms are their own coefficients of 1/sqrt(n).
    confidence = math.log(confidence_term(1, parts.confidence(delta) * share / len(grid)))
    return min(_first_below(setting.complexity(v, 1, 1.0)[2], confidence, room) for v in grid)


def _first_below(log_complexity: float, log_confidence: float, room: float) -> int | float:
    """Smallest n with (complexity + confidence) / sqrt(n) < room, n > (their sum / room)^2."""
    total = float(np.logaddexp(log_complexity, log_confidence))
    if room <= 0 or (log_n := 2 * (total - math.log(room))) > 300 * math.log(10):
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
) -> BoundTerms:
    """Return a bound on the error probability of a fitted model, at its threshold T = -offset_.

    The corrected theorem holds for every threshold at once, R^2 or one moved by ``contamination``
    or ``rethreshold``; the slacks are max(0, y_i (f(x_i) - T)).

    Parameters
    ----------
    model : fitted LpSVDD.
    margin, delta, form : as in `error_bound`, whose B follows from the known norm of the centre.
    event : "violation" bounds P[y (f - T) > margin], the probability of lying on the wrong side by
        more than the margin. "error" bounds P[y (f - T) > 0], the plain error, by charging every
        training point that is not on the right side by at least the margin (corrected form only).

    Returns
    -------
    BoundTerms; `notes` names the assumptions that this model does not meet.
    """
    check_is_fitted(model)
    if event not in ("violation", "error"):
        raise ValueError(f"event must be 'violation' or 'error', got {event!r}")
    if event == "error" and form != "corrected":
        raise ValueError("event='error' is a corollary of the corrected form only")
    diag = model.diag_fit_
    if model.solver_ == "landmarks":
        if not isinstance(model.kernel, str) or model.kernel != "rbf":
            raise ValueError(
                "the bound needs k(x, x) of the training samples, and a model on landmarks keeps "
                "it for the rbf kernel only"
            )
        diag = np.ones(len(model.y_fit_))
    labels, threshold = model.y_fit_, -float(model.offset_)
    excess = labels * (model.distance_fit_ - threshold)
    options: dict[str, Any] = {
        "p": model.p,
        "K": diag,
        "radius_sq": threshold,
        "form": form,
        "negatives": bool((labels < 0).any()),
        "norm": math.sqrt(max(model.norm_sq_, 0.0)),
    }
    if event == "error":
        # Here the slacks depend on the margin, so the grid is walked through one by one.
        grid, delta = parts.margin_grid(margin), parts.confidence(delta)
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
        notes.append("the squared radius is negative; the printed form was put with |R^2|")
    return replace(terms, delta=delta, notes=tuple(notes))
