"""Numbers in sentences: one, none and many, signs, intervals."""

from __future__ import annotations

import numpy as np
import pytest

from replication.statistics import Interval
from replication.wording import counted, listed, minus, number, points, signed


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (-0.0, ".0e", "0"),
        (-0.04, ".1f", "0.0"),
        (-0.04, "+.1f", "0.0"),
        (3e-11, ".0e", "3e−11"),
        (-2.5, ".1f", "−2.5"),
        (12000, ",", "12,000"),
        (100, "+d", "+100"),
        ("p = 2", "", "p = 2"),
        (float("nan"), ".1f", "(not computed)"),
    ],
)
def test_number_has_a_true_minus_and_a_zero_no_sign(value, form, text):
    assert number(value, form) == text


def test_minus_replaces_hyphens_before_digits_and_in_exponents():
    assert minus("2 to -3, x-4, 1e-5, R-SVDD") == "2 to −3, x-4, 1e−5, R-SVDD"
    assert [signed(8.88), signed(-0.91), signed(-0.04)] == ["+8.9", "−0.9", "0.0"]


def test_counted_and_listed_have_one_none_and_many():
    assert [counted(n, "data set") for n in (0, 1, 2, 1200)] == [
        "no data set", "one data set", "2 data sets", "1,200 data sets",
    ]  # fmt: skip
    assert [counted(n, "") for n in (0, 1, 7)] == ["none", "one", "7"]
    assert [listed(names) for names in ([], ["a"], "ab", "abc")] == [
        "none", "a", "a and b", "a, b and c",
    ]  # fmt: skip


LEAD = Interval(8.88, 5.19, 12.7, 20, 17, 3)


def test_interval_shows_as_many_digits_as_its_ends_need_for_their_sign():
    assert f"{LEAD}" == str(LEAD) == "+8.9 [+5.2, +12.7]"
    assert f"{Interval(-0.91, -1.77, -0.03, 20, 6, 14)}" == "−0.91 [−1.77, −0.03]"
    assert f"{Interval(-0.641, -1.43, -0.004, 20, 6, 14)}" == "−0.641 [−1.430, −0.004]"
    assert f"{LEAD:.2f}" == "+8.88 [+5.19, +12.70]" and f"{LEAD:-.0f}" == "9 [5, 13]"
    assert f"{Interval(3.0, np.nan, np.nan, 1, 1, 0)}" == "+3.0 (one data set)"
    assert f"{Interval(3.0, np.nan, np.nan, 2, 1, 0)}" == "+3.0 (one source)"


def test_points_say_the_side_the_other_method_and_the_interval():
    assert points(LEAD, "B") == "8.9 points above B (95 % CI [+5.2, +12.7])"
    below = Interval(-0.91, -1.77, -0.03, 20, 6, 14)
    assert points(below, "B") == "0.91 points below B (95 % CI [−1.77, −0.03])"
    alone = Interval(-3.0, np.nan, np.nan, 1, 0, 1)
    assert points(alone, "B") == "3.0 points below B (one data set)"
