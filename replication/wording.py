"""Numbers in sentences: one, none and many, signs, intervals.

A difference has one format everywhere, the mean with its 95 % interval: +0.2 [−0.1, +0.4].
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any


def minus(text: str) -> str:
    """Put true minus signs for hyphens before a digit, those of exponents included."""
    return re.sub(r"(?<![\w.)-])-(?=[\d.])|(?<=\de)-(?=\d)", "−", text)


def number(value: Any, form: str = "") -> str:
    """Format a number for a text: a true minus sign, and no sign or exponent on a zero."""
    if value is None or value != value:
        return "(not computed)"
    text = minus(format(value, form))
    return re.sub(r"^[+−]?(0(\.0*)?)(e\+00)?$", r"\1", text)


def signed(value: float) -> str:
    """Format a difference in AUC points with its sign: +8.9, −0.9, 0.0."""
    return number(value, "+.1f")


def counted(count: int, noun: str) -> str:
    """Count a noun: no data set, one data set, 4 data sets; none, one, 4 without a noun."""
    text = {0: "no" if noun else "none", 1: "one"}.get(count, f"{count:,}")
    return f"{text} {noun}{'s' * (count > 1)}" if noun else text


def listed(names: Sequence[Any]) -> str:
    """Join names for a sentence: none; D1; D1 and D2; D1, D2 and D3."""
    words = [str(name) for name in names]
    return " and ".join([", ".join(words[:-1])] * (len(words) > 1) + words[-1:]) or "none"


def interval(found: Any, digits: int | None = None, sign: str = "+") -> str:
    """Format a mean with its interval: +8.9 [+5.2, +12.7]; 9.9 [9.7, 10.1] with the sign "-".

    Without a number of digits it is as many as show the sign of each of the three.
    """
    if math.isnan(found.low):
        return f"{signed(found.mean)} ({'one data set' if found.n == 1 else 'one source'})"
    values = (found.mean, found.low, found.high)
    if digits is None:
        digits = sum(min(map(abs, values)) < least for least in (math.inf, 0.1, 0.005))
    mean, low, high = (number(value, f"{sign}.{digits}f") for value in values)
    return f"{mean} [{low}, {high}]"


def points(found: Any, other: str) -> str:
    """Finish "A scores …": 8.9 points above B (95 % CI [+5.2, +12.7]); 0.4 points below B (…)."""
    mean, _, rest = interval(found).partition(" ")
    side = "below" if mean.startswith("−") else "above"
    rest = rest if math.isnan(found.low) else f"(95 % CI {rest})"
    return f"{mean.lstrip('+−')} points {side} {other} {rest}"
