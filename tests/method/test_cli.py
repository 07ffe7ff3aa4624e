"""The command line: its numbers are the package's, its answers those of rows it has not seen."""

import io
import os
import re
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lpsvdd
from lpsvdd import LpSVDD, LpSVDDCV, load_model, save
from lpsvdd.cli import command_parser, main
from lpsvdd.explain import explain

LABEL = ("--label", "kind", "--target", "a")


@pytest.fixture
def run(capsys):
    """Run a command that must succeed; return what it prints on stdout and stderr."""

    def run(*words: object, code: int = 0) -> tuple[str, str]:
        assert main([*map(str, words)]) == code
        return capsys.readouterr()

    return run


@pytest.fixture
def refused(run):
    """Run a command that must fail with one sentence; return the sentence."""

    def refused(*words: object) -> str:
        out, err = run(*words, code=1)
        (line,) = err.splitlines()
        assert out == "" and line.startswith("error: ")
        return line

    return refused


def lines_of(report: str) -> dict[str, str]:
    """What a report says, by the words at the start of the line."""
    return dict(re.findall(r"^(.+?)  +(.+)$", report, re.MULTILINE))


def table_of(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text))


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
    words = [str(folder / "d.csv"), "--id", "who", *LABEL, "--model", str(folder / "m.lpsvdd")]
    assert main(["fit", *words, "--quiet"]) == 0
    return folder


def test_fit_report_is_that_of_the_estimator_and_its_rate_that_of_five_folds(folder, frame, run):
    words = (*LABEL, "--p", 1.5, "--nu", 0.2, "--gamma", 0.7)
    shown = lines_of(run("fit", folder / "plain.csv", *words)[0])
    X = frame[["u", "v"]].to_numpy()
    model = LpSVDD(p=1.5, nu=0.2, gamma=0.7).fit(StandardScaler().fit_transform(X[:48]))
    assert shown["data"] == "60 rows, 48 of them normal" and shown["columns"] == "2 used: u, v"
    assert shown["model"] == f"p = 1.5, nu = 0.2, gamma = 0.7, C = {model.C_:.4g}"
    assert shown["support vectors"] == f"{len(model.support_)} of 48"
    gap, word = shown["duality gap"].split(", ")
    assert 0.0 <= float(gap) <= model.tol and word == "optimal"
    rejected, aucs = 0, []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X[:48]):
        fold = make_pipeline(StandardScaler(), clone(model)).fit(X[train])
        rejected += (fold.predict(X[test]) < 0).sum()
        labels = [1] * len(test) + [-1] * 12
        aucs.append(roc_auc_score(labels, fold.score_samples(np.vstack([X[test], X[48:]]))))
    low, high = binomtest(int(rejected), 48).proportion_ci(method="exact")
    assert f"({rejected} of 48 held out" in shown["new normal rows"]
    assert f"95 % interval {low:.1%} to {high:.1%}" in shown["new normal rows"]
    assert float(shown["AUC"].split()[0]) == pytest.approx(np.mean(aucs), abs=1e-4)


def test_fit_that_does_not_converge_says_so(folder, monkeypatch, run):
    monkeypatch.setitem(LpSVDD.__init__.__kwdefaults__, "max_iter", 1)
    out, _ = run("fit", folder / "plain.csv", *LABEL, "--p", 1.1, "--gamma", 5)
    assert "NOT CONVERGED" in out and "note: " in out


def test_fit_tune_is_the_search(folder, frame, tmp_path, run):
    words = (folder / "plain.csv", *LABEL, "--tune", "--trim", 0.1, "--p", 1.5)
    out, _ = run("fit", *words, "--model", tmp_path / "m.lpsvdd")
    X = StandardScaler().fit_transform(frame[["u", "v"]][:48].to_numpy())
    search = LpSVDDCV(p=1.5, nus=[0.1], trim=0.1, random_state=0).fit(X)
    best = load_model(tmp_path / "m.lpsvdd")[-1].best_params_
    assert best == pytest.approx(search.best_params_)
    assert f"gamma = {best['gamma']:.4g}" in out and "of 48 held out" in out


def test_score_is_the_pipelines_score_with_ids_labels_and_reasons(folder, frame, run):
    out, err = run("score", folder / "m.lpsvdd", folder / "d.csv", "--explain", 2)
    found, model = table_of(out), load_model(folder / "m.lpsvdd")
    assert [*found] == ["who", "row", "score", "decision", "prediction", "reasons", "label"]
    np.testing.assert_allclose(found["score"], model.score_samples(frame), rtol=1e-9)
    np.testing.assert_allclose(found["decision"], model.decision_function(frame), atol=1e-9)
    assert found["prediction"].tolist() == model.predict(frame).tolist()
    assert found["who"].tolist() == frame["who"].tolist()
    assert found["label"].tolist() == [1] * 48 + [-1] * 12
    normal = int((found["prediction"][:48] < 0).sum())
    assert f"rejected normal  {normal} of 48 (" in err
    parts = explain(model, frame[["u", "v", "city"]])
    for row in (0, 59):
        expected = [f"{name} {part:.3g}" for name, _, part in parts.reasons(row, 2)]
        assert found["reasons"][row] == "; ".join(expected)


def test_score_auc_is_that_of_rows_that_are_not_in_training(folder, frame, tmp_path, run):
    """Labels drawn at random, and a kernel so narrow that a fitted row is known by heart."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))
    table["y"] = rng.choice([1, -1], 200)
    table[:100].to_csv(tmp_path / "old.csv", index=False)
    table.to_csv(tmp_path / "all.csv", index=False)
    words = ("--label", "y", "--gamma", 500, "--model", tmp_path / "m.lpsvdd", "--quiet")
    run("fit", tmp_path / "old.csv", *words)
    err = run("score", tmp_path / "m.lpsvdd", tmp_path / "all.csv")[1]
    seen = int((table["y"][:100] == 1).sum())
    shown = lines_of(err)
    assert shown["in training"].startswith(f"at least {seen} rows")
    assert shown["AUC"].endswith(f"on {200 - seen} rows that the model does not keep")
    scores = load_model(tmp_path / "m.lpsvdd").score_samples(table)
    new = ~((table["y"] == 1) & (table.index < 100))
    expected = roc_auc_score(table["y"][new], scores[new])
    assert float(shown["AUC"].split()[0]) == pytest.approx(expected, abs=1e-4)
    assert roc_auc_score(table["y"], scores) > expected + 0.1  # what memory would add


def test_fit_output_and_score_output_agree(folder, tmp_path, run):
    words = ("--id", "who", *LABEL, "--output", tmp_path / "a.csv.gz")
    assert run("fit", folder / "d.csv", *words, "--quiet") == ("", "")
    run("score", folder / "m.lpsvdd", folder / "d.csv", "--output", tmp_path / "b.csv")
    a, b = pd.read_csv(tmp_path / "a.csv.gz"), pd.read_csv(tmp_path / "b.csv")
    pd.testing.assert_frame_equal(a, b)
    first = (tmp_path / "a.csv.gz").read_bytes()
    run("fit", folder / "d.csv", *words, "--quiet")  # replaces the file by the same bytes
    assert (tmp_path / "a.csv.gz").read_bytes() == first


@pytest.mark.parametrize(("column", "note"), [
    (["x", "y", "z"] * 20, "taken as categories: new"),
    ([True, False, True] * 20, "taken as categories: new"),
    ([True, None, False] * 20, "values are missing in 'new' (20 rows, first 2)"),
    ([f"free text {i}" for i in range(60)], "left out as identifiers or free text: new"),
    (range(1, 61), "left out as row numbers: new"),
    (np.random.default_rng(0).permutation(60), None),
    ([f"{day:02}.11.2026" for day in range(1, 31)] * 2, "left out as dates: new"),
    (["2026-11-19", "2026-11-20 08:15", "2025-01-02T03:04"] * 20, "left out as dates: new"),
    ([4] * 60, "left out as constant: new"),
    ([""] * 60, "left out as constant: new"),
    (["$1,200", "-$3.50", "$ 7"] * 20, "text read as numbers: new"),
    (["12 %", "7.5%", "0%"] * 20, "text read as numbers: new"),
    (["1,200", "12,345,678.9", "3"] * 20, "text read as numbers: new"),
    (["1e3", "3.5", "-2"] * 20, None),
    (["12 %", "0.3", "5 %"] * 20, "column 'new' mixes the units %, none"),
    (["$5", "€4", "$3"] * 20, "column 'new' mixes the units $, €"),
    (["3,5", "1", "2"] * 20, "not all cells are finite numbers in 'new' (row 1: '3,5')"),
    (["1", "2", "oops"] * 20, "not all cells are finite numbers in 'new' (row 3: 'oops')"),
    ([1.0, 2.0, np.inf] * 20, "not all cells are finite numbers in 'new' (row 3: 'inf')"),
], ids=lambda value: str(value)[:20])  # fmt: skip
def test_fit_column_is_used_left_out_or_refused_with_a_word(
    frame, tmp_path, run, refused, column, note
):
    frame[["u", "v"]].assign(new=column).to_csv(tmp_path / "d.csv", index=False)
    words = ("fit", tmp_path / "d.csv", "--model", tmp_path / "m.lpsvdd")
    if note and note.startswith(("values are", "column", "not all")):
        assert note in refused(*words)
        return
    out, _ = run(*words)
    assert ("note:" in out) == (note is not None) and (note or "") in out
    used = "left out" not in (note or "")
    assert f"{2 + used} used: u, v" in out
    run("score", tmp_path / "m.lpsvdd", tmp_path / "d.csv")


def test_score_unseen_category_is_never_more_normal_than_a_known_one(folder, frame, tmp_path, run):
    scores = {}
    for city in ("Bonn", "Oslo", "Rome", "Paris", "7"):
        frame.assign(city=city).to_csv(tmp_path / "new.csv", index=False)
        out, err = run("score", folder / "m.lpsvdd", tmp_path / "new.csv")
        scores[city] = table_of(out)["score"]
        unknown = f"column 'city' holds categories that are not in training: {city}"
        assert (unknown in err) == (city not in ("Bonn", "Oslo", "Rome"))
    least_known = np.min([scores[city] for city in ("Bonn", "Oslo", "Rome")], axis=0)
    assert (scores["Paris"] <= least_known + 1e-12).all()
    np.testing.assert_array_equal(scores["Paris"], scores["7"])


def test_missing_values_are_an_error_dropped_or_filled_in(frame, tmp_path, run, refused):
    holes, path, model = frame.drop(columns="kind"), tmp_path / "d.csv", tmp_path / "m.lpsvdd"
    holes.loc[[3, 7], "v"], holes.loc[5, "city"] = np.nan, np.nan
    holes.to_csv(path, index=False)
    words = ("fit", path, "--id", "who", "--model", model)
    said = refused(*words)
    assert "missing in 'v' (2 rows, first 4), 'city' (1 rows, first 6)" in said
    assert "--missing drop, or --missing median" in said and not model.exists()
    assert "dropped for missing values: 3 rows" in run(*words, "--missing", "drop")[0]
    out, err = run("score", model, path)
    assert np.flatnonzero(table_of(out)["score"].isna()).tolist() == [3, 5, 7]
    assert "57 of 60 rows, 3 lack a value and have no score" in err
    run(*words, "--missing", "median", "--quiet")
    assert table_of(run("score", model, path)[0])["score"].notna().all()
    filled = holes.assign(v=holes["v"].fillna(holes["v"].median()))
    filled.to_csv(tmp_path / "filled.csv", index=False)
    assert run("score", model, tmp_path / "filled.csv")[0] == run("score", model, path)[0]


@pytest.mark.parametrize(("name", "layout", "words"), [
    ("d.csv.gz", {}, ()), ("d.csv.zip", {}, ()), ("d.tsv", {"sep": "\t"}, ()),
    ("bom.csv", {"encoding": "utf-8-sig"}, ()),
    ("german.csv", {"sep": ";", "decimal": ","}, ("--sep", ";", "--decimal", ",")),
])  # fmt: skip
def test_layout_of_the_same_table_gives_the_same_scores(
    name, layout, words, folder, frame, tmp_path, run
):
    frame[frame.columns[::-1]].to_csv(tmp_path / name, index=False, **layout)
    expected = run("score", folder / "m.lpsvdd", folder / "d.csv")[0]
    assert run("score", folder / "m.lpsvdd", tmp_path / name, *words)[0] == expected


@pytest.mark.parametrize(("content", "message"), [
    (b"", "cannot be read"),
    (b"a,b\n", "needs a first line of column names, then at least one row"),
    (b"1,2\n3,4\n", "needs a first line of column names"),
    (b"a ,a\n3,4\n", "has two columns with the same name"),
    (b"a;b\n1;2\n", "has one column only: are cells separated by ';'?"),
    (b"a,b\n1,2\n1,2,3\n", "as many cells in each row"),
    (b'a,b\n1,"2\n1,2\n', "cannot be read"),
    ("a,b\n1,ü\n".encode("cp1252"), "is not text in UTF-8"),
    (b"\x1f\x8b\x08 and no more", "d.csv"),
    (b"a,b\n1,1\n1,1\n", "the table has no column to learn from; left out as constant: a, b"),
])  # fmt: skip
def test_fit_unreadable_table_gets_a_sentence(tmp_path, refused, content, message):
    (tmp_path / "d.csv").write_bytes(content)
    assert message in refused("fit", tmp_path / "d.csv")


@pytest.mark.parametrize(("name", "module"), [("d.xlsx", "openpyxl"), ("d.parquet", "pyarrow")])
def test_workbook_or_parquet_file_is_a_table_or_says_what_is_needed(
    name, module, frame, tmp_path, run, refused
):
    write = {"d.xlsx": frame.to_excel, "d.parquet": frame.to_parquet}[name]
    try:
        write(tmp_path / name, index=False)
    except ImportError:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("xl/workbook.xml", "")
        assert module in refused("fit", tmp_path / name)
    else:
        run("fit", tmp_path / name, *LABEL, "--id", "who")


@pytest.mark.parametrize(("words", "message"), [
    (("fit", "no.csv"), "error: No such file or directory: 'no.csv'"),
    (("fit", "d.csv", "--id", "x,who"), "there is no column x: the table has who, u, v"),
    (("fit", "d.csv", "--label", "kind"), "holds a, b and not just 1 and -1: name the class"),
    (("fit", "d.csv", "--label", "kind", "--target", "c"), "'c' in some; it holds a, b"),
    (("fit", "d.csv", "--target", "a"), "give both"),
    (("fit", "d.csv", *LABEL, "--nu", 2), "nu"),
    (("fit", "d.csv", *LABEL, "--gamma", "wide"), "wide"),
    (("fit", "d.csv", *LABEL, "--tune", "--gamma", 1), "give --tune or --gamma, not both"),
    (("fit", "d.csv", *LABEL, "--trim", 0.1), "--trim needs --tune"),
    (("fit", "d.csv", *LABEL, "--model", "d.csv"), "--model d.csv is an input as well"),
    (("fit", "d.csv", *LABEL, "--model", "x", "--output", "./x"), "is --model as well"),
    (("fit", "d.csv", *LABEL, "--model", "no/m"), "--model no/m cannot be written"),
    (("score", "m.lpsvdd", "row.csv", "--id", "row"), "has a column row of its own"),
    (("score", "d.csv", "d.csv"), "d.csv is not a model file"),
    (("score", "m.lpsvdd", "ab.csv"), "there is no column u, v, city: the table has a, b"),
    (("score", "m.lpsvdd", "d.csv", "--output", "m.lpsvdd"), "is an input as well"),
    (("score", "array.lpsvdd", "ab.csv"), "must hold a detector that was fitted to a data f"),
    (("score", "m.lpsvdd", "d.csv", "--label", "x"), "there is no column x"),
], ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "")  # fmt: skip
def test_wrong_words_get_a_sentence_and_change_no_file(
    folder, tmp_path, monkeypatch, refused, words, message
):
    monkeypatch.chdir(tmp_path)
    for name in ("d.csv", "m.lpsvdd"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "row.csv").write_text("u,v,city,row\n1,2,Bonn,3\n")
    (tmp_path / "ab.csv").write_text("a,b\n1,2\n3,5\n")
    save(LpSVDD().fit(np.eye(2)), tmp_path / "array.lpsvdd")
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    assert message in refused(*words)
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before


def test_version_and_commands_are_those_of_the_package(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"lpsvdd {lpsvdd.__version__}\n"
    (commands,) = (a for a in command_parser()._actions if getattr(a, "choices", None))
    assert set(commands.choices) == {"fit", "score"}
