"""Numbers in sentences: one, none and many, signs, intervals."""

from __future__ import annotations

import numpy as np
import pytest

from replication.statistics import Interval
from replication.wording import counted, listed, minus, number, points

LEAD, BELOW = Interval(8.88, 5.19, 12.7, 20, 17, 3), Interval(-0.91, -1.77, -0.03, 20, 6, 14)
ALONE = Interval(-3.0, np.nan, np.nan, 1, 0, 1)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (number(-0.0, ".0e"), "0"),
        (number(-0.04, "+.1f"), "0.0"),
        (number(3e-11, ".0e"), "3e−11"),
        (number(-2.5, ".1f"), "−2.5"),
        (number(100, "+d"), "+100"),
        (number("p = 2"), "p = 2"),
        (number(np.nan, ".1f"), "(not computed)"),
        (minus("2 to -3, x-4, 1e-5, R-SVDD"), "2 to −3, x-4, 1e−5, R-SVDD"),
        (counted(0, "set"), "no set"),
        (counted(1, "set"), "one set"),
        (counted(1200, "set"), "1,200 sets"),
        (counted(0, ""), "none"),
        (listed([]), "none"),
        (listed("abc"), "a, b and c"),
        (f"{LEAD}", "+8.9 [+5.2, +12.7]"),
        (f"{BELOW}", "−0.91 [−1.77, −0.03]"),
        (f"{Interval(-0.641, -1.43, -0.004, 20, 6, 14)}", "−0.641 [−1.430, −0.004]"),
        (f"{LEAD:.2f}", "+8.88 [+5.19, +12.70]"),
        (f"{LEAD:-.0f}", "9 [5, 13]"),
        (f"{ALONE}", "−3.0 (one data set)"),
        (points(LEAD, "B"), "8.9 points above B (95 % CI [+5.2, +12.7])"),
        (points(BELOW, "B"), "0.91 points below B (95 % CI [−1.77, −0.03])"),
        (points(ALONE, "B"), "3.0 points below B (one data set)"),
    ],
)
def test_text_of_a_number_is_as_a_reader_expects(text, wanted):
    assert text == wanted
