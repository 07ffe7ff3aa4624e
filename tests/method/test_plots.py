"""Shared figures draw what they are given, in one style, without importing matplotlib early."""

from __future__ import annotations

import subprocess
import sys

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from matplotlib import pyplot as plt

from lpsvdd import plots


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(30, 2))


def test_importing_the_module_does_not_import_matplotlib():
    code = "import sys, lpsvdd.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


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


def test_boundary_lies_where_the_decision_changes_sign(points):
    ax = plots.decision_boundary(points, lambda Z: 1.0 - np.linalg.norm(Z, axis=1))
    vertices = np.vstack([path.vertices for path in ax.collections[1].get_paths()])
    np.testing.assert_allclose(np.linalg.norm(vertices, axis=1), 1.0, atol=2e-3)


def test_boundary_says_when_nothing_is_inside(points):
    ax = plots.decision_boundary(points, lambda Z: -np.ones(len(Z)))
    assert [text.get_text() for text in ax.texts] == ["no point inside"]


def test_boundary_marks_support_vectors_and_negatives(points):
    y = np.ones(30)
    y[:4] = -1
    ax = plots.decision_boundary(
        points, lambda Z: 1.0 - np.linalg.norm(Z, axis=1), y=y, support=np.arange(10, 15)
    )
    sizes = {c.get_label(): len(c.get_offsets()) for c in ax.collections if c.get_label()[0] != "_"}
    assert sizes == {"data": 21, "support vectors": 5, "negatives": 4}


def test_heat_map_writes_values_and_leaves_missing_cells_empty():
    ax = plots.heat_map([[1.0, np.nan], [3.0, 4.0]], ps=[8 / 7, 2], cs=[0.1, 1])
    assert sorted(text.get_text() for text in ax.texts) == ["1.0", "3.0", "4.0"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["8/7", "2"]


def test_heat_map_refuses_a_wrong_shape():
    with pytest.raises(ValueError, match="expected"):
        plots.heat_map(np.ones((2, 3)), ps=[1, 2], cs=[1, 2])
