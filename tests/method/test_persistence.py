"""Model files: the same scores to the last bit, no code, and a sentence for every other file."""

from __future__ import annotations

import importlib
import io
import json
import os
import pkgutil
import re
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import lpsvdd
from lpsvdd import LpSVDD, load_model, save
from lpsvdd._atomic import whole_file
from lpsvdd.persistence import MEMBER, OUR_TYPES, ModelFileError, ModelVersionWarning, read_notes
from lpsvdd.preprocessing import preprocessor

X = np.random.default_rng(3).normal(size=(40, 3))
NEW = np.random.default_rng(4).normal(scale=2.0, size=(25, 3))


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "m.lpsvdd"
    save(make_pipeline(StandardScaler(), LpSVDD(C=0.3)).fit(X), path)
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


def test_round_trip_with_negatives_categories_and_precomputed_kernels(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc")).assign(kind=np.where(X[:, 1] > 0, "x", "y"))
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((preprocessor(), ["a", "b", "c"]), (one_hot, ["kind"]))
    given, norms = LpSVDD(kernel="precomputed").fit(X @ X.T), (NEW**2).sum(axis=1)
    for model, scores in (
        (LpSVDD(C_neg=2.0).fit(X, np.where(X[:, 0] > 0.8, -1, 1)), lambda m: m.score_samples(NEW)),
        (make_pipeline(columns, LpSVDD()).fit(frame), lambda m: m.predict(frame.assign(kind="z"))),
        (given, lambda m: m.score_samples(NEW @ X.T, diag=norms)),
    ):
        save(model, tmp_path / "m.lpsvdd", notes={"label": "kind", "ids": ["a"]})
        np.testing.assert_array_equal(scores(load_model(tmp_path / "m.lpsvdd")), scores(model))
        assert read_notes(tmp_path / "m.lpsvdd") == {"label": "kind", "ids": ["a"]}


def test_the_list_of_types_holds_every_estimator_of_the_package():
    for found in pkgutil.walk_packages(lpsvdd.__path__, "lpsvdd."):
        if ".cli" not in found.name and "__main__" not in found.name:
            with suppress(ImportError):  # modules of an extra that is not installed
                importlib.import_module(found.name)
    ours, waiting = set(), [BaseEstimator]
    while waiting:
        waiting += (subclasses := waiting.pop().__subclasses__())
        ours |= {f"{one.__module__}.{one.__name__}" for one in subclasses}
    never_saved = ("KernelOneClass", "_PositiveTransformer", "FoldModel")
    assert {name for name in ours if name.startswith("lpsvdd.")} - set(OUR_TYPES) == {
        name for name in ours if name.startswith("lpsvdd.") and name.endswith(never_saved)
    }
    for module, _, name in (full.rpartition(".") for full in OUR_TYPES):
        assert isinstance(getattr(importlib.import_module(module), name), type)


def kernel(a, b):
    return float(a @ b)


def test_what_a_file_without_code_cannot_hold_is_refused_when_saving(tmp_path):
    path = tmp_path / "m.lpsvdd"
    for model, message in (
        (LpSVDD(kernel=kernel).fit(X), "test_persistence.kernel"),
        (make_pipeline(FunctionTransformer(kernel), LpSVDD()), "fit the Pipeline before saving"),
        (LpSVDD(), "fit the LpSVDD before saving"),
        ({"a": 1}, "save takes a fitted estimator or pipeline, got dict"),
    ):
        with pytest.raises(ValueError, match=message):
            save(model, path)
        assert not path.exists() and not list(tmp_path.iterdir())


def test_foreign_files_pickles_and_other_archives_are_not_loaded(tmp_path, model_file):
    joblib.dump(LpSVDD().fit(X), tmp_path / "m.joblib")
    np.savez(tmp_path / "a.npz", X=X)
    for content, message in (
        (b"", "is empty"),
        (b"a,b\n1,2\n", "is not a model file of lpsvdd"),
        (b"PK\x03\x04 and no more", "is a damaged model file"),
        ((tmp_path / "m.joblib").read_bytes(), "could run any code"),
        ((tmp_path / "a.npz").read_bytes(), "no lpsvdd.json"),
        (
            rewrite(model_file, lpsvdd_json=None).read_bytes(),
            r"not a model file .* \(no lpsvdd.json",
        ),
    ):
        (tmp_path / "foreign").write_bytes(content)
        with pytest.raises(ModelFileError, match=message) as caught:
            load_model(tmp_path / "foreign")
        assert "\n" not in str(caught.value)


def test_a_file_cut_or_changed_anywhere_is_refused_or_gives_the_same_scores(model_file, recwarn):
    """Every byte is under a checksum of the archive, or is a name or date that decides nothing."""
    data = model_file.read_bytes()
    expected = load_model(model_file).score_samples(NEW)
    assert not recwarn.list  # of other versions
    refused = 0
    for at in np.linspace(0, len(data) - 1, 24).astype(int):
        flipped = bytearray(data)
        flipped[at] ^= 0x55
        for content in (bytes(flipped), data[:at]):
            model_file.write_bytes(content)
            try:
                scores = load_model(model_file).score_samples(NEW)
            except ModelFileError as error:
                refused += 1
                assert "\n" not in str(error)
            else:
                np.testing.assert_array_equal(scores, expected)
    assert refused > 24


def test_types_outside_the_list_are_named_and_not_built(tmp_path, model_file, monkeypatch):
    """A file that asks for os.system, or for a module that would act on import."""
    (tmp_path / "trapmodule.py").write_text("open('sprung', 'w').close()\nclass Trap: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile(model_file) as archive:
        schema = archive.read("schema.json").decode()
    for module, name in (("trapmodule", "Trap"), ("os", "system"), ("lpsvdd.cli.__main__", "main")):
        swapped = schema.replace('"sklearn.preprocessing._data"', f'"{module}"')
        swapped = swapped.replace('"StandardScaler"', f'"{name}"')
        assert swapped != schema
        rewrite(model_file, schema_json=swapped.encode())
        with pytest.raises(ModelFileError, match=f"asks for {module}.{name}, which is no part"):
            load_model(model_file)
        assert not (tmp_path / "sprung").exists()
        assert module == "os" or module not in sys.modules


def test_damaged_trees_get_a_sentence(model_file):
    with zipfile.ZipFile(model_file) as archive:
        schema = json.loads(archive.read("schema.json"))
    for broken in ({}, {**schema, "__loader__": "NoSuchNode"}, {**schema, "content": {}}, []):
        rewrite(model_file, schema_json=json.dumps(broken).encode())
        with pytest.raises(ModelFileError, match="damaged model file"):
            load_model(model_file)
    rewrite(model_file, schema_json=b"{" * 100_000)
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(model_file)


def packed_zeros() -> bytes:
    """An archive of one array of 60 MB of zeros, as scipy.sparse.save_npz would write it."""
    inside = io.BytesIO()
    with zipfile.ZipFile(inside, "w", compression=zipfile.ZIP_DEFLATED) as nested:
        array = io.BytesIO()
        np.save(array, np.zeros(7_500_000))
        nested.writestr("data.npy", array.getvalue())
    return inside.getvalue()


def plain_zeros() -> bytes:
    """60 MB that the archive itself packs."""
    return bytes(60_000_000)


def empty_promise() -> bytes:
    """The header of an array of 80 GB, and no array."""
    inside = io.BytesIO()
    about = {"descr": "<f8", "fortran_order": False, "shape": (10**10,)}
    np.lib.format.write_array_header_1_0(inside, about)
    return inside.getvalue()


@pytest.mark.parametrize("bomb", [packed_zeros, plain_zeros, empty_promise])
def test_a_bomb_behind_a_trusted_type_is_refused_before_it_is_unpacked(
    model_file, bomb, monkeypatch
):
    """skops loads a sparse matrix for an array if the file asks for it; both are counted."""
    with zipfile.ZipFile(model_file) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in content if name.endswith(".npy"))
    schema = content["schema.json"].decode()
    if bomb is packed_zeros:
        parts = re.split(r"(\{[^{}]*" + re.escape(name) + r"[^{}]*\})", schema, maxsplit=1)
        parts[1] = (
            parts[1]
            .replace('"NdArrayNode"', '"SparseMatrixNode"')
            .replace('"type": "numpy"', '"type": "scipy"')
        )
        assert "SparseMatrixNode" in parts[1] and "scipy" in parts[1]
        schema = "".join(parts)
    with zipfile.ZipFile(model_file, "w", compression=zipfile.ZIP_DEFLATED) as archive:
        for member, data in (content | {name: bomb(), "schema.json": schema.encode()}).items():
            archive.writestr(member, data)
    assert model_file.stat().st_size < 100_000
    monkeypatch.setattr("skops.io.loads", lambda *_, **__: pytest.fail("it was unpacked"))
    with pytest.raises(ModelFileError, match=r"would unpack to (0\.[01]|80\.\d) GB"):
        load_model(model_file)


def test_models_that_compress_well_are_still_read(tmp_path):
    """Long constant columns would look like a bomb: such a model is stored uncompressed."""
    many = np.zeros((5, 270_000))
    many[:, 0] = np.arange(5)
    model = LpSVDD(kernel="linear").fit(many)
    save(model, tmp_path / "m.lpsvdd")
    again = load_model(tmp_path / "m.lpsvdd")
    np.testing.assert_array_equal(again.score_samples(many), model.score_samples(many))


def test_versions_are_checked(model_file):
    with zipfile.ZipFile(model_file) as archive:
        about = json.loads(archive.read(MEMBER))
    newer = {**about, "format": 99, "versions": {**about["versions"], "lpsvdd": "7.1"}}
    rewrite(model_file, lpsvdd_json=json.dumps(newer).encode())
    with pytest.raises(ModelFileError, match="written by lpsvdd 7.1 in format 99"):
        load_model(model_file)
    other = {**about, "versions": {**about["versions"], "scikit-learn": "1.5.2"}}
    rewrite(model_file, lpsvdd_json=json.dumps(other).encode())
    with pytest.warns(ModelVersionWarning, match=r"written with scikit-learn 1.5.2 \(here"):
        load_model(model_file)
    rewrite(model_file, lpsvdd_json=b'{"format": "one"}')
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(model_file)


def test_a_name_that_is_taken_late_is_kept_with_and_without_links(tmp_path, monkeypatch):
    def no_links(*_):
        raise PermissionError("this file system has no links")

    for prepare in (lambda: None, lambda: monkeypatch.setattr(os, "link", no_links)):
        prepare()
        for late in ("file", "link"):
            path = tmp_path / late
            with pytest.raises(FileExistsError), whole_file(path, overwrite=False) as handle:
                handle.write(b"mine")
                path.write_text("theirs") if late == "file" else path.symlink_to("nowhere")
            assert os.listdir(tmp_path) == [late] and (late == "link") == path.is_symlink()
            path.unlink()
        with whole_file(tmp_path / "free", overwrite=False) as handle:
            handle.write(b"mine")
        assert (tmp_path / "free").read_text() == "mine"
        with pytest.raises(FileExistsError), whole_file(tmp_path / "free", overwrite=False):
            pass
        os.remove(tmp_path / "free")


def test_threads_that_write_one_file_leave_one_whole_version(tmp_path):
    def write(text: str) -> str:
        for _ in range(20):
            with whole_file(tmp_path / "file") as handle:
                handle.write(text[:5000].encode())
                handle.write(text[5000:].encode())
        return text

    with ThreadPoolExecutor(4) as pool:
        versions = set(pool.map(write, (letter * 10_000 for letter in "abcd")))
    assert (tmp_path / "file").read_text() in versions and os.listdir(tmp_path) == ["file"]
    made = set()
    real = os.open

    def watched(path, flags, *mode, **more):
        made.add((os.path.basename(path), bool(flags & os.O_EXCL)))
        return real(path, flags, *mode, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", watched)
        for _ in range(3):
            with whole_file(tmp_path / "file"):
                pass
    assert len(made) == 3 and all(exclusive for _, exclusive in made)  # a new name each time


def test_a_file_is_replaced_whole_and_keeps_its_mode_or_stays_as_it_was(tmp_path):
    path = tmp_path / "file"
    for mode in (0o600, 0o664, 0o755):  # 664 is more than a umask leaves
        path.write_text("old")
        path.chmod(mode)
        with pytest.raises(RuntimeError), whole_file(path) as handle:
            handle.write(b"half")
            raise RuntimeError
        assert path.read_text() == "old" and os.listdir(tmp_path) == ["file"]
        with whole_file(path) as handle:
            (temporary,) = set(os.listdir(tmp_path)) - {"file"}
            assert os.stat(tmp_path / temporary).st_mode & 0o777 == mode
            handle.write(b"new")
        assert path.stat().st_mode & 0o777 == mode and path.read_text() == "new"
    with pytest.raises(IsADirectoryError), whole_file(tmp_path):
        pass


def test_a_link_stays_a_link_and_permissions_are_the_users(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with whole_file(tmp_path / "link") as handle:
        handle.write(b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "new"
    (tmp_path / "plain").write_text("")
    with whole_file(tmp_path / "fresh") as handle:
        handle.write(b"new")
    assert (tmp_path / "fresh").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_device_is_written_to_and_not_replaced():
    with whole_file("/dev/null") as handle:
        handle.write(b"x")
    assert not os.path.isfile("/dev/null")
