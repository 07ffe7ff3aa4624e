"""Tables of the pages: numbers to the right, names beside the numbers of data sets, their runs.

``show_table`` is the one look of a table in a notebook, folded where a figure carries the argument.
``show_runs`` says which runs made the stored tables behind a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from replication.datasets import catalogue
from replication.results import read, read_record, results_folder
from replication.tables import flags
from replication.wording import minus, number

SHORT = {"FMNIST": "Fashion-MNIST", "led7digit": "LED 7 digit", "Delft pump": "Delft pump"}
FLAG_NOTES = {
    "inferred-labels": "the labels of the file used were partly inferred",
    "inferred-target": "500 rows where 336 is printed, and the target class inferred from its size",
}


def in_order(names: Iterable[str]) -> list[str]:
    """Data sets by number: D2 before D10; other names after them."""
    return sorted(
        names, key=lambda n: (0, int(n[1:]), n) if re.fullmatch(r"D\d+", n) else (1, 0, n)
    )


def set_label(dataset: str) -> str:
    """A data set by name and number: Iris (D1); anything else as it is."""
    titles = catalogue()["title"]
    if dataset not in titles.index:
        return {"all": "all sets"}.get(dataset, dataset)
    short = re.sub(r"\s*\(.*", "", titles[dataset])
    name = SHORT.get(short, short[:1].upper() + short[1:])
    return f"{name} ({dataset})"


def _cell(value: Any, form: str | None) -> str:
    if isinstance(value, str):  # an interval breaks before its bracket, not inside
        return re.sub(r"(?<=\d) to (?=[+−\d])", "\u00a0to\u00a0", minus(value))
    if value is None or pd.isna(value):
        return "–"
    before, mark, after = (form or "{}").partition("{")
    spec, _, end = after.partition("}")
    return f"{before}{number(value, spec.lstrip(':'))}{end}" if mark else before


def table_html(
    table: pd.DataFrame,
    label: str,
    *,
    formats: Mapping[str, str] | str | None = None,
    best: bool = False,
    fold: bool = False,
    mark: str | None = None,
) -> str:
    """A table with its index as first column; ``best`` marks the largest number of each line.

    ``mark`` is the line that the text speaks of.

    ``formats``: one for all columns or one by column. ``fold``: shut behind its label, else the
    label is the caption. Cells that are text may hold markup.
    """
    names = [escape(str(name or "")) for name in table.index.names]
    words = {column for column in table if any(map(_is_word, table[column]))}
    head = "".join(f'<th scope="col">{name}</th>' for name in names) + "".join(
        f'<th scope="col"{_kind(name in words)}>{escape(str(name)).replace("+", "+<wbr>")}</th>'
        for name in table.columns  # a heading may break after a plus sign: CVXPY+Clarabel
    )
    lines = []
    for key, row in zip(table.index, table.itertuples(index=False), strict=True):
        keys = key if isinstance(key, tuple) else (key,)
        cells = []
        top = max((round(v, 2) for v in row if _is_number(v)), default=None) if best else None
        for column, value in zip(table.columns, row, strict=True):
            form = formats if isinstance(formats, str) else (formats or {}).get(column)
            text = _cell(value, form)
            if best and _is_number(value) and round(value, 2) == top:
                text = f"<strong>{text}</strong>"
            cells.append(f"<td{_kind(column in words)}>{text}</td>")
        heads = "".join(f'<th scope="row">{escape(minus(str(k)))}</th>' for k in keys)
        kind = ' class="marked"' if mark is not None and key == mark else ""
        lines.append(f"<tr{kind}>{heads}{''.join(cells)}</tr>")
    caption = "" if fold else f"<caption>{escape(label)}</caption>"
    body = (
        f'<table class="numbers">{caption}<thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
    if not fold:
        return body
    return f'<details class="table"><summary>{escape(label)}</summary>{body}</details>'


def _kind(word: bool) -> str:
    return ' class="word"' if word else ""


def _is_word(value: Any) -> bool:
    """Text without a digit: its column is one of words, to the left."""
    return (
        isinstance(value, str)
        and bool(re.search(r"[^\W\d]", value))
        and not re.search(r"\d", value)
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not pd.isna(value)


def show_table(table: pd.DataFrame, label: str, **options: Any) -> None:
    """Show a table of :func:`table_html` in a notebook."""
    from IPython.display import HTML, display

    display(HTML(table_html(table, label, **options)))


# -- where the numbers come from --------------------------------------------------------------


def commit_text(recorded: str) -> str:
    """A commit as recorded, and whether the run also held changes that were not committed."""
    return f"`{recorded[:9]}`" + (" with uncommitted changes" if "+changes" in recorded else "")


def runs(names: Iterable[str]) -> pd.DataFrame:
    """Which runs made the tables ``results/NAME.csv`` behind a page, one line each."""
    lines = {}
    for name in names:
        stored = read_record(results_folder() / f"{name}.csv")
        lines[f"results/{name}.csv"] = (
            {"run": "no stored run: computed for this page"}
            if stored is None
            else {
                "run": stored["date"],
                "commit": commit_text(stored["git_commit"]).replace("`", ""),
                "version": stored["signature"]["computation"],
                "Python": stored["python"],
                "processor": f"{stored['processor']}, {stored['cores']} cores",
            }
        )
    return pd.DataFrame(lines).T.rename_axis("table")


def show_runs(*names: str) -> None:
    """Show :func:`runs` in a notebook, folded."""
    show_table(runs(names), "The stored runs behind this page", fold=True)


def computed_here(name: str, rows: pd.DataFrame) -> str:
    """Sentence on rows that are shown and not stored; empty when all are."""
    path = results_folder() / f"{name}.csv"
    keys = ["dataset", "method", "trial", "auc", "seconds"]
    known = len(rows[keys].merge(read(path)[keys])) if path.is_file() else 0
    if known == len(rows):
        return ""
    return f"{known} of {len(rows)} rows shown are stored, the others computed here."


def flag_notes(rows: pd.DataFrame) -> str:
    """Markdown sentence on data sets whose rows rest on inferred data."""
    parts = [f"{name}: {FLAG_NOTES[flag]}" for name, flag in flags(rows).items()]
    return f"† {'; '.join(parts)}." if parts else "No row shown here rests on inferred data."
