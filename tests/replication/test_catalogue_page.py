"""The page on data sets."""

from __future__ import annotations

import numpy as np

from lpsvdd.datasets import load
from replication import catalogue_page


def test_what_the_paper_prints_otherwise_is_shown():
    table = catalogue_page.comparison()
    assert len(table) == 20
    differing = table[table["printed"] != "the same"]
    assert "D5" in differing.index and differing.loc["D5", "printed"] == "336 / 133 / 64"


def test_views_are_centred_and_of_unit_length_where_they_say_so():
    (plain, y), (unit, _) = catalogue_page.two_views(load("D7"), max_points=1000)
    assert plain.shape == unit.shape == (178, 2) and set(y) == {-1, 1}
    np.testing.assert_allclose(plain.mean(axis=0), 0.0, atol=1e-9)
    assert np.linalg.norm(unit, axis=1).max() < 2.0 < np.linalg.norm(plain, axis=1).max()


def test_every_set_has_a_card_and_a_picture_only_where_asked():
    text = catalogue_page.cards(["D7"], max_points=20)
    assert text.count("<details") == 20
    assert text.count("<img") == 2
    assert "may not be redistributed" in text
