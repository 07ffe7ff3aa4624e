"""The command `lpsvdd fit`: its numbers are the estimator's, its errors are one sentence."""

from __future__ import annotations

import gzip
import io
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from lpsvdd import LpSVDD, load_model, solve
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


def test_scores_ids_and_the_saved_model(frame, tmp_path):
    path, scores, saved = (tmp_path / name for name in ("d.csv", "scores.csv", "m.lpsvdd"))
    frame.assign(who=[f"n{i}" for i in range(52)]).to_csv(path, index=False)
    options = ("--label", "kind", "--target", "a", "--id", "who", "--output", scores)
    done = run(path, *options, "--model", saved)
    assert done.exit_code == 0, done.output
    written, pipeline = pd.read_csv(scores), load_model(saved)
    assert list(written) == ["who", "row", "score", "decision", "prediction", "label"]
    assert list(written["who"]) == [f"n{i}" for i in range(52)]
    np.testing.assert_array_equal(written["score"], pipeline.score_samples(frame[["u", "v"]]))
    assert ((written["decision"] >= 0) == (written["prediction"] > 0)).all()
    np.testing.assert_array_equal(
        written["decision"], pipeline.decision_function(frame[["u", "v"]])
    )
    assert pipeline.feature_names_in_.tolist() == ["u", "v"]


def test_columns_are_chosen_or_dropped(table, frame):
    options = ("--label", "kind", "--target", "a")
    chosen = run(table, *options, "--columns", "v")
    dropped = run(table, *options, "--drop", "u")
    assert chosen.exit_code == 0 and "52 rows, 1 columns" in chosen.output
    assert chosen.output == dropped.output
    check_error(run(table, *options, "--columns", "v", "--drop", "u"), "--columns")
    check_error(run(table, *options, "--columns", "w"), "no column 'w'; it has u, kind, v")
    check_error(run(table, *options, "--drop", "u,v"), "no column left")


def test_names_with_commas_are_quoted(frame, tmp_path):
    path = tmp_path / "d.csv"
    frame.rename(columns={"u": "length, cm"}).to_csv(path, index=False)
    done = run(path, "--drop", '"length, cm",kind')
    assert done.exit_code == 0 and "52 rows, 1 columns" in done.output


def test_categories_are_indicators_inside_the_saved_pipeline(table, frame, tmp_path):
    saved = tmp_path / "m.lpsvdd"
    done = run(table, "--categorical", "kind", "--model", saved, "--C", 0.5)
    assert done.exit_code == 0 and "52 rows, 3 columns" in done.output
    model = load_model(saved)
    Z = PositiveScaler().fit_transform(frame[["u", "v"]].to_numpy())
    kinds = np.column_stack([frame["kind"] == "a", frame["kind"] == "b"]).astype(float)
    expected = LpSVDD(C=0.5).fit(np.hstack([Z, kinds]))
    np.testing.assert_allclose(
        model.score_samples(frame[["u", "v", "kind"]]),
        expected.score_samples(np.hstack([Z, kinds])),
        rtol=1e-9,
    )
    only = run(table, "--columns", "kind", "--categorical", "kind", "--unit-norm", "--p", 1)
    assert only.exit_code == 0, only.output


def test_a_column_without_a_name_is_not_taken_for_a_feature(frame, tmp_path):
    path = tmp_path / "pandas.csv"
    frame[["u", "v"]].to_csv(path)  # pandas writes its row numbers under no name
    check_error(run(path), "column 1 has no name (row numbers, perhaps)")
    assert run(path, "--drop", "column 1").exit_code == 0
    assert run(path, "--id", "column 1").exit_code == 0


@pytest.mark.parametrize(
    ("sep", "decimal", "options"),
    [
        (";", ",", ()),
        ("\t", ".", ()),
        ("|", ",", ()),
        (";", ".", ("--sep", "semicolon")),
        (" ", ".", ("--sep", " ")),
        ("\t", ",", ("--sep", "\\t", "--decimal", "comma")),
    ],
)
def test_separators_and_decimal_commas_are_detected_or_given(
    frame, tmp_path, sep, decimal, options
):
    plain, other = tmp_path / "plain.csv", tmp_path / "other.csv"
    frame.to_csv(plain, index=False)
    frame.to_csv(other, index=False, sep=sep, decimal=decimal)
    scores = tmp_path / "scores.csv"
    labels = ("--label", "kind", "--target", "a")
    expected, found = run(plain, *labels), run(other, *labels, *options, "--output", scores)
    assert found.exit_code == 0, found.output
    assert found.output.splitlines()[1:-1] == expected.output.splitlines()[1:]
    # The scores are laid out as the table was.
    assert len(pd.read_csv(scores, sep=sep, decimal=decimal)["score"]) == 52


def test_a_wrong_separator_is_named(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("x\n1,5\n2,5\n")
    check_error(run(path), "row 1: 2 cells under 1 names (separator: comma)")
    check_error(run(path), "--decimal")
    path.write_text("x;y\n1,5;2\n2,5;3\n")
    check_error(run(path, "--decimal", "."), "for decimal commas: --decimal ,")
    check_error(run(path, "--sep", "ab"), "--sep takes one character")
    check_error(run(path, "--decimal", "x"), "--decimal takes . or ,")
    check_error(run(path, "--sep", ",", "--decimal", ","), "cannot both be the comma")


def test_classes_match_as_numbers(frame, tmp_path):
    path = tmp_path / "d.csv"
    frame.assign(kind=np.where(frame["kind"] == "a", 1.0, 2.0)).to_csv(path, index=False)
    assert "40 targets" in run(path, "--label", "kind", "--target", 1).output
    assert "12 targets" in run(path, "--label", "kind", "--target", "2.00").output
    frame.assign(kind=np.where(frame["kind"] == "a", 1.0, -1.0)).to_csv(path, index=False)
    assert "40 targets" in run(path, "--label", "kind").output


def test_standard_input_and_output_gzipped_or_not(table, frame):
    for content in (table.read_bytes(), gzip.compress(table.read_bytes())):
        words = ["fit", "-", "--label", "kind", "--target", "a", "--output", "-"]
        done = CliRunner().invoke(build(), words, input=content)
        assert done.exit_code == 0, done.output
        scores = pd.read_csv(io.StringIO(done.stdout))
        assert len(scores) == 52 and list(scores)[-1] == "label"
        assert "standard input: 52 rows" in done.stderr and "R^2" in done.stderr
    quiet = CliRunner().invoke(build(), [*words, "--quiet"], input=content)
    assert quiet.stderr == "" and quiet.stdout == done.stdout


def test_a_sample_of_a_table(table):
    done = run(table, "--label", "kind", "--target", "a", "--sample", 30)
    assert "30 rows, 2 columns" in done.output
    assert "note: 30 of 52 rows were drawn at random" in done.output
    whole = run(table, "--label", "kind", "--target", "a", "--sample", 52)
    assert whole.output == run(table, "--label", "kind", "--target", "a").output


def test_sampling_is_uniform_over_blocks():
    from lpsvdd.cli._rows import Rows, Sample

    counts = np.zeros(60)
    for seed in range(100):
        sample = Sample(10, seed)
        for start in range(1, 61, 7):
            numbers = np.arange(start, min(start + 7, 61))
            sample.add(Rows("t", pd.DataFrame({"u": numbers}), numbers))
        drawn = sample.rows().numbers
        assert len(drawn) == 10 and (np.diff(drawn) > 0).all() and sample.seen == 60
        counts[drawn - 1] += 1
    expected, deviation = 100 / 6, np.sqrt(100 * (1 / 6) * (5 / 6))
    assert np.abs(counts - expected).max() < 4.5 * deviation


def test_a_picture(table, tmp_path):
    picture = tmp_path / "p.png"
    done = run(table, "--label", "kind", "--target", "a", "--plot", picture)
    assert done.exit_code == 0 and f"wrote {picture}" in done.output
    assert picture.read_bytes()[:4] == b"\x89PNG"
    one = run(table, "--columns", "u", "--plot", tmp_path / "one.svg")  # one component only
    assert one.exit_code == 0 and b"<svg" in (tmp_path / "one.svg").read_bytes()
    check_error(run(table, "--columns", "u", "--plot", tmp_path / "p.txt"), "must end in png")
    check_error(run(table, "--columns", "u", "--plot", "-"), "must end in png")


def test_missing_values_are_refused_or_imputed(frame, tmp_path):
    path = tmp_path / "holes.csv"
    frame.loc[2, "v"] = np.nan
    frame.to_csv(path, index=False)
    options = (path, "--label", "kind", "--target", "a")
    done = run(*options)
    assert done.exit_code == 1
    assert "no value in row 3, column 'v'" in done.output and "--missing" in done.output
    assert lines(*options, "--missing", "median")["fitted to"].startswith("40 targets")
    dropped = run(*options, "--missing", "drop")
    assert "39 targets" in dropped.output and "note: 1 rows with a missing value" in dropped.output
    frame["kind"] = frame["kind"].where(frame.index != 5)
    frame.to_csv(path, index=False)
    check_error(run(*options, "--missing", "mean"), "no label in row 6, column 'kind'")
    saved = tmp_path / "m.lpsvdd"
    done = run(path, "--categorical", "kind", "--missing", "mean", "--model", saved)
    assert done.exit_code == 0, done.output
    encoder = load_model(saved)[0].named_transformers_["categories"][-1]
    assert encoder.categories_[0].tolist() == ["", "a", "b"]  # an empty cell is a category


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
        ((), "column 'kind' holds 'a' in row 1, not a finite number; say what the column is"),
        (("--label", "kind"), "name the class to describe with --target"),
        (("--label", "sort"), "no column 'sort'; it has u, kind, v"),
        (("--label", "kind", "--target", "c"), "no row is a target, c"),
        (("--target", "a"), "--label"),
        ((*LABEL, "--p", 0.5), "p"),
        ((*LABEL, "--nu", 1.5), "nu must be a number in (0, 1]"),
        ((*LABEL, "--p", 1, "--nu", 0.5, "--C", 1), "--C or --nu"),
        ((*LABEL, "--C-neg", 1), "--negatives"),
        ((*LABEL, "--gamma", "wide"), "gamma must be"),
        ((*LABEL, "--contamination", 0.9), "contamination"),
        ((*LABEL, "--output", "no/such/scores.csv"), "no folder"),
        ((*LABEL, "--model", "-"), "only --output can be -"),
        ((*LABEL, "--model", "."), "is a folder"),
        ((*LABEL, "--output", "x.csv", "--model", "./x.csv"), "name the same file"),
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
        ("a,b\n1,1_000\n", "column 'b' holds '1_000' in row 1"),
        (b"a,b\n\xff\xfe,1\n", "not a text file in UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "not a text file in UTF-8"),
        (b"\x1f\x8b\x08\x00 no gzip", "gzip"),
        (gzip.compress(b"a,b\n" + b"1,2\n" * 9999, mtime=0)[:60], "a damaged gzip file"),
        ('a,b\n1,2\n3,"4\n' + "5,6\n" * 40_000, "row 2: a cell has more than 131,072 characters"),
        ("a,b\n" + "1" * 10_000_001, "a line has 10,000,000 characters"),
        ("a,b\n1,2\n" + "x" * 200_000 + ",1\n", "more than 131,072 characters"),
        ("a,b\n1,2\n" + "x" * 300 + ",1\n", "x...' in row 2"),
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
        (("hepatitis",), "--missing"),
        (("wine", "--id", "x"), "--id and --categorical are for CSV files"),
        (("wine", "--C-neg", 1), "--negatives"),
    ],
)
def test_errors_of_the_catalogue(arguments, message):
    check_error(run(*arguments), message)


def test_negatives_without_any(frame, tmp_path):
    path = tmp_path / "plain.csv"
    frame[["u", "v"]].to_csv(path, index=False)
    check_error(run(path, "--negatives"), "--negatives needs rows labelled -1")


def check_error(done, message: str) -> None:
    assert done.exit_code == 1, done.output
    assert done.output.startswith("error: ") and message in done.output
    assert done.output.count("\n") == 1 and "Traceback" not in done.output


def test_help_names_every_option_and_an_example():
    done = CliRunner().invoke(build(), ["fit", "--help"], env={"COLUMNS": "100", "TERM": "dumb"})
    assert done.exit_code == 0
    for word in ("--label", "--negatives", "--nu", "--unit-norm", "--sep", "--model", "Example:"):
        assert word in done.output


def test_tuning_chooses_the_width_without_labels(table, frame, tmp_path):
    saved = tmp_path / "m.lpsvdd"
    options = ("--label", "kind", "--target", "a", "--tune", "--model", saved)
    done = run(table, *options, "--p", 1.5, "--nu", 0.2)
    assert done.exit_code == 0, done.output
    search = load_model(saved)[-1]
    assert f"gamma = {search.best_params_['gamma']:.4g}" in done.output
    assert search.best_params_["p"] == 1.5 and search.best_params_["nu"] == 0.2
    assert "of 40 targets" in done.output
    again = CliRunner().invoke(build(), ["score", str(saved), str(table)])
    assert again.exit_code == 0 and again.stdout.count("\n") == 53
    for words in (("--gamma", 0.5), ("--C", 1), ("--kernel", "linear"), ("--negatives",)):
        message = f"--tune chooses a Gaussian kernel for --p and --nu; leave out {words[0]}"
        check_error(run(table, "--label", "kind", "--target", "a", "--tune", *words), message)
