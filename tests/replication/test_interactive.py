"""What the interactive figure's page carries."""

from __future__ import annotations

import json

import numpy as np
import pytest

from lpsvdd.solver import certify
from replication import interactive
from replication.findings.boundaries import figure_shares


def page():
    return interactive.page_data(
        interactive.start_points(3), checked_ps=[1.0, 4 / 3], checked_cs=[0.05, 0.5]
    )


def test_page_survives_json_and_is_small():
    text = json.dumps(page())
    data = json.loads(text)
    assert len(text) < 100_000
    p, c, width = data["start"]
    assert (data["ps"][p], data["cs"][c], data["widths"][width]) == (1.0, 0.1, 1.0)


def test_checks_belong_to_the_points_as_the_page_has_them():
    data = page()
    K, _ = interactive.kernel(np.array(data["sets"]["one cloud"]))
    for cell in data["checks"]:
        found = certify(K, p=cell["p"], c=cell["c"], alpha=np.array(cell["alpha"]))
        assert 0.0 <= found.gap + 1e-9 <= 1e-5
        assert found.radius_sq == pytest.approx(cell["radius_sq"], abs=1e-4)


def test_few_enough_points_for_the_browser():
    assert all(10 <= len(X) <= 150 for X in interactive.start_points(1).values())


def test_figure_holds_its_data():
    html = interactive.figure_html({"a": [1]})
    assert '<script type="application/json">{"a":[1]}</script>' in html


def test_shares_fall_with_p():
    inside, covered = figure_shares((1.0, 4 / 3, 2.0), (0.1,), 2)
    assert inside.shape == covered.shape == (2, 3, 1)
    assert (np.diff(inside.mean(axis=0), axis=0) <= 0).all()
    assert set(np.unique(covered)) <= {0.0, 1.0}
