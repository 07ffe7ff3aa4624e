"""A user's own detector and data set: their column and row in both tables, and clear refusals."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from replication import own
from replication.cli import build
from replication.protocol import Task, auc, prepare, run_trial, split
from replication.results import read, read_record

DETECTORS = '''
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import IsolationForest as Forest
from sklearn.svm import SVC


class Nearest(BaseEstimator):
    """Minus the distance to the k-th nearest training row."""
    grid = {"k": [1, 3]}

    def __init__(self, k=1):
        self.k = k

    def fit(self, X, y=None):
        assert y is None
        self.X_ = X
        return self

    def score_samples(self, X):
        d = np.linalg.norm(X[:, None] - self.X_[None], axis=2)
        return -np.sort(d, axis=1)[:, self.k - 1]


class Labelled(Nearest):
    """Nearer to targets than to outliers."""
    uses_labels = True
    grid = [{"k": 1}]

    def fit(self, X, y=None):
        self.other_ = X[:0] if y is None else X[y < 0]
        return super().fit(X if y is None else X[y > 0])

    def score_samples(self, X):
        own = super().score_samples(X)
        if not len(self.other_):
            return own
        return own + np.linalg.norm(X[:, None] - self.other_[None], axis=2).min(axis=1)


class Vectors(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.model_ = SVC().fit(X, y)
        return self

    def decision_function(self, X):
        return self.model_.decision_function(X)


class Random(BaseEstimator):
    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X):
        return self

    def score_samples(self, X):
        return np.random.default_rng(self.random_state).normal(size=len(X))


class KPCA(Nearest):
    def score_samples(self, X):
        return X
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder: a module of detectors, and a table with two classes and a gap in it."""
    (tmp_path / "detectors_of_mine.py").write_text(DETECTORS)
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(60, 3)), rng.normal(2.0, 1.0, size=(30, 3))]
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table.loc[3, "b"] = np.nan
    table["kind"] = ["good"] * 60 + ["bad"] * 30
    table.to_csv(tmp_path / "mine.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "detectors_of_mine", raising=False)
    return tmp_path


def invoke(*words: str):
    return CliRunner().invoke(build(), ["run", "--jobs", "1", "--trials", "1", *words])


def test_a_column_and_a_row_in_both_tables(here: Path) -> None:
    done = invoke(
        "--dataset", "mine.csv", "--dataset", "wine", "--target", "good",
        "--method", "detectors_of_mine:Nearest", "--save", "out",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    digest = hashlib.sha256((here / "mine.csv").read_bytes()).hexdigest()
    for setting, methods in (("pure", 9), ("negatives", 7)):
        table = read(here / "out" / f"{setting}.csv")
        assert set(table["dataset"]) == {"D7", "mine"} and len(table) == 2 * (methods + 1)
        ours = table[table["method"] == "Nearest"]
        assert len(ours) == 2 and (ours["status"] == "as fitted").all()
        assert (ours["cells"] == 2).all() and (ours["uncertified"] == 0).all()
        record = read_record(here / "out" / f"{setting}.csv")
        assert record["signature"]["files"]["mine"] == digest
        assert record["signature"]["methods"]["Nearest"]["class"] == "detectors_of_mine:Nearest"
        assert record["command"] == (
            "python -m replication run --dataset D7 --dataset mine.csv --method "
            f"detectors_of_mine:Nearest --target good --setting {setting} --trials 1 --save out"
        )
        assert str(here) not in json.dumps(record)
    note = done.stdout.index("rows that are only standardised")
    assert done.stdout.index("mine, l2-SVDD:") < note < done.stdout.index("Nearest"), (
        "the note on the unit norm stands before the table"
    )
    stored = read("pure").query("dataset == 'D7' and trial < 1 and method == 'lp-SVDD'")
    rerun = read(here / "out" / "pure.csv").query("dataset == 'D7' and method == 'lp-SVDD'")
    assert rerun["auc"].tolist() == stored["auc"].tolist()  # taken over, not computed again


def test_the_referee_the_seeds_and_the_splits_are_those_of_the_paper(here: Path) -> None:
    """By hand: the same split and preparation, the cell chosen on the validation rows."""
    data = own.read_set(here / "mine.csv", target="good")
    (method,) = own.find_methods(["detectors_of_mine:Nearest"], ["pure"])["pure"]
    task = Task("mine", "pure", 1)
    (row,) = run_trial(task, methods=[method], own={"mine": data})
    trial = prepare(task, data=data)
    parts = split(data.y, "mine", 1)
    assert np.array_equal(trial.y_test, data.y[parts.test])
    assert np.allclose(np.linalg.norm(trial.kernels.X_eval, axis=1), 1.0)
    distances = np.linalg.norm(trial.kernels.X_eval[:, None] - trial.kernels.X[None], axis=2)
    m = len(trial.y_validation)
    by_hand = {k: -np.sort(distances, axis=1)[:, k - 1] for k in (1, 3)}
    best = max((1, 3), key=lambda k: auc(by_hand[k][:m], trial.y_validation))
    assert row["params"] == f'{{"k":{best}}}'
    assert row["auc"] == round(auc(by_hand[best][m:], trial.y_test), 4)
    assert row["seed"] == trial.seed
    chance = own.find_methods(["detectors_of_mine:Random"], ["pure"])["pure"]
    tasks = [Task("mine", "pure", number) for number in (0, 0, 1)]
    first, again, other = (
        run_trial(task, methods=chance, own={"mine": data})[0]["auc"] for task in tasks
    )
    assert first == again != other


def test_labels_go_to_those_who_use_them(here: Path) -> None:
    data = {"mine": own.read_set(here / "mine.csv", target="good")}
    names = [f"detectors_of_mine:{name}" for name in ("Nearest", "Labelled", "Vectors")]
    found = own.find_methods(names, ["pure", "negatives"])
    assert [method.name for method in found["pure"]] == ["Nearest", "Labelled"]
    assert [method.name for method in found["negatives"]] == ["Nearest", "Labelled", "Vectors"]
    pure, both = (
        {row["method"]: row["auc"] for row in run_trial(Task("mine", s, 0), methods=m, own=data)}
        for s, m in found.items()
    )
    assert both["Nearest"] == pure["Nearest"] and both["Labelled"] != pure["Labelled"]
    assert both["Vectors"] > 60.0  # higher means more normal, for a classifier too


def test_a_grid_in_a_file_replaces_the_one_of_the_class(here: Path) -> None:
    for text in ('{"k": [2, 4, 6]}', "k: [2, 4, 6]", "[{k: 2}, {k: 4}, {k: 6}]"):
        (here / "grid.yml").write_text(text)
        cells = own.read_grid(here / "grid.yml")
        (method,) = own.find_methods(["detectors_of_mine:Nearest"], ["pure"], cells)["pure"]
        assert method.grid == [{"k": 2}, {"k": 4}, {"k": 6}]


def test_a_unit_norm_that_hurts_is_named(here: Path) -> None:
    """Outliers on the same rays as the targets, further out: the unit norm makes them equal."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 2))
    table = pd.DataFrame(np.r_[X, 6.0 * X[:45]]).assign(y=[1] * 90 + [-1] * 45)
    table.to_csv(here / "rays.csv", index=False)
    done = invoke("--dataset", "rays.csv", "--setting", "pure")
    assert "The unit norm hurts here: --no-unit-norm" in done.stdout
    plain = ("--no-unit-norm", "--save", "plain")
    done = invoke("--dataset", "rays.csv", "--setting", "pure", *plain)
    assert done.exit_code == 0 and "hurts" not in done.stdout
    record = read_record(here / "plain" / "pure.csv")
    assert record["signature"]["options"]["unit_norm"] is False
    assert "--no-unit-norm" in record["command"]
    assert read(here / "plain" / "pure.csv").query("method == 'l2-SVDD'")["auc"].mean() > 80.0


WRONG = {
    "not a class": (["--method", "numpy:mean", "--dataset", "D7"], "a detector is a class with"),
    "unknown method": (["--method", "horoscope", "--dataset", "D7"], "unknown method 'horoscope'"),
    "name of the paper": (["--method", "detectors_of_mine:KPCA", "--dataset", "D7"], "one name"),
    "classifier alone": (
        ["--method", "detectors_of_mine:Vectors", "--dataset", "D7", "--setting", "pure"],
        "takes part in the setting negatives only",
    ),
    "no such file": (["--dataset", "nowhere.csv"], "there is no file nowhere.csv"),
    "target not named": (["--dataset", "mine.csv"], "good (60 rows), bad (30 rows)"),
    "no such target": (
        ["--dataset", "mine.csv", "--target", "Good"],
        "--target Good is not one of two classes or more (column 'kind' has the classes good",
    ),
    "grid of nobody": (["--dataset", "D7", "--grid", "grid.yml"], "--grid is the grid of one"),
    "wrong parameter": (
        ["--dataset", "D7", "--method", "detectors_of_mine:Nearest", "--grid", "grid.yml"],
        "Nearest does not take {'depth': 3}",
    ),
    "a study": (["--study", "relabelling", "--dataset", "mine.csv"], "a study has its own methods"),
}


@pytest.mark.parametrize("words, sentence", WRONG.values(), ids=list(WRONG))
def test_mistakes_get_one_sentence(here: Path, words: list[str], sentence: str) -> None:
    (here / "grid.yml").write_text("depth: [3]")
    done = invoke(*words, "--save", "out")
    assert done.exit_code == 1 and "error: " in done.stderr and sentence in done.stderr
    assert not (here / "out").exists()


def test_read_set_knows_signs_and_names_what_is_no_number(here: Path) -> None:
    (here / "signs.csv").write_text("a,y\n1,1.0\n2,-1\n3,1\n")
    assert own.read_set(here / "signs.csv").y.tolist() == [1, -1, 1]
    (here / "texts.csv").write_text("town,a,day,y\nx,1,z,1\nx,2,z,-1\n")
    with pytest.raises(ValueError, match="encode or drop them: town, day"):
        own.read_set(here / "texts.csv")
    (here / "D7.csv").write_text("a,y\n1,1\n2,-1\n")
    with pytest.raises(ValueError, match="D7 is a data set of the paper"):
        own.read_set(here / "D7.csv")
