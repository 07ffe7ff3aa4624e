"""The command `lpsvdd score`: a saved model on new tables, in pipes, and with hostile files."""

from __future__ import annotations

import gzip
import io
import os
import resource
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import lpsvdd
from lpsvdd import LpSVDD, OpenSetClassifier, load_model, save
from lpsvdd.cli import _cells, build

ROOT = os.path.dirname(os.path.dirname(lpsvdd.__file__))


def run(*words: object, **options):
    return CliRunner().invoke(build(), [*map(str, words)], **options)


def check_error(done, message: str) -> None:
    assert done.exit_code == 1, done.output
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ") and message in line


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "who": [f"n{i}" for i in range(60)],
            "u": rng.normal(size=60),
            "v": rng.normal(loc=100.0, scale=30.0, size=60),
            "city": rng.choice(["Bonn", "Oslo", "Rome"], 60),
            "kind": np.where(np.arange(60) < 48, "a", "b"),
        }
    )


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    """A table and a model of it, made by the command line; not to be changed."""
    folder = tmp_path_factory.mktemp("fitted")
    frame.to_csv(folder / "d.csv", index=False)
    words = ("fit", folder / "d.csv", "--id", "who", "--categorical", "city", "--label", "kind")
    done = run(*words, "--target", "a", "--model", folder / "m.lpsvdd", "--C", 0.3)
    assert done.exit_code == 0, done.output
    return folder


def scores_of(done) -> pd.DataFrame:
    assert done.exit_code == 0, done.output
    return pd.read_csv(io.StringIO(done.stdout))


FEATURES = ["u", "v", "city"]


def test_columns_are_found_by_name_ids_pass_through_and_extra_ones_are_named(
    folder, frame, tmp_path
):
    new = frame[["kind", "city", "v", "who", "u"]].iloc[::-1].assign(remark="x", more=1)
    new.to_csv(tmp_path / "new.csv", index=False)
    done = run("score", folder / "m.lpsvdd", tmp_path / "new.csv")
    found, model = scores_of(done), load_model(folder / "m.lpsvdd")
    assert list(found) == ["who", "row", "score", "decision", "prediction", "label"]
    assert list(found["who"]) == list(new["who"]) and list(found["row"]) == list(range(1, 61))
    np.testing.assert_array_equal(found["score"], model.score_samples(new[FEATURES]))
    np.testing.assert_array_equal(found["decision"], model.decision_function(new[FEATURES]))
    np.testing.assert_array_equal(found["prediction"], model.predict(new[FEATURES]))
    assert "new.csv: 60 rows, 3 columns; 48 targets (+1), 12 others (-1)" in done.stderr
    assert "note: not used of new.csv: remark, more" in done.stderr and "AUC" in done.stderr


def test_missing_columns_are_named(folder, frame, tmp_path):
    frame.drop(columns=["u", "city"]).assign(U=1).to_csv(tmp_path / "new.csv", index=False)
    done = run("score", folder / "m.lpsvdd", tmp_path / "new.csv")
    check_error(done, "new.csv lacks 2 of the model's 3 columns: u, city; it has U instead")


def test_ids_and_labels_may_be_absent_or_others(folder, frame, tmp_path):
    frame[FEATURES].to_csv(tmp_path / "bare.csv", index=False)
    done = run("score", folder / "m.lpsvdd", tmp_path / "bare.csv")
    assert list(scores_of(done)) == ["row", "score", "decision", "prediction"]
    assert "AUC" not in done.stderr and "note" not in done.stderr
    other = frame.rename(columns={"who": "name", "kind": "sort"})
    other.replace({"sort": {"a": "1.0", "b": ""}}).to_csv(tmp_path / "other.csv", index=False)
    words = ("--id", "name", "--label", "sort", "--target", 1)
    done = run("score", folder / "m.lpsvdd", tmp_path / "other.csv", *words)
    found = scores_of(done)
    assert list(found["name"]) == list(frame["who"])
    assert found["label"].isna().sum() == 12 and "12 without a label" in done.stderr
    bad = run("score", folder / "m.lpsvdd", tmp_path / "other.csv", "--id", "nome")
    check_error(bad, "no column 'nome'; it has name, u, v, city, sort")
    clash = frame.rename(columns={"who": "score"})
    clash.to_csv(tmp_path / "clash.csv", index=False)
    done = run("score", folder / "m.lpsvdd", tmp_path / "clash.csv", "--id", "score")
    check_error(done, "the id column 'score' has the name of a column of the scores")


def test_blocks_do_not_change_scores(folder, monkeypatch):
    whole = run("score", folder / "m.lpsvdd", folder / "d.csv")
    read = _cells.CellReader.blocks
    monkeypatch.setattr(_cells.CellReader, "blocks", lambda self: read(self, rows=7))
    blocks = run("score", folder / "m.lpsvdd", folder / "d.csv")
    assert blocks.stdout == whole.stdout and blocks.stderr == whole.stderr


def test_memory_does_not_grow_with_the_table(folder, tmp_path, frame):
    """40 MB of text under a limit that the whole of it, as cells, would break."""
    path = tmp_path / "long.csv"
    lines = frame.to_csv(index=False).splitlines(keepends=True)
    with open(path, "w") as handle:
        handle.write(lines[0])
        handle.writelines(lines[1:] * 5)
    reader = _cells.CellReader(str(path))
    first, block = next(reader.blocks(rows=100))
    assert first == 1 and len(block["u"]) == 100
    assert reader.position <= 64 * 1024  # what follows is still on the disk


def test_pipes_gzip_and_layouts(folder, frame, tmp_path):
    plain = run("score", folder / "m.lpsvdd", folder / "d.csv").stdout
    text = (folder / "d.csv").read_bytes()
    for content in (text, gzip.compress(text), b"\xef\xbb\xbf" + text):
        assert run("score", folder / "m.lpsvdd", "-", input=content).stdout == plain
    foreign = frame.to_csv(index=False, sep=";", decimal=",").encode()
    done = run("score", folder / "m.lpsvdd", "-", input=foreign)
    assert done.stdout == plain.replace(",", ";").replace(".", ",")
    packed = tmp_path / "s.csv.gz"
    done = run("score", folder / "m.lpsvdd", folder / "d.csv", "--output", packed)
    assert done.exit_code == 0 and f"wrote {packed}" in done.stdout
    assert gzip.decompress(packed.read_bytes()).decode() == plain
    quiet = run("score", folder / "m.lpsvdd", folder / "d.csv", "-q")
    assert quiet.stdout == plain and quiet.stderr == ""


def test_missing_values(folder, frame, tmp_path):
    holes = frame.copy()
    holes.loc[3, "v"], holes.loc[5, "city"] = np.nan, np.nan
    path = tmp_path / "holes.csv"
    holes.to_csv(path, index=False)
    done = run("score", folder / "m.lpsvdd", path)
    check_error(done, "no value in row 4, column 'v'; fill it in, or leave such rows")
    done = run("score", folder / "m.lpsvdd", path, "--missing", "skip")
    found = scores_of(done)
    assert list(np.flatnonzero(found["score"].isna())) == [3, 5]
    assert found["prediction"].isna().sum() == 2 and list(found["who"]) == list(frame["who"])
    assert "note: 2 rows with a missing value have no score" in done.stderr
    whole = scores_of(run("score", folder / "m.lpsvdd", folder / "d.csv"))
    np.testing.assert_array_equal(found["score"].dropna(), whole["score"].drop([3, 5]))
    fill, drop = tmp_path / "fill.lpsvdd", tmp_path / "drop.lpsvdd"
    for policy, model in (("mean", fill), ("drop", drop)):
        words = ("--id", "who,kind", "--categorical", "city", "--missing", policy)
        assert run("fit", path, *words, "--model", model).exit_code == 0
    assert scores_of(run("score", fill, path))["score"].notna().all()
    assert scores_of(run("score", drop, path))["score"].isna().sum() == 2


def test_all_rows_of_a_block_may_lack_a_value(folder, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("u,v,city\n,1,Rome\n,2,Oslo\n")
    done = run("score", folder / "m.lpsvdd", path, "--missing", "skip")
    assert scores_of(done)["score"].isna().all()


def test_unseen_categories_are_named(folder, frame, tmp_path):
    path = tmp_path / "new.csv"
    frame.assign(city="Paris").to_csv(path, index=False)
    done = run("score", folder / "m.lpsvdd", path)
    assert done.exit_code == 0
    assert "column 'city' holds categories that the model has not met: Paris" in done.stderr


def test_models_saved_from_python(frame, tmp_path):
    data = frame[["u", "v"]]
    path, model = tmp_path / "d.csv", tmp_path / "m.lpsvdd"
    frame.drop(columns="city").to_csv(path, index=False)
    pipeline = make_pipeline(StandardScaler(), LpSVDD()).fit(data)
    save(pipeline, model)
    found = scores_of(run("score", model, path, "--id", "who"))
    np.testing.assert_array_equal(found["score"], pipeline.score_samples(data))
    save(LpSVDD().fit(data.to_numpy()), model)  # no names: the columns in their order
    check_error(run("score", model, path), "takes 2 numbers; d.csv has 4 columns")
    data.to_csv(path, index=False)
    assert len(scores_of(run("score", model, path))) == 60
    save(OpenSetClassifier().fit(data, frame["kind"]), model)
    check_error(run("score", model, path), "holds a OpenSetClassifier; score needs a detector")


def test_damaged_foreign_and_absent_models(folder, tmp_path):
    data, hostile = folder / "d.csv", tmp_path / "h.lpsvdd"
    check_error(run("score", tmp_path / "none", data), "none: no such file or directory")
    check_error(run("score", data, folder / "m.lpsvdd"), "d.csv is not a model file of lpsvdd")
    hostile.write_bytes((folder / "m.lpsvdd").read_bytes()[:5000])
    check_error(run("score", hostile, data), "h.lpsvdd is a damaged model file")
    check_error(run("score", folder / "m.lpsvdd", tmp_path / "none.csv"), "no such file")
    check_error(run("score", folder / "m.lpsvdd", tmp_path), "is a directory")
    save(LpSVDD().fit(np.eye(3)), hostile, notes={"numeric": 3})
    check_error(run("score", hostile, data), "h.lpsvdd holds no usable model")
    model = LpSVDD().fit(np.eye(3))
    model.norm_sq_, model.centre_coef_ = "text", None  # types that are allowed, values that are not
    save(model, hostile)
    data = tmp_path / "three.csv"
    data.write_text("a,b,c\n1,2,3\n")
    check_error(run("score", hostile, data), "h.lpsvdd holds no usable model")


def test_nothing_is_overwritten_without_force(folder, tmp_path):
    model, data, out = folder / "m.lpsvdd", folder / "d.csv", tmp_path / "s.csv"
    out.write_text("precious")
    check_error(run("score", model, data, "--output", out), "s.csv exists; add --force")
    words = ("--id", "who,city", "--label", "kind", "--target", "a")
    for option in ("--output", "--model", "--plot"):
        keep = tmp_path / "keep.png"
        keep.write_text("precious")
        done = run("fit", data, *words, option, keep)
        check_error(done, f"{option} {keep} exists; add --force")
        assert keep.read_text() == "precious"
    assert out.read_text() == "precious"
    assert run("score", model, data, "--output", out, "--force").exit_code == 0
    assert out.read_text().startswith("who,row,score")


def test_an_input_is_never_an_output(folder, tmp_path):
    data, model = tmp_path / "d.csv", tmp_path / "m.lpsvdd"
    data.write_bytes((folder / "d.csv").read_bytes())
    model.write_bytes((folder / "m.lpsvdd").read_bytes())
    (tmp_path / "soft.csv").symlink_to(data)
    os.link(data, tmp_path / "hard.csv")
    before = data.read_bytes(), model.read_bytes()
    for name in ("d.csv", "soft.csv", "hard.csv", "./d.csv", "m.lpsvdd"):
        out = os.path.join(tmp_path, name)
        done = run("score", model, data, "--output", out, "--force")
        check_error(done, "is an input of this command")
        if name != "m.lpsvdd":
            check_error(run("fit", data, "--model", out, "--force"), "is an input of this command")
    assert (data.read_bytes(), model.read_bytes()) == before


def test_a_full_disk_leaves_the_old_file(folder, tmp_path):
    out = tmp_path / "s.csv"
    out.write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        words = ("--output", out, "--force")
        done = run("score", folder / "m.lpsvdd", folder / "d.csv", *words)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    check_error(done, "file too large")
    assert out.read_text() == "old" and os.listdir(tmp_path) == ["s.csv"]


def test_an_error_in_a_late_row_leaves_the_old_file(folder, frame, tmp_path):
    late = pd.concat([frame] * 100).astype({"u": object})
    late.iloc[5000, 1] = "oops"
    late.to_csv(tmp_path / "late.csv", index=False)
    out = tmp_path / "s.csv"
    out.write_text("old")
    done = run("score", folder / "m.lpsvdd", tmp_path / "late.csv", "--output", out, "--force")
    check_error(done, "column 'u' holds 'oops' in row 5001, not a finite number")
    assert out.read_text() == "old" and sorted(os.listdir(tmp_path)) == ["late.csv", "s.csv"]


def test_a_picture_of_some_of_the_rows(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("lpsvdd.cli.score.PLOTTED", 20)
    picture = tmp_path / "p.svg"
    done = run("score", folder / "m.lpsvdd", folder / "d.csv", "--plot", picture)
    assert len(scores_of(done)) == 60 and f"wrote {picture}" in done.stderr
    assert picture.stat().st_size > 10_000


def test_ctrl_c_leaves_nothing_behind(folder, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("lpsvdd.cli._model.judge_rows", interrupted)
    out = tmp_path / "s.csv"
    done = run("score", folder / "m.lpsvdd", folder / "d.csv", "--output", out)
    assert done.exit_code == 130 and "stopped; no file was changed" in done.stderr
    assert not os.listdir(tmp_path)


def shell(command: str, folder) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": ROOT, "LPSVDD": f"{sys.executable} -m lpsvdd.cli"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_reader_that_leaves_early_ends_it_quietly(folder, frame, tmp_path):
    pd.concat([frame] * 300).to_csv(tmp_path / "long.csv", index=False)
    done = shell(f"$LPSVDD score {folder}/m.lpsvdd long.csv | head -2", tmp_path)
    assert done.stderr == "" and done.returncode == 141
    assert len(done.stdout.splitlines()) == 2


def test_a_full_device_gets_a_sentence(folder):
    done = shell("$LPSVDD score m.lpsvdd d.csv > /dev/full", folder)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "error: no space left on device"
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


def test_an_input_appended_to_is_refused(folder, tmp_path):
    (tmp_path / "d.csv").write_bytes((folder / "d.csv").read_bytes())
    done = shell(f"$LPSVDD score {folder}/m.lpsvdd d.csv >> d.csv", tmp_path)
    assert done.returncode == 1 and "is an input of this command" in done.stderr
    assert (tmp_path / "d.csv").read_bytes() == (folder / "d.csv").read_bytes()


def test_version():
    done = run("--version")
    assert done.exit_code == 0 and done.output == f"lpsvdd {lpsvdd.__version__}\n"


def test_reasons(folder, frame):
    from lpsvdd.explain import explain

    found = scores_of(run("score", folder / "m.lpsvdd", folder / "d.csv", "--explain", 2))
    expected = explain(load_model(folder / "m.lpsvdd"), frame[FEATURES])
    for row in (0, 59):
        text = "; ".join(f"{name} {part:.3g}" for name, _, part in expected.reasons(row, 2))
        assert found["reasons"][row] == text
