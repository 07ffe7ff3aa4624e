"""Execute the notebooks of the book with papermill, some at a time, and only those that changed.

    notebooks/pure.ipynb  --papermill-->  book/notebooks/pure.ipynb  --jupyter-book-->  page

The tracked notebook holds no outputs; its ``parameters`` cell holds the published values, of which
a profile (``notebooks/profiles.yml``) overrides some with small ones.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import nbformat
import yaml
from nbformat import NotebookNode

from replication.about import ROOT
from replication.runner import RunFailed

LONGEST = ("large_data", "negatives", "guarantees", "solver")
"""Started before the others, so that the last notebook to end is a short one."""
EXECUTED = Path("book/notebooks")


class NotebookError(RunFailed):
    """A notebook cannot be found, parameterised or executed; the message says why."""


def notebook_paths(root: Path = ROOT) -> dict[str, Path]:
    """Find the tracked notebooks, by name."""
    return {path.stem: path for path in sorted((root / "notebooks").glob("*.ipynb"))}


def published_values(notebook: Path) -> dict[str, Any]:
    """Read names and published values of the ``parameters`` cell.

    papermill's own reader drops a parameter whose comment holds an equals sign.
    """
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    (cell,) = (one for one in cells if one["metadata"].get("tags") == ["parameters"])
    lines = ast.parse("".join(cell["source"])).body
    return {ast.unparse(line.target): ast.literal_eval(line.value) for line in lines}


def parameter_values(notebook: Path, profile: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Join the values of a profile and those given; refuse an unknown name and another type."""
    path = notebook.parent / "profiles.yml"
    profiles = {"published": {}} | yaml.safe_load(path.read_text(encoding="utf-8"))
    if profile not in profiles:
        raise NotebookError(f"There is no profile {profile!r}. There are: {', '.join(profiles)}")
    known = published_values(notebook)
    values = {**profiles[profile].get(notebook.stem, {}), **given}
    for name, value in values.items():
        if name not in known:
            own = ", ".join(known)
            raise NotebookError(f"{notebook.stem} has no parameter {name!r}. Its parameters: {own}")
        if type(value) is not type(known[name]) and {type(value), type(known[name])} != {
            int,
            float,
        }:
            example = f"expected {type(known[name]).__name__} such as {known[name]!r}"
            raise NotebookError(f"{notebook.stem}: {name} = {value!r}, {example}")
    return values


def fingerprint(notebook: Path, parameters: Mapping[str, Any], root: Path = ROOT) -> str:
    """Hash all that an executed notebook depends on: itself, parameters, code and results."""
    digest = hashlib.sha256(json.dumps([notebook.name, parameters], sort_keys=True).encode())
    folders = (ROOT / "lpsvdd", ROOT / "replication", root / "results")
    for path in (notebook, *(path for folder in folders for path in sorted(folder.rglob("*")))):
        if path.is_file() and path.suffix not in {".pyc", ".tmp"}:
            digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def execute(
    name: str,
    *,
    root: Path = ROOT,
    profile: str = "published",
    parameters: Mapping[str, Any] | None = None,
    force: bool = False,
) -> str:
    """Execute a notebook into ``book/notebooks/`` unless it is up to date; say which it was."""
    notebook = notebook_paths(root).get(Path(name).name.removesuffix(".ipynb"))
    if notebook is None:
        known = ", ".join(notebook_paths(root))
        raise NotebookError(f"There is no notebook {name!r}. There are: {known}")
    values = parameter_values(notebook, profile, parameters or {})
    output, inputs = root / EXECUTED / notebook.name, fingerprint(notebook, values, root)
    if output.is_file() and not force:
        known = json.loads(output.read_text(encoding="utf-8"))["metadata"]
        if known.get("inputs") == inputs:
            return f"{notebook.stem:<18} up to date"
    start = time.perf_counter()
    executed = run_papermill(notebook, values, root)
    executed.metadata["inputs"] = inputs
    output.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(executed, output)
    return f"{notebook.stem:<18} {time.perf_counter() - start:6.1f} s"


def run_papermill(notebook: Path, parameters: dict[str, Any], root: Path) -> NotebookNode:
    """Return the executed notebook; a failure shows the cell."""
    from papermill import PapermillExecutionError, execute_notebook
    from traitlets.config import Config

    # Figures appear in the notebook, whatever backend the caller has chosen.
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    with tempfile.TemporaryDirectory(prefix="lpsvdd-") as folder:
        # Sockets of the file system: no open port, and no warning about an unencrypted one.
        local = {"transport": "ipc", "ip": f"{folder}/kernel"} if os.name != "nt" else {}
        options = {"kernel_name": "python3", "cwd": str(root), "progress_bar": False}
        try:
            return execute_notebook(
                str(notebook),
                None,
                parameters,
                stderr_file=sys.stderr,  # the progress bar of what is computed
                config=Config({"KernelManager": local}),
                **options,
            )
        except PapermillExecutionError as error:
            raise NotebookError(f"{notebook.stem} failed:\n{error.source}\n{error}") from None


def execute_all(*, jobs: int, **options: Any) -> Iterable[str]:
    """Execute every notebook, ``jobs`` at a time, and stop at the first failure."""
    from joblib import Parallel, delayed

    names = sorted(notebook_paths(), key=lambda name: name not in LONGEST)
    start = time.perf_counter()
    # each worker leaves the others their cores: loky sets the threads of its linear algebra
    run = Parallel(n_jobs=jobs, return_as="generator_unordered")
    yield from run(delayed(execute)(name, **options) for name in names)
    yield f"{len(names)} notebooks in {time.perf_counter() - start:.0f} s, {jobs} at a time"


def shown_figure(chapter: str, name: str) -> str:
    """Return the SVG that an executed chapter shows under the name of a figure."""
    path = ROOT / EXECUTED / f"{chapter}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        if cell["metadata"].get("mystnb", {}).get("figure", {}).get("name") == name:
            for output in cell["outputs"]:
                if svg := output.get("data", {}).get("image/svg+xml"):
                    return "".join(svg)
    raise NotebookError(f"{chapter} shows no figure with the name {name}")
