r"""The bounds as functions of a fitted model's slacks and kernel matrix.

Notation: f(x) = ||phi(x) - w||^2, v = margin, k(x, x) <= B_kappa^2 on the support, K the kernel
matrix of the n training points, zeta_i = max(0, y_i (f(x_i) - R^2)) their slacks. With
probability at least 1 - delta over n independent pairs (x_i, y_i):

form="paper", the paper's Theorem 2 as printed (stated for the learnt w, with ||w|| <= B):

    P[y (f - R^2) > v] <= ||zeta||_p^p / (n v^p)
        + 4 p B B_kappa (B^2 + 3 B_kappa^2 + R^2)^(p-1) / (v^p sqrt(n))  + 3 sqrt(ln(2/delta)/(2n))

form="paper-trace", its Theorem 5 as printed (with 3 B_kappa, not squared, in the bracket):

    second term = 4 p B (B^2 + 3 B_kappa + R^2)^(p-1) sqrt(tr K) / (n v^p)

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
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from . import _checks as check
from .loss import lipschitz, margin_loss, safe_exp

FORMS = ("paper", "paper-trace", "corrected")


@dataclass(frozen=True)
class BoundTerms:
    """One bound, term by term; `total` is empirical + complexity + confidence, never clipped.

    `linear` and `offset` are the two parts of the complexity (offset is 0 in the printed forms).
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
        """True when the bound is at least 1 and so says nothing about a probability."""
        return self.total >= 1


def confidence_term(n: float, delta: float) -> float:
    """3 sqrt(ln(2/delta) / (2n))."""
    return 3 * math.sqrt(math.log(2 / check.confidence(delta)) / (2 * n))


def distance_bound(B: float, B_kappa: float) -> float:
    """sup of f(x) = ||phi(x) - w||^2 over ||w|| <= B: (B + B_kappa)^2.

    The paper's B^2 + 3 B_kappa^2 is an upper bound only while B <= B_kappa. It is derived from
    sum_i alpha_i = 1, which labelled negatives break.
    """
    return (check.positive(B, "B") + check.positive(B_kappa, "B_kappa")) ** 2


def offset_width(*, B: float, B_kappa: float, margin: float, negatives: bool) -> float:
    """Length W of the interval to which s = ||w||^2 - R^2 can be clipped without changing A.

    u(x) = k(x, x) - 2 <w, phi(x)> ranges over an interval of length W0; beyond it, A(y (u + s)) is
    constant in s. One label needs room for v on one side of that interval, two labels on both.
    """
    B, B_kappa = check.positive(B, "B"), check.positive(B_kappa, "B_kappa")
    width = 4 * B * B_kappa if B >= B_kappa else (B + B_kappa) ** 2
    return width + (2 if negatives else 1) * check.positive(margin, "margin")


def stratum(norm: float, B_kappa: float) -> tuple[int, float, float]:
    """(k, B_k, share of delta): the smallest k >= 0 with norm <= B_k = 2^k B_kappa.

    The shares 6 / (pi (k+1))^2 sum to one, so the bounds of all strata hold at once.
    """
    ratio = check.nonnegative(norm, "norm") / check.positive(B_kappa, "B_kappa")
    k = 0
    while 2.0**k < ratio:
        k += 1
    return k, 2.0**k * B_kappa, 6 / (math.pi * (k + 1)) ** 2


def empirical_term(slack: np.ndarray, *, p: float, margin: float, form: str) -> float:
    """Sample mean of A (corrected) or ||zeta||_p^p / (n v^p) (printed, in logarithms)."""
    if form == "corrected":
        return float(margin_loss(slack, p=p, margin=margin).mean())
    violated = slack[slack > 0]
    if violated.size == 0:
        return 0.0
    return safe_exp(float(logsumexp(p * np.log(violated / margin))) - math.log(slack.size))


def complexity_terms(
    *,
    form: str,
    p: float,
    margin: float,
    n: float,
    root_trace: float,
    B: float,
    B_kappa: float,
    radius_sq: float,
    negatives: bool,
) -> tuple[float, float, float]:
    """(linear, offset, logarithm of their sum); root_trace is sqrt(tr K)."""
    if form == "corrected":
        slope = lipschitz(p=p, margin=margin)
        width = offset_width(B=B, B_kappa=B_kappa, margin=margin, negatives=negatives)
        linear, offset = slope * 4 * B * root_trace / n, slope * width / math.sqrt(n)
        return linear, offset, math.log(linear + offset)
    # In logarithms: v^-p times a (p-1)-th power overflows for moderate p and small v.
    squared = form == "paper"
    reach = B**2 + 3 * (B_kappa**2 if squared else B_kappa) + abs(radius_sq)
    size = B_kappa / math.sqrt(n) if squared else root_trace / n
    log_value = math.log(4 * p * B * size) - p * math.log(margin) + (p - 1) * math.log(reach)
    return safe_exp(log_value), 0.0, log_value


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
    """Bound on P[y (f(x) - R^2) > margin], by `form`; the statements head this module.

    Parameters
    ----------
    p : exponent of the slack penalty, >= 1.
    slack : (n,) slacks zeta_i >= 0. Passing max(0, y_i (f(x_i) - R^2) + margin) instead bounds
        the plain error P[y (f - R^2) > 0] in the corrected form (see the book's corollary).
    K : (n, n) kernel matrix of the training points.
    margin : v > 0, or a grid of m margins: each gets delta / m, the smallest bound is returned.
    delta : probability in (0, 1) with which the bound may fail.
    radius_sq : R^2. The corrected form does not depend on it.
    B : bound on the norm of the centre, fixed before seeing the data. None: with `norm` given, the
        printed forms take B = norm (which depends on the data; a note says so) and the corrected
        form with negatives takes the stratum of norm; in all other cases B = B_kappa.
    B_kappa : k(x, x) <= B_kappa^2 for every x, not only the sample. None: sqrt(max diag K), which
        is right for kernels with constant diagonal and depends on the data otherwise.
    negatives : whether labelled negatives were used.
    norm : norm ||w|| of the fitted centre.

    Returns
    -------
    BoundTerms with empirical, complexity, confidence and their sum, total.
    """
    diag = check.kernel_diagonal(K)
    return bound_from_diagonal(
        p=p,
        slack=slack,
        diag=diag,
        margin=margin,
        delta=delta,
        radius_sq=radius_sq,
        B=B,
        form=form,
        B_kappa=B_kappa,
        negatives=negatives,
        norm=norm,
    )


def bound_from_diagonal(
    *,
    p: float,
    slack: ArrayLike,
    diag: ArrayLike,
    margin: float | Sequence[float],
    delta: float,
    radius_sq: float,
    B: float | None,
    form: str,
    B_kappa: float | None,
    negatives: bool,
    norm: float | None,
) -> BoundTerms:
    """`error_bound` from k(x_i, x_i) alone, all that any of the forms needs of K."""
    diag = check.diagonal(diag)
    p, delta = check.exponent(p), check.confidence(delta)
    slack = check.slacks(slack, diag.size)
    grid = check.margins(margin)
    if not math.isfinite(radius_sq):
        raise ValueError(f"radius_sq must be finite, got {radius_sq!r}")
    notes = []
    if B_kappa is None and np.ptp(diag) > 1e-9 * diag.max():
        notes.append("B_kappa was read off the sample; the theorem asks for a bound known before")
    B_kappa = check.kernel_bound(B_kappa, diag)
    B, share, note = choose_B(form=form, B=B, B_kappa=B_kappa, negatives=negatives, norm=norm)
    notes += note
    delta_used = delta * share / len(grid)
    candidates = []
    for value in grid:
        linear, offset, log_complexity = complexity_terms(
            form=form,
            p=p,
            margin=value,
            n=diag.size,
            root_trace=math.sqrt(diag.sum()),
            B=B,
            B_kappa=B_kappa,
            radius_sq=radius_sq,
            negatives=negatives,
        )
        candidates.append(
            BoundTerms(
                form=form,
                p=p,
                n=diag.size,
                margin=value,
                delta=delta,
                delta_used=delta_used,
                B=B,
                B_kappa=B_kappa,
                linear=linear,
                offset=offset,
                log_complexity=log_complexity,
                empirical=empirical_term(slack, p=p, margin=value, form=form),
                confidence=confidence_term(diag.size, delta_used),
                notes=tuple(notes),
            )
        )
    # Ties (all infinite) are broken by the logarithm, so that the answer stays meaningful.
    return min(candidates, key=lambda terms: (terms.total, terms.log_complexity))


def choose_B(
    *, form: str, B: float | None, B_kappa: float, negatives: bool, norm: float | None
) -> tuple[float, float, list[str]]:
    """(B, share of delta it leaves, notes): the rules described under `error_bound`."""
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
    if B is not None:
        B = check.positive(B, "B")
        if norm is not None and norm > B * (1 + 1e-9):
            raise ValueError(f"B = {B!r} is below the norm {norm!r} of the fitted centre")
        return B, 1.0, []
    if form != "corrected":
        if norm is None:
            return B_kappa, 1.0, []
        # A centre at the origin has norm 0; the smallest positive number keeps logarithms finite.
        B = max(check.nonnegative(norm, "norm"), np.finfo(float).tiny)
        return (
            B,
            1.0,
            [
                "B is the norm of the fitted centre, which depends on the sample; the "
                "theorem asks for a B fixed before"
            ],
        )
    if not negatives:
        return B_kappa, 1.0, []
    if norm is None:
        raise ValueError("with negatives give B, fixed before seeing the data, or norm")
    _, B, share = stratum(norm, B_kappa)
    return B, share, []
