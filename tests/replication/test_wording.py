"""Sentences with numbers: one, none and many; quotes that nothing computed are refused."""

from __future__ import annotations

import numpy as np
import pytest

from replication.statistics import Interval
from replication.wording import (
    QuoteError,
    bracketed,
    counted,
    fill,
    listed,
    minus,
    number,
    points,
    ranged,
    signed,
    worded,
)


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (-0.0, ".0e", "0"),
        (0.0, ".0e", "0"),
        (-0.04, ".1f", "0.0"),
        (-0.04, "+.1f", "0.0"),
        (3e-11, ".0e", "3e−11"),
        (-2.5, ".1f", "−2.5"),
        (12000, ",", "12,000"),
        (10, "", "10"),
        (100, "+d", "+100"),
        ("p = 2", "", "p = 2"),
        (None, ".2f", "(not computed)"),
        (float("nan"), ".1f", "(not computed)"),
    ],
)
def test_a_number_has_a_true_minus_and_a_zero_no_sign(value, form, text):
    assert number(value, form) == text


def test_minus_signs_replace_hyphens_before_digits_and_in_exponents():
    assert minus("2 to -3, x-4, 1e-5, R-SVDD") == "2 to −3, x-4, 1e−5, R-SVDD"
    assert [signed(8.88), signed(-0.91), signed(-0.04)] == ["+8.9", "−0.9", "0.0"]


def test_one_none_and_many():
    assert [counted(n, "data set") for n in (0, 1, 2, 1200)] == [
        "no data set", "one data set", "2 data sets", "1,200 data sets",
    ]  # fmt: skip
    assert counted(3, "boundary/boundaries") == "3 boundaries"
    assert [counted(n, "split") for n in ("1", "10 to 20")] == ["one split", "10 to 20 splits"]
    assert [counted(n, "") for n in (0, 1, 7)] == ["none", "one", "7"]
    assert [listed(names) for names in ([], ["a"], "ab", "abc")] == [
        "none", "a", "a and b", "a, b and c",
    ]  # fmt: skip
    assert ranged([20, 20]) == "20" and ranged([10, 20]) == "10 to 20"


def test_a_mean_with_its_interval():
    assert worded(Interval(8.88, 5.19, 12.7, 20, 17, 3)) == "+8.9 (+5.2 to +12.7)"
    assert worded(Interval(-0.91, -1.77, -0.03, 20, 6, 14)) == "−0.91 (−1.77 to −0.03)"
    excludes_zero = Interval(-0.641, -1.43, -0.004, 20, 6, 14)
    assert worded(excludes_zero) == "−0.641 (−1.430 to −0.004)", "an end that is not zero shows"
    assert worded(Interval(3.0, np.nan, np.nan, 1, 1, 0)) == "+3.0 (one data set)"
    assert worded(Interval(3.0, np.nan, np.nan, 2, 1, 0)) == "+3.0 (one source)"
    assert bracketed(Interval(0.1, -0.2, 0.3, 9, 1, 0)) == "+0.10 [−0.20, +0.30]"


def test_points_above_and_below_say_the_other_method_and_the_interval():
    assert points(Interval(8.88, 5.19, 12.7, 20, 17, 3), "B") == (
        "8.9 points above B (95 % CI +5.2 to +12.7)"
    )
    assert points(Interval(-0.91, -1.77, -0.03, 20, 6, 14), "B") == (
        "0.91 points below B (95 % CI −1.77 to −0.03)"
    )
    assert points(Interval(-3.0, np.nan, np.nan, 1, 0, 1), "B") == (
        "3.0 points below B (one data set)"
    )


def test_quotes_are_filled_from_named_facts():
    facts = {"lead": {"left": "+0.1", "n": 1, "share": 19.7, "sets": ["D1", "D2"], "none": []}}
    text = "{{ lead.left }} on {{ lead.n|data set }}, {{lead.share:.0f}} %"
    assert fill(text, facts) == "+0.1 on one data set, 20 %"
    assert fill("{{ lead.sets }}; {{ lead.none }}", facts) == "D1 and D2; none"
    assert fill("under {{ lead.sets| }}, {{ lead.none|set }}", facts) == (
        "under 2 (D1 and D2), no set"
    )
    assert fill("own: {{ n }}", {"n": 0}) == "own: 0"
    assert fill("$x_{i}$", facts) == "$x_{i}$"


@pytest.mark.parametrize("text", ["{{ lead.right }}", "{{ led.left }}", "{{ lead.left:.1f }}"])
def test_a_quote_that_cannot_be_filled_is_named(text):
    with pytest.raises(QuoteError, match="lead|led"):
        fill(text, {"lead": {"left": "+0.1"}})
