"""What the pages show: figures of both widths and themes, the interactive figure."""

from __future__ import annotations

import importlib.util
import json
import re
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from replication import figures, interactive


@pytest.mark.parametrize("narrow", [False, True])
def test_figures_show_every_line_of_their_table(narrow):
    names = ["ℓp − ℓ1", "ℓp without the cells that ℓ1 lacks"]
    table = pd.DataFrame({"mean": [1.0, 2.0], "low": 0.0, "high": 3.0}, index=names)
    two = {"a": table, "b": table.assign(printed=1.0)}
    figure = figures.interval_figure(two, "points", margin=True)(narrow)
    ticks = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert [tick.replace("\n", " ") for tick in ticks] == names
    assert ("\n" in ticks[1]) == narrow and len(figure.axes) == 2 and len(figure.legends) == 1
    means = pd.DataFrame({"printed": [1.0, 2.0], "here": [2.0, 3.0]}, index=["ℓp", "GP"])
    ax = figures.dumbbell_figure(means, "rank", band=(1.0, 2.0))(narrow).axes[0]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["ℓp", "GP"]
    off = pd.DataFrame({"ℓp": [1.0, 30.0, 29.0], "GP": [np.nan, 2.0, 3.0]}, index=["a", "b", "c"])
    ax = figures.dots_figure(off, "off", far=20)(narrow).axes[0]
    assert [text.get_text() for text in ax.texts] == ["b"], "the nearer one has no room"
    cells = pd.DataFrame([[1.0, np.nan]], index=[1.0323], columns=[0.1, 1.0])
    axes = figures.heat_figure({"x": cells, "y": -cells}, fmt=["{:.0f}", "{:.1f}"])(narrow).axes
    assert [t.get_text() for t in axes[1].texts] == ["−1.0"], "missing cells are empty"
    assert axes[0].get_yticklabels()[0].get_text() == "32/31", "exponents are stored rounded"
    plt.close("all")


def draw(*, narrow):
    figure, _ = figures.panels(2, narrow=narrow, height=2.0)
    return figure


@pytest.fixture
def pages(root):
    """The extension of the book, which cuts and pairs the drawings."""
    spec = importlib.util.spec_from_file_location("pages", root / "book/_ext/pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_book_shows_each_figure_at_two_widths_in_two_themes(pages, tmp_path):
    (tmp_path / "a.svg").write_text(figures.both_widths(draw))
    (tmp_path / "b.svg").write_text("<svg></svg>")

    def pictures(page):
        return pages.IMAGE.sub(lambda match: pages.picture(match, tmp_path), page)

    changed = pictures('<p><img alt="x" src="a.svg" /></p>')
    assert changed.count("<picture") == 2 and changed.count("<source") == 2
    for name in ("a.svg", "a-narrow.svg", "a-dark.svg", "a-narrow-dark.svg"):
        assert f'"{name}"' in changed and (tmp_path / name).is_file()
    assert changed.count('width="') == changed.count('height="') == 4, "nothing moves on arrival"
    wide, narrow = ((tmp_path / f"a{end}.svg").read_text() for end in ("", "-narrow"))
    assert figures.MARK not in wide and "</svg>" in wide
    assert [pages.SIZE.search(text)[1] for text in (wide, narrow)] == ["518.4", "259.2"]
    one = pictures('<img src="b.svg">')
    assert "<source" not in one and 'src="b-dark.svg"' in one, "of one width"


def test_dark_drawing_keeps_hues_and_can_be_read(root, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(root / "tests/browser")])
    from contrast import contrast

    def channels(colour):
        return np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)], dtype=float)

    colours = {*figures.EXPONENT_COLOURS.values(), *figures.METHOD_COLOURS.values()} - {"#000000"}
    for light in {colour.lower() for colour in colours}:
        turned = channels(figures.dark(f'<svg><path style="fill: {light}"/>').split(": ")[1])
        assert contrast(turned, [18, 18, 18]) >= 4.5, light
        assert (np.argsort(turned) == np.argsort(channels(light))).all(), light
    assert "#010101" in figures.dark('<svg><g style="fill: #010101">')  # letters on a cell
    assert "#dedede" in figures.dark("<svg><path/>")  # letters without a colour


def test_explorable_is_one_small_element_that_asks_for_no_file():
    html = interactive.figure_html(interactive.page_data(3))
    assert len(html) < 150_000
    assert not re.search(r"(src|href)=|fetch\(|https?://(?!www.w3.org)", html)
    assert html.count("<script") == 2 and html.count("data-step=") == 7
    data = json.loads(re.search(r"application/json'>(.*?)</script>", html, re.S)[1])
    assert all(10 <= len(X) <= 150 for X in data["sets"].values())
    # l1 cannot use the two smallest costs of the paper's grid: what step 5 is about.
    assert len(data["grid"]["points"]) < 1 / data["grid"]["cs"][1]
