"""Notebooks: executed with checked parameters, tracked without outputs, pasted into Python."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess

import nbformat
import pytest
import yaml
from typer.testing import CliRunner

from replication import experiment, figures, layout, notebooks
from replication.cli import build, publish

ROOT = notebooks.ROOT
SOURCES = notebooks.notebook_paths()
HIDDEN = {"hide-input", "remove-input", "remove-cell"}


def cells(name: str, kind: str = "code") -> list:
    return [
        cell for cell in nbformat.read(SOURCES[name], as_version=4).cells if cell.cell_type == kind
    ]


def tags(cell) -> set[str]:
    return set(cell.metadata.get("tags", []))


# -- tracked notebooks ------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOURCES)
def test_tracked_notebook_has_a_title_commented_parameters_and_no_outputs(name):
    notebook = nbformat.read(SOURCES[name], as_version=4)
    nbformat.validate(notebook)
    title = notebook.cells[0].source.splitlines()[0]
    assert title.startswith("# ") and "$" not in title, "TeX in a title reaches the sidebar"
    assert f"notebooks/{name}\n" in (ROOT / "book/_toc.yml").read_text(encoding="utf-8")
    assert notebooks.published_values(SOURCES[name])
    for cell in cells(name):
        assert not cell.outputs and cell.execution_count is None
        assert "{{" not in cell.source + json.dumps(cell.metadata.get("mystnb", {}))
        if "parameters" in tags(cell):
            lines = cell.source.splitlines()
            for node in ast.parse(cell.source).body:
                assert isinstance(node, ast.AnnAssign)
                assert any("#" in line for line in lines[node.lineno - 1 : node.end_lineno])
        if "plt.show()" in cell.source or "mystnb" in cell.metadata:
            options = cell.metadata["mystnb"]
            assert options["image"]["alt"] and options["figure"]["caption"]


@pytest.mark.parametrize("name", ["pure", "negatives", "exponent", "choices"])
def test_half_of_the_code_of_a_chapter_is_visible(name):
    count = {True: 0, False: 0}
    for cell in cells(name):
        count[bool(HIDDEN & tags(cell))] += sum(map(bool, cell.source.splitlines()))
    assert count[False] >= count[True]


@pytest.mark.parametrize("name", ["tutorial", "large_data"])
def test_chapter_for_users_shows_imports_of_the_method_alone(name):
    shown = "".join(cell.source for cell in cells(name) if not HIDDEN & tags(cell))
    assert "from lpsvdd" in shown and "replication" not in shown


def test_profiles_name_existing_notebooks_and_parameters():
    profiles = yaml.safe_load((ROOT / "notebooks/profiles.yml").read_text(encoding="utf-8"))
    for entries in profiles.values():
        for name, values in entries.items():
            assert notebooks.parameter_values(SOURCES[name], "published", values)


def test_page_on_reproduction_states_the_tolerance_in_force():
    page = (ROOT / "book/reproduce.md").read_text(encoding="utf-8")
    share = f"{100 * experiment.REQUIRED_SHARE:.0f} %"
    assert f"{experiment.TOLERANCE} points, for at least {share} of the rows" in page


# -- execution --------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path):
    """A small checkout with one notebook."""
    source = (
        "n: int = 3  # as in n = 3\nscale: float = 0.5  # of what\ngrid: list = [\n  1.0,\n]  # g"
    )
    code = "print(n * scale, grid)\nassert n < 5, 'too many'"
    made = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(source, metadata={"tags": ["parameters"]}),
            nbformat.v4.new_code_cell(code),
        ],
        metadata={"language_info": {"name": "python"}},
    )
    (tmp_path / "notebooks").mkdir()
    nbformat.write(made, tmp_path / "notebooks/demo.ipynb")
    (tmp_path / "notebooks/profiles.yml").write_text("quick:\n  demo: {n: 2}\n")
    return tmp_path


def test_parameters_unknown_or_of_another_type_are_refused(project):
    source = project / "notebooks/demo.ipynb"
    assert notebooks.published_values(source) == {"n": 3, "scale": 0.5, "grid": [1.0]}
    assert notebooks.parameter_values(source, "quick", {"scale": 2}) == {"n": 2, "scale": 2}
    for profile, given, message in (
        ("published", {"m": 1}, "no parameter 'm'. Its parameters: n, scale, grid"),
        ("published", {"n": "three"}, "expected int such as 3"),
        ("slow", {}, "There are: published, quick"),
    ):
        with pytest.raises(notebooks.NotebookError, match=message):
            notebooks.parameter_values(source, profile, given)
    with pytest.raises(notebooks.NotebookError, match="There are: demo"):
        notebooks.execute("other", root=project)


def test_executed_notebook_is_up_to_date_until_an_input_changes_and_a_failure_is_shown(project):
    def state(**parameters):
        return notebooks.execute("demo", root=project, profile="quick", parameters=parameters)

    assert state(grid=[9]).endswith(" s") and state(grid=[9]).endswith("up to date")
    path = project / "book/notebooks/demo.ipynb"
    (output,) = nbformat.read(path, as_version=4).cells[-1].outputs
    assert output.text == "1.0 [9]\n"
    before = notebooks.fingerprint(SOURCES["limits"], {}, project)
    (project / "results").mkdir()
    (project / "results/pure.csv").write_text("dataset\n")
    assert notebooks.fingerprint(SOURCES["limits"], {}, project) != before
    with pytest.raises(notebooks.NotebookError, match=r"(?s)demo failed.*assert n < 5.*too many"):
        state(n=7)
    assert nbformat.read(path, as_version=4).cells[-1].outputs == [output], "the last one is kept"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["limits", "-p", "nothing", "[4]"], "no parameter 'nothing'"),
        (["limits", "-p", "n"], "each -p with a name and a value"),
        (["limits", "08"], "each -p with a name and a value"),
        ([], "--all"),
    ],
)
def test_command_line_with_wrong_words_says_what_to_give(words, message):
    result = CliRunner().invoke(build(), ["notebook", *words])
    assert result.exit_code and message in " ".join(result.output.replace("│", " ").split())
    assert list(map(publish.python_value, ["[1, 2.5]", "quick"])) == [[1, 2.5], "quick"]


# -- cells pasted into plain Python -----------------------------------------------------------


def script(name: str, **parameters: object) -> str:
    """All code cells as one text; a shell line becomes a call that raises if its command fails."""
    parts = []
    for cell in cells(name):
        parts.append(re.sub(r"^!(.*)$", lambda m: f"run({m[1]!r})", cell.source, flags=re.M))
        if "parameters" in tags(cell):
            parts += [f"{key} = {value!r}" for key, value in parameters.items()]
    return "\n\n".join(parts)


def pasted(name: str, monkeypatch, **parameters) -> tuple[dict, list]:
    """Names and tables of a chapter whose cells are pasted into plain Python."""
    tables: list = []
    names = {"run": lambda line: subprocess.run(line, shell=True, check=True)}
    monkeypatch.setattr(layout, "show_table", lambda table, label, **_: tables.append(table))
    monkeypatch.setattr(figures, "show", lambda draw: None)
    exec(compile(script(name, **parameters), name, "exec"), names)
    return names, tables


def test_derivation_at_published_exponents_agrees_with_cvxpy_and_with_sympy(monkeypatch):
    names, tables = pasted("derivation", monkeypatch)
    assert all(table.notna().all(axis=None) for table in tables)
    for name in ("without", "with_outliers"):
        assert names["largest_difference"](names[name]) < 1e-5
    assert (names["with_outliers"]["outliers with α > 0"] > 0).sum() >= 3
    apart = names["distances"].max()
    assert apart["printed factor ½, costs c"] > 100 * apart.drop("printed factor ½, costs c").max()
    *in_a_and_slack, in_b, left_over = names["found_by_sympy"]
    one, two, outlier = names["alpha"]
    assert all(part == 0 for parts in in_a_and_slack for part in parts)
    assert left_over == 0 and in_b == 1 - one - two + outlier


def test_derivation_where_cvxpy_has_no_answer_shows_a_dash_and_our_certificate(monkeypatch):
    # At p = 1.001 the coefficient of the printed dual is below every double.
    names, _ = pasted("derivation", monkeypatch, p_grid=[1.001, 2.0])
    for table in (names["without"], names["with_outliers"]):
        assert table["ours"].notna().all()
        assert (table["our gap"].astype(float) <= 1e-9).all()
    assert names["with_outliers"]["dual (CVXPY)"].isna().tolist() == [True, False]


@pytest.mark.slow
def test_tutorial_runs_as_one_script(root, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)  # the tutorial changes the folder and the path:
    monkeypatch.setenv("PATH", os.environ["PATH"])  # both are put back after the test
    monkeypatch.setenv("PYTHONPATH", str(root))
    monkeypatch.setenv("MPLBACKEND", "agg")
    names, _ = pasted("tutorial", monkeypatch, n_splits=2)
    shown = capfd.readouterr().out
    assert "identical: True" in shown and "they sum to the scores: True" in shown
    (right,) = re.findall(r"first reason is the spoilt column: (\d+) of 10", shown)
    assert int(right) >= 8  # a guess among 30 columns is right once in three such tables
    assert (names["folder"] / "scores.csv").is_file()
