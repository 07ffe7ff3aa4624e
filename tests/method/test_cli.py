"""The command line: its numbers are the package's, its answers those of rows it has not seen."""

from __future__ import annotations

import gzip
import io
import os
import re
import resource
import signal
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from lpsvdd import LpSVDD, LpSVDDCV, load_model, save
from lpsvdd.bounds import bound_of
from lpsvdd.cli import build
from lpsvdd.explain import explain
from lpsvdd.preprocessing import PositiveScaler

LABEL = ("--label", "kind", "--target", "a")
FAST = ("--C", 0.3, "--gamma", 0.5)  # nothing to search for


def run(*words: object, **options):
    return CliRunner().invoke(build(), [*map(str, words)], **options)


def report(*words: object) -> dict[str, str]:
    """The lines of a report by their first column."""
    done = run(*words)
    assert done.exit_code == 0, done.output
    rows = [re.split(r"  +", line, maxsplit=1) for line in done.output.splitlines()]
    return {row[0]: row[1] for row in rows if len(row) == 2}


def check_error(done, message: str) -> None:
    assert done.exit_code == 1, (done.output, done.exception)
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ") and message in line, line


def scores_of(done) -> pd.DataFrame:
    assert done.exit_code == 0, done.output
    return pd.read_csv(io.StringIO(done.stdout))


def number(text: str) -> float:
    return float(re.search(r"-?\d[\d.e+-]*", text)[0])


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """48 rows of class a, 12 of class b beside them."""
    rng = np.random.default_rng(5)
    X = np.vstack([rng.normal(size=(48, 2)), rng.normal(loc=2.5, size=(12, 2))])
    city, kind = rng.choice(["Bonn", "Oslo", "Rome"], 60), ["a"] * 48 + ["b"] * 12
    who = [f"n{i}" for i in range(60)]
    return pd.DataFrame({"who": who, "u": X[:, 0], "v": 30 * X[:, 1], "city": city, "kind": kind})


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    """A table (plain.csv: its numbers) and a model of it; not to be changed."""
    folder = tmp_path_factory.mktemp("fitted")
    frame.to_csv(folder / "d.csv", index=False)
    frame[["u", "v", "kind"]].to_csv(folder / "plain.csv", index=False)
    words = ("--id", "who", *LABEL, "--C", 0.3, "--model", folder / "m.lpsvdd")
    assert run("fit", folder / "d.csv", *words).exit_code == 0
    save(LpSVDD().fit(pd.DataFrame(np.eye(2), columns=["a", "b"])), folder / "ab.lpsvdd")
    return folder


# -- numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("negatives", [False, True])
def test_fit_reports_the_estimators_numbers(folder, frame, negatives):
    words = ("fit", folder / "plain.csv", *LABEL, "--p", 1.5, "--C", 0.2, "--gamma", 0.7)
    shown = report(*words, *["--negatives"] * negatives)
    X, y = frame[["u", "v"]].to_numpy(), np.where(frame["kind"] == "a", 1, -1)
    Z = PositiveScaler().fit(X, y).transform(X)
    used = np.ones(60, dtype=bool) if negatives else y > 0
    model = LpSVDD(p=1.5, C=0.2, gamma=0.7).fit(Z[used], y[used])
    assert "60 rows, 2 columns; 48 targets (+1), 12 others (-1)" in shown["data"]
    assert shown["fitted to"] == f"48 targets, {12 * negatives} labelled negatives"
    assert number(shown["R^2"]) == pytest.approx(model.radius_sq_, rel=1e-3)
    assert shown["support vectors"] == f"{len(model.support_)} of {used.sum()}"
    assert shown["duality gap"].endswith("optimal")
    assert shown["threshold"] == "surface of the ball" and "p = 1.5, C = 0.2" in shown["model"]


def test_what_fit_says_of_new_rows_comes_from_rows_held_out(folder, frame):
    shown = report("fit", folder / "plain.csv", *LABEL, "--nu", 0.2)
    X = frame[["u", "v"]].to_numpy()
    model = make_pipeline(PositiveScaler(), LpSVDD(nu=0.2))
    rejected, aucs = 0, []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X[:48]):
        fold = clone(model).fit(X[train])
        rejected += (fold.predict(X[test]) < 0).sum()
        labels = [1] * len(test) + [-1] * 12
        aucs.append(roc_auc_score(labels, fold.score_samples(np.vstack([X[test], X[48:]]))))
    assert f"({rejected} of 48 held out)" in shown["new targets"]
    assert shown["AUC"] == f"{np.mean(aucs):.4f} (held out)"
    assert rejected > (model.fit(X[:48]).predict(X[:48]) < 0).sum()  # what it used to print


def test_an_auc_is_not_that_of_memory(tmp_path):
    """Labels drawn at random and a kernel so narrow that every fitted row is known by heart."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    table.assign(y=rng.choice([1, -1], 300)).to_csv(tmp_path / "d.csv", index=False)
    words = ("--label", "y", "--gamma", 500, "--model", tmp_path / "m.lpsvdd")
    shown = report("fit", tmp_path / "d.csv", *words)
    assert abs(number(shown["AUC"]) - 0.5) < 0.1 and "held out" in shown["AUC"]
    again = run("score", tmp_path / "m.lpsvdd", tmp_path / "d.csv").stderr
    assert "AUC              1.0000 (in-sample" in again
    fresh = pd.DataFrame(rng.normal(size=(50, 4)), columns=list("abcd"))
    fresh.assign(y=rng.choice([1, -1], 50)).to_csv(tmp_path / "new.csv", index=False)
    again = run("score", tmp_path / "m.lpsvdd", tmp_path / "new.csv").stderr
    assert "AUC" in again and "in-sample" not in again


def test_holdout_sets_a_threshold_that_new_rows_keep(tmp_path):
    rng = np.random.default_rng(1)
    for name, n in (("train.csv", 300), ("new.csv", 2000)):
        table = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
        table.to_csv(tmp_path / name, index=False)
    for more in ((), ("--tune", "--gamma", 0.1)):
        words = ("--holdout", 0.3, "--nu", 0.1, "--model", tmp_path / "m.lpsvdd", "--force", *more)
        shown = report("fit", tmp_path / "train.csv", *words)
        assert shown["threshold"].startswith("set on 90 targets held out, to reject about 0.1")
        assert "new targets" not in shown and shown["fitted to"].startswith("210 targets")
        found = scores_of(run("score", tmp_path / "m.lpsvdd", tmp_path / "new.csv"))
        assert 0.03 < (found["prediction"] < 0).mean() < 0.2
        model = load_model(tmp_path / "m.lpsvdd")
        new = pd.read_csv(tmp_path / "new.csv")
        np.testing.assert_array_equal(found["prediction"], model.predict(new))
    few = run("fit", tmp_path / "train.csv", "--holdout", 0.01)
    check_error(few, "needs 9 targets held out, and --holdout leaves 3")


def test_the_report_says_how_well_it_was_solved(folder, monkeypatch):
    words = ("fit", folder / "plain.csv", *LABEL)
    shown = report(*words, "--solver", "landmarks", "--landmarks", 9)
    match = re.fullmatch(
        r"(\S+) on 9 landmarks, optimal; (\S+) \(exact\) of the problem without landmarks",
        shown["duality gap"],
    )
    assert float(match[1]) < 1e-9 < float(match[2])
    done = run(*words, "--C", 1e-3)
    assert "R^2 <= 0: no point is inside the ball; raise --C" in done.output
    assert "note:" not in done.output
    shown = report(*words, "--C", 1e-3, "--contamination", 0.25)
    assert shown["threshold"] == "rejects 0.25 of the fitted targets"
    monkeypatch.setitem(LpSVDD.__init__.__kwdefaults__, "max_iter", 1)
    words += ("--p", 1.1, "--C", 0.3, "--gamma", 5)
    assert "optimal" in run(*words, "--tol", 0.9).output
    done = run(*words)
    assert "NOT CONVERGED" in done.output and "note: lp-SVDD (p=1.1) stopped" in done.output


def test_tune_chooses_as_the_search_does(folder, frame, tmp_path):
    table, saved = tmp_path / "all.csv", tmp_path / "best.lpsvdd"
    words = (folder / "d.csv", *LABEL, "--id", "who", "--drop", "city")
    done = run("tune", *words, "--results", table, "--model", saved)
    assert done.exit_code == 0, done.output
    Z = PositiveScaler().fit_transform(frame.loc[:47, ["u", "v"]].to_numpy())
    search = LpSVDDCV(random_state=0).fit(Z)
    candidates = pd.read_csv(table)
    assert len(candidates) == len(search.cv_results_["params"])
    assert candidates["gamma"].iloc[0] == pytest.approx(search.best_params_["gamma"])
    assert {"p", "nu", "split2_test_score", "mean_test_score"} <= set(candidates)
    again = load_model(saved).score_samples(frame[["u", "v"]])[:48]
    np.testing.assert_allclose(again, search.score_samples(Z))
    assert scores_of(run("score", saved, folder / "d.csv"))["who"].tolist() == list(frame["who"])
    grid = ("--p", 1, "--p", 2, "--nu", 0.2, "--gamma", 0.1, "--gamma=1.0", "--folds", 4)
    done = run("tune", *words, *grid, "--criterion", "likelihood", "--seed", 3)
    assert "likelihood, 4 folds, 4 candidates" in done.output and "nu = 0.2" in done.output
    fitted = run("fit", *words, "--tune", "--p", 1.5, "--nu", 0.2, "--model", saved, "--force")
    best = load_model(saved)[-1].best_params_
    assert fitted.exit_code == 0 and (best["p"], best["nu"]) == (1.5, 0.2)


def test_bound_prints_the_numbers_of_the_package(folder, frame):
    words = ("--p", 1, "--C", 0.1, "--gamma", 0.5, "--raw", "--margin", 0.5)
    done = run("bound", folder / "d.csv", "--id", "who", "--drop", "city", *LABEL, *words)
    assert done.exit_code == 0, done.output
    model = LpSVDD(p=1.0, C=0.1, gamma=0.5).fit(frame.loc[:47, ["u", "v"]].to_numpy())
    for form in ("paper", "corrected"):
        terms = bound_of(model, margin=[0.5], form=form)
        row = next(row for row in done.output.splitlines() if row.startswith(f"{form} "))
        shown = [float(cell) for cell in row.split()[1:]]
        expected = [0.5, terms.empirical, terms.complexity, terms.confidence, terms.total]
        assert shown == pytest.approx(expected, rel=1e-3, abs=1e-6)
    low, high = model.rejection_risk()
    assert f"{low:.3g} <= P[a new target is rejected] <= {high:.3g}" in done.output
    assert "exceeds 1 and says nothing at n = 48; below 1 from n = " in done.output
    scaled = run("bound", folder / "d.csv", *LABEL, "--margin", 0.25, "--negatives")
    assert "the scaling was learnt from the sample" in scaled.output


# -- columns -----------------------------------------------------------------------------------


NUMBERS = np.random.default_rng(0).permutation(900)[:60]


@pytest.mark.parametrize(
    ("name", "column", "note"),
    [
        ("new", ["x", "y", "z"] * 20, "taken as categories: new"),
        ("new", [True, False, True] * 20, None),
        ("new", range(1, 61), "left out as row numbers: new"),
        ("new", np.random.default_rng(0).permutation(60), None),
        ("new", [f"free text {i}" for i in range(60)], "left out as ids or free text: new"),
        ("new", pd.date_range("2020-02-01", periods=60).astype(str), "left out as dates or times"),
        ("new", [""] * 60, "left out as empty: new"),
        ("new", ["3.5", "TRUE", "1e3"] * 20, None),
        ("customer_id", NUMBERS, "left out as ids: customer_id"),
        ("ID", NUMBERS, "left out as ids: ID"),
        ("solid", NUMBERS, None),
        ("customer_id", NUMBERS // 20, None),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_columns_are_used_or_left_out_with_a_word(frame, tmp_path, name, column, note):
    path = tmp_path / "d.csv"
    frame[["u", "v"]].assign(**{name: column}).to_csv(path, index=False)
    done = run("fit", path, *FAST, "--model", tmp_path / "m.lpsvdd")
    assert done.exit_code == 0, done.output
    used = "left out" not in (note or "")
    assert f"60 rows, {2 + used} columns" in done.output
    assert (note is None) == ("note:" not in done.output) and (note or "") in done.output
    assert scores_of(run("score", tmp_path / "m.lpsvdd", path))["score"].notna().all()
    forced = run("fit", path, "--categorical", name, "--missing", "mean", *FAST)
    assert forced.exit_code == 0 and "60 rows, 3 columns" in forced.output


def test_every_unusable_column_is_named_at_once(frame, tmp_path):
    bad = frame[["u", "v"]].astype(object).assign(price="$3", share="12%", big="1_000", far="inf")
    bad.loc[3, "u"], bad.loc[4, "v"] = "oops", "x" * 300
    bad.to_csv(tmp_path / "d.csv", index=False)
    words = ("'u' (row 4: 'oops')", "'v' (row 5: 'xxx", "'price'", "'share'", "'big'", "'far'")
    for command in ("fit", "tune", "bound"):
        done = run(command, tmp_path / "d.csv")
        for text in words:
            check_error(done, text)
        assert "--categorical, --id, --label" in done.stderr and len(done.stderr) < 500


@pytest.mark.parametrize("options", [FAST, ("--kernel", "linear", "--C", 0.3)], ids=str)
def test_an_unseen_category_never_makes_a_row_more_normal(folder, frame, tmp_path, options):
    model = tmp_path / "m.lpsvdd"
    words = ("--id", "who,kind", *options, "--model", model)
    assert run("fit", folder / "d.csv", *words).exit_code == 0
    scores = {}
    for city in ("Bonn", "Oslo", "Rome", "Paris", "=HYPERLINK()"):
        frame.assign(city=city).to_csv(tmp_path / "new.csv", index=False)
        done = run("score", model, tmp_path / "new.csv")
        scores[city] = scores_of(done)["score"]
        unknown = f"column 'city' holds categories that the model has not met: {city}"
        assert (unknown in done.stderr) == (city not in ("Bonn", "Oslo", "Rome"))
    best_known = np.min([scores[city] for city in ("Bonn", "Oslo", "Rome")], axis=0)
    assert (scores["Paris"] <= best_known + 1e-12).all()
    np.testing.assert_array_equal(scores["Paris"], scores["=HYPERLINK()"])


def test_missing_values_are_refused_filled_or_dropped(folder, frame, tmp_path):
    holes, path = frame.drop(columns="kind"), tmp_path / "holes.csv"
    holes.loc[[3, 7], "v"], holes.loc[5, "city"] = np.nan, np.nan
    holes.to_csv(path, index=False)
    for command in ("fit", "tune", "bound"):
        done = run(command, path)
        check_error(done, "holes.csv lacks values in 'v' (row 4 and 1 more), 'city' (row 6); fill")
    done = run("score", folder / "m.lpsvdd", path)
    check_error(done, "'v' (row 4 and 1 more), 'city' (row 6); fill them in, or use --missing drop")
    skipped = run("score", folder / "m.lpsvdd", path, "--missing", "drop")
    found = scores_of(skipped)
    assert np.flatnonzero(found["score"].isna()).tolist() == [3, 5, 7] and len(found) == 60
    assert "3 rows with a missing value have no score" in skipped.stderr
    verdicts = {line.split(",")[4] for line in skipped.stdout.splitlines()[1:]}
    assert verdicts <= {"1", "-1", ""} and "-1" in verdicts  # whole numbers all the same
    check_error(run("score", folder / "m.lpsvdd", path, "--missing", "mean"), "fills nothing in")
    fill, drop = tmp_path / "fill.lpsvdd", tmp_path / "drop.lpsvdd"
    for policy, model in (("median", fill), ("drop", drop)):
        words = ("--id", "who", "--missing", policy, "--model", model)
        assert run("fit", path, *words).exit_code == 0
    assert scores_of(run("score", fill, path))["score"].notna().all()
    assert scores_of(run("score", drop, path))["score"].isna().sum() == 3
    path.write_text("u,v,city\n,1,Rome\n2,,Oslo\n")  # not one row is complete
    assert scores_of(run("score", drop, path))["score"].isna().all()
    check_error(run("fit", path, "--missing", "drop"), "every row lacks a value")


# -- files that are read -----------------------------------------------------------------------


def foreign(frame: pd.DataFrame) -> dict[str, bytes]:
    """The same table, as other programs write it."""
    text = frame.to_csv(index=False)
    german = frame.to_csv(index=False, sep=";", decimal=",")
    return {
        "gzip": gzip.compress(text.encode()),
        "BOM": text.encode("utf-8-sig"),
        "UTF-16": german.encode("utf-16"),
        "semicolons": german.encode(),
        "Excel": f"sep=;\n{german}".encode(),
        "tabs": frame.to_csv(index=False, sep="\t", decimal=",").encode(),
        "bars": frame.to_csv(index=False, sep="|").encode(),
        "blanks": text.replace(",", "  ").encode(),
        "Windows": text.replace("Rome", "Zürich").encode("cp1252"),
        "blank lines": b"\n\n" + text.replace("\n", "\r\n\r\n").encode(),
    }


@pytest.mark.parametrize("written", foreign(pd.DataFrame({"a": [0]})))
def test_tables_are_read_as_they_are_written(folder, frame, written):
    plain = scores_of(run("score", folder / "m.lpsvdd", folder / "d.csv"))
    done = run("score", folder / "m.lpsvdd", "-", input=foreign(frame)[written])
    assert done.exit_code == 0, done.output
    sign = {"semicolons": ";", "Excel": ";", "UTF-16": ";", "tabs": "\t", "bars": "|"}
    decimal = "," if written in ("semicolons", "Excel", "UTF-16", "tabs") else "."
    found = pd.read_csv(io.StringIO(done.stdout), sep=sign.get(written, ","), decimal=decimal)
    same = frame["city"] != "Rome" if written == "Windows" else slice(None)
    pd.testing.assert_frame_equal(found[same], plain[same], check_exact=True)
    assert ("Windows-1252" in done.stderr) == (written == "Windows")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no table"),
        (b"a,b\n", "holds no table"),
        (b"1,2\n3,4\n", "the first line must hold column names"),
        (b"a,b,a\n1,2,3\n", "columns 1, 3 have the same name, 'a'; rename them"),
        (b"a,b\n1,2\n3,4,5\n", "Expected 2 fields in line 3, saw 3"),
        (b"a,b\n1,2,3\n3,4,5\n", "quotation marks"),
        (b'a,b\n1,2\n3,"4\n5,6\n', "a quotation mark is never closed"),
        (b"PAR1 and more", "is a parquet file; save the table as CSV"),
        (b"PK\x03\x04 xl/", "a zip archive or an Excel workbook"),
        (b"BZh91AY", "an archive that is not read here"),
        (b"\x89PNG\r\n\0\0\0", "is no text file"),
        ("a,b\n1,2\n".encode("utf-16-le"), "is no text file"),
        (b"\x1f\x8b\x08\x00 no gzip", "a damaged gzip file"),
        (gzip.compress(b"a,b\n" + b"1,2\n" * 9999)[:60], "a damaged gzip file"),
        (None, "there is no file"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "",
)
def test_bad_input_is_one_sentence(folder, tmp_path, content, message):
    path = tmp_path / "bad.csv"
    if content is not None:
        path.write_bytes(content)
    for words in (("fit",), ("score", folder / "ab.lpsvdd"), ("tune",), ("bound",)):
        check_error(run(*words, path), message)


def test_tables_are_scored_block_by_block(folder, monkeypatch):
    whole = run("score", folder / "m.lpsvdd", folder / "d.csv").stdout
    sizes, plain = [], LpSVDD.score_samples
    noted = lambda self, X: (sizes.append(len(X)), plain(self, X))[1]  # noqa: E731
    monkeypatch.setattr(LpSVDD, "score_samples", noted)
    monkeypatch.setattr("lpsvdd.tables.BLOCK", 7)
    assert run("score", folder / "m.lpsvdd", folder / "d.csv").stdout == whole
    assert max(sizes) == 7


# -- score -------------------------------------------------------------------------------------


def test_columns_are_found_by_name_ids_pass_and_extra_ones_are_named(folder, frame, tmp_path):
    new = frame[["kind", "city", "v", "who", "u"]].iloc[::-1].assign(remark="x", more=1)
    new.to_csv(tmp_path / "new.csv", index=False)
    done = run("score", folder / "m.lpsvdd", tmp_path / "new.csv")
    found, model = scores_of(done), load_model(folder / "m.lpsvdd")
    assert list(found) == ["who", "row", "score", "decision", "prediction", "label"]
    assert list(found["who"]) == list(new["who"]) and list(found["row"]) == list(range(1, 61))
    np.testing.assert_array_equal(found["score"], model.score_samples(new))
    np.testing.assert_array_equal(found["decision"], model.decision_function(new))
    np.testing.assert_array_equal(found["prediction"], model.predict(new))
    np.testing.assert_array_equal(found["label"], np.where(new["kind"] == "a", 1, -1))
    assert "new.csv: 60 rows, 3 columns; 48 targets (+1), 12 others (-1)" in done.stderr
    assert "note: not used of new.csv: remark, more" in done.stderr
    plain = run("fit", folder / "d.csv", *LABEL, "--id", "who", "--C", 0.3, "--output", "-")
    again = run("score", folder / "m.lpsvdd", folder / "d.csv")
    assert plain.stdout == again.stdout and "R^2" in plain.stderr
    lacking = frame.drop(columns=["u", "city"]).assign(U=1)
    lacking.to_csv(tmp_path / "new.csv", index=False)
    done = run("score", folder / "m.lpsvdd", tmp_path / "new.csv")
    check_error(done, "new.csv lacks 2 of the model's 3 columns: u, city; it has U instead")


def test_ids_and_labels_may_be_absent_or_others(folder, frame, tmp_path):
    frame[["u", "v", "city"]].to_csv(tmp_path / "bare.csv", index=False)
    done = run("score", folder / "m.lpsvdd", tmp_path / "bare.csv")
    assert list(scores_of(done)) == ["row", "score", "decision", "prediction"]
    assert "AUC" not in done.stderr and "note" not in done.stderr
    other = frame.rename(columns={"who": "name", "kind": "sort"})
    other.replace({"sort": {"a": "1.0", "b": ""}}).to_csv(tmp_path / "other.csv", index=False)
    words = ("--id", "name", "--label", "sort", "--target", 1)
    done = run("score", folder / "m.lpsvdd", tmp_path / "other.csv", *words)
    assert scores_of(done)["label"].isna().sum() == 12 and "12 without a label" in done.stderr
    frame.rename(columns={"who": "score"}).to_csv(tmp_path / "clash.csv", index=False)
    done = run("score", folder / "m.lpsvdd", tmp_path / "clash.csv", "--id", "score")
    check_error(done, "the id column 'score' has the name of a column of the scores")


def test_reasons_are_those_of_explain_and_cells_that_a_spreadsheet_would_run_harmless(
    folder, frame, tmp_path
):
    found = scores_of(run("score", folder / "m.lpsvdd", folder / "d.csv", "--explain", 2))
    expected = explain(load_model(folder / "m.lpsvdd"), frame)
    for row in (0, 59):
        text = "; ".join(f"{name} {part:.3g}" for name, _, part in expected.reasons(row, 2))
        assert found["reasons"][row] == text
    who = ["=1+1", "+cmd", "@x", "-5", "+4,9", "-x"] * 10
    table = frame[["u", "v"]].rename(columns={"u": "=u"}).assign(**{"=id": who})
    table.to_csv(tmp_path / "d.csv", index=False)
    words = ("--id", "=id", *FAST, "--model", tmp_path / "m.lpsvdd")
    assert run("fit", tmp_path / "d.csv", *words).exit_code == 0
    done = run("score", tmp_path / "m.lpsvdd", tmp_path / "d.csv", "--explain", 2)
    found = scores_of(done).astype(str)
    assert list(found.iloc[:6, 0]) == ["'=1+1", "'+cmd", "'@x", "-5", "+4,9", "'-x"]
    assert found.columns[0] == "'=id" and not found["reasons"].str.startswith("=").any()
    assert found["reasons"].str.startswith("'=u").any()


def test_models_saved_from_python(frame, tmp_path):
    data, path, model = frame[["u", "v"]], tmp_path / "d.csv", tmp_path / "m.lpsvdd"
    frame.drop(columns="city").to_csv(path, index=False)
    pipeline = make_pipeline(StandardScaler(), LpSVDD()).fit(data)
    save(pipeline, model)
    found = scores_of(run("score", model, path, "--id", "who"))
    np.testing.assert_array_equal(found["score"], pipeline.score_samples(data))
    save(LpSVDD().fit(data.to_numpy()), model)  # no names: the columns in their order
    check_error(run("score", model, path), "takes 2 numbers; d.csv has 4 columns")
    data.to_csv(path, index=False)
    assert len(scores_of(run("score", model, path))) == 60
    save(StandardScaler().fit(data), model)
    check_error(run("score", model, path), "holds a StandardScaler; score needs a detector")


def test_damaged_foreign_and_absent_models(folder, tmp_path):
    data, hostile = folder / "d.csv", tmp_path / "h.lpsvdd"
    check_error(run("score", tmp_path / "none", data), "none: no such file or directory")
    check_error(run("score", data, data), "d.csv is not a model file of lpsvdd")
    hostile.write_bytes((folder / "m.lpsvdd").read_bytes()[:5000])
    check_error(run("score", hostile, data), "h.lpsvdd is a damaged model file")
    save(LpSVDD().fit(np.eye(3)), hostile, notes={"numeric": 3})
    check_error(run("score", hostile, data), "h.lpsvdd holds no usable model")
    model = LpSVDD().fit(np.eye(3))
    model.norm_sq_, model.centre_coef_ = "text", None  # types that are allowed, values that are not
    save(model, hostile)
    (tmp_path / "three.csv").write_text("a,b,c\n1,2,3\n")
    check_error(run("score", hostile, tmp_path / "three.csv"), "h.lpsvdd holds no usable model")


# -- options -----------------------------------------------------------------------------------


ALL = ("fit", "tune", "bound")


@pytest.mark.parametrize(
    ("commands", "words", "message"),
    [
        (ALL, ("DATA", "--label", "kind"), "name the class to describe with --target"),
        (ALL, ("DATA", "--label", "sort", "--drop", "x"), "no column 'x', 'sort'; it has u, v"),
        (ALL, ("DATA", "--label", "kind", "--target", "c"), "no row is a target, c; it has a, b"),
        (ALL, ("DATA", "--target", "a"), "--label"),
        (ALL, ("DATA", *LABEL, "--drop", "u,v"), "no column to describe"),
        (ALL, ("DATA", *LABEL, "--gama", 1), "no option --gama here; did you mean --gamma?"),
        (ALL, ("DATA", *LABEL, "--lable", 1), "did you mean --label?"),
        (ALL, ("DATA", *LABEL, "--p"), "--p needs a value"),
        (ALL, ("DATA", *LABEL, "--p", 0.5), "p"),
        (ALL, ("DATA", *LABEL, "--nu", 0), "nu must be"),
        (("fit",), ("DATA", *LABEL, "--nu", 0.5, "--C", 1), "C or nu, not both"),
        (("fit",), ("DATA", *LABEL, "--C", 1, "--C", 2), "--C was given twice"),
        (("fit",), ("DATA", *LABEL, "--tune", "--C", 1), "there is no option --C here"),
        (("fit",), ("DATA", *LABEL, "--gamma", "wide"), "gamma must be"),
        (("fit",), ("DATA", *LABEL, "--holdout", 2), "--holdout takes a share"),
        (("fit",), ("DATA", "--drop", "kind", "--negatives"), "--negatives needs rows labelled -1"),
        (("tune",), ("DATA", *LABEL, "--criterion", "best"), "criterion must be"),
        (("bound",), ("DATA", *LABEL, "--margin", 0), "margin"),
        (("bound",), ("DATA", *LABEL, "--delta", 1), "delta"),
        (("fit",), ("no-such-set",), "there is no file no-such-set"),
        (("score",), ("MODEL", "ALL", "--drop", "u"), "the model needs u"),
        (("score",), ("MODEL", "ALL", "--categorical", "u"), "takes no categories in u"),
        (("score",), ("MODEL", "ALL", "--id", "nome"), "no column 'nome'; it has who, u"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_wrong_options_get_one_sentence(folder, commands, words, message):
    places = {"DATA": folder / "plain.csv", "ALL": folder / "d.csv", "MODEL": folder / "m.lpsvdd"}
    for command in commands:
        check_error(run(command, *(places.get(word, word) for word in words)), message)


def test_options_stand_anywhere_classes_match_as_numbers_and_quiet_says_nothing(frame, tmp_path):
    path, table = tmp_path / "d.csv", frame[["u", "v"]]
    table.rename(columns={"u": "length, cm"}).to_csv(path, index=False)
    before = run("fit", *FAST, "--solver=dense", path, "--drop", '"length, cm"')
    assert before.exit_code == 0 and "60 rows, 1 columns" in before.output
    assert before.output == run("fit", path, "--drop", '"length, cm"', *FAST).output
    is_a = frame["kind"] == "a"
    for kinds, target, count in (
        ((1.0, 2.0), ("--target", 1), 48),
        ((1.0, 2.0), ("--target", "2.00"), 12),
        (("+1", "-1"), (), 48),
    ):
        table.assign(y=np.where(is_a, *kinds)).to_csv(path, index=False)
        done = run("fit", path, "--label", "y", *target, *FAST)
        assert f"{count} targets" in done.output
        assert done.stderr == "" and "fitting" not in done.stdout  # no terminal, no progress
        assert run("fit", path, "--label", "y", *target, *FAST, "--quiet").output == ""


# -- files that are written --------------------------------------------------------------------

WRITERS = [
    ("fit", "--model", "m"),
    ("fit", "--output", "s.csv"),
    ("tune", "--model", "m"),
    ("tune", "--results", "r.csv"),
    ("score", "--output", "s.csv"),
    ("score", "--plot", "p.png"),
]


def words_of(command: str, folder) -> tuple:
    if command == "score":
        return ("score", folder / "m.lpsvdd", folder / "d.csv")
    options = FAST if command == "fit" else ("--gamma", 0.5, "--nu", 0.2)
    return (command, folder / "plain.csv", *LABEL, *options)


@pytest.mark.parametrize(("command", "option", "name"), WRITERS)
def test_an_existing_file_needs_force_even_if_it_appears_late(
    folder, tmp_path, monkeypatch, command, option, name
):
    path, words = tmp_path / name, words_of(command, folder)
    path.write_text("precious")
    check_error(run(*words, option, path), f"{option} {path} exists; add --force")
    path.unlink()
    plain = LpSVDD.score_samples
    late = lambda self, X: (path.write_text("precious"), plain(self, X))[1]  # noqa: E731
    monkeypatch.setattr(LpSVDD, "score_samples", late)
    check_error(run(*words, option, path), "exists")
    monkeypatch.undo()
    assert path.read_text() == "precious" and os.listdir(tmp_path) == [name]
    path.chmod(0o600)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        done = run(*words, option, path, "--force")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    check_error(done, "file too large")  # as on a full disk: the old file stays
    assert path.read_text() == "precious" and os.listdir(tmp_path) == [name]
    assert run(*words, option, path, "--force").exit_code == 0
    assert path.read_bytes() != b"precious" and path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("command", "option", "name"), WRITERS)
def test_outputs_are_checked_before_anything_is_read(folder, tmp_path, command, option, name):
    words = words_of(command, folder)
    check_error(run(*words, option, tmp_path / "no" / name), "there is no folder")
    check_error(run(*words, option, tmp_path), "is a folder")
    if option != "--output":
        check_error(run(*words, option, "-"), "only --output can be -")
    os.link(words[-1] if command == "score" else words[1], tmp_path / name)
    check_error(run(*words, option, tmp_path / name, "--force"), "is an input of this command")


def test_two_outputs_are_two_files_and_pictures_have_a_known_name(folder, tmp_path):
    words = ("--output", tmp_path / "x", "--model", f"{tmp_path}/./x")
    done = run("fit", folder / "plain.csv", *LABEL, *words)
    check_error(done, "name the same file")
    score = words_of("score", folder)
    check_error(run(*score, "--plot", tmp_path / "p.txt"), "must end in .png")
    done = run(*score, "--plot", tmp_path / "p.svg", "--output", tmp_path / "s.csv.gz")
    assert f"wrote {tmp_path / 'p.svg'}" in done.output
    assert b"<svg" in (tmp_path / "p.svg").read_bytes()
    plain = run(*score).stdout
    assert gzip.decompress((tmp_path / "s.csv.gz").read_bytes()).decode() == plain


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("no space")])
@pytest.mark.parametrize(
    ("words", "left"),
    [
        (("score", "--output", "s.csv"), None),
        (("fit", "--model", "m", "--output", "s.csv"), None),
        (("score", "--output", "s.csv", "--plot", "p.png"), "s.csv"),
        (("fit", "--model", "m", "--output", "s.csv"), "m"),
        (("tune", "--results", "r", "--model", "m"), "r"),
    ],
    ids=str,
)
def test_whatever_stops_a_command_it_says_which_files_are_there(
    folder, tmp_path, monkeypatch, words, left, error
):
    """Stopped where a file is made: the first, or the one after the one that is left."""
    plain = os.open

    def stopped(path, flags, *mode, **more):
        if flags & os.O_EXCL and (left is None or os.path.exists(tmp_path / left)):
            raise error
        return plain(path, flags, *mode, **more)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "open", stopped)
    done = run(*words_of(words[0], folder), *words[1:])
    assert os.listdir(tmp_path) == ([left] if left else [])
    if error is KeyboardInterrupt:
        assert done.exit_code == 130
        said = f"already written: {left}" if left else "no file was changed"
        assert f"stopped; {said}" in done.stderr
    else:
        check_error(done, f"no space (already written: {left})" if left else "no space")


def test_an_error_in_a_late_row_leaves_the_old_file(folder, frame, tmp_path):
    late = pd.concat([frame] * 100).astype({"u": object})
    late.iloc[5000, 1] = "oops"
    late.to_csv(tmp_path / "late.csv", index=False)
    out = tmp_path / "s.csv"
    out.write_text("old")
    done = run("score", folder / "m.lpsvdd", tmp_path / "late.csv", "--output", out, "--force")
    check_error(done, "not a finite number: 'u' (row 5001: 'oops')")
    assert out.read_text() == "old" and sorted(os.listdir(tmp_path)) == ["late.csv", "s.csv"]


def forked(words, *, stdin: int, stdout: int, stderr: int) -> int:
    """Exit code of a command in a process of its own, with these files for its streams."""
    child = os.fork()
    if child == 0:
        signal.alarm(100)
        code = 120  # what Python ends with where it cannot flush
        try:
            for number, file in enumerate((stdin, stdout, stderr)):
                os.dup2(file, number)
            sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")
            try:
                build()([*map(str, words)])
            except SystemExit as end:
                sys.stdout.flush()
                sys.stderr.flush()
                code = int(end.code or 0)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_pipes_that_close_or_are_full_and_an_input_appended_to(folder, frame, tmp_path):
    long, said = tmp_path / "long.csv", tmp_path / "said"
    pd.concat([frame] * 40).to_csv(long, index=False)
    nobody, pipe = os.pipe()
    os.close(nobody)
    for words, out, code, message in (
        (("-",), pipe, 141, ""),
        ((long,), os.open("/dev/full", os.O_WRONLY), 1, "error: no space left on device"),
        ((long,), os.open(long, os.O_WRONLY | os.O_APPEND), 1, "is an input of this command"),
    ):
        with open(long) as table, open(said, "w") as errors:
            given = {"stdin": table.fileno(), "stdout": out, "stderr": errors.fileno()}
            assert forked(("score", folder / "m.lpsvdd", *words), **given) == code
        os.close(out)
        lines = said.read_text().splitlines()
        assert not lines if not message else message in lines[-1]
        assert "Traceback" not in said.read_text()
