"""Directives for the page on reproduction; what they show is read while the book is built.

    ```{notebook-map}
    ```

lists the executed notebooks with the time papermill recorded, their figures and their parameters;

    ```{stored-runs}
    ```

lists the tables in ``results/`` with the run that made them.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from replication.layout import commit_text
from replication.notebooks import sources

NO_BREAK = "\u2011"
"""A hyphen at which no line is broken: dates stay in one piece."""


def figure_names(notebook: dict[str, Any]) -> list[str]:
    """Labels of the figures of a notebook, in reading order."""
    options = (cell["metadata"].get("mystnb", {}) for cell in notebook["cells"])
    return [entry["figure"]["name"] for entry in options if "name" in entry.get("figure", {})]


def duration(seconds: float | None) -> str:
    """A time as a reader wants it: 7 s, 3 min, 2.5 h."""
    if seconds is None:
        return "not recorded"
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def notebook_rows(folder: Path, pages: set[str]) -> Iterator[str]:
    """Lines of the Markdown table of executed notebooks that are pages of the book."""
    for path in sources(folder.parents[1]):
        path = folder / path.name
        if f"notebooks/{path.stem}" not in pages:
            continue
        notebook = json.loads(path.read_text(encoding="utf-8"))
        run = notebook["metadata"].get("papermill", {})
        names = figure_names(notebook)
        ends = names if len(names) < 2 else [names[0], names[-1]]
        figures = " to ".join(f"{{numref}}`{name}`" for name in ends) or "–"
        changed = ", ".join(run.get("parameters", {})) or "none"
        page = f"{{doc}}`notebooks/{path.stem}`"
        time = duration(run.get("duration"))
        yield f"| `{path.stem}` | {page} | {time} | {figures} | {changed} |"


def run_rows(folder: Path) -> Iterator[str]:
    """Lines of the Markdown table of stored results."""
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        record = path.with_name(f"{path.stem}.provenance.json")
        if record.is_file():
            found = json.loads(record.read_text(encoding="utf-8"))
            cells = [
                found["date"],
                commit_text(found["git_commit"]),
                duration(found.get("wall_seconds")),
                f"{found['processor']}, {found['cores']} cores",
            ]
        else:
            last = rows[-1]
            cells = [last.get("started", "–")[:10], "–", "–", last.get("cpu", "–")]
        cells[0] = cells[0].replace("-", NO_BREAK)
        yield f"| `{path.stem}` | {len(rows):,} | {' | '.join(cells)} |"


class Table(SphinxDirective):
    """A Markdown table whose lines are computed."""

    heads: tuple[str, ...] = ()
    source = ""

    def lines(self, root: Path) -> Iterator[str]:
        """Lines below the head."""
        raise TypeError(f"{type(self).__name__} says nothing of its lines")

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir).parent
        for path in sorted((root / self.source).glob("*.*")):
            self.env.note_dependency(str(path))
        head = [f"| {' | '.join(self.heads)} |", "|" + "---|" * len(self.heads)]
        container = nodes.container()
        text = StringList([*head, *self.lines(root)], self.source)
        self.state.nested_parse(text, 0, container)
        return [container]


class NotebookMap(Table):
    """Executed notebooks, their times and figures."""

    heads = ("name", "page", "last execution", "figures", "changed parameters")
    source = "book/notebooks"

    def lines(self, root: Path) -> Iterator[str]:
        return notebook_rows(root / self.source, self.env.found_docs)


class StoredRuns(Table):
    """Tables of results and where they come from."""

    heads = ("table (CSV)", "rows", "date", "commit", "wall clock", "processor")
    source = "results"

    def lines(self, root: Path) -> Iterator[str]:
        return run_rows(root / self.source)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("notebook-map", NotebookMap)
    app.add_directive("stored-runs", StoredRuns)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
