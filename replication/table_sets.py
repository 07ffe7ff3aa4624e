"""Tables of OddBench and OvRBench: recognised by checksums, kept outside the project.

Both collections are in github.com/psorus/Outformer (``benchmarks/``): normal training rows, and
test rows with y = 1 for anomalies. No licence is stated, so no table is part of this project. Half
of the 1,354 tables were used here, each cut beforehand to 1,500 training rows, 1,000 normal test
rows and 1,000 anomalies; the other half is kept aside for a check from outside. A folder of such
files (``oddbench__NAME.npz`` with the arrays train, test, y) is named by ``LPSVDD_TABLES`` or with
``python -m replication run --from``. ``table_sets.csv`` is the catalogue that :func:`catalogue`
makes, by rules that look at no score (``studies/plans/tables.md``).

A table counts for as much as its cluster lets it: tables of one repository, of one family of names,
or with rows in common are one cluster.
"""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from replication.anomaly_sets import AnomalyDataError

VARIABLE = "LPSVDD_TABLES"
CATALOGUE = Path(__file__).with_suffix(".csv")
DESIGN_SIZE = 100
LEAST_ROWS, LEAST_NORMAL, LEAST_ANOMALIES = 100, 50, 20
COMMON_ROWS, COMMON_SHARE = 50, 0.05
USED = re.compile(
    r"shuttle|SkinAnomaly|wine|breast-w|magic04|CTG\.csv|satimage|spam_train|poker|vowels|twonorm"
    r"|waveform|liver/|CustomerCampaignOutcome|bank_sales|diabetic_data",
    re.IGNORECASE,
)
"""Names and addresses that speak of a set used before, or may: left out."""
FAMILIES = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "thyroid": r"thyroid|^allbp$|^dis$",
        "volcanoes": r"^volcanoes",
        "jars": r"^Contaminant-detection",
        "modules": r"^(kc1|mc1|pc1|pc3|PieChart3)$",
        "income": r"^(ada_prior|adult)$",
    }.items()
}


@cache
def records() -> pd.DataFrame:
    """The catalogue by name; ``part`` is "design", "judged" or why the table is left out."""
    return pd.read_csv(CATALOGUE).set_index("name", drop=False)


def names(part: str) -> tuple[str, ...]:
    """Tables of a part, in an order that says nothing of them: that of their hashed names."""
    found = records()
    return tuple(sorted(found.index[found["part"] == part], key=_digest))


@cache
def clusters() -> dict[str, str]:
    """The cluster of every table."""
    return dict(records()["cluster"])


def folder(given: Path | None = None) -> Path:
    """The folder of tables: the one given, else that of the variable."""
    chosen = given or os.environ.get(VARIABLE)
    if not chosen or not Path(chosen).is_dir():
        raise AnomalyDataError(
            "the tables are not part of this project: take them from github.com/psorus/Outformer "
            f"and name their folder with --from or the variable {VARIABLE}"
        )
    return Path(chosen)


def use(source: Path) -> bool:
    """Let this process and its workers read a folder, if it has tables of either collection."""
    found = source.is_dir() and any(source.glob("o*bench__*.npz"))
    if found:
        os.environ[VARIABLE] = str(source)
    return found


def load(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows, test rows and which test rows are anomalies, after the checksum."""
    path = folder() / f"{name}.npz"
    if not path.is_file():
        raise AnomalyDataError(f"the folder lacks {path.name}")
    arrays = _arrays(path)
    wanted = records()["sha256"][name]
    if _content(arrays) != wanted:
        raise AnomalyDataError(
            f"{path.name} is not the table that the results were computed from (the SHA-256 of its "
            f"arrays differs from {wanted[:12]}...)"
        )
    train, test, y = arrays
    return train.astype(float), test.astype(float), y == 1


def _arrays(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    with np.load(path, allow_pickle=False) as held:
        return tuple(
            np.ascontiguousarray(held[key], dtype=kind)
            for key, kind in (("train", "<f4"), ("test", "<f4"), ("y", "i1"))
        )  # type: ignore[return-value]


def _content(arrays: tuple[np.ndarray, ...]) -> str:
    """Checksum of the numbers, however the file is packed."""
    return hashlib.sha256(b"".join(one.tobytes() for one in arrays)).hexdigest()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# -- how the catalogue was made --------------------------------------------------------------------


def catalogue(listed: pd.DataFrame, place: Path, used: list[np.ndarray]) -> pd.DataFrame:
    """The catalogue of a folder; ``listed`` has bench, name, origin and sha of every original.

    ``used`` are the rows of sets that earlier studies used: tables that share rows are left out.
    """
    before = [_rows(X) for X in used]
    lines, rows = [], []
    for bench, name, origin, sha in listed[["bench", "name", "origin", "sha"]].fillna("").values:
        arrays = _arrays(place / f"{bench}__{name}.npz")
        train, test, y = arrays
        own, address = _rows(train), next((x for x in origin.split("|") if "//" in x), "")
        new = np.array([row.tobytes() not in own for row in test])
        line = {
            "name": f"{bench}__{name}", "cluster": _stem(name, address), "part": "",
            "features": train.shape[1], "rows": len(own), "normal": int((new & (y == 0)).sum()),
            "anomalies": int((new & (y == 1)).sum()), "origin": address, "original": sha,
            "sha256": _content(arrays),
        }  # fmt: skip
        every = own | _rows(test)
        if USED.search(f"{name} {address}") or any(_related(every, one) for one in before):
            line["part"] = "relative of a set used before"
        elif line["rows"] < LEAST_ROWS or line["normal"] < LEAST_NORMAL:
            line["part"] = "too few rows"
        elif line["anomalies"] < LEAST_ANOMALIES:
            line["part"] = "too few anomalies"
        lines.append(line)
        rows.append(every)
    table = pd.DataFrame(lines)
    for i, j in zip(*np.triu_indices(len(table), 1), strict=True):
        if table["features"][i] == table["features"][j] and _related(rows[i], rows[j]):
            one, other = table["cluster"][i], table["cluster"][j]
            table["cluster"] = table["cluster"].replace(other, one)
    kept = table[table["part"] == ""]
    design: set[str] = set()
    for cluster in sorted(kept["cluster"].unique(), key=_digest):
        if len(design) < DESIGN_SIZE:
            design |= set(kept["name"][kept["cluster"] == cluster])
    chosen = table["name"].isin(design)
    table["part"] = table["part"].where(table["part"] != "", np.where(chosen, "design", "judged"))
    return table


def _rows(X: np.ndarray) -> set[bytes]:
    return {row.tobytes() for row in np.ascontiguousarray(X, dtype="<f4")}


def _related(one: set[bytes], other: set[bytes]) -> bool:
    common = len(one & other)
    return common >= max(COMMON_ROWS, COMMON_SHARE * min(len(one), len(other)))


def _stem(name: str, address: str) -> str:
    """Family of the name, else owner and name of the repository, else the name."""
    for family, pattern in FAMILIES.items():
        if pattern.search(name) or pattern.search(address.rsplit("/", 1)[-1]):
            return family
    found = re.search(r"github\.com/([^/]+/[^/]+)", address)
    return found[1] if found else name
