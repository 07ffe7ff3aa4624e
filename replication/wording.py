"""Numbers in sentences: one, none and many, true minus signs, and quotes of facts in a text.

``fill`` is the only template system of claims, chapters and pages. A quote is a name in double
braces, with a format or with the noun that is counted::

    {{ lead.left }}    {{ lead.few_share:.0f }}    {{ pure.best_lp|data set }}    {{ wrong| }}

The third says "no data set", "one data set" or "4 data sets", the last "none", "one" or "4". A list
of names is joined by commas and "and", and is "none" where it is empty; with a noun it is counted
and the names follow in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Protocol

import numpy as np

QUOTE = re.compile(
    r"\{\{ *(?P<name>[\w.]+) *(?::(?P<form>[^|{}]*?))?(?:\|(?P<noun>[^{}]*?))? *\}\}"
)


class QuoteError(ValueError):
    """A text quotes a fact that nothing computed, or in a form that it does not have."""


class Spread(Protocol):
    """A mean of differences over ``n`` data sets and its interval."""

    mean: float
    low: float
    high: float
    n: int


def minus(text: str) -> str:
    """True minus signs for hyphens before a digit, those of exponents included."""
    return re.sub(r"(?<![\w.)-])-(?=[\d.])|(?<=\de)-(?=\d)", "−", text)


def number(value: Any, form: str = "") -> str:
    """A number in a text: a true minus sign, and no sign or exponent on a zero."""
    if value is None or value != value:
        return "(not computed)"
    text = format(value, form)
    number_like = isinstance(value, Real) and not isinstance(value, bool)
    if number_like and not re.search(r"[1-9a-df-z]", text):
        text = "0" if "e" in text else text.lstrip("+-")
    return minus(text)


def signed(value: float, digits: int = 1) -> str:
    """A difference in AUC points with its sign: +8.9, −0.9, 0.0."""
    return number(value, f"+.{digits}f")


def counted(count: int | str, noun: str) -> str:
    """No data set, one data set, 4 data sets; "boundary/boundaries" names the plural.

    A text is what :func:`ranged` makes of counts: "1", "10 to 20".
    """
    if isinstance(count, str) and count.isdigit():
        count = int(count)
    few = count in (0, 1)
    text = count if isinstance(count, str) else f"{count:,}"
    text = ("no" if noun else "none", "one")[int(count)] if few else text
    one, _, many = noun.partition("/")
    return f"{text} {one if few else many or one + 's'}" if noun else text


def listed(names: Sequence[Any], none: str = "none") -> str:
    """Names in a sentence: none; D1; D1 and D2; D1, D2 and D3."""
    words = [str(name) for name in names]
    return " and ".join([", ".join(words[:-1])] * (len(words) > 1) + words[-1:]) or none


def ranged(counts: Sequence[int]) -> str:
    """One number for equal counts: 20; else the ends: 10 to 20."""
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low} to {high}"


def worded(found: Spread, digits: int = 0) -> str:
    """A mean with its interval: +8.9 (+5.2 to +12.7); −0.91 (−1.77 to −0.03).

    Without a number of digits it is as many as show the sign of each of the three.
    """
    if np.isnan(found.low):
        return f"{signed(found.mean)} ({'one data set' if found.n == 1 else 'one source'})"
    values = (found.mean, found.low, found.high)
    least = min(map(abs, values))
    digits = digits or (1 if least >= 0.1 else 2 if least >= 0.005 else 3)
    mean, low, high = (signed(value, digits) for value in values)
    return f"{mean} ({low} to {high})"


def points(found: Spread, other: str) -> str:
    """Finish "A scores …": 8.9 points above B (95 % CI +5.2 to +12.7); 0.4 points below B (…)."""
    mean, _, interval = worded(found).partition(" (")
    side = "below" if mean.startswith("−") else "above"
    level = "" if np.isnan(found.low) else "95 % CI "
    return f"{mean.lstrip('+−')} points {side} {other} ({level}{interval}"


def bracketed(found: Spread) -> str:
    """A mean with its interval to two digits for a table: +0.12 [−0.03, +0.27]."""
    if np.isnan(found.low):
        return signed(found.mean, 2)
    return f"{signed(found.mean, 2)} [{signed(found.low, 2)}, {signed(found.high, 2)}]"


def fill(text: str, facts: Mapping[str, Any]) -> str:
    """The text with every quote replaced by its fact; ``a.b`` is fact ``b`` of ``facts["a"]``."""

    def words(match: re.Match[str]) -> str:
        value: Any = facts
        try:
            for part in match["name"].split("."):
                value = value[part]
            names = value if isinstance(value, (list, tuple)) else None
            if match["noun"] is not None:
                count = counted(value if names is None else len(names), match["noun"].strip())
                return f"{count} ({listed(names)})" if names else count
            if names is not None:
                return listed(names)
            return number(value, (match["form"] or "").strip())
        except (KeyError, TypeError, ValueError) as error:
            raise QuoteError(f"{match[0]} cannot be filled: {error!r}") from None

    return QUOTE.sub(words, text)
