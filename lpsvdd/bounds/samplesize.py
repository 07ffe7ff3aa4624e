r"""The number of samples from which a bound is below a target.

With sqrt(tr K) replaced by sqrt(n) B_kappa, complexity and confidence are both multiples of
1/sqrt(n). A bound e + c / sqrt(n) is below the target t exactly for n > (c / (t - e))^2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from . import _checks as check
from .theorems import choose_B, complexity_terms, confidence_term


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

    Parameters
    ----------
    p, delta, form, B, negatives, norm : as in `error_bound`.
    margin : v > 0, or a grid of m margins. Each gets delta / m and the best one counts.
    target : positive number; 1 asks when the bound stops being vacuous.
    empirical : assumed empirical term, one number or one per margin. 0 is the best case: no point
        of the sample on the wrong side.
    B_kappa : 1 for a Gaussian kernel.
    radius_sq : R^2, used by the printed forms only; 0 is their best case.

    Returns
    -------
    int, or math.inf when the empirical term is not below the target or n exceeds 1e300.
    """
    grid = check.margins(margin)
    p, delta = check.exponent(p), check.confidence(delta)
    target, B_kappa = check.positive(target, "target"), check.positive(B_kappa, "B_kappa")
    losses = [empirical] * len(grid) if isinstance(empirical, int | float) else list(empirical)
    if len(losses) != len(grid):
        raise ValueError(f"empirical holds {len(losses)} values for {len(grid)} margins")
    if not all(math.isfinite(value) and value >= 0 for value in losses):
        raise ValueError("empirical must be finite and non-negative")
    if not math.isfinite(radius_sq):
        raise ValueError(f"radius_sq must be finite, got {radius_sq!r}")
    B, share, _ = choose_B(form=form, B=B, B_kappa=B_kappa, negatives=negatives, norm=norm)
    confidence = confidence_term(1, delta * share / len(grid))
    sizes = []
    for value, loss in zip(grid, losses, strict=True):
        # At n = 1 the terms are their own coefficients of 1/sqrt(n).
        *_, log_complexity = complexity_terms(
            form=form,
            p=p,
            margin=value,
            n=1,
            root_trace=B_kappa,
            B=B,
            B_kappa=B_kappa,
            radius_sq=radius_sq,
            negatives=negatives,
        )
        sizes.append(_first_below(log_complexity, confidence, target - loss))
    return min(sizes)


def _first_below(log_complexity: float, confidence: float, room: float) -> int | float:
    """Smallest n with (exp(log_complexity) + confidence) / sqrt(n) < room."""
    if room <= 0:
        return math.inf
    larger = max(log_complexity, math.log(confidence))
    total = larger + math.log(
        math.exp(log_complexity - larger) + math.exp(math.log(confidence) - larger)
    )
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
