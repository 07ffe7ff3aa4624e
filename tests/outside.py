"""Answers of outside solvers, judged by the certificate of what they returned.

A status is a solver's opinion of itself: on another processor the same point may be called
"optimal" or "optimal_inaccurate", and its statement may fail for one solver and serve another. So a
test asks for the first answer whose multipliers have a small duality gap, whoever gives it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lpsvdd.reference import ReferenceSolution
from lpsvdd.solver import certify

GAP = 1e-6
INSTALLED = ["CLARABEL", "SCS"]
WAYS = [("CLARABEL", "soc"), ("CLARABEL", "power"), ("SCS", "power")]
if sys.version_info < (3, 13):  # later there is no wheel, and it is not a requirement
    INSTALLED.append("ECOS")
    WAYS.insert(2, ("ECOS", "soc"))


def gap_of(answer: ReferenceSolution, K, y, p: float, c) -> float:
    """Duality gap of the multipliers that came back, infinite where none came."""
    if not np.isfinite(answer.alpha).all():
        return float("inf")
    return certify(K, y, p=p, c=c, alpha=answer.alpha).gap


def certified(
    statement: Callable[..., ReferenceSolution], K, y, p: float, c, *,
    judged_at=None, cones: str | None = None, **options: Any,
) -> ReferenceSolution:  # fmt: skip
    """The first answer to a CVXPY statement whose gap is at most ``GAP``.

    ``judged_at`` are the costs of the problem that the statement should solve, where they are not
    ``c``; ``cones`` keeps to one kind of cone.
    """
    seen = []
    for solver, kind in WAYS:
        if cones not in (None, kind):
            continue
        # Clarabel returns its last point also where it made too little progress for its own taste.
        more = {"accept_unknown": True} if solver == "CLARABEL" else {}
        answer = statement(K, y, p, c, solver, cones=kind, **options, **more)
        gap = gap_of(answer, K, y, p, c if judged_at is None else judged_at)
        if abs(gap) <= GAP:
            return answer
        seen.append(f"{solver} ({kind} cones): {answer.status}, gap {gap:.1e}")
    pytest.fail(f"{statement.__name__} at p={p:g}: no certified answer; {'; '.join(seen)}")
