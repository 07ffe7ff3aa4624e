"""The notebook runner: checks parameters, skips what is current, shows failures."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

from replication import notebooks
from replication.findings import FACTS_TYPE
from replication.wording import QuoteError

ROOT = Path(__file__).resolve().parents[2]
SOURCES = notebooks.sources(ROOT)


def write_notebook(path: Path, *cells: str) -> None:
    parameters, *rest = cells
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters", "remove-cell"]}),
            *(nbformat.v4.new_code_cell(source) for source in rest),
        ],
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
        },
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


@pytest.fixture
def project(tmp_path):
    """A small checkout with one notebook."""
    (tmp_path / "replication").mkdir()
    (tmp_path / "replication" / "claims.yml").write_text("[]\n")
    (tmp_path / "results").mkdir()
    write_notebook(
        tmp_path / "notebooks" / "demo.ipynb",
        "n: int = 3  # how many\nscale: float = 0.5  # of what\ngrid: list = [1.0, 2.0]  # values",
        "print(n * scale, grid)",
    )
    (tmp_path / "notebooks" / "profiles.yml").write_text("quick:\n  demo: {n: 2}\n")
    return tmp_path


def printed(project: Path, name: str = "demo") -> str:
    executed = json.loads((project / "book" / "notebooks" / f"{name}.ipynb").read_text())
    return "".join(
        "".join(output["text"])
        for cell in executed["cells"]
        for output in cell.get("outputs", [])
        if output["output_type"] == "stream"
    )


def run(project: Path, **options):
    source = notebooks.find("demo", project)
    return notebooks.execute(source, root=project, report=lambda line: None, **options)


def test_parameters_are_read_typed_and_checked(project):
    source = notebooks.find("demo", project)
    assert notebooks.defaults(source) == {"n": 3, "scale": 0.5, "grid": [1.0, 2.0]}
    assert notebooks.check_parameters(source, {"scale": 2}) == {"scale": 2.0}
    with pytest.raises(notebooks.NotebookError, match="no parameter 'm'. Its parameters: n, scale"):
        notebooks.check_parameters(source, {"m": 1})
    with pytest.raises(notebooks.NotebookError, match="is str, expected int"):
        notebooks.check_parameters(source, {"n": "three"})
    with pytest.raises(notebooks.NotebookError, match="is bool, expected int"):
        notebooks.check_parameters(source, {"n": True})


def test_only_one_typed_parameters_cell_is_accepted(project):
    source = project / "notebooks" / "demo.ipynb"
    write_notebook(source, "n: int = 3  # as in n = 3\ngrid: list = [\n    1,\n    2,\n]  # long")
    assert notebooks.defaults(source) == {"n": 3, "grid": [1, 2]}
    write_notebook(source, "n = 3  # not typed")
    with pytest.raises(notebooks.NotebookError, match="name: type = value: n = 3"):
        notebooks.defaults(source)
    notebook = nbformat.read(source, as_version=4)
    del notebook.cells[0]
    nbformat.write(notebook, source)
    with pytest.raises(notebooks.NotebookError, match="has 0 parameters cells"):
        notebooks.defaults(source)


@pytest.mark.parametrize(
    ("text", "value"), [("[1, 2.5]", [1, 2.5]), ("3", 3), ("quick", "quick"), ("None", None)]
)
def test_values_from_the_command_line(text, value):
    assert notebooks.parse_value(text) == value


def test_unknown_notebooks_and_profiles_are_named(project):
    with pytest.raises(notebooks.NotebookError, match="There are: demo"):
        notebooks.find("other", project)
    with pytest.raises(notebooks.NotebookError, match="There are: published, quick"):
        run(project, profile="slow")


@pytest.fixture
def counted(monkeypatch):
    """Executions are recorded, not done: a kernel takes seconds to start."""
    seen = []

    def pretend(notebook, output, parameters, root):
        seen.append((notebook.stem, parameters))
        if notebook.stem == "first":
            raise notebooks.NotebookError("first failed")
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text("{}")

    monkeypatch.setattr(notebooks, "_papermill", pretend)
    return seen


def test_executes_with_overrides(project):
    assert run(project, profile="quick", parameters={"grid": [9]}) is not None
    assert printed(project) == "1.0 [9]\n"
    cells = json.loads((project / "book" / "notebooks" / "demo.ipynb").read_text())["cells"]
    (added,) = [c for c in cells if "injected-parameters" in c["metadata"].get("tags", [])]
    assert "remove-cell" in added["metadata"]["tags"]


def test_the_text_says_the_numbers_of_its_own_run(tmp_path):
    path = tmp_path / "demo.ipynb"
    facts = {"data": {FACTS_TYPE: {"run": {"n": 1}}, "text/plain": "run.n = 1"}}
    figure = {"mystnb": {"figure": {"caption": "{{ run.n|dot }}"}}}
    outputs = [facts | {"output_type": "display_data"}, {"output_type": "stream", "text": "x"}]
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["On {{ run.n|data ", "set }}."]},
        {"cell_type": "code", "metadata": figure, "source": "", "outputs": outputs},
    ]
    path.write_text(json.dumps({"cells": cells}))
    notebooks._finish(path)
    text, code = json.loads(path.read_text())["cells"]
    assert text["source"] == "On one data set."
    assert code["metadata"]["mystnb"]["figure"]["caption"] == "one dot"
    assert [output["output_type"] for output in code["outputs"]] == ["stream"]
    cells[0]["source"] = "{{ run.m }}"
    path.write_text(json.dumps({"cells": cells}))
    with pytest.raises(QuoteError, match="run.m"):
        notebooks._finish(path)


def test_skips_what_is_current(project, counted):
    assert run(project) is not None
    assert run(project) is None
    assert run(project, force=True) is not None
    assert run(project, profile="quick") is not None
    (project / "results" / "pure.csv").write_text("dataset\n")
    assert run(project, profile="quick") is not None
    assert [parameters for _, parameters in counted] == [{}, {}, {"n": 2}, {"n": 2}]


def test_failure_shows_the_cell_and_leaves_no_output(project):
    write_notebook(
        project / "notebooks" / "demo.ipynb", "n: int = 3  # n", "x = 1\nraise KeyError('lost')"
    )
    with pytest.raises(notebooks.NotebookError) as caught:
        run(project)
    assert "raise KeyError('lost')" in str(caught.value)
    assert "demo failed in cell 2" in str(caught.value)
    assert not (project / "book" / "notebooks" / "demo.ipynb").exists()
    assert not list((project / "_build" / "running").iterdir())


def test_all_stops_at_the_first_failure_in_the_order_of_the_book(project, counted):
    write_notebook(project / "notebooks" / "first.ipynb", "n: int = 3  # n")
    (project / "book").mkdir()
    contents = "chapters:\n- file: notebooks/first\n- file: notebooks/demo\n"
    (project / "book" / "_toc.yml").write_text(contents)
    with pytest.raises(notebooks.NotebookError, match="first failed"):
        notebooks.execute_all(root=project, report=lambda line: None)
    assert [name for name, _ in counted] == ["first"]


@pytest.mark.slow
def test_two_at_a_time_gives_what_one_at_a_time_does(project):
    write_notebook(project / "notebooks" / "other.ipynb", "n: int = 4  # n", "print(n)")
    lines = []
    notebooks.execute_all(root=project, jobs=2, report=lines.append)
    assert printed(project) == "1.5 [1.0, 2.0]\n" and printed(project, "other") == "4\n"
    assert [line[:6] for line in lines] == ["[ 1/2]", "[ 2/2]", "2 of 2"]
    lines.clear()
    notebooks.execute_all(root=project, jobs=2, report=lines.append)
    assert sum("up to date" in line for line in lines) == 2 and lines[-1].startswith("0 of 2")


@pytest.mark.slow
def test_two_at_a_time_finishes_what_runs_and_starts_no_other_after_a_failure(project):
    write_notebook(
        project / "notebooks" / "demo.ipynb", "n: int = 3  # n", "raise KeyError('lost')"
    )
    slow = "import time\ntime.sleep(3)\nprint(n)"
    for name in ("large_data", "second", "third", "fourth"):  # the first of them is started first
        write_notebook(project / "notebooks" / f"{name}.ipynb", "n: int = 4  # n", slow)
    with pytest.raises(notebooks.NotebookError, match="demo failed in cell 2"):
        notebooks.execute_all(root=project, jobs=2, report=lambda line: None)
    made = {path.stem for path in (project / "book" / "notebooks").glob("*.ipynb")}
    assert made <= {"large_data", "fourth"} and "demo" not in made


def test_command_line(project, monkeypatch):
    from replication.cli import build

    monkeypatch.chdir(project)
    runner = CliRunner()
    shown = runner.invoke(build(), ["notebook", "demo", "--show"])
    assert shown.exit_code == 0 and "grid = [1.0, 2.0]" in shown.output
    done = runner.invoke(build(), ["notebook", "demo", "-p", "grid", "[4]", "-p", "n=7"])
    assert done.exit_code == 0 and printed(project) == "3.5 [4]\n"
    for wrong, message in (
        (["notebook", "demo", "-p", "gird", "[4]"], "no parameter 'gird'"),
        (["notebook", "demo", "-p", "n"], "has no value"),
        (["notebook"], "--all"),
        (["notebook", "demo", "08"], "unexpected: 08"),
    ):
        result = runner.invoke(build(), wrong)
        assert result.exit_code != 0 and message in result.output


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_tracked_notebooks_have_parameters_a_title_and_no_outputs(source):
    notebook = nbformat.read(source, as_version=4)
    nbformat.validate(notebook)
    assert notebook.cells[0].cell_type == "markdown" and notebook.cells[0].source.startswith("# ")
    assert "$" not in notebook.cells[0].source.splitlines()[0], (
        "TeX in a heading reaches the sidebar"
    )
    assert notebooks.defaults(source), "no parameters cell"
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert not cell.outputs and cell.execution_count is None
        if "parameters" in cell.metadata.get("tags", []):
            lines = cell.source.splitlines()
            for node in ast.parse(cell.source).body:
                text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
                assert isinstance(node, ast.AnnAssign), f"untyped: {text}"
                assert "#" in text, f"uncommented: {text}"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_reader_sees_what_is_done_and_every_figure_has_alternative_text(source):
    for cell in nbformat.read(source, as_version=4).cells:
        tags = cell.metadata.get("tags", [])
        assert "hide-input" not in tags or "\n" in cell.source, f"a bar for one line: {cell.source}"
        assert "parameters" not in tags or tags == ["parameters"], "parameters stand in view"
        if cell.cell_type == "code" and ("plt.show()" in cell.source or "mystnb" in cell.metadata):
            options = cell.metadata.get("mystnb", {})
            assert options.get("image", {}).get("alt"), cell.source[:80]
            assert options.get("figure", {}).get("caption"), cell.source[:80]


WALKS = ("pure", "negatives", "exponent", "choices")


@pytest.mark.parametrize("name", WALKS)
def test_notebook_text_holds_no_placeholder_and_half_of_its_code_is_visible(name):
    shown, hidden = 0, 0
    for cell in nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells:
        assert "{{" not in cell.source + json.dumps(cell.metadata.get("mystnb", {}))
        if cell.cell_type == "code":
            lines = sum(bool(line.strip()) for line in cell.source.splitlines())
            folded = {"hide-input", "remove-input", "remove-cell"} & set(
                cell.metadata.get("tags", [])
            )
            shown, hidden = shown + lines * (not folded), hidden + lines * bool(folded)
    assert shown >= hidden


def test_profiles_name_existing_notebooks_and_parameters():
    import yaml

    profiles = yaml.safe_load((ROOT / "notebooks" / "profiles.yml").read_text(encoding="utf-8"))
    by_name = {source.stem: source for source in SOURCES}
    for entries in profiles.values():
        for name, values in entries.items():
            assert notebooks.check_parameters(by_name[name], values)


def test_the_page_on_reproduction_states_the_tolerance_in_force():
    from replication import experiment as experiments

    page = (ROOT / "book" / "reproduce.md").read_text(encoding="utf-8")
    share = f"{100 * experiments.REQUIRED_SHARE:.0f} %"
    assert f"{experiments.TOLERANCE} points, for at least {share} of the rows" in page


def test_every_notebook_is_in_the_table_of_contents():
    listed = (ROOT / "book" / "_toc.yml").read_text(encoding="utf-8")
    assert [source.stem for source in SOURCES if f"notebooks/{source.stem}\n" not in listed] == []


@pytest.mark.parametrize("name", ["tutorial", "tune", "large_data"])
def test_what_users_read_imports_the_method_alone(root, name):
    cells = nbformat.read(root / "notebooks" / f"{name}.ipynb", as_version=4).cells
    hidden = {"remove-cell", "remove-input"}
    shown = [
        cell.source
        for cell in cells
        if cell.cell_type == "code" and not hidden & set(cell.metadata.get("tags", []))
    ]
    assert any("from lpsvdd" in source for source in shown)
    assert not [source for source in shown if "replication" in source]
    if name == "tutorial":  # every cell can be pasted
        assert "replication" not in "".join(c.source for c in cells if c.cell_type == "code")


def pasted(name, monkeypatch, **parameters):
    """Names and tables of a chapter whose cells are pasted into plain Python."""
    from test_tutorial import script

    from replication import figures, layout

    tables, names = {}, {"__name__": "__main__"}
    monkeypatch.setattr(
        layout, "show_table", lambda table, label, **_: tables.update({label: table})
    )
    monkeypatch.setattr(figures, "show", lambda draw: None)
    text = script(ROOT / "notebooks" / f"{name}.ipynb", **parameters)
    exec(compile(text, name, "exec"), names)
    return names, tables


def test_derivation_at_published_exponents_agrees_with_cvxpy(monkeypatch):
    names, tables = pasted("derivation", monkeypatch)
    for table in tables.values():
        assert table.notna().all(axis=None)
    for name in ("without", "with_outliers"):
        assert names["largest_difference"](names[name]) < 1e-5
    assert (names["with_outliers"]["outliers with α > 0"] > 0).sum() >= 3
    apart = names["distances"].max()
    assert apart["printed factor ½, costs c"] > 100 * apart.drop("printed factor ½, costs c").max()


def test_derivation_algebra_in_sympy_leaves_the_equality_constraint_alone(monkeypatch):
    names, _ = pasted("derivation", monkeypatch, p_grid=[2.0])
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
    assert names["largest_difference"](names["with_outliers"]) < 1e-5
