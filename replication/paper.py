"""What the paper fixes: its grids, methods, trials and the sizes in its Table 1, each stated once.

The numbers the paper *found* are in ``printed``; what it leaves open is in ``protocol.Options``.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

EXPONENTS = (32 / 31, 16 / 15, 8 / 7, 6 / 5, 4 / 3, 3 / 2, 2.0, 5 / 2, 5.0, 20.0)
"""The values of p among which validation chooses."""
COSTS = (1e-3, 1e-2, 1e-1, 1.0)
"""The values of c; with labelled negatives, of c_1 and of c_2."""
TRIALS = 10
"""Random splits per data set."""

SETTINGS = ("pure", "negatives")
"""Training on positives only, and on labelled negatives too."""
METHOD_NAMES = {
    "pure": (
        "GP", "KPCA", "KNFST", "P-SVDD", "DW-SVDD", "GL-SVDD", "l1-SVDD", "l2-SVDD", "lp-SVDD",
    ),
    "negatives": (
        "KNFST-", "P-SVDD-", "DW-SVDD-", "GL-SVDD-", "l1-SVDD-", "l2-SVDD-", "lp-SVDD-",
    ),
}  # fmt: skip
"""The compared methods of each setting, in the order of the columns of the paper's table."""


class Size(NamedTuple):
    """Samples, samples of the target class, features."""

    n: int
    positives: int
    dim: int


_table = pd.read_csv(Path(__file__).parent / "printed" / "sizes.csv", index_col="dataset")
SIZES = dict(zip(_table.index, map(Size._make, _table.to_numpy().tolist()), strict=True))
"""The data sets as Table 1 describes them; D5 is printed with the size of D3."""
