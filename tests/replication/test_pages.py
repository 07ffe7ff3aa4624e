"""What the pages share and show: labels, tables, runs, figures, cards, the interactive figure."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from replication import catalogue_page, figures, interactive, layout
from replication.evidence import as_table, compare
from replication.findings.rerun import Rerun


@pytest.fixture
def rows():
    """Three data sets, two trials; lp is 1, 2, 3 points above l1 and equal to KPCA."""
    lines = []
    for number, name in enumerate(("D1", "D4", "D7"), start=1):
        for trial in range(2):
            for method, auc in (
                ("l1-SVDD", 60.0),
                ("lp-SVDD", 60.0 + number),
                ("KPCA", 60.0 + number),
            ):
                flag = "inferred-labels" if name == "D4" else ""
                lines.append((name, method, trial, auc + trial, flag))
    return pd.DataFrame(lines, columns=["dataset", "method", "trial", "auc", "flag"])


def test_table_marks_ties_and_flags(rows):
    shown = Rerun(rows_of_the_family(rows), "pure").here
    assert list(shown.columns) == ["lp-SVDD", "l1-SVDD", "l2-SVDD", "KPCA"]
    text = layout.table_html(shown, "a & b", formats="{:.1f}", best=True)
    assert text.count("<strong>61.5</strong>") == 2, "lp and KPCA tie on D1"
    assert "<caption>a &amp; b</caption>" in text and "<details" not in text
    folded = layout.table_html(shown, "all", fold=True)
    assert folded.startswith('<details class="table"><summary>all</summary>')
    assert layout.flag_notes(rows).startswith("† D4:")
    assert layout.flag_notes(rows[rows["dataset"] == "D1"]).startswith("No row")


def rows_of_the_family(rows):
    """The same rows with l2, one point below l1."""
    lower = rows[rows["method"] == "l1-SVDD"].assign(method="l2-SVDD")
    return pd.concat([rows, lower.assign(auc=lower["auc"] - 1.0)])


def test_numbers_of_a_table_have_true_minus_signs_and_words_are_told_apart():
    found = ["+0.1 [−0.1, +0.3]", ""]
    table = pd.DataFrame({"x": [-1.25, np.nan], "says": ["higher", "p = 2"], "gain": found})
    text = layout.table_html(table, "t", formats={"x": "{:+.1f}"})
    assert "<td>−1.2</td>" in text and "<td>–</td>" in text
    assert '<td class="word">higher</td>' in text and '<td class="word">p = 2</td>' in text
    assert "<td>+0.1 [−0.1,\u00a0+0.3]</td>" in text, "an interval breaks before its bracket"


def test_headings_are_text_and_not_markup():
    table = pd.DataFrame({"<script>a & b+c": [1.0]}, index=pd.Index(["<i>"], name="<b>"))
    text = layout.table_html(table, "t")
    assert "&lt;script&gt;a &amp; b+<wbr>c</th>" in text and "&lt;b&gt;" in text
    assert not any(tag in text for tag in ("<script>", "<i>", "<b>"))


@pytest.mark.parametrize("narrow", [False, True])
def test_figures_show_every_line_of_their_table(rows, narrow):
    pairs = {"ℓp − ℓ1": ("lp-SVDD", "l1-SVDD"), "ℓp − KPCA": ("lp-SVDD", "KPCA")}
    table = as_table(compare(rows, pairs))
    ax = figures.interval_figure(table, "points", short=str.upper)(narrow).axes[0]
    shown = [tick.get_text() for tick in ax.get_yticklabels()]
    assert shown == [name.upper() if narrow else name for name in pairs]
    assert ax.get_xlabel() == "points"
    two = {"a": table, "b": table.assign(printed=1.0)}
    figure = figures.interval_figure(two, "points", margin=True)(narrow)
    assert len(figure.axes) == 2 and len(figure.legends) == 1
    means = pd.DataFrame({"printed": [1.0, 2.0], "here": [2.0, 3.0]}, index=["ℓp", "GP"])
    ax = figures.dumbbell_figure(means, "rank", band=(1.0, 2.0))(narrow).axes[0]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["ℓp", "GP"]
    off = pd.DataFrame({"ℓp": [1.0, 30.0], "GP": [np.nan, 2.0]}, index=["D1", "D2"])
    ax = figures.dots_figure(off, "off", far=20)(narrow).axes[0]
    assert [text.get_text() for text in ax.texts] == ["D2"]
    cells = pd.DataFrame([[1.0, 2.0]], index=[1.0323], columns=[0.1, 1.0])
    axes = figures.heat_figure({"x": cells, "y": cells}, fmt=["{:.0f}", "{:.1f}"])(narrow).axes
    assert [t.get_text() for t in axes[1].texts] == ["1.0", "2.0"]
    assert axes[0].get_yticklabels()[0].get_text() == "32/31", "exponents are stored rounded"
    plt.close("all")


def test_runs_are_named_or_said_to_be_absent(tmp_path, monkeypatch):
    monkeypatch.setenv("LPSVDD_RESULTS", str(tmp_path))
    assert "no stored run" in layout.run_table(["pure"]).loc["results/pure.csv", "run"]
    stored = {
        "git_commit": "0123456789abcdef", "date": "2026-01-02", "python": "3.11", "cores": 2,
        "processor": "a processor", "packages": {"numpy": "2", "scipy": "1"},
        "signature": {"computation": "7"},
    }  # fmt: skip
    table = pd.DataFrame(
        {"dataset": ["D1"], "method": "GP", "trial": 0, "auc": 50.0, "seconds": 1.0}
    )
    table.assign(flag="", params="", status="").to_csv(tmp_path / "pure.csv", index=False)
    stored["sha256"] = hashlib.sha256((tmp_path / "pure.csv").read_bytes()).hexdigest()
    (tmp_path / "pure.provenance.json").write_text(json.dumps(stored))
    assert layout.computed_here("pure", table) == ""
    other = pd.concat([table, table.assign(auc=60.0)])
    assert layout.computed_here("pure", other).startswith("1 of 2 rows shown are stored")
    line = layout.run_table(["pure"]).loc["results/pure.csv"]
    assert list(line) == ["2026-01-02", "012345678", "7", "3.11", "a processor, 2 cores"]


# -- figures at two widths, in the notebook and in the built book -----------------------------


def draw(*, narrow):
    figure, axes = figures.panels(2, narrow=narrow, height=2.0)
    for ax in axes:
        ax.set_title("narrow" if narrow else "wide")
    return figure


@pytest.fixture
def pictures(root):
    """The extension of the book, which cuts and pairs the drawings."""
    spec = importlib.util.spec_from_file_location("pages", root / "book/_ext/pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_panels_stand_in_a_row_or_in_a_column():
    wide, narrow = draw(narrow=False), draw(narrow=True)
    assert tuple(wide.get_size_inches()) == (figures.WIDE, 2.0)
    assert tuple(narrow.get_size_inches()) == (figures.NARROW, 4.0)


def test_book_takes_the_narrow_drawing_out_again(pictures, tmp_path):
    path = tmp_path / "a.svg"
    path.write_text(figures.both_widths(draw))
    page = '<p><img alt="x" src="a.svg" /></p>'
    changed = pictures.IMAGE.sub(lambda match: pictures.picture(match, tmp_path), page)
    assert changed.count("<picture") == 2 and changed.count("<source") == 2
    for name in ("a.svg", "a-narrow.svg", "a-dark.svg", "a-narrow-dark.svg"):
        assert f'"{name}"' in changed and (tmp_path / name).is_file()
    assert figures.MARK not in path.read_text() and "</svg>" in path.read_text()
    assert changed.count('width="') == changed.count('height="') == 4, "nothing moves on arrival"
    narrow = (tmp_path / "a-narrow.svg").read_text()
    height, width = (
        float(narrow.split(f'{name}="')[1].split("pt")[0]) for name in ("height", "width")
    )
    assert height > width


def test_a_figure_of_one_width_gets_a_dark_one_only(pictures, tmp_path):
    (tmp_path / "b.svg").write_text("<svg></svg>")
    page = '<img src="b.svg">'
    changed = pictures.IMAGE.sub(lambda match: pictures.picture(match, tmp_path), page)
    assert "<source" not in changed and 'src="b-dark.svg"' in changed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b-dark.svg", "b.svg"]


def channels(colour):
    return np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)], dtype=float)


def test_a_dark_drawing_keeps_hues_and_can_be_read():
    colours = {*figures.EXPONENT_COLOURS.values(), *figures.METHOD_COLOURS.values()} - {"#000000"}
    for colour in {colour.lower() for colour in colours}:
        turned = channels(figures.dark(f'<svg><path style="fill: {colour}"/>').split(": ")[1])
        assert figures.contrast(turned, figures.PAPER) >= figures.LEAST
        light = channels(colour)
        assert (np.argsort(turned) == np.argsort(light)).all(), colour  # the same hue, lighter
    assert "#010101" in figures.dark('<svg><g style="fill: #010101">')  # letters on a cell
    assert "#dedede" in figures.dark("<svg><path/>")  # letters without a colour


# -- the interactive figure -------------------------------------------------------------------


def test_explorable_is_one_small_element_that_asks_for_no_file():
    html = interactive.figure_html(interactive.page_data(3))
    assert len(html) < 150_000
    assert not re.search(r"(src|href)=|fetch\(|https?://(?!www.w3.org)", html)
    assert html.count("<script") == 2 and html.count("data-step=") == 7


def test_explorable_starts_from_few_enough_points():
    data = json.loads(json.dumps(interactive.page_data(1)))
    assert all(10 <= len(X) <= 150 for X in data["sets"].values())
    # l1 cannot use the two smallest costs of the paper's grid: what step 5 is about.
    assert len(data["grid"]["points"]) < 1 / data["grid"]["cs"][1]


# -- the page on data sets --------------------------------------------------------------------


def test_comparison_shows_where_the_paper_prints_other_sizes():
    table = catalogue_page.sizes_table()
    here = table[["rows", "targets", "features"]].astype(str).agg(" / ".join, axis=1)
    assert len(table) == 20 and list(table.index[here != table["printed"]]) == ["D5"]
    assert table.loc["D5", "printed"] == "336 / 133 / 64"


@pytest.mark.parametrize("narrow", [False, True])
def test_every_set_has_a_card_and_two_views_where_asked(narrow):
    assert catalogue_page.cards().count("<details") == 20
    axes = catalogue_page.views_figure(["D1", "D7", "D14"], max_points=20)(narrow).axes
    assert [ax.get_title() for ax in axes[2:4]] == ["D7 Wine (2)", "unit length"]
    dots = [sum(len(one.get_offsets()) for one in ax.collections) for ax in axes]
    assert dots[:6] == [20] * 6, "targets and other rows in both views"
