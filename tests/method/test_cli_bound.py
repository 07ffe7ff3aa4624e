"""The command `lpsvdd bound`: its numbers are those of the package; it says when they are idle."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from lpsvdd import LpSVDD
from lpsvdd.bounds import bound_of, determining_points
from lpsvdd.cli import build


def run(*arguments: str):
    return CliRunner().invoke(build(), ["bound", *arguments])


@pytest.fixture
def table(tmp_path):
    """A CSV file with 60 targets of class 1 and 10 rows of class -1, and its features."""
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(size=(60, 2)), rng.normal(loc=4, size=(10, 2))])
    labels = ["1"] * 60 + ["-1"] * 10
    path = tmp_path / "points.csv"
    rows = [f"{a!r},{b!r},{c}" for (a, b), c in zip(X.tolist(), labels, strict=True)]
    path.write_text("a,b,class\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path, X


def test_numbers_are_those_of_bound_of(table):
    path, X = table
    done = run(str(path), "--p", "1", "--C", "0.1", "--margin", "0.5", "--gamma", "0.5", "--raw")
    assert done.exit_code == 0, done.output
    model = LpSVDD(p=1.0, C=0.1, gamma=0.5).fit(X[:60])
    for form in ("paper", "corrected"):
        terms = bound_of(model, margin=0.5, form=form)
        line = next(row for row in done.output.splitlines() if row.startswith(f"{form} "))
        shown = [float(cell) for cell in line.split()[1:]]
        expected = [0.5, terms.empirical, terms.complexity, terms.confidence, terms.total]
        assert shown == pytest.approx(expected, rel=1e-3, abs=1e-6)
    low, high = model.rejection_risk()
    assert f"rejection   {low:.3g} <= P[a target is rejected] <= {high:.3g}: " in done.output
    points = determining_points(model)
    assert f"{points.low} to {points.high} of 60 targets determine the ball" in done.output
    assert "60 targets, 0 negatives" in done.output
    assert "corrected: exceeds 1 and says nothing at n = 60; below 1 from n = " in done.output


def test_a_bound_below_one_is_stated_as_such(tmp_path):
    rng = np.random.default_rng(4)
    path = tmp_path / "many.csv"
    rows = [f"{a},{b},1" for a, b in rng.normal(size=(400, 2))]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = run(str(path), "--p", "1", "--C", "0.05", "--margin", "1", "--gamma", "0.1", "--raw")
    assert done.exit_code == 0, done.output
    assert "corrected: P[y (f - R^2) > 1] <= 0." in done.output
    assert "exceeds" not in done.output
    assert "computed from the sample" not in done.output


def test_negatives_margin_grid_and_notes(table):
    path, _ = table
    done = run(str(path), "--negatives", "--margin", "0.25", "--margin", "0.5", "--C-neg", "0.5")
    assert done.exit_code == 0, done.output
    assert "60 targets, 10 negatives" in done.output
    assert "gamma='half-mean-distance' was computed from the sample" in done.output
    assert "the scaling was learnt from the sample" in done.output


def test_catalogue_name():
    done = run("wine", "--p", "2", "--C", "0.1")
    assert done.exit_code == 0, done.output
    assert "D7 wine" in done.output and "exceeds 1" in done.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--margin", "0"], "margin"),
        (["--delta", "1"], "delta"),
        (["--p", "0.5"], "p"),
        (["--target", "9"], "no row"),
    ],
)
def test_wrong_arguments_end_with_a_message(table, options, message):
    done = run(str(table[0]), *options)
    assert done.exit_code == 1
    assert done.output.startswith("error: ") and message in done.output
    assert "Traceback" not in done.output


def test_unknown_data_set_and_misplaced_target():
    done = run("no-such-set")
    assert done.exit_code == 1 and done.output.startswith("error: ")
    done = run("wine", "--target", "1")
    assert done.exit_code == 1 and "--target" in done.output


def test_help_names_every_option():
    done = run("--help")
    assert done.exit_code == 0
    for option in ("--p", "--margin", "--delta", "--negatives", "--raw"):
        assert option in done.output
