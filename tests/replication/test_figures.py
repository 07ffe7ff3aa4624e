"""Figures at two widths, in the notebook and in the built book."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest

from replication import figures


def draw(*, narrow):
    figure, axes = figures.panels(2, narrow=narrow, height=2.0)
    for ax in axes:
        ax.set_title("narrow" if narrow else "wide")
    return figure


@pytest.fixture
def two_widths(root):
    spec = importlib.util.spec_from_file_location("two_widths", root / "book/_ext/two_widths.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["two_widths"] = module
    spec.loader.exec_module(module)
    return module


def test_panels_stand_in_a_row_or_in_a_column():
    wide, narrow = draw(narrow=False), draw(narrow=True)
    assert tuple(wide.get_size_inches()) == (figures.WIDE, 2.0)
    assert tuple(narrow.get_size_inches()) == (figures.NARROW, 4.0)


def test_book_takes_the_narrow_drawing_out_again(two_widths, tmp_path):
    path = tmp_path / "a.svg"
    path.write_text(figures.both_widths(draw))
    page = '<p><img alt="x" src="a.svg" /></p>'
    changed = two_widths.IMAGE.sub(lambda match: two_widths.picture(match, tmp_path), page)
    assert changed == (
        '<p><picture><source media="(max-width: 600px)" srcset="a-narrow.svg">'
        '<img alt="x" src="a.svg" /></picture></p>'
    )
    assert figures.MARK not in path.read_text() and "</svg>" in path.read_text()
    narrow = (tmp_path / "a-narrow.svg").read_text()
    height, width = (
        float(narrow.split(f'{name}="')[1].split("pt")[0]) for name in ("height", "width")
    )
    assert height > width


def test_a_figure_of_one_width_stays_as_it_is(two_widths, tmp_path):
    (tmp_path / "b.svg").write_text("<svg></svg>")
    page = '<img src="b.svg">'
    assert two_widths.IMAGE.sub(lambda match: two_widths.picture(match, tmp_path), page) == page
    assert [path.name for path in tmp_path.iterdir()] == ["b.svg"]


def test_heat_map_writes_values_and_leaves_missing_cells_empty():
    ax = figures.heat_map([[1.0, np.nan], [3.0, 4.0]], ps=[8 / 7, 2], cs=[0.1, 1])
    assert sorted(text.get_text() for text in ax.texts) == ["1.0", "3.0", "4.0"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["8/7", "2"]


def test_heat_map_refuses_a_wrong_shape():
    with pytest.raises(ValueError, match="expected"):
        figures.heat_map(np.ones((2, 3)), ps=[1, 2], cs=[1, 2])
