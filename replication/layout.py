"""Tables of the pages: numbers to the right, names beside the numbers of data sets, their runs.

``show_table`` is the one look of a table in a notebook, folded where a figure carries the argument.
``show_runs`` says which runs made the stored tables behind a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import pandas as pd

from replication.datasets import catalogue
from replication.results import read, read_record, results_folder
from replication.tables import flags
from replication.wording import minus

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


def _cell(value: Any, form: str) -> str:
    """One cell as text: a true minus, no sign or exponent on a zero, "–" for what is missing."""
    if value is None or value != value:
        return "–"
    text = minus(value if isinstance(value, str) else form.format(value))
    text = re.sub(r"^[+−]?(0(\.0*)?)(e\+00)?$", r"\1", text)
    return re.sub(r", (?=[+−\d])", ",\u00a0", text)  # an interval breaks before its bracket


def _is_word(text: str) -> bool:
    """Text without a digit: its column is one of words, to the left."""
    return re.search(r"[^\W\d]", text) is not None and re.search(r"\d", text) is None


def table_html(
    table: pd.DataFrame,
    label: str,
    *,
    formats: Mapping[str, str] | str = "{}",
    best: bool = False,
    fold: bool = False,
) -> str:
    """Return a table with its index as first column; ``best`` marks each line's largest number.

    ``formats``: one for all columns or one by column. ``fold``: shut behind its label, else the
    label is the caption. Cells that are text may hold markup.
    """
    by_column = dict.fromkeys(table, formats) if isinstance(formats, str) else formats
    text = pd.DataFrame(
        {name: [_cell(v, by_column.get(name, "{}")) for v in table[name]] for name in table},
        index=table.index,
    )
    kind = {name: ' class="word"' if any(map(_is_word, text[name])) else "" for name in text}
    if best:
        rounded = table.round(2)
        top = rounded.eq(rounded.max(axis=1), axis=0)
        text = text.where(~top, "<strong>" + text + "</strong>")
    head = "".join(f'<th scope="col">{escape(str(name or ""))}</th>' for name in table.index.names)
    for name in table:  # a heading may break after a plus sign: CVXPY+Clarabel
        head += f'<th scope="col"{kind[name]}>{escape(str(name)).replace("+", "+<wbr>")}</th>'
    lines = []
    for key, row in zip(table.index, text.to_numpy(), strict=True):
        keys = key if isinstance(key, tuple) else (key,)
        line = "".join(f'<th scope="row">{escape(minus(str(one)))}</th>' for one in keys)
        line += "".join(f"<td{kind[n]}>{cell}</td>" for n, cell in zip(text, row, strict=True))
        lines.append(f"<tr>{line}</tr>")
    caption = "" if fold else f"<caption>{escape(label)}</caption>"
    body = (
        f'<table class="numbers">{caption}<thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
    if not fold:
        return body
    return f'<details class="table"><summary>{escape(label)}</summary>{body}</details>'


def show_table(table: pd.DataFrame, label: str, **options: Any) -> None:
    """Show a table of :func:`table_html` in a notebook."""
    from IPython.display import HTML, display

    display(HTML(table_html(table, label, **options)))


# -- where the numbers come from --------------------------------------------------------------


def commit_text(recorded: str) -> str:
    """A commit as recorded, and whether the run also held changes that were not committed."""
    return f"`{recorded[:9]}`" + (" with uncommitted changes" if "+changes" in recorded else "")


def run_table(names: Iterable[str]) -> pd.DataFrame:
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
                "version": stored["signature"].get("computation", "–"),
                "Python": stored["python"],
                "processor": f"{stored['processor']}, {stored['cores']} cores",
            }
        )
    return pd.DataFrame(lines).T.rename_axis("table")


def show_runs(*names: str) -> None:
    """Show :func:`runs` in a notebook, folded."""
    show_table(run_table(names), "The stored runs behind this page", fold=True)


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
