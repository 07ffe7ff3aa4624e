"""Shared figures draw what they are given, in one style, without importing matplotlib early."""

from __future__ import annotations

import matplotlib
import pytest

matplotlib.use("Agg")

from matplotlib import pyplot as plt

from lpsvdd import plots


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_style_uses_the_palette():
    with plt.style.context("default"):
        plots.use_style()
        colours = plt.rcParams["axes.prop_cycle"].by_key()["color"]
        assert [f"#{c.lstrip('#').upper()}" for c in colours] == list(plots.PALETTE.values())


@pytest.mark.parametrize(
    ("value", "text"), [(32 / 31, "32/31"), (2.0, "2"), (5 / 2, "5/2"), (1.2345678, "1.23457")]
)
def test_grid_values_read_as_in_the_paper(value, text):
    assert plots.fraction(value) == text
