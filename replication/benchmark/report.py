"""A stored table of the benchmark as text."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from replication.benchmark.scale import LIBSVM, WORKING_SET, slope
from replication.results import read


def report_of(path: Path) -> str:
    """Cells solved, claims that are wrong, times and memory; of large problems every row."""
    table = read(path)
    if path.stem == "scale":
        lines = [f"slope of log time, {name}: {slope(table, name):.2f}"
                 for name in (WORKING_SET, LIBSVM)]  # fmt: skip
        return "\n".join([_text(table.drop(columns=["c", "solved"])), *lines])
    ran = table.dropna(subset="solved")
    solved, claimed = ran["solved"].astype(str) == "True", ran["status"] == "optimal"
    ran = ran.assign(run=True, solved=solved, wrong=claimed & ~solved, ms=1e3 * ran["seconds"])
    counts = ran.groupby(["experiment", "setting", "n", "contestant"], sort=False).agg(
        run=("run", "sum"), solved=("solved", "sum"), claimed_not_solved=("wrong", "sum"),
        median_ms=("ms", "median"), median_cholesky=("cholesky_units", "median"),
        largest_gap=("gap", "max"), memory=("memory", "max"),
    )  # fmt: skip
    return _text(counts.reset_index())


def _text(table: pd.DataFrame) -> str:
    return table.to_string(index=False, na_rep="", float_format="{:.4g}".format)
