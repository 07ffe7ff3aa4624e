"""The article quotes, the deposit describes itself, the check can fail."""

from __future__ import annotations

import copy
import hashlib
import json
import re
import shutil
import subprocess

import pandas as pd
import pytest
import typer
import yaml

from replication import archive, article, codecheck, metadata
from replication.about import ROOT, about, bibtex
from replication.cli import build
from replication.findings import read
from replication.findings.both_tables import against
from replication.findings.rate import kept_rate, word
from replication.findings.rerun import Rerun
from replication.source import Source, SourceError, committed, directory_id, files, source
from replication.wording import QUOTE, QuoteError, fill

TEXT = (ROOT / "replication" / "article" / "article.typ").read_text(encoding="utf-8")
NAMES = r"ℓ\d|D\d+|(?:Section|Table|Theorem|Eq\.) [\d.]+"
ALLOWED = {"95", "90", "5", "10", "20"}  # levels of intervals, and the rates that were asked for
ALLOWED |= {"2"}  # the exponent
WORDS = (
    "four|five|six|seven|eight|nine|ten|eleven|twelve|[a-z]+teen|twenty|thirty|forty|fifty|sixty"
    "|seventy|eighty|ninety|hundred|thousand"
)
ALLOWED |= {
    "four times in five",
    "six of the sets",
    "more than a thousand",
}  # power, figure, OddBench


def typed_numbers(text: str) -> set[str]:
    """Numbers of the prose that no quote has filled."""
    body = text.partition("= The question")[2].partition("#bibliography")[0]
    for pattern in (r"//.*", QUOTE.pattern, r"\$[^$]*\$", r"#\w+\([^\n]*?,\s*caption", r"#set .*",
                    r"#table\(.*", r"#block\([^\[]*", r"stroke: .*?\)\)", r"@\w+",
                    r"#beside\(image\([^)]*\)",
                    r"table\.hline\(.*?\)", NAMES):  # fmt: skip
        body = re.sub(pattern, "", body)
    body = re.sub("|".join(one for one in ALLOWED if not one.isdigit()), "", body)
    return set(re.findall(rf"\d[\d.,]*|\b(?:{WORDS})\b", body, re.IGNORECASE))


@pytest.fixture(scope="module")
def facts() -> article.Quoted:
    return article.facts(Source("0" * 40, "1" * 40, 0))


def test_every_number_of_the_article_is_a_quote_of_a_finding(facts):
    assert {number.rstrip(".,") for number in typed_numbers(TEXT)} <= ALLOWED
    formulas = " ".join(re.findall(r"\$[^$]*\$", TEXT))
    assert set(re.findall(r"[\d.]*\d", formulas)) <= {"0", "1", "2", "5", "6", "20"}  # exponents
    abstract = re.sub(rf"{QUOTE.pattern}|\(2022\)|p [=>] \d( to 20)?|ℓ1", "", about()["abstract"])
    assert not re.findall(rf"\d|\b(?:{WORDS})\b", abstract)
    for typed in ("8.5", "eighteen"):
        assert typed in typed_numbers(TEXT.replace("{{ pure.lead_l1 }}", typed))
    text = fill(TEXT, facts)
    assert "{{" not in text and len(QUOTE.findall(TEXT)) > 80
    assert facts["lead"]["left_interval"] in text and "not computed" not in text
    with pytest.raises(QuoteError):
        fill("{{ lead.nothing }}", facts)


def test_what_the_article_says_of_its_numbers_is_so(facts):
    """Words that no quote holds: where a number lies, and that all or none of them do."""
    table = against(Rerun(read("pure"), "pure")).loc[["ℓ1-SVDD", "ℓ2-SVDD"]]
    inside = table["printed"].between(table["low"], table["high"])
    assert list(inside) == [True, False]
    printed = [facts["paper"]["over_l1"], facts["paper"]["over_l2"]]
    assert printed == [f"{value:+.1f}" for value in table["printed"]]
    assert facts["against_others"]["printed"] == facts["against_others"]["total"]
    assert facts["tuned"]["same"] == facts["tuned"]["total"]
    assert facts["tables_p"]["equivalent"] == ["1", "1.2", "5", "20"]
    assert facts["tables_p"]["confirmed"] == []
    assert facts["kept_rate"]["word_5"] == facts["kept_rate"]["word_20"] == "keeps its rate"
    assert "undecided" in facts["one_curve"]["left_1"]


def test_figures_and_citations_of_the_article_exist():
    drawn = {match["name"] for match in article.FIGURE.finditer(TEXT)}
    assert len(drawn) >= 4 and drawn <= set(article.all_findings())
    keys = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "book/references.bib").read_text(), re.M))
    labels = set(re.findall(r"<(\w+)>", TEXT))
    assert set(re.findall(r"(?<!\w)@(\w+)", TEXT)) <= keys | labels


def test_what_describes_the_work_agrees(facts):
    for name, text in metadata.tracked().items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, "replication archive --refresh"
    assert bibtex() in (ROOT / "README.md").read_text(encoding="utf-8")
    entry = copy.deepcopy(about()) | {"doi": "10.1/x", "repository": "https://example.org/x"}
    entry["authors"] = [{"given-names": "A.", "family-names": "Person", "orcid": None}]
    code = Source("a" * 40, "b" * 40, 0)
    said = yaml.safe_load(metadata.rescience(entry, code, facts))
    cff = yaml.safe_load(metadata.citation_cff(entry))
    meta, check = json.loads(metadata.codemeta(entry)), metadata.codecheck_yml(entry)
    assert cff["doi"] == "10.1/x" and meta["identifier"].endswith(cff["doi"])
    assert {"doi": "10.1/x"} in said["code"] and {"swh": code.directory_id} in said["code"]
    assert said["title"] == cff["preferred-citation"]["title"]
    assert yaml.safe_load(check)["paper"]["title"] == said["title"] and check.startswith("---\n")
    assert said["authors"][0]["name"] == meta["author"][0]["name"] == "A. Person"
    assert "{{" not in said["abstract"]
    graph = {one["@id"]: one for one in metadata.crate(entry, code, {})["@graph"]}
    assert graph["./"]["identifier"] == ["https://doi.org/10.1/x", code.revision_id]
    assert graph["source/"]["identifier"] == code.directory_id
    assert graph[graph["./"]["author"]["@id"]]["name"] == "A. Person"
    assert graph["./"]["name"] == said["title"]


@pytest.fixture(scope="module")
def deposit(facts) -> tuple[Source, dict[str, tuple[int, bytes]]]:
    code = source()
    if not code.commit:
        pytest.skip("a deposit is made from a git commit, and there is none here")
    return code, archive.contents(code, b"%PDF", quoted=facts)


def test_a_deposit_is_the_same_bytes_and_tells_its_source(deposit, tmp_path):
    code, held = deposit
    paths = [tmp_path / folder / "lpsvdd.zip" for folder in ("one", "two")]
    for path in paths:
        path.parent.mkdir()
        archive.write(held, path, code.time)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert archive.check(paths[0]) == code.directory_id == directory_id(files(code))
    broken = dict(held) | {"source/README.md": (archive.PLAIN, b"other")}
    archive.write(broken, paths[1], code.time)
    with pytest.raises(archive.ArchiveError, match="README.md is not the file"):
        archive.check(paths[1])


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda graph: graph["./"].pop("license"), "the root has no license"),
        (lambda graph: graph["#run-pure"].update(instrument={"@id": "#no"}), "leads nowhere"),
        (lambda graph: graph["source/results/pure.csv"].update(sha256="0"), "another file"),
        (lambda graph: graph["ro-crate-metadata.json"].pop("conformsTo"), "names no profile"),
    ],
)
def test_metadata_that_do_not_describe_the_deposit_are_refused(deposit, spoil, sentence):
    _, held = deposit
    crate = json.loads(held["ro-crate-metadata.json"][1])
    bodies = {p: body for p, (_, body) in held.items() if p not in
              ("ro-crate-metadata.json", "manifest-sha256.txt")}  # fmt: skip
    archive.check_crate(crate, bodies)
    spoil({one["@id"]: one for one in crate["@graph"]})
    with pytest.raises(archive.ArchiveError, match=sentence):
        archive.check_crate(crate, bodies)


def test_a_deposit_does_not_hold_the_book_of_another_commit(deposit, facts, tmp_path):
    code, _ = deposit
    (tmp_path / "_static").mkdir()
    for name in ("index.html", "_static/article.pdf"):
        (tmp_path / name).write_bytes(b"%PDF")
    held = archive.contents(code, b"%PDF", tmp_path, facts)
    assert {"book/index.html", "source/requirements.lock", "source/results/pure.csv"} <= set(held)
    with pytest.raises(archive.ArchiveError, match="not of this commit"):
        archive.contents(code, b"%PDF of today", tmp_path, facts)


def test_a_deposit_needs_a_commit_without_changes(tmp_path):
    with pytest.raises(SourceError, match="no git checkout"):
        committed(tmp_path)
    for words in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q",
                                   "--allow-empty", "-m", "x"]):  # fmt: skip
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    assert committed(tmp_path).tree == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git's empty
    (tmp_path / "a").write_text("a")
    subprocess.run(["git", "-C", str(tmp_path), "add", "a"], check=True)
    with pytest.raises(SourceError, match="commit or undo first: a"):
        committed(tmp_path)


def test_a_check_sees_rows_that_differ():
    check, ledger = codecheck.CHECKS[0], codecheck.CHECKS[-1]
    rows = check.stored.head(200)
    assert codecheck.compared(check, rows).good

    def other(**changes) -> codecheck.Outcome:
        return codecheck.compared(check, rows.assign(**changes))

    def auc(*steps: float) -> pd.Series:
        return rows["auc"] + [*steps, *[0.0] * (200 - len(steps))]

    assert other(auc=auc(0.2)).good and other(auc=auc(0.2)).agree == 199
    assert not other(auc=auc(1.5)).good  # one altered number
    assert not other(auc=auc(0.2, 0.2, 0.2)).good  # too many
    assert not other(auc=rows["auc"].where(rows.index > 0)).good
    assert other(auc=auc(1.5), params=["{}", *rows["params"][1:]]).good  # a tie on validation
    assert not codecheck.compared(check, rows.head(0)).good
    said = codecheck.certificate([other(auc=auc(1.5))])
    assert "NOT EVERY OUTPUT AGREES" in said and "199 of 200 rows agree" in said
    assert not codecheck.compared(ledger, ledger.stored.assign(verdict="holds")).good
    assert all((ROOT / one.file).exists() for one in codecheck.CHECKS)


def test_a_check_refuses_a_table_that_was_altered(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "results", tmp_path / "results")
    monkeypatch.setenv("LPSVDD_RESULTS", str(tmp_path / "results"))
    table = tmp_path / "results" / "bound_samplesize.csv"
    table.write_text(table.read_text().replace("7069", "7096", 1))
    monkeypatch.setattr(codecheck, "CHECKS", codecheck.CHECKS[3:4])
    (outcome,) = codecheck.run(lambda line: None)
    assert not outcome.good and "it was altered" in str(outcome)
    record = json.loads((path := table.with_suffix(".provenance.json")).read_text())
    record["sha256"] = hashlib.sha256(table.read_bytes()).hexdigest()
    path.write_text(json.dumps(record))  # and its record with it
    (outcome,) = codecheck.run(lambda line: None)
    assert not outcome.good and "7096" in str(outcome)


def test_the_rate_is_judged_by_its_rule():
    values = pd.Series([9.0, 10.0, 11.0], index=["D1", "D2", "D7"])
    assert [word(values * f, 10.0) for f in (1, 0.2, 3)] == [
        "keeps its rate", "is cautious", "is too strict",
    ]  # fmt: skip
    assert kept_rate().facts["word_10"] == "keeps its rate"


@pytest.mark.slow
def test_the_article_compiles_to_the_same_pages_twice(tmp_path):
    one, two = (article.build(tmp_path / name).read_bytes() for name in ("one", "two"))
    assert one == two and 6 <= one.count(b"/Type /Page\n") + one.count(b"/Type/Page/") <= 8


def test_every_command_of_make_is_one_of_the_replication():
    wanted = set(re.findall(r"-m replication ([a-z-]+)", (ROOT / "Makefile").read_text()))
    known = set(typer.main.get_command(build()).commands)
    assert {"article", "archive", "codecheck"} <= wanted <= known
