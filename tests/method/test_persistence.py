"""Model files: the same scores to the last bit, no code, and a sentence for every other file."""

import json
import os
import sys
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from lpsvdd import ConformalDetector, LpSVDD, load_model, save
from lpsvdd._atomic import whole_file
from lpsvdd.persistence import ABOUT, read_notes

X = np.random.default_rng(3).normal(size=(40, 3))
NEW = np.random.default_rng(4).normal(scale=2.0, size=(25, 3))
FRAME = pd.DataFrame(X, columns=list("abc")).assign(kind=np.where(X[:, 1] > 0, "x", "y"))


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "m.lpsvdd"
    save(make_pipeline(StandardScaler(), LpSVDD()).fit(X), path)
    return path


def rewrite(path, **members: bytes | None):
    """The archive with some members replaced, added or (None) left out; dots as underscores."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    content |= {name.replace("_", "."): data for name, data in members.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            if data is not None:
                archive.writestr(name, data)
    return path


@pytest.mark.parametrize(
    "detector",
    [LpSVDD(p=1.5), ConformalDetector(LpSVDD(), random_state=np.random.RandomState(0))],
    ids=lambda one: str(one)[:30],
)
def test_pipeline_saved_and_loaded_has_the_same_scores(detector, tmp_path):
    """Of all columns and steps; that of every detector alone is in test_every_detector."""
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    columns = make_column_transformer(
        (numbers, ["a", "b"]), (one_hot, ["kind"]), (codes, ["kind"]), remainder="passthrough"
    )
    model = make_pipeline(columns, detector).fit(FRAME)
    save(model, tmp_path / "m.lpsvdd", notes={"label": "kind", "ids": ["a"]})
    again = load_model(tmp_path / "m.lpsvdd")
    new = FRAME.assign(kind="z", a=np.where(X[:, 0] > 0, np.nan, X[:, 0]))
    np.testing.assert_array_equal(again.score_samples(new), model.score_samples(new))
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    assert read_notes(tmp_path / "m.lpsvdd") == {"label": "kind", "ids": ["a"]}


def kernel(a, b):
    return float(a @ b)


@pytest.mark.parametrize(("model", "message"), [
    (LpSVDD(kernel=kernel).fit(X), r"test_persistence.kernel, which a file without code"),
    (make_pipeline(FunctionTransformer(kernel), LpSVDD()), "not fitted"),
    ({"a": 1}, "save takes a fitted estimator or pipeline, got dict"),
], ids=["callable kernel", "unfitted", "no estimator"])  # fmt: skip
def test_save_refuses_what_needs_code_or_a_fit(tmp_path, model, message):
    with pytest.raises(ValueError, match=message):
        save(model, tmp_path / "m.lpsvdd")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("write, message", [
    (lambda path: joblib.dump(LpSVDD().fit(X), path), "m.lpsvdd is not a model file"),
    (lambda path: path.write_text("a,b\n1,2\n"), "is not a model file"),
    (lambda path: path.write_bytes(b""), "is not a model file"),
    (lambda path: np.savez(path.open("wb"), X=X), "is an archive, but not a model file"),
    (lambda path: rewrite(path, lpsvdd_json=None), "is an archive, but not a model file"),
], ids=["pickle", "table", "empty", "arrays", "skops"])  # fmt: skip
def test_load_refuses_pickles_tables_and_other_archives(model_file, write, message):
    write(model_file)
    with pytest.raises(ValueError, match=message):
        load_model(model_file)
    model_file.unlink()
    with pytest.raises(FileNotFoundError):
        load_model(model_file)


def test_load_of_a_file_cut_or_changed_anywhere_is_refused_or_gives_the_same_scores(model_file):
    """Every byte is under a checksum of the archive, or is a name or date that decides nothing."""
    data = model_file.read_bytes()
    expected = load_model(model_file).score_samples(NEW)
    refused = 0
    for at in np.linspace(0, len(data) - 1, 24).astype(int):
        flipped = bytearray(data)
        flipped[at] ^= 0x55
        for content in (bytes(flipped), data[:at]):
            model_file.write_bytes(content)
            try:
                scores = load_model(model_file).score_samples(NEW)
            except ValueError as error:
                refused += 1
                assert "\n" not in str(error)
            else:
                np.testing.assert_array_equal(scores, expected)
    assert refused > 24


@pytest.mark.parametrize("asked", ["trapmodule.Trap", "os.system", "lpsvdd.persistence.save"])
def test_load_names_types_that_are_not_trusted_and_builds_none(
    asked, tmp_path, model_file, monkeypatch
):
    """A file that asks for os.system, or for a module that would act on import."""
    (tmp_path / "trapmodule.py").write_text("open('sprung', 'w').close()\nclass Trap: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile(model_file) as archive:
        schema = archive.read("schema.json").decode()
    module, _, name = asked.rpartition(".")
    swapped = schema.replace('"sklearn.preprocessing._data"', f'"{module}"')
    swapped = swapped.replace('"StandardScaler"', f'"{name}"')
    assert swapped != schema
    rewrite(model_file, schema_json=swapped.encode())
    with pytest.raises(ValueError, match=f"asks for {asked}, which no model"):
        load_model(model_file)
    assert not (tmp_path / "sprung").exists() and "trapmodule" not in sys.modules


def test_load_of_arrays_of_wrong_shape_is_refused(tmp_path):
    """Arrays that do not fit together are found when the file is read, not by the first score."""
    path = tmp_path / "m.lpsvdd"
    model = LpSVDD().fit(X)
    model.X_fit_ = model.X_fit_[:, :2]
    save(model, path)
    with pytest.raises(ValueError, match="damaged model file"):
        load_model(path)


def test_load_of_another_version_warns(model_file):
    with zipfile.ZipFile(model_file) as archive:
        about = json.loads(archive.read(ABOUT))
    rewrite(model_file, lpsvdd_json=json.dumps({**about, "version": "7.1"}).encode())
    with pytest.warns(UserWarning, match="written by lpsvdd 7.1, and this is"):
        load_model(model_file)


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o755])  # 664 is more than a umask leaves
def test_a_file_is_replaced_whole_and_keeps_its_mode_or_stays_as_it_was(mode, tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    with pytest.raises(RuntimeError), whole_file(path) as handle:
        handle.write(b"half")
        raise RuntimeError
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["file"]
    with whole_file(path) as handle:
        handle.write(b"new")
    assert path.stat().st_mode & 0o777 == mode and path.read_text() == "new"
    with pytest.raises(IsADirectoryError), whole_file(tmp_path):
        pass
