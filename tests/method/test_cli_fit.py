"""The command `lpsvdd fit`: its numbers are the estimator's, its errors are one sentence."""

from __future__ import annotations

import re

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from lpsvdd import LpSVDD, solve
from lpsvdd.cli import build
from lpsvdd.datasets import load
from lpsvdd.preprocessing import PositiveScaler, UnitNorm


def run(*arguments: object):
    return CliRunner().invoke(build(), ["fit", *map(str, arguments)])


def lines(*arguments: object) -> dict[str, str]:
    """The report by its first column."""
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    rows = [re.split(r"  +", line, maxsplit=1) for line in done.output.splitlines()]
    return {row[0]: row[1] for row in rows if len(row) == 2}


def number(text: str) -> float:
    return float(re.search(r"-?\d[\d.e+-]*", text)[0])


@pytest.fixture
def frame() -> pd.DataFrame:
    """40 rows of class a, 12 of class b beside them; the sign says the same."""
    rng = np.random.default_rng(5)
    X = np.vstack([rng.normal(size=(40, 2)), rng.normal(loc=2.5, size=(12, 2))]) * [1.0, 30.0]
    names = ["a"] * 40 + ["b"] * 12
    return pd.DataFrame({"u": X[:, 0], "kind": names, "v": X[:, 1]})


@pytest.fixture
def table(frame, tmp_path):
    path = tmp_path / "points.csv"
    frame.to_csv(path, index=False)
    return path


def test_targets_only(table, frame):
    found = lines(table, "--label", "kind", "--target", "a", "--p", 1.5, "--C", 0.2)
    X, y = frame[["u", "v"]].to_numpy(), np.where(frame["kind"] == "a", 1, -1)
    scaler = PositiveScaler().fit(X[:40])
    model = LpSVDD(p=1.5, C=0.2).fit(scaler.transform(X[:40]))
    Z = scaler.transform(X)
    assert "52 rows, 2 columns; 40 targets (+1), 12 others (-1)" in found["data"]
    assert found["fitted to"] == "40 targets, 0 labelled negatives"
    assert f"gamma = {model.gamma_:.4g}" in found["model"]
    assert number(found["R^2"]) == pytest.approx(model.radius_sq_, rel=1e-3)
    assert found["support vectors"] == f"{len(model.support_)} of 40"
    assert number(found["duality gap"]) <= 1e-9 and "optimal" in found["duality gap"]
    assert found["iterations"] == str(model.n_iter_)
    inside = model.predict(Z) > 0
    assert found["accepted"].startswith(f"{inside[:40].sum()} of 40 targets")
    assert f"{inside[40:].sum()} of 12 others" in found["accepted"]
    auc = roc_auc_score(y, model.score_samples(Z))
    assert number(found["AUC"]) == pytest.approx(auc, abs=1e-4)


def test_negatives_signs_and_preparation(frame, tmp_path):
    path = tmp_path / "signs.csv"
    frame.assign(kind=frame["kind"].map({"a": "+1", "b": "-1"})).to_csv(path, index=False)
    options = ("--label", "kind", "--negatives", "--C-neg", 0.5, "--unit-norm", "--gamma", 0.7)
    found = lines(path, *options, "--no-standardise")
    X, y = frame[["u", "v"]].to_numpy(), np.where(frame["kind"] == "a", 1, -1)
    model = LpSVDD(C_neg=0.5, gamma=0.7).fit(UnitNorm().fit_transform(X), y)
    assert found["fitted to"] == "40 targets, 12 labelled negatives"
    assert number(found["R^2"]) == pytest.approx(model.radius_sq_, rel=1e-3)
    assert found["support vectors"] == f"{len(model.support_)} of 52"


def test_without_labels_every_row_is_a_target(frame, tmp_path):
    path = tmp_path / "plain.csv"
    frame[["u", "v"]].to_csv(path, index=False)
    found = lines(path, "--contamination", 0.25, "--kernel", "linear")
    assert found["fitted to"] == "52 targets, 0 labelled negatives"
    assert found["accepted"] == "39 of 52 rows (75.0 %)"
    assert "AUC" not in found and "gamma" not in found["model"]


def test_catalogue_and_nu():
    wine = load("D7")
    found = lines("wine", "--p", 1, "--nu", 0.2)
    assert found["data"].startswith("D7 wine: 178 rows, 13 columns; 71 targets")
    assert "nu = 0.2" in found["model"]
    assert int(found["accepted"].split()[0]) >= 0.8 * (wine.y > 0).sum()


def test_a_radius_below_zero_is_explained(table):
    options = (table, "--label", "kind", "--target", "a", "--C", 1e-3)
    found = run(*options)
    assert "R^2 <= 0: no point is inside the ball; every row is rejected; raise --C" in found.output
    assert "0 of 40 targets (0.0 %)" in found.output and "note:" not in found.output
    found = run(*options, "--contamination", 0.1)
    assert "the threshold is the quantile of --contamination" in found.output
    assert "36 of 40 targets (90.0 %)" in found.output


def test_scores_of_another_file_and_the_saved_model(table, frame, tmp_path):
    new, scores, saved = tmp_path / "new.csv", tmp_path / "scores.csv", tmp_path / "model.joblib"
    # Columns in another order, one more of them, no target among the labels.
    other = frame[["v", "kind", "u"]].iloc[35:].assign(remark="text")
    other["kind"] = "b"
    other.to_csv(new, index=False)
    options = ("--label", "kind", "--target", "a", "--score", new, "--output", scores)
    done = run(table, *options, "--model", saved)
    assert done.exit_code == 0, done.output
    assert "new.csv: 17 rows, 2 columns; 0 targets (+1), 17 others (-1)" in done.output
    assert done.output.count("AUC") == 1
    written, pipeline = pd.read_csv(scores), joblib.load(saved)
    assert list(written) == ["row", "score", "decision", "prediction", "label"]
    expected = pipeline.score_samples(other[["u", "v"]])
    np.testing.assert_allclose(written["score"], expected, rtol=1e-12)
    assert ((written["decision"] >= 0) == (written["prediction"] > 0)).all()
    assert pipeline.feature_names_in_.tolist() == ["u", "v"]


def test_missing_values_are_refused_or_imputed(frame, tmp_path):
    path = tmp_path / "holes.csv"
    frame.loc[2, "v"] = np.nan
    frame.to_csv(path, index=False)
    options = (path, "--label", "kind", "--target", "a")
    done = run(*options)
    assert done.exit_code == 1
    assert "row 3, column 'v'" in done.output and "--impute mean" in done.output
    assert lines(*options, "--impute", "median")["fitted to"].startswith("40 targets")


def test_a_solver_that_cannot_certify_says_so(table, monkeypatch):
    def starved(K, y, *, p, c, **limits):
        return solve(K, y, p=p, c=c, max_iter=1)

    monkeypatch.setattr("lpsvdd.estimators.solve", starved)
    done = run(table, "--label", "kind", "--target", "a", "--p", 1.1, "--C", 0.3)
    assert "NOT CONVERGED (> 1e-09)" in done.output
    assert "note: lp-SVDD (p=1.1) stopped after 1 iterations" in done.output


LABEL = ("--label", "kind", "--target", "a")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "column 'kind' holds 'a' in row 1, not a finite number"),
        (("--label", "kind"), "name the class to describe with --target"),
        (("--label", "sort"), "no column 'sort'; it has u, kind, v"),
        (("--label", "kind", "--target", "c"), "no row is a target, c; column 'kind' holds a, b"),
        (("--target", "a"), "--label"),
        ((*LABEL, "--p", 0.5), "p"),
        ((*LABEL, "--nu", 0.5), "nu is defined for p = 1"),
        ((*LABEL, "--p", 1, "--nu", 0.5, "--C", 1), "--C or --nu"),
        ((*LABEL, "--C-neg", 1), "--negatives"),
        ((*LABEL, "--gamma", "wide"), "gamma must be"),
        ((*LABEL, "--contamination", 0.9), "contamination"),
        ((*LABEL, "--score", "none.csv"), "there is no file none.csv"),
        ((*LABEL, "--output", "no/such/scores.csv"), "no folder no/such"),
    ],
)
def test_errors_of_options(table, options, message):
    check_error(run(table, *options), message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no table"),
        ("a,b\n", "holds no table"),
        ("1,2\n3,4\n", "the first line must hold column names"),
        ("a,a\n1,2\n", "same name"),
        ("a,b\n1,2\n3\n", "row 2: 1 cells under 2 names"),
        ("a,b\n1,inf\n", "column 'b' holds 'inf' in row 1"),
        (b"a,b\n\xff\xfe,1\n", "UTF-8"),
    ],
)
def test_errors_of_files(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    check_error(run(path), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no-such-set",), "no file no-such-set and no data set of that name"),
        (("wine", "--label", "x"), "--label and --target are for CSV files"),
        (("D4",), "D4"),
        (("hepatitis",), "--impute mean"),
        (("wine", "--C-neg", 1), "--negatives"),
    ],
)
def test_errors_of_the_catalogue(arguments, message):
    check_error(run(*arguments), message)


def test_negatives_without_any_and_a_column_that_is_not_there(frame, table, tmp_path):
    path = tmp_path / "plain.csv"
    frame[["u", "v"]].to_csv(path, index=False)
    check_error(run(path, "--negatives"), "--negatives needs rows labelled -1")
    only = tmp_path / "u.csv"
    frame[["u"]].to_csv(only, index=False)
    check_error(run(path, "--score", only), "u.csv has no column 'v', which plain.csv has")


def check_error(done, message: str) -> None:
    assert done.exit_code == 1, done.output
    assert done.output.startswith("error: ") and message in done.output
    assert done.output.count("\n") == 1 and "Traceback" not in done.output


def test_help_names_every_option_and_an_example():
    done = CliRunner().invoke(build(), ["fit", "--help"], env={"COLUMNS": "100", "TERM": "dumb"})
    assert done.exit_code == 0
    for word in ("--label", "--negatives", "--nu", "--unit-norm", "--score", "--model", "Example:"):
        assert word in done.output
