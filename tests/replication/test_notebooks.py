"""The notebook runner: checks parameters, skips what is current, shows failures."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

from replication import notebooks
from replication.cli import publish

ROOT = Path(__file__).resolve().parents[2]
SOURCES = notebooks.notebook_paths(ROOT)


def write_notebook(path: Path, *cells: str) -> None:
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(source, metadata={"tags": ["parameters"] * (number == 0)})
            for number, source in enumerate(cells)
        ],
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
        },
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


@pytest.fixture
def project(tmp_path):
    """A small checkout with two notebooks."""
    (tmp_path / "book").mkdir()
    (tmp_path / "book/_toc.yml").write_text("chapters:\n- file: notebooks/demo\n")
    write_notebook(
        tmp_path / "notebooks" / "demo.ipynb",
        "n: int = 3  # as in n = 3\nscale: float = 0.5  # of what\ngrid: list = [\n  1.0,\n]  # g",
        "print(n * scale, grid)",
    )
    write_notebook(tmp_path / "notebooks" / "also.ipynb", "n: int = 4  # n", "print(n)")
    (tmp_path / "notebooks" / "profiles.yml").write_text("quick:\n  demo: {n: 2}\n")
    return tmp_path


def printed(project: Path, name: str = "demo") -> str:
    executed = json.loads((project / "book" / "notebooks" / f"{name}.ipynb").read_text())
    outputs = [output for cell in executed["cells"] for output in cell.get("outputs", [])]
    return "".join("".join(one["text"]) for one in outputs if one["output_type"] == "stream")


@pytest.fixture
def counted(monkeypatch):
    """Executions are recorded, not done: a kernel takes seconds to start."""
    seen = []

    def pretend(notebook, output, parameters, root):
        seen.append((notebook.stem, parameters))
        if notebook.stem == "demo" and len(parameters) > 1:
            raise notebooks.NotebookError("demo failed")
        output.write_text("{}")

    monkeypatch.setattr(notebooks, "_papermill", pretend)
    return seen


@pytest.mark.parametrize(
    ("profile", "given", "message"),
    [
        ("published", {"m": 1}, "no parameter 'm'. Its parameters: n, scale, grid"),
        ("published", {"n": "three"}, "is str, expected int"),
        ("published", {"n": True}, "is bool, expected int"),
        ("slow", {}, "There are: published, quick"),
    ],
)
def test_parameters_unknown_or_of_another_type_are_refused(project, profile, given, message):
    source = notebooks.find_notebook("demo", project)
    assert notebooks.published_values(source) == {"n": 3, "scale": 0.5, "grid": [1.0]}
    assert notebooks.parameter_values(source, "quick", {"scale": 2}) == {"n": 2, "scale": 2.0}
    with pytest.raises(notebooks.NotebookError, match=message):
        notebooks.parameter_values(source, profile, given)
    with pytest.raises(notebooks.NotebookError, match="There are: demo, also"):
        notebooks.find_notebook("other", project)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["n = 3  # not typed"], "name: type = value: n = 3"),
        ([], "has 0 parameters cells"),
    ],
)
def test_parameters_cell_untyped_or_missing_is_refused(project, cells, message):
    source = project / "notebooks" / "demo.ipynb"
    write_notebook(source, *cells)
    with pytest.raises(notebooks.NotebookError, match=message):
        notebooks.published_values(source)


def test_execute_with_overrides_prints_their_values(project):
    source = notebooks.find_notebook("notebooks/demo.ipynb", project)
    line = notebooks.execute(source, root=project, profile="quick", parameters={"grid": [9]})
    assert line.startswith("demo") and printed(project) == "1.0 [9]\n"


def test_execute_unchanged_notebook_is_up_to_date_until_an_input_changes(project, counted):
    source = notebooks.find_notebook("demo", project)
    (project / "results").mkdir()

    def state(**options):
        return notebooks.execute(source, root=project, **options)

    assert "s" == state()[-1] and state().endswith("up to date") and state(force=True)[-1] == "s"
    state(profile="quick")
    (project / "results" / "pure.csv").write_text("dataset\n")
    assert state(profile="quick")[-1] == "s"
    assert [parameters for _, parameters in counted] == [{}, {}, {"n": 2}, {"n": 2}]


def test_execute_failing_cell_is_shown_and_leaves_no_output(project):
    source = project / "notebooks" / "demo.ipynb"
    write_notebook(source, "n: int = 3  # n", "x = 1\nraise KeyError('lost')")
    with pytest.raises(notebooks.NotebookError, match=r"(?s)cell 2.*raise KeyError\('lost'\)"):
        notebooks.execute(source, root=project)
    assert not (project / "book" / "notebooks" / "demo.ipynb").exists()
    assert not list((project / "_build" / "stamps").iterdir())


def test_all_one_at_a_time_follows_the_book_and_stops_at_a_failure(project, counted):
    assert [line[:5] for line in notebooks.execute_all(root=project)][:2] == ["[ 1/2", "[ 2/2"]
    assert [name for name, _ in counted] == ["demo", "also"]
    (project / "notebooks" / "profiles.yml").write_text("quick: {demo: {n: 2, scale: 1.0}}\n")
    with pytest.raises(notebooks.NotebookError, match="demo failed"):
        list(notebooks.execute_all(root=project, profile="quick"))
    assert [name for name, _ in counted] == ["demo", "also", "demo"]


@pytest.mark.slow
def test_all_two_at_a_time_executes_each_and_a_failure_is_shown(project):
    assert list(notebooks.execute_all(root=project, jobs=2))[-1].startswith("2 notebooks in")
    assert printed(project) == "1.5 [1.0]\n" and printed(project, "also") == "4\n"
    write_notebook(project / "notebooks" / "demo.ipynb", "n: int = 3  # n", "raise KeyError('x')")
    with pytest.raises(notebooks.NotebookError, match="demo failed in cell 2"):
        list(notebooks.execute_all(root=project, jobs=2))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["limits", "--show"], " = "),
        (["limits", "-p", "nothing", "[4]"], "no parameter 'nothing'"),
        (["limits", "-p", "n"], "has no value"),
        ([], "--all"),
        (["limits", "08"], "unexpected: 08"),
    ],
)
def test_command_line_wrong_words_are_named(words, message):
    from replication.cli import build

    result = CliRunner().invoke(build(), ["notebook", *words])
    assert (result.exit_code == 0) == ("--show" in words) and message in result.output


def test_values_of_the_command_line_are_python_or_words():
    names = ["a", "b=quick", "c", "d"]
    values = {"a": [1, 2.5], "b": "quick", "c": 3, "d": None}
    assert publish.parameter_pairs(names, ["[1, 2.5]", "3", "None"]) == values


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_tracked_notebooks_have_parameters_a_title_and_no_outputs(source):
    notebook = nbformat.read(source, as_version=4)
    nbformat.validate(notebook)
    assert notebook.cells[0].cell_type == "markdown" and notebook.cells[0].source.startswith("# ")
    assert "$" not in notebook.cells[0].source.splitlines()[0], (
        "TeX in a heading reaches the sidebar"
    )
    assert notebooks.published_values(source), "no parameters cell"
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
            assert notebooks.parameter_values(by_name[name], "published", values)


def test_the_page_on_reproduction_states_the_tolerance_in_force():
    from replication import experiment as experiments

    page = (ROOT / "book" / "reproduce.md").read_text(encoding="utf-8")
    share = f"{100 * experiments.REQUIRED_SHARE:.0f} %"
    assert f"{experiments.TOLERANCE} points, for at least {share} of the rows" in page


def test_every_notebook_is_in_the_table_of_contents():
    listed = (ROOT / "book" / "_toc.yml").read_text(encoding="utf-8")
    assert [source.stem for source in SOURCES if f"notebooks/{source.stem}\n" not in listed] == []


@pytest.mark.parametrize("name", ["tutorial", "large_data"])
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
