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
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from replication.about import ROOT
from replication.runner import RunFailed

LONGEST_FIRST = ("large_data", "negatives", "guarantees", "solver")
"""Started before the others, so that the last notebook to end is a short one."""


class NotebookError(RunFailed):
    """A notebook cannot be found, parameterised or executed; the message says why."""


def notebook_paths(root: Path = ROOT) -> list[Path]:
    """List the tracked notebooks in the order of the book."""
    listed = re.findall(r"file: notebooks/(\w+)", (root / "book/_toc.yml").read_text("utf-8"))
    paths = {path.stem: path for path in sorted((root / "notebooks").glob("*.ipynb"))}
    return [paths[name] for name in dict.fromkeys([*listed, *paths]) if name in paths]


def find_notebook(selector: str, root: Path = ROOT) -> Path:
    """Return the notebook that a reader means by its name or path."""
    by_name = {path.stem: path for path in notebook_paths(root)}
    if (name := Path(selector).name.removesuffix(".ipynb")) not in by_name:
        raise NotebookError(f"There is no notebook {selector!r}. There are: {', '.join(by_name)}")
    return by_name[name]


def published_values(notebook: Path) -> dict[str, Any]:
    """Read names and published values of the ``parameters`` cell.

    papermill's own reader goes line by line and drops a parameter whose comment holds an equals
    sign.
    """
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    tagged = [c for c in cells if "parameters" in c.get("metadata", {}).get("tags", [])]
    if len(tagged) != 1:
        raise NotebookError(f"{notebook.stem} has {len(tagged)} parameters cells, expected one")
    lines = ast.parse("".join(tagged[0]["source"])).body
    for line in lines:
        if not isinstance(line, ast.AnnAssign) or line.value is None:
            wrong = ast.unparse(line)
            raise NotebookError(
                f"{notebook.stem}: write a parameter as name: type = value: {wrong}"
            )
    return {ast.unparse(line.target): ast.literal_eval(line.value) for line in lines}


def parameter_values(notebook: Path, profile: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Join the values of a profile and those given; refuse an unknown name and another type."""
    profiles = {"published": {}}
    if (path := notebook.parent / "profiles.yml").is_file():
        profiles |= yaml.safe_load(path.read_text(encoding="utf-8"))
    if profile not in profiles:
        raise NotebookError(f"There is no profile {profile!r}. There are: {', '.join(profiles)}")
    known, values = (
        published_values(notebook),
        {**profiles[profile].get(notebook.stem, {}), **given},
    )
    for name, value in values.items():
        if name not in known:
            names = ", ".join(known)
            raise NotebookError(
                f"{notebook.stem} has no parameter {name!r}. Its parameters: {names}"
            )
        wanted = type(known[name])
        if wanted is float and type(value) is int:
            values[name] = float(value)
        elif type(value) is not wanted:
            raise NotebookError(
                f"{notebook.stem}: {name} = {value!r} is {type(value).__name__}, "
                f"expected {wanted.__name__} such as {known[name]!r}"
            )
    return values


def fingerprint(notebook: Path, parameters: Mapping[str, Any], root: Path) -> str:
    """Hash all that an executed notebook depends on: itself, parameters, code and results."""
    digest = hashlib.sha256(json.dumps([notebook.name, parameters], sort_keys=True).encode())
    folders = (ROOT / "lpsvdd", ROOT / "replication", root / "results")
    for path in (notebook, *(path for folder in folders for path in sorted(folder.rglob("*")))):
        if path.is_file() and path.suffix not in {".pyc", ".tmp"}:
            digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def execute(
    notebook: Path,
    *,
    root: Path = ROOT,
    profile: str = "published",
    parameters: Mapping[str, Any] | None = None,
    force: bool = False,
) -> str:
    """Execute a notebook into ``book/notebooks/`` unless it is up to date; say which it was."""
    values = parameter_values(notebook, profile, parameters or {})
    output = root / "book/notebooks" / notebook.name
    stamp = root / "_build/stamps" / f"{notebook.stem}.txt"
    inputs = fingerprint(notebook, values, root)
    if not force and output.is_file() and stamp.is_file() and stamp.read_text() == inputs:
        return f"{notebook.stem:<18} up to date"
    start = time.perf_counter()
    for folder in (output.parent, stamp.parent):
        folder.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    _papermill(notebook, output, values, root)
    stamp.write_text(inputs)
    return f"{notebook.stem:<18} {time.perf_counter() - start:6.1f} s"


def _papermill(notebook: Path, output: Path, parameters: dict[str, Any], root: Path) -> None:
    """Run papermill; a failure leaves no output behind and shows the cell."""
    from papermill import PapermillExecutionError, execute_notebook
    from traitlets.config import Config

    # Figures appear in the notebook, whatever backend the caller has chosen.
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    with tempfile.TemporaryDirectory(prefix="lpsvdd-") as folder:
        # Sockets of the file system: no open port, and no warning about an unencrypted one.
        local = {"transport": "ipc", "ip": f"{folder}/kernel"} if os.name != "nt" else {}
        try:
            execute_notebook(
                str(notebook),
                f"{folder}/{notebook.name}",
                parameters=parameters,
                kernel_name="python3",
                cwd=str(root),
                progress_bar=False,
                stderr_file=sys.stderr,  # the progress bar of what is computed
                config=Config({"KernelManager": local}),
            )
            shutil.move(f"{folder}/{notebook.name}", output)
        except PapermillExecutionError as error:
            cell = "\n".join(f"    {line}" for line in error.source.splitlines())
            raise NotebookError(
                f"{notebook.stem} failed in cell {error.exec_count}:\n\n{cell}\n\n"
                f"{error.ename}: {error.evalue}\n\n" + "\n".join(error.traceback)
            ) from None


def execute_all(*, root: Path = ROOT, jobs: int = 1, **options: Any) -> Iterable[str]:
    """Execute every notebook, ``jobs`` at a time, and stop at the first failure."""
    from joblib import Parallel, delayed

    notebooks = notebook_paths(root)
    if jobs > 1:
        rank = {name: place for place, name in enumerate(LONGEST_FIRST)}
        notebooks.sort(key=lambda path: rank.get(path.stem, len(rank)))
    start = time.perf_counter()
    # each worker leaves the others their cores: loky sets the threads of its linear algebra
    run = Parallel(n_jobs=jobs, return_as="generator_unordered")
    lines = run(delayed(execute)(path, root=root, **options) for path in notebooks)
    for number, line in enumerate(lines, start=1):
        yield f"[{number:2}/{len(notebooks)}] {line}"
    yield f"{len(notebooks)} notebooks in {time.perf_counter() - start:.0f} s, {jobs} at a time"


def shown_figure(notebook: Path, name: str) -> str:
    """Return the SVG of an executed notebook whose cell has a figure of this name."""
    if not notebook.is_file():
        raise NotebookError(f"{notebook.name} is not executed: make book, or notebook --all")
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["metadata"].get("mystnb", {}).get("figure", {}).get("name") == name:
            for output in cell["outputs"]:
                if svg := output.get("data", {}).get("image/svg+xml"):
                    return "".join(svg)
    raise NotebookError(f"{notebook.name} shows no figure with the name {name}")
