"""The counts of ``make fuzz`` (results/fuzz.csv) as a page shows them."""

from __future__ import annotations

import pandas as pd

from replication.pages import Facts

SHOWN = {
    "kernel": "kernel",
    "negatives": "negatives",
    "solutions": "solutions",
    "optimal": "optimal",
    "radius_zero": "R² = 0",
    "not_converged": "not converged",
    "exceptions": "exceptions",
    "wrong": "wrong",
    "in_features": "centre in coordinates",
    "judged_exactly": "judged with 60 digits",
    "largest_gap": "largest gap",
}


def fuzz_table(counts: pd.DataFrame) -> pd.DataFrame:
    """The stored counts under the names of the page."""
    table = counts[list(SHOWN)].rename(columns=SHOWN)
    table["negatives"] = table["negatives"].map({True: "in all", False: "none"})
    return table


def fuzz_facts(counts: pd.DataFrame, problems: int) -> Facts:
    """What the text quotes."""
    total = counts.sum(numeric_only=True)
    return {
        "fuzz_problems": f"{problems:,}",
        "fuzz_solutions": f"{int(total['solutions']):,}",
        "fuzz_exceptions": int(total["exceptions"]),
        "fuzz_wrong": int(total["wrong"]),
        "fuzz_stopped": int(total["not_converged"]),
        "fuzz_stopped_share": f"{100.0 * total['not_converged'] / total['solutions']:.2f}",
        "fuzz_silent": int(total["unwarned"]),
    }
