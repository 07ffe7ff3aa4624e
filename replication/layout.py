"""Tables of the pages: one look, the paper's values below ours, the runs behind stored tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import pandas as pd
from pandas.io.formats.style import Styler

from replication.datasets import catalogue
from replication.paper import METHOD_NAMES
from replication.results import read, read_record, results_folder
from replication.tables import cells, comparison, flags, method_label
from replication.wording import number

FLAG_NOTES = {
    "inferred-labels": "the labels of the file used were partly inferred",
    "inferred-target": "500 rows where 336 is printed, and the target class inferred from its size",
}
FULL_COLOUR_POINTS = 20.0
"""Difference in AUC points, of either sign, from which a cell's colour grows no stronger."""
HIGHER, LOWER = "0, 114, 178", "213, 94, 0"


def in_order(names: Iterable[str]) -> list[str]:
    """Sort data sets by number, D2 before D10, and other names after them."""
    return sorted(names, key=lambda n: (int(n[1:]) if re.fullmatch(r"D\d+", n) else 1000, n))


def set_label(dataset: str) -> str:
    """Return name and number of a data set: Iris (D1); anything else as it is."""
    titles = catalogue()["title"]
    if dataset not in titles.index:
        return {"all": "all sets"}.get(dataset, dataset)
    short = re.sub(r"\s*\(.*", "", titles[dataset])
    name = {"FMNIST": "Fashion-MNIST", "led7digit": "LED 7 digit"}.get(short, short)
    return f"{name[:1].upper()}{name[1:]} ({dataset})"


def _cell(value: Any, form: str) -> str:
    """Format one cell; an interval breaks before its bracket."""
    text = number(value, "" if isinstance(value, str) else form[2:-1])
    return re.sub(r", (?=[+−\d])", ",\u00a0", text)


def table_html(
    table: pd.DataFrame, label: str, *, formats: Mapping[str, str] | str = "{}", fold: bool = False
) -> str:
    """Return a table as HTML under its caption, or with ``fold`` shut behind it.

    ``formats``: one for all columns or one by column, as ``"{:.1f}"``.
    """
    by_column = dict.fromkeys(table, formats) if isinstance(formats, str) else formats
    look = {name: partial(_cell, form=by_column.get(name, "{}")) for name in table}
    if table.index.nlevels == 1:  # its name stands in the line of the headings
        table = table.rename_axis(index=None, columns=table.index.name)
    style = Styler(table, uuid_len=0, cell_ids=False).format(look, na_rep="–")
    style = style.format_index(number, axis=0).set_table_attributes('class="numbers"')
    if not fold:
        return style.set_caption(label).to_html()
    return f'<details class="table"><summary>{label}</summary>{style.to_html()}</details>'


def show_table(table: pd.DataFrame, label: str, **options: Any) -> None:
    """Show a table of :func:`table_html` in a notebook."""
    from IPython.display import HTML, display

    display(HTML(table_html(table, label, **options)))


def side_by_side(rows: pd.DataFrame, setting: str) -> Styler:
    """Return the paper's table, in each cell our value above the paper's, coloured by the two."""
    table = comparison(rows, setting).dropna(subset="printed_mean")
    sets = in_order(set(table["dataset"]))
    means = table.groupby("method")[["auc_mean", "printed_mean", "difference"]].mean()
    table = pd.concat([table, means.reset_index().assign(dataset="mean")], ignore_index=True)
    upper, lower = (
        cells(table, kind, "{:.1f}", "<strong>{:.1f}</strong>") for kind in ("auc", "printed")
    )
    table["text"] = upper + '<br><span class="printed">' + lower + "</span>"
    table["colour"] = [
        f"background-color: rgba({HIGHER if off > 0 else LOWER}, "
        f"{0.5 * min(abs(off) / FULL_COLOUR_POINTS, 1.0):.2f})"
        for off in table["difference"]
    ]
    columns = [name for name in METHOD_NAMES[setting] if name in set(table["method"])]
    names = {name: set_label(name) + " †" * (name in flags(rows)) for name in [*sets, "mean"]}
    text, colours = (
        table.pivot(index="dataset", columns="method", values=kind)
        .loc[list(names), columns]
        .rename(index=names, columns=lambda name: method_label(name).replace("-SVDD", ""))
        .rename_axis(index=None, columns=None)
        for kind in ("text", "colour")
    )
    style = Styler(text, uuid=f"table-{setting}").apply(lambda _: colours, axis=None)
    style = style.set_table_attributes('class="numbers side-by-side"')
    return style.set_caption("Mean AUC ± standard deviation, per cent")


# -- where the numbers come from --------------------------------------------------------------


def run_table(names: Iterable[str]) -> pd.DataFrame:
    """Say which runs made the tables ``results/NAME.csv`` behind a page, one line each."""
    lines = {}
    for name in names:
        run = read_record(results_folder() / f"{name}.csv")
        lines[f"results/{name}.csv"] = {"run": "no stored run: computed for this page"}
        if run is not None:
            code, _, changed = run["git_commit"].partition("+")
            lines[f"results/{name}.csv"] = {
                "run": run["date"],
                "commit": code[:9] + " with changes" * bool(changed),
                "version": run["signature"].get("computation", "–"),
                "Python": run["python"],
                "processor": f"{run['processor']}, {run['cores']} cores",
            }
    return pd.DataFrame(lines).T.rename_axis("table")


def show_runs(*names: str) -> None:
    """Show :func:`run_table` in a notebook, folded."""
    show_table(run_table(names), "The stored runs behind this page", fold=True)


def stored_runs() -> str:
    """List the run of every stored table, as Markdown."""
    records = results_folder().glob("*.provenance.json")
    return run_table(sorted(path.name.split(".")[0] for path in records)).to_markdown()


def computed_here(name: str, rows: pd.DataFrame) -> str:
    """Count the rows that are shown and not stored; empty when all are stored."""
    path = results_folder() / f"{name}.csv"
    keys = ["dataset", "method", "trial", "auc", "seconds"]
    known = len(rows[keys].merge(read(path)[keys])) if path.is_file() else 0
    if known == len(rows):
        return ""
    return f"{known} of {len(rows)} rows shown are stored, the others computed here."


def flag_notes(rows: pd.DataFrame) -> str:
    """Name the data sets whose rows rest on inferred data."""
    parts = [f"{name}: {FLAG_NOTES[flag]}" for name, flag in flags(rows).items()]
    return f"† {'; '.join(parts)}." if parts else "No row shown here rests on inferred data."
