"""The hierarchical model of ``heavy_tails`` for the primary differences of ``decomposition``.

The quadrature takes some minutes, so its results are stored like those of a study. It reads the
stored table ``decomposition``.
"""

from __future__ import annotations

import pandas as pd

from replication import results
from replication.heavy_tails import PLANNED, QuadratureGrid, hierarchical
from replication.studies.study import simulation

MODEL_WIDTHS = ("chosen", "rule", "scale")
GAINS = {
    "share": ("v_share", "v_none"),
    "p": ("v_p", "v_none"),
    "p after share": ("v_both", "v_share"),
    "share after p": ("v_both", "v_p"),
}


def by_draw(rows: pd.DataFrame, width: str, gain: str, cost: str = "exact") -> pd.DataFrame:
    """Return a gain at a width in AUC points, one row a table and one column a draw."""
    more, less = GAINS[gain]
    at = rows[(rows["width"] == width) & (rows["cost"] == cost)]
    at = at.set_index(["dataset", "trial"])
    return (at[more] - at[less]).unstack("trial")


def doubled_in_turn() -> dict[str, QuadratureGrid]:
    """Return the planned grid, and grids of which one parameter has twice as many steps."""
    twice = PLANNED.doubled()
    fields = ("mu", "tau", "sigma", "x", "nu")
    return {"planned": PLANNED} | {
        f"{field} doubled": PLANNED._replace(**{field: getattr(twice, field)}) for field in fields
    }


@simulation(
    "What does a hierarchical model say of the primary differences?",
    name="decomposition_model", grid=PLANNED,
)  # fmt: skip
def decomposition_model() -> pd.DataFrame:
    """One row a difference and width; p after share at "scale" with every grid doubled too."""
    rows = results.read("decomposition")
    lines = []
    for width in MODEL_WIDTHS:
        after = by_draw(rows, width, "p after share")
        more = by_draw(rows, width, "share") - by_draw(rows, width, "p")
        for name, values in (("p after share", after), ("share minus p", more)):
            check = width == "scale" and name == "p after share"
            for label, grid in doubled_in_turn().items() if check else [("planned", PLANNED)]:
                found = hierarchical(values, grid)
                line = {"difference": name, "width": width, "grid": label}
                for one in ("mu", "tau", "nu"):
                    limits = getattr(found, one)
                    line |= {
                        one: limits.value,
                        f"{one}_low": limits.low,
                        f"{one}_high": limits.high,
                    }
                line |= {"centre_within": found.centre_within, "new_within": found.new_within}
                lines.append(line)
    return pd.DataFrame(lines).round(4)
