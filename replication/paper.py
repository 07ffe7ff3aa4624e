"""What the paper fixes: its grids, methods, trials and the sizes in its Table 1, each stated once.

The numbers the paper *found* are in ``printed``; what it leaves open is in ``protocol.Options``.
"""

from __future__ import annotations

from typing import NamedTuple

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


SIZES = {
    "D1": Size(150, 50, 4),
    "D2": Size(155, 123, 19),
    "D3": Size(336, 52, 7),
    "D4": Size(4000, 400, 256),
    "D5": Size(336, 133, 64),
    "D6": Size(625, 49, 4),
    "D7": Size(178, 71, 13),
    "D8": Size(900, 300, 21),
    "D9": Size(306, 81, 3),
    "D10": Size(506, 48, 13),
    "D11": Size(214, 185, 9),
    "D12": Size(306, 225, 3),
    "D13": Size(443, 406, 7),
    "D14": Size(768, 500, 8),
    "D15": Size(683, 444, 9),
    "D16": Size(528, 477, 8),
    "D17": Size(177, 164, 13),
    "D18": Size(699, 458, 9),
    "D19": Size(306, 225, 3),
    "D20": Size(1926, 1027, 784),
}
"""The data sets as Table 1 describes them; D5 is printed with the size of D3."""
