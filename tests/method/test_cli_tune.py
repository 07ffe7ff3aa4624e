"""The command `lpsvdd tune`: its choice is that of LpSVDDCV, its files can be used."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from lpsvdd import LpSVDDCV, load_model
from lpsvdd.cli import build
from lpsvdd.preprocessing import PositiveScaler


def run(*arguments: object):
    return CliRunner().invoke(build(), ["tune", *map(str, arguments)])


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(5)
    X = np.vstack([rng.normal(size=(40, 2)), rng.normal(loc=4.0, size=(8, 2))]) * [1.0, 30.0]
    path = tmp_path / "points.csv"
    pd.DataFrame({"u": X[:, 0], "kind": ["a"] * 40 + ["b"] * 8, "v": X[:, 1]}).to_csv(
        path, index=False
    )
    return path


LABEL = ("--label", "kind", "--target", "a")


def test_the_choice_is_that_of_the_estimator(table, tmp_path):
    saved, results = tmp_path / "model.lpsvdd", tmp_path / "results.csv"
    done = run(table, *LABEL, "--model", saved, "--results", results)
    assert done.exit_code == 0, done.output
    X = pd.read_csv(table)[["u", "v"]].to_numpy()[:40]
    scaled = PositiveScaler().fit_transform(X)
    search = LpSVDDCV(random_state=0).fit(scaled)
    chosen = re.search(r"^chosen .* gamma = (\S+): (\S+)", done.output, re.MULTILINE)
    assert float(chosen[1]) == pytest.approx(search.best_params_["gamma"], rel=1e-3)
    assert float(chosen[2]) == pytest.approx(search.best_score_, abs=1e-4)
    assert "AUC" in done.output and "40 targets" in done.output
    candidates = pd.read_csv(results)
    assert len(candidates) == 7 and candidates["rank_test_score"].iloc[0] == 1
    assert candidates["gamma"].iloc[0] == pytest.approx(search.best_params_["gamma"])
    assert {"p", "nu", "split2_test_score", "mean_test_score"} <= set(candidates)
    frame = pd.read_csv(table)[["u", "v"]]
    assert load_model(saved).score_samples(frame)[:40] == pytest.approx(
        search.score_samples(scaled)
    )


def test_grids_criteria_and_folds_can_be_given(table):
    grid = ("--p", 1, "--p", 2, "--nu", 0.2, "--gamma", 0.1, "--gamma", 1.0)
    done = run(table, *LABEL, *grid, "--criterion", "likelihood", "--folds", 4, "--seed", 3)
    assert done.exit_code == 0, done.output
    assert "likelihood, 4 folds, 4 candidates" in done.output
    assert done.output.count("next") == 2 and "nu = 0.2" in done.output
    assert run(table, *LABEL, "--quiet").output == ""


@pytest.mark.parametrize(
    "options, message",
    [
        (("--criterion", "best"), "criterion must be"),
        (("--nu", 0), "nu must be"),
        (("--gamma", -1), "gamma must be"),
        (("--p", 0.5), "p must be"),
        (("--model", "-"), "need the name of a file"),
        (("--results", "no/such/file.csv"), "no folder"),
    ],
    ids=str,
)
def test_errors_are_one_sentence(table, options, message):
    done = run(table, *LABEL, *options)
    assert done.exit_code == 1 and message in done.output
    assert len(done.output.strip().splitlines()) == 1 and "Traceback" not in done.output
