"""The article quotes, the deposit describes itself, the check can fail."""

from __future__ import annotations

import json
import re
import subprocess
import zipfile

import pytest
import typer
import yaml

import lpsvdd
from replication import archive, article, codecheck, notebooks
from replication.about import ROOT, Commit, citation
from replication.article.numbers import article_numbers
from replication.cli import build
from replication.findings import read, same_range, tables

TEXT = article.text()
QUOTE = re.compile(r"#?\bn((?:\.[a-z]\w*)+)")
NAMES = r"ℓ\d|D\d+|(?:Section|Table|Theorem|Eq\.) [\d.]+"
LEVELS = {"90", "95", "5", "10", "20"}  # of intervals, and the rates that were asked for
EXPONENTS = {"0", "1", "2", "5", "20"}  # in formulas; the abstract names two in words
WORDS = (
    "four|five|six|seven|eight|nine|ten|eleven|twelve|[a-z]+teen|twenty|thirty|fifty|sixty|seventy"
    "|eighty|ninety|thousand"
)


def typed_numbers(text: str) -> set[str]:
    """Numbers of the prose that no quote has filled."""
    body = text.partition("abstract: [")[2].partition("#bibliography")[0]
    marks = (r"//.*", QUOTE.pattern, r"\$[^$]*\$", r"#set .*", r"#link\(.*?\)", r"#block\([^\[]*",
             r"stroke: .*?\)", r"columns: .*?head:", r"@\w+", r"image\([^)]*\)", r"<\w+>",
             r"\(2022\)", NAMES)  # fmt: skip
    for pattern in marks:
        body = re.sub(pattern, "", body)
    found = re.findall(rf"\d[\d.,]*|\b(?:{WORDS})\b", body, re.IGNORECASE)
    return {one.rstrip(".,") for one in found}


def test_every_measured_number_of_the_article_comes_from_a_function():
    texts = article_numbers(Commit("0" * 40, "1" * 40, 0))
    assert typed_numbers(TEXT) <= LEVELS | EXPONENTS
    formulas = " ".join(re.findall(r"\$[^$]*\$", TEXT))
    assert set(re.findall(r"[\d.]*\d", formulas)) <= EXPONENTS
    for typed in ("8.5", "eighteen"):
        assert typed in typed_numbers(TEXT.replace("#n.rerun.apart ", f"{typed} ", 1))
    quotes = QUOTE.findall(TEXT)
    assert len(quotes) > 60
    for quote in quotes:
        value = texts
        for name in quote.split(".")[1:]:
            value = value if name in ("map", "join") else value[name]
        assert value and "not computed" not in str(value), quote


def test_words_of_the_article_about_its_numbers_are_so():
    """The abstract and the headings of sections state these; no number says them."""
    found = same_range.lead(read("common_range"))
    assert found["lead"].exists and found["removed"].exists
    assert not any(found[key].exists for key in ("left", "with_mean", "few"))
    over = tables.tables_p(read("tables_exponents"))
    assert all(over["over"][p].equivalent for p in ("1", "1.2", "5", "20"))
    assert not all(over["scale_many"][p].equivalent for p in ("1", "1.2", "5", "20"))
    both = same_range.weights_in_range(read("common_range"), read("weights_range_tables"))
    assert all(one.high < 0 for one in both["each"].values())


def test_figures_and_citations_of_the_article_exist():
    figures, sources = article.FIGURE.findall(TEXT), notebooks.notebook_paths()
    assert len(figures) >= 3
    for chapter, name, _ in figures:
        assert f'"name": "{name}"' in sources[chapter].read_text(encoding="utf-8")
    keys = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "book/references.bib").read_text(), re.M))
    labels = set(re.findall(r"<(\w+)>", TEXT))
    assert set(re.findall(r"(?<!\w)@(\w+)", TEXT)) <= keys | labels


@pytest.mark.slow
def test_article_compiles_to_six_pages_and_the_same_twice(tmp_path, monkeypatch):
    drawing = '<svg xmlns="http://www.w3.org/2000/svg" width="360pt" height="300pt"/>'
    monkeypatch.setattr(article.notebooks, "shown_figure", lambda chapter, name: drawing)
    one, two = (article.write_pdf(tmp_path / name, execute=False) for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    pages = article.typeset(one.with_suffix(".typ"), format="png", ppi=20.0)
    assert 5 <= len(pages) <= 6


def test_citation_files_and_pages_agree():
    cff, report = citation(), citation()["preferred-citation"]
    meta = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    check = yaml.safe_load((ROOT / "codecheck.yml").read_text(encoding="utf-8"))
    assert lpsvdd.__version__ == cff["version"] == meta["version"]
    assert report["title"] == check["paper"]["title"] and cff["title"] == meta["name"]
    assert cff["authors"] == report["authors"] == check["paper"]["authors"]
    assert [one["name"] for one in cff["authors"]] == [one["name"] for one in meta["author"]]
    for name in ("README.md", "book/article.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        (entry,) = re.findall(r"```bibtex\n(.*?)```", text, flags=re.S)
        assert report["title"].removeprefix("[Re] ℓp ") in entry
        assert str(report["year"]) in entry and f"version {cff['version']}" in entry


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with one commit, whose article is a few bytes."""
    root = tmp_path / "checkout"
    (root / "results").mkdir(parents=True)
    (root / "results" / "pure.csv").write_text("auc\n")
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", "-C", str(root), *words], check=True)

    def pretend(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "article.pdf").write_bytes(b"%PDF")
        return folder / "article.pdf"

    monkeypatch.setattr(archive.article, "write_pdf", pretend)
    return root


def test_deposit_is_the_same_bytes_twice_and_holds_the_book_of_its_commit(checkout, tmp_path):
    one, two = (archive.make_deposit(tmp_path / name, checkout) for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes() and one.name == two.name
    (checkout / "_build/html/_static").mkdir(parents=True)
    for name in ("index.html", "_static/article.pdf"):
        (checkout / "_build/html" / name).write_bytes(b"%PDF")
    with zipfile.ZipFile(archive.make_deposit(tmp_path, checkout)) as deposit:
        held = {name.partition("/")[2] for name in deposit.namelist() if name[-1] != "/"}
    assert held == {
        "article.pdf", "book/index.html", "book/_static/article.pdf", "source/results/pure.csv",
    }  # fmt: skip


def test_deposit_with_changes_another_book_or_no_commit_is_refused(checkout, tmp_path):
    (checkout / "_build/html/_static").mkdir(parents=True)
    for name in ("index.html", "_static/article.pdf"):
        (checkout / "_build/html" / name).write_bytes(b"%PDF of today")
    with pytest.raises(archive.ArchiveError, match="not of this commit"):
        archive.make_deposit(tmp_path, checkout)
    (checkout / "results" / "pure.csv").write_text("other\n")
    with pytest.raises(archive.ArchiveError, match="commit or undo first: results/pure.csv"):
        archive.make_deposit(tmp_path, checkout)
    with pytest.raises(archive.ArchiveError, match="no git checkout"):
        archive.make_deposit(tmp_path, tmp_path)


def test_certificate_says_whether_every_command_agrees(tmp_path, monkeypatch):
    plan = {"paper": {"title": "[Re] T"}, "manifest": [{"file": "f", "comment": "c"}]}
    for options, agrees in (("", True), (" --wrong", False)):
        plan["commands"] = ["python -m replication data list", f"python -V{options}"]
        monkeypatch.setattr(codecheck.yaml, "safe_load", lambda text: plan)
        path, good = codecheck.write_certificate(tmp_path)
        text = path.read_text(encoding="utf-8")
        assert good == agrees == ("NOT EVERY OUTPUT" not in text)
        assert "wine" in text and "- `f`: c" in text and plan["commands"][0] in text


def test_make_and_codecheck_name_commands_and_files_that_exist():
    plan = yaml.safe_load((ROOT / "codecheck.yml").read_text(encoding="utf-8"))
    assert all((ROOT / one["file"]).is_file() for one in plan["manifest"])
    assert sum("--compare" in command for command in plan["commands"]) == 1
    wanted = set(re.findall(r"-m replication ([a-z-]+)", (ROOT / "Makefile").read_text()))
    assert {"article", "archive", "codecheck"} <= wanted
    wanted |= {command.split()[3] for command in plan["commands"]}
    assert wanted <= set(typer.main.get_command(build()).commands)
