"""Execute the parameterised notebooks of the book, two at a time, and only when needed.

    notebooks/pure.ipynb  --papermill-->  book/notebooks/pure.ipynb  --jupyter-book-->  page

The tracked notebook holds no outputs; its ``parameters`` cell holds the published values. A
profile (``notebooks/profiles.yml``) overrides some of them with small ones for tests. A notebook is
executed again only if the hash of its inputs changed: its source, its parameters, both packages and
the results.
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
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import yaml

from replication.findings import FACTS_TYPE
from replication.runner import RunFailed
from replication.wording import QuoteError, fill

PUBLISHED = "published"
"""Profile without overrides: every notebook's own defaults."""

LONGEST_FIRST = ("large_data", "negatives", "tune", "guarantees", "solver")
"""Notebooks that are started first: the last one to end should be a short one."""
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class NotebookError(RunFailed):
    """A notebook cannot be found, parameterised or executed; the message says why."""


def project_root(start: Path | None = None) -> Path:
    """The folder of the checkout: the nearest one upwards with ``replication/claims.yml``."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[1]):
        if (folder / "replication" / "claims.yml").is_file() and (folder / "notebooks").is_dir():
            return folder
    raise NotebookError(
        f"{here} is not inside a checkout of the project (no replication/claims.yml above it)"
    )


def sources(root: Path) -> list[Path]:
    """All tracked notebooks in the order of the book; those it does not list come last."""
    contents = root / "book" / "_toc.yml"
    text = contents.read_text(encoding="utf-8") if contents.is_file() else ""
    listed = re.findall(r"file: notebooks/(\w+)", text)
    order = {name: place for place, name in enumerate(listed)}
    paths = (root / "notebooks").glob("*.ipynb")
    return sorted(paths, key=lambda path: (order.get(path.stem, len(order)), path.stem))


def find(selector: str, root: Path) -> Path:
    """The notebook a reader means by its name or path."""
    name = Path(selector).name.removesuffix(".ipynb")
    by_name = {path.stem: path for path in sources(root)}
    if name not in by_name:
        known = ", ".join(by_name) or "none in notebooks/"
        raise NotebookError(f"There is no notebook {selector!r}. There are: {known}")
    return by_name[name]


def profile_parameters(profile: str, notebook: Path) -> dict[str, Any]:
    """Overrides of a profile for one notebook."""
    if profile == PUBLISHED:
        return {}
    path = notebook.parent / "profiles.yml"
    profiles = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if profile not in profiles:
        known = ", ".join([PUBLISHED, *profiles])
        raise NotebookError(f"Unknown profile {profile!r}. There are: {known}")
    return dict((profiles[profile] or {}).get(notebook.stem) or {})


def defaults(notebook: Path) -> dict[str, Any]:
    """Names and published values of a notebook's ``parameters`` cell.

    The cell is read as Python. papermill's own reader goes line by line and drops a parameter whose
    comment holds an equals sign.
    """
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    tagged = [c for c in cells if "parameters" in c.get("metadata", {}).get("tags", [])]
    if len(tagged) != 1:
        raise NotebookError(f"{notebook.stem} has {len(tagged)} parameters cells, expected one")
    values = {}
    for node in ast.parse("".join(tagged[0]["source"])).body:
        if not isinstance(node, ast.AnnAssign) or node.value is None:
            line = ast.unparse(node)
            raise NotebookError(
                f"{notebook.stem}: a parameter is written name: type = value: {line}"
            )
        values[ast.unparse(node.target)] = ast.literal_eval(node.value)
    return values


def check_parameters(notebook: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse names the notebook does not have and values of another type than the default's."""
    known = defaults(notebook)
    checked = {}
    for name, value in given.items():
        if name not in known:
            names = ", ".join(known) or "none"
            raise NotebookError(
                f"{notebook.stem} has no parameter {name!r}. Its parameters: {names}"
            )
        expected = type(known[name])
        if expected is float and type(value) is int:
            value = float(value)
        if type(value) is not expected:
            raise NotebookError(
                f"{notebook.stem}: {name} = {value!r} is {type(value).__name__}, "
                f"expected {expected.__name__} such as {known[name]!r}"
            )
        checked[name] = value
    return checked


def parse_value(text: str) -> Any:
    """A value typed on the command line: a Python literal, else the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def input_hash(notebook: Path, parameters: Mapping[str, Any], root: Path) -> str:
    """Fingerprint of everything an executed notebook depends on."""
    digest = hashlib.sha256(json.dumps([notebook.name, dict(parameters)], sort_keys=True).encode())
    checkout = Path(__file__).resolve().parents[1]
    folders = (checkout / "lpsvdd", checkout / "replication", root / "results")
    for path in (notebook, *(path for folder in folders for path in sorted(folder.rglob("*")))):
        if path.is_file() and path.suffix not in {".pyc", ".tmp"}:
            digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def execute(
    notebook: Path,
    *,
    root: Path,
    profile: str = PUBLISHED,
    parameters: Mapping[str, Any] | None = None,
    force: bool = False,
    report: Callable[[str], None] = print,
) -> float | None:
    """Execute one notebook into ``book/notebooks/``: its seconds, None if it was up to date."""
    chosen = check_parameters(
        notebook, {**profile_parameters(profile, notebook), **(parameters or {})}
    )
    output = root / "book" / "notebooks" / notebook.name
    stamp = root / "_build" / "stamps" / f"{notebook.stem}.txt"
    fingerprint = input_hash(notebook, chosen, root)
    current = output.is_file() and stamp.is_file() and stamp.read_text() == fingerprint
    if current and not force:
        report(f"{notebook.stem:<18} up to date")
        return None
    start = time.perf_counter()
    _papermill(notebook, output, chosen, root)
    seconds = time.perf_counter() - start
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(fingerprint)
    report(f"{notebook.stem:<18} {seconds:6.1f} s")
    return seconds


def _papermill(notebook: Path, output: Path, parameters: dict[str, Any], root: Path) -> None:
    """Run papermill; on failure leave no output behind and say which cell failed."""
    from papermill import PapermillExecutionError, execute_notebook
    from traitlets.config import Config

    partial = root / "_build" / "running" / f"{os.getpid()}-{notebook.name}"
    for folder in (output.parent, partial.parent):
        folder.mkdir(parents=True, exist_ok=True)
    sockets = tempfile.mkdtemp(prefix="lpsvdd-")
    # Sockets of the file system: no open port, and no warning about an unencrypted one. A folder of
    # their own, so that two runs at a time do not meet.
    local = {"transport": "ipc", "ip": f"{sockets}/kernel"} if os.name != "nt" else {}
    try:
        execute_notebook(
            str(notebook),
            str(partial),
            parameters=parameters,
            kernel_name="python3",
            cwd=str(root),
            progress_bar=False,
            stderr_file=sys.stderr,  # the progress bar of what is computed
            config=Config({"KernelManager": local}),
        )
        _finish(partial)
        partial.replace(output)
    except PapermillExecutionError as error:
        source = "\n".join(f"    {line}" for line in error.source.splitlines())
        raise NotebookError(
            f"{notebook.stem} failed in cell {error.exec_count}:\n\n{source}\n\n"
            f"{error.ename}: {error.evalue}\n\n" + "\n".join(error.traceback)
        ) from None
    except QuoteError as error:
        raise NotebookError(f"{notebook.stem}: {error}") from None
    finally:
        partial.unlink(missing_ok=True)
        shutil.rmtree(sockets, ignore_errors=True)


def _finish(path: Path) -> None:
    """Fill the quotes of the text with the facts of this run.

    The cell of overridden parameters, which papermill adds, is shown where the published ones are.
    """
    notebook = json.loads(path.read_text(encoding="utf-8"))
    facts: dict[str, Any] = {}
    tags: list[str] = []
    for cell in notebook["cells"]:
        own = cell["metadata"].get("tags", [])
        if "parameters" in own:
            tags = [tag for tag in own if tag != "parameters"]
        elif "injected-parameters" in own:
            cell["metadata"]["tags"] = [*own, *tags]
        if cell["cell_type"] == "code":
            kept = []
            for output in cell["outputs"]:
                quoted = output.get("data", {}).get(FACTS_TYPE)
                facts |= quoted or {}
                kept += [] if quoted else [output]
            cell["outputs"] = kept
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = fill("".join(cell["source"]), facts)
        figure = cell["metadata"].get("mystnb", {}).get("figure", {})
        if "caption" in figure:
            figure["caption"] = fill(figure["caption"], facts)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False), encoding="utf-8")


def execute_all(
    *,
    root: Path,
    profile: str = PUBLISHED,
    force: bool = False,
    jobs: int = 1,
    report: Callable[[str], None] = print,
) -> None:
    """Execute every notebook, ``jobs`` at a time, stopping at the first failure.

    Notebooks that run when another one fails are finished and kept; no further one is started.
    """
    notebooks = sources(root)
    if jobs > 1:
        rank = {name: place for place, name in enumerate(LONGEST_FIRST)}
        notebooks.sort(key=lambda path: rank.get(path.stem, len(rank)))  # stable: then as read
    start = time.perf_counter()
    executed = 0
    done = _several if jobs > 1 else _one_by_one
    for number, (seconds, line) in enumerate(done(notebooks, root, profile, force, jobs), start=1):
        report(f"[{number:2}/{len(notebooks)}] {line}")
        executed += seconds is not None
    report(
        f"{executed} of {len(notebooks)} notebooks executed in {time.perf_counter() - start:.0f} s "
        f"({profile} profile, {jobs} at a time)"
    )


Done = tuple[float | None, str]
"""Seconds of a notebook, None if it was up to date, and the line that reports it."""


def _execute(notebook: Path, root: Path, profile: str, force: bool) -> Done:
    """Execute one of several notebooks; a linear algebra of one thread leaves the others room."""
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")
    lines: list[str] = []
    seconds = execute(notebook, root=root, profile=profile, force=force, report=lines.append)
    return seconds, lines[-1]


def _one_by_one(
    notebooks: list[Path], root: Path, profile: str, force: bool, jobs: int
) -> Iterator[Done]:
    """Notebooks executed in this process."""
    for notebook in notebooks:
        yield _execute(notebook, root, profile, force)


def _several(
    notebooks: list[Path], root: Path, profile: str, force: bool, jobs: int
) -> Iterator[Done]:
    """Notebooks executed in processes of their own, in the order in which they end.

    Processes, not threads: Ctrl-C reaches each of them and ends its kernel.
    """
    running: set[Future[Done]] = set()
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for notebook in notebooks:
            if len(running) == jobs:
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                yield from map(_result, ended)
            running.add(pool.submit(_execute, notebook, root, profile, force))
        while running:
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            yield from map(_result, ended)


def _result(future: Future[Done]) -> Done:
    """What a process returns; one that was killed gets a sentence."""
    try:
        return future.result()
    except BrokenProcessPool:
        raise NotebookError(
            "a process that executed a notebook was ended, perhaps for want of memory; "
            "--jobs 1 executes one notebook at a time"
        ) from None
