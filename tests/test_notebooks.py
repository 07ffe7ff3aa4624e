"""The notebook runner: checks parameters, skips what is current, shows failures."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

from lpsvdd import notebooks

ROOT = Path(__file__).resolve().parents[1]
SOURCES = notebooks.sources(ROOT)


def write_notebook(path: Path, *cells: str) -> None:
    parameters, *rest = cells
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}),
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
    (tmp_path / "claims.yml").write_text("[]\n")
    (tmp_path / "results").mkdir()
    write_notebook(
        tmp_path / "notebooks" / "07_demo.ipynb",
        "n: int = 3  # how many\nscale: float = 0.5  # of what\ngrid: list = [1.0, 2.0]  # values",
        "print(n * scale, grid)",
    )
    (tmp_path / "notebooks" / "profiles.yml").write_text("quick:\n  07_demo: {n: 2}\n")
    return tmp_path


def printed(project: Path, name: str = "07_demo") -> str:
    executed = json.loads((project / "book" / "notebooks" / f"{name}.ipynb").read_text())
    return "".join(
        "".join(output["text"])
        for cell in executed["cells"]
        for output in cell.get("outputs", [])
        if output["output_type"] == "stream"
    )


def run(project: Path, **options):
    source = notebooks.find("07", project)
    return notebooks.execute(source, root=project, report=lambda line: None, **options)


def test_parameters_are_read_typed_and_checked(project):
    source = notebooks.find("07", project)
    assert notebooks.defaults(source) == {"n": 3, "scale": 0.5, "grid": [1.0, 2.0]}
    assert notebooks.check_parameters(source, {"scale": 2}) == {"scale": 2.0}
    with pytest.raises(notebooks.NotebookError, match="no parameter 'm'. Its parameters: n, scale"):
        notebooks.check_parameters(source, {"m": 1})
    with pytest.raises(notebooks.NotebookError, match="is str, expected int"):
        notebooks.check_parameters(source, {"n": "three"})
    with pytest.raises(notebooks.NotebookError, match="is bool, expected int"):
        notebooks.check_parameters(source, {"n": True})


@pytest.mark.parametrize(
    ("text", "value"), [("[1, 2.5]", [1, 2.5]), ("3", 3), ("quick", "quick"), ("None", None)]
)
def test_values_from_the_command_line(text, value):
    assert notebooks.parse_value(text) == value


def test_unknown_notebooks_and_profiles_are_named(project):
    with pytest.raises(notebooks.NotebookError, match="There are: 07_demo"):
        notebooks.find("08", project)
    with pytest.raises(notebooks.NotebookError, match="There are: published, quick"):
        run(project, profile="slow")


def test_executes_with_overrides_and_skips_what_is_current(project):
    assert run(project).executed
    assert printed(project) == "1.5 [1.0, 2.0]\n"
    assert not run(project).executed
    assert run(project, force=True).executed
    assert run(project, profile="quick", parameters={"grid": [9]}).executed
    assert printed(project) == "1.0 [9]\n"
    (project / "results" / "pure.csv").write_text("dataset\n")
    assert run(project, profile="quick", parameters={"grid": [9]}).executed


def test_failure_shows_the_cell_and_leaves_no_output(project):
    write_notebook(
        project / "notebooks" / "07_demo.ipynb", "n: int = 3  # n", "x = 1\nraise KeyError('lost')"
    )
    with pytest.raises(notebooks.NotebookError) as caught:
        run(project)
    assert "raise KeyError('lost')" in str(caught.value)
    assert "07_demo failed in cell 2" in str(caught.value)
    assert not (project / "book" / "notebooks" / "07_demo.ipynb").exists()
    assert not list((project / "_build" / "running").iterdir())


def test_all_stops_at_the_first_failure(project):
    write_notebook(
        project / "notebooks" / "01_first.ipynb", "n: int = 3  # n", "raise KeyError('lost')"
    )
    with pytest.raises(notebooks.NotebookError, match="01_first failed"):
        notebooks.execute_all(root=project, report=lambda line: None)
    assert not (project / "book" / "notebooks" / "07_demo.ipynb").exists()


def test_command_line(project, monkeypatch):
    from lpsvdd.cli import build

    monkeypatch.chdir(project)
    runner = CliRunner()
    shown = runner.invoke(build(), ["notebook", "07", "--show"])
    assert shown.exit_code == 0 and "grid = [1.0, 2.0]" in shown.output
    done = runner.invoke(build(), ["notebook", "07", "-p", "grid", "[4]", "-p", "n=7"])
    assert done.exit_code == 0 and printed(project) == "3.5 [4]\n"
    for wrong, message in (
        (["notebook", "07", "-p", "gird", "[4]"], "no parameter 'gird'"),
        (["notebook", "07", "-p", "n"], "has no value"),
        (["notebook"], "--all"),
        (["notebook", "07", "08"], "unexpected: 08"),
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
            for line in cell.source.splitlines():
                assert ":" in line.split("=")[0] and "#" in line, f"untyped or uncommented: {line}"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_every_figure_has_alternative_text(source):
    for cell in nbformat.read(source, as_version=4).cells:
        if cell.cell_type == "code" and ("plt.show()" in cell.source or "mystnb" in cell.metadata):
            options = cell.metadata.get("mystnb", {})
            assert options.get("image", {}).get("alt"), cell.source[:80]
            assert options.get("figure", {}).get("caption"), cell.source[:80]


def test_profiles_name_existing_notebooks_and_parameters():
    import yaml

    profiles = yaml.safe_load((ROOT / "notebooks" / "profiles.yml").read_text(encoding="utf-8"))
    by_name = {source.stem: source for source in SOURCES}
    for entries in profiles.values():
        for name, values in entries.items():
            assert notebooks.check_parameters(by_name[name], values)
