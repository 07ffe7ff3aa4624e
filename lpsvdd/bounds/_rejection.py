r"""The risk of rejecting a normal point, from the number of points that determine the ball.

Let k of n independent points determine the fitted ball: removing all others leaves it as it is,
and a further point changes which points determine it exactly when it is rejected. Then, with
probability at least 1 - beta over the n points and whatever their distribution,

    low <= P(a new point is rejected) <= high,

where low and high are the two roots v = 1 - t (low = 0 where the smaller one is negative) of

    C(n,k) t^(n-k) =   beta/(2n) sum_{i=k}^{n-1}  C(i,k) t^(i-k)
                     + beta/(6n) sum_{i=n+1}^{4n} C(i,k) t^(i-k)

(Campi and Garatti, JMLR 2021; the book proves it for lp-SVDD). Multiplied by v^(k+1), every sum is
a tail of a binomial distribution: with B_m ~ Bin(m, v) the equation reads

    v P(B_n = k) = beta/(2n) P(B_n > k) + beta/(6n) [P(B_{4n+1} > k) - P(B_{n+1} > k)],

so it is solved in logarithms with the incomplete beta function, for n up to 10^6 and beyond. The
ratio of the right to the left side is at most beta at v = k/n and grows from there in both
directions; so the roots are found by bracketing, and low <= k/n <= high always.

One side alone may have the whole of beta: "upper" keeps the first sum with beta/n, "lower" the
second with beta/(3n).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from numbers import Integral

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, betaln, expit, log_expit

ERROR_SHARES = {"both": (1 / 2, 1 / 6), "upper": (1.0, 0.0), "lower": (0.0, 1 / 3)}


def rejection_risk(
    k: int, n: int, beta: float = 0.05, *, sides: str = "both"
) -> tuple[float, float]:
    """Return an interval for the probability that a new normal point is rejected.

    Parameters
    ----------
    k : number of points that determine the ball, 0 <= k <= n. For p > 1 these are the training
        points outside; for p = 1 those outside and those on the surface. For p below about 1.2
        the slack of a point outside may be far below rounding: count positive multipliers then,
        not scores, as ``LpSVDD.rejection_risk`` does. With too small a k the interval misses.
    n : number of training points, drawn independently.
    beta : probability in (0, 1) with which the interval may fail. After choosing among M
        settings, pass beta / M.
    sides : "both"; "upper" or "lower" give the whole of beta to one end, the other is 1 or 0.

    Returns
    -------
    (low, high), with low <= k/n <= high.

    Examples
    --------
    >>> low, high = rejection_risk(20, 100)
    >>> print(f"{low:.2f} {high:.2f}")
    0.10 0.34
    """
    k, n = _integer(k, "k", 0), _integer(n, "n", 1)
    if k > n:
        raise ValueError(f"k must not exceed n, got k = {k} of n = {n}")
    if not 0.0 < beta < 1.0:
        raise ValueError(f"beta must lie in the open interval (0, 1), got {beta!r}")
    if sides not in ERROR_SHARES:
        raise ValueError(f"sides must be one of {', '.join(ERROR_SHARES)}, got {sides!r}")
    return _ends(k, n, float(beta), sides)


@lru_cache(maxsize=4096)  # searches and simulations ask for the same few again and again
def _ends(k: int, n: int, beta: float, sides: str) -> tuple[float, float]:
    before, after = (
        math.log(beta * share / n) if share else -math.inf for share in ERROR_SHARES[sides]
    )

    def excess(logit: float) -> float:
        """Logarithm of (right side / left side) of the equation at v = expit(logit)."""
        few, some, many = (_log_tail(k, m, logit) for m in (n, n + 1, 4 * n + 1))
        right = np.logaddexp(before + few, after + _log_difference(many, some))
        log_v, log_t = log_expit([logit, -logit])
        return float(right - (_log_choose(n, k) + (k + 1) * log_v + (n - k) * log_t))

    low, high = 0.0, 1.0
    if sides != "upper" and _log_limit(k, n, before, after) > 0.0:
        low = float(expit(_root(excess, _logit(k, n), -1.0)))
    if sides != "lower" and k < n:
        high = float(expit(_root(excess, _logit(k, n), 1.0)))
    return low, high


def _integer(value: int, name: str, least: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {value!r}")
    return int(value)


def _logit(k: int, n: int) -> float:
    """Logit of k/n, kept finite at both ends."""
    tiny = 1e-9
    return math.log(max(k, tiny)) - math.log(max(n - k, tiny))


def _log_choose(m: int, k: int) -> float:
    return -math.log(m + 1.0) - float(betaln(k + 1.0, m - k + 1.0))


def _log_tail(k: int, m: int, logit: float) -> float:
    """log P(Bin(m, v) > k) at v = expit(logit)."""
    if k >= m:
        return -math.inf
    tail = float(betainc(k + 1.0, m - k, expit(logit)))
    if tail > 1e-290:
        return math.log(tail)
    # Far below the mean the tail is its first term and a geometric series of ratio v/t (...).
    log_v, log_t = log_expit([logit, -logit])
    ratio = (m - k - 1.0) / (k + 2.0) * math.exp(logit)
    return float(
        _log_choose(m, k + 1) + (k + 1) * log_v + (m - k - 1) * log_t - math.log1p(-min(ratio, 0.5))
    )


def _log_limit(k: int, n: int, before: float, after: float) -> float:
    """``excess`` in the limit v -> 0: the lower end is positive only if this is."""
    few = _log_choose(n, k + 1) if k < n else -math.inf
    more = _log_difference(_log_choose(4 * n + 1, k + 1), _log_choose(n + 1, k + 1))
    return float(np.logaddexp(before + few, after + more)) - _log_choose(n, k)


def _log_difference(large: float, small: float) -> float:
    return large + math.log(-math.expm1(small - large)) if small < large else -math.inf


def _root(excess: Callable[[float], float], start: float, step: float) -> float:
    """The root beyond ``start`` (where ``excess`` is negative) in the direction of ``step``."""
    near, far = start, start + step
    while excess(far) <= 0.0:
        near, step = far, 2.0 * step
        far += step
    return float(brentq(excess, near, far, xtol=1e-13, rtol=1e-14))
