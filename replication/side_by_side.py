"""The paper's tables of AUCs with the rerun in the same cells, coloured by the difference."""

from __future__ import annotations

import pandas as pd
from pandas.io.formats.style import Styler

from replication.layout import set_label
from replication.paper import METHOD_NAMES
from replication.printed import printed_auc
from replication.tables import flags, method_label

FULL_COLOUR_POINTS = 20.0
"""Difference in AUC points, of either sign, from which the colour grows no stronger."""
HIGHER, LOWER = "0, 114, 178", "213, 94, 0"
CAPTION = "Mean AUC ± standard deviation, per cent"


def side_by_side(rows: pd.DataFrame, setting: str) -> Styler:
    """Return the table of ``setting`` as printed, each cell with our value above the paper's."""
    methods = [name for name in METHOD_NAMES[setting] if name in set(rows["method"])]
    spread = rows.groupby(["dataset", "method"])["auc"].agg(["mean", "std"]).unstack()
    stated = printed_auc(setting, corrected=True).pivot(
        index="dataset", columns="method", values=["auc_mean", "auc_sd"]
    )
    sets = [name for name in stated.index if name in spread.index]
    sets.sort(key=lambda name: int(name[1:]))
    spread, stated = spread.loc[sets], stated.loc[sets]
    here, printed = spread["mean"][methods], stated["auc_mean"][methods]
    upper, lower = _lines(here, spread["std"][methods]), _lines(printed, stated["auc_sd"][methods])
    text = upper + '<br><span class="printed">' + lower + "</span>"
    colours = _with_mean(here - printed).map(_colour)
    inferred = flags(rows)
    names = {name: set_label(name) + (" †" if name in inferred else "") for name in sets}
    text, colours = (
        frame.rename(index=names, columns=_short).rename_axis(columns=None)
        for frame in (text, colours)
    )
    return (
        Styler(text, uuid=f"table-{setting}")
        .apply(lambda _: colours, axis=None)
        .set_table_attributes('class="numbers side-by-side"')
        .set_caption(CAPTION)
    )


def _short(method: str) -> str:
    """The name of a method without what all columns share."""
    return method_label(method).replace("-SVDD", "")


def _with_mean(table: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([table, table.mean().to_frame("mean").T])


def _lines(mean: pd.DataFrame, sd: pd.DataFrame) -> pd.DataFrame:
    """Cells such as "81.2 ± 11.3", and a last row with the means over the data sets."""
    means = _with_mean(mean).round(2)
    best = means.eq(means.max(axis=1), axis=0)
    text = means.map("{:.1f}".format)
    text = text.mask(best, "<strong>" + text + "</strong>")
    return text + (" ± " + sd.map("{:.1f}".format)).reindex(text.index, fill_value="")


def _colour(difference: float) -> str:
    strength = min(abs(difference) / FULL_COLOUR_POINTS, 1.0)
    return f"background-color: rgba({HIGHER if difference > 0 else LOWER}, {0.5 * strength:.2f})"
